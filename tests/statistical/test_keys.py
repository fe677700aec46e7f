"""False keys as they are drawn: their number, names and masses fit their law, and no other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import pytest
from scipy.stats import chi2

from prdp.cells.key_masses import KeyMasses
from prdp.declare.key_domains import ColumnKeys, KeyDomain, TextClass
from prdp.levels import Levels
from prdp.mechanisms.keys import FoundKey, KeyFinder
from prdp.noise.chances import TailBinomial
from prdp.noise.exponential import draw_geometric
from prdp.schema import ColumnType, Kind
from prdp.testing import Seeded
from tests.statistical.thresholds import P_THRESHOLD, SEED, WRONG_BY

LEVELS = Levels(Fraction(1), Fraction(4))
KEYS = 40
FALSE_KEYS = Fraction(10)
SHARE = Fraction(1, 2**16)  # a scale of 2^36 quanta, as finely divided as it gets
RUNS = 1500
CLASS = TextClass.of_pattern("[a-j][0-3]")
DOMAIN = KeyDomain((ColumnKeys("k", ColumnType(Kind.TEXT), ((CLASS, Fraction(1)),), {}),), FALSE_KEYS)
HELD = 3
"""Keys that some record has: far below what is shown, so that they look like those that nobody has."""


def p_value(observed: Sequence[int], chances: Sequence[float]) -> float:
    """Return how likely counts this far from their law are."""
    total = sum(observed)
    pooled: list[tuple[float, int]] = []
    expected, seen = 0.0, 0
    for count, chance in zip(observed, chances, strict=True):
        expected, seen = expected + chance * total, seen + count
        if expected >= 10:
            pooled.append((expected, seen))
            expected, seen = 0.0, 0
    last = pooled.pop()
    pooled.append((last[0] + expected, last[1] + seen))
    statistic = sum((count - mean) ** 2 / mean for mean, count in pooled)
    return float(chi2.sf(statistic, len(pooled) - 1))


@cache
def drawn() -> list[tuple[FoundKey, ...]]:
    """Draw when a test asks; a quantum of mass is nothing beside the noise: all 40 keys have one law."""
    held = {(CLASS.nth(rank),): 1 for rank in range(HELD)}
    masses = KeyMasses.of(LEVELS, held)
    return KeyFinder(DOMAIN).answers(masses, SHARE, Seeded(SEED), RUNS)


def numbers_fit(sample: Sequence[Sequence[FoundKey]], scale: float, least: int) -> float:
    a = math.exp(-1 / scale)
    p = a**least / (1 + a)
    observed = Counter(len(found) for found in sample)
    chances = [math.comb(KEYS, n) * p**n * (1 - p) ** (KEYS - n) for n in range(KEYS + 1)]
    return p_value([observed[n] for n in range(KEYS + 1)], chances)


def masses_fit(sample: Sequence[Sequence[FoundKey]], scale: float, least: int) -> float:
    cells = 30
    observed: Counter[int] = Counter()
    for found in sample:
        for one in found:
            observed[int(cells * -math.expm1(-(one.mass - least) / scale))] += 1
    return p_value([observed[cell] for cell in range(cells)], [1 / cells] * cells)


FINDER = KeyFinder(DOMAIN)
SCALE = FINDER.scale(KeyMasses.of(LEVELS, {}), SHARE)
(LEAST,) = FINDER.thresholds(SCALE)


@pytest.mark.slow
def test_the_number_of_false_keys_is_binomial() -> None:
    assert numbers_fit(drawn(), float(SCALE), LEAST) > P_THRESHOLD


def test_their_masses_are_geometric_beyond_the_threshold() -> None:
    assert min(one.mass for found in drawn() for one in found) >= LEAST
    assert masses_fit(drawn(), float(SCALE), LEAST) > P_THRESHOLD


def test_their_names_are_equally_likely() -> None:
    observed = Counter(one.key[0] for found in drawn() for one in found)
    assert p_value([observed[CLASS.nth(rank)] for rank in range(KEYS)], [1 / KEYS] * KEYS) > P_THRESHOLD


def test_pairs_of_names_are_equally_likely() -> None:
    """So that keys with noise of their own and keys without are not seen to differ."""
    observed: Counter[int] = Counter()
    for found in drawn():
        held = sum(one.key[0] in {CLASS.nth(rank) for rank in range(HELD)} for one in found)
        if len(found) == 10:
            observed[held] += 1
    chances = [
        math.comb(HELD, n) * math.comb(KEYS - HELD, 10 - n) / math.comb(KEYS, 10) for n in range(HELD + 1)
    ]
    assert p_value([observed[n] for n in range(HELD + 1)], chances) > P_THRESHOLD


@pytest.mark.parametrize("fits", [numbers_fit, masses_fit])
@pytest.mark.parametrize("wrong_by", [-WRONG_BY, WRONG_BY])
def test_noise_that_is_15_percent_off_does_not_fit(
    fits: Callable[[Sequence[Sequence[FoundKey]], float, int], float], wrong_by: Fraction
) -> None:
    assert fits(drawn(), float(SCALE * (1 + wrong_by)), LEAST) < P_THRESHOLD


def poisson(mean: float) -> list[float]:
    """Return the law that a binomial one of so many coins cannot be distinguished from."""
    return [math.exp(-mean + n * math.log(mean) - math.lgamma(n + 1)) for n in range(40)]


@pytest.mark.parametrize("digits", [30, 300])
def test_numbers_over_huge_domains_have_their_law(digits: int) -> None:
    coins, scale, entropy = 10**digits, Fraction(1000), Seeded(SEED)
    least = round((digits * math.log(10) - math.log(4)) * 1000)
    a = math.exp(-1 / 1000)
    mean = math.exp(digits * math.log(10) - least / 1000) / (1 + a)
    observed = Counter(TailBinomial(coins, scale, least).draw(entropy) for _ in range(500))
    counts = [observed[n] for n in range(40)]
    assert p_value(counts, poisson(mean)) > P_THRESHOLD
    assert p_value(counts, poisson(mean * 3 / 2)) < P_THRESHOLD


def test_distances_have_their_law() -> None:
    scale, entropy = Fraction(7, 2), Seeded(SEED)
    observed = Counter(draw_geometric(scale, entropy) for _ in range(10_000))

    def law(of: float) -> list[float]:
        a = math.exp(-1 / of)
        return [(1 - a) * a**n for n in range(200)]

    counts = [observed[n] for n in range(200)]
    assert p_value(counts, law(3.5)) > P_THRESHOLD
    assert p_value(counts, law(3.5 * 1.15)) < P_THRESHOLD
    assert p_value(counts, law(3.5 * 0.85)) < P_THRESHOLD
