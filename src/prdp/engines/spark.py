"""Summaries computed inside Spark: one statement a question, of which the cells alone leave the cluster."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from prdp.engines._cells import Arrays
from prdp.engines._interrupts import read_or_fail, stoppable
from prdp.engines._spark_frames import Frame, reading
from prdp.engines._spark_plans import Plan, source_of
from prdp.engines._statement_engine import Rows, StatementEngine
from prdp.engines.dialects.spark import SPARK
from prdp.engines.dialects.translate import masked, translated
from prdp.errors import InvalidRequest
from prdp.schema import Schema

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Where pyspark writes a failed statement's error, with the value that it failed for."""

_SILENT = threading.local()

_GONE = (
    "the source cannot be read any more, or its columns have changed since it was opened. "
    "Nothing was charged; open it again."
)


class SparkEngine(StatementEngine):
    """A table that Spark reads: a DataFrame of either kind, or a table of a session's catalogue.

    Attributes:
        schema: The table's columns.
        source: What the frame makes of its table before prdp sees it; else nothing.
    """

    name = "spark"

    def __init__(self, frame: Frame, *, rows_are_records: bool = False) -> None:
        """Take a frame over; reads no record."""
        super().__init__()
        self._frame = frame
        self._records = frame.name
        self._rows_are_records = rows_are_records
        self._lock = threading.Lock()
        self.schema: Schema = frame.schema()
        self.source, self._files = self._looked_at()

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        try:
            found: object = stoppable((), lambda: (self._frame.schema(), self._looked_at()))
        except InvalidRequest:
            raise
        except Exception:  # its words may name files
            found = None
        if found != (self.schema, (self.source, self._files)):
            raise InvalidRequest(_GONE)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        said = translated(sql, SPARK)
        found = self._table(said.sql)
        arrays = {name: _array(found.column(name)) for name in found.column_names if name not in said.wide}
        for name in said.wide:
            high, low = _halves(found.column(name))
            arrays |= {f"{name}_high": high, f"{name}_low": low}
        return arrays

    def rows_of(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        found = self._table(translated(sql, SPARK).sql)
        columns = [found.column(place) for place in range(found.num_columns)]
        return list(zip(*map(_values, columns), strict=True))

    def arrow_of(self, sql: str) -> Any:
        """Run a statement and return an Arrow table."""
        return self._table(translated(sql, SPARK).sql)

    def written(self, sql: str) -> str:
        """Return a statement as Spark runs it."""
        return translated(sql, SPARK).sql

    def _table(self, sql: str) -> pyarrow.Table:
        return read_or_fail((), lambda: self._collected(sql), self._lock)

    def _collected(self, sql: str) -> pyarrow.Table:
        session = self._frame.session
        with _silent(), reading(session), self._frame.viewed(self.schema):
            return collected(session, sql)

    def _looked_at(self) -> tuple[str, tuple[object, ...]]:
        with reading(self._frame.session):
            plan = Plan.of(self._frame.make())
            return source_of(plan, rows_are_records=self._rows_are_records), plan.files()


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> SparkEngine:
    """Open a DataFrame, or a table by its name and the active session; reads no record."""
    if types:
        raise InvalidRequest("types= is for CSV and for frames in memory: Spark states its own. Cast a column there.")
    frame = _frame(source, table)
    try:
        return SparkEngine(frame, rows_are_records=rows_are_records)
    except PySparkException as error:
        words = error.getCondition() or type(error).__name__
        raise InvalidRequest(
            f"Spark cannot open the source: {words}. Check the table's name, and that the session is alive."
        ) from None


def _frame(source: object, table: str | None) -> Frame:
    """Return the frame that a source is: itself, or what a session knows by a name."""
    if isinstance(source, DataFrame):
        if table is not None:
            raise InvalidRequest("table= is for a session, and this source is a frame: leave it away.")
        if source.isStreaming:
            raise InvalidRequest("the frame is a stream: open a table that it is written into.")
        return Frame(source.sparkSession, lambda: source)
    if isinstance(source, str) and table is None:
        session = SparkSession.getActiveSession()
        if session is None:
            raise InvalidRequest(
                f"{source!r} is read by Spark, and there is no active session: start one, such as "
                "spark = SparkSession.builder.getOrCreate(), or give spark.table(name)."
            )
        return Frame(session, lambda: session.table(source))
    if table is not None and hasattr(source, "catalog") and hasattr(source, "table"):
        return Frame(source, lambda: source.table(table))
    raise InvalidRequest(
        f"Spark cannot read {type(source).__name__}: give a DataFrame, the name of a table such as "
        "'catalog.accounts', or a session with table='catalog.accounts'."
    )


def collected(session: Any, sql: str) -> pyarrow.Table:
    """Run a statement under a tag of its own, by which it is stopped if somebody gives up waiting."""
    tag = f"prdp-{uuid.uuid4().hex}"
    session.addTag(tag)
    try:
        return session.sql(sql).toArrow()
    except BaseException:
        with suppress(Exception):  # of a session that is gone, nothing runs any more
            session.interruptTag(tag)
        raise
    finally:
        with suppress(Exception):
            session.removeTag(tag)


@contextmanager
def _silent() -> Iterator[None]:
    """Let pyspark write no error of this thread's to a log: it may speak of a record."""
    _SILENT.now = True
    try:
        yield
    finally:
        _SILENT.now = False


def _may_be_logged(_: logging.LogRecord) -> bool:
    return not getattr(_SILENT, "now", False)


for _name in _LOGGERS:
    PySparkLogger.getLogger(_name).addFilter(_may_be_logged)


def _values(column: pyarrow.ChunkedArray) -> list[Any]:
    """Return a column's values; decimals are whole numbers of any size."""
    whole = pyarrow.types.is_decimal(column.type)
    return [int(value) if whole and value is not None else value for value in column.to_pylist()]


def _array(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """Return a column as DuckDB would give it."""
    kind = column.type
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
        if not column.null_count:
            return np.asarray(column)
        missing = np.asarray(pyarrow.compute.is_null(column))
        return masked(np.asarray(pyarrow.compute.fill_null(column, 0)), missing)
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return masked(values, np.asarray(pyarrow.compute.is_null(column))) if column.null_count else values


def _halves(column: pyarrow.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the upper and lower 64 bits of decimals without a point, as Arrow keeps them; 0 for NULL."""
    whole = column.cast(pyarrow.decimal128(38, 0)).combine_chunks()
    whole = pyarrow.concat_arrays(whole.chunks) if isinstance(whole, pyarrow.ChunkedArray) else whole
    if len(whole) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.uint64)
    kept = np.frombuffer(whole.buffers()[1], dtype="<i8").reshape(-1, 2)[whole.offset : whole.offset + len(whole)]
    there = np.asarray(whole.is_valid())
    return np.where(there, kept[:, 1], 0), np.where(there, kept[:, 0], 0).view(np.uint64)
