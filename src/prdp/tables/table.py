"""A private table: what prdp.open returns, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prdp.declare.columns import (
    Number,
    default_name,
    known_column,
    read_bounds,
    read_grains,
    read_protect,
    refuse_unless_mappings,
)
from prdp.declare.exact import Exact, exact_share
from prdp.declare.units import MOST_ROWS, Owners, read_most_rows
from prdp.engines.engine import Engine
from prdp.engines.origins import Origins
from prdp.engines.registry import engine_for
from prdp.engines.sources.categories import categories_of
from prdp.engines.tracing import traced_once
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node, canonical
from prdp.ledger import Binding, Ledger
from prdp.levels import Levels
from prdp.plan.explain import Whose
from prdp.plan.planner import Planner
from prdp.policy import Policy
from prdp.release.release import Release
from prdp.release.table import CustomRelease
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.schema import Bounds, Grains, Schema
from prdp.tables.arguments import (
    AccountOptions,
    account_of,
    fitted_policy,
    name_of,
    read_condition,
    read_edition,
    read_fixed,
    read_one_row_each,
    read_policy,
)
from prdp.tables.custom import CustomPlan, Mechanism, custom_plan
from prdp.tables.queryable import Queried
from prdp.tables.source_registry import OpenedSource

if TYPE_CHECKING:
    from prdp.sql.catalog import Catalog


def open(  # noqa: A001  (prdp.open is what users call it)
    source: object = None,
    *,
    policy: Policy | Exact,
    engine: Engine | str | None = None,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    grain: Mapping[str, Exact] | None = None,
    types: Mapping[str, str] | None = None,
    table: str | None = None,
    protect: str | None = None,
    fixed: Iterable[str] | None = None,
    one_row_each: bool = False,
    edition: str | None = None,
    most_rows: int | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    must_exist: bool | None = None,
    separate_account: bool = False,
    who: str | None = None,
    stand_in: bool = False,
    rows_are_records: bool = False,
) -> Table:
    """Open a table for private questions. Reads the column names and types, and no record.

    >>> import numpy
    >>> import prdp
    >>> held, policy = {"balance": numpy.array([120, 45])}, prdp.Policy("100 / balance", at_most=1)
    >>> accounts = prdp.open(held, policy=policy, bounds={"balance": (0, 1000)})
    >>> accounts.policy  # a balance of 1000 has the least budget
    Policy('100 / balance', at_least='1/10', at_most='1')

    Args:
        source: A path, a glob or a list of files (Parquet, CSV, JSON lines, Arrow), a DuckDB or SQLite file,
            a Delta or Iceberg folder, a DuckDB relation, an Arrow table or data set, a pandas or Polars
            frame, a dict of NumPy arrays, or the address of a database: docs/sources.md.
        policy: The public budget of a record as a function of its content: SQL over its columns, a number
            where all records have the same, or a ``Policy``, which also says ``at_most`` and ``at_least``.
        engine: Who reads the records: ``"duckdb"``, ``"polars"``, ``"postgres"``, ``"spark"`` or
            ``"clickhouse"``; by default whoever the source calls for. Or, in place of a source, an engine of
            your own, which must pass ``prdp.testing.engine_contract``: the guarantee depends on it.
        bounds: For number columns, the public least and greatest value. A value beyond them is moved to
            the nearest one, after the record's budget has been taken from the true value.
        grain: For columns that are added up, what their values are rounded to: ``"0.01"`` for cents. By
            default a fine step that follows from the bounds.
        types: For CSV and JSON lines, or for text columns of a frame, SQL types by column.
        table: For a database, the table's name in it: ``"accounts"``.
        protect: The column whose value says whose row it is, such as ``"customer_id"``. A record is then a
            customer with all of that customer's rows, and rows without a value are left out: docs/owners.md.
        fixed: Columns whose value never changes in a row, such as ``["week"]``; said when a ledger is begun,
            and kept by it. Questions about some of their values are then charged to those rows alone:
            docs/accounting.md. With ``protect``, everything is charged to everybody all the same, unless
            ``one_row_each`` is said too.
        one_row_each: With ``protect``: that a customer has one row and keeps it, over all editions. Customers
            with more rows are left out of every answer; that a row is never replaced by another cannot be
            checked, and the promise depends on it: docs/accounting.md. Bound to the ledger.
        edition: Which edition of a table that grows this is, such as ``"2026-W46"``: the same question about
            another edition is another question.
        most_rows: With ``protect``: a customer adds at most so many times what one row can add, 2^20 by
            default. A wide guess costs next to nothing.
        name: What the table is called; by default the file's stem.
        ledger: The file that keeps the account, such as ``"accounts.ledger"``, or the address of a PostgreSQL
            database, ``"postgresql://user@host/database?ledger=accounts"``; it is begun where there is
            none. Or a ledger object. By default, a new account that lasts as long as the process.
        must_exist: Whether the ledger must be there already: True refuses to begin one, False begins one
            without a word. By default one is begun with a warning, ``prdp.errors.LedgerBegun``.
        separate_account: Whether this process may have the source under another ledger too, as where a table
            is also in a join: what a record loses under each adds up. Refused by default.
        who: Whose questions these are, in a ledger file; by default the user's name.
        stand_in: Whether all of the records are public or made up, and stand in for real ones. Nothing is
            charged then, there is no ledger, and every release is marked ``simulated``: it protects nobody.
            ``prdp.share_for`` and ``prdp.testing.simulate`` take stand-ins alone.
        rows_are_records: For a DuckDB relation that is more than a scan with plain filters and projections
            (a join, an aggregate, a sample), or a view of a database: your word that adding or removing a
            record adds or removes one row and changes no other.

    Raises:
        InvalidRequest: Something is wrong by public facts alone; the message says what to write.
        LedgerError: The ledger file belongs to another table, or cannot be trusted.
    """
    policy = read_policy(policy)
    refuse_unless_mappings(bounds=bounds, grain=grain, types=types)
    engine = engine_for(source, engine, types, rows_are_records=rows_are_records, table=table)
    schema, made = engine.schema, engine.source
    ends = read_bounds(bounds or {}, schema)
    checked = fitted_policy(policy, schema, ends)
    called, traced = _called(name, source, table, engine), traced_once(source, engine, table)
    grains, whose = read_grains(grain or {}, schema), read_protect(protect, schema)
    constant = read_fixed(fixed, schema)
    owners = _owners(whose, most_rows, one_row=read_one_row_each(one_row_each, whose))
    public = Binding.of(
        called, schema, checked, ends, grains, whose, constant, one_row_each=one_row_each, source=made
    )
    kept = AccountOptions(ledger, who, must_exist, stand_in, separate_account)
    account = account_of(kept, _with_most_rows(public, owners), OpenedSource(source, traced))
    return Table(
        _engine=engine,
        policy=checked,
        bounds=ends,
        grain=grains,
        name=called,
        ledger=account,
        _reader=Reader(engine, stand_in),
        owners=owners,
        edition=read_edition(edition),
        _fixed=(constant or ()) if stand_in else account.fixed,
        _traced=traced,
        _source=source,
    )


def _called(name: str | None, source: object, table: str | None, engine: Engine) -> str:
    """Return what a table is called; by default its name in a database, or its file's stem."""
    return name_of(name, default_name(source, table or getattr(engine, "table", None)))


