"""The framework on every small table: no output's log-ratio passes share · E(r), whatever the base."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.measure import Measure
from prdp.cells.summary import Summary, TopSummary
from prdp.engines.duckdb.engine import open_source
from prdp.levels import FINE_PER_OCTAVE
from prdp.mechanisms._axis import ranges_between
from prdp.mechanisms.framework import (
    InverseSensitivityMax,
    InverseSensitivityQuantile,
    LaplaceCount,
    PaperFramework,
    UniversalSum,
    kept_from,
)
from prdp.noise.choice import ExponentialChoice
from prdp.noise.exponential import exp_bounds
from prdp.noise.laws import Gated, Law
from prdp.noise.totals import flips, keep_bounds
from prdp.plan.reads import KeyRead
from prdp.release.raw_answer import Answer
from prdp.testing.mechanism_contract import Twin
from tests.exact.universe import (
    LEVELS,
    MEASURE,
    ODD,
    POLICY,
    RECORDS,
    OnThisUniverse,
    Record,
    arrow_of,
    summary_of,
)

SPLIT = Fraction(1, 3)


def parts(*domains: int) -> dict[str, tuple[Callable[[Any], Law], Fraction]]:
    """Return stage one, and stage two at some domains, each beside its part of the share."""
    two = {f"domain {domain}": (_at(domain), 1 - SPLIT) for domain in domains}
    return {"whole": (lambda law: law, Fraction(1)), "counts": (lambda law: law.first, SPLIT), **two}


def _at(domain: int) -> Callable[[Gated], Law]:
    return lambda law: law.laws[domain - 1]


@dataclass(frozen=True, slots=True)
class WholeShare(PaperFramework):
    """Runs the base mechanism at share · ε: together with stage one, (1 + split) · E."""

    def rest(self, summary: Summary, share: Fraction, domain: int) -> Law:
        return super(WholeShare, self).rest(summary, share / (1 - self.split), domain)


@dataclass(frozen=True, slots=True)
class Overspent(PaperFramework):
    """Runs the base mechanism at three times what it may cost: it must be seen on these tables at all."""

    def rest(self, summary: Summary, share: Fraction, domain: int) -> Law:
        return super(Overspent, self).rest(summary, 3 * share, domain)


@dataclass(frozen=True, slots=True)
class TwoDomainsTooMany(PaperFramework):
    """Keeps the records of the two domains below, whose budgets are smaller than what is spent."""

    def rest(self, summary: Summary, share: Fraction, domain: int) -> Law:
        kept = kept_from(summary, max(1, domain - 2))
        return self.base.law(kept, self.epsilon(summary.levels, share, domain), self.beta)


@dataclass(frozen=True, slots=True)
class QuietCounts(PaperFramework):
    """Counts the domains with noise 15 % too small."""

    def law(self, summary: Summary | TopSummary, share: Fraction) -> Gated:
        right = super(QuietCounts, self).law(summary, share)
        other = replace(self, split=self.split / Fraction(85, 100))
        return replace(right, first=super(QuietCounts, other).law(summary, share).first)


@dataclass(frozen=True, slots=True)
class WholeFirst(PaperFramework):
    """Finds the domain with the whole share, and runs the base mechanism with its part of it all the same."""

    def law(self, summary: Summary | TopSummary, share: Fraction) -> Gated:
        right = super(WholeFirst, self).law(summary, share)
        whole = replace(self, split=Fraction(1))
        return replace(right, first=super(WholeFirst, whole).law(summary, share).first)


class FrameworkContract(OnThisUniverse):
    base: ClassVar[Any]
    beta: ClassVar[Fraction] = Fraction(1, 10)
    records = (*RECORDS, *ODD[:2])
    shares = (Fraction(1),)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = parts(1, 3, 5)
    crowded: Sequence[str] = ("domain 1", "domain 3", "domain 5")
    loose: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("whole", "domain 1", "domain 3", "domain 5"), "what the base mechanism's own analysis gives away"
    )

    @property
    def mechanism(self) -> PaperFramework:
        return PaperFramework(self.base, SPLIT, self.beta)

    def twins(self) -> Mapping[str, Twin]:
        return {
            "base at three times its budget": Twin(Overspent(self.base, SPLIT, self.beta).law, "domain 1"),
            "two domains too many": Twin(TwoDomainsTooMany(self.base, SPLIT, self.beta).law, "domain 3"),
        }


class TestCount(FrameworkContract):
    base = LaplaceCount()
    crowded = ()
    loose: ClassVar[Mapping[str, str]] = {}

    def twins(self) -> Mapping[str, Twin]:
        return {
            "base at the whole share": Twin(WholeShare(self.base, SPLIT).law, "domain 1"),
            "two domains too many": Twin(TwoDomainsTooMany(self.base, SPLIT).law, "domain 3"),
            "counts with noise 15 % too small": Twin(QuietCounts(self.base, SPLIT).law, "counts"),
        }

    @pytest.mark.parametrize("reading", [WholeShare, WholeFirst])
    def test_a_reading_with_one_stage_whole_costs_half_again_at_the_paper_s_split(
        self, reading: type[PaperFramework]
    ) -> None:
        """At a split of 1/2 the whole promise is broken by E/2, not only one stage's part of it."""
        self.records = RECORDS[:1]
        found = self.worst(reading(self.base, Fraction(1, 2)).law, "whole", Fraction(1))
        assert found.measured > 1.4 * found.promised


