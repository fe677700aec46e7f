"""rank on every small table: no range's log-ratio passes share · E(r), and ties do no harm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest

from prdp.cells.columns import Column
from prdp.cells.measure import Measure
from prdp.cells.summary import Cell, Summary, magnitude_key
from prdp.engines.duckdb.engine import open_source
from prdp.levels import Levels
from prdp.mechanisms._axis import Ranges
from prdp.mechanisms._threshold import PointFinder, Tuning
from prdp.mechanisms.rank import Price, Rank
from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Noisy, Together
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing import Seeded
from prdp.testing.exact_loss import flip_probabilities
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

TUNING = Tuning(choice=Fraction(15, 100), answer=Fraction(60, 100), fall=Fraction(1, 2))
FINDER = PointFinder(Fraction(10, 100), ((None, TUNING),), gate_bits=10)
CHOICE, SIDES, SCOUT = Fraction(60, 100), Fraction(8, 100), Fraction(7, 100)
HALF, HIGH = Fraction(1, 2), Fraction(9, 10)
MEDIAN = Rank(
    (HALF,), MEASURE.low, MEASURE.high, 8, FINDER, sides=SIDES, scout=SCOUT, fall=Fraction(1, 4), bits=6
)
LIGHT, FULL = 2, 10
"""Places of clipping points: at one, records weigh little; at the other, all of them weigh 1."""
WIDTHS = 40
"""A place of the widths of a range's sides: neither is unknown."""
Choices = Callable[[Summary, Fraction], Law]


def ranges_at(place: int) -> Callable[[Any], Law]:
    """Return the choice of one quantile's range, at a clipping point."""
    return lambda law: law.laws[0].then(place).first


def measured_at(place: int, *chosen: int) -> Callable[[Any], Any]:
    """Return the law of the weights around ranges: rough ones, and then those between the edges."""

    def at(law: Any) -> Any:
        law = law.laws[0].then(place)
        for one in chosen:
            law = law.then(one)
        return law

    return at


def sides_at(place: int, *chosen: int, widths: int = WIDTHS) -> Callable[[Any], Any]:
    """Return the noisy weights around ranges, at the widths of a place."""
    return lambda law: measured_at(place, *chosen)(law).laws[widths]


def scout_at(place: int, *chosen: int) -> Callable[[Any], Any]:
    """Return the rough weights around ranges."""
    return lambda law: measured_at(place, *chosen)(law).first


# Twins: each breaks one step of the proof, and the same measurement must find it.


@dataclass(frozen=True, slots=True)
class Sharper(Rank):
    """Weighs what is wrong with a range by a factor too much."""

    factor: Fraction = Fraction(2)

    def choice(
        self,
        which: int,
        ranges: Ranges,
        masses: Sequence[int],
        wrong: Column,
        price: Price,
    ) -> PermuteAndFlip | ExponentialChoice:
        sharp = Price(*(self.factor * each for each in price))
        return super(Sharper, self).choice(which, ranges, masses, wrong, sharp)


@dataclass(frozen=True, slots=True)
class Unclipped(Rank):
    """Lets every record weigh 1, with the noise for a clipping point."""

    def weights(self, ranges: Ranges, summary: Summary, per_quantum: Fraction) -> Column:  # noqa: ARG002
        return super(Unclipped, self).weights(ranges, summary, Fraction(1 << 6))


@dataclass(frozen=True, slots=True)
class OctavesOfTheData(Rank):
    """Takes the octaves that hold records, as they are."""

    def beforehand(self, ranges: Ranges, masses: Sequence[int], per_quantum: int, per_octave: int) -> Column:
        return super(OctavesOfTheData, self).beforehand(ranges, masses, 1000 * per_quantum, per_octave)


@dataclass(frozen=True, slots=True)
class SharperOctaves(Rank):
    """Weighs the mass outside of octaves 15 % too much."""

    def beforehand(self, ranges: Ranges, masses: Sequence[int], per_quantum: int, per_octave: int) -> Column:
        sharp = per_quantum * 100 // 85
        return super(SharperOctaves, self).beforehand(ranges, masses, sharp, per_octave)


