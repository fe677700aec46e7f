"""A private table joined to the rows that belong to its records: questions about the results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prdp.declare.columns import Number, read_bounds, read_rounding, refuse_unless_mappings
from prdp.declare.exact import Exact
from prdp.declare.references import Tree
from prdp.declare.units import MAX_ROWS, JoinedTables, PrivacyUnit, read_max_rows
from prdp.engines.engine import JoinEngine
from prdp.engines.origins import Origins
from prdp.engines.registry import tables_for
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.unit_rows import TAKEN
from prdp.engines.tracing import join_origins
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node, canonical
from prdp.ledger import Binding, Ledger
from prdp.plan.explain import Whose
from prdp.plan.planner import Planner
from prdp.policy import Policy
from prdp.run.reader import Reader
from prdp.schema import Bounds, Rounding, Schema
from prdp.tables.arguments import (
    AccountOptions,
    account_of,
    fitted_policy,
    name_of,
    read_condition,
    read_declaration,
    read_immutable,
    read_one_row_per_unit,
    read_snapshot,
    refuse_two_names,
)
from prdp.tables.column import TableColumn, all_of
from prdp.tables.queryable import Queried
from prdp.tables.source_registry import OpenedSource, found_before

if TYPE_CHECKING:
    from prdp.sql.catalog import Catalog


def refuse_duplicates(engine: JoinEngine, tree: Tree) -> None:
    """Refuse a public table in which a key names several rows: it would multiply private records' results."""
    for table in sorted(tree.public):
        key = tree.joined_by[table].key
        if engine.has_twice(table, key):
            raise InvalidRequest(
                f"the public table {table!r} has several rows for one {key!r}, so that a join would multiply "
                f"private records. Make {key!r} unique there."
            )


