"""The baselines do the facts of them: what they lose, that fast and slow agree, that nothing overflows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow
import pytest
from numpy.typing import NDArray

import prdp
from experiments.baselines import BASELINES, ROW_TWINS
from experiments.baselines.personalised_truncation import (
    PUBLISHED,
    Race,
    count_race,
    sum_race,
    truncated_sums,
)
from experiments.baselines.rows import BUDGETS, MaxLaw, max_law
from experiments.baselines.sampling import SAMPLING, kept_probabilities
from experiments.baselines.universal import Ranges, choose_largest, clipped_sums
from experiments.datasets import normal
from experiments.method import Method
from experiments.problem import POLICIES, Problem, Question
from experiments.yardsticks import Floats
from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.engines.duckdb.engine import open_source
from prdp.levels import FINE_PER_OCTAVE, Levels
from prdp.mechanisms._axis import ranges_between
from prdp.mechanisms.framework import InverseSensitivityMax
from prdp.methods import Framework
from prdp.plan.reads import CellRead
from prdp.testing import simulate

SMALL = normal("small", 2_000, size=300, seed=3)
LARGER = normal("larger", 50_000, size=300, seed=3)
LARGEST = 10**6
PAPERS_U = 10**12
ALGORITHM_1, ALGORITHM_2, TRUNCATION = ROW_TWINS


def count_loss(race: Race, budget: float) -> float:
    """What a record loses at most: independent Laplace releases reach the sum of shift over scale."""
    return float((1 / race.scales[race.points < budget]).sum())


def sampled_count_loss(race: Race, budget: float) -> float:
    above = race.points >= budget
    kept = np.array([kept_probabilities(np.array([budget]), point)[0] for point in race.points[above]])
    return count_loss(race, budget) + float(np.log1p(kept * np.expm1(1 / race.scales[above])).sum())


def sum_loss(race: Race, value: float, budget: float) -> float:
    return float((np.minimum(value, np.floor(race.points * budget)) / race.scales).sum())


RANGES = [(2.0**low, 2.0**high) for low, high in product((-30, -4, 0), (0, 1, 6)) if low <= high]


@pytest.mark.parametrize(("least", "greatest"), RANGES)
def test_mended_truncation_costs_a_record_at_most_its_budget(least: float, greatest: float) -> None:
    budgets = np.geomspace(least, greatest, 41)
    counting = count_race(least, greatest, mended=True)
    assert all(count_loss(counting, budget) <= budget for budget in budgets)
    for largest in (1, 8, 1000, 2**20):
        summing = sum_race(least, greatest, largest, mended=True)
        for value, budget in product(np.unique(np.geomspace(1, largest, 15).round()), budgets):
            assert sum_loss(summing, value, budget) <= budget * (1 + 1e-12)


def test_mended_truncation_wastes_little() -> None:
    greatest = 1.0
    counting = count_race(2.0**-20, greatest, mended=True)
    just_above = 1.0001 * counting.points[-1]
    assert count_loss(counting, just_above) > 0.99 * just_above
    summing = sum_race(2.0**-20, greatest, 2.0**20, mended=True)
    assert sum_loss(summing, 2.0**20, greatest) > 0.9 * greatest


def test_published_truncation_costs_more_than_the_budget_for_sums_but_not_for_counts() -> None:
    equal = sum_race(1, 1, 8, mended=False)
    assert sum_loss(equal, 8, 1) == pytest.approx(4 / 3)
    twofold = sum_race(1, 2, 8, mended=False)
    assert sum_loss(twofold, 8, 2) > 2
    for least, greatest in RANGES:
        counting = count_race(least, greatest, mended=False)
        assert all(count_loss(counting, budget) <= budget for budget in np.geomspace(least, greatest, 41))


def test_the_published_count_with_sampling_costs_more_than_the_budget_where_budgets_are_small() -> None:
    small = count_race(2.0**-20, 2.0**-10, mended=False)
    assert sampled_count_loss(small, 2.0**-20) > 1.05 * 2.0**-20
    paper = count_race(1e-8, 100, mended=False)
    assert all(sampled_count_loss(paper, budget) <= budget for budget in np.geomspace(1e-8, 100, 101))


def test_sampling_costs_a_record_at_most_its_budget() -> None:
    for threshold in (0.1, 1.0, 20.0):
        budgets = np.geomspace(1e-8, threshold, 50)
        kept = kept_probabilities(budgets, threshold)
        np.testing.assert_allclose(np.log1p(kept * np.expm1(threshold)), budgets, rtol=1e-9)
        assert np.all(-np.log1p(kept * np.expm1(-threshold)) <= budgets * (1 + 1e-6))
        assert kept_probabilities(np.array([2 * threshold]), threshold) == 1


def test_truncated_sums_are_those_over_rows() -> None:
    problem = Problem(SMALL)
    race = sum_race(problem.least, problem.greatest, problem.largest, mended=False)
    found = truncated_sums(problem.values.astype(float), problem.budgets, race)
    wanted = [
        sum(min(v, math.floor(point * e)) for v, e in zip(problem.values, problem.budgets, strict=True))
        for point in race.points
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_plain_budgets_are_those_of_the_problem() -> None:
    assert BUDGETS.keys() == POLICIES.keys()
    for policy, budget in BUDGETS.items():
        problem = Problem(SMALL, policy=policy)
        np.testing.assert_allclose([budget(v) for v in problem.values.tolist()], problem.budgets, rtol=1e-12)


def apart(one: Floats, other: Floats) -> float:
    """Return the Kolmogorov distance of two samples."""
    everywhere = np.sort(np.concatenate([one, other]))
    parts = [
        np.searchsorted(np.sort(sample), everywhere, side="right") / sample.size for sample in (one, other)
    ]
    return float(np.abs(parts[0] - parts[1]).max())


RUNS = 300
CHANCE = 1.95 * math.sqrt(1 / RUNS + 1 / 2000)
"""Two samples of one law are further apart in one of a thousand cases."""


@pytest.mark.parametrize("question", ["count", "sum"])
def test_truncation_over_rows_has_the_errors_of_the_fast_one(question: Question) -> None:
    problem = Problem(SMALL, question=question, largest=LARGEST)
    slow, fast = TRUNCATION.answers(problem, RUNS, 1), PUBLISHED.answers(problem, 2000, 1)
    assert apart(slow, fast) < CHANCE


@pytest.mark.parametrize("question", ["count", "sum"])
def test_algorithm_1_over_rows_has_the_errors_of_the_library(question: Question) -> None:
    problem = Problem(LARGER, question=question, largest=LARGEST)
    slow = ALGORITHM_1.answers(problem, RUNS, 1)
    releases = simulate(problem.table, problem.query, method="partition", runs=2000, seed=1)
    assert apart(slow, np.array([float(release.value) for release in releases])) < CHANCE


@pytest.mark.parametrize("question", ["sum", "max"])
def test_algorithm_2_over_rows_has_the_errors_of_the_library(question: Question) -> None:
    problem = Problem(SMALL, question=question, largest=LARGEST)
    slow = ALGORITHM_2.answers(problem, RUNS, 1)
    framework = Framework(beta="1/20", split="1/2")
    releases = simulate(problem.table, problem.query, method=framework, runs=2000, seed=1)
    fast = np.array([float(release.value) for release in releases])
    assert apart(slow, fast) < CHANCE


def farthest_apart(values: NDArray[np.int64], epsilon: Fraction, per_octave: int) -> float:
    """Return how far the library's law of a maximum lies from the twin's: of their distribution functions."""
    base = InverseSensitivityMax(0, PAPERS_U, per_octave=per_octave)
    measure = Measure("v", Fraction(1), 0, PAPERS_U, per_octave=per_octave)
    law = base.law(cells_of(values, measure), epsilon, Fraction(1, 20))
    firsts, lasts = zip(*ranges_between(0, PAPERS_U, PAPERS_U, per_octave).ends, strict=True)
    lengths = np.log(np.array(lasts, float) - np.array(firsts, float) + 1)
    ours = MaxLaw(firsts, lasts, (lengths - float(law.unit) * np.array(law.penalties, float)).tolist())
    twin = max_law(values.tolist(), 0, PAPERS_U, float(epsilon), 0.05)
    ends = sorted({*lasts, *twin.lasts})
    return float(np.abs(up_to(ours, ends) - up_to(twin, ends)).max())


def reached(weights: Floats) -> Floats:
    """Return the probability up to each place."""
    parts = np.exp(weights - weights.max())
    return np.asarray(np.cumsum(parts) / parts.sum())


def up_to(law: MaxLaw, ends: Sequence[int]) -> Floats:
    """Return the probability of values up to each end; those of a run, or of a range, are equally likely."""
    found = np.concatenate([[0.0], reached(np.array(law.weights))])
    firsts, lasts, wanted = (np.array(list(each), float) for each in (law.firsts, law.lasts, ends))
    place = np.searchsorted(firsts, wanted, side="right") - 1
    inside = (wanted - firsts[place] + 1) / (lasts[place] - firsts[place] + 1)
    return np.asarray(found[place] + inside * (found[place + 1] - found[place]))


def cells_of(values: NDArray[np.int64], measure: Measure) -> Summary:
    """Return the cells of values that all have the budget 1."""
    engine = open_source(pyarrow.table({"v": values}), None)
    levels = Levels(Fraction(1), Fraction(2))
    return engine.summarise(CellRead(prdp.Policy("1").within(engine.schema, {}), levels, {}, measure, None))[
        0
    ]


@pytest.mark.parametrize(
    ("mean", "size", "epsilon", "most"),
    [(50_000, 200_000, "1/48", 0.05), (500_000, 200_000, "1/382", 0.015), (2_000, 30_000, "1/6", 0.05)],
)
def test_the_library_s_maximum_has_the_distribution_of_the_cited_mechanism(
    mean: int, size: int, epsilon: str, most: float
) -> None:
    """Nothing is drawn: the whole law over ranges against that over all values, at the paper's ε and n."""
    values = normal("maximum", mean, size, seed=5).values
    assert farthest_apart(values, Fraction(epsilon), FINE_PER_OCTAVE) < most
    assert farthest_apart(values, Fraction(epsilon), 8) > 3 * most  # the coarse grid is distinguished


