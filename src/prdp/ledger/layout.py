"""The tables of a ledger, and the guards that let rows be added but neither changed nor removed."""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import TYPE_CHECKING

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
    """Say whether the tables, indexes and guards of a file are exactly those of an empty ledger."""
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
