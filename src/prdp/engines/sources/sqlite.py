"""A table in a SQLite file, read by Python's own sqlite3: every value alone, by its column's declared type.

In SQLite any row of a column may hold a value of any type. One that does not fit its column's is NULL here,
and changes nothing for others.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow

from prdp.engines.origins import Origins, database_table, untraced
from prdp.engines.sources.batches import batch_query, whole_text
from prdp.engines.sources.checks import column_type, refuse_bad_types
from prdp.engines.sources.database_files import DatabaseTable, known_table, sqlite_opened
from prdp.engines.sources.source_query import SourceQuery
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted

_ROWS_AT_ONCE = 20_000
_VIRTUAL = 2
"""SQLite's mark of a column that is computed whenever it is read."""

_NAMED = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), "BOOLEAN"),
    "DATE": "DATE",
    **dict.fromkeys(("DATETIME", "TIMESTAMP"), "TIMESTAMP"),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"), "TIMESTAMP WITH TIME ZONE"),
    "STRING": "VARCHAR",
}
_BY_PART = (
    ("INT", "BIGINT"),
    *((part, "VARCHAR") for part in ("CHAR", "CLOB", "TEXT")),
    ("BLOB", ""),
    *((part, "DOUBLE") for part in ("REAL", "FLOA", "DOUB", "NUM", "DEC")),
)
"""SQLite's own rules, in its order: the first part that a declared type holds decides."""

_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")


@dataclass(frozen=True, slots=True)
class SqliteColumn:
    """A column of a SQLite table.

    Attributes:
        name: Its name.
        declared: The type that the table declares, in capitals.
        hidden: Whether and how SQLite computes it.
    """

    name: str
    declared: str
    hidden: int

    @property
    def native(self) -> str:
        """The SQL type that its values are read as; empty where the declared one says nothing."""
        if self.hidden == _VIRTUAL:
            return ""
        if found := _DECIMAL.fullmatch(self.declared):
            digits, scale = map(int, found.groups())
            return f"DECIMAL({digits},{scale})" if scale <= digits <= 38 else "DOUBLE"
        named = _NAMED.get(re.sub(r"\s*\(.*\)", "", self.declared))
        return named or next((kind for part, kind in _BY_PART if part in self.declared), "")

    @property
    def holds_numbers(self) -> bool:
        """True if SQLite converts texts that look like numbers."""
        return self.native in {"BIGINT", "DOUBLE"} or self.native.startswith("DECIMAL")


def sqlite_query(
    connection: Any,
    name: str,
    given: DatabaseTable,
    types: Mapping[str, str] | None,
    *,
    rows_are_records: bool,
) -> SourceQuery:
    """Return the query for the records of a table in a SQLite file; reads no record."""
    rows = SqliteRows(given, types or {}, rows_are_records=rows_are_records)
    return batch_query(connection, name, rows, rows.casts, rows.unreadable)


class SqliteRows:
    """The rows of a table, as batches.

    Attributes:
        schema: The columns: whole numbers, floats, and texts that are yet to be cast.
        casts: The SQL types of columns, by name.
        unreadable: Columns that are not read, and what they hold.
    """

    def __init__(self, given: DatabaseTable, types: Mapping[str, str], *, rows_are_records: bool) -> None:
        self._file = given.file
        with closing(sqlite_opened(self._file)) as database:
            self._table = _known(database, given, rows_are_records=rows_are_records)
        self._columns = {column.name: column for column in self.found()}
        refuse_bad_types(list(self._columns), types)
        self.casts = {name: types.get(name, column.native) for name, column in self._columns.items()}
        self.unreadable = {
            name: self._columns[name].declared.lower() or "values of no declared type"
            for name, native in self.casts.items()
            if not native
        }
        self._kept = {name: _way(self._columns[name], native) for name, native in self.casts.items()}
        self.schema = pyarrow.schema([(name, way.arrow) for name, way in self._kept.items()])
        self.casts = {name: native for name, native in self.casts.items() if native}

    def found(self) -> list[SqliteColumn]:
        """Return the table's columns as they are now."""
        with closing(sqlite_opened(self._file)) as database:
            rows = database.execute(f"PRAGMA table_xinfo({quoted(self._table)})").fetchall()
        return [
            SqliteColumn(_text(name), _text(declared).strip().upper(), hidden)
            for _, name, declared, _, _, _, hidden in rows
        ]

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read the table once, in one transaction of SQLite's."""
        ways = [self._kept[name] for name in columns]
        # With the table's name in front: else SQLite takes a column that is gone for a text in quotes.
        listed = ", ".join(
            way.sql.format(f"t.{quoted(name)}") for name, way in zip(columns, ways, strict=True)
        )
        schema = pyarrow.schema([self.schema.field(name) for name in columns])
        with closing(sqlite_opened(self._file)) as database:
            rows = database.execute(f"SELECT {listed} FROM {quoted(self._table)} AS t")
            while block := rows.fetchmany(_ROWS_AT_ONCE):
                arrays = [
                    way.array(values) for way, values in zip(ways, zip(*block, strict=True), strict=True)
                ]
                yield pyarrow.record_batch(arrays, schema=schema)


