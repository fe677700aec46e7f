"""Summaries computed inside DuckDB; no row leaves the database, but for simulations of the local model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import duckdb
from numpy.typing import NDArray

from prdp.declared import known_column
from prdp.engines._cells import statement
from prdp.engines._csv import ENDINGS, csv_sql
from prdp.engines._interrupts import stoppable
from prdp.engines._keys import key_statement, top_statement
from prdp.engines._opened import Opened
from prdp.engines._optimisers import left_off
from prdp.engines._relations import Relation
from prdp.engines._rows import rows_statement
from prdp.engines._sources import (
    column_type,
    common_columns,
    declared_casts,
    frame_columns,
    local_files,
    partition_casts,
)
from prdp.engines._units import scaled_statement, unit_statement
from prdp.errors import EngineFailure, InvalidRequest
from prdp.expressions.spelling import quoted, text_literal
from prdp.query import KeyReading, Reading, RowReading
from prdp.schema import Kind, Schema
from prdp.summary import KeySummary, Summary
from prdp.units import Caps, UnitReading

Rows = list[tuple[Any, ...]]
Read = TypeVar("Read")
Arrays = dict[str, NDArray[Any]]


class Run(Protocol):
    """Runs a statement and fetches what it gives."""

    def __call__(self, sql: str, *, as_arrays: bool = False) -> Any:
        """Return rows, or columns as NumPy arrays."""


_CALLERS_CONNECTIONS = threading.Lock()
"""Relations of one connection must not run at once, and which share one cannot be asked."""

_STOPPED = (duckdb.InterruptException,)
_PARQUET_FACTS = "file_name, name, num_children, type, converted_type, logical_type, scale, precision"


class DuckDBEngine(Opened):
    """A table that DuckDB reads: a file, a frame in memory, or a relation of the caller's own.

    Attributes:
        schema: The table's columns.
        source: What a relation of the caller's makes of its table before prdp sees it; else nothing.
    """

    name = "duckdb"

    def __init__(
        self,
        run: Run,
        arrow: Callable[[str], Any],
        records: str,
        *,
        lock: threading.Lock | None = None,
        unreadable: frozenset[str] = frozenset(),
        own_column: bool = True,
        source: str = "",
    ) -> None:
        """Take a table over.

        Args:
            run: Runs a statement and fetches its rows, or its columns as arrays.
            arrow: Runs a statement and fetches an Arrow table.
            records: The name under which statements find the table.
            lock: Held while a statement runs; a connection serves one at a time.
            unreadable: Columns that may hold anything, so that reading one could fail.
            own_column: Whether the shortcut for one-column policies may be taken.
            source: What a relation of the caller's makes of its table.
        """
        super().__init__()
        self._run = run
        self._arrow = arrow
        self._records = records
        self._lock = lock or threading.Lock()
        self._unreadable = unreadable
        self._own_column = own_column
        self.source = source
        self.schema: Schema = self._described()

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        try:
            found: Schema | None = self._described()
        except duckdb.Error:
            found = None
        if found != self.schema:
            raise InvalidRequest(
                "the source cannot be read any more, or its columns have changed since it was opened. "
                "Nothing was charged; open it again."
            )

    def summarise(self, reading: Reading) -> tuple[Summary, ...]:
        """Read every record once and return exact totals per cell, for each group."""
        cells = statement(reading, self.schema, self._records, own_column=self._own_column)
        return cells.summaries(self._read(cells.sql))

    def key_totals(self, reading: KeyReading) -> tuple[KeySummary, ...]:
        """Read every record once and return the budgets behind a column's values, for each group."""
        keys = key_statement(reading, self.schema, self._records)
        return keys.summaries(self._read(keys.sql))

    def top_levels(self, reading: KeyReading) -> tuple[Summary, ...]:
        """Read every record once and return a column's values at their highest levels, for each group."""
        tops = top_statement(reading, self.schema, self._records)
        return tops.summaries(self._read(tops.sql))

    def rows(self, reading: RowReading) -> tuple[Any, Any]:
        """Return the rows as an Arrow table, and their levels; for the framework's callers alone."""
        sql = rows_statement(reading, self.schema, self._records)
        found = _guarded(lambda: self._arrow(sql), self._lock)
        return found.select(list(range(found.num_columns - 1))), found.column(found.num_columns - 1)

    def fold_units(self, reading: UnitReading) -> tuple[Summary, Summary]:
        """Read every row once and return the cells of units: what each contributes, and how many rows."""
        units = unit_statement(reading, self.schema, self._records)
        return units.summaries(self._read(units.sql))

    def scale_units(self, reading: UnitReading, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Read every row once and return each group's total, every unit scaled down to its cap."""
        sql = scaled_statement(reading, self.schema, self._records, caps, count_rows=count_rows)
        totals: dict[int, int] = dict(self._read(sql))
        groups = len(reading.groups.keys) if reading.groups else 0
        return tuple(totals.get(place, 0) for place in range(groups))

    def arrays(self, write: Callable[[str, Schema], str]) -> Arrays:
        """Read what a statement of the table's name and columns gives, column by column."""
        sql = write(self._records, self.schema)
        found: Arrays = _guarded(lambda: self._run(sql, as_arrays=True), self._lock)
        return found

    def _read(self, sql: str) -> Rows:
        rows: Rows = _guarded(lambda: self._run(sql), self._lock)
        return rows

    def _described(self) -> Schema:
        rows: Rows = stoppable(
            _STOPPED, lambda: self._run(f"DESCRIBE SELECT * FROM {self._records}"), self._lock
        )
        return _schema(rows, self._unreadable)


def _schema(described: Rows, unreadable: frozenset[str]) -> Schema:
    schema = {str(row[0]): column_type(str(row[1])) for row in described}
    for name in unreadable:
        schema[name] = replace(schema[name], kind=Kind.OTHER, native="Python objects")
    return schema


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    own_column: bool = True,
    rows_are_records: bool = False,
) -> DuckDBEngine:
    """Open a path or glob of Parquet or CSV files, a relation, or a frame; reads no record."""

    def opened() -> DuckDBEngine:
        if isinstance(source, duckdb.DuckDBPyRelation):
            return _relation_engine(source, types, own_column, rows_are_records)
        if isinstance(source, str | Path):
            return _file_engine(str(source), types, own_column=own_column)
        return _frame_engine(source, types, own_column=own_column)

    try:
        return stoppable(_STOPPED, opened)
    except (duckdb.Error, OSError) as error:
        first_line = str(error).partition("\n")[0]
        raise InvalidRequest(f"the source cannot be opened: {first_line}") from None


