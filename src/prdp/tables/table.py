"""A private table: what prdp.open returns, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from prdp.declare.columns import (
    Number,
    default_name,
    known_column,
    read_bounds,
    read_privacy_unit,
    read_rounding,
    refuse_unless_mappings,
)
from prdp.declare.exact import Exact
from prdp.declare.units import MAX_ROWS, PrivacyUnit, read_max_rows
from prdp.engines.engine import Engine
from prdp.engines.origins import Origins
from prdp.engines.registry import engine_for
from prdp.engines.sources.frames import categories_of, reference
from prdp.engines.tracing import traced_once
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node, canonical
from prdp.ledger import Binding, Ledger
from prdp.ledger.memory import NoAccount
from prdp.levels import Levels
from prdp.plan.explain import Whose
from prdp.plan.planner import Planner
from prdp.policy import Policy
from prdp.release.release import Release
from prdp.run.reader import Reader
from prdp.schema import Bounds, Rounding, Schema
from prdp.tables.arguments import (
    AccountOptions,
    account_of,
    fitted_policy,
    name_of,
    read_condition,
    read_immutable,
    read_one_row_per_unit,
    read_policy,
    read_snapshot,
)
from prdp.tables.column import TableColumn, all_of
from prdp.tables.queryable import Queried, declared_keys
from prdp.tables.source_registry import OpenedSource

if TYPE_CHECKING:
    from prdp.sql.catalog import Catalog


def open(  # noqa: A001  (prdp.open is what users call it)
    source: object = None,
    *,
    policy: Policy | Exact,
    engine: Engine | str | None = None,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    round_to: Mapping[str, Exact] | None = None,
    types: Mapping[str, str] | None = None,
    table: str | None = None,
    privacy_unit: str | None = None,
    immutable: Iterable[str] | None = None,
    one_row_per_unit: bool = False,
    snapshot: str | None = None,
    max_rows: int | None = None,
    keys: Mapping[str, Any] | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    must_exist: bool | None = None,
    separate_account: bool = False,
    who: str | None = None,
    synthetic: bool = False,
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
        round_to: For columns that are added up, what their values are rounded to: ``"0.01"`` for cents. By
            default a fine step that follows from the bounds.
        types: For CSV and JSON lines, or for text columns of a frame, SQL types by column.
        table: For a database, the table's name in it: ``"accounts"``.
        privacy_unit: The column whose value says whose row it is, such as ``"customer_id"``. A record is then
            a customer with all of that customer's rows, and rows without a value are left out:
            docs/privacy_units.md.
        immutable: Columns whose value never changes in a row, such as ``["week"]``; declared when a ledger is
            begun, and kept by it. Questions about some of their values are then charged to those rows alone:
            docs/accounting.md. With ``privacy_unit``, everything is charged to everybody all the same, unless
            ``one_row_per_unit`` is declared too.
        one_row_per_unit: With ``privacy_unit``: that a customer has one row and keeps it, over all snapshots.
            Customers with more rows are left out of every answer; that a row is never replaced by another
            cannot be checked, and the promise depends on it: docs/accounting.md. Bound to the ledger.
        snapshot: Which snapshot of a table that grows this is, such as ``"2026-W46"``: the same question
            about another snapshot is another question.
        max_rows: With ``privacy_unit``: a customer adds at most so many times what one row can add, 2^20 by
            default. A high guess costs next to nothing.
        keys: The public keys of columns that are grouped by, ``{"job": ["chef", "clerk"]}``, for all queries
            that list none themselves: as in ``group_by``. No ledger is bound to them.
        name: What the table is called; by default the file's stem.
        ledger: The file that keeps the account, such as ``"accounts.ledger"``, or the address of a PostgreSQL
            database, ``"postgresql://user@host/database?ledger=accounts"``; it is begun where there is
            none. Or a ledger object. By default, a new account that lasts as long as the process.
        must_exist: Whether the ledger must be there already: True refuses to begin one, False begins one
            without a word. By default one is begun with a warning, ``prdp.errors.LedgerBegun``.
        separate_account: Whether this process may have the source under another ledger too, as where a table
            is also in a join: what a record loses under each adds up. Refused by default.
        who: Whose questions these are, in a ledger file; by default the user's name.
        synthetic: Whether all of the records are public or made up, in place of real ones. Nothing is
            charged then, there is no ledger, and every release is marked ``simulated``: it is not private.
            ``prdp.share_for`` and ``prdp.testing.simulate`` take synthetic tables alone.
        rows_are_records: For a DuckDB relation that is more than a scan with plain filters and projections
            (a join, an aggregate, a sample), or a view of a database: your word that adding or removing a
            record adds or removes one row and changes no other.

    Raises:
        InvalidRequest: Something is wrong by public facts alone; the message says what to write.
        LedgerError: The ledger file belongs to another table, or cannot be trusted.
    """
    policy = read_policy(policy)
    refuse_unless_mappings(bounds=bounds, round_to=round_to, types=types, keys=keys)
    engine = engine_for(source, engine, types, rows_are_records=rows_are_records, table=table)
    schema, made = engine.schema, engine.source
    ends = read_bounds(bounds or {}, schema)
    checked = fitted_policy(policy, schema, ends)
    called, traced = _called(name, source, table, engine), traced_once(source, engine, table)
    rounding, whose = read_rounding(round_to or {}, schema), read_privacy_unit(privacy_unit, schema)
    constant = read_immutable(immutable, schema)
    unit = _unit(whose, max_rows, one_row=read_one_row_per_unit(one_row_per_unit, whose))
    public = Binding.of(
        called,
        schema,
        checked,
        ends,
        rounding,
        whose,
        constant,
        one_row_per_unit=one_row_per_unit,
        source=made,
    )
    opened = Table(
        _engine=engine,
        policy=checked,
        bounds=ends,
        round_to=rounding,
        name=called,
        ledger=NoAccount(),
        _reader=Reader(engine, synthetic),
        unit=unit,
        snapshot=read_snapshot(snapshot),
        _traced=traced,
        _frame=reference(source),
    )
    opened = replace(opened, _public_keys=declared_keys(opened, keys or {}))
    kept = AccountOptions(ledger, who, must_exist, synthetic, separate_account)
    account = account_of(kept, _with_max_rows(public, unit), OpenedSource(source, traced))
    return replace(opened, ledger=account, _immutable=(constant or ()) if synthetic else account.immutable)


