"""An answer in other units: times one public number, plus another."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from prdp.release import shown
from prdp.release.number import NumberLike, _fraction
from prdp.release.release import Release

_ONLY_TO_ZERO = "only pull it toward zero"
_ONE_WAY = re.compile(f"{_ONLY_TO_ZERO}|only lower it|only raise it")


@dataclass(frozen=True, slots=True, repr=False)
class MovedRelease(NumberLike):
    """A release, times a public number, plus another; its interval has moved along.

    >>> people = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip", "")
    >>> print(people / 1000)
    count / 1000: 1.042 ± 0.300 (95 %; share 1/10, clip)
    >>> (2 * people - 84).value, (2 * people - 84).interval()
    (2000, (1400, 2600))

    Attributes:
        release: What was released.
        times: What it is multiplied by.
        plus: What is added then.
    """

    release: Release
    times: Fraction = Fraction(1)
    plus: Fraction = Fraction(0)

    @property
    def exact(self) -> Fraction:
        """The answer as an exact fraction."""
        return self.release.exact * self.times + self.plus

    @property
    def value(self) -> int | float:
        """The answer, as an int where it is whole."""
        return int(self.exact) if self.exact.denominator == 1 else float(self.exact)

    @property
    def whole(self) -> bool:
        """Whether the truth is a whole number."""
        return self.release.whole and self.times.denominator == 1 == self.plus.denominator

    def interval(
        self, level: float | Fraction | str = 0.95, *, reach: float | Fraction | str | None = None
    ) -> tuple[float, float]:
        """Return the release's interval, moved along."""
        ends = [self._moved(end) for end in self.release.interval(level, reach=reach)]
        return min(ends), max(ends)

    def _moved(self, end: float) -> float:
        if math.isinf(end):
            return end if self.times > 0 else -end
        moved = Fraction(end) * self.times + self.plus
        return int(moved) if moved.denominator == 1 else float(moved)

    def moved(self, times: object, plus: object) -> MovedRelease:
        """Return the answer times one number plus another."""
        by, more = _fraction(times), _fraction(plus)
        return MovedRelease(self.release, self.times * by, self.plus * by + more)

    @property
    def question(self) -> str:
        """What was asked, and what was done to it."""
        return self.release.question + _words(self.times, self.plus)

    @property
    def share(self) -> Fraction:
        """The part of every record's budget that it used."""
        return self.release.share

    @property
    def method(self) -> str:
        """Which mechanism answered."""
        return self.release.method

    @property
    def caveat(self) -> str:
        """What else than noise may have moved the release, and which way that moves this."""
        return moved_caveat(self.release, (self.times, self.plus))

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """What the mechanism chose on the way."""
        return self.release.choices

    @property
    def simulated(self) -> bool:
        """Whether it protects nobody."""
        return self.release.simulated

    @property
    def even(self) -> bool:
        """Whether the answer is the middle of its interval, because nothing can be clipped or dropped."""
        return self.release.even

    @property
    def kind(self) -> str:
        """What the interval is."""
        return self.release.kind

    @property
    def flag(self) -> str:
        """What is wrong with the release, if anything is."""
        return self.release.flag

    @property
    def condition(self) -> str:
        """What the interval leaves aside."""
        return shown.condition(self) or self.release.condition

    @property
    def aside(self) -> str:
        """What the interval leaves aside, as a clause."""
        return self.release.aside

    @property
    def left_out(self) -> str:
        """Which records it is not about."""
        return self.release.left_out

    @property
    def left_away(self) -> tuple[float | None, float | None]:
        """The ends that are not shown because they lie too far away; None for those that are."""
        low, high = (None if end is None else self._moved(end) for end in self.release.left_away)
        return (low, high) if self.times > 0 else (high, low)


def moved_caveat(release: Release, by: tuple[Fraction, Fraction] | None) -> str:
    """Return a release's caveat, turned to what is computed from it.

    >>> pulled = "clipped records can only pull it toward zero"
    >>> people = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip", pulled)
    >>> moved_caveat(people, (Fraction(1, 1000), Fraction(0))) == pulled
    True
    >>> moved_caveat(people, None)
    'clipped records can move it either way'

    Args:
        release: What was released.
        by: What it is multiplied by, and what is added then; None where it is computed in another way.
    """
    if by is not None and by[0] != 0 and not by[1] and _ONLY_TO_ZERO in release.caveat:
        return release.caveat
    return _ONE_WAY.sub(lambda _: _way(release, by), release.caveat)


def _way(release: Release, by: tuple[Fraction, Fraction] | None) -> str:
    """Say which way something moves with a release that is pulled one way only."""
    pull = release.clipping
    if by is None or pull is None or by[0] == 0 or pull.below == pull.above:
        return "move it either way"
    return f"only {'lower' if pull.above == (by[0] > 0) else 'raise'} it"


def _words(times: Fraction, plus: Fraction) -> str:
    by = ""
    if times.numerator == 1 and times != 1:
        by = f" / {times.denominator}"
    elif times != 1:
        by = f" * {_shown(times)}"
    return by + (f" {'+' if plus > 0 else '-'} {_shown(abs(plus))}" if plus else "")


def _shown(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):g}"
