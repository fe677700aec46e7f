"""The engine of every database: prdp's statements over one table, or over several that are joined.

A question about groups of units looks twice: at what each unit adds in all, and at its groups once a
clipping point is drawn. Who is above its cap and what is added up must come from the same rows, and nothing
tells reliably that a file has not changed between two reads: so it is read once, into a table of the same
database, in no file but those that DuckDB itself spills to. What a question's own thread has made is dropped
when the question is answered or has failed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Protocol, TypeVar

from prdp.cells.key_masses import KeyMasses
from prdp.cells.summary import KeySummary, Summary, TopSummary
from prdp.cells.units import Caps, Look
from prdp.declare.keys import MAX_KEYS
from prdp.engines.database import Database, OpenedTable, Rows, Statement
from prdp.engines.origins import Origins
from prdp.engines.progress import read_or_fail, stoppable, unreported, watched
from prdp.engines.statements.cells import Arrays, CellStatement, plan_statement, rows_statement, statement
from prdp.engines.statements.keys import (
    HeldKeyStatement,
    MassStatement,
    TopStatement,
    joined_mass_statement,
    key_statement,
    mass_statement,
    top_statement,
)
from prdp.engines.statements.unit_rows import (
    id_sql,
    one_in_each_group,
    rows_of_join,
    rows_of_table,
    squared_distances,
)
from prdp.engines.statements.unit_totals import (
    UnitStatement,
    all_in_order,
    divided_rows,
    divided_rows_statement,
    divided_statements,
    folded_units,
    in_order,
    scaled_statement,
    scaled_together,
)
from prdp.errors import EngineFailure, InvalidRequest
from prdp.expressions.tokens import quoted
from prdp.plan.divided import DividedRead, DividedRowRead
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, Read, RowRead, TopRead, UnitRead
from prdp.safety.process_guard import InOneProcess
from prdp.schema import Schema

_DRAWN: Any = ":b"
"""Placeholder for a number that is drawn before a statement can be written."""


def statements(read: Any, schema: Schema, records: str, *, own_column: bool) -> tuple[str, ...]:
    """Return the statements of a read of one table's records, in order."""
    match read:
        case CellRead():
            return (statement(read, schema, records, own_column=own_column).sql,)
        case KeyRead():
            return (key_statement(read, schema, records).sql,)
        case TopRead():
            counted = statement(read.records, schema, records, own_column=own_column).sql
            return counted, top_statement(read.keys, schema, records).sql
        case RowRead():
            return (rows_statement(replace(read, least=_DRAWN), schema, records),)
        case _:
            return (read.statement(records, schema),)


def later_statement(read: UnitRead, rows: str, *, count_rows: bool) -> str:
    """Return the statement that follows once a clipping point is drawn; ``:b`` is its placeholder."""
    return scaled_statement(read, rows, Caps((_DRAWN,)), count_rows=count_rows)


def later_together(
    read: UnitRead, rows: str, looks: Sequence[tuple[int, bool]], held: str | None = None
) -> str:
    """Return the statement of several looks: which read each is about, and whether it counts rows."""
    wanted = [Look(Caps((_DRAWN,)), count_rows, place) for place, count_rows in looks]
    return scaled_together(read, rows, wanted, held)


SecondLook = Callable[[Sequence[Look]], Sequence[tuple[int, ...]]]
"""Returns, for several looks, each group's totals."""

_ROWS, _UNITS = "prdp_rows", "prdp_units"
"""Names of the tables of cached rows and units; temporary ones have a number besides."""


class StatementRunner(Protocol):
    """Runs statements of DuckDB's SQL."""

    def columns(self, sql: str) -> Arrays:
        """Return a statement's columns as arrays."""

    def rows_of(self, sql: str) -> Rows:
        """Return a statement's rows."""


@dataclass(frozen=True, eq=False)
class UnitCache:
    """Cache that reads a source once for both passes over its units; threads may share it.

    Attributes:
        read_once: Whether rows of this source are held: a public fact of what kind of source it is.
        held: The tables that are held now, and the thread whose question each is for; None where a table
            could not be dropped at its question's end, so that whoever is next drops it.
        lock: Held while a table that another thread may let go of is read, and while tables are dropped.
        numbers: Numbers for tables.
    """

    read_once: bool
    held: dict[str, int | None] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: count[int] = field(default_factory=count)

    def holds(self, reading: UnitRead) -> bool:
        """Return whether rows are held between two looks: by public facts of the read and of the source."""
        return self.read_once and reading.adds_only

    def fold(
        self, engine: StatementRunner, reading: UnitRead, rows: str
    ) -> tuple[tuple[tuple[Summary, Summary], ...], SecondLook]:
        """Return the cells of units that an engine's statements fold, and the second look at them."""
        with watched():  # several statements, of which people hear as one pass
            same = _all_of(self._made(engine, _ROWS, rows))
            unit = self._made(engine, _UNITS, folded_units(reading, same))
            statement = UnitStatement.of_held(reading, unit)
            found = statement.summaries(engine.columns(statement.sql))

        def look(looks: Sequence[Look]) -> Sequence[tuple[int, ...]]:
            with self.lock:
                if self.held.get(unit) is not None:
                    totals = engine.rows_of(scaled_together(reading, same, looks, unit))
                    return all_in_order(reading, totals, len(looks))
            with watched():
                anew = _all_of(self._made(engine, _ROWS, rows))  # the question that held them is answered
                totals = engine.rows_of(scaled_together(reading, anew, looks))
            return all_in_order(reading, totals, len(looks))

        return found, look

    def shown(self, reading: UnitRead, rows: str) -> tuple[str, ...]:
        """Return the statements of the first look, for people."""
        folded = folded_units(reading, _all_of(_ROWS))
        return _table(_ROWS, rows), _table(_UNITS, folded), UnitStatement.of_held(reading, _UNITS).sql

    def shown_together(self, reading: UnitRead, looks: Sequence[tuple[int, bool]]) -> str:
        """Return the statement of the second look, for people."""
        return later_together(reading, _all_of(_ROWS), looks, _UNITS)

    def let_go(self, engine: StatementRunner) -> None:
        """Drop what this thread's question holds, and what nobody could drop before."""
        with unreported(), self.lock:
            mine = [name for name, who in self.held.items() if who in (threading.get_ident(), None)]
            self.held.update(dict.fromkeys(mine))
            for name in mine:
                with suppress(EngineFailure):
                    engine.rows_of(f"DROP TABLE IF EXISTS {name}")
                    del self.held[name]

    def _made(self, engine: StatementRunner, kind: str, query: str) -> str:
        """Hold what a query finds; return the table's name, which is on the list before there is a table."""
        name = f"{kind}_{next(self.numbers)}"
        with self.lock:
            self.held[name] = threading.get_ident()
        engine.rows_of(_table(name, query))
        return name


