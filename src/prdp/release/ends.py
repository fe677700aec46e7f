"""The ends of an interval, from an answer's number and from what is said of it: of one answer or of many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from prdp.release.shown import FAR
from prdp.release.strays import Strays, WholeStrays

Ends = tuple[Fraction, Fraction]
"""The low and the high end; ``ENDLESS`` away where there is none."""

Exact = Fraction | int

ENDLESS = Fraction(10) ** 400
"""Further than any answer that bounds allow: an end that far away is no end."""

_ENDLESS_HALF = ENDLESS / 2


@dataclass(frozen=True, slots=True)
class Around:
    """Where the ends lie around an answer that noise was added to, whatever its number is.

    Attributes:
        strays: How far from the answer the truth may lie.
        step: What one step is worth.
        sign: The sign that the truth has, unless it is zero; 0 for any.
    """

    strays: Strays
    step: Fraction
    sign: int = 0

    def ends(self, steps: int) -> Ends:
        """Return the ends around an answer of so many steps, which lies within them.

        >>> around = Around(Strays(Fraction(3), None), step=Fraction(1, 2), sign=1)
        >>> around.ends(10)[0], around.ends(2)[0], around.ends(2)[1] == ENDLESS
        (Fraction(7, 2), Fraction(0, 1), True)
        """
        (low, high), unit = self.whole.ends(steps), self.unit
        return -ENDLESS if low is None else low * unit, ENDLESS if high is None else high * unit

    @property
    def whole(self) -> WholeAround:
        """The same in whole numbers: many answers are looked at without a fraction for each."""
        return WholeAround(self.strays.whole, self.sign)

    @property
    def unit(self) -> Fraction:
        """What ends are whole numbers of: a part of a step."""
        return self.step / self.strays.whole.parts


@dataclass(frozen=True, slots=True)
class WholeAround:
    """``Around`` in whole numbers: parts of a step, as many as ``strays`` says."""

    strays: WholeStrays
    sign: int

    def ends(self, steps: int) -> tuple[int | None, int | None]:
        """Return the ends around an answer of so many steps, in parts; None where there is none."""
        low, high = self.strays.around(steps)
        at = steps * self.strays.parts
        if self.sign > 0:
            low = min(0, at) if low is None else max(low, min(0, at))
            high = None if high is None else max(high, 0)
        elif self.sign < 0:
            high = max(0, at) if high is None else min(high, max(0, at))
            low = None if low is None else min(low, 0)
        return low, high


@dataclass(frozen=True, slots=True)
class Horizon:
    """Up to where ends are shown: one that lies further away than twice the answer may not be.

    Attributes:
        limits: The public limits of an answer that was computed from parts: an end there is always shown.
        below: Whether the low end leaves records aside, for which the answer's size is a measure.
        above: Whether the high end does.
    """

    limits: Ends
    below: bool
    above: bool

    def shown(self, exact: Fraction, ends: Ends) -> Ends:
        """Return the ends that are shown around an answer.

        >>> horizon = Horizon((-ENDLESS, ENDLESS), below=False, above=True)
        >>> horizon.shown(Fraction(5), (Fraction(-20), Fraction(16)))[1] == ENDLESS  # 16 > 5 + 2 · 5
        True
        """
        if not self.below and not self.above:
            return ends
        low, high = ends
        down, up = self.beyond(exact, low, high)
        return (
            -ENDLESS if down and self.limits[0] < low else low,
            ENDLESS if up and high < self.limits[1] else high,
        )

    def beyond(
        self, exact: Fraction | int, low: Fraction | int | None, high: Fraction | int | None
    ) -> tuple[bool, bool]:
        """Say whether ends lie too far away from an answer; all in the same unit, whatever that is."""
        far = FAR * max(exact, -exact)
        down = self.below and low is not None and low < exact - far
        return down, self.above and high is not None and exact + far < high


def as_number(exact: Fraction) -> float:
    """Return an end as a whole number where it is one, else as a float."""
    return int(exact) if exact.denominator == 1 and abs(exact) < _ENDLESS_HALF else as_float(exact)


def as_float(exact: Fraction) -> float:
    """Return an end as a float; one that is ``ENDLESS`` away is infinite."""
    if abs(exact) >= _ENDLESS_HALF:
        return math.inf if exact > 0 else -math.inf
    return float(exact)
