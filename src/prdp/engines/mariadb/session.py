"""Statements in a MariaDB database, by SQLAlchemy: each in a connection and a transaction of its own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
import sqlalchemy
from numpy.typing import NDArray
from sqlalchemy.pool import NullPool

from prdp.engines.database import Rows
from prdp.engines.mariadb.catalog import Ask
from prdp.engines.mariadb.doubles import GREATEST
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.translate import masked, with_halves
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind, Schema

Done = TypeVar("Done")

TITLE = "MariaDB"
_DRIVER, _PACKAGE = "mariadb+pymysql", "pymysql"
_OLDEST = (10, 6)
_VERSION = re.compile(r"(\d+)\.(\d+)\..*MariaDB", re.IGNORECASE)
_LONGEST_KEY = 262_144
"""Bytes of a text that are compared where rows are sorted: all of a VARCHAR or TEXT, in any encoding. By
default they are 1024, and a unit whose name is longer would be taken for two."""

_SORTED_AT_ONCE = 64 << 20
"""Room for 15 rows with that many bytes in each of some columns, without which MariaDB sorts nothing."""

_SESSION = (
    "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin",
    "SET SESSION sql_mode = '', old_mode = '', time_zone = '+00:00', sql_auto_is_null = 0",
    f"SET SESSION max_sort_length = {_LONGEST_KEY}, sort_buffer_size = {_SORTED_AT_ONCE}",
    "SET SESSION max_statement_time = 3600, sql_select_limit = 18446744073709551615, sql_big_selects = 1",
    "SET SESSION system_versioning_asof = DEFAULT",
)
_BEGIN = (
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_TROUBLES = {
    1044: "this user may not use that database",
    1045: "unknown user, or incorrect password",
    1049: "it has no such database",
    1130: "it accepts no connection from here",
    2003: "nothing listens there, or no such host is known",
}
_OPTIONS = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "connect_timeout")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class MariaResult:
    """Result of a statement.

    Attributes:
        names: Its columns.
        rows: Its rows, as the driver has them.
    """

    names: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def arrays(self, wide: Collection[str]) -> Arrays:
        """Return the columns as DuckDB would give them; some are whole numbers of any size, in halves."""
        found, large = {}, {}
        for name, column in zip(self.names, self._columns(), strict=True):
            if name in wide:
                large[name] = [None if value is None else int(value) for value in column]
            else:
                found[name] = _array(column)
        return with_halves(found, large)

    def plain(self) -> Rows:
        """Return the rows, whole numbers being Python's own."""
        return [tuple(map(_plain, row)) for row in self.rows]

    def arrow(self, schema: Schema) -> Any:
        """Return the rows as an Arrow table."""
        import pyarrow  # noqa: PLC0415  (only who hands rows out needs it)

        arrays = []
        for name, column in zip(self.names, self._columns(), strict=True):
            make, kind = _handed_out(schema.get(name), pyarrow)
            values = [value if isinstance(value, Decimal) else _plain(value) for value in column]
            arrays.append(
                pyarrow.array([None if value is None else make(value) for value in values], type=kind)
            )
        return pyarrow.table(arrays, names=list(self.names))

    def _columns(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.names)


