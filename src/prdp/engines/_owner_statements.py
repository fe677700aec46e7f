"""The reads of owners, for every engine that runs prdp's statements: of one table, or of several joined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from prdp.cells.owners import Caps, Look
from prdp.cells.summary import Summary
from prdp.engines._cells import Arrays
from prdp.engines._opened import InOneProcess
from prdp.engines._owners import (
    OwnerStatement,
    all_in_order,
    in_order,
    scaled_statement,
    scaled_together,
)
from prdp.engines._shown import later_statement, later_together
from prdp.plan.reads import OwnerRead

Rows = list[tuple[Any, ...]]


class OwnerStatements(InOneProcess):
    """A base of what runs statements: how they are run and written, and those that fold owners."""

    @abstractmethod
    def _owner_rows(self, reading: OwnerRead) -> str:
        """Return the query for the rows of owners."""

    @abstractmethod
    def columns(self, sql: str) -> Arrays:
        """Run a statement of DuckDB's SQL; return its columns as arrays, masked where there is NULL.

        Raises:
            EngineFailure: Whatever went wrong; the text is always the same.
        """

    @abstractmethod
    def rows_of(self, sql: str) -> Rows:
        """Run a statement of DuckDB's SQL and return its rows; whole numbers are of any size."""

    def written(self, sql: str) -> str:
        """Return a statement as this engine runs it."""
        return sql

    def fold_owners(self, reading: OwnerRead) -> tuple[tuple[Summary, Summary], ...]:
        """Read every row once and return the cells of owners: what they add, and how many rows."""
        owners = OwnerStatement.of(reading, self._owner_rows(reading))
        return owners.summaries(self.columns(owners.sql))

    def scale_owners(self, reading: OwnerRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Read every row once and return each group's total, every owner scaled down to its cap."""
        sql = scaled_statement(reading, self._owner_rows(reading), caps, count_rows=count_rows)
        return in_order(reading, self.rows_of(sql))

    def scale_together(self, reading: OwnerRead, looks: Sequence[Look]) -> Sequence[tuple[int, ...]]:
        """Read every row twice, and return for several looks what ``scale_owners`` does for one."""
        sql = scaled_together(reading, self._owner_rows(reading), looks)
        return all_in_order(reading, self.rows_of(sql), len(looks))

    def shown_later(self, read: OwnerRead, *, count_rows: bool) -> str:
        """Return the statement that follows a drawn clipping point, for people; nothing is run."""
        return self.written(later_statement(read, self._owner_rows(read), count_rows=count_rows))

    def shown_together(self, read: OwnerRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of several looks that follow drawn clipping points; nothing is run."""
        return self.written(later_together(read, self._owner_rows(read), looks))
