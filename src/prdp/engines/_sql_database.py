"""Statements in a database that SQLAlchemy connects to: each in a connection and a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy.pool import NullPool

from prdp.engines._interrupts import read_or_fail
from prdp.engines._sql_backend import Ask, SqlBackend
from prdp.engines._sql_results import SqlResult
from prdp.errors import InvalidRequest

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class SqlDatabase:
    """A database, and how it is spoken to.

    Attributes:
        backend: What kind of database it is.
        shown: Where it is, without user and password.
        engine: SQLAlchemy's, without a pool: so forked processes share no connection.
    """

    backend: SqlBackend
    shown: str
    engine: Any = field(repr=False)

    @classmethod
    def at(cls, text: str, backend: SqlBackend) -> SqlDatabase:
        """Read an address; nothing is connected to.

        Raises:
            InvalidRequest: It is none. It is not repeated, since a part of it may be a password.
        """
        url = _url(text, backend)
        if find_spec(backend.package) is None:
            raise InvalidRequest(
                f"{backend.title} is read through {backend.package}, which is not installed: "
                f"pip install {backend.package}, or pip install 'prdp[sqlalchemy]'."
            )
        port = f":{url.port}" if url.port else ""
        shown = f"{backend.name}://{url.host or ''}{port}/{url.database or ''}"
        made = sqlalchemy.create_engine(url, poolclass=NullPool, connect_args=dict(backend.arguments))
        return cls(backend, shown, made)

    def version(self) -> str:
        """Return what the server says its version is, and refuse one that prdp cannot read."""
        ((version,),) = self.asked(lambda ask: ask(self.backend.version))
        self.backend.refuse(str(version), self.shown)
        return str(version)

    def asked(self, work: Callable[[Ask], Done]) -> Done:
        """Return what is made of statements about the catalog.

        Raises:
            InvalidRequest: They could not be asked, in words of our own.
        """

        def within(connection: Any) -> Done:
            return work(lambda sql, *values: _fetched(connection, sql, values)[1])

        try:
            return self._within(within)
        except InvalidRequest:
            raise
        except Exception as error:  # its words may hold user and password
            number = _number_of(error)
        why = self.backend.troubles.get(number, "it cannot be reached, or does not let this user in")
        raise InvalidRequest(f"{self.shown} cannot be read: {why}. Nothing was charged.")

    def read(self, statement: str) -> SqlResult:
        """Run a statement over records; whatever goes wrong, it fails with one fixed text."""

        def run(connection: Any) -> SqlResult:
            names, rows = _fetched(connection, statement, ())
            return SqlResult(tuple(names), rows, self.backend.greatest)

        return read_or_fail((), lambda: self._within(run))

    def write(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> None:
        """Run a statement that changes the database, for each of some rows: for checks alone."""
        with self.engine.connect() as connection:
            for setting in self.backend.session:
                connection.exec_driver_sql(setting)
            plain = connection.execution_options(no_parameters=not rows)
            plain.exec_driver_sql(statement, [tuple(row) for row in rows] or None)
            connection.commit()

    def _within(self, work: Callable[[Any], Done]) -> Done:
        """Do something in a read-only transaction; Ctrl-C stops it on the server."""
        with self.engine.connect() as connection:
            for statement in (*self.backend.session, *self.backend.begin):
                connection.exec_driver_sql(statement)
            ((who,),) = _fetched(connection, self.backend.whoami, ())[1]
            try:
                return work(connection)
            except BaseException as stop:
                if not isinstance(stop, Exception):
                    self._cancel(int(who))
                    connection.invalidate()
                raise

    def _cancel(self, who: int) -> None:
        with suppress(Exception), self.engine.connect() as other:
            other.exec_driver_sql(self.backend.cancel.format(who=who))


def _fetched(connection: Any, sql: str, values: tuple[Any, ...]) -> tuple[list[str], list[tuple[Any, ...]]]:
    plain = connection if values else connection.execution_options(no_parameters=True)
    found = plain.exec_driver_sql(sql, values or None)
    return list(found.keys()), [tuple(row) for row in found.fetchall()]


def _url(text: str, backend: SqlBackend) -> Any:
    url = None
    with suppress(Exception):  # whose words may repeat the address
        url = sqlalchemy.make_url(text)
    unknown = [] if url is None else [name for name in url.query if name not in backend.options]
    if (
        url is None
        or unknown
        or not text.isprintable()
        or not (url.host or {"unix_socket", "host"} & {*url.query})
    ):
        raise InvalidRequest(
            f"this is no address of {backend.title}; it is not repeated here, since it may hold a password. "
            f"Write {backend.name}://user@host/database, special characters as %40 and the like. After a "
            f"question mark there may be {', '.join(backend.options)}."
        )
    return url.set(drivername=url.drivername if "+" in url.drivername else backend.driver)


def _number_of(error: Exception) -> int:
    """Return the number that a driver gives an error; 0 if it gives none."""
    first = next(iter(getattr(getattr(error, "orig", None), "args", ())), 0)
    return first if isinstance(first, int) else 0