def read_columns(
    path: str | Path, names: Sequence[str], types: Mapping[str, str] | None
) -> dict[str, list[Any]]:
    """Return columns of a file as they are, for a simulation in which virtual clients hold its records."""
    engine = open_source(path, types)
    known = [known_column(name, engine.schema, "the simulation") for name in names]
    listed = ", ".join(map(quoted, known))
    sql = f"SELECT {listed} FROM {engine._records}"  # noqa: SLF001  (its own room)
    rows = stoppable(_STOPPED, lambda: engine._run(sql))  # noqa: SLF001
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _relation_engine(
    relation: duckdb.DuckDBPyRelation,
    types: Mapping[str, str] | None,
    own_column: bool,
    rows_are_records: bool,
) -> DuckDBEngine:
    if types:
        raise InvalidRequest("types= is for CSV and for frames: a relation states its own.")
    given = Relation.of(relation)

    def run(sql: str, *, as_arrays: bool = False) -> Any:
        with given.alone():
            result = relation.query(given.name, sql)
            if result is None:
                return []
            return result.fetchnumpy() if as_arrays else result.fetchall()

    def arrow(sql: str) -> Any:
        with given.alone():
            result = relation.query(given.name, sql)
            return result.to_arrow_table() if result is not None else None

    with _CALLERS_CONNECTIONS, given.alone():
        source = given.source(rows_are_records=rows_are_records)
    return DuckDBEngine(
        run, arrow, given.name, lock=_CALLERS_CONNECTIONS, own_column=own_column, source=source
    )