def open_join(
    tables: Mapping[str, object],
    *,
    private: str,
    key: str,
    references: Mapping[str, str],
    policy: Policy | Exact,
    database: object = None,
    public: Collection[str] = (),
    public_by_declaration: bool = False,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    round_to: Mapping[str, Exact] | None = None,
    types: Mapping[str, Mapping[str, str]] | None = None,
    max_rows: int = MAX_ROWS,
    immutable: Iterable[str] | None = None,
    one_row_per_unit: bool = False,
    snapshot: str | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    must_exist: bool | None = None,
    separate_account: bool = False,
    who: str | None = None,
    synthetic: bool = False,
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
        tables: For each table's name, a path or glob of Parquet or CSV files, or a frame in memory; or
            DataFrames of one Spark session. Only what is public may be there under two names.
        private: The table whose records are protected.
        key: The column that names them. A record whose key appears in several rows has the least of their
            budgets, and a column on which they do not agree is unknown for it: docs/privacy_units.md.
        references: ``{"orders.o_custkey": "customer.c_custkey"}``: which column holds which table's key.
        policy: The public budget of a private record, as a function of its columns in the private table.
        database: Where all of the tables are: ``"postgresql://user@host/bank"``,
            ``"clickhouse://user@host:8123/bank"``, a client of clickhouse-connect, a session of chDB or of
            Spark. Then ``tables`` says what each is called there.
        public: The tables that hold nothing to protect; the key that others refer to is unique there.
        public_by_declaration: Your word that these tables show no private rows, for those of which it cannot
            be traced, such as a view over a function. Bound to the ledger: docs/joins.md.
        bounds: For number columns, the public least and greatest value. A column that several tables have is
            called ``"table.column"`` here, and in quotes in expressions.
        round_to: For columns that are added up, what their values are rounded to; by default by the bounds.
        types: For CSV files and text columns of frames, by table, SQL types by column.
        max_rows: A record adds at most so many times what one result can add, 2^20 by default. A high guess
            costs next to nothing.
        immutable: Columns of the private table whose value never changes for a record; declared when a ledger
            is begun. They narrow the charged region only together with ``one_row_per_unit``.
        one_row_per_unit: That a record has one row in the private table and keeps it, over all snapshots.
            Records with more rows there are left out of every answer; that a row is never replaced by another
            cannot be checked, and the promise depends on it: docs/accounting.md. Bound to the ledger.
        snapshot: As in ``prdp.open``.
        name: What it is called; by default the private table's name.
        ledger: As in ``prdp.open``.
        must_exist: As in ``prdp.open``.
        separate_account: As in ``prdp.open``.
        who: As in ``prdp.open``.
        synthetic: As in ``prdp.open``.

    Raises:
        InvalidRequest: Something is wrong by public facts alone; the message says what to write.
    """
    engine, origins = _opened(tables, types, database, public, other=(references, bounds, round_to))
    tree = Tree.of(engine.schemas, private, key, public, references)
    joined = _join_facts(engine, origins, tree, max_rows, declared=public_by_declaration)
    names, schema, ends, rounding = _declared(engine.schemas, bounds or {}, round_to or {})
    checked = fitted_policy(policy, engine.schemas[private], _own_bounds(ends, names, private))
    called, alone = name_of(name, private), read_one_row_per_unit(one_row_per_unit, private)
    constant = _immutable_of(private, read_immutable(immutable, schema), names)
    facts = Binding.of(called, schema, checked, ends, rounding, None, constant, one_row_per_unit=alone).facts
    kept = AccountOptions(ledger, who, must_exist, synthetic, separate_account)
    own = _private_sources(tables, origins, tree)
    account = account_of(kept, Binding({**facts, **joined}), *own, sources=tables.values())
    return Join(
        _engine=engine,
        tree=tree,
        policy=checked,
        names=names,
        _all_columns=schema,
        bounds=ends,
        round_to=rounding,
        max_rows=max_rows,
        name=called,
        ledger=account,
        tables=(private,),
        _reader=Reader(engine, synthetic, partial(refuse_duplicates, engine, tree)),
        _origins=tuple(one.traced() for one in own),
        one_row_per_unit=alone,
        snapshot=read_snapshot(snapshot),
        _immutable=(constant or ()) if synthetic else account.immutable,
    )


def _declared(
    schemas: Mapping[str, Schema],
    bounds: Mapping[str, tuple[Number, Number]],
    round_to: Mapping[str, Exact],
) -> tuple[Mapping[str, tuple[str, str]], Schema, Bounds, Rounding]:
    """Return the columns of all tables by their names in the join, with what is declared of them."""
    names, schema = _columns(schemas)
    return names, schema, read_bounds(bounds, schema), read_rounding(round_to, schema)


def _private_sources(
    tables: Mapping[str, object], origins: Mapping[str, Origins], tree: Tree
) -> list[OpenedSource]:
    """Return the private tables as sources that have an account."""
    own = {table: found for table, found in origins.items() if table not in tree.public}
    return [OpenedSource(tables[table], found_before(found)) for table, found in own.items()]


def _own_bounds(bounds: Bounds, names: Mapping[str, tuple[str, str]], private: str) -> Bounds:
    """Return the bounds of the private table's columns, by their names there."""
    return {names[column][1]: pair for column, pair in bounds.items() if names[column][0] == private}


def _opened(
    tables: Mapping[str, object],
    types: Mapping[str, Mapping[str, str]] | None,
    database: object,
    public: Collection[str],
    *,
    other: tuple[object, object, object],
) -> tuple[SqlEngine, Mapping[str, Origins]]:
    """Return the opened tables and their origins, or refuse what is not a dict."""
    references, bounds, round_to = other
    refuse_unless_mappings(
        tables=tables, types=types, references=references, bounds=bounds, round_to=round_to
    )
    _refuse_bad_types(types or {}, tables)
    engine = tables_for(tables, types or {}, database, public)
    return engine, join_origins(tables, engine)


def _join_facts(
    engine: SqlEngine, origins: Mapping[str, Origins], tree: Tree, max_rows: int, *, declared: bool
) -> dict[str, object]:
    """Return what a ledger is bound to beside the private table; what the unit vouches for is named.

    Raises:
        InvalidRequest: A table has two names, a public one cannot be traced, or its key appears twice.
    """
    read_declaration(declared)
    refuse_two_names(origins, tree, declared=declared)
    refuse_duplicates(engine, tree)
    facts = {**tree.facts(), "max_rows": str(read_max_rows(max_rows))}
    return facts | ({"public_by_declaration": sorted(tree.public)} if declared else {})


def _immutable_of(
    private: str, immutable: tuple[str, ...] | None, names: Mapping[str, tuple[str, str]]
) -> tuple[str, ...] | None:
    """Return the fixed columns, or refuse those of other tables: a record may have many rows there."""
    for column in immutable or ():
        if names[column][0] != private:
            raise InvalidRequest(
                f"immutable= names {column!r} of {names[column][0]!r}, but only columns of the private table "
                f"{private!r} are fixed for a record: it may have any rows in other tables."
            )
    return immutable


@dataclass(frozen=True, eq=False, repr=False)
class Join(Queried):
    """Joined tables that answer with releases; what ``prdp.open_join`` returns.

    It answers what a table with ``privacy_unit`` answers: docs/privacy_units.md.
    """

    _engine: SqlEngine
    tree: Tree
    policy: Policy
    names: Mapping[str, tuple[str, str]]
    _all_columns: Schema
    bounds: Bounds
    round_to: Rounding
    max_rows: int
    name: str
    ledger: Ledger
    tables: tuple[str, ...]
    _reader: Reader
    _origins: Sequence[Origins] = ()
    condition: Node | None = None
    one_row_per_unit: bool = False
    snapshot: str = ""
    _immutable: tuple[str, ...] = ()

    @property
    def _title(self) -> str:
        where = "" if self.condition is None else f" where {canonical(self.condition)}"
        return f"{self._called} join {self.name!r} of {', '.join(self.tables)}{where}"

    @property
    def schema(self) -> Schema:
        """The columns of the joined tables and their types; one that several have is ``"table.column"``.

        >>> import numpy
        >>> import prdp
        >>> tables = {"people": {"id": numpy.array([1, 2])}, "orders": {"buyer": numpy.array([1, 1, 2])}}
        >>> refers = {"orders.buyer": "people.id"}
        >>> shop = prdp.open_join(tables, private="people", key="id", references=refers, policy="1")
        >>> shop.columns, shop.over("orders").schema
        (['id'], {'id': BIGINT, 'buyer': BIGINT})
        """
        return {name: kind for name, kind in self._all_columns.items() if self.names[name][0] in self.tables}

    @property
    def _shown_schema(self) -> Schema:
        return self.schema

    def over(self, *tables: str) -> Join:
        """Return the join of the private table with these, and with those on the way to them."""
        unknown = [name for name in tables if name not in self._engine.schemas]
        if unknown:
            raise InvalidRequest(f"over({unknown[0]!r}): the tables are {', '.join(self._engine.schemas)}.")
        joined = list(self.tables)
        for table in tables:
            joined += [step for step in self.tree.path(table) if step not in joined]
        return replace(self, tables=tuple(joined))

    def filter(self, *conditions: str | TableColumn[Any], **equal: object) -> Join:
        """Return the join of those results alone for which all conditions on their columns hold."""
        planner = self.planner
        text = all_of(conditions, equal)
        planner.refuse_elsewhere(text)
        return self.filtered(read_condition(text, planner.schema))

    @property
    def planner(self) -> Planner:
        """The planner of questions about the join, from its public facts."""
        here = {name: place for name, place in self.names.items() if place[0] in self.tables}
        most = 1 if self.tables == (self.tree.private,) else self.max_rows  # it is read as one row a unit
        unit = PrivacyUnit(self._key, most, self._joined(here), self.one_row_per_unit)
        return Planner(
            self.schema,
            self.policy,
            self.policy.levels,
            {name: ends for name, ends in self.bounds.items() if name in here},
            {name: round_to for name, round_to in self.round_to.items() if name in here},
            unit,
            self.condition,
            over=self.tables,
            elsewhere={name: table for name, (table, _) in self.names.items() if name not in here},
            immutable=self._immutable,
            snapshot=self.snapshot,
        )

    def _joined(self, names: Mapping[str, tuple[str, str]]) -> JoinedTables:
        tree = self.tree
        joined_by = {table: tree.joined_by[table] for table in self.tables[1:]}
        public = tree.public & set(self.tables)
        return JoinedTables(tree.private, tree.key, self.tables, joined_by, names, public)

    @property
    def _key(self) -> str:
        """Name of the private table's key in the join."""
        place = (self.tree.private, self.tree.key)
        return next(name for name, known in self.names.items() if known == place)

    @property
    def _catalog(self) -> Catalog:
        from prdp.sql.catalog import Catalog  # noqa: PLC0415  (asked for by SQL alone)

        if len(self.tables) > 1:
            raise InvalidRequest(
                f"SQL names its tables in FROM, and this join is already over {', '.join(self.tables)}. Ask "
                "what prdp.open_join returned."
            )
        tables: dict[str, dict[str, str]] = {name: {} for name in self._engine.schemas}
        for shown, (table, column) in self.names.items():
            tables[table][column] = shown
        unit = PrivacyUnit(self._key, self.max_rows, self._joined(self.names))
        return Catalog(
            tables, self.tree.private, self.tree, unit, self._public_values, self._public_rows, self.over
        )

    def _public_values(self, table: str, column: str) -> list[object]:
        """Return the values of a public table's column, each once."""
        if table not in self.tree.public:
            raise InvalidRequest(f"{table!r} is not public: its values may give a record away.")
        return self._engine.values(table, column)

    def _public_rows(self, table: str, columns: Sequence[str]) -> list[tuple[object, ...]]:
        """Return the different rows of a public table's columns."""
        if table not in self.tree.public:
            raise InvalidRequest(f"{table!r} is not public: its values may give a record away.")
        return self._engine.public_rows(table, columns)

    @property
    def _whose(self) -> Whose:
        tables = tuple((self._engine.slot(table), table) for table in self.tables)
        unit = PrivacyUnit(self._key, join=self._joined(self.names), one_row=self.one_row_per_unit)
        return Whose(unit.noun, "proofs/privacy_units.md", tables)


def _columns(schemas: Mapping[str, Schema]) -> tuple[dict[str, tuple[str, str]], Schema]:
    """Return where each column of a join is from, and its type."""
    names = _names(schemas)
    return names, {shown: schemas[table][column] for shown, (table, column) in names.items()}


def _names(schemas: Mapping[str, Schema]) -> dict[str, tuple[str, str]]:
    """Return what each column is called in the join: its own name, with its table's if others have it."""
    tables = [(table, column) for table, schema in schemas.items() for column in schema]
    unit: dict[str, int] = {}
    for _, column in tables:
        unit[column.lower()] = unit.get(column.lower(), 0) + 1
    names: dict[str, tuple[str, str]] = {}
    for table, column in tables:
        shown = column if unit[column.lower()] == 1 else f"{table}.{column}"
        if shown.lower() in TAKEN or shown.lower() in {name.lower() for name in names}:
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
