"""rank on every small table: no range's log-ratio passes share · E(r), and ties do no harm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.cell import Cell, magnitude_key
from prdp.cells.summary import Summary
from prdp.mechanisms._point import PointFinder, Tuning
from prdp.mechanisms.rank import Rank
from prdp.noise.choice import ExponentialChoice
from prdp.noise.laws import Gated, Law, Then, Together
from prdp.testing import Seeded
from prdp.testing.exact_loss import TOLERANCE, choice_probabilities, worst_loss
from prdp.testing.mechanism_contract import Twin
from prdp.testing.reference import magnitude_code
from tests.exact.universe import (
    LEVELS,
    MEASURE,
    ODD,
    RECORDS,
    OnThisUniverse,
    budget,
    summary_of,
    with_budgets_raised,
)

TUNING = Tuning(choice=Fraction(36, 100), answer=Fraction(54, 100), fall=Fraction(1, 2))
FINDER = PointFinder(Fraction(10, 100), ((None, TUNING),), gate_bits=6)
CHOICE_PART = Fraction(54, 100)
HALF, HIGH = Fraction(1, 2), Fraction(9, 10)
MEDIAN = Rank((HALF,), MEASURE.low, MEASURE.high, 8, FINDER)

Choices = Callable[[Summary, Fraction], Gated]


# Twins: each breaks one step of the proof, and the same measurement must find it.


@dataclass(frozen=True, slots=True)
class Sharper(Rank):
    """Weighs what is wrong with a range by a factor too much."""

    factor: Fraction = Fraction(2)

    def choice(
        self, quantile: Fraction, weights: Mapping[int, int], largest: int, part: Fraction
    ) -> ExponentialChoice:
        return super(Sharper, self).choice(quantile, weights, largest, part * self.factor)


@dataclass(frozen=True, slots=True)
class Unclipped(Rank):
    """Lets every record weigh 1, with the noise for a clipping point."""

    def weights(self, summary: Summary, per_quantum: Fraction) -> Mapping[int, int]:  # noqa: ARG002
        return super(Unclipped, self).weights(summary, Fraction(1 << 20))


def levels_rounded_up(summary: Summary, share: Fraction) -> Gated:
    """Give every record a budget three levels above its own."""
    return MEDIAN.law(with_budgets_raised(summary, 3), share)


def as_sharp(factor: Fraction) -> Choices:
    return Sharper((HALF,), MEASURE.low, MEASURE.high, 8, FINDER, factor=factor).law


class TestMedian(OnThisUniverse):
    mechanism = MEDIAN
    records = (*RECORDS, {**RECORDS[2], "v": 12})
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "choice, light weights": (lambda law: law.laws[0].then(2), CHOICE_PART),
        "choice, full weights": (lambda law: law.laws[0].then(10), CHOICE_PART),
    }

    def twins(self) -> Mapping[str, Twin]:
        unclipped = Unclipped((HALF,), MEASURE.low, MEASURE.high, 8, FINDER)
        return {
            "15 % too sharp": Twin(as_sharp(Fraction(100, 85)), "choice, light weights"),
            "factor 2 forgotten": Twin(as_sharp(Fraction(2)), "choice, light weights"),
            "weights not clipped": Twin(unclipped.law, "choice, light weights"),
            "levels rounded up": Twin(levels_rounded_up, "choice, light weights"),
        }


class TestHighQuantileOfOddRecords(TestMedian):
    """A quantile near 1, and records that are left out, have no value or lie beyond their bounds."""

    records = (*ODD, RECORDS[1], RECORDS[3])
    mechanism = replace(MEDIAN, quantiles=(HIGH,))

    def twins(self) -> Mapping[str, Twin]:
        sharper = Sharper((HIGH,), MEASURE.low, MEASURE.high, 8, FINDER, factor=HIGH / (1 - HIGH))
        return {"divided by the smaller of q and 1 - q": Twin(sharper.law, "choice, light weights")}


class TestSeveralQuantiles(TestMedian):
    """Two choices share what one would have."""

    records = RECORDS[1:4]
    mechanism = replace(MEDIAN, quantiles=(HIGH, HALF))

    def twins(self) -> Mapping[str, Twin]:
        def each_with_all(summary: Summary, share: Fraction) -> Gated:
            right = MEDIAN.law(summary, share)
            (only,) = right.laws
            assert isinstance(only, Then)
            twice = Then(only.first, lambda place: Together((only.then(place),) * 2))
            return replace(right, laws=(twice,))

        return {"each with the whole part": Twin(each_with_all, "choice, light weights")}


def test_larger_tables_keep_the_promise() -> None:
    found = worst_loss(
        RECORDS[1:5], lambda summary: MEDIAN.law(summary, Fraction(1)), summary_of, budget, most_records=4
    )
    assert found.excess <= TOLERANCE, found


# Ties, and what is answered where there is little or nothing.

BOUND = 10**12


def fine_summary(*groups: tuple[int | None, int, int]) -> Summary:
    """Return the fine cells of (value, level, count) groups."""

    def cell(value: int | None, level: int, count: int) -> Cell:
        code = None if value is None else magnitude_code(value, 256)
        return Cell(magnitude_key(LEVELS.quanta(level), code, BOUND, 256), count, count * (value or 0))

    return Summary.of(LEVELS, 1, BOUND, (cell(*group) for group in groups))


def chances(rank: Rank, summary: Summary, place: int = 10) -> list[float]:
    """Return the chance of each range, at one clipping point."""
    rest: Any = replace(rank, finder=FINDER).law(summary, Fraction(1)).laws[0]
    (choice,) = rest.then(place).laws
    return [float(ball.mid()) for ball in choice_probabilities(choice)]


@pytest.mark.parametrize("value", [-70_000, -3, 0, 7, 5000, 10**9])
@pytest.mark.parametrize(
    ("quantile", "count"), [(HALF, 1000), (Fraction(1, 100), 50_000), (Fraction(99, 100), 50_000)]
)
def test_many_equal_records_give_their_own_value(value: int, quantile: Fraction, count: int) -> None:
    rank = Rank((quantile,), -BOUND, BOUND)
    for (answer,) in rank.answers(fine_summary((value, 20, count)), Fraction(1), Seeded(1), 20):
        assert answer.ends is not None
        assert answer.ends[0] <= value <= answer.ends[1]
        assert abs(answer.steps - value) <= abs(value) / 500


def test_the_customary_score_does_not_know_a_thousand_equal_records() -> None:
    """The distance of one rank from its target: every range is as far off as every other."""
    above = [1000 if value < 5000 else 0 for value in (1, 4999, 5000, 10**9)]
    assert {abs(rank - 500) for rank in above} == {500}


def test_an_empty_table_is_answered_with_any_range() -> None:
    empty = chances(Rank((HALF,), 0, 1000), fine_summary())
    assert empty == pytest.approx([1 / len(empty)] * len(empty))


def test_records_without_a_value_have_no_say() -> None:
    nobody, empty = fine_summary((None, 20, 50)), fine_summary()
    rank = Rank((HALF,), 0, 1000)
    assert rank.answers(nobody, Fraction(1), Seeded(3), 5) == rank.answers(empty, Fraction(1), Seeded(3), 5)


def test_ranges_are_better_the_closer_they_are_to_the_quantile() -> None:
    rank = Rank((Fraction(1, 4),), 0, 30)
    found = chances(rank, fine_summary(*((value, 30, 40) for value in range(1, 9))))
    best = found.index(max(found))
    assert best in (2, 3)  # a quarter of the weight lies below 3 and up to 2
    assert found[:best] == sorted(found[:best])
    assert found[best + 1 :] == sorted(found[best + 1 :], reverse=True)


def test_answers_to_several_quantiles_are_in_order() -> None:
    quantiles = (HALF, Fraction(1, 10), Fraction(11, 20), Fraction(9, 10))
    poor = fine_summary((3, 0, 2), (400, 3, 1), (90_000, 5, 2))
    for answers in Rank(quantiles, 0, BOUND).answers(poor, Fraction(1, 5), Seeded(5), 50):
        median, low, above, high = (answer.steps for answer in answers)
        assert low <= median <= above <= high


@pytest.mark.parametrize("quantiles", [(), (Fraction(0),), (HALF, Fraction(1)), (Fraction(-1, 2),)])
def test_quantiles_outside_the_open_interval_are_refused(quantiles: Sequence[Fraction]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Rank(tuple(quantiles), 0, 10)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_outer_quantile_does_not_run_away_to_the_bound(sign: int) -> None:
    """A hundredth of the records lies beyond, which an even prior over thousands of ranges would drown."""
    crowd = fine_summary(*((sign * value, 12, 40) for value in range(1000, 1100)))
    quantile = Fraction(99, 100) if sign == 1 else Fraction(1, 100)
    careful = Rank((quantile,), -BOUND, BOUND)

    def far(rank: Rank) -> float:
        answers = rank.answers(crowd, Fraction(1), Seeded(4), 200)
        return sum(abs(answer.steps) > 16_000 for (answer,) in answers) / 200

    assert far(careful) < 0.05
    assert far(replace(careful, fall=Fraction(0))) > 0.5
