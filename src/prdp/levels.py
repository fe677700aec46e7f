"""Geometric grids with integer edges, and the public grid that budgets are rounded down to."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import isqrt

from prdp.errors import PolicyError

PER_OCTAVE = 8
"""Steps of the level and magnitude grids in one doubling."""

FINE_PER_OCTAVE = 256
"""Steps in one doubling of the magnitude grid that ranks are taken on."""

SLACK = 1e-9
"""Amount that is taken off a floating logarithm, in steps, before it is rounded down.

A double's ``log2`` errs by some 1e-13 steps of an eighth and 1e-11 of a 256th, so with this slack a
number lands on its own step or on the one below, never above.
"""

MARGIN_BITS = 30
"""Ends of a step are widened by the factor 1 ± 2^-30.

That covers ``SLACK`` ten times over at eight steps an octave, and 300 times over at 256: the slack is
in steps, which are shorter there.
"""

_ROOT_BITS = 64


def whole_root(number: int, degree: int) -> int:
    """Return the largest integer whose power ``degree``, a power of two, is at most ``number``.

    >>> whole_root(80, 4), whole_root(81, 4)
    (2, 3)
    """
    if degree < 1 or degree & (degree - 1):
        raise ValueError(f"a root by repeated square roots needs a power of two, not {degree}")
    for _ in range(degree.bit_length() - 1):
        number = isqrt(number)
    return number


@lru_cache(maxsize=4096)
def power_below(step: int, bits: int) -> int:
    """Return ⌊2^(step/8) · (1 - 2^-30) · 2^bits⌋ for step ≥ 0.

    >>> power_below(8, 10)  # just below 2 · 1024
    2047
    """
    margin = (1 << MARGIN_BITS) - 1
    return whole_root(_shift(margin**8, step + 8 * (bits - MARGIN_BITS)), 8)


def smallest_from(step: int, per_octave: int = PER_OCTAVE) -> int:
    """Return the smallest integer that is at least 2^(step/per_octave) · (1 - 2^-30).

    >>> smallest_from(8), smallest_from(12), smallest_from(24)  # 2, 2.83 and 8
    (2, 3, 8)
    """
    octave, rest = divmod(step, per_octave)
    bits = max(_ROOT_BITS, octave)
    return -(-_narrowed_up(rest, per_octave, bits) >> bits - octave)


def largest_until(step: int, per_octave: int = PER_OCTAVE) -> int:
    """Return the largest integer that is at most 2^(step/per_octave) · (1 + 2^-30).

    >>> largest_until(8), largest_until(12), largest_until(24)  # 2, 2.83 and 8
    (2, 2, 8)
    """
    octave, rest = divmod(step, per_octave)
    bits = max(_ROOT_BITS, octave)
    return _widened_down(rest, per_octave, bits) >> bits - octave


def step_ends(most: int, per_octave: int = PER_OCTAVE) -> list[tuple[int, int]]:
    """Return ``smallest_from(step)`` and ``largest_until(step + 1)`` of the steps from -1 up to a number.

    >>> step_ends(4, per_octave=1)
    [(1, 1), (1, 2), (2, 4), (4, 8)]
    """
    found: list[tuple[int, int]] = []
    for step in count(-1):
        (octave, rest), (next_octave, next_rest) = divmod(step, per_octave), divmod(step + 1, per_octave)
        bits, next_bits = max(_ROOT_BITS, octave), max(_ROOT_BITS, next_octave)
        smallest = -(-_narrowed_up(rest, per_octave, bits) >> bits - octave)
        if smallest > most:
            break
        found.append((smallest, _widened_down(next_rest, per_octave, next_bits) >> next_bits - next_octave))
    return found


@lru_cache(maxsize=4096)
def _narrowed_up(rest: int, per_octave: int, bits: int) -> int:
    """Return ⌈2^(rest/per_octave) · (1 - 2^-30) · 2^bits⌉: all octaves share their roots."""
    margin = (1 << MARGIN_BITS) - 1
    return whole_root((margin**per_octave << rest + per_octave * (bits - MARGIN_BITS)) - 1, per_octave) + 1


@lru_cache(maxsize=4096)
def _widened_down(rest: int, per_octave: int, bits: int) -> int:
    """Return ⌊2^(rest/per_octave) · (1 + 2^-30) · 2^bits⌋."""
    margin = (1 << MARGIN_BITS) + 1
    return whole_root(margin**per_octave << rest + per_octave * (bits - MARGIN_BITS), per_octave)


def quarter_octaves(steps: int, bits: int) -> int:
    """Return ⌊2^(steps/4) · 2^bits⌋ for steps ≥ 0.

    >>> quarter_octaves(4, 0), quarter_octaves(2, 10)  # 2, and the root of 2 times 1024
    (2, 1448)
    """
    return whole_root(1 << (steps + 4 * bits), 4)


def _shift(number: int, places: int) -> int:
    """Return ⌊number · 2^places⌋."""
    return number << places if places >= 0 else number >> -places


QUANTUM_BITS = 20
"""A level's budget is a whole number of quanta; a quantum is 2^-20 of the least budget within the bounds."""

