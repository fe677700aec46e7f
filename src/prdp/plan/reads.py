"""What must be read of the records to answer a query, and what one reading can serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prdp.cells.owners import PerUnit, UnitCells
from prdp.cells.summary import KeySummary, Summary, TopSummary
from prdp.plan.queries import Measure


@dataclass(frozen=True, slots=True)
class Keys:
    """A column whose different values are to be told apart."""

    column: str


@dataclass(frozen=True, slots=True)
class Tops:
    """A column whose different values are to be found at the highest levels of their records."""

    column: str


@dataclass(frozen=True, slots=True)
class ByLevel:
    """Cells of a measured column, or counts, whose budgets must be told by level.

    A shortcut may take a budget for somewhat smaller than its level, which costs little where budgets are
    added up, but moves records across the edges of the paper's domains.
    """

    measure: Measure | None


Need = Measure | ByLevel | Keys | Tops | PerUnit | None
"""What must be read: cells of a measured column, what stands behind each value, units, or counts."""

Cells = Summary | KeySummary | TopSummary | UnitCells
"""What an engine finds for a need, in one group."""


def serves(read: Need, need: Need) -> bool:
    """Say whether what was read answers a need too: any cells can be counted, and squares be ignored."""
    if isinstance(read, ByLevel):
        return serves(read.measure, need.measure if isinstance(need, ByLevel) else need)
    if isinstance(read, Measure) and isinstance(need, Measure):
        return replace(read, squares=need.squares) == need and read.squares >= need.squares
    return read == need or (need is None and isinstance(read, Measure))


def shared_needs(needs: Sequence[Need]) -> dict[Need, Need]:
    """Return, for each thing that must be read, one reading for all that can share it.

    A count can be taken from any reading of cells, and squares come along where somebody needs them.
    """
    columns: dict[tuple[str, int], Measure] = {}
    for need in needs:
        if isinstance(need, Measure):
            known = columns.get((need.column, need.per_octave), need)
            columns[need.column, need.per_octave] = replace(need, squares=need.squares or known.squares)
    first = next(iter(columns.values()), None)
    return {
        need: columns[need.column, need.per_octave] if isinstance(need, Measure) else (need or first)
        for need in needs
    }
