"""The quotient of two noisy totals lies within its interval, whatever clipping took away; twins miss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from prdp.release import ratio
from prdp.release.ratio import Ratio, SideTail, TotalLaw

FAILURE = 0.05
SCALES = (0.1, 0.6, 1.0, 2.5, 30.0)
"""Pulls of a unit of mass, in scales of the first noise."""
Bound = Callable[[int, float, float, float, float], float]


def beyond(far: float, second: float) -> float:
    """Return Pr[W > far] for noises of the scales 1 and ``second``, on both sides of zero."""
    return ratio._beyond(far, second) if far >= 0 else 1 - ratio._beyond(-far, second)


def excess(bound: Bound, second: float, scale: float, height: float) -> float:
    """Return the largest chance of a miss beside noise beyond its bound, over what the proof allows."""
    octaves = round(32 * math.log2(second))
    noise, pull = 0.0175, 0.0075
    end = bound(octaves, scale, height, noise, pull)
    within = bound(octaves, 0.0, 0.0, noise, pull)
    masses = np.linspace(0, height + 40, 1500)
    missed = [max(0.0, beyond(end - scale * mass, second) - noise) for mass in masses]
    if any(there > 1e-9 for mass, there in zip(masses, missed, strict=True) if mass < height):
        return math.inf
    assert beyond(within, second) == pytest.approx(noise)
    return max(
        there * math.exp(height - mass) / pull
        for mass, there in zip(masses, missed, strict=True)
        if mass >= height
    )


@pytest.mark.parametrize("height", [0.5, 3.0, 8.0])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("second", [2.0**-10, 0.5, 1.0, 4.0])
def test_a_pull_and_two_noises_miss_as_rarely_as_is_claimed(
    second: float, scale: float, height: float
) -> None:
    """At every mass, so that the law of the noise may be another at every threshold."""
    assert excess(ratio._bounded, second, scale, height) <= 1 + 1e-6


@pytest.mark.parametrize(("signed", "most"), [(False, 3), (True, 5)])
@pytest.mark.parametrize("alpha", [0.07, 0.0175, 0.0035, 1e-5])
def test_some_quotient_s_noise_is_beyond_its_bound_that_much_more_often(
    alpha: float, signed: bool, most: int
) -> None:
    """The union of half planes x - my > w(m) for all m, by the law of (x, y); one alone would be too few."""
    slopes = np.exp2(np.linspace(-12, 12, 300))
    bounds = np.array([quantile(alpha, slope) for slope in slopes])
    if signed:
        slopes, bounds = np.concatenate((slopes, -slopes)), np.concatenate((bounds, bounds))
    y = np.linspace(-40, 40, 40_001)
    x = np.min(bounds[:, np.newaxis] + slopes[:, np.newaxis] * y, axis=0)
    beyond_x = np.where(x > 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)
    union = float(np.trapezoid(np.exp(-np.abs(y)) / 2 * beyond_x, y))
    assert 1.5 * alpha < union < most * alpha


def quantile(alpha: float, second: float) -> float:
    """Return what noises of the scales 1 and ``second`` pass with this probability."""
    low, high = 0.0, 60 * (1 + second)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if ratio._beyond(middle, second) > alpha else (low, middle)
    return high


def test_each_tail_factor_has_its_part_of_the_failures() -> None:
    """Of five factors, noise has a third and pulls a fifth; ends are further apart than those of one."""
    total = law(50.0, sides=(None, TAIL), chosen=True, times=8.0)
    count = law(2.0, sides=(None, replace(TAIL, scale=1.0)), chosen=True, times=8.0, follows=True)
    one, five = Ratio(total, count, FAILURE), Ratio(replace(total, ways=5), count, FAILURE)
    for sized in (False, True):
        (noise, pull), (each, part) = one._failures(sized=sized), five._failures(sized=sized)
        assert (noise / each, pull / part) == pytest.approx((3, 5))
    wide, narrow = (rule.ends(20_000.0, 500.0, (0.0, 1e6)) for rule in (five, one))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def without_height(octaves: int, scale: float, height: float, noise: float, pull: float) -> float:
    return ratio._bounded(octaves, scale, height, noise, pull) - scale * height / 2


def without_tilt(octaves: int, scale: float, height: float, noise: float, pull: float) -> float:
    """A pull with the noise's median instead of its worst."""
    return (
        scale * height + scale * math.log(0.5 / pull) if scale else ratio._bounded(octaves, 0, 0, noise, pull)
    )


@pytest.mark.parametrize("twin", [without_height, without_tilt])
def test_twins_miss_more_often(twin: Bound) -> None:
    assert max(excess(twin, 1.0, scale, 3.0) for scale in SCALES) > 1.5


