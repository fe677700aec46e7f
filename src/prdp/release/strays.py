"""How far the truth may lie from an answer: its noise, and what clipping or dropping may have taken away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.quartic import spread as quartic_spread
from prdp.noise.spread import log, spread
from prdp.release.beyond import Beyond
from prdp.release.bias import Clipping, Dropped, Tail
from prdp.release.tiered import Pull, TierClipping

_NEAR, _CHOICE, _SIZE = Fraction(1, 5), Fraction(7, 10), Fraction(1, 10)
"""How the failures are shared where clipping pulls one way: the side that it does not pull from; what the
choice says of the pull; what the size of the answer says of it."""

_LAST = Fraction(3, 4)
"""Of a tier's failures on the side that is pulled from, those for its being the last one that was kept; the
rest are for its being below that, and for its being dropped."""

_FINE = 1e-9


@dataclass(frozen=True, slots=True)
class Strays:
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
    def whole(self) -> WholeStrays:
        """The same in whole numbers: many answers are looked at without a fraction for each."""
        fractions = (self.below, self.above, self.times)
        parts = math.lcm(*(one.denominator for one in fractions if one is not None))
        below, above = (None if far is None else int(far * parts) for far in (self.below, self.above))
        return WholeStrays(parts, below, above, int(self.times * parts), self.up, self.down)

    def around(self, steps: int) -> tuple[Fraction | None, Fraction | None]:
        """Return the ends around an answer, in steps; None where there is none."""
        whole = self.whole
        low, high = (None if end is None else Fraction(end, whole.parts) for end in whole.around(steps))
        return low, high


@dataclass(frozen=True, slots=True)
class WholeStrays:
    """``Strays`` in whole numbers: so many parts of a step.

    Attributes:
        parts: How many parts a step has.
        below: How far below the answer the truth may lie, in parts; None where there is no end.
        above: The same above it.
        times: How many parts the truth has at most for each step of what the answer may be without its noise.
        up: As in ``Strays``, in steps.
        down: Likewise.
    """

    parts: int
    below: int | None
    above: int | None
    times: int
    up: int | None
    down: int | None

    def around(self, steps: int) -> tuple[int | None, int | None]:
        """Return the ends around an answer, in parts; None where there is none."""
        at = steps * self.parts
        low = None if self.below is None else at - self.below
        high = None if self.above is None else at + self.above
        if self.up is not None:
            most = self.times * max(0, steps + self.up)
            high = most if high is None else max(at, min(high, most))
        if self.down is not None:
            least = self.times * min(0, steps - self.down)
            low = least if low is None else min(at, max(low, least))
        return low, high


@lru_cache(maxsize=4096)
def strays(
    scales: tuple[Fraction, ...],
    noise: str,
    clipping: Pull | None,
    failure: Fraction,
    reach: Fraction,
) -> Strays:
    """Return how far the truth may lie from an answer with these noises, but for ``failure``.

    Many groups have the same noises and the same point, so it is kept.
    """
    if noise == "quartic":
        both = Fraction(sum(quartic_spread(scale, 1 - failure) for scale in scales))
        return _opened(Strays(both, both), clipping, reach)
    if isinstance(clipping, Dropped):
        return _dropped(scales, clipping, failure, reach)
    if clipping is None or clipping.nothing or reach <= 1:
        both = Fraction(_spread(scales, failure))
        return Strays(both, both)
    if isinstance(clipping, TierClipping):
        return _tiered(scales, clipping, failure, reach)
    return _at_one_point(scales, clipping, failure, reach)


def _at_one_point(
    scales: tuple[Fraction, ...], clipping: Clipping, failure: Fraction, reach: Fraction
) -> Strays:
    """Return the strays where one point clipped all records, or one of each sign."""
    if clipping.blind or (clipping.measured is not None and clipping.measured.many):
        both = Fraction(_spread(scales, failure))
        return _opened(Strays(both, both), clipping, reach)
    if clipping.measured is not None:
        return _measured(scales, clipping, clipping.measured, failure, reach)
    return _clipped(scales, clipping, failure, reach)


@lru_cache(maxsize=4096)
def _spread(scales: tuple[Fraction, ...], failure: Fraction) -> int:
    """Return how far the noises' sum strays, either way, but for ``failure``."""
    return spread([DiscreteLaplace(scale) for scale in scales], 1 - failure)


def _opened(strays: Strays, clipping: Pull | None, reach: Fraction) -> Strays:
    """Return strays without an end on the sides that were pulled from."""
    if clipping is None or clipping.nothing or reach <= 1:
        return strays
    return Strays(None if clipping.below else strays.below, None if clipping.above else strays.above)


