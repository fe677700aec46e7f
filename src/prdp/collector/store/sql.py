"""The tables of a store and their statements; SQLite and PostgreSQL differ in spelling alone.

What a SQLite store acknowledged is in its one file, and in no log beside it.

A report and the ticket that brought it are kept in two tables that have no column in common but the round's
number, so that nobody who reads the store learns which client reported what. Neither table has a time.
"""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from prdp.errors import CollectorError


@dataclass(frozen=True, slots=True)
class StoredRound:
    """One round.

    Attributes:
        number: Which one, from 1.
        campaign: Its campaign, as JSON.
        digest: The campaign's content hash.
        reports: The number of counted reports.
        closes_at: When it closes, in seconds since 1970; None for never by itself.
        closed: Whether it takes no more reports.
        tally: What its reports add up to, as JSON, once it is closed and added up.
    """

    number: int
    campaign: str
    digest: bytes
    reports: int
    closes_at: int | None
    closed: bool
    tally: str | None


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """All that a store knows but for the reports themselves.

    Attributes:
        plan: The study's plan, as JSON.
        operator: The hash of the operator's token.
        rounds: The rounds so far, in order.
        result: The result, as JSON, once there is one.
    """

    plan: str
    operator: bytes
    rounds: tuple[StoredRound, ...]
    result: str | None

    @property
    def last(self) -> StoredRound:
        """The round that is open, or was the last to be."""
        return self.rounds[-1]


FORMAT = 1
_AT_ONCE = 500

TABLES = {
    "prdp_study": "format INTEGER NOT NULL, plan TEXT NOT NULL, operator {bytes} NOT NULL, result TEXT",
    "prdp_rounds": "number INTEGER PRIMARY KEY, campaign TEXT NOT NULL, digest {bytes} NOT NULL UNIQUE, "
    "reports BIGINT NOT NULL, closes_at BIGINT, closed INTEGER NOT NULL, tally TEXT",
    "prdp_tickets": "ticket {bytes} PRIMARY KEY",
    "prdp_used": "round INTEGER NOT NULL, ticket {bytes} NOT NULL, PRIMARY KEY (round, ticket)",
    "prdp_reports": "round INTEGER NOT NULL, token {bytes} NOT NULL, payload {bytes} NOT NULL, "
    "PRIMARY KEY (round, token)",
}
_ROUND = "number, campaign, digest, reports, closes_at, closed, tally"