def ask_relation(relation: duckdb.DuckDBPyRelation, sql: str) -> Rows:
    """Ask a relation's own connection for public facts; nothing where it cannot say."""
    try:
        with _CALLERS_CONNECTIONS:
            return Relation.of(relation).ask(sql)
    except duckdb.Error:
        return []


def _file_engine(path: str, types: Mapping[str, str] | None, *, own_column: bool) -> DuckDBEngine:
    connection = _connected()
    connection.execute(f"CREATE VIEW prdp_records AS {_file_query(connection, path, types)}")
    return _owned(connection, own_column=own_column)


def _file_query(connection: duckdb.DuckDBPyConnection, path: str, types: Mapping[str, str] | None) -> str:
    files = local_files(path)
    listed = ", ".join(map(text_literal, files))
    if all(file.endswith((".parquet", ".pq")) for file in files):
        facts = connection.execute(f"SELECT {_PARQUET_FACTS} FROM parquet_schema([{listed}])").fetchall()
        inside = common_columns(facts)
        read = f"SELECT * FROM read_parquet([{listed}], hive_types_autocast = false)"
        columns = [str(name) for name, *_ in connection.execute(f"DESCRIBE {read}").fetchall()]
        return f"SELECT {partition_casts(columns, inside, types or {})} FROM ({read})"
    if all(file.endswith(ENDINGS) for file in files):
        return csv_sql(files, types)
    raise InvalidRequest(f"{path!r} is neither Parquet (.parquet) nor CSV (.csv, .tsv, also .gz).")


def _frame_engine(source: object, types: Mapping[str, str] | None, *, own_column: bool) -> DuckDBEngine:
    connection = _connected()
    query, objects = _frame_query(connection, "prdp_frame", source, types)
    connection.execute(f"CREATE VIEW prdp_records AS {query}")
    return _owned(connection, unreadable=objects, own_column=own_column)


def _frame_query(
    connection: duckdb.DuckDBPyConnection, frame: str, source: object, types: Mapping[str, str] | None
) -> tuple[str, frozenset[str]]:
    columns = frame_columns(source)
    connection.execute("SET pandas_analyze_sample = 0")  # types are not guessed from rows
    connection.register(frame, source)
    casts = declared_casts(columns, types or {})
    objects = frozenset(name for name, anything in columns.items() if anything)
    return f"SELECT {casts} FROM {frame}", objects


def _connected() -> duckdb.DuckDBPyConnection:
    """Return a database of our own: no variable of the caller's is a table, no statistics are looked at."""
    connection = duckdb.connect(
        config={"python_enable_replacements": "false", "preserve_insertion_order": "false"}
    )
    optimisers = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    connection.execute(f"SET disabled_optimizers = '{left_off(name for (name,) in optimisers)}'")
    return connection


def _owned(
    connection: duckdb.DuckDBPyConnection,
    *,
    unreadable: frozenset[str] = frozenset(),
    own_column: bool,
) -> DuckDBEngine:
    def arrow(sql: str) -> Any:
        return connection.sql(sql).to_arrow_table()

    return DuckDBEngine(
        _runner(connection), arrow, "prdp_records", unreadable=unreadable, own_column=own_column
    )


def _runner(connection: duckdb.DuckDBPyConnection) -> Run:
    def run(sql: str, *, as_arrays: bool = False) -> Any:
        result = connection.execute(sql)
        return result.fetchnumpy() if as_arrays else result.fetchall()

    return run


def _guarded(run: Callable[[], Read], lock: threading.Lock) -> Read:
    """Return what was read; whatever goes wrong, it fails with one fixed text."""
    rows: Read | None = None
    with suppress(Exception):  # whatever it is, it may speak of a record
        rows = stoppable(_STOPPED, run, lock)
    if rows is None:  # raised out here, the failure does not carry the engine's own words along
        raise EngineFailure
    return rows


