"""Summaries computed inside Spark: one statement a question, of which the cells alone leave the cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol, TypeVar, runtime_checkable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from prdp.engines._cells import Arrays
from prdp.engines._interrupts import read_or_fail, stoppable
from prdp.engines._spark_arrow import arrays_of, collected, rows_of
from prdp.engines._spark_frames import Frame, reading
from prdp.engines._spark_plans import SparkPlan, source_of
from prdp.engines._statement_engine import Rows, StatementEngine
from prdp.engines.dialects.spark import SPARK
from prdp.engines.dialects.translate import translated
from prdp.errors import InvalidRequest
from prdp.schema import Schema

_Opened = TypeVar("_Opened")

GONE = (
    "the source cannot be read any more, or its columns have changed since it was opened. "
    "Nothing was charged; open it again."
)


@runtime_checkable
class Session(Protocol):
    """A session of either kind."""

    catalog: Any

    def table(self, tableName: str) -> DataFrame:  # noqa: N803  (Spark's name)
        """Return a table of the catalogue."""

    def sql(self, sqlQuery: str) -> DataFrame:  # noqa: N803
        """Return what a statement gives."""


class SparkEngine(StatementEngine):
    """A table that Spark reads: a DataFrame of either kind, or a table of a session's catalogue.

    Attributes:
        schema: The table's columns.
        source: What the frame makes of its table before prdp sees it; else nothing.
        place: Of a table that was opened by its name, what that reads; frames are known by themselves.
        table: The name by which it was opened, if it was.
    """

    name = "spark"

    def __init__(self, frame: Frame, *, rows_are_records: bool = False) -> None:
        """Take a frame over; reads no record."""
        super().__init__()
        self._frame = frame
        self._records = frame.name
        self._rows_are_records = rows_are_records
        self._lock = threading.Lock()
        self.table = frame.table
        self.schema: Schema = frame.schema()
        plan, *self._seen = looked_at(frame, rows_are_records=rows_are_records)
        self.source = str(self._seen[0])
        self.place = ", ".join(sorted(plan.places())) or None if frame.table else None

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        refuse_changed(
            lambda: (
                self._frame.schema(),
                looked_at(self._frame, rows_are_records=self._rows_are_records)[1:],
            ),
            (self.schema, tuple(self._seen)),
        )

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        said = translated(sql, SPARK)
        return read_or_fail((), lambda: arrays_of(self._read(said.sql), said.wide), self._lock)

    def rows_of(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return read_or_fail((), lambda: rows_of(self._read(self.written(sql))), self._lock)

    def arrow_of(self, sql: str) -> Any:
        """Run a statement and return an Arrow table."""
        return read_or_fail((), lambda: self._read(self.written(sql)), self._lock)

    def written(self, sql: str) -> str:
        """Return a statement as Spark runs it."""
        return translated(sql, SPARK).sql

    def _read(self, sql: str) -> Any:
        return read([(self._frame, self.schema)], sql)


def read(frames: Sequence[tuple[Frame, Schema]], sql: str) -> Any:
    """Run a statement over frames of one session, found under their names; return an Arrow table."""
    session = frames[0][0].session
    with reading(session), ExitStack() as viewed:
        for frame, schema in frames:
            viewed.enter_context(frame.viewed(schema))
        return collected(session, sql)


def looked_at(frame: Frame, *, rows_are_records: bool) -> tuple[SparkPlan, str, tuple[object, ...]]:
    """Return a frame's plan, what that makes of its table, and which files it lists; reads no record."""
    with reading(frame.session):
        plan = SparkPlan.of(frame.make())
        return plan, source_of(plan, rows_are_records=rows_are_records), plan.files()


def refuse_changed(look: Callable[[], object], known: object) -> None:
    """Refuse sources that are gone, or not what they were when they were opened."""
    try:
        found = stoppable((), look)
    except InvalidRequest:
        raise
    except Exception:  # its words may name files
        found = None
    if found != known:
        raise InvalidRequest(GONE)


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> SparkEngine:
    """Open a DataFrame, or a table by its name and the active session; reads no record."""
    if types:
        raise InvalidRequest("types= is not for Spark, which states its own types. Cast a column there.")
    return opened(lambda: SparkEngine(frame_of(source, table), rows_are_records=rows_are_records))


def opened(make: Callable[[], _Opened]) -> _Opened:
    """Return what is opened; of a source that cannot be, Spark's name of the reason alone is told."""
    try:
        return make()
    except PySparkException as error:
        words = error.getCondition() or type(error).__name__
    except Exception as error:  # of a session that is gone, say
        if isinstance(error, InvalidRequest):
            raise
        words = type(error).__name__
    raise InvalidRequest(
        f"Spark cannot open the source: {words}. Check the table's name, and that its session is alive."
    )


def frame_of(source: object, table: str | None) -> Frame:
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
