"""Error bounds of an answer: its noise, and what clipping or dropping may have taken away."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.quartic import spread as quartic_spread
from prdp.noise.spread import spread

_FINE = 1e-9

Scales = tuple[Fraction, ...]
"""The scales of independent discrete Laplace noises, in steps."""

WholeEnds = tuple[int | None, int | None]
"""The low and the high end of an interval, in parts of a step; None where there is none."""


@dataclass(frozen=True, slots=True)
class Tail:
    """A bound on the pull of clipping: Pr[pull > y] is at most exp(height - (y - spared) / scale).

    Attributes:
        height: The logarithm of the factor.
        scale: In steps.
        spared: What may have been clipped without any trace, in steps.
    """

    height: float
    scale: Fraction
    spared: Fraction


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """How far below and above an answer the truth may lie, in steps; None where there is no end.

    Attributes:
        below: Below.
        above: Above.
        times: Where all values have one sign, the truth is at most so many times what the answer may be...
        up: ... without its noise, which is at most this much larger. None where nothing is known.
        down: The same, for values that are not positive.
    """

    below: Fraction | None
    above: Fraction | None
    times: Fraction = Fraction(1)
    up: int | None = None
    down: int | None = None

    @property
    def parts(self) -> int:
        """How many parts a step has, so that all distances are whole numbers of them."""
        fractions = (self.below, self.above, self.times)
        return math.lcm(*(one.denominator for one in fractions if one is not None))

    def around(self, sign: int = 0) -> Callable[[int], WholeEnds]:
        """Return the function from an answer, in steps, to its ends: many are looked at without a fraction.

        >>> around = ErrorBounds(Fraction(3, 2), None).around(sign=1)
        >>> around(4), around(1)
        ((5, None), (0, None))

        Args:
            sign: The sign that the truth has, unless it is zero; 0 for any.
        """
        parts, times = self.parts, int(self.times * self.parts)
        below, above = (None if far is None else int(far * parts) for far in (self.below, self.above))

        def ends(steps: int) -> WholeEnds:
            at = steps * parts
            low = None if below is None else at - below
            high = None if above is None else at + above
            if self.up is not None:
                most = times * max(0, steps + self.up)
                high = most if high is None else max(at, min(high, most))
            if self.down is not None:
                least = times * min(0, steps - self.down)
                low = least if low is None else min(at, max(low, least))
            if sign > 0:
                low = min(0, at) if low is None else max(low, min(0, at))
                high = None if high is None else max(high, 0)
            elif sign < 0:
                high = max(0, at) if high is None else min(high, max(0, at))
                low = None if low is None else min(low, 0)
            return low, high

        return ends


class Pull(Protocol):
    """Clipping or dropping that can have pulled an answer away from the truth besides its noise."""

    def __hash__(self) -> int: ...

    @property
    def below(self) -> bool:
        """Whether values below zero may have been clipped or dropped, which raises an answer."""

    @property
    def above(self) -> bool:
        """Whether values above zero may have been clipped or dropped, which lowers one."""

    @property
    def sign(self) -> int:
        """The sign that the truth has, unless it is zero; 0 for any."""

    @property
    def at(self) -> Fraction | None:
        """How many steps a unit of budget may count for; None where that is not said."""

    @property
    def nothing(self) -> bool:
        """Whether nothing can have been clipped or dropped."""

    @property
    def one_sided(self) -> bool:
        """Whether there may be values of both signs, and those of one alone were clipped."""

    @property
    def drops(self) -> bool:
        """Whether records were left out altogether instead of clipped."""

    @property
    def insufficient_budget(self) -> bool:
        """Whether it cannot be told how much was clipped."""

    def excludes(self, tail_factor: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return beyond how many steps for a unit of budget an interval excludes records; None for nowhere.

        For values below and above zero, where no record counts for more than ``tail_factor`` times what it
        may.
        """

    def pulling(
        self, *, below: bool, above: bool, most: tuple[Fraction | None, Fraction | None] = (None, None)
    ) -> Pull:
        """Return the same for values of known signs.

        Args:
            below: Whether there may be values below zero.
            above: Whether there may be values above zero.
            most: How many steps a unit of budget can count for at most, in values below and above zero; None
                where that is not known.
        """

    def pulled(self, tail_factor: Fraction) -> tuple[bool, bool]:
        """Return whether values below and above zero that reach no further can have been clipped."""

    def error_bounds(self, scales: Scales, failure: Fraction, tail_factor: Fraction) -> ErrorBounds:
        """Return the error bounds of an answer with these noises, except with probability ``failure``."""


@lru_cache(maxsize=4096)
def error_bounds(
    scales: Scales, noise: str, pull: Pull | None, failure: Fraction, tail_factor: Fraction
) -> ErrorBounds:
    """Return the error bounds of an answer with these noises, except with probability ``failure``.

    Many groups have the same noises and the same point, so it is kept.
    """
    if noise == "quartic":
        both = Fraction(sum(quartic_spread(scale, 1 - failure) for scale in scales))
        return opened(ErrorBounds(both, both), pull, tail_factor)
    return noise_alone(scales, failure) if pull is None else pull.error_bounds(scales, failure, tail_factor)


def noise_alone(scales: Scales, failure: Fraction) -> ErrorBounds:
    """Return the error bounds where nothing but noise can have moved an answer."""
    both = Fraction(noise_spread(scales, failure))
    return ErrorBounds(both, both)


def opened(error_bounds: ErrorBounds, pull: Pull | None, tail_factor: Fraction) -> ErrorBounds:
    """Return bounds without an end on the sides that were pulled from."""
    if pull is None or pull.nothing or tail_factor <= 1:
        return error_bounds
    return ErrorBounds(None if pull.below else error_bounds.below, None if pull.above else error_bounds.above)


@lru_cache(maxsize=4096)
def noise_spread(scales: Scales, failure: Fraction) -> int:
    """Return how far the noises' sum strays, either way, except with probability ``failure``."""
    return spread([DiscreteLaplace(scale) for scale in scales], 1 - failure)


def one_way_spread(scales: Scales, failure: Fraction) -> int:
    """Return how far the noises' sum strays one way; it is as likely to go the other."""
    return noise_spread(scales, 2 * failure) if failure < Fraction(1, 2) else 0


def noise_and_pull(scales: Scales, tail: Tail, failure: Fraction) -> Fraction:
    """Return how far noise and pull go together, except with probability ``failure``.

    The noise is drawn after the point, so that Pr[noise + pull > t] is at most the mean over the noise of the
    tail's bound on Pr[pull > t - noise]. Distances are in units of the tail's scale, so that floats will do;
    the discrete noise is at most one step above a continuous one.
    """
    sigma = float(sum(scales) / tail.scale)
    least, most = 0.0, tail.height + 1 - (1 + sigma) * 2 * math.log(failure / 4)
    while most - least > most * _FINE:
        middle = (least + most) / 2
        if _missed(middle, sigma, tail) > failure:
            least = middle
        else:
            most = middle
    return tail.spared + tail.scale * Fraction(most) + 1


def _missed(far: float, sigma: float, tail: Tail) -> float:
    """Return the mean, over Laplace noise, of the tail's bound at (far - noise); in units of its scale.

    It is exp(height - (far - noise)), and 1 where that is more.
    """
    room = far - tail.height
    if room <= 0:
        return 1.0
    noise, pull = math.exp(-room / sigma), math.exp(-room)
    near = abs(room / sigma - room) < _FINE
    above = pull * room / sigma if near else (pull - noise) / (1 - sigma)
    return noise / 2 + (pull / (1 + sigma) + above) / 2