def _called(name: str | None, source: object, table: str | None, engine: Engine) -> str:
    """Return what a table is called; by default its name in a database, or its file's stem."""
    return name_of(name, default_name(source, table or getattr(engine, "table", None)))


def _with_max_rows(facts: Binding, unit: PrivacyUnit | None) -> Binding:
    """Return the facts of a table, and how many rows a unit has at most where that was declared."""
    if unit is None or unit.one_row or unit.max_rows == MAX_ROWS:
        return facts
    return Binding({**facts.facts, "max_rows": str(unit.max_rows)})


def _unit(privacy_unit: str | None, max_rows: int | None, *, one_row: bool) -> PrivacyUnit | None:
    if privacy_unit is None:
        if max_rows is not None:
            raise InvalidRequest(
                f"max_rows={max_rows!r} is for privacy_unit=: how many rows one customer can have. Without "
                "it, "
                "a row is a record."
            )
        return None
    if one_row:
        if max_rows is not None:
            raise InvalidRequest(f"max_rows={max_rows!r} cannot be combined with one_row_per_unit=True.")
        return PrivacyUnit(privacy_unit, 1, one_row=True)
    return (
        PrivacyUnit(privacy_unit) if max_rows is None else PrivacyUnit(privacy_unit, read_max_rows(max_rows))
    )


@dataclass(frozen=True, eq=False, repr=False)
class Table(Queried):
    """A table that answers with releases; what ``prdp.open`` returns.

    >>> import numpy
    >>> import prdp
    >>> accounts = prdp.open({"balance": numpy.array([120, 45])}, policy=prdp.Policy.constant(1))
    >>> number = accounts.count(share="1/4")
    >>> accounts.count(share="1/4") == number, accounts.ledger.remaining  # asked again, it costs nothing
    (True, Fraction(3, 4))
    """

    _engine: Engine
    policy: Policy
    bounds: Bounds
    round_to: Rounding
    name: str
    ledger: Ledger
    _reader: Reader
    condition: Node | None = None
    unit: PrivacyUnit | None = None
    snapshot: str = ""
    _immutable: tuple[str, ...] = ()
    _traced: Callable[[], Origins] = Origins
    _frame: Callable[[], object] = NoneType
    _public_keys: Mapping[str, Any] = field(default_factory=dict)

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
        whose = f" protecting {self.privacy_unit}" if self.privacy_unit else ""
        about = "" if self.condition is None else f" where {canonical(self.condition)}"
        return f"{self._called} table {self.name!r}{whose}{about}"

    @property
    def _shown_schema(self) -> Schema:
        return self._engine.schema

    def filter(self, *conditions: str | TableColumn[Any], **equal: object) -> Table:
        """Return the table of those records alone for which all conditions hold.

        A condition is a SQL expression over the record's own columns, such as ``"age >= 40"``, or an
        expression such as ``table["age"] >= 40``. A record for which it is unknown (NULL) does not take part.
        As in Polars, a keyword is a column and its value: ``filter("age >= 40", job="chef")``.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1), name="people")
        >>> people.filter("age >= 40").filter("age < 60")  # doctest: +ELLIPSIS
        <prdp table 'people' where age >= 40 AND age < 60: Policy('1', ...); age; all of every budget left>
        """
        return self.filtered(read_condition(all_of(conditions, equal), self._engine.schema))

    def _categories(self, column: str) -> list[object]:
        return categories_of(self._frame(), known_column(column, self._engine.schema, "group_by"))

    def plot_policy(
        self, column: str | None = None, *, release: Release | None = None, ax: Any = None
    ) -> Any:
        """Draw the policy over one of its columns, and return matplotlib's axes; as ``prdp.plot_policy``."""
        from prdp.pictures import plot_policy  # noqa: PLC0415  (matplotlib is an extra)

        return plot_policy(self, column=column, release=release, ax=ax)

    @property
    def planner(self) -> Planner:
        """The planner of questions about the table, from its public facts."""
        return Planner(
            self._engine.schema,
            self.policy,
            self.levels,
            self.bounds,
            self.round_to,
            self.unit,
            self.condition,
            self._engine.source,
            immutable=self._immutable,
            snapshot=self.snapshot,
        )

    @property
    def privacy_unit(self) -> str | None:
        """The column whose value says whose row it is; None where a row is a record."""
        return None if self.unit is None else self.unit.id

    @property
    def _catalog(self) -> Catalog:
        from prdp.sql.catalog import Catalog  # noqa: PLC0415  (asked for by SQL alone)

        return Catalog({self.name: {name: name for name in self._engine.schema}}, self.name, unit=self.unit)

    @property
    def _whose(self) -> Whose:
        record, proof = ("a row", "") if self.unit is None else (self.unit.noun, "proofs/privacy_units.md")
        return Whose(record, proof, (("prdp_records", self.name),))

    @property
    def _origins(self) -> Sequence[Origins]:
        return (self._traced(),)