def _handed_out(column: ColumnType | None, arrow: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the conversion of a column's values, and their Arrow type: by the declared type alone."""
    native = "BIGINT" if column is None else column.native  # the level of a row
    if digits := _DECIMAL.fullmatch(native):
        return Decimal, arrow.decimal128(int(digits[1]), int(digits[2]))
    match column.kind if column is not None else Kind.NUMBER:
        case Kind.TEXT:
            return str, arrow.string()
        case Kind.MOMENT:
            return _as_moment, arrow.timestamp("us")
        case Kind.BOOLEAN:
            return bool, arrow.bool_()
        case _ if native in ("DOUBLE", "FLOAT"):
            return float, arrow.float64()
        case _:
            return int, arrow.uint64() if native == "UBIGINT" else arrow.int64()


def _as_number(value: Any) -> Any:
    """Return a text as its bytes, and a moment as microseconds since 1970, as DuckDB's are read."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day) - _EPOCH).days
    return value


def _as_moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day)


def _plain(value: Any) -> Any:
    """Return a whole number as Python's own, and MariaDB's greatest double as infinity."""
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    if isinstance(value, float) and abs(value) >= GREATEST:
        return math.copysign(math.inf, value)
    return value


def _array(column: Sequence[Any]) -> NDArray[Any]:
    missing = np.fromiter((value is None for value in column), dtype=bool, count=len(column))
    values = [_as_number(_plain(value)) for value in column]
    known = {type(value) for value in values if value is not None}
    if known == {bool}:
        return masked(np.array([bool(value) for value in values], dtype=np.bool_), missing)
    if known <= {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        return masked(np.array([value or 0 for value in values], dtype=np.int64), missing)
    if float in known and known <= {int, float}:
        return masked(np.array([value or 0 for value in values], dtype=np.float64), missing)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return masked(objects, missing)


@dataclass(frozen=True, slots=True)
class MariaSession:
    """A MariaDB database, and connections to it.

    Attributes:
        shown: Its address, without user and password.
        engine: SQLAlchemy's, without a pool: so forked processes share no connection.
    """

    shown: str
    engine: Any = field(repr=False)

    @classmethod
    def at(cls, text: str) -> MariaSession:
        """Read an address; nothing is connected to.

        Raises:
            InvalidRequest: It is none. It is not repeated, since a part of it may be a password.
        """
        url = _url(text)
        if find_spec(_PACKAGE) is None:
            raise InvalidRequest(
                f"{TITLE} is read through {_PACKAGE}, which is not installed: pip install {_PACKAGE}, or pip "
                "install 'prdp[sqlalchemy]'."
            )
        port = f":{url.port}" if url.port else ""
        shown = f"mariadb://{url.host or ''}{port}/{url.database or ''}"
        return cls(
            shown, sqlalchemy.create_engine(url, poolclass=NullPool, connect_args={"charset": "utf8mb4"})
        )

    def version(self) -> str:
        """Return the server's version, and refuse one that prdp cannot read."""
        ((version,),) = self.asked(lambda ask: ask("SELECT VERSION()"))
        _refuse_version(str(version), self.shown)
        return str(version)

    def asked(self, work: Callable[[Ask], Done]) -> Done:
        """Return the result of statements about the catalog.

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
        why = _TROUBLES.get(number, "it cannot be reached, or refuses this user")
        raise InvalidRequest(f"{self.shown} cannot be read: {why}. Nothing was charged.")

    def read(self, statement: str) -> MariaResult:
        """Run a statement over records."""

        def run(connection: Any) -> MariaResult:
            names, rows = _fetched(connection, statement, ())
            return MariaResult(tuple(names), rows)

        return self._within(run)

    def write(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> None:
        """Run a statement that changes the database, for each of some rows: for checks alone."""
        with self.engine.connect() as connection:
            for setting in _SESSION:
                connection.exec_driver_sql(setting)
            plain = connection.execution_options(no_parameters=not rows)
            plain.exec_driver_sql(statement, [tuple(row) for row in rows] or None)
            connection.commit()

    def _within(self, work: Callable[[Any], Done]) -> Done:
        """Do something in a read-only transaction; Ctrl-C stops it on the server."""
        with self.engine.connect() as connection:
            for statement in (*_SESSION, *_BEGIN):
                connection.exec_driver_sql(statement)
            ((who,),) = _fetched(connection, "SELECT CONNECTION_ID()", ())[1]
            try:
                return work(connection)
            except BaseException as stop:
                if not isinstance(stop, Exception):
                    self._cancel(int(who))
                    connection.invalidate()
                raise

    def _cancel(self, who: int) -> None:
        with suppress(Exception), self.engine.connect() as other:
            other.exec_driver_sql(f"KILL CONNECTION {who}")


def _fetched(connection: Any, sql: str, values: tuple[Any, ...]) -> tuple[list[str], list[tuple[Any, ...]]]:
    plain = connection if values else connection.execution_options(no_parameters=True)
    found = plain.exec_driver_sql(sql, values or None)
    return list(found.keys()), [tuple(row) for row in found.fetchall()]


def _refuse_version(version: str, shown: str) -> None:
    found = _VERSION.search(version)
    if found is None:
        raise InvalidRequest(f"{shown} is no MariaDB (it may be MySQL), and prdp has no SQL for it.")
    if (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise InvalidRequest(f"{shown} is on MariaDB {found[1]}.{found[2]}; prdp reads it from {oldest} on.")


def _url(text: str) -> Any:
    url = None
    with suppress(Exception):  # whose words may repeat the address
        url = sqlalchemy.make_url(text)
    unknown = [] if url is None else [name for name in url.query if name not in _OPTIONS]
    if (
        url is None
        or unknown
        or not text.isprintable()
        or not (url.host or {"unix_socket", "host"} & {*url.query})
    ):
        raise InvalidRequest(
            f"this is no address of {TITLE}; it is not repeated here, since it may hold a password. "
            f"Write mariadb://user@host/database, special characters as %40 and the like. After a "
            f"question mark there may be {', '.join(_OPTIONS)}."
        )
    return url.set(drivername=url.drivername if "+" in url.drivername else _DRIVER)


def _number_of(error: Exception) -> int:
    """Return the number that a driver gives an error; 0 if it gives none."""
    first = next(iter(getattr(getattr(error, "orig", None), "args", ())), 0)
    return first if isinstance(first, int) else 0
