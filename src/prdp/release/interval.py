"""Error bounds of an answer by its noise and its bias, and the ends of its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from prdp.noise.discrete_gaussian import DiscreteGaussian, GaussianScale
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.quartic import spread as quartic_spread
from prdp.noise.spread import spread, weighted_spread
from prdp.release.formatting import FAR

_FINE = 1e-9

PUBLIC_NOISE = ("laplace", "gaussian")
"""Families of noises whose scales are public, and of Laplace noise that is at least as widely spread."""

Scales = tuple[Fraction, ...]
"""The scales of independent discrete Laplace noises, in steps."""

TailFactor = Fraction | None
"""Up to how many times its cap a record may count; None for what was selected, or else usual."""

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
    """Error bounds below and above an answer, in steps; None where there is no bound.

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
        """Number of parts of a step, so that all distances are whole numbers of them."""
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
        """True if values below zero may have been clipped or dropped, which raises an answer."""

    @property
    def above(self) -> bool:
        """True if values above zero may have been clipped or dropped, which lowers one."""

    @property
    def sign(self) -> int:
        """The sign that the truth has, unless it is zero; 0 for any."""

    @property
    def at(self) -> Fraction | None:
        """Steps that a unit of budget may count for; None where it is unknown."""

    @property
    def nothing(self) -> bool:
        """True if nothing can have been clipped or dropped."""

    @property
    def one_sided(self) -> bool:
        """True if there may be values of both signs, and those of one alone were clipped."""

    @property
    def drops(self) -> bool:
        """True if records were left out altogether instead of clipped."""

    @property
    def insufficient_budget(self) -> bool:
        """True if the clipped amount is unknown."""

    @property
    def selects(self) -> bool:
        """True if the tail factor was selected by what was measured, so that no end is too far to show."""

    @property
    def noise_part(self) -> Fraction:
        """Share of the failures that noise may use where nothing was clipped or dropped: a public fact."""

    @property
    def noise_seen(self) -> bool:
        """True if what was dropped depends on the noise in the answer: a public fact."""

    def excludes(self, tail_factor: TailFactor) -> tuple[Fraction, Fraction] | None:
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

    def pulled(self, tail_factor: TailFactor) -> tuple[bool, bool]:
        """Return whether values below and above zero that reach no further can have been clipped."""

    def error_bounds(self, scales: Scales, failure: Fraction, tail_factor: TailFactor) -> ErrorBounds:
        """Return the error bounds of an answer with these noises, except with probability ``failure``."""


