"""Ranges are chosen as often as their weights say, and cover every value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from prdp.cells.cell import magnitude_key
from prdp.cells.summary import Summary
from prdp.grids import FINE_PER_OCTAVE
from prdp.mechanisms.choice import Choice
from prdp.noise.choice import ExponentialChoice
from prdp.testing import Seeded
from prdp.testing.exact_loss import choice_probabilities
from prdp.testing.reference import magnitude_code
from tests.exact.universe import LEVELS
from tests.statistical.thresholds import P_THRESHOLD

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
    steps = Choice(low, high, lowest).steps(largest)
    key = magnitude_key(0, magnitude_code(value, FINE_PER_OCTAVE), largest, FINE_PER_OCTAVE)
    mine = steps.places[key.low, key.high, key.sign]
    ends = sorted((steps.near_end(mine), steps.far_end(mine)))
    assert ends[0] <= value <= ends[1]


@pytest.mark.parametrize("lowest", [False, True])
def test_steps_are_in_order_and_preferred_toward_the_inside(lowest: bool) -> None:
    choice = Choice(-1000, 10**6, lowest)
    steps = choice.steps(10**6)
    ends = [steps.far_end(place) for place in range(len(steps.codes))]
    assert ends == sorted(ends, reverse=lowest)
    law = choice.law(Summary.of(LEVELS, 1, 10**6, ()), Fraction(1))
    assert isinstance(law.first, ExponentialChoice)
    last = len(steps.octaves) - 2
    for drawn in (law.first, law.then(last)):
        assert isinstance(drawn, ExponentialChoice)
        assert list(drawn.penalties) == sorted(set(drawn.penalties))
