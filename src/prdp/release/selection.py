"""Confidence of a chosen value: what the law that it was drawn by says of the true one. All of it is public.

A value that was chosen among public candidates has no noise whose spread could be added to it. What is known
instead is how unlikely the draw was if the truth lay far away. In full: proofs/choice.md and proofs/rank.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from prdp.noise.spread import log, one_sided
from prdp.release.bias import Clipping

Ends = tuple[int | None, int | None]
"""The low and the high end, in steps; None where there is none."""

_CLOSE = 1 - 2.0**-29


class Knot(NamedTuple):
    """A value, and how far the log-weight of candidates fell on the way from it to the answer."""

    fall: Fraction
    value: int


@dataclass(frozen=True, slots=True)
class Overshoot:
    """A largest or smallest value: how far it may lie beyond the true one.

    Its interval is one-sided. Nothing private bounds how far outward a few records may lie that have too
    little budget to be seen.

    Attributes:
        knots: From the answer inward; between two of them the log-weight falls evenly in the logarithm.
        further: The same for the choice before, which decided how far inward there was anything to choose.
        window: The log-weight of that choice up to which the knots hold.
        lowest: Whether it is a smallest value.
    """

    knots: tuple[Knot, ...]
    further: tuple[Knot, ...]
    window: Fraction
    lowest: bool

    @property
    def meaning(self) -> str:
        """What is to be said of the interval: nothing, as its open end says it."""
        return ""

    def between(self, failure: Fraction) -> Ends:
        """Return the ends between which the true value lies, but for this probability.

        >>> knots = Knot(Fraction(0), 1024), Knot(Fraction(12), 512)
        >>> over = Overshoot(knots, (), window=Fraction(8), lowest=False)
        >>> over.between(Fraction(1, 20))  # ln(40) / 12 of an octave below the answer
        (827, None)
        """
        fall = Fraction(log(2 / failure))
        end = self._end(self.knots, fall) if fall <= self.window else self._end(self.further, fall)
        return (None, end) if self.lowest else (end, None)

    def _end(self, knots: tuple[Knot, ...], fall: Fraction) -> int | None:
        """Return the value at which the log-weight had fallen that much less, rounded inward."""
        for near, far in pairwise(knots):
            if far.fall >= fall:
                return self._inside(near, far, float((fall - near.fall) / (far.fall - near.fall)))
        return knots[-1].value if knots is self.knots else None

    def _inside(self, near: Knot, far: Knot, part: float) -> int:
        """Return a value between two knots; the far one where zero lies between them."""
        if near.value * far.value <= 0:
            return far.value
        size = abs(near.value) * (far.value / near.value) ** part
        signed = math.copysign(size, near.value)
        room = abs(signed) * (1 - _CLOSE)
        return math.ceil(signed + room) if self.lowest else math.floor(signed - room)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A quantile: the noisy weights of the records between some values around it.

    Attributes:
        quantile: Which part of the weight lies below the quantile.
        lows: For each edge between two weights, the least value above it, in steps; ascending.
        highs: The greatest value below it.
        weights: The noisy weights between the edges: one more than there are edges.
        scale: The scale of their noises.
        clipping: What is known of the weight that well protected records lack; None where none does.
    """

    quantile: Fraction
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    weights: tuple[int, ...]
    scale: Fraction
    clipping: Clipping | None = None

    @property
    def meaning(self) -> str:
        """What the interval says, in words; nothing where all records weigh the same."""
        return "" if self.clipping is None else "of the records as they were weighed, by their budgets"

    def between(self, failure: Fraction) -> Ends:
        """Return the ends between which the quantile of the weighed records lies, but for a probability."""
        return self._between(failure, Fraction(0))

    def of_all(self, failure: Fraction, tail_factor: Fraction) -> Ends:
        """Return the ends between which the quantile of the records lies when they all count alike.

        It holds where no record would weigh more than ``tail_factor`` times what it was allowed to.
        """
        lacking = Fraction(0) if self.clipping is None else self.clipping.pull(failure / 2, tail_factor)
        return (None, None) if lacking is None else self._between(failure / 2, lacking)

    def _between(self, failure: Fraction, lacking: Fraction) -> Ends:
        """Return the ends where records may lack so much weight.

        Edges are tested from the outermost inward, so that the first one that the truth does not allow
        is the only one at which chance can mislead (proofs/rank.md).
        """
        target = self.quantile * sum(self.weights)
        low = high = None
        below = 0
        excess = []
        for edge, weight in enumerate(self.weights[:-1]):
            below += weight
            excess.append((below - target, self._error_bound(edge + 1, failure / 2)))
        for edge, (over, error_bound) in enumerate(excess):
            if over + error_bound + (1 - self.quantile) * lacking >= 0:
                break
            low = self.lows[edge]
        for edge, (over, error_bound) in reversed(list(enumerate(excess))):
            if over - error_bound - self.quantile * lacking <= 0:
                break
            high = self.highs[edge]
        return low, high

    def _error_bound(self, below: int, failure: Fraction) -> Fraction:
        """Return how far noise moves what lies below an edge, less its target, at most."""
        above = len(self.weights) - below
        parts = ((below, 1 - self.quantile), (above, self.quantile))
        lattice = sum(count * part for count, part in parts)
        return Fraction(one_sided(parts, failure)) * self.scale + lattice
