"""The draws that finding keys is made of; exact tests put an enumeration of all outcomes in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from prdp.noise.binomial import TailBinomial
from prdp.noise.choice import uniform_below
from prdp.noise.discrete_laplace import DiscreteLaplace, Integers
from prdp.noise.entropy import Entropy
from prdp.noise.laplace_coins import draw_geometric


class Chances(Protocol):
    """Independent draws, each by its own law."""

    def noises(self, scale: Fraction, count: int) -> Integers:
        """Return discrete Laplace noises."""

    def tails(self, coins: int, scale: Fraction, least: int) -> int:
        """Return how many of so many discrete Laplace draws are at least ``least``, which is 1 or more."""

    def different(self, size: int, count: int) -> Sequence[int]:
        """Return different numbers below ``size``; every set of them is equally likely."""

    def beyond(self, scale: Fraction) -> int:
        """Return how far a discrete Laplace draw lies beyond a place at or above 1 that it reaches."""


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
        """Return how many of so many discrete Laplace draws are at least ``least``."""
        return TailBinomial(coins, scale, least).draw(self.entropy)

    def different(self, size: int, count: int) -> Sequence[int]:
        """Return different numbers below ``size``; one that came up before is drawn again."""
        found: dict[int, None] = {}
        while len(found) < count:
            found[uniform_below(size, self.entropy)] = None
        return list(found)

    def beyond(self, scale: Fraction) -> int:
        """Return how far a draw lies beyond a place that it reaches."""
        return draw_geometric(scale, self.entropy)
