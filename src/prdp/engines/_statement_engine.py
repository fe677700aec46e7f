"""An engine that runs prdp's statements: written once as DuckDB's SQL, which a dialect may translate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from prdp.cells.key_masses import KeyMasses
from prdp.cells.owners import Caps, Look
from prdp.cells.summary import KeySummary, Summary
from prdp.engines._cells import Arrays, statement
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
from prdp.engines._rows import rows_statement
from prdp.engines._shown import later_statement, later_together, statements
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, OwnerRead, RowRead
from prdp.schema import Schema

Rows = list[tuple[Any, ...]]


class StatementEngine(InOneProcess):
    """A table that is read by statements.

    Attributes:
        schema: The table's columns, with DuckDB's names of their types.
        source: What a relation of the caller's makes of its table before prdp sees it; else nothing.
    """

    schema: Schema
    source: str = ""
    _records: str
    _own_column: bool = True

    @abstractmethod
    def columns(self, sql: str) -> Arrays:
        """Run a statement of DuckDB's SQL; return its columns as arrays, masked where there is NULL.

        Raises:
            EngineFailure: Whatever went wrong; the text is always the same.
        """

    @abstractmethod
    def rows_of(self, sql: str) -> Rows:
        """Run a statement of DuckDB's SQL and return its rows; whole numbers are of any size."""

    @abstractmethod
    def arrow_of(self, sql: str) -> Any:
        """Run a statement of DuckDB's SQL and return an Arrow table."""

    def written(self, sql: str) -> str:
        """Return a statement as this engine runs it."""
        return sql

    def summarise(self, reading: CellRead) -> Sequence[Summary]:
        """Read every record once and return exact totals per cell, for each group."""
        cells = statement(reading, self.schema, self._records, own_column=self._own_column)
        return cells.summaries(self.columns(cells.sql))

    def key_totals(self, reading: KeyRead) -> tuple[KeySummary, ...]:
        """Read every record once and return the budgets behind a column's values, for each group."""
        keys = key_statement(reading, self.schema, self._records)
        return keys.summaries(self.columns(keys.sql))

    def top_levels(self, reading: KeyRead) -> tuple[Summary, ...]:
        """Read every record once and return a column's values at their highest levels, for each group."""
        tops = top_statement(reading, self.schema, self._records)
        return tops.summaries(self.columns(tops.sql))

    def key_masses(self, reading: KeyMassRead) -> KeyMasses:
        """Read every record once and return the keys that records have, with the budgets behind each."""
        masses = mass_statement(reading, self.schema, self._records)
        return masses.masses(self.columns(masses.sql))

    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        """Return the rows as an Arrow table, and their levels; for the framework's callers alone."""
        sql = rows_statement(reading, self.schema, self._records)
        found = self.arrow_of(sql)
        return found.select(list(range(found.num_columns - 1))), found.column(found.num_columns - 1)

    def fold_owners(self, reading: OwnerRead) -> tuple[tuple[Summary, Summary], ...]:
        """Read every row once and return the cells of owners: what each contributes, and how many rows."""
        owners = OwnerStatement.of(reading, rows_of_table(reading, self.schema, self._records))
        return owners.summaries(self.columns(owners.sql))

    def scale_owners(self, reading: OwnerRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Read every row once and return each group's total, every owner scaled down to its cap."""
        rows = rows_of_table(reading, self.schema, self._records)
        return in_order(reading, self.rows_of(scaled_statement(reading, rows, caps, count_rows=count_rows)))

    def scale_together(self, reading: OwnerRead, looks: Sequence[Look]) -> Sequence[tuple[int, ...]]:
        """Read every row twice, and return for several looks at once what ``scale_owners`` does for one."""
        sql = scaled_together(reading, rows_of_table(reading, self.schema, self._records), looks)
        return all_in_order(reading, self.rows_of(sql), len(looks))

    def shown(self, read: Any) -> tuple[str, ...]:
        """Return the statements of a read, for people; nothing is run."""
        found = statements(read, self.schema, self._records, own_column=self._own_column)
        return tuple(map(self.written, found))

    def shown_later(self, read: OwnerRead, *, count_rows: bool) -> str:
        """Return the statement that follows a drawn clipping point, for people; nothing is run."""
        rows = rows_of_table(read, self.schema, self._records)
        return self.written(later_statement(read, rows, count_rows=count_rows))

    def shown_together(self, read: OwnerRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of several looks that follow drawn clipping points; nothing is run."""
        return self.written(later_together(read, rows_of_table(read, self.schema, self._records), looks))