@lru_cache(maxsize=4096)
def error_bounds(
    scales: Scales, noise: str, pull: Pull | None, failure: Fraction, tail_factor: TailFactor
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


def opened(error_bounds: ErrorBounds, pull: Pull | None, tail_factor: TailFactor) -> ErrorBounds:
    """Return bounds without an end on the sides that were pulled from."""
    if pull is None or pull.nothing or (tail_factor is not None and tail_factor <= 1):
        return error_bounds
    return ErrorBounds(None if pull.below else error_bounds.below, None if pull.above else error_bounds.above)


@lru_cache(maxsize=4096)
def noise_spread(scales: Scales, failure: Fraction) -> int:
    """Return how far the noises' sum deviates, either way, except with probability ``failure``.

    A Gaussian noise among Laplace noises counts as the wider one that its scale is of.
    """
    if len(scales) == 1 and isinstance(scales[0], GaussianScale):
        return DiscreteGaussian(scales[0].variance).spread(1 - failure)
    if scales and all(isinstance(scale, GaussianScale) and scale.is_fine for scale in scales):
        return math.ceil(weighted_spread(tuple((1, Fraction(1), scale) for scale in scales), failure))
    return spread([DiscreteLaplace(scale) for scale in scales], 1 - failure)


def one_way_spread(scales: Scales, failure: Fraction) -> int:
    """Return how far the noises' sum deviates one way; it is as likely to go the other."""
    return noise_spread(scales, 2 * failure) if failure < Fraction(1, 2) else 0


def noise_and_pull(scales: Scales, tail: Tail, failure: Fraction, within: int | None = None) -> Fraction:
    """Return how far noise and pull go together, except with probability ``failure``.

    The noise is drawn after the point, so that Pr[noise + pull > t] is at most the mean over the noise of the
    tail's bound on Pr[pull > t - noise]. Distances are in units of the tail's scale, so that floats will do;
    the discrete noise is at most one step above a continuous one.

    Args:
        scales: The scales of the noises.
        tail: The bound on the pull.
        failure: The probability.
        within: Noise up to which this is asked: what is larger has failures of its own. None for all noise.
    """
    sigma = float(sum(scales) / tail.scale)
    noise = math.inf if within is None else float(within / tail.scale)
    least, most = 0.0, tail.height + 1 - (1 + sigma) * 2 * math.log(failure / 4)
    while most - least > most * _FINE:
        middle = (least + most) / 2
        if _missed(middle, sigma, tail, noise) > failure:
            least = middle
        else:
            most = middle
    return tail.spared + tail.scale * Fraction(most) + 1


def _missed(far: float, sigma: float, tail: Tail, within: float = math.inf) -> float:
    """Return the mean, over Laplace noise, of the tail's bound at (far - noise); in units of its scale.

    It is exp(height - (far - noise)), and 1 where that is more; for noise beyond ``within`` as there.
    """
    room = far - tail.height
    if room <= 0:
        return 1.0
    end = min(room, within)
    beyond, pull = math.exp(-end / sigma), math.exp(-room)
    near = abs(end / sigma - end) < _FINE
    above = pull * end / sigma if near else (pull - math.exp(end - room) * beyond) / (1 - sigma)
    return math.exp(end - room) * beyond / 2 + (pull / (1 + sigma) + above) / 2


Ends = tuple[Fraction, Fraction]
"""The low and the high end; ``ENDLESS`` away where there is none."""

Exact = Fraction | int

ENDLESS = Fraction(10) ** 400
"""Further than any answer that bounds allow: an end that far away is no end."""

_ENDLESS_HALF = ENDLESS / 2

_NEARLY_ALL = Fraction(9, 10)


@dataclass(frozen=True, slots=True)
class Around:
    """Interval ends around an answer with noise, as a function of its number.

    Attributes:
        error_bounds: How far from the answer the truth may lie.
        step: What one step is worth.
        sign: The sign that the truth has, unless it is zero; 0 for any.
        whole: Whether the answer is shown as a whole number, which lies within the ends as well.
    """

    error_bounds: ErrorBounds
    step: Fraction
    sign: int = 0
    whole: bool = False

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
        found = self.error_bounds.around(self.sign)
        return self._around_shown(found) if self.whole else found

    def _around_shown(self, found: Callable[[int], WholeEnds]) -> Callable[[int], WholeEnds]:
        """Return the same with ends that have the rounded answer between them, as most have anyway."""
        up, down = self.step.as_integer_ratio()
        times = down * self.error_bounds.parts

        def ends(steps: int) -> WholeEnds:
            low, high = found(steps)
            whole, rest = divmod(2 * steps * up + down, 2 * down)
            whole -= not rest and whole % 2  # a half goes to the even number
            shown = whole * times
            low = None if low is None else min(low, shown // up)
            return low, None if high is None else max(high, -(-shown // up))

        return ends

    @property
    def unit(self) -> Fraction:
        """The part of a step that ends are whole numbers of."""
        return self.step / self.error_bounds.parts


@dataclass(frozen=True, slots=True)
class Horizon:
    """Limit of the ends that are shown: one further away than twice the answer may be hidden.

    Attributes:
        limits: The public limits of an answer that was computed from parts: an end there is always shown.
        below: Whether the low end excludes records, for which the answer's size is a measure.
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
        """Return whether ends lie too far away from an answer; all in the same unit, whatever that is."""
        far = FAR * max(exact, -exact)
        down = self.below and low is not None and low < exact - far
        return down, self.above and high is not None and exact + far < high


def spans_limits(ends: Ends, limits: Ends) -> bool:
    """Return whether an interval spans nearly all that the public limits allow, so that it tells nothing new.

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