@dataclass(frozen=True, slots=True)
class QuieterAround(Rank):
    """Measures the weights around an answer with 15 % less noise."""

    def noise(self, price: Fraction, part: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(super(QuieterAround, self).noise(price, part).scale * Fraction(85, 100))


@dataclass(frozen=True, slots=True)
class CountedTwice(Rank):
    """Measures rough weights whose cells overlap: a record is in the next one too."""

    @staticmethod
    def around(below: Column, noise: DiscreteLaplace, edges: Sequence[int]) -> Noisy:
        found = super(CountedTwice, CountedTwice).around(below, noise, edges)
        return replace(found, values=tuple(map(sum, pairwise((0, *found.values)))))


@dataclass(frozen=True, slots=True)
class WidthsOfTheData(Rank):
    """Takes for a weight to look for what the table has."""

    def measured(self, ranges: Ranges, below: Column, price: Fraction, chosen: tuple[int, ...]) -> Gated:
        found = super(WidthsOfTheData, self).measured(ranges, below, price, chosen)
        targets = (1 + int(below[-1]) // 2,) * len(chosen)
        rule: Any = found.rule
        return replace(found, rule=replace(rule, targets=targets))


@dataclass(frozen=True, slots=True)
class EdgesOfTheData(Rank):
    """Puts the edges where the records are."""

    def measured(self, ranges: Ranges, below: Column, price: Fraction, chosen: tuple[int, ...]) -> Gated:
        found = super(EdgesOfTheData, self).measured(ranges, below, price, chosen)
        noise, edges = self.noise(price, self.sides), (np.flatnonzero(np.diff(below)[1:]) + 1).tolist()
        return replace(found, laws=(self.around(below, noise, edges),) * len(found.laws))


def made(kind: type[Rank], quantile: Fraction = HALF, **options: Any) -> Choices:
    law: Choices = kind(
        (quantile,),
        MEASURE.low,
        MEASURE.high,
        8,
        FINDER,
        sides=SIDES,
        scout=SCOUT,
        fall=Fraction(1, 4),
        bits=6,
        **options,
    ).law
    return law


def levels_rounded_up(summary: Summary, share: Fraction) -> Any:
    """Give every record a budget three levels above its own."""
    return MEDIAN.law(with_budgets_raised(summary, 3), share)


def as_sharp(factor: Fraction) -> Choices:
    return made(Sharper, factor=factor)


ONE_SIDED = "a record moves the weights on one side of a range, and the proof allows for both"


class TestMedian(OnThisUniverse):
    tied_at, runs = Fraction(10_000), 80
    mechanism = MEDIAN
    records = (*RECORDS, {**RECORDS[2], "v": 12})
    crowded: Sequence[str] = ("range, light weights", "range, full weights", "weights around, full")
    loose: ClassVar[Mapping[str, str]] = {
        "range, light weights": ONE_SIDED,
        "range, full weights": ONE_SIDED,
        "weights around, full": "on a lattice so coarse, a weight is rounded down by up to a quarter",
    }
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "gate": (lambda law: law.first, Fraction(10, 100)),
        "range, light weights": (ranges_at(LIGHT), CHOICE),
        "range, full weights": (ranges_at(FULL), CHOICE),
        "weights around": (sides_at(LIGHT, 20), SIDES),
        "weights around, full": (sides_at(FULL, 10), SIDES),
        "rough weights": (scout_at(LIGHT, 20), SCOUT),
        "all around": (measured_at(LIGHT, 20), SIDES + SCOUT),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {
            "15 % too sharp": Twin(as_sharp(Fraction(100, 85)), "range, light weights"),
            "factor 2 forgotten": Twin(as_sharp(Fraction(2)), "range, light weights"),
            "weights not clipped": Twin(made(Unclipped), "range, light weights"),
            "levels rounded up": Twin(levels_rounded_up, "range, light weights"),
            "15 % too little noise around": Twin(made(QuieterAround), "weights around"),
            "15 % too little rough noise": Twin(made(QuieterAround), "rough weights"),
            "a record in two rough cells": Twin(made(CountedTwice), "rough weights"),
            "widths by the true weights": Twin(made(WidthsOfTheData), "all around"),
            "edges at the records": Twin(made(EdgesOfTheData), "all around"),
        }


class TestWhereTheMassLies(OnThisUniverse):
    """A choice that goes nearly by the octaves alone, so that two records make some of them likely."""

    tied_at, runs = Fraction(10_000), 40
    records = RECORDS[1:5]
    max_records = 3
    outer, mostly = Fraction(999, 1000), Fraction(99, 100)
    mechanism = replace(MEDIAN, quantiles=(outer,), whereabouts=mostly)
    variant_of = TestMedian
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "range": (ranges_at(FULL), CHOICE)
    }

    def twins(self) -> Mapping[str, Twin]:
        def wrong(kind: type[Rank]) -> Choices:
            return made(kind, quantile=self.outer, whereabouts=self.mostly)

        return {
            "15 % too sharp": Twin(wrong(SharperOctaves), "range"),
            "octaves read from the data": Twin(wrong(OctavesOfTheData), "range"),
        }


class TestWholeOfFewValues(OnThisUniverse):
    """All steps together, over values from 0 to 2, for a quantile whose choice looks at octaves too."""

    variant_of = TestMedian

    tied_at, runs = Fraction(10), 400
    records = ({"v": 0, "eps": 0.3}, {"v": 1, "eps": 3.0}, {"v": 2, "eps": 0.5})
    mechanism = Rank((HIGH,), 0, 2, 8, FINDER, sides=SIDES, scout=SCOUT, fall=Fraction(1, 4), bits=6)
    shares = (Fraction(1),)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return summary_of(records, measure=Measure("v", Fraction(1), 0, 2))

    def twins(self) -> Mapping[str, Twin]:
        wrong = OctavesOfTheData(
            (HIGH,), 0, 2, 8, FINDER, sides=SIDES, scout=SCOUT, fall=Fraction(1, 4), bits=6
        )
        return {"octaves read from the data": Twin(wrong.law)}


class TestOneBudget(OnThisUniverse):
    """Where all records have the same budget nothing is searched, and they weigh 1."""

    tied_at, runs = Fraction(10_000), 80
    records = tuple({**record, "eps": 3.0} for record in RECORDS)
    loose: ClassVar[Mapping[str, str]] = {"range": ONE_SIDED}
    mechanism = Rank(
        (HIGH,), MEASURE.low, MEASURE.high, 8, None, sides=SIDES, scout=SCOUT, fall=Fraction(1, 4), bits=6
    )
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "range": (lambda law: law.first, Fraction(78, 100)),
        "weights around": (lambda law: law.then(20), SIDES + SCOUT),
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

    variant_of = TestMedian

    records = (*ODD, RECORDS[1], RECORDS[3])
    mechanism = replace(MEDIAN, quantiles=(HIGH,))

    def twins(self) -> Mapping[str, Twin]:
        sharper = Sharper(
            (HIGH,),
            MEASURE.low,
            MEASURE.high,
            8,
            FINDER,
            sides=SIDES,
            scout=SCOUT,
            bits=6,
            factor=HIGH / (1 - HIGH),
        )
        return {"divided by the smaller of q and 1 - q": Twin(sharper.law, "range, light weights")}


class TestSeveralQuantiles(OnThisUniverse):
    """Two choices share what one would have, and the weights around both are measured once."""

    tied_at, runs = Fraction(10**6), 80
    records = RECORDS[1:5]
    mechanism = replace(MEDIAN, quantiles=(HIGH, HALF))
    loose: ClassVar[Mapping[str, str]] = dict.fromkeys(("first", "second", "both"), ONE_SIDED)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "first": (ranges_at(LIGHT), CHOICE / 2),
        "second": (lambda law: law.laws[0].then(LIGHT).then(20).first, CHOICE / 2),
        "both": (
            lambda law: Together((ranges_at(LIGHT)(law), measured_at(LIGHT, 20)(law).first)),
            CHOICE,
        ),
        "weights around": (sides_at(LIGHT, 20, 5), SIDES),
        "rough weights": (scout_at(LIGHT, 20, 5), SCOUT),
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
    """Return the chance of each range, at one clipping point."""
    law: Any = replace(rank, finder=FINDER, sides=SIDES).law(summary, Fraction(1))
    return [float(ball.mid()) for ball in flip_probabilities(law.laws[0].then(place).first)]


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
    def wrong(quantile: Fraction, below: Column) -> Column:
        apart: Column = np.abs(quantile.denominator * below[:-1] - quantile.numerator * below[-1])
        return apart


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
    """A hundredth of the records lies beyond, which thousands of ranges would drown by ranks alone."""
    crowd = fine_summary(*((sign * value, 12, 40) for value in range(1000, 1100)))
    quantile = Fraction(99, 100) if sign == 1 else Fraction(1, 100)
    careful = Rank((quantile,), -BOUND, BOUND)

    def far(rank: Rank) -> float:
        answers = rank.answers(crowd, Fraction(1, 2), Seeded(4), 200)
        return sum(abs(answer.steps) > 16_000 for (answer,) in answers) / 200

    assert far(careful) < 0.1
    assert far(replace(careful, whereabouts=Fraction(0))) > 0.2
