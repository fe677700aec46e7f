"""The shortcut for a policy of one whole-number column: its magnitude tells the budget.

A cheaper statement with the same promise (Lemma 7 of the proofs). Whether it applies depends on the
policy, the bounds and the column's type alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from prdp.cells.cell import magnitudes
from prdp.engines._column_types import fits_64_bits
from prdp.expressions.intervals import Interval, bound, outcome
from prdp.grids import PER_OCTAVE
from prdp.levels import Levels
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.schema import Schema

_FARTHEST = 2**53 - 2
"""Beyond, the next whole number may be the same double."""

_WIDEST = 2 ** (2 / PER_OCTAVE)
"""The most by which budgets inside one cell may differ: a magnitude step, and a step to spare."""


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """The budget of each magnitude of the policy's only column.

    Attributes:
        column: The column.
        low: The least value of a record that takes part; the statement skips records below, which the policy
            leaves out.
        high: The greatest one; likewise.
        codes: The magnitude codes of the public bounds: what lies beyond is moved to them.
        quanta: For each magnitude code that takes part, its budget in quanta.
        grain: What one step of the column is worth: always 1.
    """

    column: str
    low: int
    high: int
    codes: tuple[int, int]
    quanta: Mapping[int, int] = field(repr=False)
    grain: Fraction = Fraction(1)

    @classmethod
    def of(cls, reading: CellRead, schema: Schema) -> OwnColumn | None:
        """Return the shortcut for a reading, or None where it needs two keys."""
        column = _only_column(reading, schema)
        if column is None:
            return None
        low, high = (int(end) for end in reading.bounds[column])
        codes = [code for code, _, _ in magnitudes(low, high)]
        low, high = _reached(low, high, reading.levels.below)
        quanta = _budgets(reading.policy, reading.levels, column, low, high)
        return None if quanta is None else cls(column, low, high, (min(codes), max(codes)), quanta)


def _reached(low: int, high: int, octaves: int) -> tuple[int, int]:
    """Return the ends of bounds that are so many octaves wider, and still within what a column can hold."""
    room = (2**octaves - 1) * max(abs(low), abs(high), 1)
    return max(low - room, -_FARTHEST), min(high + room, _FARTHEST)


@lru_cache(maxsize=64)
def _budgets(policy: Policy, levels: Levels, column: str, low: int, high: int) -> Mapping[int, int] | None:
    """Return the budget of each magnitude that takes part, or None where one can't be told.

    Kept, because every question about a table needs it again.
    """
    if not _left_out_beyond(policy, levels, column, low, high):
        return None
    quanta: dict[int, int] = {}
    for code, first, last in magnitudes(low, high):
        budget = _cell_budget(policy, levels, column, Interval(float(first), float(last)))
        if budget is None:
            return None
        if budget:
            quanta[code] = budget
    return quanta


def _only_column(reading: CellRead, schema: Schema) -> str | None:
    """Return the column that the policy reads, if it is the only one and fits."""
    if len(reading.policy.columns) != 1:
        return None
    (column,) = reading.policy.columns
    measure = reading.measure
    if measure is not None and (measure.column, measure.grain, measure.per_octave) != (
        column,
        Fraction(1),
        PER_OCTAVE,
    ):
        return None
    if not fits_64_bits(schema[column]) or column not in reading.bounds:
        return None
    if any(end.denominator != 1 or abs(end) >= 2**63 for end in reading.bounds[column]):
        return None
    return column


def _left_out_beyond(policy: Policy, levels: Levels, column: str, low: int, high: int) -> bool:
    """Say whether the policy provably leaves out every record beyond the bounds."""
    beyond = (Interval(-math.inf, float(low - 1)), Interval(float(high + 1), math.inf))
    if float(low - 1) >= low or float(high + 1) <= high:
        return False  # beyond 2^53 the neighbouring double may be the bound itself
    ranges = (bound(policy.expression, {column: interval}) for interval in beyond)
    return all(budgets.empty or budgets.high < levels.least for budgets in ranges)


def _cell_budget(policy: Policy, levels: Levels, column: str, values: Interval) -> int | None:
    """Return a cell's budget in quanta, 0 if all of it is left out, None if that is not clear."""
    given = outcome(policy.expression, {column: values})
    budgets = given.values
    if budgets.empty or budgets.high < levels.least:
        return 0
    if budgets.low < levels.least or not given.total:
        return None
    most = float(levels.at_most)
    if min(budgets.high, most) > min(budgets.low, most) * _WIDEST:
        return None
    return levels.quanta_below(budgets.low)
