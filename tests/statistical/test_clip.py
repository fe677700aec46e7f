"""clip's answers have the noise that they state, and its threshold has the right size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import chisquare

from prdp.levels import Levels
from prdp.mechanisms import Clip
from prdp.mechanisms._point import POOR, RICH, PointFinder, RecordLadder, Tuning
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Then
from prdp.summary import Cell, CellKey, Summary
from prdp.testing import Seeded
from prdp.testing.exact_loss import scan_probabilities
from tests.statistical.thresholds import P_THRESHOLD

RUNS = 60_000
LEVELS = Levels(Fraction(1, 4), Fraction(4))
SUMMARY = Summary.of(
    LEVELS,
    1,
    64,
    [
        Cell(CellKey(LEVELS.quanta(level), size, size, 1), count, size * count)
        for level, size, count in ((0, 40, 3), (10, 20, 12), (31, 5, 40))
    ],
)


def rest(summary: Summary, share: Fraction, tuning: Tuning) -> Then:
    """Return what follows the gate under a tuning."""
    law = Clip(PointFinder(tunings=((None, tuning),), scan_bits=8)).law(summary, share).laws[0]
    assert isinstance(law, Then)
    return law


def fit(law: Any, drawn: list[tuple[int, tuple[int, ...]]]) -> float:
    """Return how well (place, noisy total) fits a law: places, and totals in 20 equal parts each."""
    places = np.array([place for place, _ in drawn])
    chances = [float(ball.mid()) for ball in scan_probabilities(law.first)]
    observed: list[float] = []
    expected: list[float] = []
    for place, chance in enumerate(chances):
        if chance * RUNS < 500:
            continue
        totals = np.array([values[0] for at, values in drawn if at == place])
        noisy = law.then(place)
        counts, masses = binned(totals - noisy.values[0], noisy.noises[0])
        observed.extend(counts)
        expected.extend(masses * chance * RUNS)
    kept = sum(observed)
    observed.append(len(places) - kept)
    expected.append(max(1e-9, RUNS - sum(expected)))
    if observed[-1] == 0 and expected[-1] < 1:
        observed.pop()
        expected.pop()
    scaled = np.array(expected) * sum(observed) / sum(expected)
    return float(chisquare(observed, scaled).pvalue)


def binned(errors: np.ndarray, noise: DiscreteLaplace) -> tuple[list[int], np.ndarray]:
    """Return how many errors lie in each of some 20 bins, and the noise's probability of each."""
    reach = int(6 * noise.scale)
    edges = np.unique(np.linspace(-reach, reach, 21).astype(int))
    support = np.arange(-40 * reach - 40, 40 * reach + 41)
    step = 1 / float(noise.scale)
    masses = np.tanh(step / 2) * np.exp(-np.abs(support) * step)
    bins = np.searchsorted(edges, support, side="right")
    found = np.bincount(np.searchsorted(edges, errors, side="right"), minlength=edges.size + 1)
    return found.tolist(), np.bincount(bins, weights=masses, minlength=edges.size + 1)


def test_answers_fit_their_own_law_and_no_law_with_noise_15_percent_off() -> None:
    law = rest(SUMMARY, Fraction(1, 2), POOR)
    drawn = law.draw(Seeded(20261116), RUNS)
    assert fit(law, drawn) > P_THRESHOLD
    for factor in (Fraction(85, 100), Fraction(115, 100)):
        assert fit(_scaled(law, factor), drawn) < P_THRESHOLD


def _scaled(law: Any, factor: Fraction) -> Then:
    def other(noise: DiscreteLaplace) -> DiscreteLaplace:
        return DiscreteLaplace(noise.scale * factor)

    scan = replace(
        law.first,
        threshold_noise=other(law.first.threshold_noise),
        mass_noise=other(law.first.mass_noise),
    )
    return Then(
        scan,
        lambda place: replace(law.then(place), noises=tuple(map(other, law.then(place).noises))),
    )


def test_a_threshold_that_ignores_the_share_overshoots_where_ours_does_not() -> None:
    """With T fixed instead of T / share, a small share drowns it in its own noise."""
    share = Fraction(1, 10)
    levels = Levels(Fraction(1, 10**8), Fraction(100))
    crowd = [Cell(CellKey(levels.quanta(level), 1, 1, 1), 2000, 2000) for level in range(200, 260, 4)]
    summary = Summary.of(levels, 1, 1, crowd)
    unscaled = replace(RICH, threshold=RICH.threshold * share, rise=RICH.rise * share)

    def runaways(tuning: Tuning) -> float:
        """Return how often the scan goes two points past the first that clips nothing."""
        scan = PointFinder().scan(RecordLadder(summary), share, tuning)
        empty = next(place for place, mass in enumerate(scan.masses) if mass == 0)
        return float(np.mean(scan.draw(Seeded(5), 20_000) > empty + 1))

    assert runaways(RICH) < 0.04
    assert runaways(unscaled) > 0.15


def test_a_richer_table_is_given_the_tuning_for_rich_ones() -> None:
    """The total budget mass is about 20 and 1,000; the gate measures it to within about 33."""
    for count, expected in ((5, 1), (260, 0)):
        crowd = [Cell(CellKey(LEVELS.quanta(LEVELS.top), 1, 1, 1), count, count)]
        law = Clip().law(Summary.of(LEVELS, 1, 1, crowd), Fraction(1))
        picked = [which for which, _ in law.draw(Seeded(3), 400)]
        assert np.bincount(picked, minlength=2)[expected] > 380
