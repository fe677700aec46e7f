"""truncate's answers have the noise that their cutting point needs, and come close to the truth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import stats

from prdp.cells.edges import Pairs
from prdp.graphs.stars import CutStars
from prdp.levels import Levels
from prdp.mechanisms._threshold import LARGE_SHARE
from prdp.mechanisms.truncate import Truncate, candidate_points
from prdp.testing import Seeded
from tests.statistical.thresholds import P_THRESHOLD

LEVELS = Levels(Fraction(1, 4), Fraction(16))
SHARE = Fraction(1, 2)
RUNS = 60_000


def random_graph(nodes: int, edges: int, seed: int) -> Pairs:
    random = np.random.default_rng(seed)
    ends = np.sort(random.integers(0, nodes, (edges, 2)), axis=1)
    different = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
    levels = random.integers(0, LEVELS.top + 1, len(different))
    return Pairs(LEVELS, nodes, different.T.copy(), levels)


def fit(errors: np.ndarray, scale: float) -> float:
    cuts = np.linspace(-4, 4, 33) * scale
    chances = np.diff([0.0, *stats.laplace.cdf(cuts, scale=scale), 1.0])
    counts = np.bincount(np.searchsorted(cuts, errors), minlength=len(cuts) + 1)
    return float(stats.chisquare(counts, chances * counts.sum()).pvalue)


def test_a_release_has_noise_in_proportion_to_its_point_and_no_noise_15_percent_off() -> None:
    stars = CutStars.of(random_graph(60, 400, seed=1), 2)
    law = Truncate().totals(stars, SHARE)(LARGE_SHARE, 14)
    point = candidate_points(stars, LARGE_SHARE.stride)[14]
    scale = float(point / LEVELS.quantum / (SHARE * LARGE_SHARE.answer))
    errors = np.array([steps - stars.value(point) for (steps,) in law.draw(Seeded(2), RUNS)], dtype=float)
    assert fit(errors, scale) > P_THRESHOLD
    for wrong in (0.85, 1.15):
        assert fit(errors, scale * wrong) < P_THRESHOLD


def test_the_answer_is_within_a_few_percent_where_budgets_are_plenty() -> None:
    pairs = random_graph(400, 20_000, seed=3)
    degrees = pairs.degrees()
    for size, true in ((2, (degrees * (degrees - 1) // 2).sum()),):
        stars = CutStars.of(pairs, size)
        answers = Truncate.tuned(SHARE).answers(stars, SHARE, Seeded(5), 200)
        errors = [abs(float(answer.steps * answer.step) / float(true) - 1) for answer in answers]
        assert np.median(errors) < 0.03
