"""An engine that runs prdp's statements: written once as DuckDB's SQL, which a dialect may translate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from prdp.cells.key_masses import KeyMasses
from prdp.cells.summary import KeySummary, Summary
from prdp.engines._cells import statement
from prdp.engines._key_masses import mass_statement
from prdp.engines._keys import key_statement, top_statement
from prdp.engines._owner_rows import rows_of_table
from prdp.engines._owner_statements import OwnerStatements, Rows
from prdp.engines._rows import rows_statement
from prdp.engines._shown import statements
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, OwnerRead, RowRead
from prdp.schema import Schema

__all__ = ["Rows", "StatementEngine"]


class StatementEngine(OwnerStatements):
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
    def arrow_of(self, sql: str) -> Any:
        """Run a statement of DuckDB's SQL and return an Arrow table."""

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

    def shown(self, read: Any) -> tuple[str, ...]:
        """Return the statements of a read, for people; nothing is run."""
        found = statements(read, self.schema, self._records, own_column=self._own_column)
        return tuple(map(self.written, found))

    def _owner_rows(self, reading: OwnerRead) -> str:
        return rows_of_table(reading, self.schema, self._records)
