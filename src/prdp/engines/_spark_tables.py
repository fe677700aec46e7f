"""Several tables of one Spark session, for statements that join them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame

from prdp.engines._cells import Arrays
from prdp.engines._given import refuse_unless_table_name
from prdp.engines._interrupts import read_or_fail
from prdp.engines._spark_arrow import arrays_of, rows_of
from prdp.engines._spark_frames import Frame, identity
from prdp.engines._spark_plans import SparkPlan
from prdp.engines._statement_tables import Rows, StatementTables
from prdp.engines.dialects.spark import SPARK
from prdp.engines.dialects.translate import translated
from prdp.engines.spark import frame_of, looked_at, opened, read, refuse_changed
from prdp.errors import InvalidRequest
from prdp.schema import Schema


class SparkTables(StatementTables):
    """Several frames, or tables of a catalogue, of one Spark session."""

    def __init__(self, frames: Mapping[str, Frame], public: Collection[str]) -> None:
        """Take frames over; reads no record.

        Args:
            frames: All of one session, by their names in the join.
            public: Those that hold nothing to protect, whose rows may be computed.
        """
        super().__init__()
        self._frames = frames
        self._public = frozenset(public)
        self._lock = threading.Lock()
        self._views = {name: frame.name for name, frame in frames.items()}
        self._seen = self._looked_at()
        self.schemas: Mapping[str, Schema] = {name: schema for name, (schema, *_) in self._seen.items()}

    @property
    def places(self) -> Mapping[str, frozenset[str]] | None:
        """What tables that were opened by their names read; frames are known by themselves."""
        if not all(frame.table for frame in self._frames.values()):
            return None
        return {
            name: SparkPlan.of(frame.make()).places() or frozenset((str(frame.table).lower(),))
            for name, frame in self._frames.items()
        }

    def ensure_there(self) -> None:
        """Refuse sources that are gone or have other columns by now; reads no record."""
        self.refuse_elsewhere()
        refuse_changed(self._looked_at, self._seen)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        said = translated(sql, SPARK)
        return read_or_fail((), lambda: arrays_of(read(self._named_in(sql), said.sql), said.wide), self._lock)

    def rows(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        written = self.written(sql)
        return read_or_fail((), lambda: rows_of(read(self._named_in(sql), written)), self._lock)

    def written(self, sql: str) -> str:
        """Return a statement as Spark runs it."""
        return translated(sql, SPARK).sql

    def _named_in(self, sql: str) -> list[tuple[Frame, Schema]]:
        return [(frame, self.schemas[name]) for name, frame in self._frames.items() if frame.name in sql]

    def _looked_at(self) -> dict[str, tuple[Schema, str, tuple[object, ...]]]:
        found = {}
        for name, frame in self._frames.items():
            _, source, files = looked_at(frame, rows_are_records=name in self._public)
            found[name] = frame.schema(), source, files
        return found


def open_tables(database: object, tables: Mapping[str, object], public: Collection[str]) -> SparkTables:
    """Open several tables together; reads no record.

    Args:
        database: The session whose catalogue has tables of these names; None, if they are frames.
        tables: Frames, or names of tables, by their names in the join.
        public: Those that hold nothing to protect.
    """
    return opened(lambda: SparkTables(_frames(database, tables), public))


def _frames(database: object, tables: Mapping[str, object]) -> dict[str, Frame]:
    frames = {}
    for name, source in tables.items():
        if database is not None:
            refuse_unless_table_name(source)
            frames[name] = frame_of(database, str(source))
        elif isinstance(source, DataFrame):
            frames[name] = frame_of(source, None)
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
