"""Summaries computed inside DuckDB; no row leaves the database, but for simulations of the local model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

import duckdb

from prdp.declare.columns import known_column
from prdp.engines.database import RECORDS, Database, PlainTable, Rows, Statement, slots_of
from prdp.engines.duckdb.column_types import items_within_digits
from prdp.engines.duckdb.database import (
    STOPPED,
    Arrays,
    Run,
    connected,
    create_view,
    runner,
    schema_of,
)
from prdp.engines.duckdb.origins import query_origins
from prdp.engines.origins import file_place
from prdp.engines.progress import advised, stoppable
from prdp.engines.sources.database_files import in_database, of_that_name
from prdp.engines.sources.readers import source_query
from prdp.engines.sources.relations import Relation
from prdp.engines.sources.source_query import SourceQuery, all_reached, unchanged
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted
from prdp.schema import Schema

_CALLERS_CONNECTIONS = threading.Lock()
"""Relations of one connection must not run at once, and which share one cannot be asked."""

_AT_ONCE = 1 << 16
"""Groups of files that one statement is about; a change of a file between two of them is noticed."""


class DuckDBDatabase(Database[PlainTable]):
    """Tables that DuckDB reads: files, frames in memory, or a relation of the caller's own.

    Attributes:
        run: Runs a statement and fetches its rows, or its columns as arrays.
    """

    name = "duckdb"
    traces = False
    stopped = STOPPED

    def __init__(
        self,
        run: Run,
        arrow: Callable[[str], Any],
        given: Mapping[str, SourceQuery],
        slots: Mapping[str, str],
        *,
        lock: threading.Lock | None = None,
        own_column: bool = True,
    ) -> None:
        """Take tables over.

        Args:
            run: Runs a statement and fetches its rows, or its columns as arrays.
            arrow: Runs a statement and fetches an Arrow table.
            given: How each table is read, by its name.
            slots: The slot of each.
            lock: Held while a statement runs; a connection serves one at a time.
            own_column: Whether the shortcut for one-column policies may be taken.
        """
        self.run = run
        self.slots = slots
        self.lock = lock or threading.Lock()
        self.own_column = own_column
        self.read_once = len(given) == 1 and all(one.read_once for one in given.values())
        self._arrow = arrow
        self._given = given
        self._files = [file for one in given.values() for file in one.files]
        self.groups_at_once = _AT_ONCE if all(one.files for one in given.values()) else None

    @property
    def number_of_files(self) -> int:
        """Number of files that the tables were opened with."""
        return len(self._files)

    def one_version(self) -> AbstractContextManager[None]:
        """Return a context that fails at its end if a file has changed meanwhile."""
        return unchanged(self._files)

    def find(self) -> dict[str, PlainTable]:
        """Describe each table, and what views make of theirs; more than a scan with a filter is refused."""
        return {name: self._found(self.slots[name], given) for name, given in self._given.items()}

    def _found(self, slot: str, given: SourceQuery) -> PlainTable:
        source = given.made()
        try:
            facts = given.found()
        except InvalidRequest as error:  # a source that is gone is refused in the same words, whatever it was
            raise OSError(str(error)) from None
        described = self.run(f"DESCRIBE SELECT * FROM {slot}")
        return PlainTable(schema_of(described, given.unreadable, given.required), source, facts)

    def write(self, sql: str, tables: Mapping[str, PlainTable]) -> Statement:  # noqa: ARG002
        """Return a statement as it is."""
        return Statement(sql)

    def arrays(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Arrays:  # noqa: ARG002
        """Run a statement; return its columns."""
        with unchanged(self._files):
            found: Arrays = self.run(statement.sql, as_arrays=True)
            return found

    def rows(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Rows:  # noqa: ARG002
        """Run a statement; return its rows."""
        with unchanged(self._files):
            found: Rows = self.run(statement.sql)
            return found

    def arrow(self, statement: Statement, tables: Mapping[str, PlainTable], schema: Schema) -> Any:  # noqa: ARG002
        """Run a statement; return an Arrow table."""
        with unchanged(self._files):
            return self._arrow(statement.sql)


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    own_column: bool = True,
    rows_are_records: bool = False,
    table: str | None = None,
) -> SqlEngine:
    """Open files, a relation, a frame, or a database's table; reads no record."""

    def opened() -> SqlEngine:
        if isinstance(source, duckdb.DuckDBPyRelation) and table is None:
            return SqlEngine(_of_relation(source, types, own_column, rows_are_records))
        given = in_database(source, table)
        connection = connected()
        query = source_query(connection, "prdp_given", given, types, rows_are_records=rows_are_records)
        return SqlEngine(_own_database(connection, {"": query}, {"": RECORDS}, own_column=own_column))

    return _opened([source], opened, "the source")


