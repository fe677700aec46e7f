"""Records on the lower edges of levels: where rounding a budget down gives nothing away.

Inside a level, a record is promised more than its level's budget, and up to 8 % too little noise goes
unnoticed. On the edge it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from prdp.cells.summary import KeySummary, Summary, TopSummary
from prdp.cells.units import UnitGroups
from prdp.levels import Levels

Record = Mapping[str, Any]
BudgetOf = Callable[[Record], float]
WithBudget = Callable[[Record, float], Record | None]

_NEAR = 1e-6
_HALVINGS = 200


def levels_of(summary: Summary | KeySummary | TopSummary | UnitGroups) -> Levels:
    """Return the grid that the budgets of a summary were rounded down to."""
    if isinstance(summary, UnitGroups):
        return summary.summary.levels
    return summary.records.levels if isinstance(summary, TopSummary) else summary.levels


@lru_cache(maxsize=4096)
def lower_edge(levels: Levels, level: int) -> float:
    """Return the least budget that is rounded down to a level.

    >>> from fractions import Fraction
    >>> levels = Levels(Fraction(1), Fraction(4))
    >>> lower_edge(levels, 0), round(lower_edge(levels, 8), 6)
    (1.0, 2.0)
    """
    low, high = levels.least, 2 * float(levels.at_most)
    if levels.index(low) == level:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = levels.index(middle)
        low, high = (middle, high) if below is None or below < level else (low, middle)
    return high


def with_budget(record: Record, budget: float, budget_of: BudgetOf) -> Record | None:
    """Return a record that differs in one number and has just this budget; None if no number is enough.

    It is found where a column holds the budget, or where the budget is in proportion to a number, or in
    inverse proportion.
    """
    own = budget_of(record)
    for name, value in record.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not own:
            continue
        for number in (budget, value * budget / own, value * own / budget):
            changed = {**record, name: number}
            if budget <= budget_of(changed) <= budget * (1 + _NEAR):
                return changed
    return None


def on_edges(
    records: Sequence[Record], levels: Levels, budget_of: BudgetOf, changed: WithBudget, stride: int = 1
) -> Iterator[Record]:
    """Yield each record that takes part on the lower edge of every level, or of every so many."""
    for record in records:
        if budget_of(record) > 0:
            edges = (lower_edge(levels, level) for level in range(0, levels.top + 1, stride))
            yield from (found for edge in edges if (found := changed(record, edge)) is not None)
