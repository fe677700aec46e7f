"""choice on every small table: no range's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.summary import CellKey, Summary
from prdp.mechanisms.choice import Choice
from prdp.noise.choice import ExponentialChoice, uniform_below
from prdp.noise.exponential import exp_bounds
from prdp.noise.laws import Law, Then
from prdp.testing import Seeded
from prdp.testing.enumerated import exact_distribution
from prdp.testing.exact_loss import choice_probabilities
from prdp.testing.mechanism_contract import Twin
from tests.exact.universe import MEASURE, ODD, RECORDS, OnThisUniverse, with_budgets_raised

HALF = Fraction(1, 2)
SLOW: dict[str, Any] = {
    "per_octave": 8,
    "fall": Fraction(1, 4),
    "inner": Fraction(1, 8),
    "steep": Fraction(1),
    "fine": HALF,
}
"""Gentle falls, so that a few records are enough to outweigh them."""
LARGEST = Choice(MEASURE.low, MEASURE.high, typical=(Fraction(4),) * 9, **SLOW)
SMALLEST = replace(LARGEST, lowest=True)


def steps_near(law: Then, place: int) -> Law:
    """Return the choice of a step near an eighth of an octave, counted from either end."""
    assert isinstance(law.first, ExponentialChoice)
    return law.then(range(len(law.first.penalties))[place])


def sharper(factor: Fraction, mechanism: Choice = LARGEST) -> Callable[[Summary, Fraction], Then]:
    """Weigh the masses too much, at the same prior: what noise that is too small is to other mechanisms."""
    return lambda summary, share: mechanism.law(summary, share * factor)


def around_a_target(summary: Summary, share: Fraction) -> Then:
    """Look for a mass of 1 beyond the eighth: a utility that moves both ways has twice the loss."""
    right = LARGEST.law(summary, share)
    first = right.first
    assert isinstance(first, ExponentialChoice)
    penalties = tuple(abs(penalty * first.unit - HALF) for penalty in first.penalties)
    return replace(right, first=ExponentialChoice(tuple(map(Fraction, penalties))))


def rounded_up(summary: Summary, share: Fraction) -> Then:
    """Give every record a budget three levels above its own."""
    return LARGEST.law(with_budgets_raised(summary, 3), share)


def falling_with_the_data(summary: Summary, share: Fraction) -> Then:
    """Let the prior depend on the largest budget that occurs, in place of the one that the policy allows."""
    largest = max(summary.cells.quanta.tolist(), default=1) * summary.levels.quantum
    return replace(LARGEST, fall=Fraction(largest)).law(summary, share)


class TestMax(OnThisUniverse):
    records = (*RECORDS, *ODD)
    max_records = 3
    mechanism = LARGEST
    runs = 60
    crowded = ("eighth", "step", "step further in")
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "eighth": (lambda law: law.first, HALF),
        "step": (lambda law: steps_near(law, -1), HALF),
        "step further in": (lambda law: steps_near(law, 20), HALF),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {
            "eighth 15 % too sharp": Twin(sharper(Fraction(100, 85)), "eighth"),
            "step 15 % too sharp": Twin(sharper(Fraction(100, 85)), "step"),
            "a target mass": Twin(around_a_target, "eighth"),
            "levels rounded up": Twin(rounded_up, "eighth"),
            "a prior by the largest budget that occurs": Twin(falling_with_the_data, "eighth"),
        }


class TestMin(TestMax):
    mechanism = SMALLEST

    def twins(self) -> Mapping[str, Twin]:
        return {"twice as sharp": Twin(sharper(Fraction(2), SMALLEST), "eighth")}


class TestBothSteps(OnThisUniverse):
    """Both choices together."""

    records = RECORDS[:4]
    mechanism = LARGEST
    runs = 60

    def twins(self) -> Mapping[str, Twin]:
        return {"twice as sharp": Twin(sharper(Fraction(2)))}


def test_records_without_a_value_have_no_say() -> None:
    nobody = OnThisUniverse().summarise([{"v": None, "eps": 1.0}])
    (cell,) = nobody.cells
    assert cell.key == CellKey(cell.key.quanta, 0, 0, 0, missing=True)
    empty = OnThisUniverse().summarise([])
    one, other = LARGEST.law(nobody, Fraction(1)), LARGEST.law(empty, Fraction(1))
    assert (one.first, one.then(3)) == (other.first, other.then(3))


def test_a_uniform_integer_is_uniform_on_every_byte_string() -> None:
    """Two bits say 0, 1, 2 or "again"; after two bytes one string in sixteen is still undecided."""
    masses, undecided = exact_distribution(lambda entropy: uniform_below(3, entropy), depth=2)
    assert undecided == Fraction(1, 16)
    assert masses == dict.fromkeys(range(3), Fraction(5, 16))


@pytest.mark.parametrize("penalty", [0, 1, 9, 15, 16, 17, 40 * 16, 64 * 16 - 1, 64 * 16, 10**9])
@pytest.mark.parametrize("unit", [Fraction(1, 16), Fraction(1, 7), Fraction(10**30, 10**30 + 1)])
def test_proposals_are_never_lighter_than_what_they_stand_for(penalty: int, unit: Fraction) -> None:
    proposed = ExponentialChoice((0, penalty), unit)._proposed(penalty)
    _, high = exp_bounds(penalty * unit, 128)
    assert proposed << 64 >= high - 2
    assert proposed <= (high >> 64) * Fraction(107, 100) + 3  # and hardly heavier: e^(1/16) < 1.07


def test_multiples_that_leave_candidates_out_are_refused() -> None:
    with pytest.raises(ValueError, match="one multiple for each"):
        ExponentialChoice((0, 1, 2), multiples=(1, 1))


def test_whole_penalties_and_a_unit_say_the_same_as_fractions() -> None:
    whole = ExponentialChoice((3, 0, 9, 20, 700), Fraction(2, 7))
    fractions = ExponentialChoice(tuple(penalty * whole.unit for penalty in whole.penalties))
    assert whole.draw(Seeded(1), 200) == fractions.draw(Seeded(1), 200)
    pairs = zip(choice_probabilities(whole), choice_probabilities(fractions), strict=True)
    assert all(one.overlaps(other) for one, other in pairs)
