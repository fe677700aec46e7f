"""Ranges are chosen as often as their weights say, and ranks come out as near as the proof page says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from prdp.cells.cell import Cell, magnitude_key
from prdp.cells.summary import Summary
from prdp.mechanisms.rank import Rank
from prdp.testing import Seeded
from prdp.testing.reference import magnitude_code
from tests.exact.universe import LEVELS
from tests.statistical.test_choice import fit
from tests.statistical.thresholds import P_THRESHOLD, SEED

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


def choice_at(summary: Summary, share: Fraction) -> Any:
    """Return the choice of the range at one clipping point."""
    rest: Any = SMALL.law(summary, share).laws[0]
    (choice,) = rest.then(7).laws
    return choice


def test_ranges_fit_their_own_weights_and_none_that_are_15_percent_off() -> None:
    summary = summary_of(range(60), 60)
    found = choice_at(summary, Fraction(1)).draw(Seeded(SEED), RUNS)
    assert fit(found, choice_at(summary, Fraction(1))) > P_THRESHOLD
    for share in (Fraction(85, 100), Fraction(115, 100)):
        assert fit(found, choice_at(summary, share)) < P_THRESHOLD


def test_the_answer_s_rank_is_as_near_as_the_noise_allows() -> None:
    """With equal budgets E the rank misses by about 2 · max(q, 1 - q) · ln(ranges) / (a₂ · share · E)."""
    count, budget = 50_000, float(LEVELS.quanta(LEVEL) * LEVELS.quantum)
    values = np.sort(np.random.default_rng(SEED).lognormal(9, 1.5, count).clip(0, 10**6).astype(int))
    summary = summary_of(map(int, values), 10**6)
    answers = RANK.answers(summary, Fraction(1), Seeded(SEED), 200)
    ranks = np.searchsorted(values, [answer.steps for (answer,) in answers])
    answer_part = float(RANK.finder.tunings[0][1].answer)
    allowed = 2 * 0.7 * np.log(5000) / (answer_part * budget)
    cell_width = count / 256  # hardly more records than this share a range
    assert np.quantile(np.abs(ranks - 0.7 * count), 0.95) < allowed + cell_width
