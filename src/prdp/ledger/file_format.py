"""The file format of a durable ledger: its tables, its version, and what makes it trustworthy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from prdp.errors import LedgerError
from prdp.ledger.drafts import draft
from prdp.ledger.layout import are_guarded, insertion, lay_out
from prdp.ledger.migration import MIGRATIONS
from prdp.ledger.soundness import (
    BACKUPS,
    damaged,
    newer,
    refuse_unless_it_adds_up,
    refuse_unless_notes_are_sound,
)
from prdp.safety.forks import OPERATIONS
from prdp.safety.transaction import writing

if TYPE_CHECKING:
    from prdp.ledger.storage import Contents

VERSION = 2
"""What this release writes; kept in the file as SQLite's ``user_version``."""

_APPLICATION = 0x70726470  # "prdp"
_PATIENCE_SECONDS = 120

_REFUSALS = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    UnicodeEncodeError,
    OverflowError,
)


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


def create(database: sqlite3.Connection, contents: Contents) -> None:
    """Lay out a ledger with its first rows, which can be added to but neither changed nor removed."""
    with writing(database):  # one sync instead of one a statement
        lay_out(database)
        for table, rows in contents.items():
            database.executemany(insertion(table), rows)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")


def verify(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a ledger that is damaged, or whose sums do not add up."""
    _refuse_unless_ours(database, path)
    if _version(database) != VERSION:
        raise damaged(path, f"its format is {_version(database)}, which no prdp writes")
    _refuse_unless_sound(database, path, VERSION)
    refuse_unless_notes_are_sound(database, path)


def _refuse_unless_sound(database: sqlite3.Connection, path: Path, version: int) -> None:
    """Refuse a file of any format in which rows are lost, unguarded, unreadable or do not add up."""
    if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise damaged(path, "parts of the file are lost")
    if not are_guarded(database, version):
        raise damaged(path, "what keeps its rows from being changed is not as it was")
    if database.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise damaged(path, "an answer has no charge")
    refuse_unless_it_adds_up(database, path, with_regions=version > 1)


def upgrade(path: Path) -> None:
    """Bring an older ledger to this version, keeping a copy of it as it was; refuse a newer one."""
    with explained(path, "nothing was changed"), connected(path) as database:
        _refuse_unless_ours(database, path)
        if _version(database) not in MIGRATIONS and _version(database) <= VERSION:
            return  # up to date, or damaged, which verify refuses
        with writing(database):  # only one of several processes finds it old in here
            version = _version(database)
            if version > VERSION:
                raise newer(path, version, VERSION)
            if version < VERSION:
                _refuse_unless_sound(database, path, version)
                _keep_a_copy(path, version)
            for step in range(version, VERSION):
                MIGRATIONS[step](database)
                database.execute(f"PRAGMA user_version = {step + 1}")


def _refuse_unless_ours(database: sqlite3.Connection, path: Path) -> None:
    if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise no_ledger(path, "it is another program's SQLite file")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _keep_a_copy(path: Path, version: int) -> None:
    """Keep a file as it is, whole or not at all: whoever is killed meanwhile leaves no half of a copy."""
    copy = path.with_name(f"{path.name}.format{version}")
    if not copy.exists():
        with (
            suppress(FileExistsError),
            draft(copy) as drafted,
            connected(path) as old,
            connected(drafted) as kept,
        ):
            old.backup(kept)


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


def no_ledger(path: Path, why: str) -> LedgerError:
    """Return the refusal of a file that is something else."""
    return LedgerError(
        f"{path} is no ledger of prdp's: {why}. Give the file that ledger= named when the table was opened, "
        f"such as accounts.ledger. If this was that file, it has been overwritten. {BACKUPS}"
    )
