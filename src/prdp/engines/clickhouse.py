"""Summaries computed inside ClickHouse: a server of it, or chDB; no row leaves the database."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from sqlglot import exp, parse_one

from prdp.engines._cells import Arrays
from prdp.engines._clickhouse_server import Server, server_of
from prdp.engines._clickhouse_tables import FoundTable, find_table, known_settings
from prdp.engines._interrupts import read_or_fail
from prdp.engines._sources import refuse_ambiguous
from prdp.engines._statement_engine import Rows, StatementEngine
from prdp.engines.dialects.clickhouse import CLICKHOUSE, RULES
from prdp.engines.dialects.clickhouse_cases import decided_case
from prdp.engines.dialects.translate import Dialect, Translated, masked, translated
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.schema import Kind

_RECORDS = "prdp_records"
_WIDE_BYTES = 16

CHANGED = (
    "the table cannot be read any more, or it is another one since it was opened: it has other columns, "
    "another engine or, as a view, another query. Nothing was charged; open it again."
)


@dataclass(frozen=True, slots=True)
class ClickHouseDatabase:
    """A server and the settings that prdp's statements are run with.

    Attributes:
        server: Who runs statements.
        shown: Where it is, without user and password.
        settings: The settings.
        lock: Held while a statement runs.
    """

    server: Server
    shown: str
    settings: Mapping[str, str]
    lock: threading.Lock

    def read(self, sql: str) -> pyarrow.Table:
        """Run a statement over records; whatever goes wrong, it fails with one fixed text."""
        return read_or_fail((), lambda: self.server.run(sql, self.settings), self.lock)


class ClickHouseEngine(StatementEngine):
    """A table that ClickHouse reads.

    Attributes:
        schema: The table's columns.
        source: What a view makes of its tables; of a plain table nothing.
    """

    name = "clickhouse"

    def __init__(self, database: ClickHouseDatabase, table: FoundTable) -> None:
        super().__init__()
        self._database = database
        self._table = table
        self._records = _RECORDS
        self.schema = table.schema
        self.source = table.source
        self._dialect = dialect_of({_RECORDS: table})

    @property
    def place(self) -> str:
        """Which table of which database is read, without user and password."""
        return f"{self._table.path} of {self._database.shown}"

    def ensure_there(self) -> None:
        """Refuse a table that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        if find_table(self._database.server, self._table.asked, self._database.settings) != self._table:
            raise InvalidRequest(CHANGED)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        said = translated(sql, self._dialect)
        return arrays_of(self._database.read(said.sql), said)

    def rows_of(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return rows_from(self._database.read(translated(sql, self._dialect).sql))

    def arrow_of(self, sql: str) -> pyarrow.Table:
        """Run a statement and return an Arrow table, with texts and moments as such."""
        found = self._database.read(translated(sql, self._dialect).sql)
        for place, name in enumerate(found.column_names):
            column = found.column(place)
            kind = self.schema[name].kind if name in self.schema else Kind.OTHER
            if kind is Kind.MOMENT:
                found = found.set_column(place, name, column.cast(pyarrow.timestamp("us")))
            elif kind is Kind.TEXT:
                texts = [None if one is None else one.decode(errors="replace") for one in column.to_pylist()]
                found = found.set_column(place, name, pyarrow.array(texts, pyarrow.string()))
        return found

    def written(self, sql: str) -> str:
        """Return a statement as ClickHouse runs it."""
        return translated(sql, self._dialect).sql


def dialect_of(tables: Mapping[str, FoundTable]) -> Dialect:
    """Return ClickHouse's dialect in which names stand for tables, their columns read as plain values."""

    def named(node: exp.Expression) -> exp.Expression:
        if node.name not in tables:
            return node
        table = tables[node.name]
        mentioned = {column.name for column in node.root().find_all(exp.Column)}
        items = [f"{read} AS {quoted(name)}" for name, read in table.reads.items() if name in mentioned]
        query = parse_one(
            f"SELECT {', '.join(items) or '1 AS prdp_one'} FROM {table.path}", dialect="clickhouse"
        )
        return exp.Subquery(this=query, alias=node.args.get("alias"))

    known: set[str] = set()
    if len(tables) == 1:  # of a join, a column may be NULL that is not in its table
        (table,) = tables.values()
        known = {name for name, kind in table.schema.items() if kind.required}
    rules = {**RULES, "Table": named, "Case": decided_case(known)}
    return Dialect(CLICKHOUSE.name, rules, CLICKHOUSE.shared)


def arrays_of(found: pyarrow.Table, said: Translated) -> Arrays:
    """Return a statement's columns as arrays; wide numbers as two halves each."""
    arrays: Arrays = {}
    for name in found.column_names:
        column = found.column(name).combine_chunks()
        if name in said.wide:
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
) -> ClickHouseEngine:
    """Open a table of a server, or of chDB; reads no record."""
    if types is not None:
        raise InvalidRequest("types= is for files: a table of ClickHouse states its own.")
    if table is None:
        raise InvalidRequest(
            "name the table of ClickHouse to read: table='accounts', or 'database.accounts'."
        )
    database, found = opened(source, {table: table}, (table,) if rows_are_records else ())
    return ClickHouseEngine(database, found[table])


def opened(
    source: object, tables: Mapping[str, str], vouched_for: Collection[str]
) -> tuple[ClickHouseDatabase, dict[str, FoundTable]]:
    """Find tables of a server, or of chDB; reads no record.

    Args:
        source: An address, a client of clickhouse-connect or a session of chDB.
        tables: What tables are called there, by any name.
        vouched_for: The names of those whose rows are records by the caller's word, or hold none.
    """
    server, shown = server_of(source)
    facts = known_settings(server, shown)
    found = {}
    for name, asked in tables.items():
        table = find_table(server, asked, facts.plain)
        if table is None:
            raise InvalidRequest(f"{shown} has no table {asked!r}, or this user may not read it.")
        table.refuse_unless_records(rows_are_records=name in vouched_for)
        refuse_ambiguous(list(table.schema))
        found[name] = table
    return ClickHouseDatabase(server, shown, facts.chosen(found.values()), threading.Lock()), found
