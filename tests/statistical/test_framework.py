"""The framework's answers have the noise that they state, on the records that it keeps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import kstest

from prdp.cells.summary import Cell, CellKey, Summary
from prdp.levels import Levels
from prdp.mechanisms.framework import LaplaceCount, PaperFramework
from prdp.noise.totals import flips, keep_bounds
from prdp.testing import Seeded
from tests.statistical.thresholds import P_THRESHOLD

RUNS = 20_000
LEVELS = Levels(Fraction(1, 1000), Fraction(1, 10))
CROWD = Summary.of(
    LEVELS,
    1,
    1,
    [Cell(CellKey(LEVELS.quanta(level), 1, 1, 1), count, count) for level, count in ((2, 20), (30, 10**6))],
)


def test_counts_fit_laplace_noise_at_the_kept_budget_and_none_15_percent_off() -> None:
    """A million records sit in domain 4, twenty far below: those are dropped, and noise is for domain 4."""
    framework = PaperFramework(LaplaceCount(), Fraction(1, 4))
    answers = framework.answers(CROWD, Fraction(1), Seeded(3), RUNS)
    errors = np.array([answer.steps - 10**6 for answer in answers])
    scale = float(1 / framework.epsilon(LEVELS, Fraction(1), 4))
    smoothed = errors + np.random.default_rng(1).uniform(-0.5, 0.5, RUNS)
    assert kstest(smoothed, "laplace", args=(0, scale)).pvalue > P_THRESHOLD
    for factor in (0.85, 1.15):
        assert kstest(smoothed, "laplace", args=(0, factor * scale)).pvalue < P_THRESHOLD


def test_rows_below_are_kept_as_often_as_stated() -> None:
    budget, whole, runs = Fraction(1, 3), Fraction(2), 200_000
    chance = (np.exp(1 / 3) - 1) / (np.exp(2) - 1)
    kept = flips(keep_bounds(budget, whole), runs, Seeded(5)).mean()
    error = 5 * float(np.sqrt(chance * (1 - chance) / runs))
    assert abs(kept - chance) < error
    assert abs(kept - chance * 1.15) > error
