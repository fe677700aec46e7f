"""rank on every small table: no range's log-ratio passes share · E(r), and ties do no harm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.cell import Cell, magnitude_key
from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.engines.duckdb import open_source
from prdp.levels import Levels
from prdp.mechanisms._axis import Ranges
from prdp.mechanisms._point import PointFinder, Tuning
from prdp.mechanisms.rank import Rank
from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Then, Together
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing import Seeded
from prdp.testing.exact_loss import choice_probabilities
from prdp.testing.mechanism_contract import Twin
from prdp.testing.reference import magnitude_code
from tests.exact.universe import (
    LEVELS,
    MEASURE,
    ODD,
    RECORDS,
    OnThisUniverse,
    Record,
    arrow_of,
    summary_of,
    with_budgets_raised,
)

TUNING = Tuning(choice=Fraction(15, 100), answer=Fraction(40, 100), fall=Fraction(1, 2))
FINDER = PointFinder(Fraction(10, 100), ((None, TUNING),), gate_bits=6)
BRACKET, CHOICE, SIDES = Fraction(20, 100), Fraction(40, 100), Fraction(15, 100)
HALF, HIGH = Fraction(1, 2), Fraction(9, 10)
MEDIAN = Rank((HALF,), MEASURE.low, MEASURE.high, 8, FINDER, fall=Fraction(1, 4), bits=6)
LIGHT, FULL = 2, 10
"""Places of clipping points: at one, records weigh little; at the other, all of them weigh 1."""
ALL = 8
"""The place of the bracket that holds all of the nine octaves from -12 to 12."""

Choices = Callable[[Summary, Fraction], Gated | Then]


def bracket_of(law: Any) -> Law:
    """Return the choice of octaves; it is the same at every clipping point."""
    first: Law = law.laws[0].then(LIGHT).first
    return first


def ranges_at(place: int) -> Callable[[Any], Law]:
    """Return the choice of one quantile's range, at a clipping point and in all octaves."""
    return lambda law: law.laws[0].then(place).then(ALL).first


def sides_at(place: int, chosen: int) -> Callable[[Any], Any]:
    """Return the noisy weights around a range."""
    return lambda law: law.laws[0].then(place).then(ALL).then(chosen)


# Twins: each breaks one step of the proof, and the same measurement must find it.


@dataclass(frozen=True, slots=True)
class Sharper(Rank):
    """Weighs what is wrong with a range by a factor too much."""

    factor: Fraction = Fraction(2)

    def choice(self, quantile: Fraction, wrong: Sequence[int], part: Fraction) -> ExponentialChoice:
        return super(Sharper, self).choice(quantile, wrong, part * self.factor)


@dataclass(frozen=True, slots=True)
class Unclipped(Rank):
    """Lets every record weigh 1, with the noise for a clipping point."""

    def weights(self, ranges: Ranges, summary: Summary, per_quantum: Fraction) -> Mapping[int, int]:  # noqa: ARG002
        return super(Unclipped, self).weights(ranges, summary, Fraction(1 << 6))


@dataclass(frozen=True, slots=True)
class BracketOfTheData(Rank):
    """Takes the octaves that hold records, as they are."""

    def octaves(self, ranges: Ranges, summary: Summary, share: Fraction) -> ExponentialChoice:
        right = super(BracketOfTheData, self).octaves(ranges, summary, share)
        return replace(right, penalties=tuple(1000 * penalty for penalty in right.penalties))


@dataclass(frozen=True, slots=True)
class SharperBracket(Rank):
    """Weighs the mass outside of octaves 15 % too much."""

    def octaves(self, ranges: Ranges, summary: Summary, share: Fraction) -> ExponentialChoice:
        return super(SharperBracket, self).octaves(ranges, summary, share * Fraction(100, 85))


