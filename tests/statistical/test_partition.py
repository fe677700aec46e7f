"""partition fails as rarely as it says, and its graded form far more rarely."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from prdp.cells.summary import Cell, CellKey, Summary
from prdp.levels import Levels
from prdp.mechanisms.partition import PaperPartition, count_influences
from prdp.testing import Seeded

LEVELS = Levels(Fraction(1, 10**8), Fraction(100))
RICH = LEVELS.quanta(LEVELS.top)
CROWD = Summary.of(LEVELS, 1, 1, [Cell(CellKey(RICH, 1, 1, 1), 5000, 5000)])
RUNS = 20_000


def early_stops(mechanism: PaperPartition) -> float:
    """Return how often an empty domain is taken for a heavy one."""
    answers = mechanism.answers(CROWD, Fraction(1), Seeded(11), RUNS)
    return float(np.mean([len(answer.noises) > 1 for answer in answers]))


def test_an_empty_domain_passes_in_half_of_beta_of_the_runs() -> None:
    """One-sided tails: each of 33 empty domains passes with probability β/(2·34)."""
    rate = early_stops(PaperPartition(count_influences(LEVELS), Fraction(1, 10)))
    expected = 1 - (1 - 0.1 / 68) ** 33
    assert abs(rate - expected) < 5 * np.sqrt(expected / RUNS)


def test_graded_thresholds_fail_less_where_failing_costs_more() -> None:
    graded = PaperPartition(count_influences(LEVELS), Fraction(1, 10), graded=True)
    answers = graded.answers(CROWD, Fraction(1), Seeded(11), RUNS)
    depths = np.array([len(answer.noises) for answer in answers])
    assert np.mean(depths > 1) < 0.05
    assert np.mean(depths > 12) < 0.001


def test_heavy_domains_are_counted_to_within_their_noise() -> None:
    mechanism = PaperPartition(count_influences(LEVELS))
    answers = mechanism.answers(CROWD, Fraction(1), Seeded(12), 200)
    assert np.median([answer.steps for answer in answers]) == 5000
