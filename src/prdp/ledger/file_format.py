"""The file format of a durable ledger: its tables, its version, and what makes it trustworthy."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

from prdp.errors import LedgerError
from prdp.ledger.binding import Binding

VERSION = 1
"""What this release writes; kept in the file as SQLite's ``user_version``."""

_APPLICATION = 0x70726470  # "prdp"

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY,
    purpose TEXT NOT NULL,
    share TEXT NOT NULL,
    spent TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX charges_by_purpose ON charges (purpose);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY REFERENCES charges,
    release TEXT NOT NULL,
    at TEXT NOT NULL
);
"""

Migration = Callable[[sqlite3.Connection], None]
MIGRATIONS: Mapping[int, Migration] = {}
"""For each older version, the step that turns its file into the next version's."""


def create(database: sqlite3.Connection, binding: Binding, at: str) -> None:
    """Lay out an empty ledger."""
    database.executescript(_TABLES)
    for table in ("facts", "charges", "releases"):
        for act in ("UPDATE", "DELETE"):
            database.execute(
                f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
            )
    facts = [("binding", binding.to_json()), ("begun", at)]
    database.executemany("INSERT INTO facts VALUES (?, ?)", facts)
    database.execute(f"PRAGMA application_id = {_APPLICATION}")
    database.execute(f"PRAGMA user_version = {VERSION}")


def verify(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a ledger that is damaged, or whose sums do not add up."""
    if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise LedgerError(f"{path} is a SQLite file, but no ledger of prdp's.")
    if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise _damaged(path)
    spent = Fraction(0)
    rows = database.execute("SELECT number, share, spent FROM charges ORDER BY number")
    for expected, (number, share, total) in enumerate(rows):
        spent += Fraction(share)
        if number != expected or Fraction(total) != spent or Fraction(share) <= 0:
            raise _damaged(path)


def upgrade(path: Path) -> None:
    """Bring an older ledger to this version, keeping a copy of it as it was; refuse a newer one."""
    with explained(path, "nothing was changed"), closing(sqlite3.connect(path)) as database:
        version = int(database.execute("PRAGMA user_version").fetchone()[0])
        if version > VERSION:
            raise LedgerError(
                f"{path} was written by a newer prdp (format {version}; this one knows {VERSION}). "
                "Upgrade prdp."
            )
        if version == VERSION or version not in MIGRATIONS:
            return  # a file that is no ledger is refused by verify
        shutil.copy2(path, path.with_name(f"{path.name}.format{version}"))
        database.isolation_level = None
        database.execute("BEGIN IMMEDIATE")
        for step in range(version, VERSION):
            MIGRATIONS[step](database)
            database.execute(f"PRAGMA user_version = {step + 1}")
        database.execute("COMMIT")


@contextmanager
def explained(path: Path, consequence: str) -> Iterator[None]:
    """Turn SQLite's and the system's errors into a message that says what follows from them."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise LedgerError(f"the ledger {path} cannot be used ({_reason(error)}): {consequence}.") from None
    except (sqlite3.DatabaseError, ValueError):
        raise _damaged(path) from None
    except OSError as error:
        reason = error.strerror or "unknown error"
        raise LedgerError(f"the ledger {path} cannot be used ({reason}): {consequence}.") from None


def _reason(error: sqlite3.OperationalError) -> str:
    text = str(error)
    known = {
        "readonly": "the file is read-only",
        "disk is full": "the disk is full",
        "locked": "others held it for too long",
        "unable to open": "the file or its folder cannot be opened",
    }
    return next((words for mark, words in known.items() if mark in text), text)


def _damaged(path: Path) -> LedgerError:
    return LedgerError(
        f"the ledger {path} is damaged or no ledger, so what is left cannot be known and nothing may be "
        "spent. Put a backup in its place."
    )
