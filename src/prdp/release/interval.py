"""The ends of an interval, from an answer's number and from what is said of it: of one answer or of many."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from prdp.release.error_bounds import ErrorBounds, WholeEnds
from prdp.release.formatting import FAR

Ends = tuple[Fraction, Fraction]
"""The low and the high end; ``ENDLESS`` away where there is none."""

Exact = Fraction | int

ENDLESS = Fraction(10) ** 400
"""Further than any answer that bounds allow: an end that far away is no end."""

_ENDLESS_HALF = ENDLESS / 2

_NEARLY_ALL = Fraction(9, 10)


@dataclass(frozen=True, slots=True)
class Around:
    """Where the ends lie around an answer that noise was added to, whatever its number is.

    Attributes:
        error_bounds: How far from the answer the truth may lie.
        step: What one step is worth.
        sign: The sign that the truth has, unless it is zero; 0 for any.
    """

    error_bounds: ErrorBounds
    step: Fraction
    sign: int = 0

    def ends(self, steps: int) -> Ends:
        """Return the ends around an answer of so many steps, which lies within them.

        >>> around = Around(ErrorBounds(Fraction(3), None), step=Fraction(1, 2), sign=1)
        >>> around.ends(10)[0], around.ends(2)[0], around.ends(2)[1] == ENDLESS
        (Fraction(7, 2), Fraction(0, 1), True)
        """
        (low, high), unit = self.in_parts(steps), self.unit
        return -ENDLESS if low is None else low * unit, ENDLESS if high is None else high * unit

    @property
    def in_parts(self) -> Callable[[int], WholeEnds]:
        """The function from an answer's steps to its ends, in whole numbers of ``unit``."""
        return self.error_bounds.around(self.sign)

    @property
    def unit(self) -> Fraction:
        """The part of a step that ends are whole numbers of."""
        return self.step / self.error_bounds.parts


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


def spans_limits(ends: Ends, limits: Ends) -> bool:
    """Say whether an interval spans nearly all that the public limits allow, so that it tells nothing new.

    >>> limits = Fraction(0), Fraction(100)
    >>> [spans_limits((Fraction(low), Fraction(100)), limits) for low in (0, 2, 20)]
    [True, True, False]
    """
    room = limits[1] - limits[0]
    return room > 0 and ends[1] - ends[0] >= _NEARLY_ALL * room


def as_number(exact: Fraction) -> float:
    """Return an end as a whole number where it is one, else as a float."""
    return int(exact) if exact.denominator == 1 and abs(exact) < _ENDLESS_HALF else as_float(exact)


def as_float(exact: Fraction) -> float:
    """Return an end as a float; one that is ``ENDLESS`` away is infinite."""
    if abs(exact) >= _ENDLESS_HALF:
        return math.inf if exact > 0 else -math.inf
    return float(exact)
