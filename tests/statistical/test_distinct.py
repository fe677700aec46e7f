"""distinct's answers have the noise that they state, and come near the truth where there is budget enough."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from prdp.cells.columns import exact_column
from prdp.cells.summary import KeyHolders, KeySummary, key_edges
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


def held() -> KeyHolders:
    """Return 400 rare keys, each of 1 to 20 units that hold eight common keys besides."""
    rare = [key for key in range(8, 408) for _ in range(1 + key % 20)]
    part = LEVELS.quanta(LEVELS.top - 40)
    rows = [(unit, key, part) for unit, own in enumerate(rare) for key in (*range(8), own)]
    return KeyHolders.of(*map(exact_column, zip(*rows, strict=True)))


def test_answers_about_units_fit_their_noise_around_what_keys_hold_once_budgets_have_moved() -> None:
    """And neither noise that is 15 % off nor what keys held before."""
    share, holders = Fraction(1, 3), held()
    summary = KeySummary.held(LEVELS, holders)
    answers = DistinctKeys.tuned(share).answers(summary, share, Seeded(SEED), RUNS)
    edges = {answer.step.denominator for answer in answers}
    moved = {edge: holders.clipped(edge) for edge in edges}
    unmoved = {edge: sum(min(edge, behind) for behind in holders.sums) for edge in edges}

    def errors(around: dict[int, int]) -> Any:
        found = (
            (answer.steps - around[answer.step.denominator]) / answer.noises[0].scale for answer in answers
        )
        return np.array([float(error) for error in found])

    assert fit(errors(moved), 1) > P_THRESHOLD
    for factor in (0.85, 1.15):
        assert fit(errors(moved), factor) < P_THRESHOLD
    assert fit(errors(unmoved), 1) < P_THRESHOLD


def test_rare_keys_are_counted_with_what_their_units_need_nowhere_else() -> None:
    """Undivided, a unit has nine times as much for its rare key."""
    share, summary = Fraction(1, 3), KeySummary.held(LEVELS, held())

    def error(keys: KeySummary) -> float:
        answers = DistinctKeys.tuned(share).answers(keys, share, Seeded(SEED), 400)
        return float(np.median([abs(float(answer.steps * answer.step - 408)) for answer in answers]))

    assert error(summary) < error(replace(summary, holders=None)) / 3


@pytest.mark.parametrize(("budget", "records"), [(2, 1), (Fraction(1, 10), 400)])
def test_keys_are_counted_to_within_a_few_of_their_noise(budget: Fraction, records: int) -> None:
    """Many equal keys of budget S together: the noise alone is 1 / (share · S) at best."""
    quanta = int(budget / LEVELS.quantum) * records
    summary = KeySummary.of(LEVELS, [quanta] * 3000)
    answers = DistinctKeys.tuned(Fraction(1)).answers(summary, Fraction(1), Seeded(SEED), 400)
    errors = np.array([float(answer.steps * answer.step - 3000) for answer in answers])
    assert np.median(np.abs(errors)) < 6 / float(budget * records)