def open_tables(sources: Mapping[str, object], types: Mapping[str, Mapping[str, str]]) -> SqlEngine:
    """Open several sources together, a database's tables by their names; reads no record."""

    def opened() -> SqlEngine:
        connection = connected()
        given = {
            name: _query(connection, f"prdp_given_{place}", name, source, types.get(name))
            for place, (name, source) in enumerate(sources.items())
        }
        return SqlEngine(_own_database(connection, given, slots_of(sources)))

    return _opened(list(sources.values()), opened, "a source")


def _opened(sources: Sequence[object], make: Callable[[], SqlEngine], noun: str) -> SqlEngine:
    try:
        return stoppable(STOPPED, make)
    except (duckdb.Error, OSError) as error:
        # of others than paths, the engine's words may speak of a record
        only_paths = all(isinstance(source, str | Path) for source in sources)
        words = str(error).partition("\n")[0] if only_paths else type(error).__name__
        raise InvalidRequest(f"{noun} cannot be opened: {advised(words, error)}") from None


def _query(
    connection: duckdb.DuckDBPyConnection,
    given_as: str,
    name: str,
    source: object,
    types: Mapping[str, str] | None,
) -> SourceQuery:
    """Return the query that reads one table; of a database's file, the table of that name."""
    if isinstance(source, duckdb.DuckDBPyRelation):
        raise InvalidRequest(
            "a join cannot read a DuckDB relation: give files, or relation.to_arrow_table(). But give "
            "one table under one name: that two are copies of one cannot be seen."
        )
    return source_query(connection, given_as, of_that_name(source, name), types)


def read_columns(
    path: str | Path, names: Sequence[str], types: Mapping[str, str] | None
) -> dict[str, list[Any]]:
    """Return columns of a file as they are, for a simulation in which virtual clients hold its records."""
    engine = open_source(path, types)
    known = [known_column(name, engine.schema, "the simulation") for name in names]
    listed = ", ".join(map(quoted, known))
    run: Run = cast(DuckDBDatabase, engine.database).run
    rows = stoppable(STOPPED, lambda: run(f"SELECT {listed} FROM {engine.records}"))
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _of_relation(
    relation: duckdb.DuckDBPyRelation,
    types: Mapping[str, str] | None,
    own_column: bool,
    rows_are_records: bool,
) -> DuckDBDatabase:
    if types:
        raise InvalidRequest("types= is for CSV and for frames: a relation states its own.")
    given = Relation.of(relation)
    items = items_within_digits(dict(zip(relation.columns, map(str, relation.types), strict=True)))
    records = relation if items == "*" else relation.project(items)

    def run(sql: str, *, as_arrays: bool = False) -> Any:
        with given.alone():
            result = records.query(given.name, sql)
            if result is None:
                return []
            return result.fetchnumpy() if as_arrays else result.fetchall()

    def arrow(sql: str) -> Any:
        with given.alone():
            result = records.query(given.name, sql)
            return result.to_arrow_table() if result is not None else None

    def source() -> str:
        with given.alone():
            return given.source(rows_are_records=rows_are_records)

    query = SourceQuery("", made=source, files=_files_of(relation))
    return DuckDBDatabase(
        run, arrow, {"": query}, {"": given.name}, lock=_CALLERS_CONNECTIONS, own_column=own_column
    )


def _files_of(relation: duckdb.DuckDBPyRelation) -> tuple[str, ...]:
    """Return the files that a relation reads; a table of a database's file is none, which keeps versions."""
    origins = query_origins(lambda sql: ask_relation(relation, sql), str(relation.sql_query()))
    return tuple(path for place, path in origins.files.items() if place == file_place(path))


def ask_relation(relation: duckdb.DuckDBPyRelation, sql: str) -> Rows:
    """Ask a relation's own connection for public facts; nothing where it cannot say."""
    try:
        with _CALLERS_CONNECTIONS:
            return Relation.of(relation).ask(sql)
    except duckdb.Error:
        return []


def _own_database(
    connection: duckdb.DuckDBPyConnection,
    given: Mapping[str, SourceQuery],
    slots: Mapping[str, str],
    *,
    own_column: bool = True,
) -> DuckDBDatabase:
    """Have a database of ours read sources, each as a view in its slot."""
    reached = all_reached(given.values())
    with reached():
        for name, one in given.items():
            create_view(connection, slots[name], one.sql)
    plain = runner(connection)

    def run(sql: str, *, as_arrays: bool = False) -> Any:
        with reached():
            return plain(sql, as_arrays=as_arrays)

    def arrow(sql: str) -> Any:
        with reached():
            return connection.sql(sql).to_arrow_table()

    return DuckDBDatabase(run, arrow, given, slots, own_column=own_column)
