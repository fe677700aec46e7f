"""Summaries computed inside DuckDB; no row leaves the database, but for simulations of the local model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb

from prdp.cells.summary import Summary
from prdp.declare.columns import known_column
from prdp.engines._database import (
    STOPPED,
    Arrays,
    Rows,
    Run,
    connected,
    found_now,
    guarded,
    runner,
    schema_of,
)
from prdp.engines._database_files import in_database
from prdp.engines._held_owners import HeldOwners, SecondLook
from prdp.engines._interrupts import advised, stoppable
from prdp.engines._readers import source_query
from prdp.engines._relations import Relation
from prdp.engines._statement_engine import StatementEngine
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.plan.reads import OwnerRead
from prdp.schema import Schema

_CALLERS_CONNECTIONS = threading.Lock()
"""Relations of one connection must not run at once, and which share one cannot be asked."""


class DuckDBEngine(StatementEngine):
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
        unreadable: Mapping[str, str] = MappingProxyType({}),
        required: frozenset[str] = frozenset(),
        own_column: bool = True,
        source: Callable[[], str] = str,
        found: Callable[[], object] = tuple,
        read_once: bool = False,
    ) -> None:
        """Take a table over.

        Args:
            run: Runs a statement and fetches its rows, or its columns as arrays.
            arrow: Runs a statement and fetches an Arrow table.
            records: The name under which statements find the table.
            lock: Held while a statement runs; a connection serves one at a time.
            unreadable: Columns that may hold anything, so that reading one could fail; and what they hold.
            required: Columns that have no NULL, as the source declares.
            own_column: Whether the shortcut for one-column policies may be taken.
            source: Says what a relation of the caller's makes of its table, or refuses it.
            found: Says more public facts of the source, as they are now.
            read_once: Whether rows are held where a question looks at them twice.
        """
        super().__init__()
        self._run = run
        self._arrow = arrow
        self._records = records
        self._lock = lock or threading.Lock()
        self._unreadable = unreadable
        self._required = required
        self._own_column = own_column
        self._source_now = source
        self.source = stoppable(STOPPED, source, self._lock)
        self._found_now = found
        self._found = found()
        self._owners = HeldOwners(read_once)
        self.schema: Schema = self._described()

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        try:
            found: object = self._described(), stoppable(STOPPED, self._source_now, self._lock)
            more = found_now(self._found_now, self._lock)
        except duckdb.Error:
            found = more = None
        if (found, more) != ((self.schema, self.source), self._found):
            raise InvalidRequest(
                "the source cannot be read any more, or its columns have changed since it was opened. "
                "Nothing was charged; open it again."
            )

    def arrays(self, write: Callable[[str, Schema], str]) -> Arrays:
        """Read what a statement of the table's name and columns gives, column by column."""
        return self.columns(write(self._records, self.schema))

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        found: Arrays = guarded(lambda: self._run(sql, as_arrays=True), self._lock)
        return found

    def rows_of(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        rows: Rows = guarded(lambda: self._run(sql), self._lock)
        return rows

    def arrow_of(self, sql: str) -> Any:
        """Run a statement and return an Arrow table."""
        return guarded(lambda: self._arrow(sql), self._lock)

    def fold_and_look(self, reading: OwnerRead) -> tuple[tuple[tuple[Summary, Summary], ...], SecondLook]:
        """Return the cells of owners and the second look at them; their rows are held meanwhile."""
        if self._owners.holds(reading):
            return self._owners.fold(self, reading, self._owner_rows(reading))
        return self.fold_owners(reading), partial(self.scale_together, reading)

    def let_go(self) -> None:
        """Drop the rows that are held for a second look of this thread's question."""
        self._owners.let_go(self)

    def shown(self, read: Any) -> tuple[str, ...]:
        """Return the statements of a read, for people; nothing is run."""
        if isinstance(read, OwnerRead) and self._owners.holds(read):
            return self._owners.shown(read, self._owner_rows(read))
        return super().shown(read)

    def shown_together(self, read: OwnerRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of several looks that follow drawn clipping points; nothing is run."""
        if self._owners.holds(read):
            return self._owners.shown_together(read, looks)
        return super().shown_together(read, looks)

    def _described(self) -> Schema:
        rows: Rows = stoppable(
            STOPPED, lambda: self._run(f"DESCRIBE SELECT * FROM {self._records}"), self._lock
        )
        return schema_of(rows, self._unreadable, self._required)


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    own_column: bool = True,
    rows_are_records: bool = False,
    table: str | None = None,
) -> DuckDBEngine:
    """Open files, a relation, a frame, or a database's table; reads no record."""

    def opened() -> DuckDBEngine:
        if isinstance(source, duckdb.DuckDBPyRelation) and table is None:
            return _relation_engine(source, types, own_column, rows_are_records)
        given = in_database(source, table)
        return _own_engine(given, types, own_column=own_column, rows_are_records=rows_are_records)

    try:
        return stoppable(STOPPED, opened)
    except (duckdb.Error, OSError) as error:
        is_path = isinstance(source, str | Path)  # of others, the engine's words may speak of a record
        words = str(error).partition("\n")[0] if is_path else type(error).__name__
        raise InvalidRequest(f"the source cannot be opened: {advised(words, error)}") from None


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


def _own_engine(
    source: object, types: Mapping[str, str] | None, *, own_column: bool, rows_are_records: bool
) -> DuckDBEngine:
    """Open what a database of ours reads."""
    connection = connected()
    given = source_query(connection, "prdp_given", source, types, rows_are_records=rows_are_records)
    with given.reached():
        connection.execute(f"CREATE VIEW prdp_records AS {given.sql}")
    plain = runner(connection)

    def run(sql: str, *, as_arrays: bool = False) -> Any:
        with given.reached():
            return plain(sql, as_arrays=as_arrays)

    def arrow(sql: str) -> Any:
        with given.reached():
            return connection.sql(sql).to_arrow_table()

    return DuckDBEngine(
        run,
        arrow,
        "prdp_records",
        unreadable=given.unreadable,
        required=given.required,
        own_column=own_column,
        source=given.made,
        found=given.found,
        read_once=given.read_once,
    )