def _dropped(scales: tuple[Fraction, ...], dropped: Dropped, failure: Fraction, reach: Fraction) -> Strays:
    """Return the strays where tiers were dropped: noise and pull each have a part of the failures.

    Where dropping pulls one way, noise and pull each have half of that side's failures; where it pulls both
    ways, half of all.
    """
    own, pulled = dropped.failures(failure, reach)
    near = Fraction(_spread(scales, own))
    if dropped.pull(pulled, reach) == 0:
        return Strays(near, near)
    pull = dropped.pull(pulled / 2 if dropped.below and dropped.above else pulled / 4, reach)
    far = None if pull is None else _spread(scales, own / 2) + pull
    return Strays(far if dropped.below else near, far if dropped.above else near)


def _tiered(scales: tuple[Fraction, ...], tiered: TierClipping, failure: Fraction, reach: Fraction) -> Strays:
    """Return the strays where each tier has its own point: proofs/clipped_tiers.md."""
    tiers = len(tiered.tiers)
    near = Fraction(sum(_upward((scale,), failure * _NEAR / tiers) for scale in scales))
    last, other = (failure * (1 - _NEAR) * part / tiers for part in (_LAST, (1 - _LAST) / 2))
    far = tiered.thresholds + tiered.scales * Fraction(log(1 / other))
    for scale, tier in zip(scales[:-1], tiered.tiers, strict=False):
        far += _end(scale, tier, other, tier.most / tier.at)
    far += _end(scales[-1], tiered.last, last, reach)
    return Strays(far if tiered.below else near, far if tiered.above else near)


def _end(scale: Fraction, clipping: Clipping, failure: Fraction, reach: Fraction) -> Fraction:
    """Return how far the noise and the pull of one tier go together, but for ``failure``."""
    tail = None if clipping.nothing else clipping.tail(reach)
    return Fraction(_upward((scale,), failure)) if tail is None else _together((scale,), tail, failure)


def _measured(
    scales: tuple[Fraction, ...], clipping: Clipping, measured: Beyond, failure: Fraction, reach: Fraction
) -> Strays:
    """Return the strays where it was measured what lies beyond the clipping point: proofs/started.md."""
    below, above = clipping.pulled(reach)
    if not below and not above:
        return Strays(both := Fraction(_spread(scales, failure)), both)
    near, far = (failure / 2, failure / 2) if below and above else (failure * _NEAR, failure * (1 - _NEAR))

    def end(side: int) -> Fraction:
        bounds = measured.pulls(side, clipping.limited(reach))
        ends = (bound.steps + bound.room + _upward((*scales, *bound.scales), far) for bound in bounds)
        return max(Fraction(0), *ends)

    noise = Fraction(_upward(scales, near))
    return Strays(end(0) if below else noise, end(1) if above else noise)


def _clipped(scales: tuple[Fraction, ...], clipping: Clipping, failure: Fraction, reach: Fraction) -> Strays:
    """Return the strays where records were clipped: proofs/clip.md."""
    tails = [clipping.tail(reach, point) for point in clipping.drawn or (clipping.at, clipping.at)]
    below, above = clipping.pulled(reach)
    if below and above:
        ends = [None if tail is None else _together(scales, tail, failure / 2) for tail in tails]
        return Strays(ends[0], ends[1])
    if not below and not above:
        return Strays(both := Fraction(_spread(scales, failure)), both)
    near = Fraction(_upward(scales, failure * _NEAR))
    tail = tails[1 if above else 0]
    if clipping.mixed:  # signs may cancel, so that the answer's size says nothing
        end = None if tail is None else _together(scales, tail, failure * (_CHOICE + _SIZE))
        return Strays(near, end) if above else Strays(end, near)
    far = None if tail is None else _together(scales, tail, failure * _CHOICE)
    size = _upward(scales, failure * (_SIZE if tail else _CHOICE + _SIZE))
    times = clipping.limited(reach)
    if clipping.above:
        return Strays(near, far, times, up=size)
    return Strays(far, near, times, down=size)


def _upward(scales: tuple[Fraction, ...], failure: Fraction) -> int:
    """Return how far the noises' sum strays one way, but for ``failure``; it is as likely to go the other."""
    return _spread(scales, 2 * failure) if failure < Fraction(1, 2) else 0


def _together(scales: tuple[Fraction, ...], tail: Tail, failure: Fraction) -> Fraction:
    """Return how far noise and pull go together, but for ``failure``: the noise is drawn after the point.

    Pr[noise + pull > t] is at most the mean over the noise of the tail's bound on Pr[pull > t - noise].
    Distances are in units of the tail's scale, so that floats will do; the discrete noise is at most one
    step above a continuous one.
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
