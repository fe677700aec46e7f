"""Several tables that are read by statements which join them, written once as DuckDB's SQL."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from prdp.cells.key_masses import KeyMasses
from prdp.cells.owners import Caps, Look
from prdp.cells.summary import Summary
from prdp.declare.keys import MOST_KEYS
from prdp.engines._cells import Arrays
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
from prdp.expressions.spelling import quoted
from prdp.plan.reads import KeyMassRead, OwnerRead
from prdp.schema import Schema

Rows = list[tuple[Any, ...]]


class StatementTables(InOneProcess):
    """Several tables in one database.

    Attributes:
        schemas: Each table's columns, with DuckDB's names of their types.
    """

    schemas: Mapping[str, Schema]
    _views: Mapping[str, str]

    @abstractmethod
    def ensure_there(self) -> None:
        """Refuse, by public facts and before any charge, sources that are gone or have changed columns."""

    @abstractmethod
    def columns(self, sql: str) -> Arrays:
        """Run a statement of DuckDB's SQL; return its columns as arrays, masked where there is NULL.

        Raises:
            EngineFailure: Whatever went wrong; the text is always the same.
        """

    @abstractmethod
    def rows(self, sql: str) -> Rows:
        """Run a statement of DuckDB's SQL and return its rows; whole numbers are of any size."""

    def written(self, sql: str) -> str:
        """Return a statement as this engine runs it."""
        return sql

    def view(self, table: str) -> str:
        """Return the name under which statements find a table."""
        return self._views[table]

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
        return owners.summaries(self.columns(owners.sql))

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
        return masses.masses(self.columns(masses.sql))

    def shown(self, read: OwnerRead | KeyMassRead) -> tuple[str, ...]:
        """Return the statement of a read, for people; nothing is run."""
        if isinstance(read, KeyMassRead):
            return (self.written(joined_mass_statement(read, self.schemas, self._views).sql),)
        return (self.written(OwnerStatement.of(read, self._owner_rows(read)).sql),)

    def shown_later(self, read: OwnerRead, *, count_rows: bool) -> str:
        """Return the statement that follows a drawn clipping point, for people; nothing is run."""
        return self.written(later_statement(read, self._owner_rows(read), count_rows=count_rows))

    def shown_together(self, read: OwnerRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of several looks that follow drawn clipping points; nothing is run."""
        return self.written(later_together(read, self._owner_rows(read), looks))

    def _owner_rows(self, reading: OwnerRead) -> str:
        return rows_of_join(reading, self.schemas, self._views)
