"""Storage of a ledger's rows: a small protocol with two implementations, a SQLite file and PostgreSQL.

Every operation opens the SQLite file anew.
"""

from __future__ import annotations

import os
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from prdp.errors import InvalidRequest, LedgerError
from prdp.expressions.tokens import is_writable
from prdp.ledger.account import Charge
from prdp.ledger.layout import VERSION, all_rows, insertion, is_laid_out, lay_out
from prdp.ledger.verified import BACKUPS, damaged, refuse_other_versions
from prdp.release.formatting import optional_library
from prdp.release.table import Released
from prdp.safety.database_address import is_database
from prdp.safety.process_guard import operation

_OTHER = re.compile(r"[A-Za-z][\w+.-]+:/")
"""Prefix of addresses, also where a Path has taken one for a file's."""

Done = TypeVar("Done")
Rows = Sequence[tuple[Any, ...]]
Contents = Mapping[str, Rows]
"""The rows of every table, by its name."""


class Found(Protocol):
    """Result of a statement."""

    def fetchone(self) -> Any:
        """Return the next row; None if there is none."""

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """Go through the rows that are left."""


class LedgerTables(Protocol):
    """A ledger's tables within one transaction; statements are SQL that SQLite and PostgreSQL both take."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Found:
        """Run a statement; each ``?`` in it is a placeholder for a value."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Tables of somebody else's, written in the very transaction of a charge: both are on disk, or neither.

    Attributes:
        write: Is passed the ledger's tables, the charge or the recorded release, and whether the charge is
            new. What it raises refuses the question; then nothing is charged.
        file: A SQLite file that is attached as ``beside`` to a ledger in a file, and must exist. Beside a
            ledger in PostgreSQL, statements name a schema of the same database.
    """

    write: Callable[[LedgerTables, Charge | Released, bool], None]
    file: Path | None = None


class Storage(Protocol):
    """Keeps the four tables of one ledger; what they mean is ``Account``'s business.

    What is written is on disk when ``writing`` returns, whole or not at all, and one writer works at a time:
    each sees all that the ones before it wrote. Rows can be added, and neither changed nor removed.
    """

    @property
    def shown(self) -> str:
        """Its name in messages and exports; never with a password."""

    @property
    def path(self) -> Path | None:
        """The file; None where it is in a database."""

    def is_begun(self) -> bool:
        """Return whether there is something already where the ledger is to be."""

    def begin(self, contents: Contents) -> bool:
        """Lay the tables out with their first rows, unless a ledger is there; say whether none was there."""

    def checked(self, work: Callable[[LedgerTables], Done]) -> Done:
        """Refuse a ledger that is missing, of another format or unguarded; then do what reads it."""

    def contents(self) -> Contents:
        """Return all rows, as they are at one moment."""

    def reading(self, work: Callable[[LedgerTables], Done], trouble: str) -> Done:
        """Do what reads; ``trouble`` says what follows if that cannot be done."""

    def writing(
        self, work: Callable[[LedgerTables, bool], Done], trouble: str, attached: Path | None = None
    ) -> Done:
        """Do what reads and writes, alone, as one transaction.

        Args:
            work: Is passed whether this is a retry: its earlier writes may or may not be committed.
            trouble: What follows if that cannot be done.
            attached: A SQLite file whose tables are written in the same transaction, as ``beside``.
        """


def storage_of(place: Path | str) -> Storage:
    """Return the location of a ledger: a file's path, or the address of a PostgreSQL database.

    >>> storage_of("postgresql://ana:secret@db.example/team?ledger=visits").shown
    'postgresql://db.example/team?ledger=visits'
    """
    if isinstance(place, str) and is_database(place):
        optional_library("psycopg", "postgres")
        from prdp.ledger.postgres import PostgresStorage  # noqa: PLC0415  (an extra, where it is used alone)

        return PostgresStorage(place)
    if _OTHER.match(str(place)):
        raise InvalidRequest(
            "this is no place for a ledger; it is not repeated here, for it may hold a password. Give a "
            "file, or the address of a PostgreSQL database as a text: postgresql://user@host/database."
        )
    return FileStorage(place)


def is_begun(place: Path | str) -> bool:
    """Return whether something exists where a ledger is to be; of a database, the server is asked."""
    return storage_of(place).is_begun()


def shown_place(place: Path | str) -> str:
    """Return the location of a ledger, for people: never with a password.

    >>> shown_place("postgresql://ana:secret@db.example/team")
    'postgresql://db.example/team'
    """
    return storage_of(place).shown if is_database(place) else str(place)


@contextmanager
def writing(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Hold the write lock; commit what was written, or take all of it back."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
    except BaseException:
        database.rollback()
        raise
    database.execute("COMMIT")


_APPLICATION = 0x70726470  # "prdp"
_PATIENCE_SECONDS = 120

_NOT_UTF8 = "a text in it is not UTF-8"

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
        operation(str(path)),
        closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None)) as database,
    ):
        database.execute("PRAGMA synchronous = EXTRA")
        database.execute("PRAGMA fullfsync = ON")  # macOS alone knows the difference
        database.execute("PRAGMA foreign_keys = ON")
        yield database


def _attach(database: sqlite3.Connection, file: Path) -> None:
    """Attach a file that exists; a commit to both is one, unless either has a write-ahead log."""
    database.execute("ATTACH ? AS beside", (f"file:{quote(str(file))}?mode=rw",))
    for name in ("main", "beside"):
        (mode,) = database.execute(f"PRAGMA {name}.journal_mode").fetchone()
        if mode in ("wal", "memory", "off"):
            raise LedgerError(
                f"{file} and its ledger cannot be written as one: the journal mode of one is {mode}. "
                "Set PRAGMA journal_mode = DELETE. Nothing was charged."
            )
    database.execute("PRAGMA beside.synchronous = EXTRA")


def create(database: sqlite3.Connection, contents: Contents) -> None:
    """Lay out a ledger with its first rows, which can be added to but neither changed nor removed."""
    with writing(database):  # one sync instead of one a statement
        lay_out(database)
        for table, rows in contents.items():
            database.executemany(insertion(table), rows)
        database.execute(f"PRAGMA application_id = {_APPLICATION}")
        database.execute(f"PRAGMA user_version = {VERSION}")


def verify(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is no ledger, of another format, or whose tables and guards are not as they were."""
    if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise no_ledger(path, "it is another program's SQLite file")
    refuse_other_versions(path, int(database.execute("PRAGMA user_version").fetchone()[0]))
    if database.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise damaged(path, "parts of the file are lost")
    if not is_laid_out(database):
        raise damaged(path, "what keeps its rows from being changed is not as it was")


