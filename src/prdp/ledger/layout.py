"""The tables of a ledger, the guards that let rows be added alone, and the hash chain over the rows.

Rows of all tables are in one chain, in the order in which they were written. A row that is changed, removed,
inserted or moved breaks it, and the newest hash, the head, covers everything before it. There is not a key:
whoever may insert rows can continue a chain, but can neither change nor remove what another process has seen.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from heapq import merge
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

from prdp.safety.process_guard import operation

if TYPE_CHECKING:
    from prdp.ledger.storage import Contents, LedgerTables


VERSION = 3
"""The format that this release writes and reads: the fact ``format``, and a file's ``user_version``."""

_LINKS = """place INTEGER NOT NULL UNIQUE,
    hash TEXT NOT NULL"""

TABLES = {
    "facts": f"""CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    {_LINKS}
)""",
    "charges": f"""CREATE TABLE charges (
    number INTEGER PRIMARY KEY,
    purpose TEXT NOT NULL,
    share TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    token TEXT NOT NULL,
    region TEXT,
    snapshot TEXT,
    warm_start TEXT,
    quota TEXT,
    source TEXT,
    {_LINKS}
)""",
    "releases": f"""CREATE TABLE releases (
    number INTEGER PRIMARY KEY REFERENCES charges,
    release TEXT NOT NULL,
    {_LINKS}
)""",
    "quotas": f"""CREATE TABLE quotas (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    share TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    {_LINKS}
)""",
}
"""The layout of each table, in an order in which rows can be inserted; ``docs/ledger.md`` explains them.

Every table ends with the row's place in the chain and its hash: ``chain.py``.
"""

COLUMNS = {
    table: tuple(re.findall(r"^    (\w+) (?:TEXT|INTEGER)", text, re.MULTILINE))
    for table, text in TABLES.items()
}
"""The columns of each table, read from its layout: a new column is hashed without another line of code."""

FACTS = ("format", "binding", "begun", "identity")
"""The facts that every ledger begins with, in the order of their places in the chain."""


def insertion(table: str) -> str:
    """Return the statement that adds a row to a table.

    >>> insertion("releases")
    'INSERT INTO releases (number, release, place, hash) VALUES (?, ?, ?, ?)'
    """
    columns = COLUMNS[table]
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def all_rows(database: LedgerTables) -> Contents:
    """Return the rows of all tables, as ``insertion`` takes them."""
    return {
        table: database.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY place").fetchall()
        for table, columns in COLUMNS.items()
    }


def lay_out(database: sqlite3.Connection) -> None:
    """Create all tables of a file, empty and guarded."""
    for table, text in TABLES.items():
        database.execute(text)
        for guard in _guards(table):
            database.execute(guard)


def _guards(table: str) -> list[str]:
    """Return the triggers that refuse to change, remove or replace a row."""
    refuse = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
    key = COLUMNS[table][0]
    same = f"{key} = NEW.{key} OR place = NEW.place"
    again = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})"
    return [
        f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} {again} {refuse}",
    ]


def is_laid_out(database: sqlite3.Connection) -> bool:
    """Return whether the tables, indexes and guards of a file are exactly those of an empty ledger."""
    return _schema(database) == _expected_schema()


@cache
def _expected_schema() -> frozenset[tuple[str, ...]]:
    database = sqlite3.connect(":memory:")
    try:
        lay_out(database)
        return _schema(database)
    finally:
        database.close()


