"""The tables of a store and their statements; SQLite and PostgreSQL differ in spelling alone.

A report and the ticket that brought it are kept in two tables that have no column in common but the round's
number, so that nobody who reads the store learns which client reported what. Neither table has a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    from prdp.collector.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(Path(address))


def create_store(address: str | Path) -> SqlStore:
    """Make a store where none is."""
    if str(address).startswith(_POSTGRES):
        return _postgres(str(address), new=True)
    from prdp.collector.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore.create(Path(address))


def _postgres(address: str, *, new: bool) -> SqlStore:
    try:
        from prdp.collector.store.postgres import PostgresStore  # noqa: PLC0415  (an extra)
    except ImportError:
        raise CollectorError("PostgreSQL needs psycopg: pip install 'prdp[collector]'.") from None
    return PostgresStore(address, new=new)
