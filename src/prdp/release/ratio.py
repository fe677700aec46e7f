"""The interval of a quotient of two noisy totals by one inequality: proofs/computed.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from prdp.release.bias import Clipping, Dropped
from prdp.release.interval import Pull, Scales, TailFactor

_NOISE, _PULL = 0.7, 0.3
"""Shares of the failures: for noise beyond its bound, and for what the choice says of the pull."""
_SIZE = 0.25
"""Share of one end's noise failures for the end that follows from the size of the answer."""
_ALL_QUOTIENTS = {False: 3, True: 5}
"""How many times as often as a single one any quotient's noise is beyond its bound: of one sign, of both."""
_RARE = 1e-5
"""Probability of a single one's down to which these were computed."""

_PER_OCTAVE = 32
"""The denominator's noise is rounded up to so many scales an octave, so that few bounds are computed."""
_LEAST_OCTAVES = -30
_ROUNDS = 64
_CLOSE = 1e-5
_OUTWARD = 1e-9


@dataclass(frozen=True, slots=True)
class SideTail:
    """How far clipping can have pulled a total on one side, in its units: of ``Tail``, with its claims.

    Attributes:
        height: The logarithm of the tail's factor, for one tail factor.
        scale: The tail's scale.
        spared: What may have been clipped without any trace.
    """

    height: float
    scale: float
    spared: float

    def times(self, factor: float) -> SideTail:
        """Return the tail of the same pull times a number."""
        return SideTail(self.height, self.scale * factor, self.spared * factor)


UNKNOWN = SideTail(math.inf, math.inf, math.inf)
"""The tail of a pull that nothing bounds."""


@dataclass(frozen=True, slots=True)
class TotalLaw:
    """The error of a noisy total: all of it public or released.

    Attributes:
        scale: The scale of its Laplace noise.
        step: What one step of its lattice is worth.
        sides: How far values below zero can have raised it, and values above zero lowered it; None where they
            cannot.
        times: Of values of one sign, how many times the clipped total the true one is at most.
        chosen: Whether a clipping threshold was chosen for it at all.
        follows: Whether it was clipped where the sum was.
        signed: Whether there may be values of both signs.
        ways: From how many tail factors the one was selected that the tails are of.
    """

    scale: float
    step: float
    sides: tuple[SideTail | None, SideTail | None] = (None, None)
    times: float = 1.0
    chosen: bool = False
    follows: bool = False
    signed: bool = False
    ways: int = 1

    @property
    def mirrored(self) -> TotalLaw:
        """The law of minus the total."""
        below, above = self.sides
        return replace(self, sides=(above, below))

    @property
    def above(self) -> SideTail | None:
        """How far values above zero can have lowered it."""
        return self.sides[1]

    @property
    def sized(self) -> bool:
        """True if the size of the answer bounds the truth: a public fact."""
        return self.chosen and not self.signed


@lru_cache(maxsize=4096)
def total_law(
    scales: Scales, step: Fraction, pull: Pull | None, tail_factor: TailFactor, *, signed: bool
) -> TotalLaw | None:
    """Return the law of a noisy total; None where it is not one noise, and one choice of a threshold at most.

    Args:
        scales: The scales of its noises, in steps.
        step: What a step is worth.
        pull: What was clipped.
        tail_factor: How many times its cap a record may count for.
        signed: Whether the bounds allow values of both signs.
    """
    if isinstance(pull, Dropped) and not pull.tiers and pull.nothing:
        pull = None
    if len(scales) != 1 or not (pull is None or isinstance(pull, Clipping)) or (pull and pull.measured):
        return None
    noise, unit = float(scales[0] * step), float(step)
    if pull is None or max(pull.factors(tail_factor)) <= 1 or (pull.nothing and not pull.evidence):
        return TotalLaw(noise, unit, signed=signed)
    sides = _side(pull, 0, step, tail_factor), _side(pull, 1, step, tail_factor)
    times = math.inf if pull.unseen else 1.0 if pull.nothing else float(pull.limited(tail_factor))
    follows, ways = pull.leader is not None, pull.ways(tail_factor)
    return TotalLaw(noise, unit, sides, times, chosen=True, follows=follows, signed=signed, ways=ways)


