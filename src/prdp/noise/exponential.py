"""Probabilities made of exp, known between two integers at any precision, and coins that show them.

Integers only. Every rounding goes outward, so that the true value lies between the bounds whatever
was lost; proofs/discrete_laplace.md, parts 1 and 2, bounds the loss and shows that the coins are
exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prdp.noise.entropy import Entropy


Bounds = Callable[[int], tuple[int, int]]
"""A number p known at any precision: ``bounds(bits)`` is (lo, hi) with lo <= p·2**bits <= hi."""

_SERIES_BITS = 8
_SPARE_BITS = 4
_FIRST_SLACK = 16


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers lo <= exp(-x)·2**bits <= hi with hi - lo <= 2, for x >= 0.

    >>> from fractions import Fraction
    >>> exp_bounds(Fraction(1), 20)  # exp(-1)·2**20 = 385749.6...
    (385749, 385750)
    """
    if x < 0:
        raise ValueError(f"exp_bounds needs x >= 0, so that exp(-x) is a probability; x is {x}")
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits:  # exp(-x) < 2**-x
        return 0, 1
    halvings = int(x).bit_length() + _SERIES_BITS
    guard = halvings + bits.bit_length() + _SPARE_BITS
    precision = bits + guard
    low, high = _series(x.numerator << precision, x.denominator << halvings, precision)
    for _ in range(halvings):
        low = low * low >> precision
        high = -(-high * high >> precision)
    return low >> guard, -(-high >> guard)


def logistic_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers lo <= 2**bits / (1 + exp(x)) <= hi with hi - lo <= 2, for x >= 0.

    >>> from fractions import Fraction
    >>> logistic_bounds(Fraction(0), 10)
    (512, 512)
    """
    precision = bits + 2
    one = 1 << precision
    low, high = exp_bounds(x, precision)
    return (low << bits) // (one + low), -((-high << bits) // (one + high))


def expansion(probability: Bounds, places: int) -> bytes:
    r"""Return the first ``places`` bytes after the binary point of a probability.

    Precision grows until both bounds agree on all these bytes. An irrational number has no byte
    boundary to lie on, so they will; a rational one must be given by bounds that meet. The number 1
    is written 0.FF FF FF..., which makes a coin of it that never falls on the other side.

    >>> from fractions import Fraction
    >>> expansion(lambda bits: logistic_bounds(Fraction(0), bits), 3)
    b'\x80\x00\x00'
    """
    slack = _FIRST_SLACK
    while True:
        low, high = probability(8 * places + slack)
        if low >> slack == high >> slack:
            return min(low >> slack, (1 << 8 * places) - 1).to_bytes(places, "big")
        slack *= 2


def bernoulli(probability: Bounds, entropy: Entropy, agreed: int = 0) -> bool:
    """Return True with exactly the given probability.

    A uniform number is read byte by byte until it differs from the probability's own bytes; the
    first byte settles 255 cases of 256.

    >>> from prdp.noise.entropy import SystemEntropy
    >>> bernoulli(lambda bits: (0, 0), SystemEntropy())  # the probability 0, at any precision
    False
    >>> bernoulli(lambda bits: (1 << bits, 1 << bits), SystemEntropy())  # and the probability 1
    True

    Args:
        probability: Bounds of the probability.
        entropy: Where the bytes come from.
        agreed: How many bytes were read before, and are those of the probability.
    """
    places = agreed + 1
    while True:
        word = entropy.bytes(1)[0]
        threshold = expansion(probability, places)[-1]
        if word != threshold:
            return word < threshold
        places += 1


def _series(numerator: int, denominator: int, precision: int) -> tuple[int, int]:
    """Bound exp(-y)·2**precision by its Taylor series, where y·2**precision is the fraction given.

    For y < 1 the terms shrink and alternate, so what is left out is less than the last term.
    """
    y_low = numerator // denominator
    y_high = y_low + 1
    one = 1 << precision
    low = high = term_low = term_high = one
    for j in count(1):
        term_low = (term_low * y_low // j) >> precision
        term_high = -((-term_high * y_high // j) >> precision)
        if j % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
        if term_high <= 1:
            break
    return low - 1, min(high + 1, one)


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
    even = min(even, digits)
    known = (b"\x7f" + b"\xff" * (places - 1),) * even
    first = [expansion(coin, places) for coin in coins[:3]]
    return (*first, *known, *_written_digits(2**even / scale, digits - even, places))


def _written_digits(least: Fraction, digits: int, places: int) -> list[bytes]:
    """Return the first ``places`` bytes of 1 / (1 + exp(2^m · least)) for the digits m.

    One series is enough: each square of exp(-x) is exp(-2x). A square doubles the distance of its bounds
    at most, and rounding adds 2 to it, so that one more bit a digit makes up for both. Where the bounds do
    not agree on all bytes, that digit has a series of its own.
    """
    spare = digits + _FIRST_SLACK + _SPARE_BITS
    bits = 8 * places + spare
    one = 1 << bits
    low, high = exp_bounds(least, bits)
    written = []
    for place in range(digits):
        first, last = (low << bits) // (one + low), (high << bits) // (one + high) + 1
        if first >> spare == last >> spare:
            written.append((first >> spare).to_bytes(places, "big"))
        else:
            written.append(expansion(partial(_digit_bounds, least, place), places))
        low, high = low * low >> bits, (high * high >> bits) + 1
    return written


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
