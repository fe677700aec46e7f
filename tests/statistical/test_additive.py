"""additive draws what its law says: a chi-square over outcomes, which noise 15 % off must fail."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, chisquare

import prdp
from prdp.noise.concave import ConcaveNoise
from prdp.testing import Seeded, simulate
from tests.statistical.thresholds import P_THRESHOLD, SEED, WRONG_BY

DRAWS = 20_000  # a draw takes half a millisecond; a shift by 15 % still moves the statistic by some 400

SHAPES = {
    "one piece": ConcaveNoise((7,), (Fraction(1, 3),)),
    "a steep start, then flat": ConcaveNoise((3, 40), (Fraction(1, 2), Fraction(0))),
    "several turns": ConcaveNoise((4, 9, 20), (Fraction(1, 5), Fraction(1, 20), Fraction(1, 100))),
    "far pieces": ConcaveNoise(
        (1 << 20, 1 << 24, 1 << 30), (Fraction(1, 1 << 20), Fraction(1, 1 << 23), Fraction(1, 1 << 29))
    ),
}


def bins_of(noise: ConcaveNoise) -> list[int]:
    """Return the upper ends of about 30 bins of sizes, each with a part of the draws."""
    levels = [Fraction(k, 30) for k in range(1, 30)]
    return sorted({noise.spread(level) for level in levels})


def chances(noise: ConcaveNoise, ends: list[int]) -> NDArray[np.float64]:
    """Return the chance of each bin of sizes, by adding up exp(-F) in floats."""
    end = noise.ends[-1]
    turns = math.ceil(40 / float(noise.heights[-1]))
    if end * turns > 10**6:
        return _by_pieces(noise, ends)
    sizes = np.arange(end * turns)
    weights = np.exp([-float(noise.at(int(size))) for size in sizes]) * np.where(sizes == 0, 1, 2)
    return np.histogram(sizes, [-0.5, *(edge + 0.5 for edge in ends), np.inf], weights=weights)[0]


def _by_pieces(noise: ConcaveNoise, ends: list[int]) -> NDArray[np.float64]:
    """Return the same for shapes of many steps: the integral of exp(-F), piece by piece and turn by turn."""

    def before(size: float) -> float:
        turns, rest = divmod(size, noise.ends[-1])
        start, inside, part = 0, 0.0, 0.0
        for end, slope, height in zip(noise.ends, noise.slopes, noise.heights, strict=False):
            weigh = [math.exp(-height) * -math.expm1(-slope * far) / float(slope) for far in
                     (end - start, min(max(rest - start, 0), end - start))]  # fmt: skip
            inside, part, start = inside + weigh[0], part + weigh[1], end
        q = math.exp(-noise.heights[-1])
        return float(inside * (1 - q**turns) / (1 - q) + q**turns * part)

    edges = [0.0, *(before(end + 0.5) for end in ends), before(noise.ends[-1] * 4000)]
    return np.diff(edges)


def p_value(drawn: NDArray[np.int64], noise: ConcaveNoise) -> float:
    """Return how likely sizes stray so far from what a noise's shape says."""
    ends = bins_of(noise)
    expected = chances(noise, ends)
    seen = np.histogram(np.abs(drawn), [-0.5, *(edge + 0.5 for edge in ends), np.inf])[0]
    return float(chisquare(seen, expected / expected.sum() * len(drawn)).pvalue)


def scaled(noise: ConcaveNoise, times: Fraction) -> ConcaveNoise:
    """Return noise whose F is so many times as steep."""
    return ConcaveNoise(noise.ends, tuple(slope * times for slope in noise.slopes))


@pytest.mark.parametrize("name", SHAPES)
def test_draws_follow_the_shape_and_noise_15_percent_off_does_not(name: str) -> None:
    noise = SHAPES[name]
    drawn = noise.draw_many(Seeded(SEED), DRAWS)
    assert p_value(drawn, noise) > P_THRESHOLD
    for wrong in (1 - WRONG_BY, 1 / (1 - WRONG_BY)):
        assert p_value(drawn, scaled(noise, wrong)) < P_THRESHOLD


@pytest.mark.parametrize("name", ["one piece", "far pieces"])
def test_signs_are_even(name: str) -> None:
    drawn = SHAPES[name].draw_many(Seeded(SEED), DRAWS)
    beyond = int(np.count_nonzero(drawn))
    assert binomtest(int(np.count_nonzero(drawn > 0)), beyond).pvalue > P_THRESHOLD


def test_a_zero_drawn_with_either_sign_is_noticed() -> None:
    """Sign first, then a size from 0 on: what the sampler rejects is kept."""
    noise = SHAPES["one piece"]
    entropy = Seeded(SEED)
    sizes = [noise.draw_many(entropy, 1)[0] for _ in range(2000)]
    zeros = sizes.count(0)
    doubled = np.array(sizes + [0] * zeros)  # 0 below zero has as many draws as 0 above it
    assert p_value(np.array(sizes), noise) > P_THRESHOLD > p_value(doubled, noise)


def test_intervals_of_sums_cover_with_no_condition() -> None:
    """1,500 runs from a seed; a policy that grows, and values up to the largest that there may be.

    An interval that covers 90 % covers fewer than 1,280 of 1,500 with probability below 1e-9.
    """
    values = np.array([1, 5, 40, 1000, 99_999, 100_000] * 50)
    policy = prdp.Policy("2 * ln(1 + v / 10)", at_least="1/100")
    table = prdp.open({"v": values}, policy=policy, bounds={"v": (1, 100_000)}, synthetic=True)
    drawn = simulate(table, prdp.sum("v"), share=1, method="additive", runs=1500, seed=1)
    ends = [release.interval("0.9") for release in drawn]
    covered = sum(low <= values.sum() <= high for low, high in ends)
    assert binomtest(covered, len(ends), 0.9).pvalue > P_THRESHOLD
    assert not any(release.excludes or release.caveat for release in drawn)
