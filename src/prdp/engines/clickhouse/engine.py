"""Summaries computed inside ClickHouse: a server of it, or chDB; no row leaves the database."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from sqlglot import exp, parse_one

from prdp.engines.clickhouse.catalog import (
    FoundTable,
    KnownSettings,
    catalogue_rows,
    find_table,
    known_settings,
    table_origins,
)
from prdp.engines.clickhouse.datetimes import decided_case
from prdp.engines.clickhouse.dialect import CLICKHOUSE, RULES
from prdp.engines.clickhouse.session import Server, server_of
from prdp.engines.database import RECORDS, Database, Rows, Statement, slots_of
from prdp.engines.origins import Origins, untraced
from prdp.engines.registry import refuse_unless_table_name
from prdp.engines.sources.checks import refuse_ambiguous
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.translate import Dialect, masked, translated
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted
from prdp.schema import Kind, Schema

_WIDE_BYTES = 16
_UNSIGNED, _WHOLE = pyarrow.uint64(), pyarrow.decimal256(39, 0)

_EPOCH = datetime(1970, 1, 1)
_Tables = Mapping[str, FoundTable]


@dataclass(eq=False)
class ClickHouseDatabase(Database[FoundTable]):
    """Tables of a ClickHouse server, or of chDB.

    Attributes:
        server: Who runs statements.
        shown: Its address, without user and password.
        settings: Its settings.
        slots: The slot of each table, by its name here.
        called: The name of each table there.
        vouched: Those whose rows are records by the caller's word, or hold nothing to protect.
        lock: Held while a statement runs.
    """

    server: Server
    shown: str
    settings: KnownSettings
    slots: Mapping[str, str]
    called: Mapping[str, str]
    vouched: Collection[str]
    lock: threading.Lock = field(default_factory=threading.Lock)
    name = "clickhouse"

    def find(self) -> dict[str, FoundTable]:
        """Look tables up in the catalogue."""
        found = {}
        for name, called in self.called.items():
            table = find_table(self.server, called, self.settings.plain)
            if table is None:
                raise InvalidRequest(f"{self.shown} has no table {called!r}, or this user may not read it.")
            table.refuse_unless_records(rows_are_records=name in self.vouched)
            refuse_ambiguous(list(table.schema))
            found[name] = table
        self.settings.chosen(found.values())  # refuses a user who may not set them
        return found

    def origins(self, tables: _Tables) -> Mapping[str, Origins]:
        """Return the tables below each, by the catalogue; of one that is not shown whole, nothing."""

        def ask(sql: str) -> list[tuple[str, ...]]:
            return catalogue_rows(self.server, sql, self.settings.plain)

        places = {name: table.place for name, table in tables.items()}
        try:
            with self.lock:
                found = table_origins(ask, self.shown, list(places.values()))
        except Exception:  # its words may repeat what was given
            return dict.fromkeys(places, untraced("a catalogue that this user may not read whole"))
        return {name: found[place] for name, place in places.items()}

    def write(self, sql: str, tables: _Tables) -> Statement:
        """Return a statement in which each table is a query that reads its columns as plain values."""
        read = {
            self.slots[name]: _comparable(table) if len(tables) > 1 else table
            for name, table in tables.items()
        }
        return translated(sql, dialect_of(read))

    def arrays(self, statement: Statement, tables: _Tables) -> Arrays:
        """Run a statement; return its columns."""
        return arrays_of(self._run(statement, tables), statement.wide)

    def rows(self, statement: Statement, tables: _Tables) -> Rows:
        """Run a statement; return its rows, with texts as bytes and moments as microseconds."""
        return rows_from(self._run(statement, tables))

    def arrow(self, statement: Statement, tables: _Tables, schema: Schema) -> pyarrow.Table:
        """Run a statement; return an Arrow table, with texts and moments as such."""
        found = self._run(statement, tables)
        for place, name in enumerate(found.column_names):
            column = found.column(place)
            kind = schema[name].kind if name in schema else Kind.OTHER
            if kind is Kind.MOMENT:
                found = found.set_column(place, name, column.cast(pyarrow.timestamp("us")))
            elif kind is Kind.TEXT:
                texts = [None if one is None else one.decode(errors="replace") for one in column.to_pylist()]
                found = found.set_column(place, name, pyarrow.array(texts, pyarrow.string()))
            elif pyarrow.types.is_fixed_size_binary(column.type):  # whole numbers that Arrow has no type for
                whole = [_whole(one) for one in column.to_pylist()]
                narrow = name in schema and schema[name].native == "UBIGINT"  # made wide to be joined
                found = found.set_column(place, name, pyarrow.array(whole, _UNSIGNED if narrow else _WHOLE))
        return found

    def values(self, found: list[object], kind: Kind) -> list[object]:
        """Return values of a column as Python has them; of texts those that are UTF-8."""
        if kind is Kind.MOMENT:
            return [_EPOCH + timedelta(microseconds=int(str(one))) for one in found]
        if kind is Kind.TEXT:
            return [text for one in found if (text := _decoded(one)) is not None]
        return found

    def _run(self, statement: Statement, tables: _Tables) -> pyarrow.Table:
        return self.server.run(statement.sql, self.settings.chosen(tables.values()))


def _decoded(text: object) -> str | None:
    try:
        return text.decode() if isinstance(text, bytes) else str(text)
    except UnicodeDecodeError:
        return None


def _comparable(table: FoundTable) -> FoundTable:
    """Return a table whose whole numbers can all be joined: ClickHouse has no type for Int64 and UInt64."""
    wide = {
        name: f"toInt128({table.reads[name]})"
        for name, kind in table.schema.items()
        if kind.native == "UBIGINT"
    }
    return replace(table, reads={**table.reads, **wide})


class _Read(NamedTuple):
    """A table in statements: its path, the SQL that reads its columns, and those that are never NULL."""

    name: str
    path: str
    reads: tuple[tuple[str, str], ...]
    required: frozenset[str]


def dialect_of(tables: Mapping[str, FoundTable]) -> Dialect:
    """Return ClickHouse's dialect in which names represent tables, their columns read as plain values."""
    required = (
        frozenset(name for name, kind in table.schema.items() if kind.required) for table in tables.values()
    )
    reads = zip(tables.items(), required, strict=True)
    return _dialect(
        tuple(_Read(name, table.path, tuple(table.reads.items()), known) for (name, table), known in reads)
    )