class TestSum(FrameworkContract):
    base = UniversalSum()


FINE = replace(MEASURE, per_octave=FINE_PER_OCTAVE)


@dataclass(frozen=True, slots=True)
class Sharp(InverseSensitivityMax):
    """Chooses with exp(-2 ε u), four times as sharply; a small table gives half of what is allowed."""

    def law(self, kept: Summary, epsilon: Fraction, beta: Fraction) -> ExponentialChoice:
        right = super(Sharp, self).law(kept, epsilon, beta)
        return replace(right, unit=4 * right.unit)


@dataclass(frozen=True, slots=True)
class MovedByRecords(InverseSensitivityMax):
    """Adds the number of records to what was drawn."""

    def answer(self, summary: Summary, law: ExponentialChoice, drawn: int) -> Answer:
        right = super(MovedByRecords, self).answer(summary, law, drawn)
        records = summary.valued().cells.count.sum()
        return replace(right, steps=right.steps + int(records))


class TestMax(FrameworkContract):
    base = InverseSensitivityMax(MEASURE.low, MEASURE.high)
    beta = Fraction(9, 10)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return summary_of(records, measure=FINE)

    def twins(self) -> Mapping[str, Twin]:
        ends = MEASURE.low, MEASURE.high, self.base.lowest
        return {
            **FrameworkContract.twins(self),
            "weights too sharp": Twin(PaperFramework(Sharp(*ends), SPLIT, self.beta).law, "domain 1"),
            "an answer that records move": Twin(
                answers=PaperFramework(MovedByRecords(*ends), SPLIT, self.beta).answers
            ),
        }


class TestMin(TestMax):
    base = InverseSensitivityMax(MEASURE.low, MEASURE.high, lowest=True)


@pytest.mark.parametrize("lowest", [False, True])
def test_below_300_the_maximum_s_law_is_the_cited_mechanism_s_own(lowest: bool) -> None:
    """Each value is a range of its own there, with the penalty that its definition gives it."""
    values, high = [3, 17, 17, 40, 99, 99, 99, 120, 250, 251, 252, 299], 300
    measure = Measure("v", Fraction(1), 0, high, per_octave=FINE_PER_OCTAVE)
    table = summary_of([{"v": value, "eps": 1.0} for value in values], measure=measure)
    law = InverseSensitivityMax(0, high, lowest).law(table, Fraction(4), Fraction(1, 10))
    slack = int(2 / 4 * math.log(10 * (high + 1)))

    def penalty(value: int) -> int:
        outside = sum(v < value if lowest else v > value for v in values)
        from_here = sum(v <= value if lowest else v >= value for v in values)
        nearest = high if lowest else 0
        return max(0, outside - slack, 0 if value == nearest else slack - from_here)

    ends = ranges_between(0, high, high, FINE_PER_OCTAVE).ends
    assert ends == tuple((value, value) for value in range(high + 1))
    assert law.penalties == tuple(penalty(value) for value in range(high + 1))
    assert law.multiples == (1,) * (high + 1)