def _with_most_rows(facts: Binding, owners: Owners | None) -> Binding:
    """Return the facts of a table, and how many rows an owner has at most where that was said."""
    if owners is None or owners.one_row or owners.most_rows == MOST_ROWS:
        return facts
    return Binding({**facts.facts, "most_rows": str(owners.most_rows)})


def _owners(protect: str | None, most_rows: int | None, *, one_row: bool) -> Owners | None:
    if protect is None:
        if most_rows is not None:
            raise InvalidRequest(
                f"most_rows={most_rows!r} is for protect=: how many rows one customer can have. Without it, "
                "a row is a record."
            )
        return None
    if one_row:
        if most_rows is not None:
            raise InvalidRequest(f"most_rows={most_rows!r} is not for one_row_each=True: one row is all.")
        return Owners(protect, 1, one_row=True)
    return Owners(protect) if most_rows is None else Owners(protect, read_most_rows(most_rows))


@dataclass(frozen=True, eq=False, repr=False)
class Table(Queried):
    """A table that answers with releases; what ``prdp.open`` returns.

    >>> import numpy
    >>> import prdp
    >>> accounts = prdp.open({"balance": numpy.array([120, 45])}, policy=prdp.Policy.constant(1))
    >>> number = accounts.count(share="1/4")
    >>> accounts.count(share="1/4") == number, accounts.ledger.left  # asked again, it costs nothing
    (True, Fraction(3, 4))
    """

    _engine: Engine
    policy: Policy
    bounds: Bounds
    grain: Grains
    name: str
    ledger: Ledger
    _reader: Reader
    condition: Node | None = None
    owners: Owners | None = None
    edition: str = ""
    _fixed: tuple[str, ...] = ()
    _traced: Callable[[], Origins] = Origins
    _source: object = None

    @property
    def levels(self) -> Levels:
        """The public grid that budgets are rounded down to."""
        return self.policy.levels

    @property
    def schema(self) -> Schema:
        """The columns and their types; public, and all that was read when the table was opened.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58]), "height": numpy.array([1.71, 1.68])}
        >>> prdp.open(people, policy="1").schema
        {'age': BIGINT, 'height': DOUBLE}
        """
        return dict(self._engine.schema)

    @property
    def _title(self) -> str:
        whose = f" protecting {self.protect}" if self.protect else ""
        about = "" if self.condition is None else f" where {canonical(self.condition)}"
        return f"{self._called} table {self.name!r}{whose}{about}"

    @property
    def _shown_schema(self) -> Schema:
        return self._engine.schema

    def where(self, condition: str) -> Table:
        """Return the table of those records alone for which a condition holds.

        The condition is a SQL expression over the record's own columns, such as ``age >= 40``. A
        record for which it is unknown (NULL) does not take part.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1), name="people")
        >>> people.where("age >= 40").where("age < 60")  # doctest: +ELLIPSIS
        <prdp table 'people' where age >= 40 AND age < 60: Policy('1', ...); age; all of every budget left>
        """
        return self.filtered(read_condition(condition, self._engine.schema))

    def _categories(self, column: str) -> list[object]:
        return categories_of(self._source, known_column(column, self._engine.schema, "group_by"))

    def plot_policy(
        self, column: str | None = None, *, release: Release | None = None, ax: Any = None
    ) -> Any:
        """Draw the policy over one of its columns, and return matplotlib's axes; as ``prdp.plot_policy``."""
        from prdp.pictures import plot_policy  # noqa: PLC0415  (matplotlib is an extra)

        return plot_policy(self, column=column, release=release, ax=ax)

    def run(
        self,
        mechanism: Mechanism,
        *,
        columns: Sequence[str],
        share: Exact,
        split: Exact | None = None,
        beta: Exact | None = None,
        sample: bool = False,
        name: str | None = None,
        fresh: bool = False,
    ) -> CustomRelease:
        """Run a mechanism of your own on the rows that the paper's framework keeps (Algorithm 2).

        Args:
            mechanism: A function of (rows, epsilon, beta): an Arrow table, and two Fractions. It must be
                epsilon-DP for adding or removing one row, whatever the order of the rows: **that is your
                promise**, and the guarantee depends on it. What it raises is an answer too: one that
                only says so.
            columns: The columns that it sees.
            share: The part of every record's budget to use.
            split: The part of the share that finds the rows to keep; by default 1/4.
            beta: The failure rate, by default 1/10; it is passed on to the mechanism.
            sample: Whether rows with smaller budgets take part now and then, instead of never.
            name: What the mechanism is called in the ledger. Asked again by that name, it gives the same
                answer at no charge; without a name, every call is charged.
            fresh: Pay for a new answer although this name has been answered before.
        """
        plan = self._custom(mechanism, columns, share, split=split, beta=beta, sample=sample, name=name)
        return plan.own(answer(self.ledger, plan, self._reader, fresh=fresh))

    def explain_run(
        self,
        mechanism: Mechanism,
        *,
        columns: Sequence[str],
        share: Exact,
        split: Exact | None = None,
        beta: Exact | None = None,
        sample: bool = False,
        name: str | None = None,
    ) -> str:
        """Return what ``run`` would charge, read and draw with the same arguments; nothing is run.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1")
        >>> text = accounts.explain_run(lambda rows, epsilon, beta: 0, columns=["age"], share=0.25)
        >>> [line.split()[0] for line in text.splitlines()]
        ['charges', 'record', 'table', 'answers', 'reads', 'draws', 'reads', 'draws', 'ledger']
        """
        plan = self._custom(mechanism, columns, share, split=split, beta=beta, sample=sample, name=name)
        return self._explained(plan, self._whose)

    def _custom(
        self,
        mechanism: Mechanism,
        columns: Sequence[str],
        share: Exact,
        *,
        split: Exact | None,
        beta: Exact | None,
        sample: bool,
        name: str | None,
    ) -> CustomPlan:
        if self.protect is not None:
            raise InvalidRequest(
                "run gives rows to a mechanism, and what it promises for a row it need not promise for "
                f"all rows of one {self.protect!r}. Open the table without protect=, with one row for each."
            )
        return custom_plan(
            self.planner,
            mechanism,
            columns,
            exact_share(share),
            split=split,
            beta=beta,
            sample=sample,
            name=name,
        )

    @property
    def planner(self) -> Planner:
        """The planner of questions about the table, from its public facts."""
        return Planner(
            self._engine.schema,
            self.policy,
            self.levels,
            self.bounds,
            self.grain,
            self.owners,
            self.condition,
            self._engine.source,
            fixed=self._fixed,
            edition=self.edition,
        )

    @property
    def protect(self) -> str | None:
        """The column whose value says whose row it is; None where a row is a record."""
        return None if self.owners is None else self.owners.id

    @property
    def _catalog(self) -> Catalog:
        from prdp.sql.catalog import Catalog  # noqa: PLC0415  (asked for by SQL alone)

        return Catalog(
            {self.name: {name: name for name in self._engine.schema}}, self.name, owners=self.owners
        )

    @property
    def _whose(self) -> Whose:
        record, proof = ("a row", "") if self.owners is None else (self.owners.noun, "proofs/owners.md")
        return Whose(record, proof, (("prdp_records", self.name),))

    @property
    def _origins(self) -> Sequence[Origins]:
        return (self._traced(),)