@contextmanager
def explained(path: Path, consequence: str) -> Iterator[None]:
    """Turn SQLite's and the system's errors into a message that says what follows from them."""
    try:
        yield
    except UnicodeDecodeError:
        raise damaged(path, _NOT_UTF8) from None
    except (sqlite3.OperationalError, OSError) as error:
        if "decode" in str(error):
            raise damaged(path, _NOT_UTF8) from None
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


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Yield an empty file beside a place; then put it there.

    Raises:
        FileExistsError: Somebody else put a file there meanwhile.
    """
    drafted = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    os.close(os.open(drafted, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield drafted
        os.link(drafted, path)
    finally:
        drafted.unlink(missing_ok=True)  # whoever has opened the ledger meanwhile may have removed it


def without_drafts(path: Path) -> bool:
    """Remove names that a crash while drafting left to the file; say whether one name is left."""
    for other in path.parent.glob(f".{escape(path.name)}.*"):
        with suppress(OSError):
            if other.samefile(path):
                other.unlink()
    return path.stat().st_nlink == 1


class FileStorage:
    """A ledger in one file: threads and forked processes share nothing but the file.

    Writers take turns by SQLite's lock on it, and what a crash cut short is undone by SQLite.
    """

    def __init__(self, path: Path | str) -> None:
        """Name a file, wherever the process goes later and whichever links lead to it."""
        if not isinstance(path, str | Path) or not str(path) or not is_writable(str(path)):
            raise InvalidRequest(f"{path!r} is no file name for a ledger.")
        self.path = Path(os.path.realpath(Path(path).expanduser()))

    @property
    def shown(self) -> str:
        """The file's path."""
        return str(self.path)

    def is_begun(self) -> bool:
        """Return whether there is a file."""
        with explained(self.path, "nothing was read"):
            return self.path.exists()

    def begin(self, contents: Contents) -> bool:
        """Put a whole ledger there unless a file is there already; say whether none was."""
        with explained(self.path, "no ledger was begun"):
            if self.path.exists():
                return False
            self._refuse_to_replace_one()
            with (
                suppress(FileExistsError),  # somebody else may begin it meanwhile
                draft(self.path) as drafted,
            ):
                with connected(drafted) as database:
                    create(database, contents)
                return True
        return False

    def checked(self, work: Callable[[LedgerTables], Done]) -> Done:
        """Refuse a file that is missing, is no ledger or is damaged; then read it."""
        self._refuse_unless_there()
        with explained(self.path, "nothing was read"), connected(self.path) as database:
            database.execute("BEGIN")
            verify(database, self.path)
            return work(database)

    def reading(self, work: Callable[[LedgerTables], Done], trouble: str) -> Done:
        """Read the file as it is at one moment."""
        self._refuse_unless_there()
        with explained(self.path, trouble), connected(self.path) as database:
            database.execute("BEGIN")  # others may read; whoever writes waits until the connection is closed
            return work(database)

    def writing(
        self, work: Callable[[LedgerTables, bool], Done], trouble: str, attached: Path | None = None
    ) -> Done:
        """Hold the write lock from before the first read to after the sync."""
        self._refuse_unless_there()
        with explained(self.path, trouble), connected(self.path) as database:
            if attached is not None:
                _attach(database, attached)
            with writing(database):
                return work(database, False)

    def contents(self) -> Contents:
        """Return all rows, as they are at one moment."""
        return self.reading(all_rows, "nothing was copied")

    def _refuse_unless_there(self) -> None:
        with explained(self.path, "nothing was done"):
            if not self.path.is_file():
                raise LedgerError(f"there is no ledger {self.path}.")
            facts = self.path.stat()
        if facts.st_size == 0:
            raise LedgerError(
                f"{self.path} is empty, and a ledger never is. If it never was one, give a name that is not "
                f"taken; if it was, what was spent is lost. {BACKUPS}"
            )
        if facts.st_nlink > 1 and not without_drafts(self.path):
            raise LedgerError(
                f"{self.path} has a second name (a hard link). After a crash the file could be rolled back "
                "under one name and not under the other. Keep one name and remove the others."
            )

    def _refuse_to_replace_one(self) -> None:
        path = self.path
        if not path.parent.is_dir():
            raise LedgerError(f"there is no folder {path.parent} for a ledger.")
        for leftover in (path.with_name(f"{path.name}-journal"), path.with_name(f"{path.name}-wal")):
            if leftover.exists():
                raise LedgerError(
                    f"{leftover} is there, so {path} was a ledger that is gone, and what was spent with it. "
                    f"Keep {leftover.name} elsewhere: SQLite would merge it into a backup. {BACKUPS}"
                )
