"""What follows a sum has the noise that it states, and intervals of means and variances cover the truth."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, kstest, laplace

import prdp
from prdp.cells.summary import CENTER_BITS
from prdp.mechanisms.following import Following
from prdp.release.bias import Clipping
from prdp.release.release import Release
from prdp.testing import Seeded, simulate
from prdp.testing.truth import raw_cells
from tests.mechanisms.test_following import TABLE, leader
from tests.statistical.thresholds import P_THRESHOLD

pytestmark = pytest.mark.slow

RUNS = 20_000
SHARE = Fraction(1, 8)


@pytest.mark.parametrize(
    "center",
    [
        pytest.param(None, id="count"),
        pytest.param(Fraction(10_001, 2), id="squares", marks=pytest.mark.slow),  # half a minute
    ],
)
def test_noise_fits_what_is_stated_and_none_that_is_15_percent_off(center: Fraction | None) -> None:
    plan = TABLE.plan(prdp.variance("v"), share=1)
    follower = plan.queries[0].steps[1].mechanism
    assert isinstance(follower, Following)
    (cells,) = raw_cells(TABLE, plan)
    shown = (
        cells.counted() if center is None else cells.squared_around(int(center * 2**CENTER_BITS), CENTER_BITS)
    )
    answers = follower.after([leader(10**5)] * RUNS, shown, SHARE, Seeded(20261117), center)
    (noise,) = answers[0].noises
    (exact,) = follower.after([leader(10**5)], shown, Fraction(10**30), Seeded(1), center)
    drawn = np.array([float(answer.steps - exact.steps) for answer in answers])

    def fit(scale: Fraction) -> float:
        return float(kstest(drawn, laplace(scale=float(scale)).cdf).pvalue)  # a step is far below the scale

    assert fit(noise.scale) > P_THRESHOLD
    for off in (85, 115):
        assert fit(noise.scale * Fraction(off, 100)) < P_THRESHOLD


def covered(releases: Sequence[Release], truth: float, tail_factor: int) -> int:
    ends = (release.interval(tail_factor=tail_factor) for release in releases)
    return sum(low <= truth <= high for low, high in ends)


@pytest.mark.parametrize("share", ["1", "1/10"])
@pytest.mark.parametrize("word", ["mean", "variance"])
def test_intervals_cover_the_truth_where_much_is_clipped(word: str, share: str) -> None:
    """Values with a tail that ends within the reach; intervals of the noise alone miss them."""
    values = np.rint(1e4 * np.random.default_rng(0).random(20_000) ** (-1 / 2.5)).astype(np.int64)
    values = np.minimum(values, 200_000)
    table = prdp.open(
        {"v": values},
        policy=prdp.Policy("10000 / v", at_most=100),
        bounds={"v": (100, 10**12)},
        synthetic=True,
    )
    query, truth = {
        "mean": (prdp.mean("v"), float(values.mean())),
        "variance": (prdp.variance("v"), float(values.var())),
    }[word]
    releases = simulate(table, query, share=share, runs=300, seed=3)
    count = releases[0].parts[1].clipping
    assert isinstance(count, Clipping)
    assert count.leader is not None
    assert binomtest(covered(releases, truth, 8), 300, 0.95, alternative="less").pvalue > P_THRESHOLD
    assert covered(releases, truth, 1) < 260