def _side(pull: Clipping, side: int, step: Fraction, tail_factor: TailFactor) -> SideTail | None:
    """Return the tail of one side's pull; None where there is none."""
    if pull.nothing or not pull.pulled(tail_factor)[side]:
        return None
    tail = None if pull.unseen else pull.side_tail(side, tail_factor)
    if tail is None:
        return UNKNOWN
    return SideTail(tail.height, float(tail.scale * step), float(tail.spared * step))


Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Ratio:
    """The laws of a numerator and of a denominator that is not negative, and what an interval may fail by.

    The quotient is that of the totals at the tail factors that were selected. What it fails by holds for all
    of them at once: each has its part of what long pulls fail by, and, as noises count for another quotient
    with each, of the noise's.

    Attributes:
        total: The numerator's law.
        count: The denominator's.
        failure: The probability that the quotient lies beyond either end.
    """

    total: TotalLaw
    count: TotalLaw
    failure: float

    def ends(self, total: float, count: float, limits: Limits) -> Limits:
        """Return the ends between which the quotient lies, within public limits.

        >>> plain = TotalLaw(scale=10.0, step=1.0)
        >>> low, high = Ratio(plain, TotalLaw(1.0, 1.0), 0.05).ends(5000.0, 100.0, (0.0, 1000.0))
        >>> round(low, 1), round(high, 1)  # the corners would be 47.7 and 52.4
        (48.0, 52.1)
        """
        low, high = limits
        up = self._upper(total, count, limits)
        mirrored = Ratio(self.total.mirrored, self.count, self.failure)
        down = -mirrored._upper(-total, count, (-high, -low))
        return max(low, min(down, high)), min(high, max(up, low))

    def _upper(self, total: float, count: float, limits: Limits) -> float:
        """Return the largest quotient μ within the limits for which total - μ · count >= -A(μ)."""
        low, high = limits
        if count <= 0:
            return high
        if high > 0:
            high = self._above_zero(total, count, high)
            if high > max(0.0, low):
                return high
        return self._below_zero(total, count, (low, min(high, 0.0)))

    def _above_zero(self, total: float, count: float, high: float) -> float:
        """Return the largest μ above zero, or 0; that of the answer's size where it is smaller."""
        noise, pull = self._failures(sized=self.total.sized)
        first, second = self.total, self.count
        tail = self._own_tail(second)

        def by_tail(size: float) -> float:
            own = _noise_and_pull(first.scale, size * second.scale, tail, noise, pull)
            return first.step + size * second.step + own

        high = _descended(total, count, high, by_tail)
        if not first.sized or math.isinf(first.times):
            return high
        times, failure = first.times, self._size_failure

        def by_size(size: float) -> float:
            own = _noise_and_pull(times * first.scale, size * second.scale, None, failure, 0.0)
            return times * first.step + size * second.step + own

        return _descended(times * total, count, high, by_size)

    def _below_zero(self, total: float, count: float, limits: Limits) -> float:
        """Return the largest μ of at most 0; that of the count's size where it is smaller."""
        noise, pull = self._failures(sized=self.count.sized)
        first, second = self.total, self.count
        own, others = self._own_tail(second), self._own_tail(first, of=second)

        def by_tail(size: float) -> float:
            lattice, wide = first.step + size * second.step, size * second.scale
            if own is None or others is None or not size:
                one = own if own is not None else None if others is None or not size else others.times(size)
                return lattice + _noise_and_pull(first.scale, wide, one, noise, pull)
            rest = others.spared + others.scale * (others.height - math.log(pull / 3))
            return lattice + size * rest + _noise_and_pull(first.scale, wide, own, noise, pull * 2 / 3)

        high = _risen(total, count, limits, by_tail)
        if own is not None or not second.sized or math.isinf(second.times):
            return high
        times, failure = second.times, self._size_failure

        def by_size(size: float) -> float:
            wide = size * times * second.scale
            return (
                first.step
                + size * times * second.step
                + _noise_and_pull(first.scale, wide, None, failure, 0.0)
            )

        return min(high, _risen(total, times * count, limits, by_size))

    def _own_tail(self, other: TotalLaw, of: TotalLaw | None = None) -> SideTail | None:
        """Return the tail of a total's pull; where one choice clipped both, with the height of both."""
        tail = (of or self.total).above
        if tail is None or other.above is None or not self.count.follows:
            return tail
        return replace(tail, height=max(tail.height, other.above.height))

    @property
    def _ways(self) -> int:
        """For how many quotients the claim must hold at once; a count that follows has the sum's factor."""
        total, count = self.total.ways, self.count.ways
        return max(total, count) if self.count.follows else total * count

    def _at_once(self, failure: float) -> float:
        """Return what the noise of a single quotient may fail by, so that all fail by so much at most."""
        each = failure / _ALL_QUOTIENTS[self.total.signed]
        return max(failure / self._ways, each if each >= _RARE else 0.0)

    @property
    def _size_failure(self) -> float:
        """What the noise of the end that follows from an answer's size may fail by, for each tail factor."""
        return self.failure * _NOISE / 2 * _SIZE / self._ways

    def _failures(self, *, sized: bool) -> tuple[float, float]:
        """Return what one end's noise and pull may fail by: split by public facts alone."""
        if not self.total.chosen and not self.count.chosen:
            return self.failure / 2, 0.0
        both = self.total.signed or (self.total.chosen and self.count.chosen)
        events = 2 if both and self.total.chosen and not self.count.follows else 1
        noise = self._at_once(self.failure * _NOISE / 2 * (1 - _SIZE if sized else 1))
        return noise, self.failure * _PULL / events / self._ways