def law(values: float, **more: object) -> TotalLaw:
    return replace(TotalLaw(values, 1e-6), **more)  # type: ignore[arg-type]


def missed(rule: Ratio, truth: tuple[float, float], pulls: tuple[float, float], runs: int = 1500) -> float:
    """Return how often the quotient is missed with such noises and pulls."""
    random = np.random.default_rng(20261118)
    total, count = truth
    noises = random.laplace(size=(runs, 2)) * (rule.total.scale, rule.count.scale)
    found = np.array([total - pulls[0], count - pulls[1]]) + noises
    mean = total / count
    ends = [rule.ends(one, other, (-1e6, 1e6)) for one, other in found.tolist()]
    return float(np.mean([not low <= mean <= high for low, high in ends]))


@pytest.mark.parametrize("total", [5000.0, -5000.0, 40.0])
@pytest.mark.parametrize("count", [1.0, 3.0, 12.0])
def test_without_clipping_as_many_quotients_are_covered_as_is_said(total: float, count: float) -> None:
    rule = Ratio(law(50.0, signed=True), law(count), FAILURE)
    part = missed(rule, (total, 100.0), (0.0, 0.0))
    assert 0.03 < part < 0.067  # 0.05, and three standard errors


def test_a_rule_that_ignores_the_count_s_noise_misses() -> None:
    rule = Ratio(law(50.0), law(3.0), FAILURE)
    ends = rule.ends

    class Twin(Ratio):
        def ends(self, total: float, count: float, limits: tuple[float, float]) -> tuple[float, float]:
            return Ratio(self.total, law(1e-9), FAILURE).ends(total, count, limits)

    assert ends(5000.0, 100.0, (0.0, 1e6)) != Twin(rule.total, rule.count, FAILURE).ends(
        5000.0, 100.0, (0, 1e6)
    )
    assert missed(Twin(rule.total, rule.count, FAILURE), (5000.0, 100.0), (0.0, 0.0)) > 0.1


TAIL = SideTail(height=3.0, scale=60.0, spared=0.0)


def worst(rule: Ratio, truth: tuple[float, float], lost: float) -> float:
    """Return how often is missed where mass was clipped as often as the proof allows; else none was."""
    most, unclipped = 0.0, missed(rule, truth, (0.0, 0.0))
    for mass in np.linspace(3.0, 12.0, 6):
        chance = math.exp(3.0 - mass)
        pulls = (60.0 * mass, lost * mass)
        most = max(most, chance * missed(rule, truth, pulls) + (1 - chance) * unclipped)
    return most


def test_one_choice_for_both_totals_is_charged_once() -> None:
    total = law(50.0, sides=(None, TAIL), chosen=True, times=8.0)
    count = law(2.0, sides=(None, replace(TAIL, scale=1.0)), chosen=True, times=8.0)
    apart, follows = Ratio(total, count, FAILURE), Ratio(total, replace(count, follows=True), FAILURE)
    for lost in (0.0, 1.0):
        assert worst(follows, (20_000.0, 500.0), lost) < 0.05
    wide, narrow = (rule.ends(20_000.0, 500.0, (0.0, 1e6)) for rule in (apart, follows))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_ends_without_the_pull_miss() -> None:
    total = law(50.0, chosen=True)
    assert worst(Ratio(total, law(2.0), FAILURE), (20_000.0, 500.0), 0.0) > 0.06


def test_a_quotient_of_the_other_sign_has_the_mirrored_interval() -> None:
    tails = (replace(TAIL, scale=20.0), TAIL)
    here = Ratio(law(50.0, sides=tails, chosen=True, signed=True), law(2.0), FAILURE)
    there = Ratio(law(50.0, sides=tails[::-1], chosen=True, signed=True), law(2.0), FAILURE)
    low, high = here.ends(9000.0, 300.0, (-1e6, 1e6))
    assert there.ends(-9000.0, 300.0, (-1e6, 1e6)) == pytest.approx((-high, -low), rel=1e-3)


def test_where_the_count_may_be_nothing_the_ends_are_the_limits() -> None:
    rule = Ratio(law(50.0), law(30.0), FAILURE)
    assert rule.ends(100.0, 2.0, (0.0, 500.0)) == (0.0, 500.0)
    assert rule.ends(100.0, -2.0, (0.0, 500.0))[1] == 500.0


def test_a_pull_that_nothing_bounds_has_the_limit_as_its_end() -> None:
    total = law(50.0, sides=(None, ratio.UNKNOWN), chosen=True, times=math.inf)
    low, high = Ratio(total, law(2.0), FAILURE).ends(20_000.0, 500.0, (0.0, 1e6))
    assert high == 1e6
    assert 38 < low < 40