@dataclass(frozen=True, slots=True)
class _Way:
    """The conversion of a column's values from SQLite.

    Attributes:
        sql: What is selected, of a column's name.
        arrow: The type in which they go on.
        array: Makes an array of that type of them.
    """

    sql: str
    arrow: Any
    array: Callable[[Sequence[Any]], Any]


def _way(column: SqliteColumn, native: str) -> _Way:
    """Return the conversion of a column's values: numbers where they are numbers, all else as texts."""
    kind = column_type(native.upper()) if native else None
    if kind is None:
        return _Way("NULL", pyarrow.null(), lambda values: pyarrow.nulls(len(values)))
    if kind.integer and column.native == "BIGINT":
        return _numbers("CASE typeof({0}) WHEN 'integer' THEN {0} END", pyarrow.int64())
    if native.upper() == "DOUBLE" and column.holds_numbers:
        return _numbers(
            "CASE typeof({0}) WHEN 'real' THEN {0} WHEN 'integer' THEN CAST({0} AS REAL) END",
            pyarrow.float64(),
        )
    return _Way("CASE WHEN typeof({0}) <> 'blob' THEN {0} END", pyarrow.string(), _texts)


def _numbers(sql: str, arrow: Any) -> _Way:
    return _Way(sql, arrow, lambda values: pyarrow.array(values, arrow))


def _texts(values: Sequence[Any]) -> Any:
    """Return values as texts: of a number, the shortest that means it."""
    return pyarrow.array(
        [whole_text(v) if v is None or type(v) is bytes else repr(v) for v in values], pyarrow.string()
    )


def _known(database: sqlite3.Connection, given: DatabaseTable, *, rows_are_records: bool) -> str:
    """Return a table's name as the database spells it, or refuse what is no plain table."""
    found = database.execute(
        "SELECT name, type, coalesce(sql, '') FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    ).fetchall()
    tables = {_text(name): (_text(kind), _text(sql)) for name, kind, sql in found}
    (name,) = known_table(given, [(name,) for name in tables])
    kind, sql = tables[name]
    if kind == "view" and not rows_are_records:
        raise InvalidRequest(
            f"{name!r} is a view of {Path(given.file).name}, and prdp cannot see whether each of its rows is "
            "one record. Give the table, and filter with .filter(). If each row is one record all the same, "
            "declare it with prdp.open(..., rows_are_records=True)."
        )
    if re.match(r"\s*CREATE\s+VIRTUAL", sql, re.IGNORECASE):
        raise InvalidRequest(
            f"{name!r} is a virtual table of {Path(given.file).name}, which an extension computes. Copy it: "
            f"CREATE TABLE copy AS SELECT * FROM {name}."
        )
    return name


def sqlite_origins(given: DatabaseTable) -> Origins:
    """Return the origins of a table or a view in a SQLite file, as SQLite finds them; reads no record.

    SQLite asks an authorizer about every table that a statement would read, those below views among them.
    """
    read: set[str] = set()

    def note(action: int, table: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and table:
            read.add(table)
        return sqlite3.SQLITE_OK

    with closing(sqlite_opened(given.file)) as database:
        name = _known(database, given, rows_are_records=True)
        plain = _plain_tables(database)
        database.set_authorizer(note)
        database.execute(f"EXPLAIN SELECT * FROM {quoted(name)}").fetchall()
    below = {table for table in read if plain.get(table.lower()) != "view"}
    known = [database_table(given.file, "", table) for table in sorted({*below, name})]
    odd = [table for table in sorted(below) if plain.get(table.lower()) != "table"]
    return Origins.union([*known, *(untraced(f"{table!r}, which SQLite computes") for table in odd)])


def _plain_tables(database: sqlite3.Connection) -> dict[str, str]:
    """Return the tables that hold rows of their own, and the views, by name in small letters."""
    found = database.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    ).fetchall()
    return {_text(name).lower(): _text(kind) for name, kind in found}


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
