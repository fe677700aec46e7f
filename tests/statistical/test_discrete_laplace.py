"""Draws fit their own distribution and no other, and agree with two independent samplers."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from prdp.noise import DiscreteLaplace, Entropy, SystemEntropy, discrete_laplace
from prdp.noise.discrete_laplace import _integers, _toss, draw_chunk
from prdp.noise.laplace_coins import digit_count
from prdp.testing.seeded import Seeded
from tests.statistical.thresholds import P_THRESHOLD, SAMPLE_SIZE, SEED, WRONG_BY

if TYPE_CHECKING:
    from numpy.typing import NDArray

Sampler = Callable[[Fraction, int, Entropy], Iterable[int]]

LEVELS = [Fraction(part, 20) for part in range(1, 20)] + [Fraction(99, 100), Fraction(999, 1000)]
SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(1000), Fraction(10**9) / 7]


def cells(noise: DiscreteLaplace) -> list[int]:
    """Return where to cut the integers: about even shares of the mass, single integers if heavy."""
    reaches = {noise.spread(level) for level in LEVELS}
    return sorted(reaches | {-tail_factor - 1 for tail_factor in reaches})


def chance_up_to(noise: DiscreteLaplace, k: int) -> float:
    """Return P(X <= k)."""
    below_zero = 1 / (1 + math.exp(1 / noise.scale))
    if k < 0:
        return below_zero * math.exp((k + 1) / noise.scale)
    return 1 - below_zero * math.exp(-k / noise.scale)


def count_cells(sample: Iterable[int], cuts: list[int]) -> NDArray[np.int64]:
    if isinstance(sample, np.ndarray) and sample.dtype == np.int64 and max(cuts) < 2**62:
        where = np.searchsorted(cuts, sample)
    else:
        where = np.array([bisect_left(cuts, value) for value in sample])
    return np.bincount(where, minlength=len(cuts) + 1)


def fit(sample: Iterable[int], noise: DiscreteLaplace) -> float:
    """Return the p-value of the sample under the noise, by chi-square over cells."""
    cuts = cells(noise)
    chances = np.diff([0.0, *(chance_up_to(noise, cut) for cut in cuts), 1.0])
    counts = count_cells(sample, cuts)
    return float(stats.chisquare(counts, chances * counts.sum()).pvalue)


def fit_low_digits(sample: NDArray[Any], noise: DiscreteLaplace, modulus: int = 16) -> float:
    """Return the p-value of the remainders, which the cells of a large scale cannot see."""
    step = math.exp(-1 / noise.scale)
    centre = math.tanh(1 / (2 * noise.scale)) / -math.expm1(-modulus / noise.scale)
    chances = [centre * (step**r + step ** (modulus - r)) for r in range(modulus)]
    counts = np.bincount(sample % modulus, minlength=modulus)
    return float(stats.chisquare(counts, np.array(chances) * counts.sum()).pvalue)


def agree(one: Iterable[int], other: Iterable[int], noise: DiscreteLaplace) -> float:
    """Return the p-value of two samples' having one distribution."""
    cuts = cells(noise)
    table = np.array([count_cells(one, cuts), count_cells(other, cuts)])
    return float(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


@cache
def drawn(scale: Fraction) -> NDArray[Any]:
    return DiscreteLaplace(scale).draw_many(Seeded(SEED), SAMPLE_SIZE)


@pytest.mark.parametrize("scale", [*SCALES, Fraction(2) ** 80], ids=str)
def test_draws_fit_their_own_scale_and_no_other(scale: Fraction) -> None:
    assert fit(drawn(scale), DiscreteLaplace(scale)) > P_THRESHOLD
    assert fit(drawn(scale), DiscreteLaplace(scale * (1 + WRONG_BY))) < P_THRESHOLD
    assert fit(drawn(scale), DiscreteLaplace(scale * (1 - WRONG_BY))) < P_THRESHOLD


def test_draws_from_the_system_fit_too() -> None:
    noise = DiscreteLaplace(Fraction(1000))
    assert fit(noise.draw_many(SystemEntropy(), SAMPLE_SIZE), noise) > P_THRESHOLD


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_low_digits_of_draws_fit(scale: Fraction) -> None:
    assert fit_low_digits(drawn(scale), DiscreteLaplace(scale)) > P_THRESHOLD


def test_neighbouring_draws_are_independent() -> None:
    signs = np.sign(drawn(Fraction(1000)))
    pairs = np.bincount(3 * (signs[:-1:2] + 1) + signs[1::2] + 1, minlength=9).reshape(3, 3)
    assert stats.chi2_contingency(pairs[::2, ::2]).pvalue > P_THRESHOLD


@pytest.mark.parametrize("digits", [0, 1, 2, 4])
def test_any_number_of_digits_gives_the_same_distribution(digits: int) -> None:
    noise = DiscreteLaplace(Fraction(7, 2))
    sample = draw_chunk(noise.scale, digits, 20_000, Seeded(SEED))
    assert fit(sample, noise) > P_THRESHOLD


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 2), Fraction(1000)], ids=str)
def test_draws_agree_with_opendp(scale: Fraction) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    theirs = dp.m.make_laplace(*space, scale=float(scale))([0] * 50_000)
    assert agree(drawn(scale), theirs, DiscreteLaplace(scale)) > P_THRESHOLD
    assert agree(drawn(scale * (1 + WRONG_BY)), theirs, DiscreteLaplace(scale)) < P_THRESHOLD


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 2), Fraction(1000)], ids=str)
def test_draws_agree_with_a_slow_sampler_of_another_kind(scale: Fraction) -> None:
    source = Seeded(SEED + 1)
    theirs = [rejection_laplace(scale, source) for _ in range(10_000)]
    assert agree(drawn(scale), theirs, DiscreteLaplace(scale)) > P_THRESHOLD
    assert agree(drawn(scale * (1 + WRONG_BY)), theirs, DiscreteLaplace(scale)) < P_THRESHOLD


