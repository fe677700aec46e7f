"""Quantiles that start from a known answer are drawn as their law says, and their intervals still cover."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from prdp.mechanisms.rank import Rank
from prdp.mechanisms.warm_rank import WarmRank
from prdp.testing import Seeded
from tests.exact.universe import LEVELS
from tests.statistical.test_permute_and_flip import fit
from tests.statistical.test_rank import LEVEL, RUNS, summary_of
from tests.statistical.thresholds import P_THRESHOLD, SEED

HALF = Fraction(1, 2)
BUDGET = LEVELS.quanta(LEVEL) * LEVELS.quantum
SMALL = WarmRank(Rank((Fraction(7, 10),), 0, 60, known=(20,)), 1 / BUDGET, up=HALF, down=HALF)


@pytest.mark.parametrize("part", ["point", "range"])
def test_draws_fit_their_own_law_and_none_that_is_15_percent_off(part: str) -> None:
    summary = summary_of([*range(60)] * (4 if part == "point" else 1), 60)

    def choice(share: Fraction) -> Any:
        law: Any = SMALL.law(summary, share)
        return law.first if part == "point" else law.then(7).first

    found = choice(Fraction(1)).draw(Seeded(SEED), RUNS)
    assert fit(found, choice(Fraction(1))) > P_THRESHOLD
    for share in (Fraction(85, 100), Fraction(115, 100)):
        assert fit(found, choice(share)) < P_THRESHOLD


@pytest.mark.parametrize("octaves", [-3, 0, 3])
def test_the_interval_covers_the_quantile_wherever_the_question_warm(octaves: int) -> None:
    """At level 3/4, so that failures are frequent enough to be counted."""
    values = np.random.default_rng(SEED).lognormal(7, 1, 4000).astype(int)
    summary = summary_of(map(int, values), 10**6)
    truth = int(np.quantile(values, 0.9, method="inverted_cdf"))
    known = int(truth * 2.0**octaves)
    rank = Rank((Fraction(9, 10),), 0, 10**6, known=(known,))
    warm = WarmRank(rank, Fraction(2) ** octaves / BUDGET)
    runs, covered = 300, 0
    for (answer,) in warm.answers(summary, HALF, Seeded(SEED), runs):
        assert answer.chosen is not None
        low, high = answer.chosen.between(Fraction(1, 4))
        covered += (low is None or low <= truth) and (high is None or truth <= high)
    assert binomtest(covered, runs, 0.75, alternative="less").pvalue > P_THRESHOLD


def test_a_known_answer_helps_if_right_and_less_than_doubles_the_error_two_octaves_away() -> None:
    values = np.sort(np.random.default_rng(SEED).lognormal(7, 1, 4000).astype(int))
    summary = summary_of(map(int, values), 10**6)
    truth = int(np.quantile(values, 0.95, method="inverted_cdf"))

    def error(known: int | None) -> float:
        rank = Rank((Fraction(95, 100),), 0, 10**6)
        warm = WarmRank(replace(rank, known=(known,)), 1 / BUDGET)
        answers = [answer.steps for (answer,) in warm.answers(summary, HALF, Seeded(SEED), 400)]
        return float(np.mean(np.abs(np.searchsorted(values, answers) / values.size - 0.95)))

    without = error(None)
    assert error(truth) < 0.9 * without
    assert error(4 * truth) < 2 * without