def _descended(total: float, count: float, high: float, bound: Callable[[float], float]) -> float:
    """Descend from a limit: where A grows with μ, none between (total + A(μ)) / count and μ is possible."""
    for _ in range(_ROUNDS):
        found = (total + bound(high)) / count
        found += abs(found) * _OUTWARD
        if not found < high:
            return high
        if found <= 0:
            return 0.0
        if high - found <= _CLOSE * high:
            return found
        high = found
    return high


def _risen(total: float, count: float, limits: Limits, bound: Callable[[float], float]) -> float:
    """Return the largest μ of at most 0 that is possible: total - μ · count + A grows with the size of μ."""
    near, far = -limits[1], -limits[0]
    if total + near * count + bound(near) >= 0:
        return -near
    for _ in range(_ROUNDS):
        middle = (near + far) / 2
        if total + middle * count + bound(middle) < 0:
            near = middle
        else:
            far = middle
        if far - near <= _CLOSE * near:
            break
    return -near


def _noise_and_pull(
    first: float, second: float, pull: SideTail | None, noise: float, failure: float
) -> float:
    """Return how far two noises and a pull go together, but for noise beyond a bound and long pulls."""
    if pull is UNKNOWN or (pull is not None and math.isinf(pull.scale)):
        return math.inf
    octaves = _LEAST_OCTAVES * _PER_OCTAVE
    if second > 0:
        octaves = max(octaves, math.ceil(_PER_OCTAVE * math.log2(second / first)))
    scale = 0.0 if pull is None else pull.scale / first
    height = 0.0 if pull is None else pull.height
    spared = 0.0 if pull is None else pull.spared
    return spared + first * _bounded(octaves, scale, height, noise, failure)


@lru_cache(maxsize=1 << 16)
def _bounded(octaves: int, scale: float, height: float, noise: float, failure: float) -> float:
    """Return the same in scales of the first noise; the second is 2^(octaves / 32) of it."""
    second = math.exp2(octaves / _PER_OCTAVE)
    low, high = 0.0, 2 * (1 + second) * math.log(1 / noise)
    while high - low > high * _OUTWARD:
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(middle, second) > noise else (low, middle)
    if not scale:
        return high
    near, far = 0.0, high
    while far - near > high * 1e-6:  # the logarithm of what is looked for is concave
        step = (far - near) / 3
        one, other = (math.log(_beyond(at, second)) + at / scale for at in (near + step, far - step))
        near, far = (near + step, far) if one < other else (near, far - step)
    most = max(0.0, math.log(_beyond(near, second)) + far / scale)
    return scale * height + max(high, scale * (most - math.log(failure)))


def _beyond(far: float, second: float) -> float:
    """Return the probability that Laplace noises of scale 1 and ``second`` add up to more than ``far``."""
    if abs(second - 1) < 1e-6:
        wide = max(second, 1.0)
        return math.exp(-far / wide) * (1 + far / (2 * wide)) / 2
    squared = second * second
    return (math.exp(-far) - squared * math.exp(-far / second)) / (2 * (1 - squared))
