"""Summaries computed inside Spark: one statement a question, of which the cells alone leave the cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from typing import Any, Protocol, runtime_checkable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from prdp.engines.database import Database, PlainTable, Rows, Statement
from prdp.engines.origins import Origins
from prdp.engines.registry import refuse_unless_table_name
from prdp.engines.spark.dialect import SPARK
from prdp.engines.spark.frames import Frame, identity, reading
from prdp.engines.spark.origins import frame_origins
from prdp.engines.spark.plans import SparkPlan, source_of
from prdp.engines.spark.results import arrays_of, collected, rows_of
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.translate import translated
from prdp.errors import InvalidRequest


@runtime_checkable
class Session(Protocol):
    """A session of either kind."""

    catalog: Any

    def table(self, tableName: str) -> DataFrame:  # noqa: N803  (Spark's name)
        """Return a table of the catalogue."""

    def sql(self, sqlQuery: str) -> DataFrame:  # noqa: N803
        """Return what a statement gives."""


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
        return arrays_of(self.arrow(statement, tables), statement.wide)

    def rows(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Rows:
        """Run a statement; return its rows."""
        return rows_of(self.arrow(statement, tables))

    def arrow(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Any:
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
    """Open frames; of a source that cannot be, Spark's name of the reason alone is told."""
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
