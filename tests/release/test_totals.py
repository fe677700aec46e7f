"""The interval of a total of answers that were drawn apart covers the true total, and is no wider."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.spread import spread, weighted_spread
from prdp.release.release import Release
from prdp.release.totals import total_of
from prdp.testing import Seeded

SCALE = Fraction(7, 2)


def counts(steps: list[int]) -> list[Release]:
    return [Release("count", one, Fraction(1), (SCALE,), Fraction(1, 10), "clip") for one in steps]


@pytest.mark.parametrize("groups", [3, 60])
def test_the_interval_covers_the_true_total_as_often_as_it_says(groups: int) -> None:
    runs = 4000
    drawn = DiscreteLaplace(SCALE).draw_many(Seeded(5), runs * groups).reshape(runs, groups)
    releases = counts([100] * groups)
    low, high = total_of(releases).interval()
    far = (high - low) / 2
    covered = float(np.mean(np.abs(drawn.sum(axis=1)) <= far))
    assert covered > 0.94
    narrow = float(np.mean(np.abs(drawn.sum(axis=1)) <= 0.8 * far))
    assert narrow < 0.95  # an interval a fifth narrower would not do


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2), Fraction(1), Fraction(5), pytest.param(Fraction(20), marks=pytest.mark.slow)]
)
def test_many_noises_are_bounded_by_no_less_than_a_few_are_exactly(scale: Fraction) -> None:
    for count in (1, 2, 10, 40):
        exact = spread([DiscreteLaplace(scale)] * count, Fraction(19, 20))
        assert exact - 1 <= weighted_spread(((count, Fraction(1), scale),), Fraction(1, 20))


def test_a_total_of_steps_that_differ_is_exact() -> None:
    terms = (Fraction(1, 10), "clip")
    halves = Release("sum", 5, Fraction(1, 2), (Fraction(2),), *terms)
    thirds = Release("sum", 5, Fraction(1, 3), (Fraction(3),), *terms)
    assert total_of([halves, thirds]).exact == Fraction(5, 2) + Fraction(5, 3)
    assert total_of([halves, thirds]).noise_scales == (Fraction(6), Fraction(6))


def test_a_total_of_one_answer_is_that_answer() -> None:
    (one,) = counts([5])
    assert total_of([one]) is one
