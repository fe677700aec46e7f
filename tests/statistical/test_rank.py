"""Ranges are chosen as often as their weights say; ranks and intervals come out as the proof page says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from operator import add
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from prdp.cells.summary import Cell, Summary, magnitude_key
from prdp.mechanisms.rank import Rank
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.spread import one_sided
from prdp.release.raw_answer import Ranked
from prdp.testing import Seeded
from prdp.testing.reference import magnitude_code
from tests.exact.universe import LEVELS
from tests.statistical.test_permute_and_flip import fit
from tests.statistical.thresholds import P_THRESHOLD, SEED

pytestmark = pytest.mark.slow

RUNS = 20_000
RANK = Rank((Fraction(7, 10),), 0, 10**6)
SMALL = replace(RANK, high=60)
LEVEL = 8


def summary_of(values: Iterable[int], bound: int) -> Summary:
    """Return the fine cells of records that all have the same budget."""
    cells = (
        Cell(magnitude_key(LEVELS.quanta(LEVEL), magnitude_code(value, 256), bound, 256), 1, value)
        for value in values
    )
    return Summary.of(LEVELS, 1, bound, cells)


def drawn_at(summary: Summary, share: Fraction) -> Any:
    """Return the choice of a range at one clipping point."""
    law: Any = SMALL.law(summary, share)
    return law.laws[0].then(7).first


def test_ranges_fit_their_own_weights_and_none_that_are_15_percent_off() -> None:
    summary = summary_of(range(60), 60)

    def choice(share: Fraction) -> Any:
        return drawn_at(summary, share)

    found = choice(Fraction(1)).draw(Seeded(SEED), RUNS)
    assert fit(found, choice(Fraction(1))) > P_THRESHOLD
    for share in (Fraction(85, 100), Fraction(115, 100)):
        assert fit(found, choice(share)) < P_THRESHOLD


def test_octaves_fit_their_own_weights_and_none_that_are_15_percent_off() -> None:
    """Of a quantile so far out that ranks hardly tell ranges apart, and nearly all goes by the mass."""
    outer = replace(SMALL, quantiles=(Fraction(999, 1000),), whereabouts=Fraction(99, 100), fall=Fraction(9))
    summary = summary_of([17] * 6, 60)

    def choice(share: Fraction) -> Any:
        law: Any = outer.law(summary, share)
        return law.laws[0].then(7).first

    found = choice(Fraction(2)).draw(Seeded(SEED), RUNS)
    assert fit(found, choice(Fraction(2))) > P_THRESHOLD
    for share in (Fraction(170, 100), Fraction(230, 100)):
        assert fit(found, choice(share)) < P_THRESHOLD


def test_the_answer_s_rank_is_as_near_as_the_noise_allows() -> None:
    """With equal budgets E the rank misses by about 2 · max(q, 1 - q) · ln(ranges) / (a · share · E)."""
    count, budget = 50_000, float(LEVELS.quanta(LEVEL) * LEVELS.quantum)
    values = np.sort(np.random.default_rng(SEED).lognormal(9, 1.5, count).clip(0, 10**6).astype(int))
    summary = summary_of(map(int, values), 10**6)
    answers = RANK.answers(summary, Fraction(1), Seeded(SEED), 200)
    ranks = np.searchsorted(values, [answer.steps for (answer,) in answers])
    assert RANK.finder is not None
    answer_part = float(RANK.finder.tunings[0][1].answer)
    by_rank = answer_part * (1 - float(RANK.whereabouts) * (2 * 0.7 - 1))
    allowed = 2 * 0.7 * np.log(5000) / (by_rank * budget)
    cell_width = count / 256  # hardly more records than this share a range
    assert np.quantile(np.abs(ranks - 0.7 * count), 0.95) < allowed + cell_width


@pytest.mark.parametrize("quantile", ["1/10", "1/2", "9/10"])
def test_the_interval_of_a_quantile_covers_it_as_often_as_it_says(quantile: str) -> None:
    """At level 3/4, so that failures are frequent enough to be counted."""
    values = np.random.default_rng(SEED).lognormal(7, 1, 4000).astype(int)
    summary = summary_of(map(int, values), 10**6)
    rank = Rank((Fraction(quantile),), 0, 10**6)
    truth = np.quantile(values, float(Fraction(quantile)), method="inverted_cdf")
    runs = 400
    covered = 0
    for (answer,) in rank.answers(summary, Fraction(1, 2), Seeded(SEED), runs):
        assert answer.chosen is not None
        low, high = answer.chosen.between(Fraction(1, 4))
        covered += (low is None or low <= truth) and (high is None or truth <= high)
    assert binomtest(covered, runs, 0.75, alternative="less").pvalue > P_THRESHOLD
    assert covered < runs  # it is an interval, not everything


def test_an_edge_at_the_quantile_is_passed_as_often_as_stated_and_15_percent_less_noise_shows() -> None:
    """The worst table for a low end: an edge with exactly half of the weight below it, and none near it."""
    weights, scale, runs, failure = (10**6,) * 4 + (800_000,) * 5, Fraction(1000), 20_000, Fraction(1, 10)
    noises = DiscreteLaplace(scale).draw_many(Seeded(SEED), runs * len(weights)).reshape(runs, -1)
    places = tuple(range(8))

    def too_high(stated: Fraction) -> int:
        found = 0
        for noise in noises[:: 4 if stated == scale else 1].tolist():
            noisy = tuple(map(add, weights, noise))
            low, _ = Ranked(Fraction(1, 2), places, places, noisy, stated).between(failure)
            found += low is not None and low >= 3
        return found

    def chance(stated: Fraction, tried: int) -> float:
        return float(binomtest(too_high(stated), tried, float(failure / 2), alternative="greater").pvalue)

    assert chance(scale, runs // 4) > P_THRESHOLD
    assert chance(scale * Fraction(85, 100), runs) < P_THRESHOLD


@pytest.mark.parametrize("made_for", [Fraction(1), Fraction(1, 10)])
def test_widths_are_found_where_the_table_is_rich_enough_to_show_them(made_for: Fraction) -> None:
    """The ends of an interval are then no farther than a few times the noise of the weights around it."""
    values = np.sort(np.random.default_rng(SEED).lognormal(9, 1.5, 50_000).astype(int).clip(0, 10**6))
    summary = summary_of(map(int, values), 10**6)
    rank = Rank((Fraction(1, 2),), 0, 10**6, finder=None)
    widths = []
    for (answer,) in rank.answers(summary, made_for, Seeded(SEED), 100):
        assert isinstance(answer.chosen, Ranked)
        low, high = answer.chosen.between(Fraction(1, 20))
        ends = 0 if low is None else low, 10**6 if high is None else high
        widths.append(int(np.subtract(*np.searchsorted(values, ends[::-1]))))
    records = float(rank.noise(made_for * LEVELS.quanta(0) * LEVELS.quantum, rank.sides).scale)
    assert np.median(widths) < 2 * 12 * records + 2 * 50_000 / 256


def test_a_sum_of_noises_passes_what_is_stated_as_often_as_is_stated() -> None:
    generator = np.random.default_rng(SEED)
    runs = 200_000
    for parts in (((1, "1/2"), (1, "1/2")), ((8, "1/10"), (8, "9/10")), ((1, "1/100"), (16, "99/100"))):
        exact = tuple((count, Fraction(part)) for count, part in parts)
        sums = sum(float(part) * generator.laplace(size=(count, runs)).sum(0) for count, part in exact)
        for failure in (Fraction(1, 10), Fraction(1, 40), Fraction(1, 1000)):
            passed = int(np.sum(sums > one_sided(exact, failure)))
            assert binomtest(passed, runs, float(failure), alternative="greater").pvalue > P_THRESHOLD
            less = int(np.sum(sums > 0.85 * one_sided(exact, failure)))
            assert binomtest(less, runs, float(failure), alternative="greater").pvalue < P_THRESHOLD


def test_rare_failures_are_bounded_beyond_what_can_be_integrated() -> None:
    parts = ((8, Fraction(1, 10)), (8, Fraction(9, 10)))
    falls = [one_sided(parts, Fraction(1, 10**digits)) for digits in (3, 5, 7, 20, 80)]
    assert falls == sorted(falls)
    assert falls[-1] < 300
