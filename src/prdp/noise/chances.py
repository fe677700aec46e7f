"""The draws that finding keys is made of; exact tests put an enumeration of all outcomes in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from prdp.noise.choice import uniform_below
from prdp.noise.discrete_laplace import DiscreteLaplace, Integers
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import draw_geometric, exp_bounds

_FIRST_BYTES = 8
_FIRST_SPARE = 64


@dataclass(frozen=True, slots=True)
class TailBinomial:
    """Number of N independent discrete Laplace draws that are at least n, for n >= 1.

    One is with probability p = a^n / (1 + a), a = exp(-1/scale); N may have a thousand bits. No float takes
    part in a draw (proofs/keys.md).

    >>> from prdp.testing.seeded import Seeded
    >>> TailBinomial(10**300, Fraction(1), 700).draw(Seeded(1))  # 10^300 · e^-700 is 10^-4
    0

    Attributes:
        coins: N.
        scale: The scale of the noise.
        least: n.
    """

    coins: int
    scale: Fraction
    least: int

    def __post_init__(self) -> None:
        if self.coins < 0 or self.scale <= 0 or self.least < 1:
            raise ValueError("there are no such tails: coins >= 0, scale > 0 and least >= 1 are needed")

    def draw(self, entropy: Entropy) -> int:
        """Draw the number: the least b with U < F(b), for a uniform U that is read byte by byte."""
        places, spare = _FIRST_BYTES, _FIRST_SPARE
        word = int.from_bytes(entropy.bytes(places), "big")
        while True:
            found = self._below(word, 8 * places, spare)
            if found is not None:
                return found
            word = word << 8 * places | int.from_bytes(entropy.bytes(places), "big")
            places, spare = 2 * places, 2 * spare

    def chance(self, bits: int) -> tuple[int, int]:
        """Return integers lo <= p · 2^bits <= hi."""
        precision = bits + 8
        one = 1 << precision
        tail_low, tail_high = exp_bounds(self.least / self.scale, precision)
        step_low, step_high = exp_bounds(1 / self.scale, precision)
        return (tail_low << bits) // (one + step_high), -((-tail_high << bits) // (one + step_low))

    def _below(self, word: int, known: int, spare: int) -> int | None:
        """Return the least b with U < F(b), if the known bits of U say so.

        U lies between word and word + 1, in units of 2^-known.
        """
        bits = known + spare + self.coins.bit_length()
        one = 1 << bits
        p_low, p_high = self.chance(bits)
        q_low, q_high = one - p_high, one - p_low
        term_low, term_high = _power(q_low, q_high, self.coins, bits)
        from_low, to_high = word << bits - known, word + 1 << bits - known
        low = high = 0
        for number in range(self.coins + 1):
            low, high = low + term_low, high + term_high
            if to_high <= low or number == self.coins:
                return number
            if from_low < high:
                return None
            left = self.coins - number
            term_low = term_low * left * p_low // ((number + 1) * q_high)
            term_high = -(-term_high * left * p_high // ((number + 1) * q_low))
        raise AssertionError("the last number is always an answer")


def _power(low: int, high: int, exponent: int, bits: int) -> tuple[int, int]:
    """Return bounds of x^exponent · 2^bits, where low <= x · 2^bits <= high."""
    power_low = power_high = 1 << bits
    for digit in f"{exponent:b}":
        power_low = power_low * power_low >> bits
        power_high = -(-power_high * power_high >> bits)
        if digit == "1":
            power_low = power_low * low >> bits
            power_high = -(-power_high * high >> bits)
    return power_low, power_high


class Chances(Protocol):
    """Independent draws, each by its own law."""

    def noises(self, scale: Fraction, count: int) -> Integers:
        """Return discrete Laplace noises."""

    def tails(self, coins: int, scale: Fraction, least: int) -> int:
        """Return the number of discrete Laplace draws that are at least ``least``, which is 1 or more."""

    def different(self, size: int, count: int) -> Sequence[int]:
        """Return different numbers below ``size``; every set of them is equally likely."""

    def beyond(self, scale: Fraction) -> int:
        """Return the excess of a discrete Laplace draw over a place at or above 1 that it reaches."""


@dataclass(frozen=True, slots=True)
class EntropyChances:
    """The draws of real releases, from fair bytes, exactly.

    >>> from prdp.testing.seeded import Seeded
    >>> sorted(EntropyChances(Seeded(1)).different(3, 3))
    [0, 1, 2]
    """

    entropy: Entropy

    def noises(self, scale: Fraction, count: int) -> Integers:
        """Return discrete Laplace noises."""
        return DiscreteLaplace(scale).draw_many(self.entropy, count)

    def tails(self, coins: int, scale: Fraction, least: int) -> int:
        """Return the number of discrete Laplace draws that are at least ``least``."""
        return TailBinomial(coins, scale, least).draw(self.entropy)

    def different(self, size: int, count: int) -> Sequence[int]:
        """Return different numbers below ``size``; one that came up before is drawn again."""
        found: dict[int, None] = {}
        while len(found) < count:
            found[uniform_below(size, self.entropy)] = None
        return list(found)

    def beyond(self, scale: Fraction) -> int:
        """Return the excess of a draw over a place that it reaches."""
        return draw_geometric(scale, self.entropy)
