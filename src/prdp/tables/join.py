"""A private table joined to the rows that belong to its records: counts and sums over the results."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.declare.columns import Number, read_bounds, read_grains, refuse_unless_mappings
from prdp.declare.exact import Exact, exact, exact_share
from prdp.engines._joins import ID, VALUE, JoinRead, duplicate_keys_statement, join_statement
from prdp.engines._tables import DuckDBTables, open_tables
from prdp.errors import InvalidRequest
from prdp.expressions.check import check
from prdp.expressions.intervals import Interval, bound
from prdp.expressions.nodes import Column, Node, canonical, columns
from prdp.expressions.parse import parse
from prdp.ledger import Binding, Ledger
from prdp.plan.asked import Asked
from prdp.plan.explain import Whose
from prdp.plan.methods import COUNT, MethodTerms, whole
from prdp.plan.plan import Plan
from prdp.plan.queries import Count, Sum
from prdp.plan.steps import QueryPlan, Step
from prdp.policy import Policy
from prdp.release.label import Label
from prdp.release.release import Release
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.schema import Bounds, Grains, Kind, Schema
from prdp.tables.opened import Opened
from prdp.tables.opening import account_of, both, fitted_policy, name_of, refuse_unless_rows
from prdp.tables.references import Tree
from prdp.tables.roles import refuse_two_names

_MOST_TOTAL = 2**62


def open_join(
    tables: Mapping[str, object],
    *,
    private: str,
    key: str,
    references: Mapping[str, str],
    policy: Policy | str,
    public: Collection[str] = (),
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    grain: Mapping[str, Exact] | None = None,
    types: Mapping[str, Mapping[str, str]] | None = None,
    most_rows: int = 10**6,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    who: str | None = None,
    stand_in: bool = False,
) -> Join:
    """Open tables that refer to each other, for private questions about one table's records.

    A record is what one value of ``key`` names in the private table, together with every row of the other
    tables that belongs to it and to no other record. Reads the column names and types, and the keys of the
    public tables.

    >>> import numpy
    >>> import prdp
    >>> tables = {"people": {"id": numpy.array([1, 2])}, "orders": {"buyer": numpy.array([1, 1, 2])}}
    >>> refers, one = {"orders.buyer": "people.id"}, prdp.Policy.constant(1)
    >>> shop = prdp.open_join(tables, private="people", key="id", references=refers, policy=one)
    >>> shop.over("orders").count(share="1/4").question
    'count over people, orders'

    Args:
        tables: For each table's name, a path or glob of Parquet or CSV files, or a frame in memory. Only what
            is public may be there under two names.
        private: The table whose records are protected.
        key: The column that names them.
        references: ``{"orders.o_custkey": "customer.c_custkey"}``: which column holds which table's key.
        policy: The public budget of a private record, as a function of its columns in the private table.
        public: The tables that hold nothing to protect; the key that others refer to is unique there.
        bounds: For number columns, the public least and greatest value. A column that several tables have is
            called ``"table.column"`` here, and in quotes in expressions.
        grain: For columns that are added up, the public grain of their values.
        types: For CSV files and text columns of frames, by table, SQL types by column.
        most_rows: The most results that a record can have; a wide guess costs next to nothing.
        name: What it is called; by default the private table's name.
        ledger: As in ``prdp.open``.
        who: As in ``prdp.open``.
        stand_in: As in ``prdp.open``.

    Raises:
        InvalidRequest: Something is wrong by public facts alone; the message says what to write.
    """
    refuse_unless_mappings(tables=tables, references=references, bounds=bounds, grain=grain, types=types)
    refuse_unless_rows(most_rows)
    _refuse_bad_types(types or {}, tables)
    engine = open_tables(tables, types or {})
    tree = Tree.of(engine.schemas, private, key, public, references)
    refuse_two_names(tables, tree)
    _refuse_duplicates(engine, tree)
    names = _names(engine.schemas)
    schema = {shown: engine.schemas[table][column] for shown, (table, column) in names.items()}
    ends = read_bounds(bounds or {}, schema)
    own = {names[column][1]: pair for column, pair in ends.items() if names[column][0] == private}
    checked = fitted_policy(policy, engine.schemas[private], own)
    called = name_of(name, private)
    grains = read_grains(grain or {}, schema)
    facts = Binding.of(called, schema, checked, ends, grains).facts
    binding = Binding({**facts, **tree.facts(), "most_rows": str(most_rows)})
    return Join(
        _engine=engine,
        tree=tree,
        policy=checked,
        names=names,
        schema=schema,
        bounds=ends,
        grain=grains,
        most_rows=most_rows,
        name=called,
        ledger=account_of(ledger, binding, who, stand_in=stand_in),
        tables=(private,),
        _reader=Reader(JoinSource(engine, tree), stand_in),
    )


@dataclass(frozen=True, slots=True)
class JoinSource:
    """The joined tables, as a reader reads them."""

    engine: DuckDBTables
    tree: Tree

    def ensure_there(self) -> None:
        """Refuse sources that have changed; reads no record, only the keys of public tables."""
        self.engine.ensure_there()
        _refuse_duplicates(self.engine, self.tree)

    def shown(self, read: JoinRead) -> tuple[str, ...]:
        """Return the statement of a read."""
        views = {table: self.engine.view(table) for table in self.engine.schemas}
        return (join_statement(read, views, self.engine.schemas[self.tree.private]),)

    def fold_results(self, read: JoinRead) -> Summary:
        """Return the cells of the private records, by what their results add up to."""
        (sql,) = self.shown(read)
        return read.summary(self.engine.rows(sql))


@dataclass(frozen=True, eq=False, repr=False)
class Join(Opened):
    """Joined tables that answer with releases; what ``prdp.open_join`` returns."""

    _engine: DuckDBTables
    tree: Tree
    policy: Policy
    names: Mapping[str, tuple[str, str]]
    schema: Schema
    bounds: Bounds
    grain: Grains
    most_rows: int
    name: str
    ledger: Ledger
    tables: tuple[str, ...]
    _reader: Reader
    condition: Node | None = None

    @property
    def _title(self) -> str:
        where = "" if self.condition is None else f" where {canonical(self.condition)}"
        return f"{self._called} join {self.name!r} of {', '.join(self.tables)}{where}"

    @property
    def _shown_schema(self) -> Schema:
        return self._schema_here

    @property
    def _shown_policies(self) -> Mapping[str, Policy]:
        return {"": self.policy}

    @property
    def _shown_bounds(self) -> Bounds:
        return self.bounds

    @property
    def _shown_grains(self) -> Grains:
        return self.grain

    def over(self, *tables: str) -> Join:
        """Return the join of the private table with these, and with those on the way to them."""
        unknown = [name for name in tables if name not in self._engine.schemas]
        if unknown:
            raise InvalidRequest(f"over({unknown[0]!r}): the tables are {', '.join(self._engine.schemas)}.")
        joined = list(self.tables)
        for table in tables:
            joined += [step for step in self.tree.path(table) if step not in joined]
        return replace(self, tables=tuple(joined))

    def where(self, condition: str) -> Join:
        """Return the join of those results alone for which a condition on their columns holds."""
        return replace(self, condition=both(self.condition, self._checked(condition, Kind.BOOLEAN)))

    def count(self, *, share: Exact, method: str = "clip", fresh: bool = False) -> Release:
        """Count the results of the join; arguments as in ``Table.count``."""
        return self._answered(self.plan(Count(), share, method), fresh=fresh)

    def sum(
        self,
        what: str,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "clip",
        fresh: bool = False,
    ) -> Release:
        """Add up a column, or an expression over columns, over the results of the join.

        Args:
            what: Such as ``"l_extendedprice * (1 - l_discount)"``; its columns need public bounds.
            share: The part of every private record's budget to use.
            grain: The grain of the values: each result's value is rounded to it.
            method: ``"clip"`` or ``"naive"``.
            fresh: Pay for a new answer although this question has been answered before.
        """
        return self._answered(self.plan(Sum(what), share, method, grain), fresh=fresh)

    def plan(
        self, query: Count | Sum, share: Exact, method: str | None = None, grain: Exact | None = None
    ) -> Plan:
        """Return what would answer a query, or refuse by public facts; reads and charges nothing."""
        part = exact_share(share)
        rows = [row for row in getattr(query, "methods", ()) if row.joins]
        names = [row.name for row in rows or COUNT if row.joins]
        if method is not None and method not in names:
            raise InvalidRequest(f"method={method!r} does not answer this. What does: {', '.join(names)}.")
        if type(query) not in (Count, Sum):  # what a subclass means is not looked at here
            raise InvalidRequest("a join answers counts and sums: prdp.count() or prdp.sum('column').")
        added = self._added(query.column) if isinstance(query, Sum) else None
        measure = self._measure(added, grain) if added is not None else None
        reading = self._reading(added, measure)
        row = rows[names.index(method) if method else 0]
        mechanism = row.build(MethodTerms(self.policy, self.policy.levels, self.bounds, query, measure, part))
        total = reading.total
        asked = Count() if added is None else SumOf(added)
        label = Label(
            str(asked),
            part,
            mechanism.name,
            mechanism.caveat(signed=total.low < 0),
            total.grain,
            below=total.low < 0,
            above=measure is None or measure.high > 0,
        )
        step = Step("", part, mechanism, (label,), whole)
        query_plan = QueryPlan(asked, row.name, part, reading, (step,), measure)
        return Plan((query_plan,), part, self.condition, over=self.tables)

    def explain(
        self, query: Count | Sum, *, share: Exact, method: str | None = None, grain: Exact | None = None
    ) -> str:
        """Return what would be charged, read and drawn for a query; reads and charges nothing."""
        record = f"one {self.tree.key} of {self.tree.private} with all rows that belong to it"
        tables = tuple((self._engine.view(table), table) for table in self.tables)
        whose = Whose(record, "proofs/joins.md", tables)
        return self._explained(self.plan(query, share, method, grain), whose)

    def _answered(self, plan: Plan, *, fresh: bool) -> Release:
        return plan.one(answer(self.ledger, plan, self._reader, fresh=fresh))

    def _reading(self, added: Node | None, measure: Measure | None) -> JoinRead:
        """Return what must be read, if a record's total has a place in the engine's numbers."""
        largest = self.most_rows * (measure.largest if measure else 1)
        if largest > _MOST_TOTAL:
            raise InvalidRequest(
                f"{self.most_rows:,} results of {measure.largest if measure else 1:,} grains each are too "
                "many (2^62). Lower most_rows, narrow the bounds or take a larger grain."
            )
        return JoinRead(
            policy=self.policy,
            levels=self.policy.levels,
            private=self.tree.private,
            key=self.tree.key,
            tables=self.tables,
            joined_by=self.tree.joined_by,
            names=self.names,
            schema=self.schema,
            added=added,
            measure=measure,
            where=self.condition,
            largest=largest,
        )

    @property
    def _schema_here(self) -> Schema:
        return {name: kind for name, kind in self.schema.items() if self.names[name][0] in self.tables}

    def _added(self, what: str) -> Node:
        return self._checked(what, Kind.NUMBER)

    def _checked(self, text: str, kind: Kind) -> Node:
        """Check an expression against the joined tables' columns; say how to join the others'."""
        node = parse(text)
        here = {name.lower() for name in self._schema_here}
        elsewhere = {name.lower(): table for name, (table, _) in self.names.items()}
        for name in sorted(columns(node)):
            if name.lower() in elsewhere.keys() - here:
                table = elsewhere[name.lower()]
                raise InvalidRequest(
                    f"{text!r} reads {name!r} of the table {table!r}, which is not joined here: "
                    f"{', '.join(self.tables)}. Write .over({table!r}) first."
                )
        return check(node, self._schema_here, kind, text)

    def _measure(self, added: Node, grain: Exact | None) -> Measure:
        shown = canonical(added)
        unbounded = sorted(columns(added) - self.bounds.keys())
        if unbounded:
            raise InvalidRequest(
                f"sum({shown!r}) needs the public bounds of {', '.join(unbounded)}. "
                f"Write bounds={{{unbounded[0]!r}: "
                "(0, 10**6)} in prdp.open_join; wide bounds cost next to nothing."
            )
        grain = exact(grain, "grain") if grain is not None else self._declared_grain(added)
        if grain is None or grain <= 0:
            raise InvalidRequest(
                f"sum({shown!r}) needs the grain of its values, such as grain='0.01' for cents."
            )
        ends = bound(
            added, {name: Interval(float(low), float(high)) for name, (low, high) in self.bounds.items()}
        )
        if ends.empty or not (math.isfinite(ends.low) and math.isfinite(ends.high)):
            raise InvalidRequest(f"sum({shown!r}) has no finite range within the bounds. Narrow the bounds.")
        low, high = math.floor(Fraction(ends.low) / grain), math.ceil(Fraction(ends.high) / grain)
        if max(abs(low), abs(high)) >= 2**53:
            raise InvalidRequest(
                f"sum({shown!r}) can be more than 2^53 grains of {grain}. Take a larger grain."
            )
        return Measure(added.name if isinstance(added, Column) else VALUE, grain, low, high)

    def _declared_grain(self, added: Node) -> Fraction | None:
        if not isinstance(added, Column):
            return None
        whole = Fraction(1) if self.schema[added.name].integer else None
        return self.grain.get(added.name, whole)


@dataclass(frozen=True, slots=True)
class SumOf(Asked):
    """What an expression over the columns of a join adds up to."""

    added: Node

    def __str__(self) -> str:
        return f"sum of {canonical(self.added)}"

    @property
    def facts(self) -> dict[str, Any]:
        """The expression, as SQL."""
        return {"query": "sum", "of": canonical(self.added)}


def _names(schemas: Mapping[str, Schema]) -> dict[str, tuple[str, str]]:
    """Return what each column is called in the join: its own name, with its table's if others have it."""
    tables = [(table, column) for table, schema in schemas.items() for column in schema]
    owners: dict[str, int] = {}
    for _, column in tables:
        owners[column.lower()] = owners.get(column.lower(), 0) + 1
    names: dict[str, tuple[str, str]] = {}
    for table, column in tables:
        shown = column if owners[column.lower()] == 1 else f"{table}.{column}"
        if shown.lower() in (ID, VALUE) or shown.lower() in {name.lower() for name in names}:
            raise InvalidRequest(
                f"the column {shown!r} of {table!r} has a name that the join needs. Rename it."
            )
        names[shown] = (table, column)
    return names


def _refuse_bad_types(types: Mapping[str, Mapping[str, str]], tables: Mapping[str, object]) -> None:
    for table, given in types.items():
        refuse_unless_mappings(**{f"types[{table!r}]": given})
        if table not in tables:
            raise InvalidRequest(f"types= names the table {table!r}, but the tables are {', '.join(tables)}.")


def _refuse_duplicates(engine: DuckDBTables, tree: Tree) -> None:
    """Refuse a public table in which a key names several rows: it would multiply private records' results."""
    for table in sorted(tree.public):
        key = tree.joined_by[table].key
        if engine.rows(duplicate_keys_statement(engine.view(table), key)):
            raise InvalidRequest(
                f"the public table {table!r} has several rows for one {key!r}, so that a join would multiply "
                f"private records. Make {key!r} unique there."
            )
