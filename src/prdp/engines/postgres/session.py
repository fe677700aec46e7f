"""Statements in a PostgreSQL database: those of one question in a connection and a transaction of its own.

So no session's setting decides what a statement gives, a lost connection is lost for one question only, and
forked processes share none. All statements of a question read one snapshot (``one_snapshot``).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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

from prdp.engines.database import Rows
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.translate import masked, with_halves
from prdp.errors import InvalidRequest
from prdp.safety.database_address import DatabaseAddress, read_address
from prdp.safety.postgres_connection import connected, why_not_connected, why_not_done
from prdp.schema import Schema

Ask = Callable[..., Rows]
"""Runs a statement about the catalog, with values for each ``%s``."""

Done = TypeVar("Done")

_QUESTION = threading.local()
"""The connections of the question that a thread answers, by their databases; none outside of questions."""

_TIMEOUT = "statement_timeout"
_LONGEST = "1h"
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
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
"""Settings of every statement. Compiling takes longer than it saves; and the planner, which cannot know how
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
    """Result of a statement.

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

    def plain(self) -> Rows:
        """Return the rows, whole numbers and moments being Python's own."""
        made: list[Callable[[Any], Any]] = [_FROM_NUMBERS.get(type_, _plain) for type_ in self.types]
        return [tuple(make(value) for make, value in zip(made, row, strict=True)) for row in self.rows]

    def arrow(self, schema: Schema) -> Any:
        """Return the rows as an Arrow table; moments that it cannot hold are NULL."""
        import pyarrow  # noqa: PLC0415  (only who hands rows out needs it)

        types = {
            16: pyarrow.bool_(),
            20: pyarrow.int64(),
            21: pyarrow.int16(),
            23: pyarrow.int32(),
            25: pyarrow.string(),
            701: pyarrow.float64(),
            1082: pyarrow.date32(),
            1114: pyarrow.timestamp("us"),
            1184: pyarrow.timestamp("us", "UTC"),
        }
        columns = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.names)
        arrays = []
        for name, type_, column in zip(self.names, self.types, columns, strict=True):
            digits = _DECIMAL.fullmatch(schema[name].native) if name in schema else None
            kind = pyarrow.decimal128(int(digits[1]), int(digits[2])) if digits else types[type_]
            arrays.append(pyarrow.array(column, type=kind))
        return pyarrow.table(arrays, names=list(self.names))


@dataclass(frozen=True, slots=True)
class PostgresSession:
    """A PostgreSQL database, and how long a statement may take there.

    Attributes:
        address: Its address.
        timeout: As PostgreSQL writes it.
    """

    address: DatabaseAddress
    timeout: str

    @classmethod
    def at(cls, text: str) -> PostgresSession:
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
        """Return the result of statements about the catalog, all at one moment.

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

    def run(self, statement: str, *, filtered: bool) -> Result:
        """Run a statement over records.

        Args:
            statement: The statement, in PostgreSQL's SQL.
            filtered: Whether row security may filter rows by the caller's word. Elsewhere, a statement fails
                before it reads a row if a policy applies, such as one of which the catalog knew nothing.
        """

        def run(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Result:
            for name, loader in _LOADERS.items():
                cursor.adapters.register_loader(name, loader)
            cursor.execute(statement.encode(), binary=True)
            about = cursor.description or ()
            names, types = tuple(one.name for one in about), tuple(one.type_code for one in about)
            return Result(names, types, cursor.fetchall())

        return self._within(run, {**_SETTINGS, "row_security": "on" if filtered else "off"})

    def _within(
        self, work: Callable[[psycopg.Cursor[tuple[Any, ...]]], Done], settings: Mapping[str, str]
    ) -> Done:
        """Do something in a read-only transaction; Ctrl-C cancels it on the server."""
        held = getattr(_QUESTION, "connections", None) if settings else None
        if held is not None:
            key = id(self), settings["row_security"]
            if key not in held:
                held[key] = self._begun(settings)
            return work(held[key].cursor())
        connection = self._begun(settings)
        try:
            return work(connection.cursor())
        finally:
            _close(connection)

    def _begun(self, settings: Mapping[str, str]) -> Any:
        """Return a connection in a read-only transaction."""
        connection = connected(self.address)
        try:
            named = {_TIMEOUT: self.timeout, **settings}.items()
            connection.execute("; ".join([_BEGIN, *(f"SET LOCAL {n} = '{v}'" for n, v in named)]).encode())
        except BaseException:
            _close(connection)
            raise
        return connection


@contextmanager
def one_snapshot() -> Iterator[None]:
    """Let all statements over records that this thread runs meanwhile read the snapshot of the first.

    A question that is asked while another is answered has a snapshot of its own.
    """
    outer = getattr(_QUESTION, "connections", None)
    _QUESTION.connections = {}
    try:
        yield
    finally:
        opened, _QUESTION.connections = _QUESTION.connections, outer
        for connection in opened.values():
            _close(connection)


def _close(connection: Any) -> None:
    with suppress(psycopg.Error):
        connection.close()


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
