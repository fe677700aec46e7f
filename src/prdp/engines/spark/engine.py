"""Summaries computed inside Spark: one statement a question, of which the cells alone leave the cluster."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from prdp.engines.database import Database, PlainTable, Rows, Statement
from prdp.engines.origins import Origins
from prdp.engines.progress import UNKNOWN, listened_to, watched
from prdp.engines.registry import refuse_unless_table_name
from prdp.engines.spark.dialect import SPARK
from prdp.engines.spark.frames import Frame, afterwards, identity, reading
from prdp.engines.spark.origins import SparkPlan, frame_origins, source_of
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.translate import masked, translated
from prdp.errors import InvalidRequest
from prdp.safety.silent_logs import can_be_silent, silent
from prdp.schema import Schema

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers to which pyspark writes a failed statement's error, with the value that it failed for."""


def collected(session: Any, sql: str) -> pyarrow.Table:
    """Run a statement under a tag of its own, by which it is stopped if somebody gives up waiting."""
    tag = f"prdp-{uuid.uuid4().hex}"
    with silent(), _stages_watched(session), afterwards(lambda: session.interruptTag(tag)):
        session.addTag(tag)
        try:
            return session.sql(sql).toArrow()
        finally:
            session.removeTag(tag)


for _name in _LOGGERS:
    can_be_silent(PySparkLogger.getLogger(_name))


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
    """Report the progress of the stages that a session runs meanwhile."""
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
    """Return the percentage of tasks that are done.

    >>> _share([(1, 2), (0, 2)]), _share([])
    (25.0, -1.0)
    """
    done, number = map(sum, zip(*stages, strict=True)) if (stages := list(stages)) else (0, 0)
    return 100 * done / number if number else UNKNOWN


@runtime_checkable
class Session(Protocol):
    """A session of either kind."""

    catalog: Any

    def table(self, tableName: str) -> DataFrame:  # noqa: N803  (Spark's name)
        """Return a table of the catalogue."""

    def sql(self, sqlQuery: str) -> DataFrame:  # noqa: N803
        """Return the result of a statement."""


