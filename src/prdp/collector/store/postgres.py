"""A store in a PostgreSQL database, in tables whose names begin with ``prdp_``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import psycopg

from prdp.collector.store.sql import TABLES, SqlStore
from prdp.errors import CollectorError

_MAX_AT_ONCE = 2_000


class PostgresStore(SqlStore):
    """A study's store in a PostgreSQL database; several collectors may share it.

    A transaction is on the server's disk when ``writing`` ends (``synchronous_commit = on``); a server that
    does not sync at all is refused. Writers take turns by a lock on the study's row.
    """

    def __init__(self, address: str, *, new: bool = False) -> None:
        """Open a store that is there, or make one where none is."""
        self._address = address
        self._database = self._connected()
        try:
            with self._explained():
                self._refuse_unless_durable()
                self._make() if new else self._refuse_unless_there()
        except BaseException:
            self.close()
            raise

    @property
    def shown(self) -> str:
        """The address without its user and password."""
        parts = urlsplit(self._address)
        return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the study's row in a transaction."""
        self._reconnect_if_lost()
        with self._explained(), self._database.transaction():
            self._database.execute("SELECT format FROM prdp_study FOR UPDATE")
            yield

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        self._reconnect_if_lost()
        with self._explained():
            return self._database.execute(_marked(statement), values).fetchall()

    def run(self, statement: str, values: Sequence[Sequence[object]]) -> None:
        """Run a statement once for each sequence of values, all of them in one exchange."""
        with self._explained(), self._database.cursor() as cursor:
            cursor.executemany(_marked(statement), values)

    def stream(self, statement: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        """Yield rows by a cursor on the server."""
        self._reconnect_if_lost()
        with (
            self._explained(),
            self._database.transaction(),
            self._database.cursor("prdp_reports", scrollable=False) as cursor,
        ):
            cursor.itersize = _MAX_AT_ONCE
            cursor.execute(_marked(statement), values)
            yield from cursor

    def close(self) -> None:
        """Close the connection."""
        with suppress(psycopg.Error):
            self._database.close()

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        with self._explained():
            database = psycopg.connect(self._address, autocommit=True, connect_timeout=10)
            database.execute("SET synchronous_commit = on")
            database.execute("SET client_min_messages = warning")
        return database

    def _reconnect_if_lost(self) -> None:
        if self._database.closed:
            self._database = self._connected()

    def _is_there(self) -> bool:
        found = self._database.execute("SELECT to_regclass('prdp_study') IS NOT NULL").fetchone()
        return found == (True,)

    def _refuse_unless_there(self) -> None:
        if not self._is_there():
            raise CollectorError(f"there is no study in {self.shown}: make one with prdp collect init.")

    def _make(self) -> None:
        if self._is_there():
            raise CollectorError(f"{self.shown} has a study already: a store is never replaced.")
        with self._database.transaction():
            for name, columns in TABLES.items():
                self._database.execute(f"CREATE TABLE {name} ({columns.format(bytes='BYTEA')})".encode())

    def _refuse_unless_durable(self) -> None:
        for setting in ("fsync", "full_page_writes"):
            if self._database.execute(f"SHOW {setting}".encode()).fetchone() != ("on",):
                raise CollectorError(
                    f"{self.shown} runs with {setting} = off: a report could be acknowledged and then lost "
                    "in a power cut. Switch it on."
                )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            reason = (error.diag.message_primary or type(error).__name__).strip()
            raise CollectorError(f"{self.shown} cannot be used: {reason}.") from None


def _marked(statement: str) -> bytes:
    """Return a statement with PostgreSQL's marks for values."""
    return statement.replace("?", "%s").encode()
