"""A Spark DataFrame of the caller's own, classic or Connect: its columns, its plan, and statements over it.

The frame lives in the caller's session. A statement finds it under a view's name that is gone afterwards, and
settings that are changed meanwhile are put back.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from prdp.engines.sources.checks import refuse_ambiguous
from prdp.errors import InvalidRequest
from prdp.expressions import tokens
from prdp.schema import ColumnType, Kind, Schema

_WHOLE = {"tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT"}
_KINDS = {
    "float": (Kind.NUMBER, "FLOAT"),
    "double": (Kind.NUMBER, "DOUBLE"),
    "string": (Kind.TEXT, "VARCHAR"),
    "boolean": (Kind.BOOLEAN, "BOOLEAN"),
    "date": (Kind.MOMENT, "DATE"),
    "timestamp_ntz": (Kind.MOMENT, "TIMESTAMP"),
    "timestamp": (Kind.MOMENT, "TIMESTAMP WITH TIME ZONE"),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT = re.compile(r"(?:char|varchar)\(\d+\)|string collate \w+")
_AS_READ = {
    "TIMESTAMP WITH TIME ZONE": (
        "timestampadd(MICROSECOND, unix_micros({0}), CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ))"
    ),
    "VARCHAR": "({0} COLLATE UTF8_BINARY)",
}
"""SQL that reads a column, by its type, whatever the session's zone and the column's collation.

A moment with a zone is read in UTC, and a text is its bytes.
"""

SETTINGS = {
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
    "spark.sql.debug.maxToStringFields": str(2**31 - 1),
}
"""Settings while prdp reads: no statistics of files and caches decide anything, and plans are shown whole.

Where a session lets nobody set them, statistics decide nothing as long as they are right: they leave NaN out,
but NaN is unknown in every comparison that a statement makes.
"""

_REBASE = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")
_FAILING, _AS_WRITTEN = "EXCEPTION", "CORRECTED"
"""Setting by which old dates are read as they are written, where they would fail every statement."""

_HELD = threading.Lock()
_SESSIONS: dict[str, tuple[int, dict[str, str]]] = {}
"""For each session that is read in: by how many, and what its settings were."""


@dataclass(frozen=True)
class Frame:
    """A DataFrame, or a table of a session's catalogue.

    Attributes:
        session: The session that it belongs to.
        make: Returns the DataFrame; of a table, as it is now.
        table: The table's name in the catalogue, if it was opened by it.
        name: The name under which statements find it.
    """

    session: Any
    make: Callable[[], Any]
    table: str | None = None
    name: str = field(default_factory=lambda: f"prdp_{uuid.uuid4().hex}")

    def schema(self) -> Schema:
        """Return the columns, as Spark finds them now."""
        found = self.make().select("*").schema  # a frame itself remembers what it was
        refuse_ambiguous([column.name for column in found])
        for column in found:
            if "${" in column.name:
                raise InvalidRequest(
                    f"Spark would replace a part of the name {column.name!r}: rename the column."
                )
        return {column.name: _as_declared(column) for column in found}

    @contextmanager
    def viewed(self, schema: Schema) -> Iterator[None]:
        """Let statements find the frame under its name, for as long as this lasts."""
        items = [
            f"{_as_read(name, column)} AS {quoted(name)}"
            for name, column in schema.items()
            if column.kind is not Kind.OTHER
        ]
        self.make().selectExpr(*(items or ["0 AS prdp_nothing"])).createOrReplaceTempView(self.name)
        with afterwards(lambda: self.session.catalog.dropTempView(self.name)):
            yield


def column_type(native: str) -> ColumnType:
    """Return the type of a Spark column in prdp, under DuckDB's name; None if it cannot be read exactly."""
    if native in _WHOLE:
        return ColumnType(Kind.NUMBER, integer=True, native=_WHOLE[native])
    if found := _DECIMAL.fullmatch(native):
        return ColumnType(Kind.NUMBER, native=f"DECIMAL({found[1]},{found[2]})")
    if _TEXT.fullmatch(native):
        native = "string"
    kind, name = _KINDS.get(native, (Kind.OTHER, re.split(r"[(<]", native)[0].upper()))
    return ColumnType(kind, native=name)


def _as_declared(column: Any) -> ColumnType:
    kind = column_type(column.dataType.simpleString())
    return kind if column.nullable else kind.never_null()


quoted = partial(tokens.quoted, mark="`")
"""Write a column's name as Spark reads it."""


def _as_read(name: str, column: ColumnType) -> str:
    return _AS_READ.get(column.native, "{0}").format(quoted(name))


@contextmanager
def reading(session: Any) -> Iterator[None]:
    """Change a session's settings for as long as somebody reads, and put them back."""
    key = identity(session)
    with _HELD:
        readers, before = _SESSIONS.get(key, (0, {}))
        _SESSIONS[key] = readers + 1, before
        if readers == 0:
            for name, value in (SETTINGS | dict.fromkeys(_REBASE, _AS_WRITTEN)).items():
                with suppress(Exception):  # not every service lets them be set
                    was = session.conf.get(name)
                    if name not in _REBASE or was.upper() == _FAILING:
                        session.conf.set(name, value)
                        before[name] = was
    with afterwards(lambda: _leave(key, session), lambda: _leave(key, None)):
        yield


def _leave(key: str, session: Any) -> None:
    """Note that somebody has read to the end; the last one puts the settings back, if there is a session."""
    with _HELD:
        readers, before = _SESSIONS.pop(key)
        if readers > 1:
            _SESSIONS[key] = readers - 1, before
        elif session is not None:
            for name, value in before.items():
                session.conf.set(name, value)


@contextmanager
def afterwards(tidy: Callable[[], object], forget: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Tidy up a session afterwards; one that is gone is left alone, since a client would wait for it."""
    try:
        yield
    except BaseException as error:
        with suppress(Exception):
            forget() if _is_gone(error) else tidy()
        raise
    with suppress(Exception):
        tidy()


def _is_gone(error: BaseException) -> bool:
    """Return whether a session cannot be reached any more; nothing else is asked of the error."""
    kind = type(error)
    return isinstance(error, OSError) or "grpc" in kind.__module__ or kind.__name__ in _LOST


_LOST = {"RetriesExceeded", "Py4JNetworkError", "Py4JError"}


def identity(session: Any) -> str:
    """Return the identity of a session: its number on the server, or its object in the driver."""
    known = getattr(session, "session_id", None)
    return str(known) if known else str(session._jsparkSession.sessionUUID())  # noqa: SLF001