def _schema(database: sqlite3.Connection) -> frozenset[tuple[str, ...]]:
    return frozenset(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


_CANONICAL = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
"""One text for each list of texts, whole numbers and NULLs, and another for any other list."""


def row_hash(previous: str, table: str, values: Sequence[Any]) -> str:
    """Return the hash of a row: of the hash before it, its table, and its fields without the hash itself.

    >>> row_hash("", "facts", ("format", "3", 0))[:16]
    '8b00dd1276f03146'
    """
    return sha256(canonical((previous, table, *values)).encode("ascii")).hexdigest()


def canonical(fields: Sequence[Any]) -> str:
    """Return ``_CANONICAL.encode(list(fields))``: a ledger of many rows is verified twice as fast by parts.

    >>> canonical(("half", 1, None)), canonical((True, 2))
    ('["half",1,null]', '[true,2]')
    """
    parts = []
    for field in fields:
        kind = type(field)
        if kind is str:
            parts.append(encode_basestring_ascii(field))
        elif kind is int:
            parts.append(str(field))
        elif field is None:
            parts.append("null")
        else:
            return _CANONICAL.encode(list(fields))
    return f"[{','.join(parts)}]"


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is stored, with its place in the chain.

    Attributes:
        table: Its table.
        values: Its fields in the order of ``COLUMNS``; the last two are its place and its hash.
    """

    table: str
    values: tuple[Any, ...]

    @property
    def place(self) -> Any:
        """Its place in the chain, from 0."""
        return self.values[-2]

    @property
    def hash(self) -> Any:
        """The hash that is stored with it."""
        return self.values[-1]

    def follows(self, previous: str) -> bool:
        """Return whether its hash is that of its fields after a row with a given hash."""
        return bool(row_hash(previous, self.table, self.values[:-1]) == self.hash)


def next_row(hashes: Sequence[str], table: str, fields: Sequence[Any]) -> Row:
    """Return a row that continues a chain."""
    values = (*fields, len(hashes))
    return Row(table, (*values, row_hash(hashes[-1] if hashes else "", table, values)))


def insert(database: LedgerTables, row: Row) -> None:
    """Write a row."""
    database.execute(insertion(row.table), row.values)


def chained(rows: Iterable[tuple[str, Sequence[Any]]]) -> Contents:
    """Return the first rows of a chain by table, each given by its table and its fields."""
    contents: dict[str, list[tuple[Any, ...]]] = {}
    hashes: list[str] = []
    for table, fields in rows:
        row = next_row(hashes, table, fields)
        hashes.append(row.hash)
        contents.setdefault(table, []).append(row.values)
    return contents


def rows_from(database: LedgerTables, place: int | None) -> Iterator[Row]:
    """Read the rows of all tables in the order of the chain, from a place on; None reads all there are."""
    tables = (_rows(database, table, "place >= ?", place) for table in COLUMNS)
    return merge(*tables, key=lambda row: row.place)


def rows_of(database: LedgerTables, table: str, number: int | None = None) -> Iterator[Row]:
    """Read the rows of one table, or the one of a number, in the order of the chain."""
    return _rows(database, table, "number = ?", number)


def _rows(database: LedgerTables, table: str, condition: str, value: int | None) -> Iterator[Row]:
    """Read rows of a table in the order of the chain: those that meet a condition, or all without a value."""
    where, values = ("", ()) if value is None else (f" WHERE {condition}", (value,))
    found = database.execute(f"SELECT {', '.join(COLUMNS[table])} FROM {table}{where} ORDER BY place", values)
    return (Row(table, tuple(fields)) for fields in found)


@dataclass(frozen=True, slots=True)
class Head:
    """The newest row that was seen of a chain."""

    place: int
    hash: str


_SEEN: dict[tuple[str, str], Head] = {}
"""For each place and identity of a ledger, the newest head that this process has seen there."""


def newest_seen(shown: str, identity: str) -> Head | None:
    """Return the newest head that this process has seen of a ledger at a place."""
    return _SEEN.get((shown, identity))


def all_seen() -> dict[tuple[str, str], Head]:
    """Return the rows that this process has seen so far of all ledgers."""
    return _SEEN.copy()


def remember(shown: str, identity: str, head: Head) -> None:
    """Keep the newest head of a ledger, so that an older copy in its place is recognised."""
    with operation("heads"):
        seen = _SEEN.get((shown, identity))
        if seen is None or seen.place < head.place:
            _SEEN[shown, identity] = head
