"""distinct's answers have the noise that they state, and come near the truth where there is budget enough."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from prdp.cells.summary import KeySummary, key_edges
from prdp.levels import Levels
from prdp.mechanisms.distinct import DistinctKeys
from prdp.release.raw_answer import Answer
from prdp.testing import Seeded
from tests.statistical.thresholds import P_THRESHOLD, SEED

RUNS = 20_000
LEVELS = Levels(Fraction(1, 100), Fraction(10))
HEAVY = KeySummary.of(LEVELS, [key_edges(LEVELS)[-1] + key for key in range(50)])


def fit(errors: Any, scale: float) -> float:
    """Return how well errors fit Laplace noise: how often they fall in each twentieth of it."""
    parts = np.arange(1, 20) / 20
    cuts = np.where(parts < 0.5, np.log(2 * parts), -np.log(2 * (1 - parts))) * scale
    return float(chisquare(np.bincount(np.searchsorted(cuts, errors), minlength=20)).pvalue)


def test_answers_fit_their_own_noise_and_none_that_is_15_percent_off() -> None:
    """Every key is heavier than every edge, so that all of an answer's error is noise."""
    share = Fraction(1, 3)
    answers = DistinctKeys.tuned(share).answers(HEAVY, share, Seeded(SEED), RUNS)
    promised = {1 / tuning.answer for _, tuning in DistinctKeys.tuned(share).finder.tunings}

    def in_scales(answer: Answer) -> float:
        (noise,) = answer.noises
        assert noise.scale * share * LEVELS.quantum in promised
        return float((answer.steps - 50 / answer.step) / noise.scale)

    errors = np.array([in_scales(answer) for answer in answers])
    assert fit(errors, 1) > P_THRESHOLD
    for factor in (0.85, 1.15):
        assert fit(errors, factor) < P_THRESHOLD


@pytest.mark.parametrize(("budget", "records"), [(2, 1), (Fraction(1, 10), 400)])
def test_keys_are_counted_to_within_a_few_of_their_noise(budget: Fraction, records: int) -> None:
    """Many equal keys of budget S together: the noise alone is 1 / (share · S) at best."""
    quanta = int(budget / LEVELS.quantum) * records
    summary = KeySummary.of(LEVELS, [quanta] * 3000)
    answers = DistinctKeys.tuned(Fraction(1)).answers(summary, Fraction(1), Seeded(SEED), 400)
    errors = np.array([float(answer.steps * answer.step - 3000) for answer in answers])
    assert np.median(np.abs(errors)) < 6 / float(budget * records)
