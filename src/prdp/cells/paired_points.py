"""Clipping in one total, given the threshold of another; by policy and bounds alone.

Where budgets only fall as values grow, a clipping point of a sum is a value: up to there records count in
full. Counts and squares of the same records may then be clipped at that value as well. Privacy never depends
on it: every point is as private as any other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from prdp.cells.cell import magnitude_key, magnitudes
from prdp.cells.measure import Measure
from prdp.cells.ratios import quanta_within
from prdp.expressions.intervals import Interval
from prdp.levels import Levels
from prdp.policy import Policy

_MAX_CELLS = 4096
"""Beyond so many magnitudes it would take longer than it is worth."""


@dataclass(frozen=True, slots=True)
class RecordKind:
    """The records of one magnitude, as far as policy and bounds tell them.

    Attributes:
        low: The least value, in rounding steps.
        high: The greatest one.
        least: The least budget that a cell of theirs can have, in quanta.
        most: The greatest one.
    """

    low: int
    high: int
    least: int
    most: int

    def square(self, center: Fraction) -> Fraction:
        """Return the largest squared distance from a center, in squared rounding steps."""
        return max(abs(self.low - center), abs(self.high - center)) ** 2


@dataclass(frozen=True, slots=True)
class PairedPoints:
    """All kinds of records that there can be, from the smallest values to the largest; budgets only fall.

    Attributes:
        kinds: The kinds.
        quantum: What a quantum of budget is worth.
    """

    kinds: tuple[RecordKind, ...]
    quantum: Fraction

    @classmethod
    def of(cls, policy: Policy, levels: Levels, measure: Measure | None) -> PairedPoints | None:
        """Return the pairs of a measured column; None where the policy does not tell them.

        It does where it reads that column alone, where values are not negative, and where no larger value
        has a larger budget.

        >>> policy = Policy("10000 / greatest(v, 100)", at_most=100, at_least="0.01")
        >>> pairs = PairedPoints.of(policy, policy.levels, Measure("v", Fraction(1), 0, 10**6))
        >>> round(float(pairs.counted(Fraction(10**6))), 1)  # v / E is 10^6 at v = 10^5, where 1 / E is 10
        9.9
        """
        if measure is None or measure.expression is not None or measure.low < 0:
            return None
        return _found(policy, levels, measure) if policy.columns == {measure.column} else None

    def counted(self, point: Fraction) -> Fraction:
        """Return the point of a count at which whoever counts in full in the sum does so too.

        Args:
            point: That of the sum, in rounding steps for each unit of budget.
        """
        sure, perhaps = self._whole(point)
        known = self.kinds[sure - 1].least if sure else self.kinds[0].most
        others = (point / kind.high for kind in self._beyond(sure, perhaps))
        return max(1 / (known * self.quantum), *others, Fraction(0))

    def squared(self, points: Sequence[Fraction], center: Fraction) -> list[Fraction]:
        """Return the same of squared distances from a center, in grains, for each of some rising points."""
        done, known = 0, 1 / (self.kinds[0].most * self.quantum)
        found = []
        for point in points:
            sure, perhaps = self._whole(point)
            squares = (kind.square(center) / kind.least for kind in self.kinds[done:sure])
            known = max(known, max(squares, default=Fraction(0)) / self.quantum)
            others = (kind.square(center) * point / kind.high for kind in self._beyond(sure, perhaps))
            found.append(max(known, *others, Fraction(0)))
            done = sure
        return found

    def _whole(self, point: Fraction) -> tuple[int, int]:
        """Return how many kinds, from the smallest values on, surely count in full, and how many may."""
        worth = point * self.quantum
        sure = bisect_right(self.kinds, worth, key=lambda kind: Fraction(kind.high, kind.least))
        return sure, bisect_right(self.kinds, worth, key=lambda kind: Fraction(kind.high, kind.most))

    def _beyond(self, sure: int, perhaps: int) -> Sequence[RecordKind]:
        """Return the kinds of which some may count in full, those above the bounds as the last one.

        A record that does has a budget of its value over the sum's point at least.
        """
        last = self.kinds[-1:] if perhaps == len(self.kinds) and self.kinds[-1].high else ()
        return (*self.kinds[sure:perhaps], *last)


@lru_cache(maxsize=64)
def _found(policy: Policy, levels: Levels, measure: Measure) -> PairedPoints | None:
    codes: list[int] = []
    pieces: list[Interval] = []
    round_to = float(measure.round_to)
    for code, first, last in magnitudes(measure.low, measure.high, measure.per_octave):
        near, far = max(first - 1, measure.low), min(last + 1, measure.high)  # values are rounded to grains
        codes.append(code)
        pieces.append(Interval(near * round_to, far * round_to))
    found = quanta_within(policy, levels, measure.column, pieces)
    kinds: list[RecordKind] = []
    for code, quanta in zip(codes, found, strict=True):
        if quanta is not None:
            key = magnitude_key(0, code, measure.largest, measure.per_octave)
            kinds.append(RecordKind(key.low, key.high, *quanta))
    if len(kinds) > _MAX_CELLS:
        return None
    falls = all(above.least <= below.least and above.most <= below.most for below, above in pairwise(kinds))
    return PairedPoints(tuple(kinds), levels.quantum) if kinds and falls else None
