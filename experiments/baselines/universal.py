"""The base mechanisms that the paper cites, in floating point: ordinary ε-DP for sums and maxima.

They read the records through public ranges of values, 64 an octave. The range of a value changes no sum
(the records of an octave are added as they are) and a maximum by at most 1/64.

Sum: the universal estimator (Dong and Yi, 2023). Half of ε finds a power of two that few records exceed, by a
scan whose counts only grow when a record is added, so that two noises of scale 2/(ε/2) pay for it; the
other half pays for the noise of the clipped total: ``prdp.mechanisms.framework.UniversalSum`` does so.
Max: inverse sensitivity (Asi and Duchi, 2020) with a slack, safe on ties: see ``choose_largest``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import CUT
from experiments.problem import Problem
from experiments.yardsticks import Floats

BETA = 0.1
PER_OCTAVE = 64


@dataclass(frozen=True, slots=True)
class Ranges:
    """Public ranges of whole values from ``CUT`` to a largest one; every power of two ends one.

    Attributes:
        lows: The least value of each.
        highs: The greatest value of each.
        octaves: The exponent of the least power of two that no value of the range exceeds.
    """

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    octaves: NDArray[np.int64]

    @classmethod
    def up_to(cls, largest: int, per_octave: int = PER_OCTAVE) -> Ranges:
        """Return the ranges for values of at most ``largest``."""
        steps = [
            2**octave + (place * 2**octave) // per_octave
            for octave in range((CUT - 1).bit_length() - 1, (largest - 1).bit_length())
            for place in range(1, per_octave + 1)
        ]
        highs = [*(high for high in steps if CUT <= high < largest), largest]
        lows = [CUT, *(high + 1 for high in highs[:-1])]
        octaves = [(high - 1).bit_length() for high in highs]
        return cls(np.array(lows), np.array(highs), np.array(octaves))

    def places(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of the range that each value lies in."""
        return np.searchsorted(self.highs, values)

    def totals(self, places: NDArray[np.int64], weights: Floats | None = None) -> Floats:
        """Return how many values lie in each range, or what they weigh."""
        return np.bincount(places, weights, self.highs.size).astype(float)

    def by_octave(self, totals: Floats) -> Floats:
        """Return totals of ranges (last axis) added up over each octave from 0 on."""
        member = self.octaves[:, None] == np.arange(int(self.octaves[-1]) + 1)
        return np.asarray(totals @ member.astype(float))


def clipped_sums(
    counts: Floats, sums: Floats, epsilon: float, random: np.random.Generator, beta: float = BETA
) -> Floats:
    """Return the universal estimator's answers from counts and sums by octave, one row a run."""
    runs = counts.shape[0]
    above = counts.sum(axis=1, keepdims=True) - counts.cumsum(axis=1)
    half = epsilon / 2
    threshold = 6 / half * math.log(2 / beta) + random.laplace(0, 2 / half, (runs, 1))
    stops = above + random.laplace(0, 2 / half, above.shape) <= threshold
    stops[:, -1] = True
    exponent = stops.argmax(axis=1)
    run = np.arange(runs)
    radius = 2.0**exponent
    clipped = sums.cumsum(axis=1)[run, exponent] + radius * above[run, exponent]
    return np.asarray(clipped + random.laplace(0, 1, runs) * radius / half)


def choose_largest(
    ranges: Ranges, counts: Floats, epsilon: float, random: np.random.Generator, beta: float = BETA
) -> Floats:
    """Return values that about (2/ε) ln(U/β) records exceed, from the ranges' counts, one row a run.

    A range's penalty is how far the slack is from the numbers of records above it and from it on, 0 between
    them: some range always has none, whatever the ties. Adding a record moves a penalty by at most 1,
    so that exp(-ε/2 · penalty), weighted by the range's length, is ε-DP.
    """
    lengths = (ranges.highs - ranges.lows + 1).astype(float)
    slack = 2 / epsilon * math.log(lengths.sum() / beta)
    from_here = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    above = from_here - counts
    penalties = np.maximum(0.0, np.maximum(above - slack, slack - from_here))
    penalties[:, 0] = np.maximum(0.0, above[:, 0] - slack)
    weights = np.log(lengths) - epsilon / 2 * penalties
    chosen = (weights + random.gumbel(size=counts.shape)).argmax(axis=1)
    return np.asarray(np.floor(ranges.lows[chosen] + random.random(chosen.size) * lengths[chosen]))


def read(problem: Problem) -> tuple[Ranges, NDArray[np.int64], Floats, Floats]:
    """Return the ranges, each record's place, and the number and sum of the values in each range."""
    ranges = Ranges.up_to(problem.largest)
    places = ranges.places(problem.values)
    return ranges, places, ranges.totals(places), ranges.totals(places, problem.values.astype(float))
