"""The least budget of records that contribute much, from the policy and the public bounds alone.

Found by interval arithmetic; no record takes part. Only accuracy depends on it, never privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from prdp.cells.cell import magnitudes
from prdp.cells.measure import Measure
from prdp.expressions.intervals import Interval, bound
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

    ``rounded`` says whether a value may be half a grain away from what is added up.

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
    half = float(measure.grain) / 2 if rounded else 0.0
    of_end: dict[int, int] = {}
    for code, first, last in magnitudes(measure.low, measure.high, measure.per_octave):
        if code == 0:
            continue
        end = max(abs(first), abs(last))
        if measure.expression is None:
            low, high = (float(edge * measure.grain) for edge in (first, last))
            ranges[measure.column] = Interval(low - half, high + half)
        quanta = _least(policy, levels, ranges)
        if quanta is not None:
            of_end[end] = min(quanta, of_end.get(end, quanta))
    found: list[tuple[int, int]] = []
    least = levels.quanta(levels.top)
    for end in sorted({*of_end, measure.largest}, reverse=True):
        least = min(least, of_end.get(end, least))
        found.append((end, least))
    return tuple(reversed(found))


def _least(policy: Policy, levels: Levels, ranges: dict[str, Interval]) -> int | None:
    """Return the least quanta of records in these ranges that take part; None where none do."""
    budgets = bound(policy.expression, ranges).meet(Interval(levels.least, math.inf))
    if budgets.empty:
        return None
    level = levels.index(max(budgets.low * (1 - _DOUBLE_SLACK), levels.least))
    return levels.quanta(level or 0)
