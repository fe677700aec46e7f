"""How far what was cut or left out has pulled a sum toward zero at most, by the rounds that chose the cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Above:
    """What lies in one octave of value / budget above the cut, as reports say it.

    Values there pull the sum by at most ``amount`` · (end - 1), but for the noise in ``amount``.

    Attributes:
        end: The octave's upper end, in multiples of the cut.
        amount: What the octave's budget is worth at the cut: an estimate that may be too high, never too low
            but for noise.
        deviation: The standard deviation of its noise.
    """

    end: float
    amount: float
    deviation: float


def pulled(octaves: Sequence[Above], reach: float) -> tuple[float, float]:
    """Return how far values that end at ``reach`` times the cut pull a sum at most, and that one's deviation.

    >>> pulled([Above(2.0, 10.0, 3.0), Above(4.0, -1.0, 1.0)], reach=4)  # 10 · 1 - 1 · 3
    (7.0, 4.242640687119285)
    """
    rooms = [(octave, min(octave.end, reach) - 1) for octave in octaves if octave.end / 2 < reach]
    kept = [(octave, room) for octave, room in rooms if room > 0]
    total = math.fsum(octave.amount * room for octave, room in kept)
    return total, math.hypot(*(octave.deviation * room for octave, room in kept))


def ends_of(
    value: float, deviation: float, pull: tuple[float, float], z: float, *, signed: bool
) -> tuple[float, float]:
    """Return the ends of an interval for the sum itself: noise below it, noise and pull above.

    Of values of both signs, the pull may be either way.

    >>> ends_of(100.0, 3.0, (10.0, 4.0), 2.0, signed=False)
    (94.0, 120.0)
    """
    noise = z * deviation
    above = max(noise, pull[0] + z * math.hypot(deviation, pull[1]))
    return value - (above if signed else noise), value + above
