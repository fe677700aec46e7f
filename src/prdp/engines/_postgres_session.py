"""Statements in a PostgreSQL database: each in a connection and a read-only transaction of its own.

So no session's setting decides what a statement gives, a lost connection is lost for one question only, and
forked processes share none. The snapshot is that of one moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

from prdp.engines._cells import Arrays
from prdp.engines._interrupts import read_or_fail
from prdp.engines.dialects.postgres import POSTGRES
from prdp.engines.dialects.translate import Translated, masked, translated, with_halves, with_sources
from prdp.errors import InvalidRequest
from prdp.safety.database_address import DatabaseAddress, read_address
from prdp.safety.database_connection import connected
from prdp.safety.database_trouble import why_not_connected, why_not_done

Rows = list[tuple[Any, ...]]
Ask = Callable[..., Rows]
"""Runs a statement about the catalog, with values for each ``%s``."""

Done = TypeVar("Done")

_TIMEOUT = "statement_timeout"
_LONGEST = "1h"
_DURATION = re.compile(r"[1-9][0-9]{0,8}(?:ms|s|min|h)?|0")
_SETTINGS = {
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "enable_sort": "off",
    "extra_float_digits": "1",
    "jit": "off",
    "parallel_tuple_cost": "0",
    "search_path": "",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
}
"""What statements rest on. Compiling them takes longer than it saves; and the planner, which cannot know how
few cells there are, would sort all rows, and not let several processes make them."""

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WHO = "Name the user in the address or in PGUSER, and keep the password in PGPASSWORD or ~/.pgpass."
_REACHED = "Check the address, and that the server can be reached from here."
_WHOLE = {20, 21, 23}
_DOUBLE, _TRUTH, _NUMERIC = 701, 16, 1700
_EPOCH = 946_684_800_000_000
"""Microseconds from 1970 to 2000, where PostgreSQL's time begins."""

