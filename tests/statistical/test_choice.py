"""Ranges are chosen as often as their weights say, and cover every value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from prdp.cells.summary import Cell, Summary, magnitude_key
from prdp.levels import FINE_PER_OCTAVE, Levels
from prdp.mechanisms._axis import steps_between
from prdp.mechanisms.choice import Choice
from prdp.noise.choice import ExponentialChoice
from prdp.testing import Seeded
from prdp.testing.exact_loss import choice_probabilities
from prdp.testing.reference import magnitude_code
from tests.exact.universe import LEVELS
from tests.statistical.thresholds import P_THRESHOLD, SEED

RUNS = 40_000
PENALTIES = tuple(Fraction(number, 7) for number in (3, 0, 9, 20, 1, 12, 200))


def fit(found: list[int], choice: ExponentialChoice) -> float:
    expected = np.array([float(ball.mid()) for ball in choice_probabilities(choice)]) * len(found)
    counts = np.bincount(found, minlength=len(expected))
    seen = expected > 5
    return float(chisquare(counts[seen], expected[seen] * counts[seen].sum() / expected[seen].sum()).pvalue)


def test_choices_fit_their_own_weights_and_none_that_are_15_percent_off() -> None:
    found = ExponentialChoice(PENALTIES).draw(Seeded(20261116), RUNS)
    assert fit(found, ExponentialChoice(PENALTIES)) > P_THRESHOLD
    for factor in (Fraction(85, 100), Fraction(115, 100)):
        other = ExponentialChoice(tuple(penalty * factor for penalty in PENALTIES))
        assert fit(found, other) < P_THRESHOLD


def test_hopeless_candidates_and_huge_penalties_cost_nothing() -> None:
    assert set(ExponentialChoice((Fraction(10**9), Fraction(10**9 + 1000))).draw(Seeded(1), 50)) == {0}


@given(
    low=st.integers(-(2**62), 2**62),
    width=st.integers(0, 2**62),
    part=st.fractions(0, 1),
    lowest=st.booleans(),
)
def test_every_value_within_the_bounds_has_its_step(
    low: int, width: int, part: Fraction, lowest: bool
) -> None:
    high = low + width
    value = low + int(width * part)
    largest = max(1, abs(low), abs(high))
    steps = steps_between(low, high, largest, FINE_PER_OCTAVE, lowest=lowest)
    key = magnitude_key(0, magnitude_code(value, FINE_PER_OCTAVE), largest, FINE_PER_OCTAVE)
    mine = steps.places[key.low, key.high, key.sign]
    ends = sorted((steps.near_end(mine), steps.far_end(mine)))
    assert ends[0] <= value <= ends[1]


@pytest.mark.parametrize("lowest", [False, True])
def test_steps_are_in_order_and_preferred_toward_the_inside(lowest: bool) -> None:
    choice, empty = Choice(-1000, 10**6, lowest), Summary.of(LEVELS, 1, 10**6, ())
    steps = choice.prior(empty, Fraction(1)).steps
    ends = [steps.far_end(place) for place in range(len(steps.codes))]
    assert ends == sorted(ends, reverse=lowest)
    law = choice.law(empty, Fraction(1))
    last = len(steps.eighths) - 2
    for drawn in (law.first, law.then(last)):
        assert isinstance(drawn, ExponentialChoice)
        assert list(drawn.penalties) == sorted(set(drawn.penalties))


@pytest.mark.parametrize("budget", [1, 30, 1000])
@pytest.mark.parametrize("lowest", [False, True])
def test_the_interval_of_a_maximum_covers_it_as_often_as_it_says(budget: int, lowest: bool) -> None:
    """At level 1/2: failures are frequent enough to be counted, and the twin promises more than it keeps."""
    levels = Levels(Fraction(budget), Fraction(budget))
    values = range(-700, 700, 5)
    cells = (
        Cell(
            magnitude_key(levels.quanta(0), magnitude_code(v, FINE_PER_OCTAVE), 10**6, FINE_PER_OCTAVE), 1, v
        )
        for v in values
    )
    choice, truth, runs = Choice(-(10**6), 10**6, lowest), -700 if lowest else 695, 2000
    covered = twin = 0
    for answer in choice.answers(Summary.of(levels, 1, 10**6, cells), Fraction(1), Seeded(SEED), runs):
        assert answer.chosen is not None
        low, high = answer.chosen.between(Fraction(1, 2))
        assert (low, high)[not lowest] is None  # the other side is open
        covered += (low is None or low <= truth) and (high is None or truth <= high)
        twin += abs(answer.steps) <= abs(truth)
    assert binomtest(covered, runs, 0.5, alternative="less").pvalue > P_THRESHOLD
    assert twin < covered < runs or budget == 1000


@pytest.mark.parametrize("lowest", [False, True])
def test_within_narrow_bounds_the_interval_has_an_end_and_covers_as_often_as_it_says(lowest: bool) -> None:
    """The bounds are 1.4 octaves apart, less than what a choice looks at again: no value is before them."""
    levels, fine = Levels(Fraction(20), Fraction(20)), FINE_PER_OCTAVE
    values = range(1_200, 1_900, 2)
    cells = (
        Cell(magnitude_key(levels.quanta(0), magnitude_code(v, fine), 2_600, fine), 1, v) for v in values
    )
    summary, choice = Summary.of(levels, 1, 2_600, cells), Choice(1_000, 2_600, lowest)
    truth, runs = 1_200 if lowest else 1_898, 1_000
    covered = ended = 0
    for answer in choice.answers(summary, Fraction(1), Seeded(SEED), runs):
        assert answer.chosen is not None
        low, high = answer.chosen.between(Fraction(1, 2))
        covered += (low is None or low <= truth) and (high is None or truth <= high)
        ended += answer.chosen.between(Fraction(1, 20)) != (None, None)
    assert binomtest(covered, runs, 0.5, alternative="less").pvalue > P_THRESHOLD
    assert ended > 0.9 * runs
    empty = Summary.of(levels, 1, 2_600, ())
    found = [answer.chosen for answer in choice.answers(empty, Fraction(1), Seeded(SEED), runs)]
    none = sum(one is not None and one.between(Fraction(1, 20)) == (None, None) for one in found)
    assert binomtest(none, runs, 0.95, alternative="less").pvalue > P_THRESHOLD


@pytest.mark.parametrize("lowest", [False, True])
def test_the_overshoot_falls_with_the_budget(lowest: bool) -> None:
    def error_bounds(budget: int) -> float:
        levels = Levels(Fraction(budget), Fraction(budget))
        cells = (
            Cell(magnitude_key(levels.quanta(0), magnitude_code(v, 256), 10**9, 256), 1, v) for v in values
        )
        summary = Summary.of(levels, 1, 10**9, cells)
        answers = Choice(-(10**9), 10**9, lowest).answers(summary, Fraction(1), Seeded(SEED), 200)
        return float(np.quantile([abs(answer.steps) - 999 for answer in answers], 0.9))

    values = [-999, *range(-900, 900, 3), 999]
    found = [error_bounds(budget) for budget in (10, 1000, 10**9)]
    assert found == sorted(found, reverse=True)
    assert found[-1] <= 1
