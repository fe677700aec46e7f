"""Public upper bounds on value and budget per octave; for accuracy only.

An analyst need not listen to an octave in which all clients together could not be heard through the noise. No
record takes part, and the promise does not depend on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from prdp.cells.measure import Measure
from prdp.expressions.intervals import Interval, bound
from prdp.local.protocols.protocol import Terms
from prdp.local.protocols.summing import RatioGrid
from prdp.policy import Policy

_PIECES = 16


@dataclass(frozen=True, slots=True)
class Reach:
    """The largest value, in steps, and the largest budget that the policy allows in one octave."""

    value: float = 0.0
    budget: float = 0.0


@lru_cache(maxsize=64)
def reaches(policy: Policy, measure: Measure) -> tuple[Reach, ...]:
    """Return what a record of each octave of |value| / budget may have at most.

    Values are cut into pieces that are short on a logarithmic scale, and the policy is bounded over each
    one; columns that it reads besides count as unbounded.
    """
    levels = policy.levels
    ratios = RatioGrid(Terms(levels, Fraction(1)), measure)  # the share plays no part
    found = [Reach()] * ratios.count
    slope, grain = float(ratios.slope(0)), float(measure.grain)
    least, most = float(levels.at_least), float(levels.at_most)
    for low, high in _pieces(measure):
        budgets = bound(policy.expression, {measure.column: Interval(low * grain, high * grain)})
        if budgets.empty or budgets.high < least:
            continue
        smallest, largest = max(least, budgets.low) * 0.91, min(most, budgets.high)  # rounding costs 9 %
        ends = sorted((abs(low), abs(high)))
        first = _octave(ends[0] / largest / slope, ratios.count)
        for octave in range(first, _octave(ends[1] / smallest / slope, ratios.count) + 1):
            here = found[octave]
            found[octave] = Reach(max(here.value, ends[1]), max(here.budget, largest))
    return tuple(found)


def _octave(ratio: float, count: int) -> int:
    return max(0, min(count - 1, math.ceil(math.log2(ratio)))) if ratio > 0 else 0


def _pieces(measure: Measure) -> list[tuple[float, float]]:
    """Return the values other than zero in pieces that are short on a logarithmic scale."""
    steps = math.ceil(_PIECES * math.log2(measure.largest)) + 1
    edges = [2 ** (step / _PIECES) for step in range(steps + 1)]
    pieces = [(low, high) for low, high in pairwise(edges) if low <= measure.high]
    below = [(-high, -low) for low, high in pairwise(edges) if -low >= measure.low]
    return [(max(low, measure.low), min(high, measure.high)) for low, high in (*below, *pieces)]
