"""Find the keys that there are: noise on the budget mass of every possible key, shown from a threshold on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from prdp.cells.columns import exact_column, plus
from prdp.cells.key_masses import KeyMasses
from prdp.declare.key_domains import KeyDomain, RawRow
from prdp.declare.keys import MAX_KEYS
from prdp.noise.chances import Chances, EntropyChances
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import exp_bounds
from prdp.noise.spread import log
from prdp.release.raw_answer import Caveat

_SURE = math.log(10)
"""A mass this far above a threshold, over the share, is found in 95 %: 1 - e^-x / 2."""


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key that was found, and its noisy mass in quanta."""

    key: RawRow
    mass: int


@dataclass(frozen=True, slots=True)
class KeyFinder:
    """Add noise to the budget mass of every possible key, and show those that reach their threshold.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        A record has one key at most and moves one mass by at most E(r), which noise of scale 1 / share hides
        up to share · E(r). What is shown is computed from the noisy masses of all possible keys. Those of
        keys that nobody has are drawn without visiting them: their number, their names, their masses.
        In full: proofs/keys.md.

    Attributes:
        domain: The possible keys, with weights; public.
        most: The maximum number of keys shown: the largest.
    """

    domain: KeyDomain = field(repr=False)
    most: int = MAX_KEYS

    name = "keys"

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (masses have no sign)
        """Describe what the interval does not cover."""
        return Caveat(
            "a mass is shown because it came out large, so that one near what a key needs may be all noise"
        )

    def answers(
        self, masses: KeyMasses, share: Fraction, entropy: Entropy, runs: int
    ) -> list[tuple[FoundKey, ...]]:
        """Draw independent answers."""
        return [self.drawn(masses, share, EntropyChances(entropy)) for _ in range(runs)]

    def drawn(self, masses: KeyMasses, share: Fraction, chances: Chances) -> tuple[FoundKey, ...]:
        """Draw one answer: the keys that are found, sorted by noisy mass, ties by key."""
        scale = self.scale(masses, share)
        thresholds = self.thresholds(scale)
        found = self._own(masses, scale, thresholds, chances)
        for place in range(len(thresholds)):
            found += self._false(place, masses, scale, thresholds[place], chances)
        return tuple(sorted(found, key=lambda one: (-one.mass, one.key))[: self.most])

    def scale(self, masses: KeyMasses, share: Fraction) -> Fraction:
        """Return the scale of the noise, in quanta."""
        return 1 / (share * masses.levels.quantum)

    def thresholds(self, scale: Fraction) -> list[int]:
        """Return the noisy mass that a key of each class needs, in quanta: public."""
        return [threshold(one.weight, scale) for one in self.domain.classes]

    def _own(
        self, masses: KeyMasses, scale: Fraction, thresholds: Sequence[int], chances: Chances
    ) -> list[FoundKey]:
        """Return the keys with a row that are found, the largest first; every row has noise, in K or not."""
        noisy = plus(masses.mass, chances.noises(scale, len(masses.mass)))
        rows = np.flatnonzero(noisy >= exact_column([min(thresholds)]))
        found: list[FoundKey] = []
        for row in rows[np.argsort(-noisy[rows])].tolist():
            key, mass = masses.key(row), int(noisy[row])
            if len(found) >= self.most and mass < found[-1].mass:
                break  # the others are smaller than all that can be shown
            place = self.domain.class_of(key)
            if place is not None and mass >= thresholds[place]:
                found.append(FoundKey(key, mass))
        return found

    def _false(
        self, place: int, masses: KeyMasses, scale: Fraction, least: int, chances: Chances
    ) -> list[FoundKey]:
        """Return the keys of a class that nobody has and that are found all the same.

        Number and names are drawn over the whole class; those that have noise of their own already, or
        belong to an earlier class, are dropped afterwards, and nothing replaces them.
        """
        keys = self.domain.classes[place]
        number = chances.tails(keys.size, scale, least)
        names = [keys.nth(rank) for rank in chances.different(keys.size, number)]
        drawn = [FoundKey(name, least + chances.beyond(scale)) for name in names]
        held = masses.holding(names) if names else set()
        return [one for one in drawn if one.key not in held and self.domain.class_of(one.key) == place]


@lru_cache(maxsize=1 << 15)
def threshold(weight: Fraction, scale: Fraction) -> int:
    """Return the least n such that a discrete Laplace draw is n or more with chance ``weight`` or less.

    >>> from prdp.noise.discrete_laplace import DiscreteLaplace
    >>> n, noise = threshold(Fraction(1, 100), Fraction(5)), DiscreteLaplace(Fraction(5))
    >>> sum(noise.probability(k) for k in range(n, n + 500)) <= 0.01
    True
    >>> sum(noise.probability(k) for k in range(n - 1, n + 500)) <= 0.01
    False
    """
    guess = max(1, int(Fraction(log(1 / weight) - math.log1p(math.exp(-float(1 / scale)))) * scale))
    step = 1 + guess // 2**30  # the guess is a float's
    low, high = max(0, guess - step), guess + step
    while _reached_too_often(low, weight, scale) is False and low > 0:
        low = max(0, low - step)
    while _reached_too_often(high, weight, scale):
        high += step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _reached_too_often(middle, weight, scale) else (low, middle)
    return high


def _reached_too_often(n: int, weight: Fraction, scale: Fraction) -> bool:
    """Return whether a^n / (1 + a) is more than a weight; the two are never equal, for exp is irrational."""
    bits = 64 + (1 / weight).__ceil__().bit_length()
    while True:
        tail = exp_bounds(n / scale, bits)
        step = exp_bounds(1 / scale, bits)
        allowed = [weight * ((1 << bits) + bound) for bound in step]
        if tail[0] > allowed[1]:
            return True
        if tail[1] <= allowed[0]:
            return False
        bits *= 2


def surely(price: Fraction) -> Fraction:
    """Return the quanta beyond a threshold that find a key in 95 %; a quantum costs ``price``."""
    return Fraction(_SURE) / price
