"""Public facts about ClickHouse's tables: columns, engines and settings; no record is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prdp.engines._clickhouse_server import Server, fails
from prdp.engines._clickhouse_settings import settings_for
from prdp.engines._clickhouse_types import read_as
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind, Schema

_ROW_BY_ROW = frozenset(("MergeTree", "Memory", "Log", "TinyLog", "StripeLog"))
"""Engines in which a row stays the row that was inserted."""

_SUMMED_LATER = re.compile(r"\bTTL\b.*\bGROUP BY\b", re.DOTALL | re.IGNORECASE)
_CONSTANT = re.compile(r"|-?[0-9.e]+|'[^'\\]*'|NULL|true|false|\[\]", re.IGNORECASE)
_COMPUTED = (ColumnType(Kind.OTHER, native="a default that may be computed when it is read"), "")
"""Of rows that are older than the column: there, one record's value might be made of others, or fail."""

_NO_TABLES = frozenset(
    (
        *(
            "Kafka",
            "RabbitMQ",
            "NATS",
            "FileLog",
            "S3Queue",
            "AzureQueue",
            "GenerateRandom",
            "Null",
            "Buffer",
        ),
        *("Set", "Join", "Loop", "FuzzJSON", "FuzzQuery", "WindowView", "LiveView"),
    )
)
"""Engines whose rows are gone when they are read, or are there for a while, or are made up."""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table as ClickHouse describes it.

    Attributes:
        asked: The name under which it was asked for.
        path: Its name in statements.
        engine: Who keeps its rows, such as MergeTree; copies on several servers make no difference.
        query: What a view reads; else nothing.
        schema: Its columns.
        reads: How each column that can be read is read.
    """

    asked: str
    path: str
    engine: str
    query: str
    schema: Schema
    reads: Mapping[str, str] = field(repr=False)

    @property
    def row_by_row(self) -> bool:
        """Whether a row stays the row that was inserted."""
        return self.engine in _ROW_BY_ROW

    @property
    def source(self) -> str:
        """What is made of rows before prdp sees them, for a question's text."""
        return "" if self.row_by_row else (self.query or f"{self.engine} FINAL")

    def refuse_unless_records(self, *, rows_are_records: bool) -> None:
        """Refuse a table whose rows need not be records, unless the caller says that they are."""
        if self.engine in _NO_TABLES:
            raise InvalidRequest(
                f"{self.asked!r} has the engine {self.engine}, whose rows do not stay: copy them."
            )
        if self.row_by_row or rows_are_records:
            return
        what = (
            "merges rows in the background"
            if "MergeTree" in self.engine
            else "is made of other tables or comes from elsewhere"
        )
        raise InvalidRequest(
            f"{self.asked!r} has the engine {self.engine}: what it holds {what}, so that one row may hold "
            "what several records have said. If each row, merged as FINAL merges them, is one record, say "
            "so: rows_are_records=True. Otherwise open the table that the records were inserted into."
        )


@dataclass(frozen=True, slots=True)
class KnownSettings:
    """A server's settings: name, value, default, whether somebody changed it, whether it cannot be."""

    known: tuple[tuple[str, str, str, int, int], ...]

    @property
    def plain(self) -> dict[str, str]:
        """The settings of statements that read no record."""
        return settings_for(self.known, final=False)

    def chosen(self, tables: Iterable[FoundTable]) -> dict[str, str]:
        """Return the settings for statements that read these tables."""
        return settings_for(self.known, final=not all(table.row_by_row for table in tables))


def known_settings(server: Server, shown: str) -> KnownSettings:
    """Ask a server for its settings."""
    found: list[tuple[Any, ...]] = []

    def ask() -> None:
        sql = "SELECT name, value, default, changed, readonly FROM system.settings"
        found.extend(_rows(server, sql, {"limit": "0", "offset": "0"}))  # else a part of them might be seen

    trouble = fails(ask)  # of a user who may change no setting, too
    if trouble:
        raise InvalidRequest(f"{shown} cannot be opened: {trouble}. Nothing was read.")
    return KnownSettings(tuple(found))


def find_table(server: Server, asked: str, settings: Mapping[str, str]) -> FoundTable | None:
    """Describe a table of the database that was opened or, with a point, of another; None if none."""
    database, _, name = asked.rpartition(".")
    places = [("currentDatabase()", asked), *([(_text(database), name)] if database else [])]
    try:
        for where, called in places:
            found = _described(server, asked, where, _text(called), settings)
            if found is not None:
                return found
    except Exception:  # its words may repeat what was given
        return None
    return None


def _described(
    server: Server, asked: str, database: str, name: str, settings: Mapping[str, str]
) -> FoundTable | None:
    which = f"database = {database} AND {{}} = {name}"
    listed = (
        "SELECT database, name, engine, as_select, engine_full FROM system.tables "
        f"WHERE {which.format('name')}"
    )
    tables = _rows(server, listed, settings)
    columns = _rows(
        server,
        f"SELECT name, type, default_expression FROM system.columns WHERE {which.format('table')} AND "
        "default_kind NOT IN ('ALIAS', 'MATERIALIZED', 'EPHEMERAL') ORDER BY position",
        settings,
    )
    if not tables or not columns:
        return None
    ((owner, called, engine, query, whole),) = tables
    for prefix in ("Replicated", "Shared"):
        engine = engine.removeprefix(prefix)
    if _SUMMED_LATER.search(whole):
        engine = f"{engine} with TTL ... GROUP BY"
    hidden = [column for column, *_ in columns if "\\" in column]
    if hidden:
        raise InvalidRequest(
            f"the column {hidden[0]!r} has a backslash in its name: open a view that renames it."
        )
    known = {
        column: read_as(native, _name(column)) if _CONSTANT.fullmatch(default) else _COMPUTED
        for column, native, default in columns
    }
    return FoundTable(
        asked=asked,
        path=f"{_name(owner)}.{_name(called)}",
        engine=engine,
        query=query,
        schema={column: kind for column, (kind, _) in known.items()},
        reads={column: read for column, (_, read) in known.items()},
    )


def _rows(server: Server, sql: str, settings: Mapping[str, str]) -> list[tuple[str, ...]]:
    found = server.run(sql, settings)
    columns = [
        [one.decode() if isinstance(one, bytes) else one for one in column.to_pylist()]
        for column in found.columns
    ]
    return list(zip(*columns, strict=True))


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _name(value: str) -> str:
    return "`" + value.replace("`", "``") + "`"