def uniform_below(limit: int, entropy: Entropy) -> int:
    width = (limit.bit_length() + 7) // 8
    while True:
        number = int.from_bytes(entropy.bytes(width), "big")
        if number < 256**width // limit * limit:
            return number % limit


def rational_coin(p: Fraction, entropy: Entropy) -> bool:
    return uniform_below(p.denominator, entropy) < p.numerator


def exp_coin(x: Fraction, entropy: Entropy) -> bool:
    """Return True with probability exp(-x), 0 <= x <= 1: an odd number of tosses ends the run."""
    tosses = 1
    while rational_coin(x / tosses, entropy):
        tosses += 1
    return tosses % 2 == 1


def rejection_laplace(scale: Fraction, entropy: Entropy) -> int:
    """Draw as Canonne, Kamath and Steinke do: rational coins and rejection, no logarithm or exp."""
    t, s = scale.numerator, scale.denominator
    while True:
        remainder = uniform_below(t, entropy)
        if not exp_coin(Fraction(remainder, t), entropy):
            continue
        whole = 0
        while exp_coin(Fraction(1), entropy):
            whole += 1
        magnitude = (remainder + t * whole) // s
        negative = rational_coin(Fraction(1, 2), entropy)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def cut_to_one_byte(scale: Fraction, count: int, entropy: Entropy) -> NDArray[Any]:
    """Draw wrongly: every coin's probability is cut off after its first byte."""
    digits = digit_count(scale)
    whole = discrete_laplace._thresholds
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discrete_laplace, "_thresholds", lambda *key: first_byte_only(whole(*key)))
        return draw_chunk(scale, digits, count, entropy)


def first_byte_only(thresholds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    kept = np.zeros_like(thresholds)
    kept[0] = thresholds[0]
    return kept


def zero_twice(scale: Fraction, count: int, entropy: Entropy) -> NDArray[Any]:
    """Draw wrongly: a sign times a geometric, so that 0 comes as +0 and as -0."""
    coins = _toss(scale, digit_count(scale), count, entropy)
    wrong: NDArray[Any] = _integers(coins[3:]) * np.where(coins[1], -1, 1)
    return wrong


def never_above(scale: Fraction, count: int, entropy: Entropy) -> NDArray[Any]:
    """Draw wrongly: few digits, and what lies above them is forgotten."""
    few = max(0, scale.numerator.bit_length() - scale.denominator.bit_length()) + 1
    coins = _toss(scale, few, count, entropy)
    wrong: NDArray[Any] = (_integers(coins[3:]) + 1) * coins[0] * np.where(coins[1], -1, 1)
    return wrong


@pytest.mark.parametrize("wrong", [cut_to_one_byte, zero_twice, never_above])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 2), Fraction(20)], ids=str)
def test_wrong_samplers_are_caught(wrong: Sampler, scale: Fraction) -> None:
    sample = wrong(scale, 10 * SAMPLE_SIZE, Seeded(SEED))
    assert fit(sample, DiscreteLaplace(scale)) < P_THRESHOLD


def test_low_digits_cut_to_one_byte_are_caught() -> None:
    scale = Fraction(10**6)
    sample = cut_to_one_byte(scale, 10 * SAMPLE_SIZE, Seeded(SEED))
    assert fit_low_digits(sample, DiscreteLaplace(scale)) < P_THRESHOLD
