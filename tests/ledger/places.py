"""Where a ledger can be kept: a file, or a PostgreSQL database; and how a test reaches behind it.

Tests that take the fixture ``place`` hold for every kind of ledger that lasts.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pytest

from prdp.ledger.layout import COLUMNS, insertion, next_row

_NUMBERS = count()


class Place(Protocol):
    """A place for a ledger, and others beside it."""

    @property
    def given(self) -> Path | str:
        """What ``ledger=`` takes."""

    @property
    def refusal(self) -> type[Exception]:
        """What the database itself raises where it refuses."""

    def run(self, *acts: str) -> list[Any]:
        """Run statements as any other tool could; return what the last one finds."""

    def unguarded(self, table: str, act: str, *values: object) -> None:
        """Run a statement without a table's guards, and put them back."""

    def insert(self, statement: str, values: tuple[object, ...]) -> None:
        """Run a statement with ``?`` for values, as whoever may insert can."""

    def remove(self) -> None:
        """Remove the ledger, as somebody may who owns it."""

    def put_back(self, other: Any) -> None:
        """Put another ledger in its place, as one does with a backup."""

    def beside(self, name: str) -> Place:
        """Return another place, where no ledger is yet."""


@dataclass(frozen=True)
class FilePlace:
    given: Path
    refusal: type[Exception] = sqlite3.IntegrityError

    def run(self, *acts: str) -> list[Any]:
        with closing(sqlite3.connect(self.given)) as database, database:
            found = [database.execute(act).fetchall() for act in acts]
        return found[-1]

    def unguarded(self, table: str, act: str, *values: object) -> None:
        with closing(sqlite3.connect(self.given)) as database, database:
            guards = database.execute(
                "SELECT name, sql FROM sqlite_master WHERE tbl_name = ? AND type = 'trigger'", (table,)
            ).fetchall()
            for name, _ in guards:
                database.execute(f"DROP TRIGGER {name}")
            database.execute(act, values)
            for _, text in guards:
                database.execute(text)

    def insert(self, statement: str, values: tuple[object, ...]) -> None:
        with closing(sqlite3.connect(self.given)) as database, database:
            database.execute(statement, values)

    def remove(self) -> None:
        self.given.unlink()

    def put_back(self, other: FilePlace) -> None:
        os.replace(other.given, self.given)

    def beside(self, name: str) -> FilePlace:
        return FilePlace(self.given.with_name(f"{name}.ledger"))


@dataclass(frozen=True)
class PostgresPlace:
    database: str
    name: str
    refusal: type[Exception] = psycopg.errors.RaiseException

    @property
    def given(self) -> str:
        return f"{self.database}{'&' if '?' in self.database else '?'}ledger={self.name}"

    @property
    def schema(self) -> str:
        return f"prdp_ledger_{self.name}"

    def run(self, *acts: str) -> list[Any]:
        with self.connected() as database:
            found = [database.execute(act.encode()) for act in acts][-1]
            return found.fetchall() if found.description else []

    def unguarded(self, table: str, act: str, *values: object) -> None:
        with self.connected() as database:
            database.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
            database.execute(act.replace("?", "%s").encode(), values or None)
            for event in ("update", "delete", "truncate"):
                database.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_{event}".encode())

    def insert(self, statement: str, values: tuple[object, ...]) -> None:
        with self.connected() as database:
            database.execute(statement.replace("?", "%s").encode(), values)

    def connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        database = psycopg.connect(self.database)
        database.execute(f"SET search_path = {self.schema}".encode())
        return database

    def remove(self) -> None:
        self.run(f"DROP SCHEMA {self.schema} CASCADE")

    def put_back(self, other: PostgresPlace) -> None:
        self.run(f"DROP SCHEMA {self.schema} CASCADE", f"ALTER SCHEMA {other.schema} RENAME TO {self.schema}")

    def beside(self, name: str) -> PostgresPlace:
        return PostgresPlace(self.database, f"{self.name}_{name}")


def hashes_of(place: Place) -> list[str]:
    """Return the stored hashes of a ledger, in the order of the chain."""
    tables = " UNION ALL ".join(f"SELECT place, hash FROM {table}" for table in COLUMNS)
    return [found for _, found in place.run(f"SELECT place, hash FROM ({tables}) AS rows ORDER BY place")]


def forge(place: Place, table: str, *fields: object) -> None:
    """Insert a row with a hash that continues the chain, as whoever may insert and knows how can."""
    place.insert(insertion(table), next_row(hashes_of(place), table, fields).values)


def new_place(kind: str, folder: Path, postgres: Callable[[], str]) -> Place:
    """Return a place where no ledger is yet; ``postgres`` tells the address of a database."""
    if kind == "file":
        return FilePlace(folder / "t.ledger")
    return PostgresPlace(postgres(), f"t{next(_NUMBERS)}")


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return a place for a ledger that is not there yet, of either kind."""
    return new_place(request.param, tmp_path, lambda: str(request.getfixturevalue("postgres")))
