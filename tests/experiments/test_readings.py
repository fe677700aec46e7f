"""The readings of the paper: the vectorised stages are the library's, and each costs the facts of it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from experiments.baselines.two_stages import Reading, answers, local_counts, scan_runs_on, value_law
from experiments.datasets import normal
from experiments.paper.readings import READINGS
from experiments.paper.results import Band
from experiments.problem import Problem, Question
from experiments.studies import COUNTS, PRINTED, errors
from experiments.yardsticks import Floats
from prdp.local import Crowd
from prdp.methods import Framework
from prdp.testing import simulate

pytestmark = pytest.mark.slow

DATA = normal("readings", 20_000, size=20_000, seed=2)
HALF = Fraction(1, 2)
RUNS = 2000
CHANCE = 1.95 * math.sqrt(2 / RUNS)
"""Two samples of one law are further apart in one of a thousand cases."""


def apart(one: Floats, other: Floats) -> float:
    """Return the Kolmogorov distance of two samples."""
    everywhere = np.sort(np.concatenate([one, other]))
    parts = [np.searchsorted(np.sort(each), everywhere, side="right") / each.size for each in (one, other)]
    return float(np.abs(parts[0] - parts[1]).max())


@pytest.mark.parametrize(("question", "grid"), [("sum", 0.0), ("max", 0.05)])
def test_the_reading_in_halves_is_the_library_s_framework(question: Question, grid: float) -> None:
    """The library's maximum lies on a grid, which is worth up to ``grid``."""
    problem = Problem(DATA, question=question)
    mine, _ = answers(problem, Reading(HALF, HALF), RUNS, np.random.default_rng(1))
    framework = Framework(beta="1/20", split="1/2")
    releases = simulate(problem.table, problem.query, method=framework, runs=RUNS, seed=1)
    library = problem.errors(np.array([float(release.exact) for release in releases]))
    assert apart(problem.errors(mine), library) < CHANCE + grid
    wrong, _ = answers(problem, Reading(HALF, Fraction(1)), RUNS, np.random.default_rng(1))
    assert apart(problem.errors(wrong), library) > CHANCE + grid


def test_the_printed_local_threshold_is_the_library_s() -> None:
    problem = Problem(DATA, question="count")
    mine, _ = local_counts(problem, math.sqrt(8) * math.log(340), 200, np.random.default_rng(1))
    study = COUNTS[PRINTED]
    crowd = Crowd.of({"v": DATA.values}, study.policy)
    library = errors(study, crowd, len(crowd), 200, 1)
    # Whole percents: at ε = 100 the library's noise on whole numbers is nearly always 0.
    assert apart(np.rint(problem.errors(mine)), np.rint(library)) < 1.95 * math.sqrt(2 / 200)


def test_only_halves_and_reduced_shares_cost_the_budget() -> None:
    costs = {name: reading.cost for rows in READINGS.values() for name, reading in rows.items()}
    assert {name for name, cost in costs.items() if cost == 1} == {
        "halves",
        "halves, slack 1",
        "halves, slack 6",
        "halves, three quarters of the slack",
        "both whole, at share 1/2",
        "first stage whole, slack 1, at share 2/3",
    }
    assert max(costs.values()) == 2


@pytest.mark.parametrize(("above", "least", "most"), [(2, 0, 0.01), (1, 0.99, 1)])
def test_half_of_the_maximum_s_slack_answers_above_all_records(above: int, least: float, most: float) -> None:
    kept, epsilon, largest = np.sort(DATA.values), 1 / 10, 10**12
    slack = above / epsilon * math.log(2 * (largest + 1) / 0.1)
    firsts, _, weights = value_law(kept, largest, epsilon, slack)
    parts = np.exp(weights - weights.max())
    assert least <= parts[firsts > kept[-1]].sum() / parts.sum() <= most


@pytest.mark.parametrize("scan", [1, 2])
def test_a_scan_runs_on_as_often_as_its_noise_says(scan: int) -> None:
    random, runs = np.random.default_rng(0), 200_000
    noise = random.laplace(0, 2, runs) - random.laplace(0, 2, runs)
    found = float(np.mean(noise > scan * math.log(40)))
    assert abs(found - scan_runs_on(scan)) < 4 * math.sqrt(found / runs)


def test_a_band_is_that_of_means_of_fifty_runs() -> None:
    """Of a Normal sample: its 50-run means scatter by 1/√50, a little more for what is trimmed."""
    errors_ = np.random.default_rng(0).normal(10, 1, 5000)
    band = Band.of(errors_, 10.0)
    assert 40 < band.place < 60
    assert 0.2 < (band.high - band.low) / 2 < 1.96 / math.sqrt(50) * 1.15
    assert not Band.of(errors_, 10.6).inside
    assert Band.of(errors_, 10.1).inside