class SparkDatabase(Database[PlainTable]):
    """Frames of one Spark session, of either kind, or tables of its catalogue.

    Attributes:
        frames: The frames, by their names.
        vouched: Those whose rows are records by the caller's word, or hold nothing to protect.
    """

    name = "spark"

    def __init__(self, frames: Mapping[str, Frame], vouched: Collection[str]) -> None:
        self.frames = frames
        self.vouched = frozenset(vouched)
        self.slots = {name: frame.name for name, frame in frames.items()}
        self.lock = threading.Lock()

    def find(self) -> dict[str, PlainTable]:
        """Look at each frame's plan: what it makes of its table, and which files it lists."""
        return {name: self._found(name, frame) for name, frame in self.frames.items()}

    def _found(self, name: str, frame: Frame) -> PlainTable:
        with reading(frame.session):
            schema, plan = frame.schema(), SparkPlan.of(frame.make())
            source = source_of(plan, rows_are_records=name in self.vouched)
            return PlainTable(schema, source, plan.files())

    def origins(self, tables: Mapping[str, PlainTable]) -> Mapping[str, Origins]:
        """Return the relations at the leaves of each frame's plan."""
        return {name: _origins_of(self.frames[name]) for name in tables}

    def write(self, sql: str, tables: Mapping[str, PlainTable]) -> Statement:  # noqa: ARG002
        """Return a statement as Spark runs it."""
        return translated(sql, SPARK)

    def arrays(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Arrays:
        """Run a statement; return its columns."""
        return arrays_of(self._collected(statement, tables), statement.wide)

    def rows(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Rows:
        """Run a statement; return its rows."""
        return rows_of(self._collected(statement, tables))

    def arrow(self, statement: Statement, tables: Mapping[str, PlainTable], schema: Schema) -> Any:  # noqa: ARG002
        """Run a statement; return an Arrow table."""
        return self._collected(statement, tables)

    def _collected(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Any:
        """Run a statement over the frames that it reads, found under their names."""
        read = [
            (frame, tables[name].schema)
            for name, frame in self.frames.items()
            if frame.name in statement.tables
        ]
        session = next(iter(self.frames.values())).session
        with reading(session), ExitStack() as viewed:
            for frame, schema in read:
                viewed.enter_context(frame.viewed(schema))
            return collected(session, statement.sql)


def _origins_of(frame: Frame) -> Origins:
    with reading(frame.session):
        return frame_origins(frame.make())


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> SqlEngine:
    """Open a DataFrame, or a table by its name and the active session; reads no record."""
    if types:
        raise InvalidRequest("types= is not for Spark, which states its own types. Cast a column there.")

    def frames() -> dict[str, Frame]:
        frame = _frame_of(source, table)
        return {frame.table or "": frame}

    return _opened(frames, rows_are_records=rows_are_records)


def open_tables(database: object, tables: Mapping[str, object], public: Collection[str]) -> SqlEngine:
    """Open several tables together; reads no record.

    Args:
        database: The session whose catalogue has tables of these names; None, if they are frames.
        tables: Frames, or names of tables, by their names in the join.
        public: Those that hold nothing to protect.
    """
    return _opened(lambda: _frames(database, tables), public)


def _frames(database: object, tables: Mapping[str, object]) -> dict[str, Frame]:
    frames = {}
    for name, source in tables.items():
        if database is not None:
            refuse_unless_table_name(source)
            frames[name] = _frame_of(database, str(source))
        elif isinstance(source, DataFrame):
            frames[name] = _frame_of(source, None)
        else:
            raise InvalidRequest(
                f"Spark joins frames of its own, and {name!r} is a {type(source).__name__}. Read it there: "
                f"{{{name!r}: spark.read.parquet(...)}}, or spark.createDataFrame(...) for a public table "
                "that is in memory."
            )
    sessions = {identity(frame.session): name for name, frame in frames.items()}
    if len(sessions) > 1:
        one, other, *_ = sessions.values()
        raise InvalidRequest(
            f"{one!r} and {other!r} are frames of two Spark sessions, which no statement joins. Read both in "
            "one: spark.read.parquet(...) or spark.table(...) of the same spark."
        )
    return frames


def _opened(
    make: Callable[[], Mapping[str, Frame]], public: Collection[str] = (), *, rows_are_records: bool = False
) -> SqlEngine:
    """Open frames; for a source that cannot be opened, report Spark's error class alone."""
    try:
        frames = make()
        return SqlEngine(SparkDatabase(frames, frames if rows_are_records else public))
    except PySparkException as error:
        words = error.getCondition() or type(error).__name__
    except Exception as error:  # of a session that is gone, say
        if isinstance(error, InvalidRequest):
            raise
        words = type(error).__name__
    raise InvalidRequest(
        f"Spark cannot open the source: {words}. Check the table's name, and that its session is alive."
    )


def _frame_of(source: object, table: str | None) -> Frame:
    """Return the frame that a source is: itself, or what a session knows by a name."""
    if isinstance(source, DataFrame):
        if table is not None:
            raise InvalidRequest("table= is for a session, and this source is a frame: omit it.")
        if source.isStreaming:
            raise InvalidRequest("the frame is a stream: open a table that it is written into.")
        return Frame(source.sparkSession, lambda: source)
    if isinstance(source, str) and table is None:
        session = SparkSession.getActiveSession()
        if session is None:
            raise InvalidRequest(
                f"{source!r} is read by Spark, and there is no active session. Start one, such as "
                "spark = SparkSession.builder.getOrCreate(), or give spark.table(name)."
            )
        return _named(session, source)
    if table is not None and isinstance(source, Session):
        return _named(source, table)
    raise InvalidRequest(
        f"Spark cannot read {type(source).__name__}: give a DataFrame, the name of a table such as "
        "'catalog.accounts', or a session with table='catalog.accounts'."
    )


def _named(session: Session, table: str) -> Frame:
    return Frame(session, lambda: session.table(table), table)
