"""Laws are drawn as they are stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import FirstReaching, Noisy, Scan, Then, Together
from prdp.noise.spread import _first, spread
from prdp.testing import Seeded
from prdp.testing.exact_loss import scan_probabilities
from tests.statistical.thresholds import P_THRESHOLD

RUNS = 100_000
SILENT = DiscreteLaplace(Fraction(1, 1000))  # practically always 0


def test_a_scan_finds_each_place_with_its_exact_probability() -> None:
    scan = Scan((30, 12, 4, 0), (8, 9, 8, 8), DiscreteLaplace(Fraction(5)), DiscreteLaplace(Fraction(7)))
    expected = np.array([float(ball.mid()) for ball in scan_probabilities(scan)])
    found = np.bincount(scan.draw(Seeded(1), RUNS), minlength=4)
    assert expected.sum() == pytest.approx(1)
    assert chisquare(found, expected * RUNS).pvalue > P_THRESHOLD


def test_a_scan_without_noise_stops_at_the_first_low_mass() -> None:
    assert set(Scan((30, 12, 8, 0), (8, 8, 8, 8), SILENT, SILENT).draw(Seeded(1), 50)) == {2}


def test_a_scan_that_finds_nothing_ends_at_the_last_place() -> None:
    assert set(Scan((30, 20, 10), (8, 8, 8), SILENT, SILENT).draw(Seeded(1), 50)) == {2}


@pytest.mark.parametrize("size", [2**61, 2**70, 2**200])
def test_masses_beyond_64_bits_compare_as_they_are(size: int) -> None:
    scan = Scan((size, size - 1, -size), (0, 0, 0), SILENT, SILENT)
    assert set(scan.draw(Seeded(1), 20)) == {2}
    loud = DiscreteLaplace(Fraction(2) ** 80)
    found = Scan((2**200, 0), (-(2**200), 0), loud, SILENT).draw(Seeded(1), 20)
    assert set(found) == {1}


def test_noisy_values_keep_to_their_centres() -> None:
    draws = Noisy((10**30, -5), (SILENT, SILENT)).draw(Seeded(1), 3)
    assert draws == [(10**30, -5)] * 3


def test_a_law_of_nothing_draws_nothing_once_a_run() -> None:
    assert Noisy((), ()).draw(Seeded(1), 3) == [()] * 3
    assert Together(()).draw(Seeded(1), 3) == [()] * 3


@pytest.mark.parametrize(("values", "place"), [((9, 0), 2), ((10, 7), 0), ((0, 6), 2), ((0, 7), 1)])
def test_the_first_test_that_is_passed_picks_the_law(values: tuple[int, ...], place: int) -> None:
    assert FirstReaching(((0, 10), (1, 7)))(values) == place


def test_what_follows_a_scan_belongs_to_the_place_it_found() -> None:
    law = Then(
        Scan((5, 0), (2, 2), DiscreteLaplace(Fraction(3)), SILENT),
        lambda place: Noisy((100 * place,), (SILENT,)),
    )
    drawn = law.draw(Seeded(1), 200)
    assert {place for place, _ in drawn} == {0, 1}
    assert all(value == (100 * place,) for place, value in drawn)


@pytest.mark.parametrize("answer", [0, 1, 7, 10**6, 2**64 + 1, 3**400])
@pytest.mark.parametrize("start", [0, 5, 2**300])
def test_the_first_number_is_found_in_few_steps_and_above_2_64_to_its_first_64_bits(
    answer: int, start: int
) -> None:
    asked: list[int] = []

    def holds(k: int) -> bool:
        asked.append(k)
        return k >= answer

    found = _first(holds, start)
    assert answer <= found <= answer + (found >> 64)
    doublings = max(answer.bit_length(), start.bit_length())
    assert len(asked) <= 2 * doublings + 70


def test_hundreds_of_noises_spread_little_further_than_the_loudest_of_them() -> None:
    noises = [DiscreteLaplace(Fraction(2) ** k) for k in range(256)]
    level = Fraction(95, 100)
    loudest, every = spread(noises[-40:], level), spread(noises, level)
    assert loudest < every < loudest * (1 + 1e-10)


@pytest.mark.parametrize(
    "scales",
    [
        (Fraction(10), Fraction(5), Fraction(5, 2)),
        (Fraction(2) ** 60, Fraction(3) ** 30, Fraction(7), Fraction(8)),
        (Fraction(10), Fraction(10), Fraction(1, 50)),
        (Fraction(3),),
        tuple(Fraction(2) ** k for k in range(12)),
    ],
)
@pytest.mark.parametrize("level", [Fraction(9, 10), Fraction(95, 100)])
def test_the_sum_of_noises_stays_within_its_spread_as_often_as_stated(
    scales: tuple[Fraction, ...], level: Fraction
) -> None:
    noises = [DiscreteLaplace(scale) for scale in scales]
    reach = spread(noises, level)
    sums = sum(noise.draw_many(Seeded(7 + k), RUNS) for k, noise in enumerate(noises))
    within = float(np.mean(np.abs(sums) <= reach))
    inside = float(np.mean(np.abs(sums) < reach))
    error = 5 * float(level * (1 - level) / RUNS) ** 0.5
    assert within > level - error
    assert inside < level + error