@dataclass(frozen=True, slots=True)
class QuieterAround(Rank):
    """Measures the weights around an answer with 15 % less noise."""

    def noise(self, price: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(super(QuieterAround, self).noise(price).scale * Fraction(85, 100))


def made(kind: type[Rank], **options: Any) -> Choices:
    law: Choices = kind(
        (HALF,), MEASURE.low, MEASURE.high, 8, FINDER, fall=Fraction(1, 4), bits=6, **options
    ).law
    return law


def levels_rounded_up(summary: Summary, share: Fraction) -> Any:
    """Give every record a budget three levels above its own."""
    return MEDIAN.law(with_budgets_raised(summary, 3), share)


def as_sharp(factor: Fraction) -> Choices:
    return made(Sharper, factor=factor)


class TestMedian(OnThisUniverse):
    tied_at, runs = Fraction(10_000), 80
    mechanism = MEDIAN
    records = (*RECORDS, {**RECORDS[2], "v": 12})
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "gate": (lambda law: law.first, Fraction(10, 100)),
        "bracket": (bracket_of, BRACKET),
        "range, light weights": (ranges_at(LIGHT), CHOICE),
        "range, full weights": (ranges_at(FULL), CHOICE),
        "weights around": (sides_at(LIGHT, 20), SIDES),
        "weights around, full": (sides_at(FULL, 10), SIDES),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {
            "15 % too sharp": Twin(as_sharp(Fraction(100, 85)), "range, light weights"),
            "factor 2 forgotten": Twin(as_sharp(Fraction(2)), "range, light weights"),
            "weights not clipped": Twin(made(Unclipped), "range, light weights"),
            "levels rounded up": Twin(levels_rounded_up, "range, light weights"),
            "bracket read from the data": Twin(made(BracketOfTheData), "bracket"),
            "15 % too little noise around": Twin(made(QuieterAround), "weights around"),
        }


class TestBracket(OnThisUniverse):
    """The choice of octaves with most of the share, so that two records make one of them likely."""

    tied_at, runs = Fraction(10_000), 40
    records = RECORDS[1:5]
    most_records = 3
    finder = PointFinder(
        Fraction(1, 100), ((None, replace(TUNING, choice=Fraction(2, 100), answer=Fraction(2, 100))),)
    )
    mechanism = replace(MEDIAN, finder=finder, bracket=Fraction(80, 100))
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "bracket": (bracket_of, Fraction(80, 100))
    }

    def twins(self) -> Mapping[str, Twin]:
        options: dict[str, Any] = {"finder": self.finder, "bracket": Fraction(80, 100), "bits": 6}
        sharper = SharperBracket((HALF,), MEASURE.low, MEASURE.high, 8, **options)
        return {"15 % too sharp": Twin(sharper.law, "bracket")}


class TestWholeMedianOfFewValues(OnThisUniverse):
    """All steps together, over values from 0 to 2."""

    tied_at, runs = Fraction(10_000), 80
    records = ({"v": 0, "eps": 0.3}, {"v": 1, "eps": 3.0}, {"v": 2, "eps": 0.5})
    mechanism = Rank((HALF,), 0, 2, 8, FINDER, fall=Fraction(1, 4), bits=6)
    shares = (Fraction(1),)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return summary_of(records, measure=Measure("v", Fraction(1), 0, 2))

    def twins(self) -> Mapping[str, Twin]:
        wrong = BracketOfTheData((HALF,), 0, 2, 8, FINDER, fall=Fraction(1, 4), bits=6)
        return {"bracket read from the data": Twin(wrong.law)}


class TestOneBudget(OnThisUniverse):
    """Where all records have the same budget nothing is searched, and they weigh 1."""

    tied_at, runs = Fraction(10_000), 80
    records = tuple({**record, "eps": 3.0} for record in RECORDS)
    mechanism = Rank((HIGH,), MEASURE.low, MEASURE.high, 8, None, fall=Fraction(1, 4), bits=6)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "bracket": (lambda law: law.first, BRACKET),
        "range": (lambda law: law.then(ALL).first, Fraction(60, 100)),
        "weights around": (lambda law: law.then(ALL).then(20), SIDES),
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        levels = Levels(Fraction(3), Fraction(3))
        engine = open_source(arrow_of(records), None)
        policy = Policy.constant(3).within(engine.schema, {})
        return engine.summarise(CellRead(policy, levels, {}, MEASURE, None))[0]

    def budget(self, record: Record) -> float:  # noqa: ARG002
        return 3.0

    def twins(self) -> Mapping[str, Twin]:
        sharper = Sharper((HIGH,), MEASURE.low, MEASURE.high, 8, None, bits=6, factor=Fraction(2))
        return {"factor 2 forgotten": Twin(sharper.law, "range")}