MAX_BELOW = 16
"""Octaves of budgets below what the public bounds allow, for records beyond them."""

_MAX_OCTAVES = 256
_EXPONENTS = (-500, 500)


@dataclass(frozen=True, slots=True)
class Levels:
    """Eight levels an octave, counted from the least budget that the policy can give.

    Level k is the budget ⌊2^(k/8) · (1 - 2^-30) · 2^20⌋ quanta, which is below every budget
    that is rounded to it. The paper's privacy-specified domains are whole octaves of levels.

    >>> levels = Levels(Fraction(1, 100), Fraction(1))
    >>> levels.top, levels.domains, levels.index(0.25)
    (53, 7, 37)


    Attributes:
        at_least: The least budget of a record that takes part.
        at_most: The largest budget.
        below: How many octaves of it, at the bottom, are for records beyond the public bounds.
    """

    at_least: Fraction
    at_most: Fraction
    below: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.at_least <= self.at_most:
            raise PolicyError(
                f"a policy needs 0 < at_least <= at_most, but at_least is {self.at_least} and "
                f"at_most is {self.at_most}."
            )
        if not holds(self.at_least, self.at_most):
            raise PolicyError(
                f"budgets from {float(self.at_least):.3g} to {float(self.at_most):.3g} span more "
                f"than {_MAX_OCTAVES} doublings. Raise at_least or lower at_most."
            )

    @property
    def quantum(self) -> Fraction:
        """The public rounding step of every level's budget: 2^-20 of the least one within the bounds.

        >>> Levels(Fraction(1), Fraction(4)).quantum == Fraction(1, 2**20)
        True
        """
        return self.at_least * (1 << self.below) / (1 << QUANTUM_BITS)

    @property
    def usual(self) -> int:
        """The level of the least budget of records within the public bounds."""
        return PER_OCTAVE * self.below

    def deepened(self, octaves: int) -> Levels:
        """Return a grid that goes on below: the levels of this one, with the same budgets, and others.

        >>> levels = Levels(Fraction(1), Fraction(4))
        >>> deep = levels.deepened(3)
        >>> deep.at_least, deep.quanta(deep.usual) == levels.quanta(0), deep.quantum == levels.quantum
        (Fraction(1, 8), True, True)
        """
        return Levels(self.at_least / (1 << octaves), self.at_most, octaves)

    @property
    def top(self) -> int:
        """The last level: the largest k with 2^(k/8) · at_least < at_most, or 0.

        >>> Levels(Fraction(1), Fraction(2)).top  # level 8 would be 2 itself
        7
        """
        return _top(self.at_most / self.at_least)

    @property
    def domains(self) -> int:
        """The number of the paper's domains: ⌈log₂(at_most / at_least)⌉, and at least 1.

        >>> Levels(Fraction(1), Fraction(8)).domains, Levels(Fraction(1), Fraction(9)).domains
        (3, 4)
        """
        return self.top // PER_OCTAVE + 1

    @property
    def least(self) -> float:
        """The double nearest to ``at_least``: what an engine compares budgets with.

        It may be below by 2^-53 of it; the margin of level 0's budget, 2^-30, is far wider.
        """
        return float(self.at_least)

    def index(self, budget: float | None) -> int | None:
        """Return the level of a budget, or None where the record is left out.

        >>> levels = Levels(Fraction(1), Fraction(16))
        >>> levels.index(1.5), levels.index(3.0)  # twice the budget is eight levels up
        (4, 12)
        >>> levels.index(0.5) is None, levels.index(1e9) == levels.top
        (True, True)
        """
        return None if budget is None else self._indices([budget])[0]

    def _indices(self, budgets: Iterable[float]) -> list[int | None]:
        """Return the level of each budget, or None where the record is left out."""
        least, top, isnan = self.least, self.top, math.isnan
        found: list[int | None] = []
        for budget in budgets:
            if isnan(budget) or budget < least:
                found.append(None)
            elif math.isinf(ratio := budget / least):
                found.append(top)
            else:
                found.append(min(top, max(0, math.floor(PER_OCTAVE * math.log2(ratio) - SLACK))))
        return found

    def quanta(self, level: int) -> int:
        """Return a level's budget, in quanta.

        >>> levels = Levels(Fraction(1), Fraction(16))
        >>> levels.quanta(8) * levels.quantum < 2 <= levels.quanta(9) * levels.quantum
        True
        """
        return power_below(level, QUANTUM_BITS - self.below)

    def quanta_each(self, budgets: Iterable[float]) -> list[int]:
        """Return the quanta of each budget's level; of one that is left out, those of the lowest level."""
        bits = QUANTUM_BITS - self.below
        return [power_below(level or 0, bits) for level in self._indices(budgets)]

    def quanta_below(self, budget: float) -> int:
        """Return the quanta that are safely below a budget, lowered to ``at_most`` first.

        >>> levels = Levels(Fraction(1), Fraction(4))
        >>> levels.quanta_below(2.0) * levels.quantum < 2
        True
        >>> levels.quanta_below(100.0) == levels.quanta_below(4.0)
        True
        """
        return self.quanta_below_each([budget])[0]

    def quanta_below_each(self, budgets: Iterable[float]) -> list[int]:
        """Return the quanta that are safely below each of some budgets."""
        most, safe = self.at_most, Fraction(2**30 - 1, 2**30) / self.quantum
        found = []
        for budget in budgets:
            lowered = min(Fraction(budget), most) if math.isfinite(budget) else most
            found.append(lowered.numerator * safe.numerator // (lowered.denominator * safe.denominator))
        return found

    def domain(self, quanta: int) -> int:
        """Return the paper's domain (1, 2, ...) of a budget.

        The lower end of domain i is the budget of level 8(i - 1), so no budget is below its domain's.

        >>> levels = Levels(Fraction(1), Fraction(8))
        >>> [levels.domain(levels.quanta_below(budget)) for budget in (1.5, 3.0, 5.0)]
        [1, 2, 3]
        """
        return max(1, bisect_right(range(1, self.domains + 1), quanta, key=self.domain_quanta))

    def domain_quanta(self, domain: int) -> int:
        """Return the lower end of a domain's budgets, in quanta."""
        return self.quanta(PER_OCTAVE * (domain - 1))


def holds(at_least: Fraction, at_most: Fraction) -> bool:
    """Return whether a grid can reach from one budget up to another."""
    low, high = _EXPONENTS
    ends = Fraction(2) ** low <= at_least and at_most <= Fraction(2) ** high
    return ends and at_most <= at_least * 2**_MAX_OCTAVES


@lru_cache(maxsize=64)
def _top(span: Fraction) -> int:
    ratio = span**PER_OCTAVE
    below = -(-ratio.numerator // ratio.denominator) - 1  # the largest integer below the ratio
    return max(0, below.bit_length() - 1)
