"""Tiers of a sum have the noise they state, rarely keep an empty one, and cover what they drop."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import prdp
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.release.bias import TierClipping
from prdp.testing import simulate

pytestmark = pytest.mark.slow

POLICY = "CASE WHEN v < 100 THEN 4 WHEN v < 10000 THEN 0.25 ELSE 0.01 END"
RUNS = 4_000


def summed(values: np.ndarray, runs: int = RUNS, share: str = "1") -> list[prdp.Release]:
    """Return sums under three budgets: ratios lie between 1/4 and 25, 400 and 40,000, a million and more."""
    table = prdp.open(
        {"v": values}, policy=prdp.Policy(POLICY), bounds={"v": (1, 10**7)}, name="tiers", synthetic=True
    )
    return simulate(table, prdp.sum("v"), share=share, runs=runs, seed=7)


def tiers_of(releases: list[prdp.Release]) -> list[TierClipping]:
    found = [release.clipping for release in releases]
    assert all(isinstance(one, TierClipping) for one in found)
    return [one for one in found if isinstance(one, TierClipping)]


THIN = np.repeat([50, 500, 20_000], [100_000, 100_000, 6_000])
"""Budget masses of 400,000, 25,000 and 60: the last tier holds two thirds of the sum."""


@pytest.mark.parametrize("share", ["1", "1/2"])
def test_a_sum_errs_by_the_noise_of_its_last_tier(share: str) -> None:
    """Mean |Laplace| is its scale, the point over 77 % of the share; values at a foot are not clipped."""
    values = np.repeat([1, 100, 10_000], [100_000, 100_000, 1_000_000])
    releases = summed(values, share=share)
    errors = np.array([float(release.exact) for release in releases]) - values.sum()
    points = np.array([float(one.last.at) * float(releases[0].step) for one in tiers_of(releases)])
    scales = points / (0.77 * float(Fraction(share)))
    assert np.mean(np.abs(errors) / scales) == pytest.approx(1, rel=0.06)


def test_a_tier_with_little_budget_and_most_of_the_sum_is_found() -> None:
    """Where it is dropped, the error is two thirds of the sum."""
    releases = summed(THIN)
    assert np.mean([one.kept == 3 for one in tiers_of(releases)]) > 0.97
    errors = np.abs(np.array([float(release.exact) for release in releases]) - THIN.sum())
    assert np.median(errors) < 0.1 * THIN.sum()


def test_an_empty_tier_is_kept_as_rarely_as_its_threshold_says() -> None:
    """|Laplace| beyond 2.5 scales, and 0.7 more for each octave from the second tier's point to its foot."""
    releases = summed(np.repeat([50, 9_000], 100_000), runs=20_000)
    found = tiers_of(releases)
    two = [one for one in found if one.kept == 2]
    least = np.array([one.thresholds / one.scales for one in two], float)
    points = np.array([float(one.last.at * releases[0].step) for one in two])
    assert np.abs(least - 2.5 - 0.7 * np.log2(10**6 / points)).max() < 0.7 / 2
    expected = float(np.mean(np.exp(-least)))
    assert abs(1 - len(two) / len(found) - expected) < 5 * np.sqrt(expected / len(found))


@pytest.mark.parametrize("thin", [0, 200, 500, 1_000, 2_000])
@pytest.mark.parametrize("share", ["1", "1/4"])
def test_intervals_cover_at_every_level_what_was_clipped_or_dropped(thin: int, share: str) -> None:
    """A last tier around its threshold; 1,500 runs, standard error at 0.9 is 0.008. No record is excluded:
    values of the last tier are at its foot."""
    values = np.repeat([50, 5_000, 10_000], [20_000, 20_000, thin])
    releases = summed(values, runs=1_500, share=share)
    for level in (Fraction(9, 10), Fraction(99, 100)):
        ends = [release.interval(level, tail_factor=8) for release in releases]
        held = np.mean([low <= values.sum() <= high for low, high in ends])
        assert held > float(level) - 3 * (float(level * (1 - level)) / len(releases)) ** 0.5


def test_an_interval_of_the_noise_alone_misses_what_was_dropped() -> None:
    values = np.repeat([50, 5_000, 10_000], [20_000, 20_000, 300])
    releases = [one for one in summed(values, runs=400) if len(one.noise_scales) == 2]
    assert len(releases) > 100
    held = [
        low <= values.sum() <= high for low, high in (one.interval("0.95", tail_factor=1) for one in releases)
    ]
    assert np.mean(held) < 0.5


def test_what_is_excluded_is_what_lies_beyond_the_last_tier_kept() -> None:
    (release, *_) = summed(np.repeat([50, 5_000], 20_000), runs=1)
    (tiers,) = tiers_of([release])
    assert tiers.kept == 2
    assert release.excluded_records.startswith("v above ")
    beyond = float(release.excluded_records.removeprefix("v above ").replace(",", ""))
    assert beyond >= 5_000


def test_a_release_by_tiers_is_written_and_read_again() -> None:
    for release in summed(THIN, runs=5):
        assert release_from_json(release_to_json(release)) == release


def test_counts_under_budgets_in_wide_spans_have_one_point() -> None:
    policy = prdp.Policy("CASE WHEN v < 1000 THEN 10 / v ELSE 1 / (100 * v) END", at_least="1e-7", at_most=10)
    table = prdp.open({"v": np.arange(1, 5_000)}, policy=policy, bounds={"v": (1, 10**4)}, synthetic=True)
    (counted,) = simulate(table, prdp.count(), runs=1, seed=1)
    (added,) = simulate(table, prdp.sum("v"), runs=1, seed=1)
    assert isinstance(added.clipping, TierClipping)
    assert not isinstance(counted.clipping, TierClipping)


def test_sums_of_both_signs_and_groups_have_one_point_for_all_tiers() -> None:
    table = prdp.open(
        {"v": np.repeat([-50, 5_000], 500), "g": np.repeat([0, 1], 500)},
        policy=prdp.Policy("CASE WHEN abs(v) < 100 THEN 4 ELSE 0.25 END"),
        bounds={"v": (-(10**7), 10**7), "g": (0, 1)},
        synthetic=True,
    )
    (signed,) = simulate(table, prdp.sum("v"), runs=1, seed=1)
    assert not isinstance(signed.clipping, TierClipping)
    (grouped,) = simulate(table.group_by("g", keys=[0, 1]), prdp.sum("v"), runs=1, seed=1)
    assert not any(isinstance(row[0].clipping, TierClipping) for row in grouped.releases)
