"""The least budget of records that contribute much, from the policy and the public bounds alone.

Found by interval arithmetic; no record takes part. Only accuracy depends on it, never privacy.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from prdp.cells.cell import magnitudes
from prdp.cells.interval_columns import Intervals, bound_each
from prdp.cells.measure import Measure
from prdp.expressions.intervals import Interval
from prdp.levels import Levels
from prdp.policy import Policy, ranges_of
from prdp.schema import Bounds

_DOUBLE_SLACK = 2.0**-30  # covers the last places of an engine's logarithm: proofs/lemmas.md

Ends = tuple[tuple[str, tuple[Fraction, Fraction]], ...]
Least = tuple[tuple[int, int], ...]
"""Upper ends of magnitude cells, ascending, each with the least quanta of records that reach into its cell
or further; those do not fall."""


def least_budgets(
    policy: Policy, levels: Levels, bounds: Bounds, measure: Measure, *, rounded: bool = True
) -> Least:
    """Return the least budgets, in quanta, by what records within the bounds contribute.

    ``rounded`` says whether a value may be half a rounding step away from what is added up.

    >>> policy, ends = Policy("v / 4", at_least="1/4", at_most=2), {"v": (Fraction(1), Fraction(8))}
    >>> found = least_budgets(policy, policy.levels, ends, Measure("v", Fraction(1), 1, 8, per_octave=1),
    ...                       rounded=False)
    >>> [(end, quanta * float(policy.levels.quantum) > 0.24) for end, quanta in found]
    [(1, True), (2, True), (4, True), (8, True)]
    """
    return _found(policy, levels, tuple(bounds.items()), measure, rounded)


@lru_cache(maxsize=64)
def _found(policy: Policy, levels: Levels, bounds: Ends, measure: Measure, rounded: bool) -> Least:
    ranges = ranges_of(dict(bounds))
    half = float(measure.round_to) / 2 if rounded else 0.0
    cells = [cell for cell in magnitudes(measure.low, measure.high, measure.per_octave) if cell[0]]
    boxes = {name: Intervals.all(ends, len(cells)) for name, ends in ranges.items() if name in policy.columns}
    if measure.expression is None:
        edges = [
            (float(first * measure.round_to), float(last * measure.round_to)) for _, first, last in cells
        ]
        boxes[measure.column] = Intervals.of([Interval(low - half, high + half) for low, high in edges])
    budgets = bound_each(policy.expression, boxes, len(cells))
    low = np.maximum(budgets.low, levels.least)
    quanta = levels.quanta_each(np.maximum(low * (1 - _DOUBLE_SLACK), levels.least).tolist())
    of_end: dict[int, int] = {}
    for (_, first, last), least, some in zip(cells, quanta, (low <= budgets.high).tolist(), strict=True):
        if some:
            end = max(abs(first), abs(last))
            of_end[end] = min(least, of_end.get(end, least))
    found: list[tuple[int, int]] = []
    least = levels.quanta(levels.top)
    for end in sorted({*of_end, measure.largest}, reverse=True):
        least = min(least, of_end.get(end, least))
        found.append((end, least))
    return tuple(reversed(found))