@pytest.mark.parametrize("method", BASELINES, ids=lambda method: method.name)
def test_a_baseline_answers_for_values_up_to_ten_to_the_sixteen(method: Method) -> None:
    values = normal("wide", 50_000, size=100_000)
    for question in method.questions:
        problem = Problem(values, question=question, largest=10**16)
        answers = method.answers(problem, 20, 0)
        assert answers.shape == (20,)
        assert np.isfinite(problem.errors(answers)).all()
        np.testing.assert_array_equal(answers, method.answers(problem, 20, 0))


def test_sampling_keeps_everything_where_the_threshold_is_below_every_budget() -> None:
    (tenth, _), data = SAMPLING, normal("small values", 5_000, size=50_000, seed=1)
    assert Problem(data).budgets.min() > 0.1
    for question in ("count", "sum"):
        problem = Problem(data, question=question)
        assert problem.errors(tenth.answers(problem, 200, 0)).mean() < 1


def test_ranges_hold_every_value_once_and_end_at_powers_of_two() -> None:
    ranges = Ranges.up_to(10**6)
    assert ranges.lows[0] == 100
    assert ranges.highs[-1] == 10**6
    np.testing.assert_array_equal(ranges.lows[1:], ranges.highs[:-1] + 1)
    assert {2**power for power in range(7, 20)} <= set(ranges.highs.tolist())
    for value in (100, 128, 129, 5_000, 65_536, 65_537, 10**6):
        (place,) = ranges.places(np.array([value]))
        assert ranges.lows[place] <= value <= ranges.highs[place]
        assert 2.0 ** (ranges.octaves[place] - 1) < value <= 2.0 ** ranges.octaves[place]