class TestHighQuantileOfOddRecords(TestMedian):
    """A quantile near 1, and records that are left out, have no value or lie beyond their bounds."""

    records = (*ODD, RECORDS[1], RECORDS[3])
    mechanism = replace(MEDIAN, quantiles=(HIGH,))

    def twins(self) -> Mapping[str, Twin]:
        sharper = Sharper((HIGH,), MEASURE.low, MEASURE.high, 8, FINDER, bits=6, factor=HIGH / (1 - HIGH))
        return {"divided by the smaller of q and 1 - q": Twin(sharper.law, "range, light weights")}


class TestSeveralQuantiles(OnThisUniverse):
    """Two choices share what one would have, and the weights around both are measured once."""

    tied_at, runs = Fraction(10**6), 80
    records = RECORDS[1:5]
    mechanism = replace(MEDIAN, quantiles=(HIGH, HALF))
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "first": (ranges_at(LIGHT), CHOICE / 2),
        "second": (lambda law: law.laws[0].then(LIGHT).then(ALL).then(20).first, CHOICE / 2),
        "both": (
            lambda law: Together((ranges_at(LIGHT)(law), sides_at(LIGHT, 20)(law).first)),
            CHOICE,
        ),
        "weights around": (lambda law: sides_at(LIGHT, 20)(law).then(5), SIDES),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {"each with the whole part": Twin(MEDIAN.law, "first")}


# Ties, and what is answered where there is little or nothing.

BOUND = 10**12


def fine_summary(*groups: tuple[int | None, int, int]) -> Summary:
    """Return the fine cells of (value, level, count) groups."""

    def cell(value: int | None, level: int, count: int) -> Cell:
        code = None if value is None else magnitude_code(value, 256)
        return Cell(magnitude_key(LEVELS.quanta(level), code, BOUND, 256), count, count * (value or 0))

    return Summary.of(LEVELS, 1, BOUND, (cell(*group) for group in groups))


def chances(rank: Rank, summary: Summary, place: int = 10) -> list[float]:
    """Return the chance of each range, at one clipping point and in all octaves."""
    law: Any = replace(rank, finder=FINDER).law(summary, Fraction(1))
    octaves = len(rank.ranges(summary).octaves) - 1
    choice = law.laws[0].then(place).then(octaves - 1).first
    return [float(ball.mid()) for ball in choice_probabilities(choice)]


@pytest.mark.parametrize("value", [-70_000, -3, 0, 7, 5000, 10**9])
@pytest.mark.parametrize(
    ("quantile", "count"), [(HALF, 1000), (Fraction(1, 100), 50_000), (Fraction(99, 100), 50_000)]
)
def test_many_equal_records_give_their_own_value(value: int, quantile: Fraction, count: int) -> None:
    rank = Rank((quantile,), -BOUND, BOUND)
    for (answer,) in rank.answers(fine_summary((value, 20, count)), Fraction(1), Seeded(1), 20):
        assert abs(answer.steps - value) <= abs(value) / 500


@dataclass(frozen=True, slots=True)
class OneRank(Rank):
    """Scores a range by one rank alone: how far the weight below it is from the target."""

    @staticmethod
    def wrong(quantile: Fraction, weights: Mapping[int, int], count: int) -> list[int]:
        whole = sum(weights.values())
        below = [sum(weight for place, weight in weights.items() if place < at) for at in range(count)]
        return [abs(quantile.denominator * under - quantile.numerator * whole) for under in below]


def test_the_customary_score_does_not_know_a_thousand_equal_records() -> None:
    """It is as private and has no good range: as likely as the right one are all others."""
    equal = fine_summary((5000, 20, 1000))

    def right(rank: Rank) -> float:
        answers = rank.answers(equal, Fraction(1), Seeded(2), 100)
        return sum(abs(answer.steps - 5000) <= 10 for (answer,) in answers) / 100

    assert right(Rank((HALF,), 0, 10**5)) == 1
    assert right(OneRank((HALF,), 0, 10**5)) < 0.2


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
    """A hundredth of the records lies beyond, which thousands of ranges would drown without a bracket."""
    crowd = fine_summary(*((sign * value, 12, 40) for value in range(1000, 1100)))
    quantile = Fraction(99, 100) if sign == 1 else Fraction(1, 100)
    careful = Rank((quantile,), -BOUND, BOUND)

    def far(rank: Rank) -> float:
        answers = rank.answers(crowd, Fraction(1, 2), Seeded(4), 200)
        return sum(abs(answer.steps) > 16_000 for (answer,) in answers) / 200

    assert far(careful) < 0.1
    assert far(replace(careful, bracket=Fraction(1, 10**6))) > 0.2
