"""Units on every small table: all rows of one together lose no more than the least of their budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.summary import Summary
from prdp.declare.units import PrivacyUnit
from prdp.mechanisms.choice import Choice
from prdp.mechanisms.framework import LaplaceCount, PaperFramework, UniversalSum
from prdp.mechanisms.naive import Naive
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Law, Noisy
from prdp.testing.exact_loss import TOLERANCE, worst_loss
from prdp.testing.mechanism_contract import MechanismContract, Twin
from tests.exact import test_choice, test_framework, test_rank
from tests.exact.test_clip import CHOICE_PART, COARSE, FINDER, TOTAL_PART, Unclipped
from tests.exact.units_universe import SQUARES, UNITS, Record, budget, folded, rows_of, unit, with_budget
from tests.exact.universe import MEASURE, POLICY

Rows = list[dict[str, Any]]


class TestSum(MechanismContract):
    mechanism: Any = COARSE
    records = UNITS
    shares = (Fraction(1, 3),)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        "total, much clipped": (lambda law: law.laws[0].then(3), TOTAL_PART),
        "total, little clipped": (lambda law: law.laws[0].then(12), TOTAL_PART),
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records)).refined(4)

    def budget(self, record: Record) -> float:
        return budget(record)

    def with_budget(self, record: Record, budget: float) -> Record | None:
        return with_budget(record, budget)

    def twins(self) -> Mapping[str, Twin]:
        return {"not clipped": Twin(Unclipped(FINDER).law, "total, much clipped")}


class TestCount(TestSum):
    variant_of = TestSum
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: TestSum.parts[name] for name in ("total, much clipped", "total, little clipped")
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records), None).refined(4)


class TestSquares(TestSum):
    """Squared distances from a fixed center, of all rows of a unit together."""

    variant_of = TestSum
    max_records = 1
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: TestSum.parts[name] for name in ("choice", "total, much clipped")
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records), SQUARES)


class TestMax(TestSum):
    mechanism: Any = Choice(MEASURE.low, MEASURE.high)
    variant_of: ClassVar[type | None] = test_choice.TestMax
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1))
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records), fold="max")

    def twins(self) -> Mapping[str, Twin]:
        return {"twice the share": Twin(lambda summary, share: self.law(summary, 2 * share))}


TWO_ROWS = PrivacyUnit("id", max_rows=2)
ENDS = MEASURE.added_up(TWO_ROWS.max_rows)
TOTALS = replace(test_rank.MEDIAN, low=ENDS.low, high=ENDS.high)
THREE: tuple[Record, ...] = (
    unit((12, 2.0, True, "a"), (12, 2.0, True, "b"), (12, 2.0, True, "b")),  # a row more than counts
    unit((-12, 0.2, True, "a"), (5, 3.0, False, "a"), (-12, 3.0, True, "a")),
    unit((9, 1.0, True, "a"), (-9, 1.0, True, "a")),  # adds up to nothing, and is there
    unit((2, 1.0, True, "a"), (3, 2.0, True, "b")),  # as much as another's one row
    unit((4, 3.0, True, "a"), (1, 3.0, True, "b")),
)


class TestMedianOfTotals(TestSum):
    """The median of what units' rows add up to: each is one record of rank's, with all of its budget."""

    mechanism: Any = TOTALS
    variant_of: ClassVar[type | None] = test_rank.TestMedian
    records = (*UNITS[1:4], *THREE)
    tied_at, runs = Fraction(10_000), 40
    shares, edge_stride = (Fraction(1, 3),), 8
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "range, light weights": (test_rank.ranges_at(test_rank.LIGHT), test_rank.CHOICE),
        "weights around": (test_rank.sides_at(test_rank.LIGHT, 20), test_rank.SIDES),
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records), unit=TWO_ROWS)

    def twins(self) -> Mapping[str, Twin]:
        """Candidates up to the most that a unit has would be a record's doing."""

        def ends_of_the_data(summary: Summary, share: Fraction) -> Any:
            most = max((cell.key.high for cell in summary.cells), default=1)
            return replace(TOTALS, low=-most, high=most).law(replace(summary, largest=most), share)

        wrong = test_rank.Unclipped(**_options(TOTALS))
        return {
            "weights not clipped": Twin(wrong.law, "range, light weights"),
            "ends of the data": Twin(ends_of_the_data, "range, light weights"),
        }


def _options(mechanism: Any) -> dict[str, Any]:
    return {part.name: getattr(mechanism, part.name) for part in fields(mechanism)}


