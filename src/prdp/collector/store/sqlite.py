"""A store in one SQLite file; what was acknowledged is in that file, and in no log beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from prdp.collector.store.sql import TABLES, SqlStore
from prdp.errors import CollectorError

_BUSY_SECONDS = 30
_APPLICATION = 0x70726470
"""SQLite's application id of the file: ``prdp`` in ASCII."""


class SqliteStore(SqlStore):
    """A study's store in a file.

    A transaction is on disk when ``writing`` ends (``synchronous = EXTRA``), also if the process is killed
    or the power fails a moment later. It is in the file itself: with a write-ahead log, whoever cuts or loses
    the log takes back what was acknowledged, and SQLite finds nothing wrong. The journal beside the file is
    empty between transactions; what is damaged during one is found by the sums.
    Rows lie in the order of their keys, which are random.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser().absolute()
        with self._explained():
            if not self._path.is_file():
                raise CollectorError(
                    f"there is no collector's store {path}: make one with prdp collect init."
                )
            self._database = _opened(self._path)
            self._is = _identity(self._path)

    @classmethod
    def create(cls, path: Path) -> SqliteStore:
        """Create a draft of an empty store and move it into place whole; refuse to replace anything."""
        target = path.expanduser().absolute()
        draft = target.with_name(f".{target.name}.{uuid4().hex}.draft")
        try:  # by nobody else, before it is open: who holds a file open reads it whatever its mode becomes
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(draft, isolation_level=None)) as database:
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                for name, columns in TABLES.items():
                    plain = "" if name == "prdp_study" else " WITHOUT ROWID"
                    database.execute(f"CREATE TABLE {name} ({columns.format(bytes='BLOB')}){plain}")
            os.link(draft, target)
        except FileExistsError:
            raise CollectorError(f"{path} is there already: a store is never replaced.") from None
        except (sqlite3.Error, OSError) as error:
            raise CollectorError(f"no store can be made at {path}: {error}.") from None
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return cls(target)

    @property
    def shown(self) -> str:
        """The file's path."""
        return str(self._path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold SQLite's write lock; refuse if the file in its place is not the one that is open."""
        with self._explained():
            self._refuse_if_moved()
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._refuse_if_moved()
                self._database.execute("COMMIT")
                self._refuse_if_moved()  # the file may be what is gone, and with it what was just written
            except BaseException:
                if self._database.in_transaction:
                    with suppress(sqlite3.Error):
                        self._database.execute("ROLLBACK")
                raise

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        with self._explained():
            return self._database.execute(statement, tuple(values)).fetchall()

    def run(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """Run a statement once for each sequence of values."""
        with self._explained():
            self._database.executemany(statement, values)

    def stream(self, statement: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        """Yield rows as SQLite finds them."""
        with self._explained():
            yield from self._database.execute(statement, tuple(values))

    def check(self) -> None:
        """Refuse a file that SQLite finds damaged, or whose sums do not agree."""
        found = self.rows("PRAGMA quick_check(1)")
        if found != [("ok",)]:
            raise self._damaged()
        super().check()

    def after_close(self) -> None:
        """Write the file anew in the order of its keys: where pages lie remembers who came when."""
        with self._explained(), suppress(sqlite3.OperationalError):  # somebody is reading: next time
            self._database.execute("VACUUM")

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._database.close()

    def _refuse_if_moved(self) -> None:
        """Refuse to write to a file that was removed or replaced: nobody would find it again."""
        if _identity(self._path) != self._is:
            raise CollectorError(
                f"{self._path} was moved, removed or replaced while it was open. Nothing is taken in any "
                "more: put it back and start again."
            )

    def _damaged(self) -> CollectorError:
        return CollectorError(
            f"{self._path} is damaged. Nothing is taken in any more; bring back a backup, or begin a new "
            "study."
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise CollectorError(f"{self._path} cannot be used: {error}.") from None
        except sqlite3.DatabaseError:
            raise self._damaged() from None
        except OSError as error:
            raise CollectorError(f"{self._path} cannot be used: {error.strerror}.") from None


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of a file, beyond its name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _opened(path: Path) -> sqlite3.Connection:
    """Open a store, and refuse another program's file before anything is written to it."""
    database = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=_BUSY_SECONDS,
        check_same_thread=False,
    )  # fmt: skip
    try:
        _refuse_unless_ours(database, path)
        database.execute("PRAGMA journal_mode = TRUNCATE")
        database.execute("PRAGMA synchronous = EXTRA")
        database.execute("PRAGMA fullfsync = ON")
        database.execute("PRAGMA secure_delete = ON")
    except BaseException:
        database.close()
        raise
    return database


def _refuse_unless_ours(database: sqlite3.Connection, path: Path) -> None:
    ours = database.execute("PRAGMA application_id").fetchone() == (_APPLICATION,)
    found = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    if not ours or {name for (name,) in found} != TABLES.keys():
        raise CollectorError(f"{path} is not a collector's store.")
