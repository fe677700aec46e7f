"""Units on every small table: all rows of one together lose no more than the least of their budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
from prdp.testing.exact_loss import worst_loss
from prdp.testing.mechanism_contract import MechanismContract, Twin
from tests.exact import test_choice, test_framework
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


class TestNaive(TestMax):
    mechanism = Naive()
    variant_of = None
    tied_at = Fraction(10_000)
    records = (*UNITS, unit((12, 0.125, True, "a"), (12, 0.125, True, "a")))

    def summarise(self, records: Sequence[Record]) -> Summary:
        return folded(rows_of(records), unit=PrivacyUnit("id", max_rows=2))

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
