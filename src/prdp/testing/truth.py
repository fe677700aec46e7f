"""Compute true answers from cells, for experiments on public or made-up records alone."""

from __future__ import annotations

from fractions import Fraction

from prdp.cells.cell import Cell
from prdp.cells.owners import OwnerCells, OwnerGroups
from prdp.cells.summary import KeySummary, Summary, TopSummary
from prdp.plan.queries import Count, CountDistinct, Max, Mean, Min, Quantile, Std, Sum, Variance
from prdp.plan.steps import QueryPlan
from prdp.release.derived import root


def truths(plan: QueryPlan, cells: Summary | KeySummary | TopSummary | OwnerCells) -> list[Fraction]:  # noqa: PLR0911  (one return a query)
    """Return the true answers to a planned query, over the records that have a valid budget.

    Counts, sums, means and variances are exact. A maximum is the upper end of its range and
    a quantile the middle of its own, as their mechanisms would answer without noise.
    """
    query = plan.query
    if isinstance(cells, TopSummary | KeySummary):
        return [Fraction(cells.values.records if isinstance(cells, TopSummary) else cells.keys)]
    if isinstance(cells, OwnerCells):
        return _owner_truths(plan, cells)
    grain = plan.measure.grain if plan.measure else Fraction(1)
    valued = sorted(cells.valued().cells, key=_ends)
    count = sum(cell.count for cell in valued)
    total = sum(cell.total for cell in valued) * grain
    match query:
        case Count():
            return [Fraction(cells.records)]
        case Sum():
            return [total]
        case Mean():
            return [total / max(count, 1)]
        case Variance() | Std():
            squares = sum(cell.squares for cell in valued) * grain**2
            variance = squares / max(count, 1) - (total / max(count, 1)) ** 2
            return [variance if isinstance(query, Variance) else root(variance)]
        case Max():
            return [Fraction(_ends(valued[-1])[1] if valued else 0) * grain]
        case Min():
            return [Fraction(_ends(valued[0])[0] if valued else 0) * grain]
        case Quantile():
            parts = query.at if isinstance(query.at, tuple) else (query.at,)
            return [_quantile(valued, Fraction(part), count) * grain for part in parts]
        case _:
            raise TypeError(query)


def _owner_truths(plan: QueryPlan, cells: OwnerCells) -> list[Fraction]:
    """Return the true answers over the rows of owners: one, or one a group."""
    grain = plan.measure.grain if plan.measure else Fraction(1)
    if isinstance(plan.query, Max | Min) and isinstance(cells.totals, Summary):
        ends = [_ends(cell) for cell in cells.totals.cells] or [(0, 0)]
        highest, lowest = max(high for _, high in ends), min(low for low, _ in ends)
        return [(highest if isinstance(plan.query, Max) else lowest) * grain]
    if isinstance(plan.query, CountDistinct) and isinstance(cells.rows, Summary):
        return [Fraction(cells.rows.records)]
    totals, rows = (_added_up(found) for found in (cells.totals, cells.rows))
    if isinstance(plan.query, Mean):
        return [total * grain / max(count, 1) for total, count in zip(totals, rows, strict=True)]
    return [total * grain for total in totals]


def _added_up(found: Summary | OwnerGroups) -> tuple[int, ...]:
    return found.unclipped() if isinstance(found, OwnerGroups) else (sum(cell.total for cell in found.cells),)


def _ends(cell: Cell) -> tuple[int, int]:
    low, high = sorted((cell.key.sign * cell.key.low, cell.key.sign * cell.key.high))
    return low, high


def _quantile(valued: list[Cell], part: Fraction, count: int) -> Fraction:
    below = 0
    for cell in valued:
        below += cell.count
        if below >= part * count:
            return Fraction(sum(_ends(cell)), 2)
    return Fraction(0)
