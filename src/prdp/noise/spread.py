"""How far a sum of independent noises strays: exact quantiles for intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

from prdp.noise.discrete_laplace import DiscreteLaplace

_APART = Fraction(1_000_001, 1_000_000)
_SILENT = Fraction(1, 200)
"""A noise of this scale is 0 but for one time in 10^86."""


def spread(noises: Sequence[DiscreteLaplace], level: Fraction) -> int:
    """Return the smallest k for which the noises' sum lies in [-k, k] with probability ``level``.

    The characteristic function of discrete Laplace noise of scale t is A/(A + 1 - cos u) with
    A = cosh(1/t) - 1. A product of such terms with distinct A is, by partial fractions, a weighted sum
    of them with weights Π A_k/(A_k - A_i) that add up to 1. So the sum of the noises has the
    tail Σ wᵢ · 2αᵢ^(k+1)/(1 + αᵢ), αᵢ = exp(-1/tᵢ). Equal scales are first set apart by a millionth, upward.
    """
    loud = [noise for noise in noises if noise.scale > _SILENT] or list(noises[:1])
    if len(loud) == 1:
        return loud[0].spread(level)
    scales = _set_apart(sorted(noise.scale for noise in loud))
    close = sum(large < small * Fraction(5, 4) for small, large in pairwise(scales))
    digits = 40 + 2 * len(scales) + 14 * close  # what the weights of close scales cancel
    with localcontext() as context:
        context.prec = digits
        tail = _tail([_decimal(scale) for scale in scales])
        return _first(lambda k: tail(k) <= _decimal(1 - level))


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

    def tail(k: int) -> Decimal:
        terms = (
            weight * 2 * (-(k + 1) / scale).exp() / (1 + (-1 / scale).exp())
            for weight, scale in zip(weights, scales, strict=True)
        )
        return sum(terms, start=Decimal(0))

    return tail


def _small_span(scale: Decimal) -> Decimal:
    """Return cosh(1/t) - 1 for a large t, where the closed form would cancel."""
    square = 1 / (scale * scale)
    return square / 2 * (1 + square / 12 * (1 + square / 30 * (1 + square / 56)))


def _first(holds: Callable[[int], bool]) -> int:
    """Return the smallest k ≥ 0 for which a condition holds that, once true, stays true."""
    above = 1
    while not holds(above):
        above *= 2
    below = -1
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