_EPOCH_DAYS = 10_957


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gave.

    Attributes:
        names: Its columns.
        types: Their types, by PostgreSQL's numbers.
        rows: Its rows.
    """

    names: tuple[str, ...]
    types: tuple[int, ...]
    rows: Rows

    def arrays(self, wide: Sequence[str]) -> Arrays:
        """Return the columns as DuckDB would give them; some are whole numbers of any size, in halves."""
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.names)
        found, large = {}, {}
        for name, type_, column in zip(self.names, self.types, columns, strict=True):
            if name in wide:
                large[name] = [None if value is None else int(value) for value in column]
            else:
                found[name] = _array(column, type_)
        return with_halves(found, large)


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A PostgreSQL database, and how long a statement may take there.

    Attributes:
        address: Where it is.
        timeout: As PostgreSQL writes it.
    """

    address: DatabaseAddress
    timeout: str

    @classmethod
    def at(cls, text: str) -> PostgresDatabase:
        """Read an address, which may end in ``?statement_timeout=10min``; nothing is connected to."""
        address = read_address(text, [_TIMEOUT])
        timeout = address.own.get(_TIMEOUT, _LONGEST)
        if not _DURATION.fullmatch(timeout):
            raise InvalidRequest(
                f"{address.shown} has a {_TIMEOUT} that is no length of time: write ?{_TIMEOUT}=10min, with "
                "ms, s, min or h, or 0 for none."
            )
        return cls(address, timeout)

    def asked(self, work: Callable[[Ask], Done]) -> Done:
        """Return what is made of statements about the catalog, all at one moment.

        Raises:
            InvalidRequest: They could not be asked, in words of our own.
        """

        def within(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Done:
            return work(lambda sql, *values: cursor.execute(sql.encode(), values).fetchall())

        try:
            return self._within(within, {})
        except psycopg.Error as error:
            trouble = _why(error)
        advice = _WHO if "password" in trouble else _REACHED
        raise InvalidRequest(f"{self.address.shown} cannot be read: {trouble}. Nothing was charged. {advice}")

    def columns(self, sql: str, sources: str) -> Arrays:
        """Run one of prdp's statements over records; return its columns as arrays.

        Args:
            sql: The statement, in DuckDB's SQL.
            sources: What is said of tables before, in PostgreSQL's SQL.

        Raises:
            EngineFailure: Whatever went wrong; the text is always the same.
        """
        said = in_postgres(sql)
        return self._read(with_sources(sources, said.sql), as_arrays=said.wide)

    def rows(self, sql: str, sources: str) -> Rows:
        """Run one of prdp's statements over records; return its rows, whole numbers of any size."""
        found = self.result(sql, sources)
        made: list[Callable[[Any], Any]] = [_FROM_NUMBERS.get(type_, _plain) for type_ in found.types]
        return [tuple(make(value) for make, value in zip(made, row, strict=True)) for row in found.rows]

    def result(self, sql: str, sources: str) -> Result:
        """Run one of prdp's statements over records; return what it gives."""
        statement = with_sources(sources, in_postgres(sql).sql)
        return read_or_fail((), lambda: self._run(statement))

    def _read(self, statement: str, as_arrays: Sequence[str]) -> Arrays:
        return read_or_fail((), lambda: self._run(statement).arrays(as_arrays))

    def _run(self, statement: str) -> Result:
        def run(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Result:
            for name, loader in _LOADERS.items():
                cursor.adapters.register_loader(name, loader)
            cursor.execute(statement.encode(), binary=True)
            about = cursor.description or ()
            names, types = tuple(one.name for one in about), tuple(one.type_code for one in about)
            return Result(names, types, cursor.fetchall())

        return self._within(run, _SETTINGS)

    def _within(
        self, work: Callable[[psycopg.Cursor[tuple[Any, ...]]], Done], settings: Mapping[str, str]
    ) -> Done:
        """Do something in a read-only transaction; Ctrl-C cancels it on the server."""
        connection = connected(self.address)
        try:
            named = {_TIMEOUT: self.timeout, **settings}.items()
            connection.execute("; ".join([_BEGIN, *(f"SET LOCAL {n} = '{v}'" for n, v in named)]).encode())
            return work(connection.cursor())
        finally:
            with suppress(psycopg.Error):
                connection.close()


def in_postgres(sql: str) -> Translated:
    """Return one of prdp's statements as PostgreSQL runs it."""
    return translated(sql, POSTGRES)


def _why(error: psycopg.Error) -> str:
    return why_not_connected(str(error)) if error.sqlstate is None else why_not_done(error.sqlstate)


def _array(column: Sequence[Any], type_: int) -> NDArray[Any]:
    missing = np.fromiter((value is None for value in column), dtype=bool, count=len(column))
    kinds = {_DOUBLE: np.float64, _TRUTH: np.bool_, **dict.fromkeys(_WHOLE, np.int64)}
    if type_ in kinds:
        known = [0 if value is None else value for value in column] if missing.any() else column
        return masked(np.array(known, dtype=kinds[type_]), missing)
    values = np.empty(len(column), dtype=object)
    values[:] = [value.encode() if isinstance(value, str) else _plain(value) for value in column]
    return masked(values, missing)


def _plain(value: Any) -> Any:
    """Return a whole number of any size as Python's own."""
    if isinstance(value, Decimal) and value.is_finite() and value.as_tuple().exponent == 0:
        return int(value)
    return value


class _Moment(Loader):
    """A timestamp as microseconds since 1970; None for the infinities and what is beyond 64 bits."""

    format = Format.BINARY

    def load(self, data: Buffer) -> Any:
        """Return the number."""
        since = int.from_bytes(data, "big", signed=True)
        return since + _EPOCH if -(2**63) < since < 2**63 - 1 - _EPOCH else None


class _Day(Loader):
    """A date as days since 1970; None for the infinities."""

    format = Format.BINARY

    def load(self, data: Buffer) -> Any:
        """Return the number."""
        since = int.from_bytes(data, "big", signed=True)
        return since + _EPOCH_DAYS if abs(since) < 2**31 - 1 - _EPOCH_DAYS else None


def _moment(value: int | None) -> datetime | None:
    """Return a moment; None outside of Python's years."""
    with suppress(OverflowError):
        return None if value is None else datetime(1970, 1, 1) + timedelta(microseconds=value)
    return None


def _day(value: int | None) -> date | None:
    found = None if value is None else _moment(value * 86_400_000_000)
    return None if found is None else found.date()


_FROM_NUMBERS: Mapping[int, Callable[[Any], Any]] = {1114: _moment, 1184: _moment, 1082: _day}
_LOADERS: Mapping[str, Any] = {"timestamp": _Moment, "timestamptz": _Moment, "date": _Day}