class TestMedian(FrameworkContract):
    base = InverseSensitivityQuantile(Fraction(1, 2), MEASURE.low, MEASURE.high, 8)


class TestUpperQuantile(FrameworkContract):
    base = InverseSensitivityQuantile(Fraction(2, 3), MEASURE.low, MEASURE.high, 8)


class TestDistinct(FrameworkContract):
    """Values of ``v``, each at the highest level of its records, as DuckDB finds them."""

    base = LaplaceCount()
    crowded = ()
    loose: ClassVar[Mapping[str, str]] = {}
    edge_stride = 8
    records = (*RECORDS[:3], {"v": 1, "eps": 3.0}, {"v": 5, "eps": 0.5}, {"v": None, "eps": 2.0})

    def summarise(self, records: Sequence[Record]) -> TopSummary:  # type: ignore[override]
        engine = open_source(arrow_of(records), None)
        reading = KeyRead(POLICY.within(engine.schema, {}), LEVELS, "v", None)
        return TopSummary(summary_of(records, measure=None), engine.top_levels(reading)[0])


def test_dropping_is_by_the_domain_alone() -> None:
    kept = kept_from(summary_of(RECORDS), 3)
    assert min(cell.key.quanta for cell in kept.cells) >= LEVELS.domain_quanta(3)
    assert kept_from(summary_of(RECORDS), 1) == summary_of(RECORDS)


@pytest.mark.parametrize(("budget", "whole"), [("1/2", "1"), ("1/1000", "3"), ("99/100", "1"), ("1/8", "20")])
def test_a_record_below_is_kept_just_so_often_that_it_loses_its_own_budget(budget: str, whole: str) -> None:
    """With π = (e^x - 1)/(e^ε - 1): 1 + π(e^ε - 1) = e^x, by outward-rounded arithmetic."""
    x, epsilon = Fraction(budget), Fraction(whole)
    bits = 96
    low, high = keep_bounds(x, epsilon)(bits)
    assert 0 <= high - low <= 8
    gain_low = 1 / Fraction(exp_bounds(epsilon, 200)[1], 1 << 200) - 1
    gain_high = 1 / Fraction(exp_bounds(epsilon, 200)[0], 1 << 200) - 1
    target_low = 1 / Fraction(exp_bounds(x, 200)[1], 1 << 200)
    target_high = 1 / Fraction(exp_bounds(x, 200)[0], 1 << 200)
    assert 1 + Fraction(low, 1 << bits) * gain_low <= target_high
    assert 1 + Fraction(high, 1 << bits) * gain_high >= target_low


def test_coins_are_flipped_exactly_also_where_eight_bytes_do_not_settle_them() -> None:
    def third(bits: int) -> tuple[int, int]:
        return (1 << bits) // 3, -(-(1 << bits) // 3)

    class Tied:
        """Says the first eight bytes of 1/3, and then what it is reported."""

        def __init__(self, then: bytes) -> None:
            self.tape = bytes([0x55] * 8) + then

        def bytes(self, count: int) -> bytes:
            head, self.tape = self.tape[:count], self.tape[count:]
            return head

    assert flips(third, 1, Tied(b"\x54")).tolist() == [True]
    assert flips(third, 1, Tied(b"\x56")).tolist() == [False]
    assert flips(third, 1, Tied(b"\x55\x54")).tolist() == [True]