class DuckDBTables(Opened):
    """Several tables in one database, for statements that join them.

    Attributes:
        schemas: Each table's columns.
    """

    def __init__(self, sources: Mapping[str, object], types: Mapping[str, Mapping[str, str]]) -> None:
        """Open files and frames side by side; reads no record."""
        super().__init__()
        connection = _connected()
        self._run = _runner(connection)
        self._lock = threading.Lock()
        self._views = {name: f"prdp_table_{place}" for place, name in enumerate(sources)}
        self._unreadable: dict[str, frozenset[str]] = {}
        for place, (name, source) in enumerate(sources.items()):
            query, objects = _query(connection, f"prdp_frame_{place}", source, types.get(name))
            connection.execute(f"CREATE VIEW {self._views[name]} AS {query}")
            self._unreadable[name] = objects
        self.schemas = self._described()

    def view(self, table: str) -> str:
        """Return the name under which statements find a table."""
        return self._views[table]

    def ensure_there(self) -> None:
        """Refuse sources that are gone or have other columns by now; reads no record."""
        self.refuse_elsewhere()
        try:
            found: Mapping[str, Schema] | None = self._described()
        except duckdb.Error:
            found = None
        if found != self.schemas:
            raise InvalidRequest(
                "a source cannot be read any more, or its columns have changed since it was opened. "
                "Nothing was charged; open it again."
            )

    def rows(self, sql: str) -> Rows:
        """Read what a statement gives."""
        found: Rows = _guarded(lambda: self._run(sql), self._lock)
        return found

    def _described(self) -> dict[str, Schema]:
        def rows(view: str) -> Rows:
            found: Rows = self._run(f"DESCRIBE SELECT * FROM {view}")
            return found

        return {
            name: _schema(stoppable(_STOPPED, partial(rows, view), self._lock), self._unreadable[name])
            for name, view in self._views.items()
        }


def open_tables(sources: Mapping[str, object], types: Mapping[str, Mapping[str, str]]) -> DuckDBTables:
    """Open several files or frames together; reads no record."""
    try:
        return stoppable(_STOPPED, lambda: DuckDBTables(sources, types))
    except (duckdb.Error, OSError) as error:
        first_line = str(error).partition("\n")[0]
        raise InvalidRequest(f"a source cannot be opened: {first_line}") from None


def _query(
    connection: duckdb.DuckDBPyConnection, frame: str, source: object, types: Mapping[str, str] | None
) -> tuple[str, frozenset[str]]:
    if isinstance(source, duckdb.DuckDBPyRelation):
        raise InvalidRequest(
            "a join cannot read a DuckDB relation: give files, or relation.to_arrow_table(). But give "
            "one table under one name: that two are copies of one cannot be seen."
        )
    if isinstance(source, str | Path):
        return _file_query(connection, str(source), types), frozenset()
    return _frame_query(connection, frame, source, types)


class Scratch:
    """A database of our own, for what must be joined again and again after the records were read."""

    def __init__(self, **tables: Mapping[str, NDArray[Any]]) -> None:
        self._connection = _connected()
        self._lock = threading.Lock()
        _guarded(lambda: [self._filled(name, columns) for name, columns in tables.items()], self._lock)

    def _filled(self, name: str, columns: Mapping[str, NDArray[Any]]) -> str:
        self._connection.register("prdp_given", dict(columns))
        self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM prdp_given")
        self._connection.unregister("prdp_given")
        return name

    def arrays(self, sql: str, **given: NDArray[Any]) -> Arrays:
        """Read what a statement gives, column by column; ``given`` arrays are tables of one column."""

        def run() -> Arrays:
            for name, column in given.items():
                self._connection.register(name, {name: column})
            try:
                return self._connection.execute(sql).fetchnumpy()
            finally:
                for name in given:
                    self._connection.unregister(name)

        found: Arrays = _guarded(run, self._lock)
        return found

    def execute(self, sql: str) -> None:
        """Run a statement that gives nothing."""
        _guarded(lambda: self._connection.execute(sql).fetchall(), self._lock)