def by_range(values: list[int], runs: int) -> tuple[Ranges, Floats, Floats]:
    ranges, array = Ranges.up_to(10**12), np.array(values)
    places = ranges.places(array)
    totals = ranges.totals(places), ranges.totals(places, array.astype(float))
    counts, sums = (np.tile(total, (runs, 1)) for total in totals)
    return ranges, counts, sums


def test_the_universal_sum_clips_little_when_records_are_many_and_all_when_they_are_few() -> None:
    ranges, counts, sums = by_range([1000] * 5000 + [10**9], 200)
    many = clipped_sums(ranges.by_octave(counts), ranges.by_octave(sums), 1.0, np.random.default_rng(0))
    assert abs(np.median(many) / 5e6 - 1) < 0.01
    few = clipped_sums(ranges.by_octave(counts), ranges.by_octave(sums), 1e-6, np.random.default_rng(0))
    assert np.quantile(np.abs(few), 0.9) < 10 / 1e-6


def test_the_universal_sum_is_nearly_exact_when_budgets_are_ample() -> None:
    ranges, counts, sums = by_range(list(range(100, 5100)), 50)
    answers = clipped_sums(ranges.by_octave(counts), ranges.by_octave(sums), 100.0, np.random.default_rng(0))
    np.testing.assert_allclose(answers, sum(range(100, 5100)), rtol=1e-3)


def test_the_chosen_maximum_is_at_a_tie_and_never_runs_away() -> None:
    ranges, counts, _ = by_range([5000] * 1000, 200)
    answers = choose_largest(ranges, counts, 1.0, np.random.default_rng(0))
    assert np.all(np.abs(answers / 5000 - 1) < 0.05)


def test_an_empty_table_has_a_sum_and_a_maximum_all_the_same() -> None:
    ranges, counts, sums = by_range([], 100)
    random = np.random.default_rng(0)
    assert np.isfinite(clipped_sums(ranges.by_octave(counts), ranges.by_octave(sums), 1.0, random)).all()
    assert np.mean(choose_largest(ranges, counts, 1.0, random) == 100) > 0.8
