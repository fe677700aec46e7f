"""The interval that is printed covers the truth, for every way in which records are clipped or dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, laplace

import prdp
from prdp.plan.queries import Count, Max, Min, Quantile, Sum
from prdp.release.bias import Clipping
from prdp.release.release import Release
from prdp.testing import simulate
from tests.statistical.thresholds import P_THRESHOLD

RUNS = 400
LEAST = 0.95 - 4 * sqrt(0.95 * 0.05 / RUNS)
"""Below this a 95 % interval comes once in 30,000 times."""


def opened(columns: dict[str, np.ndarray], policy: str = "10000 / v", **options: object) -> prdp.Table:
    return prdp.open(
        columns,
        policy=prdp.Policy(policy, at_most=100),
        bounds={"v": options.pop("bounds", (1, 10**8))},  # type: ignore[dict-item]
        synthetic=True,
        **options,  # type: ignore[arg-type]
    )


def covered(releases: Sequence[Release], truth: float) -> float:
    """Return how often the truth lies between the ends, those that are not shown included."""
    return float(
        np.mean([low <= truth <= high for low, high in (one.interval(tail_factor=8) for one in releases)])
    )


VALUES = np.concatenate([np.full(3000, 1000), np.full(60, 3000), np.full(4, 9000)])


@pytest.mark.parametrize("share", ["1", "1/4"])
@pytest.mark.parametrize("method", ["clip", "partition", "framework", "naive"])
def test_counts_are_covered_by_every_method(method: str, share: str) -> None:
    table = opened({"v": VALUES * 20})
    releases = simulate(table, Count(), share=share, method=method, runs=RUNS, seed=1)
    assert covered(releases, VALUES.size) >= LEAST


@pytest.mark.parametrize("method", ["clip", "partition", "framework"])
def test_sums_are_covered_by_every_method(method: str) -> None:
    releases = simulate(opened({"v": VALUES}), Sum("v"), share="1/2", method=method, runs=RUNS, seed=2)
    assert covered(releases, float(VALUES.sum())) >= LEAST


@pytest.mark.parametrize("query", [Max("v"), Min("v"), Quantile("v", "1/2")], ids=str)
def test_what_has_no_level_has_no_interval(query: Any) -> None:
    """The framework chooses a range of values, which holds the truth as often as it happens to."""
    table = opened({"v": VALUES})
    for release in simulate(table, query, share="1/2", method="framework", runs=20, seed=2):
        for level in (0.5, 0.95):
            assert release.interval(level) == (-math.inf, math.inf)
        assert "no confidence interval" in str(release)
        assert "from" not in str(release).partition("(")[0]


def test_the_noise_alone_does_not_cover_what_was_dropped() -> None:
    """What was printed before: the test above would notice it."""
    releases = simulate(opened({"v": VALUES}), Sum("v"), share="1/2", method="partition", runs=RUNS, seed=2)
    held = [low <= VALUES.sum() <= high for low, high in (one.interval(tail_factor=1) for one in releases)]
    assert np.mean(held) < LEAST


def test_sums_of_both_signs_are_covered() -> None:
    values = np.concatenate([VALUES, -VALUES[::3]])
    table = opened({"v": values}, "10000 / greatest(abs(v), 1)", bounds=(-(10**8), 10**8))
    releases = simulate(table, Sum("v"), share="1/2", runs=RUNS, seed=3)
    assert covered(releases, float(values.sum())) >= LEAST


def odd_group() -> tuple[list[Release], float]:
    """Return the answers of one group of 100 large values beside 400 of 20 small ones, and its truth."""
    group = np.repeat(np.arange(401), [20] * 400 + [100])
    values = np.where(group == 400, 700, 100)
    table = prdp.open(
        {"v": values, "g": group}, policy=prdp.Policy.constant(1), bounds={"v": (0, 10**6)}, synthetic=True
    )
    tables = simulate(table.group_by("g", keys=range(401)), Sum("v"), share=1, runs=60, seed=4)
    return [one.releases[400][0] for one in tables], 70_000.0


def test_an_odd_group_among_groups_that_choose_together_is_covered() -> None:
    releases, truth = odd_group()
    assert covered(releases, truth) >= 0.95 - 4 * sqrt(0.95 * 0.05 / 60)


def test_an_odd_group_is_not_covered_where_what_the_groups_spare_is_forgotten() -> None:
    """The wrong twin: the mass that groups clip at no penalty, and the size of the answer, left away."""
    releases, truth = odd_group()
    wrong = [
        replace(one, clipping=replace(one.clipping, spared=Fraction(0), mixed=True))
        for one in releases
        if isinstance(one.clipping, Clipping) and one.clipping.spared > 100 and not one.clipping.blind
    ]  # in the others it chose alone
    assert len(wrong) > 20
    assert covered(wrong, truth) < 0.6


def test_units_in_several_groups_are_covered() -> None:
    rng = np.random.default_rng(5)
    unit = np.repeat(np.arange(4000), 3)
    values = rng.integers(10, 200, unit.size)
    columns = {"v": values, "g": rng.integers(0, 3, unit.size), "owner": unit}
    table = opened(columns, "1000 / v", privacy_unit="owner")
    tables = simulate(table.group_by("g", keys=[0, 1, 2]), Sum("v"), share="1/2", runs=100, seed=6)
    for place in range(3):
        truth = float(values[columns["g"] == place].sum())
        answers = [one.releases[place][0] for one in tables]
        assert covered(answers, truth) >= 0.95 - 4 * sqrt(0.95 * 0.05 / 100)
        assert all(isinstance(one.clipping, Clipping) for one in answers)


def test_medians_of_what_units_add_up_to_are_covered_and_those_of_rows_are_not() -> None:
    """The second is the power of the first: an interval about something else holds the truth in no run."""
    rng = np.random.default_rng(8)
    unit = np.repeat(np.arange(4000), rng.integers(1, 9, 4000))
    values = rng.integers(10, 200, unit.size)
    table = opened({"v": values, "owner": unit}, "1", privacy_unit="owner")
    truth = float(np.median(np.bincount(unit, values)))
    for query, least, most in (
        (Quantile("v", "1/2", per_unit="sum"), 0.95 - 6 * sqrt(0.95 * 0.05 / 100), 1),
        (Quantile("v", "1/2"), 0, 0),
        (Quantile("v", "1/2", per_unit="max"), 0, 0),
    ):
        found = simulate(table, query, share="1/2", runs=100, seed=9)
        assert least <= covered(found, truth) <= most, query


SMALL_BELOW = np.concatenate([VALUES, np.full(20, 27_000), -(VALUES[::3] // 30)])


def small_below_zero() -> list[Release]:
    """Return sums of values that are far smaller below zero, where each sign found its own point."""
    table = opened({"v": SMALL_BELOW}, "10000 / greatest(abs(v), 1)", bounds=(-(10**8), 10**8))
    releases = simulate(table, Sum("v"), share="1/2", runs=RUNS, seed=7)
    found = [one for one in releases if isinstance(one.clipping, Clipping) and one.clipping.drawn]
    assert len(found) == RUNS
    return found


def test_where_values_below_zero_are_small_the_lower_end_is_the_noise_s() -> None:
    releases = small_below_zero()
    assert covered(releases, float(SMALL_BELOW.sum())) >= LEAST
    for one in releases:
        value, low, noise = float(one.exact), one.interval()[0], one.interval(tail_factor=1)
        assert value - low <= 1.5 * (noise[1] - value)


def test_with_the_two_sides_points_exchanged_it_would_not_cover() -> None:
    """The wrong twin: what was clipped is looked for on the other side."""
    wrong = [
        replace(one, clipping=replace(one.clipping, drawn=one.clipping.drawn[::-1]))
        for one in small_below_zero()
        if isinstance(one.clipping, Clipping) and one.clipping.drawn
    ]
    assert covered(wrong, float(SMALL_BELOW.sum())) < LEAST


def test_the_noise_of_a_sum_of_both_signs_is_that_of_the_larger_point() -> None:
    """Errors over the stated scale are Laplace; 15 % too much or too little of it shows."""
    table = opened({"v": np.repeat([400, -30], 2000)}, "1000 / greatest(abs(v), 1)", bounds=(-500, 500))
    releases = simulate(table, Sum("v"), share=1, runs=20_000, seed=8)
    apart = [
        (one, one.clipping.at * one.step)
        for one in releases
        if isinstance(one.clipping, Clipping) and one.clipping.drawn
    ]
    assert len(apart) > 19_000
    unclipped = [one for one, at in apart if at >= 400 / (1000 / 400)]
    errors = [float((one.exact - 740_000) / (one.noise_scales[0] * one.step)) for one in unclipped]
    assert len(errors) > 15_000
    for off, fits in ((1, True), (0.85, False), (1.15, False)):
        found = kstest(np.array(errors) * off, laplace.cdf).pvalue
        assert (found > P_THRESHOLD) == fits, off
