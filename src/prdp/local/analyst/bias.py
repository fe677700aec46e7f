"""Bound how far what was cut or left out has pulled a sum, by the rounds that chose the cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Above:
    """What lies in one octave of |value| / budget above the cut, as reports say it.

    Of values that were cut, reports say a size: they pull the sum by at most ``amount`` · (end - 1). Of
    values that were left out, they say the sum, which has a sign. Both but for the noise in ``amount``.

    Attributes:
        end: The octave's upper end, in multiples of the cut.
        amount: What the octave's budget is worth at the cut: an estimate that may be too high, never too low
            but for noise. Of an octave that was left out: its sum.
        deviation: The standard deviation of its noise.
        left_out: Whether ``amount`` is the sum of all values in the octave, none of which is in the answer.
    """

    end: float
    amount: float
    deviation: float
    left_out: bool = False

    def weight(self, tail_factor: float) -> float:
        """Return by what ``amount`` counts for values up to ``tail_factor`` times the cut.

        A sum counts in whole or not at all: how much of it lies below the reach, nobody has said.

        >>> Above(4.0, 9.0, 1.0).weight(3.0), Above(4.0, 9.0, 1.0, left_out=True).weight(3.0)
        (2.0, 1.0)
        """
        if self.end / 2 >= tail_factor:
            return 0.0
        return 1.0 if self.left_out else max(0.0, min(self.end, tail_factor) - 1)


def pulled(octaves: Sequence[Above], tail_factor: float) -> tuple[float, float]:
    """Return how far values up to ``tail_factor`` times the cut pull a sum at most, and its deviation.

    >>> pulled([Above(2.0, 10.0, 3.0), Above(4.0, -1.0, 1.0)], tail_factor=4)  # 10 · 1 - 1 · 3
    (7.0, 4.242640687119285)
    """
    weighed = [(octave, octave.weight(tail_factor)) for octave in octaves]
    total = math.fsum(octave.amount * weight for octave, weight in weighed if weight)
    return total, math.hypot(*(octave.deviation * weight for octave, weight in weighed if weight))


def ends_of(
    value: float, deviation: float, octaves: Sequence[Above], tail_factor: float, z: float, *, signed: bool
) -> tuple[float, float]:
    """Return the ends of an interval for the sum of values up to ``tail_factor`` times the cut.

    Where no value is below zero, that is noise below the answer, and noise and pull above. Of values of both
    signs, what was cut may have pulled either way; what was left out has the sign of its sum.

    >>> ends_of(100.0, 3.0, [Above(2.0, 10.0, 4.0)], 2.0, 2.0, signed=False)
    (94.0, 120.0)
    >>> ends_of(100.0, 3.0, [Above(2.0, 10.0, 4.0)], 2.0, 2.0, signed=True)
    (80.0, 120.0)
    >>> ends_of(100.0, 3.0, [Above(2.0, -10.0, 4.0, left_out=True)], 2.0, 2.0, signed=True)
    (80.0, 106.0)
    """
    pull, own = pulled(octaves, tail_factor)
    noise, both = z * deviation, z * math.hypot(deviation, own)
    high = value + max(noise, pull + both)
    if not signed:
        return value - noise, high
    down = pull if any(octave.left_out for octave in octaves) else -pull
    return value + min(-noise, down - both), high
