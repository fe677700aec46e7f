"""MariaDB's catalog: public facts of a table, known before any record is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from prdp.engines.sources.checks import column_type, refuse_ambiguous
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted
from prdp.schema import ColumnType, Kind, Schema

Ask = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement about the catalog, with values for each ``%s``."""

_PLAIN_ENGINES = {"InnoDB", "Aria", "MyISAM", "MEMORY"}
_PLAIN_KINDS = {"BASE TABLE", "SYSTEM VERSIONED"}
"""System-versioned tables: the session reads current rows alone."""

_TABLE = """
    SELECT table_schema, table_name, table_type, engine FROM information_schema.tables
    WHERE table_name = %s AND table_schema = COALESCE(%s, DATABASE())
"""
_COLUMNS = """
    SELECT column_name, data_type, column_type, numeric_precision, numeric_scale, is_generated, privileges
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
_VIEW = "SELECT view_definition FROM information_schema.views WHERE table_schema = %s AND table_name = %s"
_TEXT = "CONVERT(CAST({0} AS CHAR) USING utf8mb4) COLLATE utf8mb4_nopad_bin"
_MOMENT = (
    "CASE WHEN {0} >= '0001-01-01' AND MONTH({0}) > 0 AND DAYOFMONTH({0}) > 0 "
    "THEN CAST({0} AS DATETIME(6)) END"
)
"""MariaDB may hold days that there are not, such as 2020-00-00; these are NULL."""

_SIGNED, _DOUBLE = "CAST({0} AS SIGNED)", "CAST({0} AS DOUBLE)"
_WHOLES = {
    "tinyint": ("TINYINT", _SIGNED),
    "smallint": ("SMALLINT", _SIGNED),
    "mediumint": ("INTEGER", _SIGNED),
    "int": ("INTEGER", _SIGNED),
    "bigint": ("BIGINT", "{0}"),
}
_FORMS = {
    **dict.fromkeys(("decimal", "float", "double"), ("DOUBLE", _DOUBLE)),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "enum", "uuid"), ("VARCHAR", _TEXT)),
    **dict.fromkeys(("date", "datetime", "timestamp"), ("TIMESTAMP", _MOMENT)),
}
_MAX_DIGITS = 38


@dataclass(frozen=True, slots=True)
class MariaTable:
    """A table of a MariaDB database.

    Attributes:
        path: Its name, as the database writes it.
        schema: Its columns, with DuckDB's names of their types.
        read: For each column that can be read, SQL for its value in the form that statements rest on.
        source: Of a view, its query.
    """

    path: str
    schema: Schema
    read: Mapping[str, str]
    source: str = ""

    def named(self, slot: str, names: Collection[str]) -> str:
        """Return the WITH clause that names the table in a slot and its columns."""
        items = [f"{sql} AS {_quoted(column)}" for column, sql in self.read.items() if column in names]
        return f"{_quoted(slot)} AS (SELECT {', '.join(items) or '1 AS prdp_one'} FROM {self.path})"


_quoted = partial(quoted, mark="`")


def find_table(ask: Ask, shown: str, table: str, *, rows_are_records: bool) -> MariaTable:
    """Look a table up, as ``name`` or ``database.name``; reads no record."""
    schema, point, name = table.rpartition(".")
    found = ask(_TABLE, name, schema if point else None)
    if not found:
        raise InvalidRequest(
            f"there is no table {table!r} in {shown}, or this user may not see it. Another database's is "
            "written 'database.table'."
        )
    ((schema, name, kind, engine),) = found
    view = kind not in _PLAIN_KINDS
    if not rows_are_records and (view or engine not in _PLAIN_ENGINES):
        what = f"a {kind.lower()}" if view else f"a table of the engine {engine}"
        raise InvalidRequest(
            f"{table!r} is {what}, so that its rows need not be records: one row may come of many, or a "
            "record be in many. Give the table itself. If each row is one record all the same and none makes "
            "its query fail, declare it with prdp.open(..., rows_are_records=True)."
        )
    types, read = {}, {}
    for column, *facts in ask(_COLUMNS, schema, name):
        types[column], form = _read_as(*facts)
        if form:
            read[column] = form.format(_quoted(column))
    refuse_ambiguous(list(types))
    query = " ".join(word for (text,) in ask(_VIEW, schema, name) for word in str(text).split())
    return MariaTable(f"{_quoted(schema)}.{_quoted(name)}", types, read, query)


def _read_as(  # noqa: PLR0911, PLR0917  (one return a type; the catalog's row)
    name: str, shown: str, digits: Any, scale: Any, generated: str, privileges: str
) -> tuple[ColumnType, str]:
    """Return the type of a column in prdp, and the SQL that reads it; none where it cannot be read."""
    if "select" not in privileges:
        return ColumnType(Kind.OTHER, native=f"{shown}, which this user may not read"), ""
    if generated != "NEVER":  # computed for each row that is read, so that one row could make it fail
        return ColumnType(Kind.OTHER, native=f"{shown}, generated"), ""
    if name == "decimal" and digits <= _MAX_DIGITS:
        return column_type(f"DECIMAL({digits},{scale})"), "{0}"
    if shown == "tinyint(1)":  # what BOOLEAN is to MariaDB
        return column_type("BOOLEAN"), "({0} <> 0)"
    if name in _WHOLES:
        native, form = _WHOLES[name]
        if "unsigned" not in shown:
            return column_type(native), form
        return column_type(f"U{native}"), "CAST({0} AS DECIMAL(20, 0))"
    if name in _FORMS:
        native, form = _FORMS[name]
        return column_type(native), form
    longer = ", longer than MariaDB compares: make it VARCHAR" if name in {"mediumtext", "longtext"} else ""
    return ColumnType(Kind.OTHER, native=f"{shown}{longer}"), ""
