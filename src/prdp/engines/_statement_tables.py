"""Several tables that are read by statements which join them, written once as DuckDB's SQL."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from prdp.cells.key_masses import KeyMasses
from prdp.declare.keys import MOST_KEYS
from prdp.engines._key_masses import joined_mass_statement
from prdp.engines._owner_rows import id_sql, rows_of_join
from prdp.engines._owner_statements import OwnerStatements, Rows
from prdp.engines._owners import OwnerStatement
from prdp.expressions.spelling import quoted
from prdp.plan.reads import KeyMassRead, OwnerRead
from prdp.schema import Schema

__all__ = ["Rows", "StatementTables"]


class StatementTables(OwnerStatements):
    """Several tables in one database.

    Attributes:
        schemas: Each table's columns, with DuckDB's names of their types.
    """

    schemas: Mapping[str, Schema]
    _views: Mapping[str, str]

    @property
    def places(self) -> Mapping[str, frozenset[str]] | None:
        """What tables are in their database, without user and password; files and frames have no such."""
        return None

    @abstractmethod
    def ensure_there(self) -> None:
        """Refuse, by public facts and before any charge, sources that are gone or have changed columns."""

    @abstractmethod
    def rows(self, sql: str) -> Rows:
        """Run a statement of DuckDB's SQL and return its rows; whole numbers are of any size."""

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

    def key_masses(self, reading: KeyMassRead) -> KeyMasses:
        """Read every joined table once and return the keys that owners have, with the budgets behind each."""
        masses = joined_mass_statement(reading, self.schemas, self._views)
        return masses.masses(self.columns(masses.sql))

    def shown(self, read: OwnerRead | KeyMassRead) -> tuple[str, ...]:
        """Return the statement of a read, for people; nothing is run."""
        if isinstance(read, KeyMassRead):
            return (self.written(joined_mass_statement(read, self.schemas, self._views).sql),)
        return (self.written(OwnerStatement.of(read, self._owner_rows(read)).sql),)

    def _owner_rows(self, reading: OwnerRead) -> str:
        return rows_of_join(reading, self.schemas, self._views)

    def rows_of(self, sql: str) -> Rows:
        """Run a statement of DuckDB's SQL and return its rows."""
        return self.rows(sql)
