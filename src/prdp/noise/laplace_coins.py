"""Draw a discrete Laplace variable from coins, in plain Python."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from prdp.noise.exponential import Bounds, bernoulli, exp_bounds, expansion, logistic_bounds

if TYPE_CHECKING:
    from prdp.noise.entropy import Entropy

_TAIL_EXPONENT = 89  # exp(-89) < 2**-128


def digit_count(scale: Fraction) -> int:
    """Return the least M with 2**M >= 89·scale; a magnitude beyond 2**M has chance < 2**-128.

    >>> digit_count(Fraction(1)), digit_count(Fraction(2) ** 40), digit_count(Fraction(1, 1000))
    (7, 47, 0)
    """
    return (math.ceil(_TAIL_EXPONENT * scale) - 1).bit_length()


def coin_probabilities(scale: Fraction, digits: int) -> tuple[Bounds, ...]:
    """Return the chances of "nonzero", "negative", "above the digits", and of each digit's being 1.

    All are irrational except the sign's 1/2, whose bounds meet.
    """
    one_step = 1 / scale
    return (
        lambda bits: logistic_bounds(one_step, bits + 1),
        partial(logistic_bounds, Fraction(0)),
        partial(exp_bounds, one_step * 2**digits),
        *(partial(_digit_bounds, one_step, place) for place in range(digits)),
    )


def _digit_bounds(one_step: Fraction, place: int, bits: int) -> tuple[int, int]:
    return logistic_bounds(one_step * 2**place, bits)


def written_coins(scale: Fraction, digits: int, places: int) -> tuple[bytes, ...]:
    """Return the first ``places`` bytes of every coin's probability.

    That of a digit far below the scale is so near below 1/2 that its bytes are known: 7F FF FF ...
    """
    coins = coin_probabilities(scale, digits)
    even = max(
        0, int(scale).bit_length() - 1 - 8 * places
    )  # so many digits m have 2^m < scale / 2^(8 places)
    known = (b"\x7f" + b"\xff" * (places - 1),) * even
    first, others = ([expansion(coin, places) for coin in part] for part in (coins[:3], coins[3 + even :]))
    return (*first, *known, *others)


def high_part(scale: Fraction, digits: int, entropy: Entropy) -> int:
    """Draw floor(G / 2**digits), given that it is 1 or more."""
    one_more = partial(exp_bounds, 2**digits / scale)
    height = 1
    while bernoulli(one_more, entropy):
        height += 1
    return height


def draw_one(scale: Fraction, entropy: Entropy) -> int:
    """Draw one integer k with probability proportional to exp(-|k| / scale).

    The coins of ``draw_chunk``, tossed one by one, for whoever has no NumPy.
    """
    digits = digit_count(scale)
    tossed = [bernoulli(coin, entropy) for coin in coin_probabilities(scale, digits)]
    nonzero, negative, above = tossed[:3]
    magnitude = 1 + sum(1 << place for place, digit in enumerate(tossed[3:]) if digit)
    if above:
        magnitude += high_part(scale, digits, entropy) << digits
    return magnitude * nonzero * (-1 if negative else 1)


def draw_geometric(scale: Fraction, entropy: Entropy) -> int:
    """Draw how far beyond a place at or above 1 a discrete Laplace draw lies, given that it gets there.

    Pr[g] = (1 - a) · a^g with a = exp(-1/scale); its binary digits are independent coins.
    """
    digits = digit_count(scale)
    above, *tossed = (bernoulli(coin, entropy) for coin in coin_probabilities(scale, digits)[2:])
    distance = sum(1 << place for place, digit in enumerate(tossed) if digit)
    return distance + (high_part(scale, digits, entropy) << digits if above else 0)
