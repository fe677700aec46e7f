"""The engine of every database: prdp's statements over one table, or over several that are joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from prdp.cells.key_masses import KeyMasses
from prdp.cells.summary import KeySummary, Summary
from prdp.cells.units import Caps, Look
from prdp.declare.keys import MAX_KEYS
from prdp.engines.database import Database, OpenedTable, Rows, Statement
from prdp.engines.explain import later_statement, later_together, statements
from prdp.engines.interrupts import read_or_fail, stoppable
from prdp.engines.origins import Origins
from prdp.engines.statements.cells import Arrays, plan_statement, statement
from prdp.engines.statements.distinct_keys import key_statement, top_statement
from prdp.engines.statements.key_masses import MassStatement, joined_mass_statement, mass_statement
from prdp.engines.statements.rows import rows_statement
from prdp.engines.statements.unit_cache import SecondLook, UnitCache
from prdp.engines.statements.unit_rows import id_sql, rows_of_join, rows_of_table
from prdp.engines.statements.unit_totals import (
    UnitStatement,
    all_in_order,
    in_order,
    scaled_statement,
    scaled_together,
)
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import quoted
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, Read, RowRead, UnitRead
from prdp.safety.process_guard import InOneProcess
from prdp.schema import Schema

Done = TypeVar("Done")


class SqlEngine(InOneProcess):
    """Tables of a database, read by prdp's statements.

    Attributes:
        name: The engine's name.
        database: Where the tables are.
        schemas: The columns of each table, by its name.
        source: What is made of the rows of the only table before prdp sees them; else nothing.
    """

    def __init__(self, database: Database[Any]) -> None:
        """Look the tables up; reads no record."""
        super().__init__()
        self.name = database.name
        self.database = database
        self._tables = self._find()
        self.schemas: Mapping[str, Schema] = {name: one.schema for name, one in self._tables.items()}
        self.source = next(iter(self._tables.values())).source if len(self._tables) == 1 else ""
        self._unit = UnitCache(database.read_once)

    def __repr__(self) -> str:
        return f"<SqlEngine of {', '.join(map(repr, self._tables))} in {self.name}>"

    @property
    def schema(self) -> Schema:
        """The columns of the only table."""
        (schema,) = self.schemas.values()
        return schema

    @property
    def table(self) -> str | None:
        """The name by which the only table was opened, if it was opened by one."""
        return next(iter(self._tables)) or None

    @property
    def records(self) -> str:
        """The name under which statements find the only table."""
        (slot,) = self.database.slots.values()
        return slot

    def slot(self, table: str) -> str:
        """Return the name under which statements find a table."""
        return self.database.slots[table]

    @property
    def origins(self) -> Mapping[str, Origins] | None:
        """The origins of the tables, by their names; None where sources tell them."""
        return self.database.origins(self._tables) if self.database.traces else None

    def ensure_there(self) -> None:
        """Refuse tables that are gone or have changed since they were opened; reads no record."""
        self.refuse_elsewhere()
        reason = ""
        try:
            if self._find() == self._tables:
                return
        except InvalidRequest as error:
            reason = f": {error}".rstrip(".")
        except Exception:  # noqa: S110  (its words may name files)
            pass
        raise InvalidRequest(
            f"the source cannot be read any more, or is not what was opened{reason}. Nothing was charged; "
            "open it again."
        ) from None

    def ensure_written(self, read: Read) -> None:
        """Refuse, before any charge, a read for which the database has no words; nothing is run.

        What of its statement takes the policy apart is worked out here too.
        """
        if isinstance(read, CellRead) and self.database.own_column:
            plan_statement(read, self.schema)
        if not self.database.writes_all:
            read.shown(self)

    def one_snapshot(self) -> AbstractContextManager[None]:
        """Have all statements of one question read the same state of the database, where it can."""
        return self.database.one_snapshot()

    def columns(self, sql: str) -> Arrays:
        """Run a statement of DuckDB's SQL; return its columns as arrays, masked where there is NULL.

        Raises:
            EngineFailure: Whatever went wrong; the text is always the same.
        """
        return self._run(sql, self.database.arrays)

    def rows_of(self, sql: str) -> Rows:
        """Run a statement of DuckDB's SQL and return its rows; whole numbers are of any size."""
        return self._run(sql, self.database.rows)

    def written(self, sql: str) -> str:
        """Return a statement as the database runs it."""
        return self.database.write(sql, self._tables).sql

    def arrays(self, write: Callable[[str, Schema], str]) -> Arrays:
        """Read what a statement of the only table's name and columns gives, column by column."""
        return self.columns(write(self.records, self.schema))

    def summarise(self, reading: CellRead) -> Sequence[Summary]:
        """Read every record once and return exact totals per cell, for each group."""
        cells = statement(reading, self.schema, self.records, own_column=self.database.own_column)
        return cells.summaries(self.columns(cells.sql))

    def key_totals(self, reading: KeyRead) -> tuple[KeySummary, ...]:
        """Read every record once and return the budgets behind a column's values, for each group."""
        keys = key_statement(reading, self.schema, self.records)
        return keys.summaries(self.columns(keys.sql))

    def top_levels(self, reading: KeyRead) -> tuple[Summary, ...]:
        """Read every record once and return a column's values at their highest levels, for each group."""
        tops = top_statement(reading, self.schema, self.records)
        return tops.summaries(self.columns(tops.sql))

    def key_masses(self, reading: KeyMassRead) -> KeyMasses:
        """Read every record once and return the keys that records have, with the budgets behind each."""
        masses = self._mass_statement(reading)
        return masses.masses(self.columns(masses.sql))

    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        """Return the rows as an Arrow table, and their levels; for the framework's callers alone."""
        found = self._run(rows_statement(reading, self.schema, self.records), self.database.arrow)
        return found.select(list(range(found.num_columns - 1))), found.column(found.num_columns - 1)

    def has_twice(self, table: str, column: str) -> bool:
        """Say whether a value stands in several rows of a public table's column; texts are their bytes."""
        key = id_sql(quoted(column), column, self.schemas[table])
        rows = f"SELECT {key} AS id FROM {self.slot(table)}"
        return bool(
            self.rows_of(
                f"SELECT 1 FROM ({rows}) WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1 LIMIT 1"
            )
        )

    def values(self, table: str, column: str) -> list[object]:
        """Return the values of a public table's column, each once and sorted; as many as may be keys."""
        name = quoted(column)
        rows = f"SELECT DISTINCT {name} AS found FROM {self.slot(table)} WHERE {name} IS NOT NULL"
        found = self.rows_of(f"SELECT * FROM ({rows}) ORDER BY found LIMIT {MAX_KEYS + 1}")
        return self.database.values([value for (value,) in found], self.schemas[table][column].kind)

    def fold_units(self, reading: UnitRead) -> tuple[tuple[Summary, Summary], ...]:
        """Read every row once and return the cells of units: what they add, and how many rows."""
        unit = UnitStatement.of(reading, self._unit_rows(reading))
        return unit.summaries(self.columns(unit.sql))

    def fold_and_look(self, reading: UnitRead) -> tuple[tuple[tuple[Summary, Summary], ...], SecondLook]:
        """Return the cells of units and the second look at them; their rows may be held meanwhile."""
        if self._unit.holds(reading):
            return self._unit.fold(self, reading, self._unit_rows(reading))
        return self.fold_units(reading), partial(self.scale_together, reading)

    def let_go(self) -> None:
        """Drop the rows that are held for a second look of this thread's question."""
        self._unit.let_go(self)

    def scale_units(self, reading: UnitRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Read every row once and return each group's total, every unit scaled down to its cap."""
        sql = scaled_statement(reading, self._unit_rows(reading), caps, count_rows=count_rows)
        return in_order(reading, self.rows_of(sql))

    def scale_together(self, reading: UnitRead, looks: Sequence[Look]) -> Sequence[tuple[int, ...]]:
        """Read every row twice, and return for several looks what ``scale_units`` does for one."""
        sql = scaled_together(reading, self._unit_rows(reading), looks)
        return all_in_order(reading, self.rows_of(sql), len(looks))

    def shown(self, read: Any) -> tuple[str, ...]:
        """Return the statements of a read, for people; nothing is run."""
        if isinstance(read, UnitRead):
            rows = self._unit_rows(read)
            found = (
                self._unit.shown(read, rows)
                if self._unit.holds(read)
                else (UnitStatement.of(read, rows).sql,)
            )
        elif isinstance(read, KeyMassRead):
            found = (self._mass_statement(read).sql,)
        else:
            found = statements(read, self.schema, self.records, own_column=self.database.own_column)
        return tuple(map(self.written, found))

    def shown_later(self, read: UnitRead, *, count_rows: bool) -> str:
        """Return the statement that follows a drawn clipping point, for people; nothing is run."""
        return self.written(later_statement(read, self._unit_rows(read), count_rows=count_rows))

    def shown_together(self, read: UnitRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of several looks that follow drawn clipping points; nothing is run."""
        if self._unit.holds(read):
            return self.written(self._unit.shown_together(read, looks))
        return self.written(later_together(read, self._unit_rows(read), looks))

    def _find(self) -> Mapping[str, OpenedTable]:
        return stoppable(self.database.stopped, self.database.find, self.database.lock)

    def _run(self, sql: str, run: Callable[[Statement, Mapping[str, Any]], Done]) -> Done:
        """Run a statement over records; whatever goes wrong, it fails with one fixed text."""
        written = self.database.write(sql, self._tables)
        return read_or_fail(self.database.stopped, lambda: run(written, self._tables), self.database.lock)

    def _unit_rows(self, reading: UnitRead) -> str:
        if reading.unit.join is None:
            return rows_of_table(reading, self.schema, self.records)
        return rows_of_join(reading, self.schemas, self.database.slots)

    def _mass_statement(self, reading: KeyMassRead) -> MassStatement:
        if reading.unit is None or reading.unit.join is None:
            return mass_statement(reading, self.schema, self.records)
        return joined_mass_statement(reading, self.schemas, self.database.slots)
