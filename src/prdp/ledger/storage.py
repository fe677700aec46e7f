"""Storage of a ledger's rows: a small protocol with two implementations, a SQLite file and PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from prdp.errors import InvalidRequest
from prdp.ledger.file_storage import FileStorage
from prdp.release.formatting import optional_library
from prdp.safety.database_address import is_database

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

    def writing(self, work: Callable[[LedgerTables, bool], Done], trouble: str) -> Done:
        """Do what reads and writes, alone, as one transaction.

        ``work`` is passed whether this is a retry, because its earlier writes may or may not be committed.
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
