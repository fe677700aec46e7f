"""Several tables of one ClickHouse server, or of chDB, for statements that join them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from prdp.engines._cells import Arrays
from prdp.engines._clickhouse_tables import FoundTable, find_table
from prdp.engines._given import refuse_unless_table_name
from prdp.engines._statement_tables import Rows, StatementTables
from prdp.engines.clickhouse import CHANGED, ClickHouseDatabase, arrays_of, dialect_of, opened, rows_from
from prdp.engines.dialects.translate import translated
from prdp.errors import InvalidRequest
from prdp.schema import Kind

_EPOCH = datetime(1970, 1, 1)


class ClickHouseTables(StatementTables):
    """Several tables that one ClickHouse reads."""

    def __init__(self, database: ClickHouseDatabase, tables: Mapping[str, FoundTable]) -> None:
        """Take tables over, which are named as they are in the join."""
        super().__init__()
        self._database = database
        self._tables = tables
        self._views = {name: f"prdp_table_{place}" for place, name in enumerate(tables)}
        self.schemas = {name: table.schema for name, table in tables.items()}
        self._dialect = dialect_of({self._views[name]: _comparable(table) for name, table in tables.items()})

    @property
    def places(self) -> Mapping[str, frozenset[str]]:
        """Which table of which database each is, without user and password."""
        shown = self._database.shown
        return {name: frozenset((f"{table.path} of {shown}",)) for name, table in self._tables.items()}

    def ensure_there(self) -> None:
        """Refuse tables that are gone or have other columns by now; reads no record."""
        self.refuse_elsewhere()
        for table in self._tables.values():
            if find_table(self._database.server, table.asked, self._database.settings) != table:
                raise InvalidRequest(CHANGED)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        said = translated(sql, self._dialect)
        return arrays_of(self._database.read(said.sql), said)

    def rows(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return rows_from(self._database.read(self.written(sql)))

    def values(self, table: str, column: str) -> list[object]:
        """Return the values of a public table's column, each once and sorted; texts that are UTF-8."""
        found = super().values(table, column)
        kind = self.schemas[table][column].kind
        if kind is Kind.MOMENT:
            return [_EPOCH + timedelta(microseconds=int(str(one))) for one in found]
        if kind is Kind.TEXT:
            return [text for one in found if (text := _decoded(one)) is not None]
        return found

    def written(self, sql: str) -> str:
        """Return a statement as ClickHouse runs it."""
        return translated(sql, self._dialect).sql


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


def open_tables(database: object, tables: Mapping[str, object], public: Collection[str]) -> ClickHouseTables:
    """Open several tables of a server, or of chDB, together; reads no record."""
    for table in tables.values():
        refuse_unless_table_name(table)
    return ClickHouseTables(*opened(database, {name: str(table) for name, table in tables.items()}, public))
