"""Cache the rows of units that one statement has read, until a query is answered.

A question about groups of units looks twice: at what each unit adds in all, and at its groups once a
clipping point is drawn. Who is above its cap and what is added up must come from the same rows, and nothing
tells reliably that a file has not changed between two reads: so it is read once, into a table of the same
database, in no file but those that DuckDB itself spills to. What a question's own thread has made is dropped
when the question is answered or has failed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from prdp.cells.summary import Summary
from prdp.cells.units import Look
from prdp.engines.database import Rows
from prdp.engines.explain import later_together
from prdp.engines.progress import untold, watched
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.unit_totals import UnitStatement, all_in_order, folded_units, scaled_together
from prdp.errors import EngineFailure
from prdp.plan.reads import UnitRead

SecondLook = Callable[[Sequence[Look]], Sequence[tuple[int, ...]]]
"""Returns, for several looks, each group's totals."""

_ROWS, _UNITS = "prdp_rows", "prdp_owners"
"""What tables of held rows and units are called; those that are made have a number besides."""


class StatementRunner(Protocol):
    """Runs statements of DuckDB's SQL."""

    def columns(self, sql: str) -> Arrays:
        """Return a statement's columns as arrays."""

    def rows_of(self, sql: str) -> Rows:
        """Return a statement's rows."""


@dataclass(frozen=True, eq=False)
class UnitCache:
    """What reads a source once for both looks at its units; threads may share it.

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
        """Say whether rows are held between two looks: by public facts of the read and of the source."""
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
        with untold(), self.lock:
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
