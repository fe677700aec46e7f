"""Run Spark's statements; return columns and rows, and errors that hold nothing of a record."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyspark.logger import PySparkLogger

from prdp.engines.database import Rows
from prdp.engines.progress import UNKNOWN, listened_to, watched
from prdp.engines.spark.frames import afterwards
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.translate import masked

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Where pyspark writes a failed statement's error, with the value that it failed for."""

_SILENT = threading.local()


def collected(session: Any, sql: str) -> pyarrow.Table:
    """Run a statement under a tag of its own, by which it is stopped if somebody gives up waiting."""
    tag = f"prdp-{uuid.uuid4().hex}"
    with silent(), _stages_watched(session), afterwards(lambda: session.interruptTag(tag)):
        session.addTag(tag)
        try:
            return session.sql(sql).toArrow()
        finally:
            session.removeTag(tag)


@contextmanager
def silent() -> Iterator[None]:
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


def rows_of(found: pyarrow.Table) -> Rows:
    """Return the rows of a table; decimals are whole numbers of any size."""
    return list(zip(*map(_values, found.columns), strict=True))


def arrays_of(found: pyarrow.Table, wide: tuple[str, ...]) -> Arrays:
    """Return the columns of a table as DuckDB would give them: wide ones as two halves each."""
    names = [name for name in found.column_names if name not in wide]
    arrays: Arrays = {name: _array(found.column(name)) for name in names}
    for name in wide:
        arrays[f"{name}_high"], arrays[f"{name}_low"] = _halves(found.column(name))
    return arrays


def _values(column: pyarrow.ChunkedArray) -> list[Any]:
    whole = pyarrow.types.is_decimal(column.type)
    return [int(value) if whole and value is not None else value for value in column.to_pylist()]


def _array(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    kind = column.type
    missing = np.asarray(pyarrow.compute.is_null(column))
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
        values = np.asarray(pyarrow.compute.fill_null(column, 0) if column.null_count else column)
    else:
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_pylist()
    return masked(values, missing) if column.null_count else values


def _halves(column: pyarrow.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the upper and lower 64 bits of decimals without a point, as Arrow keeps them; 0 for NULL."""
    whole = pyarrow.concat_arrays(
        [pyarrow.array([], pyarrow.decimal128(38, 0)), *column.cast(pyarrow.decimal128(38, 0)).chunks]
    )
    if len(whole) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.uint64)
    kept = np.frombuffer(whole.buffers()[1], dtype="<i8").reshape(-1, 2)[whole.offset :][: len(whole)]
    there = np.asarray(whole.is_valid())
    return np.where(there, kept[:, 1], 0), np.where(there, kept[:, 0], 0).view(np.uint64)


@contextmanager
def _stages_watched(session: Any) -> Iterator[None]:
    """Tell whoever listens how far the stages are that a session runs meanwhile."""
    if not listened_to():
        yield
    elif type(session).__module__.startswith("pyspark.sql.connect."):
        with _server_progress(session) as percent, watched(percent):
            yield
    else:
        with watched(lambda: _of_active_stages(session)):
            yield


@contextmanager
def _server_progress(session: Any) -> Iterator[Callable[[], float]]:
    """Listen to a server of Spark Connect, which says so by itself."""
    last = [UNKNOWN]

    def hear(stages: Iterable[Any] | None, *_: object, **__: object) -> None:
        last[0] = _share((stage.num_completed_tasks, stage.num_tasks) for stage in stages or ())

    with suppress(Exception):
        session.registerProgressHandler(hear)
    try:
        yield lambda: last[0]
    finally:
        with suppress(Exception):
            session.removeProgressHandler(hear)


def _of_active_stages(session: Any) -> float:
    """Ask a classic session; of other jobs that run beside ours it knows nothing better."""
    with suppress(Exception):
        tracker = session.sparkContext.statusTracker()
        stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
        return _share((stage.numCompletedTasks, stage.numTasks) for stage in stages)
    return UNKNOWN


def _share(stages: Iterable[tuple[int, int]]) -> float:
    """Return how many percent of tasks are done.

    >>> _share([(1, 2), (0, 2)]), _share([])
    (25.0, -1.0)
    """
    done, number = map(sum, zip(*stages, strict=True)) if (stages := list(stages)) else (0, 0)
    return 100 * done / number if number else UNKNOWN
