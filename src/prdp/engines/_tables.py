"""Several tables in one DuckDB database: for joins, and for what must be joined after they were read."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from prdp.engines._database import (
    STOPPED,
    Arrays,
    Rows,
    connected,
    found_now,
    guarded,
    runner,
    schema_of,
)
from prdp.engines._database_files import of_that_name
from prdp.engines._interrupts import advised, stoppable
from prdp.engines._readers import source_query
from prdp.engines._source_query import SourceQuery, all_reached
from prdp.engines._statement_tables import StatementTables
from prdp.errors import InvalidRequest
from prdp.schema import Schema


class DuckDBTables(StatementTables):
    """Several files and frames in one database, for statements that join them."""

    def __init__(self, sources: Mapping[str, object], types: Mapping[str, Mapping[str, str]]) -> None:
        """Open files and frames side by side; reads no record."""
        super().__init__()
        connection = connected()
        self._lock = threading.Lock()
        self._views = {name: f"prdp_table_{place}" for place, name in enumerate(sources)}
        self._given = {
            name: _query(connection, f"prdp_given_{place}", name, source, types.get(name))
            for place, (name, source) in enumerate(sources.items())
        }
        self._reached = all_reached(self._given.values())
        self._plain = runner(connection)
        with self._reached():
            for name, given in self._given.items():
                connection.execute(f"CREATE VIEW {self._views[name]} AS {given.sql}")
        self._found, self._views_made = self._found_now(), self._made()
        self.schemas = self._described()

    def ensure_there(self) -> None:
        """Refuse sources that are gone or have other columns by now; reads no record."""
        self.refuse_elsewhere()
        try:
            found: object = self._described(), self._made()
            more = found_now(self._found_now, self._lock)
        except duckdb.Error:
            found = more = None
        if (found, more) != ((self.schemas, self._views_made), self._found):
            raise InvalidRequest(
                "a source cannot be read any more, or its columns have changed since it was opened. "
                "Nothing was charged; open it again."
            )

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        found: Arrays = guarded(lambda: self._run(sql, as_arrays=True), self._lock)
        return found

    def rows(self, sql: str) -> Rows:
        """Read what a statement gives."""
        found: Rows = guarded(lambda: self._run(sql), self._lock)
        return found

    def _run(self, sql: str, *, as_arrays: bool = False) -> Any:
        with self._reached():
            return self._plain(sql, as_arrays=as_arrays)

    def _found_now(self) -> list[object]:
        return [given.found() for given in self._given.values()]

    def _made(self) -> list[str]:
        """Return what views make of their tables; one that is more than a scan with a filter is refused."""
        return [stoppable(STOPPED, given.made, self._lock) for given in self._given.values()]

    def _described(self) -> dict[str, Schema]:
        def rows(view: str) -> Rows:
            found: Rows = self._run(f"DESCRIBE SELECT * FROM {view}")
            return found

        return {
            name: schema_of(
                stoppable(STOPPED, partial(rows, view), self._lock),
                self._given[name].unreadable,
                self._given[name].required,
            )
            for name, view in self._views.items()
        }


def open_tables(sources: Mapping[str, object], types: Mapping[str, Mapping[str, str]]) -> DuckDBTables:
    """Open several sources together, a database's tables by their names; reads no record."""
    try:
        return stoppable(STOPPED, lambda: DuckDBTables(sources, types))
    except (duckdb.Error, OSError) as error:
        only_paths = all(isinstance(source, str | Path) for source in sources.values())
        words = str(error).partition("\n")[0] if only_paths else type(error).__name__
        raise InvalidRequest(f"a source cannot be opened: {advised(words, error)}") from None


def _query(
    connection: duckdb.DuckDBPyConnection,
    given_as: str,
    name: str,
    source: object,
    types: Mapping[str, str] | None,
) -> SourceQuery:
    """Return how one table is read; of a database's file, the table of that name."""
    if isinstance(source, duckdb.DuckDBPyRelation):
        raise InvalidRequest(
            "a join cannot read a DuckDB relation: give files, or relation.to_arrow_table(). But give "
            "one table under one name: that two are copies of one cannot be seen."
        )
    return source_query(connection, given_as, of_that_name(source, name), types)


class Scratch:
    """A database of our own, for what must be joined again and again after the records were read."""

    def __init__(self, **tables: Mapping[str, NDArray[Any]]) -> None:
        self._connection = connected()
        self._lock = threading.Lock()
        guarded(lambda: [self._filled(name, columns) for name, columns in tables.items()], self._lock)

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

        found: Arrays = guarded(run, self._lock)
        return found

    def execute(self, sql: str) -> None:
        """Run a statement that gives nothing."""
        guarded(lambda: self._connection.execute(sql).fetchall(), self._lock)
