"""Variances of few and small values: intervals cover the truth, and answers are not off by a center."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy.stats import binomtest

import prdp
from prdp.plan.steps import Derived
from prdp.release import release as releases
from prdp.release.derived import quotient_interval
from prdp.release.interval import Ends
from prdp.release.ratio import TotalLaw
from prdp.release.release import Release
from prdp.testing import simulate
from tests.statistical.thresholds import P_THRESHOLD

pytestmark = pytest.mark.slow  # many simulated releases

RUNS = 300
NUMBER = 20_000
_RNG = np.random.default_rng(20261118)

COLUMNS: dict[str, tuple[np.ndarray, tuple[int, int], int | Fraction]] = {
    "zeros and ones, bounds to 100": (_RNG.integers(0, 2, NUMBER), (0, 100), 1),
    "zeros and ones, bounds to 1": (_RNG.integers(0, 2, NUMBER), (0, 1), 1),
    "few ones": ((_RNG.random(NUMBER) < 0.03).astype(np.int64), (0, 100), 1),
    "ratings of 3 and 4": (_RNG.integers(3, 5, NUMBER), (1, 5), 1),
    "ratings, most of 5": (5 - _RNG.binomial(4, 0.1, NUMBER), (1, 5), 1),
    "tenths": (_RNG.binomial(3, 0.4, NUMBER), (0, 40), Fraction(1, 10)),
    "skewed tens": (_RNG.geometric(0.6, NUMBER).clip(max=8), (0, 100), 10),
    "both signs": (_RNG.integers(-1, 2, NUMBER), (-50, 50), 1),
}
"""For each column its values and bounds, in rounding steps, and the rounding step."""

POLICIES = {"alike": prdp.Policy("1"), "by value": prdp.Policy("10 / greatest(v, 1)", at_most=10)}


def opened(name: str, policy: str) -> tuple[prdp.Table, np.ndarray, np.ndarray]:
    """Return a table of a column, its values in units and their groups."""
    rounding, (low, high), round_to = COLUMNS[name]
    groups = np.random.default_rng(1).integers(0, 3, NUMBER)
    columns = {"v": pyarrow.array(rounding * float(round_to), pyarrow.float64()), "g": pyarrow.array(groups)}
    table = prdp.open(
        pyarrow.table(columns),
        policy=POLICIES[policy],
        bounds={"v": (low * round_to, high * round_to)},
        round_to={"v": round_to},
        synthetic=True,
    )
    return table, rounding * float(round_to), groups


def covered(found: Sequence[Release], truth: float) -> int:
    return sum(low <= truth <= high for low, high in (release.interval() for release in found))


def holds(found: Sequence[Release], truth: float) -> bool:
    """Return whether 95 % is not refuted by how many intervals hold the truth, up to how floats round it."""
    number = max(covered(found, truth * (1 + bit * 1e-12)) for bit in (-1, 0, 1))
    return bool(binomtest(number, len(found), 0.95, alternative="less").pvalue > P_THRESHOLD)


@pytest.mark.parametrize("share", ["1", "1/10"])
@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_intervals_hold_for_columns_of_few_small_values(name: str, policy: str, share: str) -> None:
    table, values, _ = opened(name, policy)
    found = simulate(table, prdp.variance("v"), share=share, runs=RUNS, seed=11)
    assert holds(found, float(np.var(values)))
    roots = simulate(table, prdp.std("v"), share=share, runs=RUNS, seed=12)
    assert holds(roots, float(np.std(values)))


@pytest.mark.parametrize("name", ["zeros and ones, bounds to 100", "ratings of 3 and 4", "tenths"])
def test_intervals_hold_group_by_group(name: str) -> None:
    table, values, groups = opened(name, "alike")
    found = simulate(table.group_by("g", keys=[0, 1, 2]), [prdp.variance("v")], runs=RUNS, seed=13)
    for group in range(3):
        of_group = [one.releases[group][0] for one in found]
        assert holds(of_group, float(np.var(values[groups == group])))


@pytest.mark.parametrize("name", ["zeros and ones, bounds to 100", "ratings of 3 and 4"])
def test_around_a_whole_rounding_step_and_uncorrected_neither_answers_nor_intervals_would_be_right(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: squares around the nearest rounding step, and ends that ignore all but the mean's noise."""

    def rounded(self: Derived, parts: Sequence[Fraction]) -> Fraction:
        return round(parts[0] / parts[1] / self.measure.round_to) * self.measure.round_to

    def uncorrected(
        rule: str, laws: Sequence[TotalLaw], totals: Sequence[Fraction], failure: Fraction, **public: Any
    ) -> Ends:
        del rule, public["center"]
        low, high = quotient_interval("mean", [laws[2], laws[1]], [totals[2], totals[1]], failure, **public)
        means = quotient_interval("mean", laws[:2], totals[:2], failure, **public)
        return low - (means[1] - means[0]) ** 2, high

    table, values, _ = opened(name, "alike")
    truth = float(np.var(values))
    right = simulate(table, prdp.variance("v"), runs=RUNS, seed=14)
    assert np.mean([abs(release.value - truth) for release in right]) < truth / 100
    monkeypatch.setattr(Derived, "center", rounded)
    monkeypatch.setattr(Derived, "_mean", rounded)
    monkeypatch.setattr(releases, "quotient_interval", uncorrected)
    wrong = simulate(table, prdp.variance("v"), runs=RUNS, seed=14)
    assert np.mean([abs(release.value - truth) for release in wrong]) > truth / 2
    assert not holds(wrong, truth)
