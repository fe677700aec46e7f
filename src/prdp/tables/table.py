"""A private table: what prdp.open returns, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prdp.declare.columns import (
    Number,
    default_name,
    read_bounds,
    read_grains,
    read_protect,
    refuse_unless_mappings,
)
from prdp.declare.exact import Exact, exact_share
from prdp.declare.groups import GroupKey, bins, read_grouping
from prdp.engines._given import engine_for
from prdp.engines._origins import Origin, origin_of
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node, canonical
from prdp.ledger import Binding, Ledger
from prdp.levels import Levels
from prdp.methods import Chosen
from prdp.plan.explain import Whose
from prdp.plan.functions import listed_quantiles
from prdp.plan.methods import DEFAULT, Options
from prdp.plan.plan import Plan
from prdp.plan.planner import Planner
from prdp.plan.queries import Quantile, Query
from prdp.plan.shares import Shares
from prdp.policy import Policy
from prdp.release.custom import CustomRelease
from prdp.release.release import Release
from prdp.release.table import Released, ReleaseTable
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.schema import Bounds, Grains, Schema
from prdp.tables.custom import custom_plan
from prdp.tables.groups import Groups
from prdp.tables.opened import Opened
from prdp.tables.opening import account_of, fitted_policy, name_of, narrowed, read_policy
from prdp.tables.outcomes import Mechanism
from prdp.tables.questions import Questions


def open(  # noqa: A001  (prdp.open is what users call it)
    source: object = None,
    *,
    policy: Policy | str,
    engine: Engine | None = None,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    grain: Mapping[str, Exact] | None = None,
    types: Mapping[str, str] | None = None,
    protect: str | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
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
        source: A path or glob of Parquet or CSV files, a DuckDB relation, an Arrow table, a pandas
            or Polars frame, or a dict of NumPy arrays.
        policy: The public budget of a record as a function of its content: SQL over its columns, or a
            ``Policy``, which also says ``at_most`` and ``at_least``.
        engine: In place of a source, an engine of your own: what reads the records and adds them up. It must
            pass ``prdp.testing.engine_contract``, which the guarantee depends on: docs/sources.md.
        bounds: For number columns, the public least and greatest value. A value beyond them is moved to
            the nearest one, after the record's budget has been taken from the true value.
        grain: For columns that are added up, the public grain of their values: ``"0.01"`` for cents.
        types: For a CSV file or for text columns of a frame, SQL types by column.
        protect: The column whose value says whose row it is, such as ``"customer_id"``. A record is then a
            customer with all of that customer's rows, and rows without a value are left out: docs/owners.md.
        name: What the table is called; by default the file's stem.
        ledger: The file that keeps the account, such as ``"accounts.ledger"``; it is begun where there is
            none. Or a ledger object. By default, a new account that lasts as long as the process.
        who: Whose questions these are, in a ledger file; by default the user's name.
        stand_in: Whether all of the records are public or made up, and stand in for real ones. Nothing is
            charged then, there is no ledger, and every release is marked ``simulated``: it protects nobody.
            ``prdp.share_for`` and ``prdp.testing.simulate`` take stand-ins alone.
        rows_are_records: For a DuckDB relation that is more than a scan with plain filters and projections
            (a join, an aggregate, a sample): your word that adding or removing a record adds or removes
            one row and changes no other.

    Raises:
        InvalidRequest: Something is wrong by public facts alone; the message says what to write.
        LedgerError: The ledger file belongs to another table, or cannot be trusted.
    """
    policy = read_policy(policy)
    refuse_unless_mappings(bounds=bounds, grain=grain, types=types)
    engine = engine_for(source, engine, types, rows_are_records=rows_are_records)
    ends = read_bounds(bounds or {}, engine.schema)
    checked = fitted_policy(policy, engine.schema, ends)
    levels = checked.levels
    called = name_of(name, default_name(source))
    grains = read_grains(grain or {}, engine.schema)
    protected = read_protect(protect, engine.schema)
    facts = Binding.of(called, engine.schema, checked, ends, grains, protected)
    account = account_of(ledger, facts, who, stand_in=stand_in)
    return Table(
        _engine=engine,
        policy=checked,
        levels=levels,
        bounds=ends,
        grain=grains,
        name=called,
        ledger=account,
        _reader=Reader(engine, stand_in),
        protect=protected,
        _origin=None if source is None else origin_of(source),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Table(Opened, Questions[Release]):
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
    levels: Levels
    bounds: Bounds
    grain: Grains
    name: str
    ledger: Ledger
    _reader: Reader
    condition: Node | None = None
    protect: str | None = None
    _origin: Origin | None = None

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

    @property
    def _shown_policies(self) -> Mapping[str, Policy]:
        return {"": self.policy}

    @property
    def _shown_bounds(self) -> Bounds:
        return self.bounds

    @property
    def _shown_grains(self) -> Grains:
        return self.grain

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
        return replace(self, condition=narrowed(self.condition, condition, self._engine.schema))

    def group_by(self, *columns: str | GroupKey, keys: object = None) -> Groups:
        """Tell records apart by public keys; every question is then answered for each key.

        The groups are disjoint, so each is answered with the whole share; with ``protect``, an owner's rows
        may lie in several, and all are answered together. A key that no record has is
        answered with noise like any other; records whose key is not listed are in no answer.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> counts = accounts.group_by(prdp.bins("age", [0, 40, 80])).count(share="1/4")
        >>> [str(age) for (age,), _ in counts], accounts.ledger.left
        (['[0, 40)', '[40, 80]'], Fraction(3, 4))

        Args:
            columns: Column names, ``prdp.date_trunc("month", "opened")``, ``prdp.bins("balance", [0, 100])``.
            keys: The public keys: a list of values (of tuples for several columns); a dict with a list for
                each column, ``{"job": jobs, "year": years}``, of which every combination is a key; or a
                public table (Arrow, pandas, Polars) with a key a row. Bins are their own keys.
        """
        is_path = isinstance(keys, str | Path)
        shared = "" if self._origin is None or is_path else self._origin.shared(origin_of(keys))
        if shared:
            raise InvalidRequest(
                f"keys= and the table have one source ({shared}), but which values occur may give a record "
                "away. List the keys that are public knowledge: keys=['clerk', 'chef']."
            )
        return Groups(self, read_grouping(columns, keys, self._engine.schema), self._reader)

    def histogram(
        self,
        column: str,
        *,
        edges: Iterable[Number],
        share: Exact,
        method: Chosen = "clip",
        fresh: bool = False,
    ) -> ReleaseTable:
        """Count the records whose value lies in each of some public bins; see ``prdp.bins``.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> len(accounts.histogram("age", edges=[0, 20, 40, 60, 80], share="1/4"))
        4
        """
        return self.group_by(bins(column, edges)).count(share=share, method=method, fresh=fresh)

    def quantiles(
        self,
        column: str,
        q: Iterable[Exact],
        *,
        share: Exact,
        method: Chosen = "rank",
        fresh: bool = False,
    ) -> tuple[Release, ...]:
        """Find several quantiles at once, ascending together; as ``quantile``.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58, 40])}
        >>> accounts = prdp.open(people, policy=prdp.Policy.constant(1), bounds={"age": (0, 120)})
        >>> [release.question for release in accounts.quantiles("age", [0.25, 0.5], share="1/4")]
        ['0.25 quantile of age', 'median of age']
        """
        query = Quantile(column, listed_quantiles(q))
        plan = self.plan(query, share=share, options=Options.of(method))
        return plan.tabled(self._answered(plan, fresh=fresh)).releases[0]

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
        if self.protect is not None:
            raise InvalidRequest(
                "run gives rows to a mechanism, and what it promises for a row it need not promise for "
                f"all rows of one {self.protect!r}. Open the table without protect=, with one row for each."
            )
        plan = custom_plan(
            self.planner,
            mechanism,
            columns,
            exact_share(share),
            split=split,
            beta=beta,
            sample=sample,
            name=name,
        )
        return plan.own(answer(self.ledger, plan, self._reader, fresh=fresh))

    @property
    def planner(self) -> Planner:
        """The planner of questions about the table, from its public facts."""
        return Planner(
            self._engine.schema,
            self.policy,
            self.levels,
            self.bounds,
            self.grain,
            self.protect,
            self.condition,
            self._engine.source,
        )

    def plan(
        self,
        *queries: Query,
        share: Exact,
        shares: Shares | None = None,
        options: Options = DEFAULT,
    ) -> Plan:
        """Return what would be done to answer queries, or refuse; reads and charges nothing."""
        return self.planner.plan(queries, share, options=options, shares=shares)

    def _one(self, query: Query, share: Exact, options: Options, *, fresh: bool) -> Release:
        plan = self.planner.plan([query], share, options=options, single=True)
        if len(plan.labels) > 1:
            raise InvalidRequest("quantile finds one quantile: write quantiles(column, [...]) for several.")
        return plan.one(answer(self.ledger, plan, self._reader, fresh=fresh))

    def explained(self, plan: Plan) -> str:
        """Return what a plan about the table would do; reads no record and charges nothing."""
        whose = Whose("a row", tables=(("prdp_records", self.name),))
        if self.protect is not None:
            whose = replace(
                whose, record=f"one {self.protect} with all of its rows", proof="proofs/owners.md"
            )
        return self._explained(plan, whose)

    def _in_words(self, plan: Plan) -> str:
        return self.explained(plan)

    def _answered(self, plan: Plan, *, fresh: bool) -> Released:
        return answer(self.ledger, plan, self._reader, fresh=fresh)