@lru_cache(maxsize=64)
def _dialect(tables: tuple[_Read, ...]) -> Dialect:
    """Return the one dialect of some tables, so that translations are found again when they are reopened."""
    known = {table.name: table for table in tables}

    def named(node: exp.Expression) -> exp.Expression:
        if node.name not in known:
            return node
        table = known[node.name]
        mentioned = {column.name for column in node.root().find_all(exp.Column)}
        items = [f"{read} AS {quoted(name)}" for name, read in table.reads if name in mentioned]
        query = parse_one(
            f"SELECT {', '.join(items) or '1 AS prdp_one'} FROM {table.path}", dialect="clickhouse"
        )
        return exp.Subquery(this=query, alias=node.args.get("alias"))

    # of a join, a column may be NULL that is not in its table
    never_null = set(tables[0].required) if len(tables) == 1 else set()
    rules = {**RULES, "Table": named, "Case": decided_case(never_null)}
    return Dialect(CLICKHOUSE.name, rules, CLICKHOUSE.shared)


def arrays_of(found: pyarrow.Table, wide: Collection[str]) -> Arrays:
    """Return a statement's columns as arrays; wide numbers as two halves each."""
    arrays: Arrays = {}
    for name in found.column_names:
        column = found.column(name).combine_chunks()
        if name in wide:
            high, low = _halves(column)
            arrays[f"{name}_high"], arrays[f"{name}_low"] = high, low
        else:
            arrays[name] = _array(column)
    return arrays


def _array(column: Any) -> NDArray[Any]:
    """Return a column; bytes as objects, others as numbers, masked where there is NULL."""
    if pyarrow.types.is_binary(column.type):
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_pylist()
        return values
    if pyarrow.types.is_fixed_size_binary(column.type):
        numbers = np.empty(len(column), dtype=object)
        numbers[:] = [_whole(one) for one in column.to_pylist()]
        return numbers
    missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
    whole = column.fill_null(False if pyarrow.types.is_boolean(column.type) else 0)
    return masked(whole.to_numpy(zero_copy_only=False), missing)


def _halves(column: Any) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the upper and the lower 64 bits of whole numbers of 128; 0 for NULL."""
    whole = column.fill_null(bytes(_WIDE_BYTES))
    data = whole.buffers()[1]
    start = whole.offset * _WIDE_BYTES
    raw = memoryview(data)[start : start + len(whole) * _WIDE_BYTES] if len(whole) else b""
    pairs = np.frombuffer(raw, dtype="<u8").reshape(-1, 2)
    return pairs[:, 1].astype(np.int64), pairs[:, 0].astype(np.uint64)


def rows_from(found: pyarrow.Table) -> Rows:
    """Return the rows of an Arrow table; whole numbers of 128 bits are numbers."""
    columns = [
        [_whole(one) for one in column.to_pylist()]
        if pyarrow.types.is_fixed_size_binary(column.type)
        else column.to_pylist()
        for column in found.columns
    ]
    return list(zip(*columns, strict=True))


def _whole(raw: bytes | None) -> int | None:
    return None if raw is None else int.from_bytes(raw, "little", signed=True)


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> SqlEngine:
    """Open a table of a server, or of chDB; reads no record."""
    if types is not None:
        raise InvalidRequest("types= is for files: a table of ClickHouse states its own.")
    if table is None:
        raise InvalidRequest(
            "name the table of ClickHouse to read: table='accounts', or 'database.accounts'."
        )
    return _engine(source, {table: RECORDS}, {table: table}, (table,) if rows_are_records else ())


def open_tables(database: object, tables: Mapping[str, object], public: Collection[str]) -> SqlEngine:
    """Open several tables of a server, or of chDB, together; reads no record."""
    for table in tables.values():
        refuse_unless_table_name(table)
    called = {name: str(table) for name, table in tables.items()}
    return _engine(database, slots_of(tables), called, frozenset(public))


def _engine(
    source: object, slots: Mapping[str, str], called: Mapping[str, str], vouched: Collection[str]
) -> SqlEngine:
    """Open tables of an address, a client of clickhouse-connect or a session of chDB."""
    server, shown = server_of(source)
    return SqlEngine(ClickHouseDatabase(server, shown, known_settings(server, shown), slots, called, vouched))
