"""Summaries computed inside DuckDB; no row leaves the database, but for simulations of the local model."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from prdp.declared import known_column
from prdp.engines._cells import statement
from prdp.engines._csv import ENDINGS, csv_sql
from prdp.engines._keys import key_statement, top_statement
from prdp.engines._rows import rows_statement
from prdp.engines._sources import (
    column_type,
    declared_casts,
    frame_columns,
    local_files,
    refuse_unless_same_columns,
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

_CALLERS_CONNECTIONS = threading.Lock()
"""Relations of one connection must not run at once, and which share one cannot be asked."""

_PARQUET_FACTS = "file_name, name, num_children, type, converted_type, logical_type, scale, precision"


class DuckDBEngine:
    """A table that DuckDB reads: a file, a frame in memory, or a relation of the caller's own.

    Attributes:
        schema: The table's columns.
    """

    name = "duckdb"

    def __init__(
        self,
        run: Callable[[str], Rows],
        arrow: Callable[[str], Any],
        records: str,
        *,
        lock: threading.Lock | None = None,
        unreadable: frozenset[str] = frozenset(),
        own_column: bool = True,
    ) -> None:
        """Take a table over.

        Args:
            run: Runs a statement and fetches its rows.
            arrow: Runs a statement and fetches an Arrow table.
            records: The name under which statements find the table.
            lock: Held while a statement runs; a connection serves one at a time.
            unreadable: Columns that may hold anything, so that reading one could fail.
            own_column: Whether the shortcut for one-column policies may be taken.
        """
        self._run = run
        self._arrow = arrow
        self._records = records
        self._lock = lock or threading.Lock()
        self._unreadable = unreadable
        self._own_column = own_column
        self.schema: Schema = self._described()

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
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
        found = self._guarded(self._arrow, rows_statement(reading, self.schema, self._records))
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

    def _read(self, sql: str) -> Rows:
        return self._guarded(self._run, sql)

    def _guarded(self, run: Callable[[str], Read], sql: str) -> Read:
        """Run a statement over the records; whatever goes wrong, it fails with one fixed text."""
        rows: Read | None = None
        interrupted = False
        try:
            with self._lock:
                rows = run(sql)
        except Exception as error:  # whatever it is, it may speak of a record
            interrupted = isinstance(error, duckdb.InterruptException) or str(error) == "Query interrupted"
        if interrupted:
            raise KeyboardInterrupt
        if rows is None:  # raised out here, the failure does not carry the engine's own words along
            raise EngineFailure
        return rows

    def _described(self) -> Schema:
        with self._lock:
            rows = self._run(f"DESCRIBE SELECT * FROM {self._records}")
        schema = {str(row[0]): column_type(str(row[1])) for row in rows}
        for name in self._unreadable:
            schema[name] = replace(schema[name], kind=Kind.OTHER, native="Python objects")
        return schema


def open_source(source: object, types: Mapping[str, str] | None, *, own_column: bool = True) -> DuckDBEngine:
    """Open a path or glob of Parquet or CSV files, a relation, or a frame; reads no record."""
    try:
        if isinstance(source, duckdb.DuckDBPyRelation):
            return _relation_engine(source, types, own_column=own_column)
        if isinstance(source, str | Path):
            return _file_engine(str(source), types, own_column=own_column)
        return _frame_engine(source, types, own_column=own_column)
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
    rows = engine._run(f"SELECT {listed} FROM {engine._records}")  # noqa: SLF001  (its own room)
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _relation_engine(
    relation: duckdb.DuckDBPyRelation, types: Mapping[str, str] | None, *, own_column: bool
) -> DuckDBEngine:
    if types:
        raise InvalidRequest("types= is for CSV and for frames: a relation states its own.")
    records = f"prdp_{uuid.uuid4().hex}"  # the caller's connection may hold other tables of ours

    def run(sql: str) -> Rows:
        result = relation.query(records, sql)
        return result.fetchall() if result is not None else []

    def arrow(sql: str) -> Any:
        result = relation.query(records, sql)
        return result.to_arrow_table() if result is not None else None

    return DuckDBEngine(run, arrow, records, lock=_CALLERS_CONNECTIONS, own_column=own_column)


def _file_engine(path: str, types: Mapping[str, str] | None, *, own_column: bool) -> DuckDBEngine:
    connection = _connected()
    files = local_files(path)
    listed = ", ".join(map(text_literal, files))
    if all(file.endswith((".parquet", ".pq")) for file in files):
        if types:
            raise InvalidRequest("types= is for CSV and for frames: a Parquet file states its own.")
        facts = connection.execute(f"SELECT {_PARQUET_FACTS} FROM parquet_schema([{listed}])").fetchall()
        refuse_unless_same_columns(facts)
        query = f"SELECT * FROM read_parquet([{listed}])"
    elif all(file.endswith(ENDINGS) for file in files):
        query = csv_sql(files, types)
    else:
        raise InvalidRequest(f"{path!r} is neither Parquet (.parquet) nor CSV (.csv, .tsv, also .gz).")
    connection.execute(f"CREATE VIEW prdp_records AS {query}")
    return _owned(connection, own_column=own_column)


def _frame_engine(source: object, types: Mapping[str, str] | None, *, own_column: bool) -> DuckDBEngine:
    columns = frame_columns(source)
    connection = _connected()
    connection.execute("SET pandas_analyze_sample = 0")  # types are not guessed from rows
    connection.register("prdp_frame", source)
    casts = declared_casts(columns, types or {})
    connection.execute(f"CREATE VIEW prdp_records AS SELECT {casts} FROM prdp_frame")
    objects = frozenset(name for name, anything in columns.items() if anything)
    return _owned(connection, unreadable=objects, own_column=own_column)


def _connected() -> duckdb.DuckDBPyConnection:
    """Return a connection of our own, in which no variable of the caller's can pass for a table."""
    return duckdb.connect(config={"python_enable_replacements": "false", "preserve_insertion_order": "false"})


def _owned(
    connection: duckdb.DuckDBPyConnection,
    *,
    unreadable: frozenset[str] = frozenset(),
    own_column: bool,
) -> DuckDBEngine:
    def run(sql: str) -> Rows:
        return connection.execute(sql).fetchall()

    def arrow(sql: str) -> Any:
        return connection.sql(sql).to_arrow_table()

    return DuckDBEngine(run, arrow, "prdp_records", unreadable=unreadable, own_column=own_column)