def _table(name: str, query: str) -> str:
    return f"CREATE TEMP TABLE {name} AS {query}"


def _all_of(name: str) -> str:
    return f"SELECT * FROM {name}"


Done = TypeVar("Done")


class SqlEngine(InOneProcess):
    """Tables of a database, read by prdp's statements.

    Attributes:
        name: The engine's name.
        database: The database of the tables.
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
    def number_of_files(self) -> int:
        """Number of files that the tables were opened with; 0 where they are none, or not known."""
        return int(getattr(self.database, "number_of_files", 0))

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
        cells = self._cells(reading)
        with watched() if cells.later else nullcontext(), self.database.one_version():  # one pass, for people
            return cells.read(self.columns)

    def _cells(self, reading: CellRead) -> CellStatement:
        own_column, at_once = self.database.own_column, self.database.groups_at_once
        return statement(reading, self.schema, self.records, own_column=own_column, at_once=at_once)

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
        return self._handed_out(rows_statement(reading, self.schema, self.records), self.schema)

    def divided(self, reading: DividedRead) -> Any:
        """Read every row once and return what counts of units as records with parts of their budgets."""
        found = [one.summaries(self.columns(one.sql)) for one in self._divided(reading)]
        if isinstance(reading.read, TopRead):
            return tuple(map(TopSummary, *found))
        return found[0]

    def divided_rows(self, reading: DividedRowRead) -> tuple[Any, Any]:
        """Return rows of units as an Arrow table, and the levels of their parts of budgets."""
        join = reading.unit.join
        schema = self.schema if join is None else join.schema(self.schemas)
        return self._handed_out(divided_rows_statement(reading, self.schemas, self.database.slots), schema)

    def has_twice(self, table: str, column: str) -> bool:
        """Return whether a value occurs in several rows of a public table's column; texts are their bytes."""
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

    def public_rows(self, table: str, columns: Sequence[str]) -> list[tuple[object, ...]]:
        """Return the different rows of a public table's columns; as many as may be keys."""
        named = ", ".join(f"{quoted(column)} AS found{place}" for place, column in enumerate(columns))
        found = self.rows_of(f"SELECT DISTINCT {named} FROM {self.slot(table)} LIMIT {MAX_KEYS + 1}")
        kinds = [self.schemas[table][column].kind for column in columns]
        rows = []
        for row in found:
            read = [
                [None] if one is None else self.database.values([one], kind)
                for one, kind in zip(row, kinds, strict=True)
            ]
            rows += [tuple(one for (one,) in read)] if all(read) else []
        return rows

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
        elif isinstance(read, DividedRead):
            found = tuple(one.sql for one in self._divided(read))
        elif isinstance(read, DividedRowRead):
            drawn = replace(read, read=replace(read.read, least=_DRAWN))
            found = (divided_rows_statement(drawn, self.schemas, self.database.slots),)
        elif isinstance(read, CellRead):
            cells = self._cells(read)
            found = (cells.sql, *cells.later)
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
            rows = rows_of_table(reading, self.schema, self.records)
        else:
            rows = rows_of_join(reading, self.schemas, self.database.slots)
        if reading.centers:
            return squared_distances(reading, rows)
        return one_in_each_group(reading, rows) if reading.once else rows

    def _divided(self, reading: DividedRead) -> Sequence[CellStatement | HeldKeyStatement | TopStatement]:
        rows = divided_rows(reading, self.schemas, self.database.slots)
        return divided_statements(reading, rows)

    def _handed_out(self, sql: str, schema: Schema) -> tuple[Any, Any]:
        found = self._run(sql, lambda statement, tables: self.database.arrow(statement, tables, schema))
        return found.select(list(range(found.num_columns - 1))), found.column(found.num_columns - 1)

    def _mass_statement(self, reading: KeyMassRead) -> MassStatement:
        if reading.unit is None or reading.unit.join is None:
            return mass_statement(reading, self.schema, self.records)
        return joined_mass_statement(reading, self.schemas, self.database.slots)
