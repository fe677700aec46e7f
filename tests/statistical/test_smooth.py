"""The quartic noise has the density that it states, and Algorithm 2 on a graph has that noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from prdp.cells.edges import Pairs
from prdp.levels import Levels
from prdp.mechanisms.partition import DomainFinder
from prdp.mechanisms.smooth import Smooth, largest_change, most_change, smooth_bound, two_paths
from prdp.noise.quartic import Quartic, spread, tail
from prdp.testing import Seeded
from tests.statistical.thresholds import P_THRESHOLD

RUNS = 60_000


def fit(sample: np.ndarray, scale: float) -> float:
    """Return the p-value of whole numbers under rounded noise of a scale, by chi-square over cells."""
    cuts = np.unique(np.round(np.linspace(-4, 4, 33) * scale)) + 0.5

    def up_to(cut: float) -> float:
        return tail(-cut / scale) if cut < 0 else 1 - tail(cut / scale)

    chances = np.diff([0.0, *map(up_to, cuts), 1.0])
    counts = np.bincount(np.searchsorted(cuts, sample), minlength=len(cuts) + 1)
    return float(stats.chisquare(counts, chances * counts.sum()).pvalue)


@pytest.mark.parametrize("scale", [Fraction(3), Fraction(1000, 7), Fraction(10**9)])
def test_draws_fit_their_own_scale_and_no_scale_15_percent_off(scale: Fraction) -> None:
    sample = np.array(Quartic(0, scale).draw(Seeded(20261116), RUNS), dtype=float)
    assert fit(sample, float(scale)) > P_THRESHOLD
    for wrong in (0.85, 1.15):
        assert fit(sample, float(scale) * wrong) < P_THRESHOLD


def test_the_tail_is_the_integral_of_the_density() -> None:
    for z in (0.0, 0.3, 1.0, 4.0, 29.0, 31.0, 200.0):
        found = integrate.quad(lambda x: np.sqrt(2) / (np.pi * (1 + x**4)), z, np.inf, epsabs=1e-14)[0]
        assert tail(z) == pytest.approx(found, rel=1e-5, abs=1e-13)


def test_the_stated_interval_holds_as_often_as_it_says() -> None:
    scale = Fraction(500)
    sample = np.abs(np.array(Quartic(0, scale).draw(Seeded(4), RUNS)))
    for level in (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)):
        inside = float(np.mean(sample <= spread(scale, level)))
        assert abs(inside - float(level)) < 6 * np.sqrt(float(level * (1 - level)) / RUNS)


def test_answers_have_the_noise_of_their_bound() -> None:
    """One domain, so that the law does not depend on what the first step finds."""
    levels = Levels(Fraction(1), Fraction(3, 2))
    ring = [(node, (node + jump) % 60, 0) for node in range(60) for jump in (1, 2, 7)]
    pairs = Pairs.of(levels, 80, ring)
    mechanism = Smooth(DomainFinder.over(levels))
    answers = mechanism.draws(pairs, Fraction(1), Seeded(9), RUNS)
    budget = Fraction(3, 4) * levels.quanta(0) * levels.quantum
    scale = 2 * 3**0.75 / float(budget) * float(smooth_bound(largest_change(pairs), most_change(80), budget))
    errors = np.array([count - two_paths(pairs) for count, _, _ in answers], dtype=float)
    assert {domain for _, domain, _ in answers} == {1}
    assert fit(errors, scale) > P_THRESHOLD
    assert fit(errors, scale * 0.85) < P_THRESHOLD
