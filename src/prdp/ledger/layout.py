"""The tables of a ledger file, and the guards that let rows be added but neither changed nor removed."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prdp.ledger.storage import Contents, Database

TABLES = {
    "facts": "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "charges": """CREATE TABLE charges (
    number INTEGER PRIMARY KEY,
    purpose TEXT NOT NULL,
    share TEXT NOT NULL,
    spent TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    token TEXT NOT NULL,
    region TEXT,
    edition TEXT,
    hint TEXT,
    quota TEXT
)""",
    "releases": """CREATE TABLE releases (
    number INTEGER PRIMARY KEY REFERENCES charges,
    release TEXT NOT NULL
)""",
    "quotas": """CREATE TABLE quotas (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    share TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL
)""",
}
"""How each table is laid out; ``docs/ledger.md`` says what the columns hold."""

COLUMNS = {
    "facts": ("name", "value"),
    "charges": (
        *("number", "purpose", "share", "spent", "who", "at", "token"),
        *("region", "edition", "hint", "quota"),
    ),
    "releases": ("number", "release"),
    "quotas": ("number", "name", "share", "who", "at"),
}
"""The columns of each table; tables in an order in which their rows can be inserted."""

FACTS = ("binding", "begun", "identity")
"""The facts that every ledger has, wherever it is kept."""

ADDED_BY_2 = ("region", "edition", "hint", "quota")
"""The columns of ``charges`` that format 1 did not have; nor had it quotas."""

_INDEX = "CREATE INDEX charges_by_purpose ON charges (purpose)"
_KEYS = {"facts": "name", "charges": "number", "releases": "number", "quotas": "number"}


def insertion(table: str) -> str:
    """Return the statement that adds a row to a table.

    >>> insertion("releases")
    'INSERT INTO releases (number, release) VALUES (?, ?)'
    """
    columns = COLUMNS[table]
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def all_rows(database: Database) -> Contents:
    """Return the rows of all tables, as ``insertion`` takes them."""
    known = ", ".join(f"'{name}'" for name in FACTS)
    return {
        table: database.execute(
            f"SELECT {', '.join(columns)} FROM {table} "
            + (f"WHERE name IN ({known}) ORDER BY name" if table == "facts" else "ORDER BY number")
        ).fetchall()
        for table, columns in COLUMNS.items()
    }


def lay_out(database: sqlite3.Connection) -> None:
    """Create all tables, empty and guarded."""
    for table in TABLES:
        lay_out_table(database, table)
    database.execute(_INDEX)


def lay_out_table(database: sqlite3.Connection, table: str) -> None:
    """Create one table with its guards."""
    database.execute(TABLES[table])
    for guard in guards(table).values():
        database.execute(guard)


def guards(table: str) -> dict[str, str]:
    """Return, by name, the triggers that refuse to change, remove or replace a row."""
    refuse = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
    again = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {_KEYS[table]} = NEW.{_KEYS[table]})"
    return {
        f"{table}_no_update": f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {refuse}",
        f"{table}_no_delete": f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {refuse}",
        f"{table}_no_replace": f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} {again} {refuse}",
    }


def are_guarded(database: sqlite3.Connection, version: int) -> bool:
    """Say whether the triggers of a file are those that its version has."""
    tables = [table for table in TABLES if version > 1 or table != "quotas"]
    expected = {name for table in tables for name in guards(table)}
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    return {name for (name,) in found} == expected
