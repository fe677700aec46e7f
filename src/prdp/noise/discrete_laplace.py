"""The discrete Laplace distribution, drawn exactly from fair bytes with integers only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prdp.noise.exponential import digit_count, exp_bounds, high_part, written_coins

if TYPE_CHECKING:
    from prdp.noise.entropy import Entropy

Integers = NDArray[Any]
"""An array of int64, or of Python integers (dtype object) where some are too large for that."""

_PLACES = 8
_CHUNK_BYTES = 1 << 20
_WORD_DIGITS = 62  # so that one more than all of them still fits an int64
_FLOAT_EXPONENT = 800  # exp(-800) is 0 as a float
_PLACES_IN_OCTET = np.arange(8, dtype=np.uint8)[:, np.newaxis]
_WORD_BYTES = 8
_FEW = 200
"""Of so many numbers or fewer, all digits are packed at once, which is faster; of more, by octets."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Integers k with probability proportional to exp(-|k| / scale).

    Why the draws are exact: proofs/discrete_laplace.md. No float takes part in a draw.

    >>> DiscreteLaplace(10)
    Traceback (most recent call last):
    ...
    TypeError: scale=10 is int, and the stated loss would be no longer exact. Write a Fraction.

    Attributes:
        scale: any positive fraction, from far below 1 (nearly always 0) to far beyond 2**64.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Fraction):
            raise TypeError(
                f"scale={self.scale!r} is {type(self.scale).__name__}, and the stated loss would "
                "be no longer exact. Write a Fraction."
            )
        if self.scale <= 0:
            raise ValueError(f"scale={self.scale} hides nothing: it must be more than 0.")

    def loss(self, shift: int) -> Fraction:
        """Return the largest log-ratio between this noise and itself moved by ``shift``.

        >>> DiscreteLaplace(Fraction(10)).loss(shift=-3)
        Fraction(3, 10)
        """
        return abs(shift) / self.scale

    def probability(self, k: int) -> float:
        """Return the chance of drawing ``k``; for tests and intervals, never for drawing.

        >>> noise = DiscreteLaplace(Fraction(10))
        >>> noise.probability(3) == noise.probability(-3) < noise.probability(0)
        True
        """
        return math.tanh(_float(1 / (2 * self.scale))) * math.exp(-_float(abs(k) / self.scale))

    def spread(self, level: Fraction) -> int:
        """Return the smallest k such that a draw lies in [-k, k] with chance ``level`` or more.

        >>> DiscreteLaplace(Fraction(10)).spread(Fraction(95, 100))
        30
        """
        if not 0 <= level < 1:
            raise ValueError(f"level={level} is not a chance that an interval can have: in [0, 1).")
        reach = 1
        while not self._beyond_at_most(reach - 1, 1 - level):
            reach *= 2
        low, high = reach // 2, reach - 1
        while low < high:
            middle = (low + high) // 2
            if self._beyond_at_most(middle, 1 - level):
                high = middle
            else:
                low = middle + 1
        return low

    def draw(self, entropy: Entropy) -> int:
        """Draw one integer."""
        return int(self.draw_many(entropy, 1)[0])

    def draw_many(self, entropy: Entropy, count: int) -> Integers:
        """Draw ``count`` independent integers.

        >>> from prdp.noise.entropy import SystemEntropy
        >>> len(DiscreteLaplace(Fraction(10)).draw_many(SystemEntropy(), 1000))
        1000

        Returns:
            An int64 array where every value fits, else an object array of Python integers.
        """
        if count < 0:
            raise ValueError(f"count={count} draws cannot be made: ask for 0 or more.")
        digits = digit_count(self.scale)
        rows = max(1, _CHUNK_BYTES // (digits + 3))
        chunks = [
            draw_chunk(self.scale, digits, min(rows, count - start), entropy)
            for start in range(0, count, rows)
        ]
        return _narrowed(np.concatenate(chunks)) if chunks else np.zeros(0, np.int64)

    def _beyond_at_most(self, k: int, chance: Fraction) -> bool:
        """Return whether P(|X| > k) = 2·exp(-(k+1)/scale) / (1 + exp(-1/scale)) is at most ``chance``.

        The two sides are never equal (exp of a rational is transcendental), so precision that
        doubles will tell them apart.
        """
        bits = 64
        while True:
            tail = exp_bounds((k + 1) / self.scale, bits)
            step = exp_bounds(1 / self.scale, bits)
            allowed = [chance * ((1 << bits) + bound) for bound in step]
            if 2 * tail[1] <= allowed[0]:
                return True
            if 2 * tail[0] > allowed[1]:
                return False
            bits *= 2


def _float(exponent: Fraction) -> float:
    """Return a non-negative exponent as a float, cut where exp has long vanished."""
    return float(exponent) if exponent < _FLOAT_EXPONENT else float(_FLOAT_EXPONENT)


def draw_chunk(scale: Fraction, digits: int, count: int, entropy: Entropy) -> Integers:
    """Draw ``count`` integers, tossing all their coins together.

    An outcome is 0, or a sign times 1 + G with G geometric. The lowest ``digits`` binary digits of
    G are independent coins; one more says whether anything lies above them. Any number of digits
    gives the same distribution: more of them only make the slow way rarer.
    """
    coins = _toss(scale, digits, count, entropy)
    nonzero, negative, above = coins[:3]
    sign = nonzero.astype(np.int64) - 2 * (nonzero & negative)
    values: Integers = sign * (_integers(coins[3:]) + 1)
    if above.any():
        values = values.astype(object)
        for row in np.flatnonzero(above):
            values[row] += int(sign[row]) * high_part(scale, digits, entropy) << digits
    return values


def geometrics(scale: Fraction, count: int, entropy: Entropy) -> Integers:
    """Draw ``count`` integers k >= 0 with probability proportional to exp(-k / scale): the G above."""
    digits = digit_count(scale)
    coins = _toss(scale, digits, count, entropy)
    above, values = coins[2], _integers(coins[3:])
    if above.any():
        values = values.astype(object)
        for row in np.flatnonzero(above):
            values[row] += high_part(scale, digits, entropy) << digits
    return values


@lru_cache(maxsize=1024)
def _thresholds(scale: Fraction, digits: int, places: int) -> NDArray[np.uint8]:
    """Return the bytes of every coin's probability: the first byte of all, then the second, ..."""
    coins = written_coins(scale, digits, places)
    table = np.frombuffer(b"".join(coins), np.uint8).reshape(len(coins), places).T.copy()
    table.setflags(write=False)
    return table


def _toss(scale: Fraction, digits: int, count: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Toss each coin ``count`` times; one row a coin.

    As ``bernoulli`` does it, for all at once: a random byte below the byte of the probability is
    True, one above it is False, and the few that are equal go on to the next byte.
    """
    places = _PLACES
    thresholds = _thresholds(scale, digits, places)
    first = thresholds[0][:, np.newaxis]
    words = np.frombuffer(entropy.bytes(len(first) * count), np.uint8).reshape(-1, count)
    coins: NDArray[np.bool_] = words < first
    undecided = np.flatnonzero(words == first)
    place = 1
    while undecided.size:
        if place == places:
            places *= 2
            thresholds = _thresholds(scale, digits, places)
        words = np.frombuffer(entropy.bytes(undecided.size), np.uint8)
        threshold = thresholds[place][undecided // count]
        coins.flat[undecided] = words < threshold
        undecided = undecided[words == threshold]
        place += 1
    return coins


def _integers(digits: NDArray[np.bool_]) -> Integers:
    """Read each column of binary digits, the lowest first, as an integer."""
    if len(digits) > _WORD_DIGITS:
        high = _integers(digits[_WORD_DIGITS:]).astype(object)
        whole: Integers = _integers(digits[:_WORD_DIGITS]) + (high << _WORD_DIGITS)
        return whole
    if digits.shape[1] <= _FEW:
        octets = np.zeros((digits.shape[1], _WORD_BYTES), np.uint8)
        packed = np.packbits(digits, axis=0, bitorder="little")
        octets[:, : len(packed)] = packed.T
        return octets.view("<i8")[:, 0].astype(np.int64, copy=False)
    numbers = np.zeros(digits.shape[1], np.int64)
    for start in reversed(range(0, len(digits), 8)):
        octet = digits[start : start + 8].view(np.uint8)
        numbers <<= 8
        numbers |= np.bitwise_or.reduce(octet << _PLACES_IN_OCTET[: len(octet)], axis=0)
    return numbers


def _narrowed(values: Integers) -> Integers:
    """Return the values as int64 if all of them fit."""
    if values.dtype != object or max(map(abs, values)) >= 2**63:
        return values
    return values.astype(np.int64)
