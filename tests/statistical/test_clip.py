"""clip's answers have the noise they state, its choice does not run away, its interval covers the truth."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare, ks_2samp

import prdp
from prdp.cells.summary import Cell, CellKey, Summary
from prdp.levels import Levels
from prdp.mechanisms._threshold import FALLBACK, FENCED, LARGE_SHARE, PointFinder, RecordCandidates, Tuning
from prdp.mechanisms.clip import Clip
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Then
from prdp.release.bias import Clipping
from prdp.testing import Seeded, simulate
from prdp.testing.exact_loss import flip_probabilities
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
    law = Clip(PointFinder(tunings=((None, tuning),), gate_bits=8)).law(summary, share).laws[0]
    assert isinstance(law, Then)
    return law


def fit(law: Any, drawn: list[tuple[int, tuple[int, ...]]]) -> float:
    """Return how well (place, noisy total) fits a law: places, and totals in 20 equal parts each."""
    places = np.array([place for place, _ in drawn])
    chances = [float(ball.mid()) for ball in flip_probabilities(law.first)]
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
    tail_factor = int(6 * noise.scale)
    edges = np.unique(np.linspace(-tail_factor, tail_factor, 21).astype(int))
    support = np.arange(-40 * tail_factor - 40, 40 * tail_factor + 41)
    step = 1 / float(noise.scale)
    masses = np.tanh(step / 2) * np.exp(-np.abs(support) * step)
    bins = np.searchsorted(edges, support, side="right")
    found = np.bincount(np.searchsorted(edges, errors, side="right"), minlength=edges.size + 1)
    return found.tolist(), np.bincount(bins, weights=masses, minlength=edges.size + 1)


@pytest.mark.parametrize("tuning", [FALLBACK, FENCED])
def test_answers_fit_their_own_law_and_no_law_with_noise_15_percent_off(tuning: Tuning) -> None:
    law = rest(SUMMARY, Fraction(1, 2), tuning)
    drawn = law.draw(Seeded(20261116), RUNS)
    assert fit(law, drawn) > P_THRESHOLD
    for factor in (Fraction(85, 100), Fraction(115, 100)):
        assert fit(_scaled(law, factor), drawn) < P_THRESHOLD


def _scaled(law: Any, factor: Fraction) -> Then:
    def other(noise: DiscreteLaplace) -> DiscreteLaplace:
        return DiscreteLaplace(noise.scale * factor)

    return Then(
        replace(law.first, unit=law.first.unit / factor),
        lambda place: replace(law.then(place), noises=tuple(map(other, law.then(place).noises))),
    )


def crowd(levels: Levels, count: int) -> Summary:
    """Return a table whose records have budgets over several octaves."""
    cells = [Cell(CellKey(levels.quanta(level), 1, 1, 1), count, count) for level in range(200, 260, 4)]
    return Summary.of(levels, 1, 1, cells)


def test_a_fence_makes_points_far_past_the_data_rarer_than_the_fall_does() -> None:
    """Of records that are all alike, with a budget mass of 100 over the share: no steep fall."""
    levels = Levels(Fraction(1, 10**8), Fraction(100))
    summary = Summary.of(levels, 1, 1, [Cell(CellKey(levels.quanta(160), 1, 1, 1), 2000, 2000)])
    share = Fraction(100) / (RecordCandidates(summary).mass(1) * levels.quantum)

    def past(tuning: Tuning, octaves: int) -> float:
        chances = flip_probabilities(rest(summary, share, tuning).first)
        data = RecordCandidates(summary).masses(tuning.stride, 1).index(0)
        return float(sum(chances[data + octaves * 4 // tuning.stride + 1 :]).mid())

    assert past(FENCED, 3) < past(FALLBACK, 3) / 4 < past(replace(FENCED, fence=None), 3) / 8


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 10)])
def test_each_octave_past_the_data_is_rarer_by_the_fall(share: Fraction) -> None:
    """The choice is k octaves past the first point that clips nothing with a chance below exp(-fall · k)."""
    summary = crowd(Levels(Fraction(1, 10**8), Fraction(100)), 2000)

    def runaways(tuning: Tuning, octaves: int) -> float:
        candidates = RecordCandidates(summary)
        masses = candidates.masses(tuning.stride, 1)
        weight = share * tuning.choice * summary.levels.quantum
        choice = PointFinder().choice(masses, weight, tuning, candidates.heights(tuning.stride))
        allowed = next(place for place, mass in enumerate(masses) if mass == 0) + octaves * 4 // tuning.stride
        return float(np.mean(np.array(choice.draw(Seeded(5), 20_000)) > allowed))

    for octaves in (1, 2):
        assert runaways(LARGE_SHARE, octaves) < np.exp(-float(LARGE_SHARE.fall) * octaves)
        assert runaways(replace(LARGE_SHARE, fall=Fraction(1, 10)), octaves) > 0.5


def test_a_richer_table_is_given_the_tuning_for_rich_ones() -> None:
    """The total budget mass is about 20 and 1,000; the gate measures it to within about 33."""
    for count, expected in ((5, 2), (260, 0)):
        rich = [Cell(CellKey(LEVELS.quanta(LEVELS.top), 1, 1, 1), count, count)]
        law = Clip().law(Summary.of(LEVELS, 1, 1, rich), Fraction(1))
        picked = [which for which, _ in law.draw(Seeded(3), 400)]
        assert np.bincount(picked, minlength=3)[expected] > 300


@pytest.mark.parametrize("policy", ["10000 / v", "500 / power(ln(v), 4)"])
@pytest.mark.parametrize("level", ["0.9", "0.95"])
def test_intervals_cover_the_truth_where_those_of_the_noise_do_not(policy: str, level: str) -> None:
    """Values with a heavy tail: much is clipped, but little of it at more than 8 times its cap."""
    values = np.rint(1e4 * np.random.default_rng(0).random(20_000) ** (-1 / 2)).astype(np.int64)
    table = prdp.open(
        {"v": values},
        policy=prdp.Policy(policy, at_most=100),
        bounds={"v": (100, 10**12)},
        name="tail",
        synthetic=True,
    )
    releases = simulate(table, prdp.sum("v"), share="1", runs=1000, seed=11)

    def covered(tail_factor: int) -> float:
        ends = [release.interval(level, tail_factor=tail_factor) for release in releases]
        return float(np.mean([low <= values.sum() <= high for low, high in ends]))

    assert covered(8) >= float(level)
    assert covered(1) < 0.7


def test_groups_that_are_insufficient_budget_to_choose_alone_choose_together() -> None:
    """Sixty groups with a budget mass of 8 each: alone they find nothing, together they are rich."""
    levels = Levels(Fraction(1, 100), Fraction(4))
    quanta = levels.quanta(levels.index(0.4) or 0)
    small = Summary.of(levels, 1, 1, [Cell(CellKey(quanta, 1, 1, 1), 20, 20)])
    clip = Clip.tuned(Fraction(1))

    def error(answers: list[float]) -> float:
        return float(np.median(np.abs(np.array(answers) - 20)))

    alone = [float(a.steps * a.step) for a in clip.answers(small, Fraction(1), Seeded(1), 300)]
    grouped = clip.grouped([small] * 60, Fraction(1), Seeded(1), 5)
    together = [float(a.steps * a.step) for group in grouped for a in group]
    assert error(together) < 0.5 * error(alone)
    for run in range(5):  # but for the few whose noisy mass looks rich, they share a point
        points = Counter(dict(group[run].choices)["clipped at"] for group in grouped)
        assert points.most_common(1)[0][1] >= 45


def test_a_rich_group_chooses_for_itself_whatever_the_others_are() -> None:
    levels = Levels(Fraction(1, 100), Fraction(4))
    rich = Summary.of(levels, 1, 1, [Cell(CellKey(levels.quanta(levels.top), 1, 1, 1), 10**5, 10**5)])
    empty = Summary.of(levels, 1, 1, [])
    clip = Clip.tuned(Fraction(1))
    alone = np.array([a.steps for a in clip.answers(rich, Fraction(1), Seeded(1), 400)])
    beside = np.array([a.steps for a in clip.grouped([rich, empty, empty], Fraction(1), Seeded(2), 400)[0]])
    assert ks_2samp(alone, beside).pvalue > P_THRESHOLD


@pytest.mark.slow
def test_intervals_of_groups_that_choose_together_cover_a_group_unlike_the_others() -> None:
    """What a common point may clip at no penalty can all be of one group.

    300 runs from seed 1; an interval that covers 90 % covers 234 or fewer of 300 with probability below 1e-9.
    """
    runs, groups, odd, rest = 300, 60, 900, 300
    columns = {
        "g": np.concatenate([np.zeros(odd), np.repeat(np.arange(1, groups), rest)]).astype(np.int64),
        "v": np.concatenate([np.full(odd, 700), np.full((groups - 1) * rest, 100)]).astype(np.int64),
        "e": np.ones(odd + (groups - 1) * rest),
    }
    policy = prdp.Policy.column("e", at_least="1e-6", at_most="1")
    table = prdp.open(columns, policy=policy, bounds={"v": (0, 10**12)}, synthetic=True)
    drawn = simulate(table.group_by("g", keys=range(groups)), prdp.sum("v"), share="1/10", runs=runs, seed=1)
    first = [tab.releases[0][0] for tab in drawn if isinstance(tab, prdp.ReleaseTable)]
    kept = [
        release
        for release in first
        if isinstance(release.clipping, Clipping)
        and 8 * release.clipping.at * release.step >= 700
        and not release.clipping.blind  # the gate's noise calls all groups together too poor in one of twenty
    ]
    ends = [release.interval("0.9", tail_factor=8) for release in kept]
    assert len(ends) > 0.9 * runs
    assert np.isfinite(ends).all()
    covered = sum(low <= 700 * odd <= high for low, high in ends)
    assert binomtest(covered, len(ends), 0.9, alternative="less").pvalue > P_THRESHOLD