class SqlStore(ABC):
    """A study's store in a database; one thread uses it at a time."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """Hold the one write lock, from before the first read until what was written is on disk."""

    @abstractmethod
    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; ``?`` is a placeholder for a value."""

    @abstractmethod
    def run(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """Run a statement once for each sequence of values."""

    @abstractmethod
    def stream(self, statement: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        """Yield what a statement finds, without holding all of it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    @property
    @abstractmethod
    def shown(self) -> str:
        """The store's address for people; it holds no password."""

    def study(self) -> StoredStudy:
        """Return the study and its rounds."""
        found = self.rows("SELECT format, plan, operator, result FROM prdp_study")
        if len(found) != 1 or found[0][0] != FORMAT:
            raise CollectorError(f"{self.shown} is not a collector's store of format {FORMAT}.")
        _, plan, operator, result = found[0]
        rounds = self.rows(f"SELECT {_ROUND} FROM prdp_rounds ORDER BY number")
        return StoredStudy(str(plan), bytes(operator), tuple(_round(row) for row in rounds), result)

    def begin(self, plan: str, operator: bytes, first: StoredRound) -> None:
        """Write a new study down, inside ``writing``."""
        self.run("INSERT INTO prdp_study VALUES (?, ?, ?, NULL)", [(FORMAT, plan, operator)])
        self.open_round(first)

    def last_round(self) -> StoredRound:
        """Return the round that is open, or was the last to be."""
        return _round(self.rows(f"SELECT {_ROUND} FROM prdp_rounds ORDER BY number DESC LIMIT 1")[0])

    def open_round(self, opened: StoredRound) -> None:
        """Write a round down, inside ``writing``."""
        values = (
            opened.number, opened.campaign, opened.digest, opened.reports, opened.closes_at,
            int(opened.closed), opened.tally,
        )  # fmt: skip
        self.run("INSERT INTO prdp_rounds VALUES (?, ?, ?, ?, ?, ?, ?)", [values])

    def set_progress(self, number: int, reports: int, *, closed: bool) -> None:
        """Write down how many reports a round has, and whether it is closed, inside ``writing``."""
        changed = [(reports, int(closed), number)]
        self.run("UPDATE prdp_rounds SET reports = ?, closed = ? WHERE number = ?", changed)

    def conclude(self, number: int, tally: str, result: str | None) -> None:
        """Write down what a closed round adds up to, and the result if there is one, inside ``writing``."""
        self.run("UPDATE prdp_rounds SET tally = ? WHERE number = ?", [(tally, number)])
        if result is not None:
            self.run("UPDATE prdp_study SET result = ?", [(result,)])

    def give_out(self, tickets: Sequence[bytes]) -> None:
        """Write hashes of new tickets down, inside ``writing``."""
        self.run("INSERT INTO prdp_tickets VALUES (?)", [(ticket,) for ticket in tickets])

    def tickets(self) -> int:
        """Return the number of tickets that were given out."""
        return int(self.rows("SELECT count(*) FROM prdp_tickets")[0][0])

    def known_tickets(self, tickets: Sequence[bytes]) -> set[bytes]:
        """Return those of some tickets that were given out."""
        return {found[0] for found in self._among("SELECT ticket FROM prdp_tickets WHERE ticket", tickets)}

    def used_tickets(self, number: int, tickets: Sequence[bytes]) -> set[bytes]:
        """Return those of some tickets that have brought a report in a round."""
        statement = "SELECT ticket FROM prdp_used WHERE round = ? AND ticket"
        return {found[0] for found in self._among(statement, tickets, number)}

    def known_reports(self, number: int, tokens: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the coordinates of the reports that are known in a round, by their tokens."""
        statement = "SELECT token, payload FROM prdp_reports WHERE round = ? AND token"
        return dict(self._among(statement, tokens, number))

    def add(self, number: int, tickets: Sequence[bytes], reports: Sequence[tuple[bytes, bytes]]) -> None:
        """Write reports and the tickets that brought them down, each sorted by itself, inside ``writing``."""
        self.run("INSERT INTO prdp_used VALUES (?, ?)", [(number, ticket) for ticket in sorted(tickets)])
        rows = [(number, token, payload) for token, payload in sorted(reports)]
        self.run("INSERT INTO prdp_reports VALUES (?, ?, ?)", rows)

    def reports(self, number: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield token and coordinates of every report of a round, in the order of the tokens."""
        statement = "SELECT token, payload FROM prdp_reports WHERE round = ? ORDER BY token"
        for token, payload in self.stream(statement, (number,)):
            yield bytes(token), bytes(payload)

    def check(self) -> None:
        """Refuse a store whose sums do not agree: something else has changed it, or the disk has."""
        for stored in self.study().rounds:
            counts = [
                self.rows(f"SELECT count(*) FROM {table} WHERE round = ?", (stored.number,))[0][0]
                for table in ("prdp_used", "prdp_reports")
            ]
            if counts != [stored.reports] * 2:
                raise CollectorError(
                    f"{self.shown} is damaged or was changed by something else: round {stored.number} "
                    f"counted {stored.reports:,} reports, but {counts[1]:,} reports and {counts[0]:,} used "
                    "tickets are there. Nothing is taken in any more; bring back a backup, or begin a new "
                    "study."
                )

    def after_close(self) -> None:  # noqa: B027  (a database that can do nothing does nothing)
        """Forget, as far as the database lets us, the order in which reports came."""

    def _among(self, statement: str, keys: Sequence[bytes], *before: object) -> Iterator[Any]:
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            for row in self.rows(f"{statement} IN ({marks})", (*before, *part)):
                yield tuple(bytes(value) for value in row)


def _round(row: tuple[Any, ...]) -> StoredRound:
    number, campaign, digest, reports, closes_at, closed, tally = row
    return StoredRound(number, campaign, bytes(digest), reports, closes_at, bool(closed), tally)


_POSTGRES = ("postgresql://", "postgres://")


def open_store(address: str | Path) -> SqlStore:
    """Open a store that is there."""
    if str(address).startswith(_POSTGRES):
        return _postgres(str(address), new=False)
    return SqliteStore(Path(address))


def create_store(address: str | Path) -> SqlStore:
    """Make a store where none is."""
    if str(address).startswith(_POSTGRES):
        return _postgres(str(address), new=True)
    return SqliteStore.create(Path(address))


def _postgres(address: str, *, new: bool) -> SqlStore:
    try:
        from prdp.collector.store.postgres import PostgresStore  # noqa: PLC0415  (an extra)
    except ImportError:
        raise CollectorError("PostgreSQL needs psycopg: pip install 'prdp[collector]'.") from None
    return PostgresStore(address, new=new)


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
