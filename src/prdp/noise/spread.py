"""Compute quantiles of a sum of independent noises, for intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from prdp.noise.discrete_gaussian import GaussianScale, sum_spread
from prdp.noise.discrete_laplace import DiscreteLaplace

_APART = Fraction(1_000_001, 1_000_000)
_SILENT = Fraction(1, 200)
"""A noise of this scale is 0 but for one time in 10^86."""
_FAINT_BITS = 48
_CERTAIN_BITS = 80
_EXACT_BITS = 64
_POINTS = 1 << 15
_FAINT_FAILURE = Fraction(1, 10**6)
_FLOAT_SLACK = 1e-12
_ROUGH = 1.005
"""Factor that covers the error of the integral, where failures are not fewer than one in a million."""


def spread(noises: Sequence[DiscreteLaplace], level: Fraction) -> int:
    """Return the smallest k for which the noises' sum lies in [-k, k] with probability ``level``.

    The characteristic function of discrete Laplace noise of scale t is A/(A + 1 - cos u) with
    A = cosh(1/t) - 1. A product of such terms with distinct A is, by partial fractions, a weighted sum
    of them with weights Π A_k/(A_k - A_i) that add up to 1. So the sum of the noises has the
    tail Σ wᵢ · 2αᵢ^(k+1)/(1 + αᵢ), αᵢ = exp(-1/tᵢ). Equal scales are first set apart by a millionth, upward.

    A k beyond 2^64 is rounded up by at most 2^-64 of it. Noises 2^48 times fainter than the loudest one are
    given so much room that they pass it with 2^-80 of the failures: there may be hundreds of them.
    """
    loud = [noise for noise in noises if noise.scale > _SILENT] or list(noises[:1])
    if len(loud) == 1:
        return loud[0].spread(level)
    ascending = sorted(noise.scale for noise in loud)
    faint = [scale for scale in ascending if scale * (1 << _FAINT_BITS) < ascending[-1]]
    if not faint:
        return _heard(ascending, 1 - level)
    passed = (1 - level) / (1 << _CERTAIN_BITS)
    room = sum(faint) * Fraction(log(2 * len(faint) / passed))
    return _heard(ascending[len(faint) :], 1 - level - passed) + math.ceil(room)


@lru_cache(maxsize=4096)
def one_sided(parts: tuple[tuple[int, Fraction], ...], failure: Fraction) -> float:
    """Return an upper quantile of a sum of Laplace noises, in their scale, at this tail probability.

    The sum is Σ factor · (a sum of ``count`` independent noises), over the (count, factor) in ``parts``. Its
    characteristic function is φ(u) = Π 1/(1 + factor²u²)^count, and Pr[sum > z] is 1/2 less (1/π) times the
    integral of sin(uz)·φ(u)/u over u > 0 (Gil-Pelaez). A discrete Laplace noise is no larger than a
    continuous one of its scale and 1 more.

    >>> alone = one_sided(((1, Fraction(1)), (1, Fraction(1, 10**6))), Fraction(1, 40))
    >>> abs(alone - math.log(20)) < 0.02
    True
    """
    factors = [(count, float(factor)) for count, factor in parts if count and factor]
    if failure < _FAINT_FAILURE:
        return _chernoff(factors, log(1 / failure))
    size = math.sqrt(sum(2 * count * factor**2 for count, factor in factors))
    most = size * (2 + log(1 / failure))
    width = math.pi / (16 * most)
    u = width * (np.arange(_POINTS) + 0.5)
    heights = (
        np.exp(-sum(count * np.log1p((factor * u) ** 2) for count, factor in factors)) / u * width / np.pi
    )
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        beyond = 0.5 - float(np.sum(np.sin(u * middle) * heights))
        low, high = (middle, high) if beyond > failure else (low, middle)
    return high * _ROUGH


@lru_cache(maxsize=4096)
def weighted_spread(parts: tuple[tuple[int, Fraction, Fraction], ...], failure: Fraction) -> float:
    """Return how far a weighted sum of independent discrete noises deviates, either way.

    ``parts`` are (count, factor, scale): so many noises of a scale, each times a factor. With U uniform on
    [-1/2, 1/2], a noise X of scale b has an X + U that is symmetric, unimodal and more peaked than continuous
    Laplace noise of scale 1 / (2 tanh(1 / 2b)). Sums of such keep that order (Birnbaum), and whatever is
    symmetric and added to a sum leaves it as far out with a probability of 1/2: proofs/consistency.md.

    Of Gaussian noises alone, that are fine enough, it is that of a normal variable: proofs/concentrated.md.

    >>> exact = spread([DiscreteLaplace(Fraction(2))] * 40, Fraction(19, 20))
    >>> exact <= weighted_spread(((40, Fraction(1), Fraction(2)),), Fraction(1, 20))
    True
    """
    gaussian = [(count, factor, one) for count, factor, one in parts if isinstance(one, GaussianScale)]
    if parts and len(gaussian) == len(parts) and all(scale.is_fine for _, _, scale in gaussian):
        return sum_spread(gaussian, failure)
    smooth = tuple(
        (count, abs(factor) * Fraction(1 / (2 * math.tanh(1 / (2 * float(scale)))) * (1 + _FLOAT_SLACK)))
        for count, factor, scale in parts
        if factor and count
    )
    return one_sided(smooth, failure / 4) if smooth else 0.0


def _chernoff(factors: list[tuple[int, float]], fall: float) -> float:
    """Return a quantile that the sum passes with probability e^-fall at most: min (fall + ln E[e^θS]) / θ."""
    largest = max(factor for _, factor in factors)
    return min(
        (fall - sum(count * math.log1p(-((factor * theta) ** 2)) for count, factor in factors)) / theta
        for theta in (step / (100 * largest) for step in range(1, 100))
    )


def log(number: Fraction) -> float:
    """Return the natural logarithm of a positive fraction, of any size."""
    return math.log(number.numerator) - math.log(number.denominator)


def _heard(ascending: list[Fraction], failure: Fraction) -> int:
    """Return the spread of noises of these scales, none far fainter than the others."""
    if len(ascending) == 1:
        return DiscreteLaplace(ascending[0]).spread(1 - failure)
    scales = _set_apart(ascending)
    close = sum(large < small * Fraction(5, 4) for small, large in pairwise(scales))
    digits = 40 + 2 * len(scales) + 14 * close  # what the weights of close scales cancel
    with localcontext() as context:
        context.prec = digits
        tail, most = _tail([_decimal(scale) for scale in scales]), _decimal(failure)
        return _first(lambda k: tail(k) <= most, start=int(scales[-1]))


def _set_apart(ascending: list[Fraction]) -> list[Fraction]:
    apart = ascending[:1]
    for scale in ascending[1:]:
        apart.append(max(scale, apart[-1] * _APART))
    return apart


def _tail(scales: list[Decimal]) -> Callable[[int], Decimal]:
    """Return the function k -> Pr[|sum of the noises| > k]."""
    spans = [((1 / t).exp() + (-1 / t).exp()) / 2 - 1 if t < 10**6 else _small_span(t) for t in scales]
    weights = [
        math.prod((b / (b - a) for k, b in enumerate(spans) if k != i), start=Decimal(1))
        for i, a in enumerate(spans)
    ]

    factors = [2 * w / (1 + (-1 / scale).exp()) for w, scale in zip(weights, scales, strict=True)]

    def tail(k: int) -> Decimal:
        terms = (factor * (-(k + 1) / scale).exp() for factor, scale in zip(factors, scales, strict=True))
        return sum(terms, start=Decimal(0))

    return tail


def _small_span(scale: Decimal) -> Decimal:
    """Return cosh(1/t) - 1 for a large t, where the closed form would cancel."""
    square = 1 / (scale * scale)
    return square / 2 * (1 + square / 12 * (1 + square / 30 * (1 + square / 56)))


def _first(holds: Callable[[int], bool], start: int) -> int:
    """Return the smallest k ≥ 0 for which a condition holds that, once true, stays true.

    Found by doubling from ``start`` on and by halving; of a k beyond 2^64 the first 64 bits are, rounded up.
    """
    below, above = -1, max(1, start)
    while not holds(above):
        below, above = above, 2 * above
    while above - below > max(1, above >> _EXACT_BITS):
        middle = (above + below) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
