"""Owners that one statement has folded, held by the database until the question is answered.

A question about groups of owners looks twice: at what each owner adds in all, and at its groups once a
clipping point is drawn. Both looks need the owners, and to fold them is most of the work. What is held is no
more than the second statement would hold while it runs: it is in the same database, in no file but those
that DuckDB itself spills to, and dropped when the question is answered or has failed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from prdp.cells.owners import Look
from prdp.cells.summary import Summary
from prdp.engines._owner_statements import OwnerStatements
from prdp.engines._owners import OwnerStatement, all_in_order, folded_owners, scaled_together
from prdp.errors import EngineFailure
from prdp.plan.reads import OwnerRead

SecondLook = Callable[[Sequence[Look]], Sequence[tuple[int, ...]]]
"""Returns, for several looks, each group's totals."""

HELD = "prdp_owners"
"""What tables of held owners are called; those that are made have a number besides."""

_RECENTLY = 2 * 10**9
"""A file that was written less than so many nanoseconds ago may be written again at the same time of its."""


def unchanged(files: Iterable[str]) -> Callable[[], object]:
    """Return what tells whether files are still the ones that they were: None where that cannot be told.

    Nothing of a record is looked at: which files, how long, and when somebody wrote to them.
    """
    listed = tuple(files)

    def told() -> object:
        with suppress(OSError):
            facts = [os.stat(file) for file in listed]
            if max(fact.st_mtime_ns for fact in facts) + _RECENTLY < time.time_ns():
                return tuple(
                    (fact.st_dev, fact.st_ino, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns)
                    for fact in facts
                )
        return None

    return told


@dataclass(frozen=True, eq=False)
class HeldOwners:
    """What folds owners once for both looks, as long as the source stays as it is.

    Where that cannot be told, and where it has changed between the looks, the second statement folds the
    rows that it reads itself: no owner may count for more than its cap of what is there then.

    Attributes:
        told: Says by what the source's content is known; None where nothing tells.
        held: The tables that are held now.
    """

    told: Callable[[], object]
    held: set[str] = field(default_factory=set)
    numbers: count[int] = field(default_factory=count)

    def holds(self, reading: OwnerRead) -> bool:
        """Say whether owners are held between two looks: by public facts of the read and of the source."""
        return reading.adds_only and self.told() is not None

    def fold(
        self, engine: OwnerStatements, reading: OwnerRead, rows: str
    ) -> tuple[tuple[tuple[Summary, Summary], ...], SecondLook]:
        """Return the cells of owners that an engine's statements fold, and the second look at them."""
        before, name = self.told(), f"{HELD}_{next(self.numbers)}"
        self.held.add(name)
        engine.rows_of(f"CREATE TEMP TABLE {name} AS {folded_owners(reading, rows)}")
        statement = OwnerStatement.of_held(reading, name)
        found = statement.summaries(engine.columns(statement.sql))

        def look(looks: Sequence[Look]) -> Sequence[tuple[int, ...]]:
            if name in self.held:
                with suppress(EngineFailure):  # another thread may have let go of it
                    totals = engine.rows_of(scaled_together(reading, rows, looks, name))
                    if before is not None and self.told() == before:
                        return all_in_order(reading, totals, len(looks))
            return engine.scale_together(reading, looks)

        return found, look

    def shown(self, reading: OwnerRead, rows: str) -> tuple[str, ...]:
        """Return the statements of the first look, for people."""
        fold = f"CREATE TEMP TABLE {HELD} AS {folded_owners(reading, rows)}"
        return fold, OwnerStatement.of_held(reading, HELD).sql

    def let_go(self, engine: OwnerStatements) -> None:
        """Drop what is held; what cannot be dropped now is dropped the next time."""
        for name in tuple(self.held):
            with suppress(EngineFailure):
                engine.rows_of(f"DROP TABLE IF EXISTS {name}")
                self.held.discard(name)
