"""Noise with Pr[z] ∝ exp(-F(|z|)) for a concave, piecewise linear F: drawn exactly, with integers only."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from prdp.noise.choice import uniform_below
from prdp.noise.discrete_laplace import Integers, geometrics
from prdp.noise.exponential import bernoulli, exp_bounds

if TYPE_CHECKING:
    from prdp.noise.entropy import Entropy

_BITS = 64
_SPREAD_BITS = 128
_FITS = 2**63


@dataclass(frozen=True, slots=True)
class ConcaveNoise:
    """Whole numbers z with probability proportional to exp(-F(|z|)), F concave up to an end U.

    Beyond U it goes on as F(kU + x) = k·F(U) + F(x). Why the draws are exact: proofs/additive.md.

    >>> noise = ConcaveNoise(ends=(10, 1000), slopes=(Fraction(1, 10), Fraction(1, 1000)))
    >>> noise.at(10), noise.at(1000), noise.at(2010)
    (Fraction(1, 1), Fraction(199, 100), Fraction(249, 50))
    >>> noise.within(Fraction(3, 2))
    510

    Attributes:
        ends: Where each piece of F ends, in steps; ascending, the last one is U.
        slopes: The slope of each piece; none is above the one before, and the first is above zero.
    """

    ends: tuple[int, ...]
    slopes: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        ascending = all(low < high for low, high in pairwise((0, *self.ends)))
        falling = all(before >= after >= 0 for before, after in pairwise(self.slopes))
        whole = all(type(end) is int for end in self.ends)
        exact = all(type(slope) is Fraction for slope in self.slopes)
        if not (
            self.ends and len(self.ends) == len(self.slopes) and ascending and falling and whole and exact
        ):
            raise ValueError("F is given by ascending whole ends and exact slopes that do not rise")
        if self.slopes[0] <= 0:
            raise ValueError("F does not rise: such noise has no law")

    @property
    def heights(self) -> tuple[Fraction, ...]:
        """F at the start, and at each end."""
        return _heights(self)

    def at(self, distance: int) -> Fraction:
        """Return F."""
        turns, rest = divmod(distance, self.ends[-1])
        place = bisect_right(self.ends, rest)
        start = self.ends[place - 1] if place else 0
        heights = self.heights
        return turns * heights[-1] + heights[place] + self.slopes[place] * (rest - start)

    def within(self, height: Fraction) -> int:
        """Return the largest distance up to U at which F is at most a height that is not below zero."""
        heights = self.heights
        if height >= heights[-1]:
            return self.ends[-1]
        place = bisect_right(heights, height) - 1
        start = self.ends[place - 1] if place else 0
        return start + int((height - heights[place]) / self.slopes[place])

    def draw_many(self, entropy: Entropy, count: int) -> Integers:
        """Draw independent integers: an int64 array where every value fits, else one of Python integers.

        A size and a sign are drawn, and zero below zero again, so that zero has its weight once.
        """
        drawn: list[int] = []
        while len(drawn) < count:
            sizes = self._sizes(entropy, count - len(drawn))
            signs = entropy.bytes(len(sizes))
            drawn += [
                -size if sign & 1 else size
                for size, sign in zip(sizes, signs, strict=True)
                if size or not sign & 1
            ]
        fits = all(-_FITS <= value < _FITS for value in drawn)
        return np.array(drawn, dtype=np.int64 if fits else object)

    def _sizes(self, entropy: Entropy, count: int) -> list[int]:
        turns = geometrics(1 / self.heights[-1], count, entropy).tolist()
        places = self._places(entropy, count)
        inside = {
            place: iter(self._inside(place, often, entropy))
            for place, often in sorted(Counter(places).items())
        }
        return [turn * self.ends[-1] + next(inside[place]) for turn, place in zip(turns, places, strict=True)]

    def _places(self, entropy: Entropy, count: int) -> list[int]:
        """Choose pieces by their weights, each with as many bits of a uniform number as decide.

        The number lies in [word, word + 1] / 2^bits; piece i is from sums[i - 1] / total to sums[i] / total.
        """
        words = entropy.bytes(_BITS // 8 * count)
        found = []
        for start in range(0, len(words), _BITS // 8):
            bits, word = _BITS, int.from_bytes(words[start : start + _BITS // 8], "big")
            while (place := self._place(word, bits)) is None:
                word = word << _BITS | int.from_bytes(entropy.bytes(_BITS // 8), "big")
                bits += _BITS
            found.append(place)
        return found

    def _place(self, word: int, bits: int) -> int | None:
        below, above = _edges(self, bits)
        place = bisect_right(below, word)
        return place if not place or word >= above[place - 1] else None

    def _inside(self, place: int, count: int, entropy: Entropy) -> list[int]:
        """Draw distances inside a piece."""
        start = self.ends[place - 1] if place else 0
        length, slope = self.ends[place] - start, self.slopes[place]
        found: list[int] = []
        while (missing := count - len(found)) > 0:
            if slope * length <= 1:
                proposed = [uniform_below(length, entropy) for _ in range(missing)]
                found += [start + far for far in proposed if _accepted(slope * far, entropy)]
            else:
                drawn = geometrics(1 / slope, missing, entropy).tolist()
                found += [start + far for far in drawn if far < length]
        return found

    def spread(self, level: Fraction) -> int:
        """Return a k, hardly ever too large, for which a draw lies in [-k, k] with chance ``level`` or more.

        >>> ConcaveNoise((1,), (Fraction(1, 10),)).spread(Fraction(95, 100))  # Laplace noise of scale 10
        30
        """
        if not 0 <= level < 1:
            raise ValueError(f"level={level} is not a chance that an interval can have: in [0, 1).")
        return _spread(self, 1 - level)

    def beyond_at_most(self, k: int, failure: Fraction, bits: int) -> bool:
        """Return whether Pr[|Z| > k] is surely at most ``failure``.

        With B = Σ exp(-F(x)) over x < U, P the part of it before the rest of k + 1, and q = exp(-F(U)),
        it is 2·q^turns·(B - P·(1 - q)) / (2B - (1 - q)).
        """
        turns, rest = divmod(k + 1, self.ends[-1])
        lows, highs = _sums(self, bits)
        place = bisect_right(self.ends, rest)
        start = self.ends[place - 1] if place else 0
        part = (lows[place - 1] if place else 0) + _weight(self, place, rest - start, bits)[0]
        one = 1 << bits
        q = exp_bounds(self.heights[-1], bits)
        fall = exp_bounds(turns * self.heights[-1], bits)[1]
        tail = 2 * fall * (highs[-1] * one - part * (one - q[1]))
        return tail <= failure * one * (2 * lows[-1] - (one - q[0])) * one


@lru_cache(maxsize=4096)
def _spread(noise: ConcaveNoise, failure: Fraction) -> int:
    """Return the spread; kept, since many groups have the same noise."""
    bits = _SPREAD_BITS + failure.denominator.bit_length()
    low, high = -1, 1
    while not noise.beyond_at_most(high, failure, bits):
        high *= 2
    while high - low > max(1, high >> _BITS):
        middle = (low + high) // 2
        low, high = (low, middle) if noise.beyond_at_most(middle, failure, bits) else (middle, high)
    return high


def _accepted(fall: Fraction, entropy: Entropy) -> bool:
    return fall == 0 or bernoulli(lambda bits: exp_bounds(fall, bits), entropy)


@lru_cache(maxsize=256)
def _heights(noise: ConcaveNoise) -> tuple[Fraction, ...]:
    lengths = (after - before for before, after in pairwise((0, *noise.ends)))
    rises = (slope * length for slope, length in zip(noise.slopes, lengths, strict=True))
    return tuple(accumulate(rises, initial=Fraction(0)))


@lru_cache(maxsize=256)
def _sums(noise: ConcaveNoise, bits: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return bounds of the weight of all pieces up to each one, times 2^bits."""
    lengths = (after - before for before, after in pairwise((0, *noise.ends)))
    weights = [_weight(noise, place, length, bits) for place, length in enumerate(lengths)]
    lows, highs = zip(*weights, strict=True)
    return tuple(accumulate(lows)), tuple(accumulate(highs))


@lru_cache(maxsize=256)
def _edges(noise: ConcaveNoise, bits: int) -> tuple[list[int], list[int]]:
    """Return, for each piece but the last, below which word a number is surely in it or before it.

    And from which word on it is surely after it.
    """
    lows, highs = _sums(noise, bits)
    below = [(low << bits) // highs[-1] for low in lows[:-1]]
    above = [-((-high << bits) // lows[-1]) for high in highs[:-1]]
    return below, above


def _weight(noise: ConcaveNoise, place: int, length: int, bits: int) -> tuple[int, int]:
    """Return bounds of the weight of the first steps of a piece, times 2^bits."""
    slope, height = noise.slopes[place], noise.heights[place]
    if slope == 0 or length == 0:
        low, high = exp_bounds(height, bits)
        return low * length, high * length
    # (1 - e^-σ) loses as many bits as the slope is small
    spare = max(0, int(1 / slope).bit_length()) + length.bit_length() + 8
    precision = bits + spare
    one = 1 << precision
    first, last, step = (exp_bounds(x, precision) for x in (height, height + slope * length, slope))
    low = ((first[0] - last[1]) << bits) // (one - step[0])
    high = -((-(first[1] - last[0]) << bits) // (one - step[1]))
    return max(0, low), high
