"""Compute a record's exact loss of zero-concentrated privacy: every node of a law, added up along its paths.

No finite list of orders α proves that D_α is at most α · P for all of them. So each node is held to a
criterion without α: of Gaussian noises the sum of d² / (2σ²); of a draw from a few places an eighth of the
squared width of the log-ratios; of anything with log-ratios up to x, x · tanh(x/2).
In full: proofs/concentrated.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_gaussian import DiscreteGaussian
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Lazily, Noisy, Shaped, Then, Together
from prdp.testing.exact_loss import (
    _KINDS,
    _PRECISION,
    Places,
    _ball,
    _known_to,
    _probabilities,
    _refuse_own,
    _refuse_unless_same,
    _refuse_unless_whole,
    _shift_ratio,
    _turned_ratio,
    _UndrawnError,
)

ORDERS = (1.0, 1.05, 1.25, 2.0, 4.0, 8.0, 32.0)
"""Orders of the second look; at 1, a divergence is that of Kullback and Leibler."""


def concentrated_loss(one: Law, other: Law) -> tuple[float, str]:
    """Return a P such that D_α(one ‖ other) <= α · P for all α > 1, both ways; and what differs undrawn.

    >>> noise = DiscreteGaussian(Fraction(100))
    >>> concentrated_loss(Noisy((0,), (noise,)), Noisy((3,), (noise,)))
    (0.045, '')
    """
    with ctx.workprec(_PRECISION):
        try:
            return float(_cost(one, other).upper()), ""
        except _UndrawnError as found:
            return math.inf, str(found)


def _cost(one: Law, other: Law) -> Any:
    _refuse_own(_KINDS, one, other)
    if isinstance(one, Places) and isinstance(other, Places):
        return _of_places(_log_ratios(one, other))
    _refuse_unless_same("kinds of law", type(one).__name__, type(other).__name__)
    match one, other:
        case Noisy(), Noisy():
            return _of_noises(one, other)
        case Shaped(), Shaped():
            for law in (one, other):
                _refuse_own((ConcaveNoise,), law.noise)
            _refuse_unless_same("noises", one.noise, other.noise)
            return _of_pure(_turned_ratio(abs(int(other.value) - int(one.value)), one.noise))
        case Then(), Then():
            first = _cost(one.first, other.first)
            return first + _largest(_cost(one.then(n), other.then(n)) for n in range(_number(one.first)))
        case Gated(), Gated():
            _refuse_unless_same("rules", _known_to(one.rule), _known_to(other.rule))
            return _cost(one.first, other.first) + _largest(_pairs(one.laws, other.laws))
        case Together(), Together():
            return sum(_pairs(one.laws, other.laws), start=arb(0))
    raise TypeError(type(one).__name__)


def _pairs(one: Sequence[Law], other: Sequence[Law]) -> Iterable[Any]:
    _refuse_own((tuple, list, Lazily), one, other)
    _refuse_unless_same("numbers of laws", len(one), len(other))
    return (_cost(one[place], other[place]) for place in range(len(one)))


def _number(places: Places) -> int:
    return len(_probabilities(places))


def _log_ratios(one: Places, other: Places) -> list[Any]:
    left, right = _probabilities(one), _probabilities(other)
    _refuse_unless_same("numbers of places", len(left), len(right))
    both = [(here, there) for here, there in zip(left, right, strict=True) if not (here == 0 and there == 0)]
    return [(here / there).log() for here, there in both]


def _of_places(ratios: Sequence[Any]) -> Any:
    """Return the smaller of the bounds by the width of log-ratios and by their size."""
    if not all(ratio.is_finite() for ratio in ratios):
        return arb("inf")
    high, low = max(one.upper() for one in ratios), min(one.lower() for one in ratios)
    return min(((high - low) ** 2 / 8, _of_pure(max(high, -low))), key=lambda ball: ball.upper())


def _of_pure(ratio: Any) -> Any:
    """Return the loss of what has log-ratios up to this size."""
    return ratio * (ratio / 2).tanh() if ratio.is_finite() else arb("inf")


def _of_noises(one: Noisy, other: Noisy) -> Any:
    for noisy in (one, other):
        _refuse_own((tuple, list), noisy.values, noisy.noises)
        _refuse_own((DiscreteLaplace, DiscreteGaussian), *noisy.noises)
        _refuse_unless_whole(noisy.values)
    _refuse_unless_same("noises", one.noises, other.noises)
    _refuse_unless_same("numbers of values", len(one.values), len(other.values))
    gaussian, pure = Fraction(0), arb(0)
    for left, right, noise in zip(one.values, other.values, one.noises, strict=True):
        if isinstance(noise, DiscreteGaussian):
            gaussian += noise.loss(right - left)
        else:
            pure += _shift_ratio(left, right, noise)
    return _ball(gaussian) + _of_pure(pure)


def _largest(balls: Iterable[Any]) -> Any:
    return max(balls, key=lambda ball: ball.upper(), default=arb(0))


def renyi(one: Law, other: Law, order: float) -> float:
    """Return D_α(one ‖ other) of one order, as floats: the second look at what the criterion bounds.

    Of a ``Gated`` law it is a bound, as the rule's choice is not enumerated.

    >>> noise = DiscreteGaussian(Fraction(100))
    >>> round(renyi(Noisy((0,), (noise,)), Noisy((3,), (noise,)), 2.0), 6)
    0.09
    """
    match one, other:
        case Noisy(), Noisy():
            triples = zip(one.values, other.values, one.noises, strict=True)
            return sum(_of_shift(abs(int(right - left)), noise, order) for left, right, noise in triples)
        case Then(), Then():
            chances = zip(_floats(one.first), _floats(other.first), strict=True)
            inner = (renyi(one.then(n), other.then(n), order) for n in range(_number(one.first)))
            return _mixed([(p, q, more) for (p, q), more in zip(chances, inner, strict=True)], order)
        case Gated(), Gated():
            laws = (renyi(one.laws[n], other.laws[n], order) for n in range(len(one.laws)))
            return renyi(one.first, other.first, order) + max(laws)
        case Together(), Together():
            return sum(renyi(left, right, order) for left, right in zip(one.laws, other.laws, strict=True))
    if isinstance(one, Places) and isinstance(other, Places):
        chances = zip(_floats(one), _floats(other), strict=True)
        return _mixed([(p, q, 0.0) for p, q in chances], order)
    raise TypeError(type(one).__name__)


def _floats(places: Places) -> list[float]:
    with ctx.workprec(_PRECISION):
        return [float(chance.mid()) for chance in _probabilities(places)]


def _mixed(parts: Sequence[tuple[float, float, float]], order: float) -> float:
    """Return the divergence of a draw and what follows it, from (p, q, the divergence of what follows)."""
    there = [(p, q, more) for p, q, more in parts if p > 0]
    if order == 1:
        return math.fsum(p * (math.log(p / q) + more) for p, q, more in there)
    terms = [
        math.log(q) + order * math.log(p / q) + (order - 1) * more for p, q, more in there
    ]  # of what is to be added up, the logarithms
    top = max(terms)
    return (top + math.log(math.fsum(math.exp(term - top) for term in terms))) / (order - 1)


def _of_shift(moved: int, noise: DiscreteLaplace | DiscreteGaussian, order: float) -> float:
    if isinstance(noise, DiscreteGaussian):
        return order * float(noise.loss(moved))
    step = float(1 / noise.scale)
    below, above = 1 / (1 + math.exp(-step)), math.exp(-moved * step) / (1 + math.exp(-step))
    parts = [(math.exp(-moved * step) * below, below, 0.0), (math.exp(moved * step) * above, above, 0.0)]
    for output in range(1, moved):
        chance = math.tanh(step / 2) * math.exp(-output * step)
        parts.append((chance * math.exp((2 * output - moved) * step), chance, 0.0))
    return _mixed(parts, order) if moved else 0.0
