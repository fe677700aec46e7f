"""The file format of a durable ledger: its tables, its version, and what makes it trustworthy."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

from prdp.declare.exact import fraction_of
from prdp.errors import LedgerError
from prdp.ledger.binding import Binding
from prdp.ledger.release_form import release_from_json
from prdp.safety.forks import OPERATIONS

VERSION = 1
"""What this release writes; kept in the file as SQLite's ``user_version``."""

_APPLICATION = 0x70726470  # "prdp"
_PATIENCE_SECONDS = 120

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY,
    purpose TEXT NOT NULL,
    share TEXT NOT NULL,
    spent TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    token TEXT NOT NULL
);
CREATE INDEX charges_by_purpose ON charges (purpose);
CREATE TABLE releases (number INTEGER PRIMARY KEY REFERENCES charges, release TEXT NOT NULL);
"""
_KEYS = {"facts": "name", "charges": "number", "releases": "number"}

_REFUSALS = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    UnicodeEncodeError,
    OverflowError,
)

Migration = Callable[[sqlite3.Connection], None]
MIGRATIONS: Mapping[int, Migration] = {}
"""For each older version, the step that turns its file into the next version's."""


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that exists, waiting for others; what is committed is on disk, and forks wait."""
    uri = f"file:{quote(str(path))}?mode=rw"
    with (
        OPERATIONS,
        closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None)) as database,
    ):
        database.execute("PRAGMA synchronous = EXTRA")
        database.execute("PRAGMA fullfsync = ON")  # macOS alone knows the difference
        database.execute("PRAGMA foreign_keys = ON")
        yield database


def create(database: sqlite3.Connection, binding: Binding, begun: str, identity: str) -> None:
    """Lay out an empty ledger, whose rows can be added but neither changed nor removed."""
    database.executescript(_TABLES)
    for table, key in _KEYS.items():
        refuse = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
        for act in ("UPDATE", "DELETE"):
            database.execute(f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} {refuse}")
        again = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {key} = NEW.{key})"
        database.execute(f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} {again} {refuse}")
    facts = [("binding", binding.to_json()), ("begun", begun), ("identity", identity)]
    database.executemany("INSERT INTO facts VALUES (?, ?)", facts)
    database.execute(f"PRAGMA application_id = {_APPLICATION}")
    database.execute(f"PRAGMA user_version = {VERSION}")


def verify(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a ledger that is damaged, or whose sums do not add up."""
    _refuse_unless_ours(database, path)
    if _version(database) != VERSION:
        raise damaged(path, f"its format is {_version(database)}, which no prdp writes")
    if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise damaged(path, "parts of the file are lost")
    guards = database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()[0]
    if guards != 3 * len(_KEYS):
        raise damaged(path, "what keeps its rows from being changed is not as it was")
    if database.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise damaged(path, "an answer has no charge")
    with decoded(path):
        Binding.from_json(database.execute("SELECT value FROM facts WHERE name = 'binding'").fetchone()[0])
        adds_up = _adds_up(database)
        for (release,) in database.execute("SELECT release FROM releases"):
            release_from_json(release)
    if not adds_up:
        raise damaged(path, "its sums do not add up")


def _adds_up(database: sqlite3.Connection) -> bool:
    spent, adds_up = Fraction(0), True
    rows = database.execute("SELECT number, share, spent FROM charges ORDER BY number")
    for expected, (number, text, total) in enumerate(rows):
        share = fraction_of(text)
        spent += share
        adds_up &= number == expected and fraction_of(total) == spent <= 1 and share > 0
    return adds_up


def upgrade(path: Path) -> None:
    """Bring an older ledger to this version, keeping a copy of it as it was; refuse a newer one."""
    with explained(path, "nothing was changed"), connected(path) as database:
        _refuse_unless_ours(database, path)
        if _version(database) not in MIGRATIONS and _version(database) <= VERSION:
            return  # up to date, or damaged, which verify refuses
        database.execute("BEGIN IMMEDIATE")  # only one of several processes finds it old after this
        version = _version(database)
        if version > VERSION:
            raise LedgerError(
                f"{path} was written by a newer prdp (format {version}; this one knows {VERSION}). "
                "Upgrade prdp."
            )
        if version < VERSION:
            _keep_a_copy(path, version)
        for step in range(version, VERSION):
            MIGRATIONS[step](database)
            database.execute(f"PRAGMA user_version = {step + 1}")
        database.execute("COMMIT")


def _refuse_unless_ours(database: sqlite3.Connection, path: Path) -> None:
    if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise no_ledger(path, "it is another program's SQLite file")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _keep_a_copy(path: Path, version: int) -> None:
    copy = path.with_name(f"{path.name}.format{version}")
    if not copy.exists():
        with connected(path) as old, closing(sqlite3.connect(copy)) as kept:
            old.backup(kept)


@contextmanager
def decoded(path: Path) -> Iterator[None]:
    """Say that a text in the file cannot be read; nothing is written in here, whose errors are others."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError, OverflowError):
        raise damaged(path, "a text in it cannot be read, or a newer prdp wrote it") from None


@contextmanager
def explained(path: Path, consequence: str) -> Iterator[None]:
    """Turn SQLite's and the system's errors into a message that says what follows from them."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise LedgerError(f"the ledger {path} cannot be used ({_reason(error)}): {consequence}.") from None
    except _REFUSALS as error:
        raise LedgerError(f"the ledger {path} refused what was to be written ({error}).") from None
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise no_ledger(path, "it is no SQLite file") from None
        raise damaged(path, "parts of the file are lost") from None


def _reason(error: Exception) -> str:
    text = (error.strerror or "") if isinstance(error, OSError) else str(error)
    known = {
        "readonly": "the file is read-only",
        "disk is full": "the disk is full",
        "locked": "others held it for too long",
        "unable to open": "the file or its folder cannot be opened or written",
    }
    return next((words for mark, words in known.items() if mark in text), text or "unknown error")


BACKUPS = (
    "A backup does not know what was spent since it was made: before anything is asked under one, charge it "
    "with at least that much, or with all that it has left if nobody knows (docs/ledger.md)."
)


def damaged(path: Path, why: str) -> LedgerError:
    """Return the refusal of a ledger that cannot be trusted."""
    return LedgerError(
        f"the ledger {path} is damaged ({why}), so what is left cannot be known and nothing may be spent. "
        f"Keep the file, and see whether a newer prdp reads it. {BACKUPS}"
    )


def no_ledger(path: Path, why: str) -> LedgerError:
    """Return the refusal of a file that is something else."""
    return LedgerError(
        f"{path} is no ledger of prdp's: {why}. Give the file that ledger= named when the table was opened, "
        f"such as accounts.ledger. If this was that file, it has been overwritten. {BACKUPS}"
    )
