"""Several tables in one DuckDB database: for joins, and for what must be joined after they were read."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from prdp.cells.key_masses import KeyMasses
from prdp.cells.owners import Caps, Look
from prdp.cells.summary import Summary
from prdp.declare.keys import MOST_KEYS
from prdp.engines._database import (
    STOPPED,
    Arrays,
    Rows,
    connected,
    file_query,
    frame_query,
    guarded,
    runner,
    schema_of,
)
from prdp.engines._interrupts import stoppable
from prdp.engines._key_masses import joined_mass_statement
from prdp.engines._opened import InOneProcess
from prdp.engines._owner_rows import id_sql, rows_of_join
from prdp.engines._owners import (
    OwnerStatement,
    all_in_order,
    in_order,
    scaled_statement,
    scaled_together,
)
from prdp.engines._shown import later_statement, later_together
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.plan.reads import KeyMassRead, OwnerRead
from prdp.schema import Schema


class DuckDBTables(InOneProcess):
    """Several tables in one database, for statements that join them.

    Attributes:
        schemas: Each table's columns.
    """

    def __init__(self, sources: Mapping[str, object], types: Mapping[str, Mapping[str, str]]) -> None:
        """Open files and frames side by side; reads no record."""
        super().__init__()
        connection = connected()
        self._run = runner(connection)
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

    def has_twice(self, table: str, column: str) -> bool:
        """Say whether a value stands in several rows of a public table's column; texts are their bytes."""
        key = id_sql(quoted(column), column, self.schemas[table])
        rows = f"SELECT {key} AS id FROM {self._views[table]}"
        return bool(
            self.rows(f"SELECT 1 FROM ({rows}) WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1 LIMIT 1")
        )

    def values(self, table: str, column: str) -> list[object]:
        """Return the values of a public table's column, each once and sorted; as many as may be keys."""
        name = quoted(column)
        rows = f"SELECT DISTINCT {name} AS found FROM {self._views[table]} WHERE {name} IS NOT NULL"
        return [
            found for (found,) in self.rows(f"SELECT * FROM ({rows}) ORDER BY found LIMIT {MOST_KEYS + 1}")
        ]

    def fold_owners(self, reading: OwnerRead) -> tuple[tuple[Summary, Summary], ...]:
        """Read every joined table once and return the cells of owners: what they add, and how many rows."""
        owners = OwnerStatement.of(reading, self._owner_rows(reading))
        found: Arrays = guarded(lambda: self._run(owners.sql, as_arrays=True), self._lock)
        return owners.summaries(found)

    def scale_owners(self, reading: OwnerRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Read every joined table once and return each group's total, every owner scaled down to its cap."""
        sql = scaled_statement(reading, self._owner_rows(reading), caps, count_rows=count_rows)
        return in_order(reading, self.rows(sql))

    def scale_together(self, reading: OwnerRead, looks: Sequence[Look]) -> Sequence[tuple[int, ...]]:
        """Read every joined table twice, and return for several looks what ``scale_owners`` does for one."""
        sql = scaled_together(reading, self._owner_rows(reading), looks)
        return all_in_order(reading, self.rows(sql), len(looks))

    def key_masses(self, reading: KeyMassRead) -> KeyMasses:
        """Read every joined table once and return the keys that owners have, with the budgets behind each."""
        masses = joined_mass_statement(reading, self.schemas, self._views)
        found: Arrays = guarded(lambda: self._run(masses.sql, as_arrays=True), self._lock)
        return masses.masses(found)

    def shown(self, read: OwnerRead | KeyMassRead) -> tuple[str, ...]:
        """Return the statement of a read, for people; nothing is run."""
        if isinstance(read, KeyMassRead):
            return (joined_mass_statement(read, self.schemas, self._views).sql,)
        return (OwnerStatement.of(read, self._owner_rows(read)).sql,)

    def shown_later(self, read: OwnerRead, *, count_rows: bool) -> str:
        """Return the statement that follows a drawn clipping point, for people; nothing is run."""
        return later_statement(read, self._owner_rows(read), count_rows=count_rows)

    def shown_together(self, read: OwnerRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of several looks that follow drawn clipping points; nothing is run."""
        return later_together(read, self._owner_rows(read), looks)

    def _owner_rows(self, reading: OwnerRead) -> str:
        return rows_of_join(reading, self.schemas, self._views)

    def rows(self, sql: str) -> Rows:
        """Read what a statement gives."""
        found: Rows = guarded(lambda: self._run(sql), self._lock)
        return found

    def _described(self) -> dict[str, Schema]:
        def rows(view: str) -> Rows:
            found: Rows = self._run(f"DESCRIBE SELECT * FROM {view}")
            return found

        return {
            name: schema_of(stoppable(STOPPED, partial(rows, view), self._lock), self._unreadable[name])
            for name, view in self._views.items()
        }


def open_tables(sources: Mapping[str, object], types: Mapping[str, Mapping[str, str]]) -> DuckDBTables:
    """Open several files or frames together; reads no record."""
    try:
        return stoppable(STOPPED, lambda: DuckDBTables(sources, types))
    except (duckdb.Error, OSError) as error:
        only_paths = all(isinstance(source, str | Path) for source in sources.values())
        words = str(error).partition("\n")[0] if only_paths else type(error).__name__
        raise InvalidRequest(f"a source cannot be opened: {words}") from None


def _query(
    connection: duckdb.DuckDBPyConnection, frame: str, source: object, types: Mapping[str, str] | None
) -> tuple[str, frozenset[str]]:
    if isinstance(source, duckdb.DuckDBPyRelation):
        raise InvalidRequest(
            "a join cannot read a DuckDB relation: give files, or relation.to_arrow_table(). But give "
            "one table under one name: that two are copies of one cannot be seen."
        )
    if isinstance(source, str | Path):
        return file_query(connection, str(source), types), frozenset()
    return frame_query(connection, frame, source, types)


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