def test_a_total_is_what_rows_add_up_to_moved_into_as_many_bounds_as_rows_may_be() -> None:
    found = folded(rows_of(THREE), unit=TWO_ROWS)
    assert sorted(cell.total for cell in found.cells) == [-24, 0, 5, 5, 24]


class TestNaive(TestMax):
    mechanism = Naive()
    variant_of = None
    tied_at = Fraction(10_000)
    records = (*UNITS, unit((12, 0.125, True, "a"), (12, 0.125, True, "a")))

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records), unit=TWO_ROWS)

    def twins(self) -> Mapping[str, Twin]:
        """Noise for one row of the largest value, for a unit that has more."""
        few = replace(self.summarise([]), largest=MEASURE.largest)

        def for_one_row(summary: Summary, share: Fraction) -> Any:
            right, noises = Naive().law(summary, share), Naive().law(few, share).noises
            return replace(right, noises=noises)

        return {"noise for one row": Twin(for_one_row)}


class TestFramework(TestSum):
    """Algorithm 2 where a unit is one record: its domain is that of its least budget."""

    mechanism = PaperFramework(UniversalSum(), test_framework.SPLIT)
    variant_of = test_framework.TestSum
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        name: test_framework.parts(3)[name] for name in ("counts", "domain 3")
    }
    max_records = 1
    edge_stride = 8

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records))

    def twins(self) -> Mapping[str, Twin]:
        wrong = test_framework.TwoDomainsTooMany(UniversalSum(), test_framework.SPLIT)
        return {"two domains too many": Twin(wrong.law, "domain 3")}


class OneRowEach(LaplaceCount):
    """Counts all rows of units with noise that hides one."""

    def law(self, kept: Summary, epsilon: Fraction, beta: Fraction) -> Noisy:  # noqa: ARG002
        return Noisy((kept.clipped_total(kept.largest),), (DiscreteLaplace(1 / epsilon),))


class TestFrameworkCount(TestFramework):
    records = (*UNITS, unit(*[(1, 0.6, True, "a")] * 3))

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records), None)

    def twins(self) -> Mapping[str, Twin]:
        return {"noise for one row": Twin(PaperFramework(OneRowEach(), test_framework.SPLIT).law, "domain 3")}


# Twins of the folding itself: each makes another table of units from the same rows.


def least_over_kept_rows(rows: Rows) -> Rows:
    """Filter first and fold then: a row that is filtered out no longer lowers the budget."""
    return [row for row in rows if row["kept"]]


def invalid_budgets_skipped(rows: Rows) -> Rows:
    """Fold as SQL's min() does, which passes over NULL and NaN."""
    return [row for row in rows if POLICY.budget(row) is not None]


def every_row_a_record(rows: Rows) -> Rows:
    """Do not fold at all: the losses of a unit's rows add up."""
    return [dict(row, id=place) for place, row in enumerate(rows)]


@pytest.mark.parametrize("twin", [least_over_kept_rows, invalid_budgets_skipped, every_row_a_record])
@pytest.mark.parametrize("measure", [MEASURE, None, SQUARES], ids=["sum", "count", "squares"])
def test_folding_in_another_way_breaks_the_promise(twin: Callable[[Rows], Rows], measure: Any) -> None:
    def much_clipped(summary: Summary) -> Law:
        law: Any = COARSE.law(summary, Fraction(1))
        return TestSum.parts["total, much clipped"][0](law)

    found = worst_loss(
        UNITS,
        much_clipped,
        lambda records: folded(twin(rows_of(records)), measure).refined(4),
        lambda record: float(TOTAL_PART) * budget(record),
        max_records=1,
    )
    assert found.excess > 0.05, found


@pytest.mark.parametrize("twin", [least_over_kept_rows, invalid_budgets_skipped, every_row_a_record])
def test_totals_folded_in_another_way_break_the_promise(twin: Callable[[Rows], Rows]) -> None:
    """The same of the median of totals, by the weights around a range."""
    fine = replace(TOTALS, bits=14)

    def loss(rows: Callable[[Rows], Rows]) -> float:
        return worst_loss(
            (*UNITS, *THREE),
            lambda summary: test_rank.sides_at(0, 20)(fine.law(summary, Fraction(1))),
            lambda records: folded(rows(rows_of(records)), unit=TWO_ROWS),
            lambda record: float(test_rank.SIDES) * budget(record),
            max_records=1,
        ).excess

    assert loss(lambda rows: rows) <= TOLERANCE
    assert loss(twin) > 0.005
