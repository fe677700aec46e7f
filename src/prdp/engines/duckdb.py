"""Summaries computed inside DuckDB; no row leaves the database, but for simulations of the local model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from prdp.cells.key_masses import KeyMasses
from prdp.cells.owners import Caps, Look
from prdp.cells.summary import KeySummary, Summary
from prdp.declare.columns import known_column
from prdp.engines._cells import statement
from prdp.engines._database import (
    STOPPED,
    Arrays,
    Rows,
    Run,
    connected,
    file_query,
    frame_query,
    guarded,
    runner,
    schema_of,
)
from prdp.engines._interrupts import stoppable
from prdp.engines._key_masses import mass_statement
from prdp.engines._keys import key_statement, top_statement
from prdp.engines._opened import InOneProcess
from prdp.engines._owner_rows import rows_of_table
from prdp.engines._owners import (
    OwnerStatement,
    all_in_order,
    in_order,
    scaled_statement,
    scaled_together,
)
from prdp.engines._relations import Relation
from prdp.engines._rows import rows_statement
from prdp.engines._shown import later_statement, later_together, statements
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, OwnerRead, RowRead
from prdp.schema import Schema

_CALLERS_CONNECTIONS = threading.Lock()
"""Relations of one connection must not run at once, and which share one cannot be asked."""


class DuckDBEngine(InOneProcess):
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
        source: Callable[[], str] = str,
    ) -> None:
        """Take a table over.

        Args:
            run: Runs a statement and fetches its rows, or its columns as arrays.
            arrow: Runs a statement and fetches an Arrow table.
            records: The name under which statements find the table.
            lock: Held while a statement runs; a connection serves one at a time.
            unreadable: Columns that may hold anything, so that reading one could fail.
            own_column: Whether the shortcut for one-column policies may be taken.
            source: Says what a relation of the caller's makes of its table, or refuses it.
        """
        super().__init__()
        self._run = run
        self._arrow = arrow
        self._records = records
        self._lock = lock or threading.Lock()
        self._unreadable = unreadable
        self._own_column = own_column
        self._source_now = source
        self.source = stoppable(STOPPED, source, self._lock)
        self.schema: Schema = self._described()

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        try:
            found = self._described(), stoppable(STOPPED, self._source_now, self._lock)
        except duckdb.Error:
            found = None
        if found != (self.schema, self.source):
            raise InvalidRequest(
                "the source cannot be read any more, or its columns have changed since it was opened. "
                "Nothing was charged; open it again."
            )

    def summarise(self, reading: CellRead) -> Sequence[Summary]:
        """Read every record once and return exact totals per cell, for each group."""
        cells = statement(reading, self.schema, self._records, own_column=self._own_column)
        return cells.summaries(self._columns(cells.sql))

    def key_totals(self, reading: KeyRead) -> tuple[KeySummary, ...]:
        """Read every record once and return the budgets behind a column's values, for each group."""
        keys = key_statement(reading, self.schema, self._records)
        return keys.summaries(self._columns(keys.sql))

    def top_levels(self, reading: KeyRead) -> tuple[Summary, ...]:
        """Read every record once and return a column's values at their highest levels, for each group."""
        tops = top_statement(reading, self.schema, self._records)
        return tops.summaries(self._columns(tops.sql))

    def key_masses(self, reading: KeyMassRead) -> KeyMasses:
        """Read every record once and return the keys that records have, with the budgets behind each."""
        masses = mass_statement(reading, self.schema, self._records)
        return masses.masses(self._columns(masses.sql))

    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        """Return the rows as an Arrow table, and their levels; for the framework's callers alone."""
        sql = rows_statement(reading, self.schema, self._records)
        found = guarded(lambda: self._arrow(sql), self._lock)
        return found.select(list(range(found.num_columns - 1))), found.column(found.num_columns - 1)

    def fold_owners(self, reading: OwnerRead) -> tuple[tuple[Summary, Summary], ...]:
        """Read every row once and return the cells of owners: what each contributes, and how many rows."""
        owners = OwnerStatement.of(reading, rows_of_table(reading, self.schema, self._records))
        return owners.summaries(self._columns(owners.sql))

    def scale_owners(self, reading: OwnerRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Read every row once and return each group's total, every owner scaled down to its cap."""
        rows = rows_of_table(reading, self.schema, self._records)
        return in_order(reading, self._read(scaled_statement(reading, rows, caps, count_rows=count_rows)))

    def scale_together(self, reading: OwnerRead, looks: Sequence[Look]) -> Sequence[tuple[int, ...]]:
        """Read every row twice, and return for several looks at once what ``scale_owners`` does for one."""
        sql = scaled_together(reading, rows_of_table(reading, self.schema, self._records), looks)
        return all_in_order(reading, self._read(sql), len(looks))

    def shown(self, read: Any) -> tuple[str, ...]:
        """Return the statements of a read, for people; nothing is run."""
        return statements(read, self.schema, self._records, own_column=self._own_column)

    def shown_later(self, read: OwnerRead, *, count_rows: bool) -> str:
        """Return the statement that follows a drawn clipping point, for people; nothing is run."""
        return later_statement(read, rows_of_table(read, self.schema, self._records), count_rows=count_rows)

    def shown_together(self, read: OwnerRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of several looks that follow drawn clipping points; nothing is run."""
        return later_together(read, rows_of_table(read, self.schema, self._records), looks)

    def arrays(self, write: Callable[[str, Schema], str]) -> Arrays:
        """Read what a statement of the table's name and columns gives, column by column."""
        return self._columns(write(self._records, self.schema))

    def _columns(self, sql: str) -> Arrays:
        found: Arrays = guarded(lambda: self._run(sql, as_arrays=True), self._lock)
        return found

    def _read(self, sql: str) -> Rows:
        rows: Rows = guarded(lambda: self._run(sql), self._lock)
        return rows

    def _described(self) -> Schema:
        rows: Rows = stoppable(
            STOPPED, lambda: self._run(f"DESCRIBE SELECT * FROM {self._records}"), self._lock
        )
        return schema_of(rows, self._unreadable)


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
        return stoppable(STOPPED, opened)
    except (duckdb.Error, OSError) as error:
        is_path = isinstance(source, str | Path)  # of others, the engine's words may speak of a record
        words = str(error).partition("\n")[0] if is_path else type(error).__name__
        raise InvalidRequest(f"the source cannot be opened: {words}") from None


def read_columns(
    path: str | Path, names: Sequence[str], types: Mapping[str, str] | None
) -> dict[str, list[Any]]:
    """Return columns of a file as they are, for a simulation in which virtual clients hold its records."""
    engine = open_source(path, types)
    known = [known_column(name, engine.schema, "the simulation") for name in names]
    listed = ", ".join(map(quoted, known))
    sql = f"SELECT {listed} FROM {engine._records}"  # noqa: SLF001  (its own package)
    rows = stoppable(STOPPED, lambda: engine._run(sql))  # noqa: SLF001
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

    def source() -> str:
        with given.alone():
            return given.source(rows_are_records=rows_are_records)

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
    connection = connected()
    connection.execute(f"CREATE VIEW prdp_records AS {file_query(connection, path, types)}")
    return _owned(connection, own_column=own_column)


def _frame_engine(source: object, types: Mapping[str, str] | None, *, own_column: bool) -> DuckDBEngine:
    connection = connected()
    query, objects = frame_query(connection, "prdp_frame", source, types)
    connection.execute(f"CREATE VIEW prdp_records AS {query}")
    return _owned(connection, unreadable=objects, own_column=own_column)


def _owned(
    connection: duckdb.DuckDBPyConnection,
    *,
    unreadable: frozenset[str] = frozenset(),
    own_column: bool,
) -> DuckDBEngine:
    def arrow(sql: str) -> Any:
        return connection.sql(sql).to_arrow_table()

    return DuckDBEngine(
        runner(connection), arrow, "prdp_records", unreadable=unreadable, own_column=own_column
    )
