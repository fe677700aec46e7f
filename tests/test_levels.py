"""Budgets are rounded down, never up, and never where there is no budget."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.errors import PolicyError
from prdp.levels import Levels, largest_until, power_below, smallest_from, whole_root

LEVELS = Levels(Fraction(1, 10**8), Fraction(100))

ends = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(10**6))


@given(least=ends, octaves=st.fractions(0, 40), budget=st.floats(1e-9, 1e12))
def test_a_level_s_budget_is_at_most_the_record_s(least: Fraction, octaves: Fraction, budget: float) -> None:
    levels = Levels(least, least * Fraction(2 ** float(octaves)))
    level = levels.index(budget)
    if level is None:
        assert budget < float(least)
    else:
        assert levels.quanta(level) * levels.quantum <= min(Fraction(budget), levels.at_most)


@pytest.mark.parametrize("written", ["0.1", "0.3", "0.7", "1e-8", "1/3"])
def test_a_budget_written_as_at_least_is_takes_part(written: str) -> None:
    """The double 0.3 is a little below 3/10."""
    levels = Levels(Fraction(written), Fraction(10))
    assert levels.index(float(Fraction(written))) == 0


@pytest.mark.parametrize("ulps", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("level", [0, 1, 7, 8, 9, 16, 100, 264])
def test_a_budget_beside_an_edge_lands_on_its_level_or_one_below(level: int, ulps: int) -> None:
    budget = float(LEVELS.at_least) * 2 ** (level / 8)
    for _ in range(abs(ulps)):
        budget = math.nextafter(budget, math.inf if ulps > 0 else 0)
    found = LEVELS.index(budget)
    if found is None:
        assert budget < float(LEVELS.at_least)
    else:
        assert level - 1 <= found <= level
        assert LEVELS.quanta(found) * LEVELS.quantum <= Fraction(budget)


@given(budget=st.floats(1e-8, 100))
def test_rounding_down_costs_less_than_a_sixth_of_an_octave(budget: float) -> None:
    level = LEVELS.index(budget)
    assert level is not None
    assert LEVELS.quanta(level) * LEVELS.quantum > Fraction(budget) / Fraction(112, 100)


@pytest.mark.parametrize("budget", [None, math.nan, 0.0, -0.0, -1.0, -math.inf, 9.9e-9, 5e-324])
def test_a_record_without_a_valid_budget_is_left_out(budget: float | None) -> None:
    assert LEVELS.index(budget) is None


@pytest.mark.parametrize("budget", [100.0, 101.0, 1e300, math.inf])
def test_budgets_above_the_largest_are_lowered_to_it(budget: float) -> None:
    assert LEVELS.index(budget) == LEVELS.top
    assert LEVELS.quanta(LEVELS.top) * LEVELS.quantum <= LEVELS.at_most


@given(least=ends, ratio=st.fractions(1, 10**6))
def test_domains_are_whole_octaves_of_levels(least: Fraction, ratio: Fraction) -> None:
    levels = Levels(least, least * ratio)
    expected = 1
    while least * 2**expected < levels.at_most:
        expected += 1
    assert levels.domains == expected
    for level in (0, levels.top // 2, levels.top):
        quanta = levels.quanta(level)
        assert levels.domain(quanta) == level // 8 + 1
        assert levels.domain_quanta(levels.domain(quanta)) <= quanta


def test_a_constant_policy_has_one_level_and_one_domain() -> None:
    levels = Levels(Fraction(1), Fraction(1))
    assert (levels.top, levels.domains, levels.index(1.0)) == (0, 1, 0)


def test_the_paper_s_example_has_nineteen_domains() -> None:
    """ε̌ = 7.8125e-6 and ε̂ = 4.096 of the paper's Example 1; the twelfth domain begins at 0.016."""
    levels = Levels(Fraction("7.8125e-6"), Fraction("4.096"))
    assert levels.domains == 20 - 1
    assert float(levels.domain_quanta(12) * levels.quantum) == pytest.approx(0.016, rel=1e-5)


@pytest.mark.parametrize(("low", "high"), [("0", "1"), ("2", "1"), ("-1", "1"), ("1e-100", "1")])
def test_impossible_ranges_are_refused(low: str, high: str) -> None:
    with pytest.raises(PolicyError):
        Levels(Fraction(low), Fraction(high))


@given(number=st.integers(0, 10**60), degree=st.sampled_from([1, 2, 8, 256]))
def test_a_root_is_the_floor(number: int, degree: int) -> None:
    root = whole_root(number, degree)
    assert root**degree <= number < (root + 1) ** degree


@pytest.mark.parametrize("degree", [-2, 0, 3, 10])
def test_a_root_of_another_degree_is_refused(degree: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        whole_root(7, degree)


@given(
    octaves=st.fractions(Fraction(-1, 256), 70) | st.integers(0, 70),
    per_octave=st.sampled_from([8, 256]),
)
def test_ends_of_a_step_are_the_tightest_integers(octaves: Fraction, per_octave: int) -> None:
    step = math.floor(octaves * per_octave)
    low, high = smallest_from(step, per_octave), largest_until(step, per_octave)
    margin = 1 << 30
    below = Fraction(2) ** step * (margin - 1) ** per_octave
    above = Fraction(2) ** step * (margin + 1) ** per_octave
    assert ((low - 1) * margin) ** per_octave < below <= (low * margin) ** per_octave
    assert (high * margin) ** per_octave <= above < ((high + 1) * margin) ** per_octave


@given(step=st.integers(0, 300))
def test_a_power_is_rounded_below_its_margin(step: int) -> None:
    power = power_below(step, 20)
    bound = Fraction(2) ** (step + 160) * ((1 << 30) - 1) ** 8 / Fraction(2) ** 240
    assert power**8 <= bound < (power + 1) ** 8
