"""Divided budgets on every small table: all parts of a unit together lose no more than its budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import pyarrow
import pytest

from prdp.cells.summary import Summary
from prdp.engines.duckdb.engine import open_source
from prdp.levels import Levels
from prdp.mechanisms.choice import Choice
from prdp.mechanisms.framework import LaplaceCount, PaperFramework
from prdp.noise.laws import Law, Then, Together
from prdp.plan.divided import DividedRead, divided_levels
from prdp.plan.reads import CellRead, KeyRead
from prdp.testing.exact_loss import TOLERANCE, Loss, worst_loss
from prdp.testing.mechanism_contract import MechanismContract, Twin
from prdp.testing.reference import reference_keys, reference_summary
from tests.exact import test_choice, test_framework, test_rank
from tests.exact.test_distinct import RIGHT as DISTINCT
from tests.exact.test_distinct import TOTAL_PART, Coarse
from tests.exact.test_rank import LIGHT, MEDIAN, SIDES, ranges_at, sides_at
from tests.exact.units_universe import (
    NAN,
    SCHEMA,
    UNITS,
    Record,
    budget,
    reading,
    rows_of,
    unit,
    with_budget,
)
from tests.exact.universe import LEVELS, MEASURE, POLICY

PARTS = divided_levels(LEVELS, 0, 2)
MANY: tuple[Record, ...] = (
    unit((5, 3.0, True, "a"), (5, 3.0, True, "a"), (5, 3.0, True, "a")),  # equal rows
    unit((5, 9.0, True, "a"), (5, 9.0, True, "b")),  # above the largest budget, in two groups
    unit((5, 2.0, True, "a"), (5, 2.0, True, "b"), (9, 2.0, True, "b"), (9, 2.0, False, "b")),
    unit(*((5, 1.0, True, "a"),) * 5),
    unit(*((5, 0.125, True, "a"),) * 40),  # its parts are too small for the grid
    unit((5, 1.0, True, "a"), (5, 1.0, True, "c")),  # one row in no listed group
)


def divided(*, grouped: bool, part: Any = "row", fold: Any = "sum") -> DividedRead:
    """Return what is read of units."""
    plain = reading(MEASURE, grouped=grouped)
    cells: Any = CellRead(plain.policy, PARTS, {}, MEASURE, plain.where, plain.groups)
    if part == "key":
        cells = KeyRead(plain.policy, PARTS, "v", plain.where, plain.groups)
    if part == "group" and fold == "sum":
        cells = replace(cells, measure=MEASURE.added_up(2))
        return DividedRead(cells, plain.unit, LEVELS, part, fold, of_row=MEASURE)
    return DividedRead(cells, plain.unit, LEVELS, part, fold)


def read(records: Sequence[Record], asked: DividedRead) -> tuple[Any, ...]:
    """Return what DuckDB finds of some units."""
    engine = open_source(pyarrow.Table.from_pylist(rows_of(records), schema=SCHEMA), None)
    return tuple(engine.divided(asked))


class TestMedian(MechanismContract):
    """Without groups: the contract of rank, over units."""

    mechanism: Any = MEDIAN
    variant_of: ClassVar[type | None] = test_rank.TestMedian
    records = (*UNITS[:5], *MANY)
    shares = (Fraction(1, 3),)
    tied_at, runs = Fraction(10_000), 40
    asked = divided(grouped=False)
    edge_stride = 8
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "range, light weights": (ranges_at(LIGHT), test_rank.CHOICE),
        "weights around": (sides_at(LIGHT, 20), SIDES),
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        found: tuple[Summary] = read(records, self.asked)
        return found[0]

    def budget(self, record: Record) -> float:
        return budget(record)

    def with_budget(self, record: Record, budget: float) -> Record | None:
        return with_budget(record, budget)

    def twins(self) -> Mapping[str, Twin]:
        return {"weights not clipped": Twin(test_rank.made(test_rank.Unclipped), "range, light weights")}


@pytest.mark.slow
class TestUnitWeighted(TestMedian):
    """Nothing is searched: a row weighs in proportion to its part, up to 1 for a part on a known level."""

    mechanism: Any = replace(MEDIAN, finder=None, full=PARTS.quanta(PARTS.top - 20))
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "range": (lambda law: law.first, MEDIAN.answer),
        "weights around": (lambda law: law.then(20), MEDIAN.sides + MEDIAN.scout),
    }

    def twins(self) -> Mapping[str, Twin]:
        wrong = replace(self.mechanism, full=PARTS.quanta(PARTS.top - 28))

        def heavier(summary: Summary, share: Fraction) -> Any:
            right, other = self.mechanism.law(summary, share), wrong.law(summary, share)
            return Then(replace(other.first, unit=right.first.unit), other.then)

        return {"weights twice as large at the same noise": Twin(heavier, "range")}


class TestFramework(TestMedian):
    """A row-level base suffices: its domains are those of divided budgets."""

    mechanism: Any = PaperFramework(LaplaceCount(), test_framework.SPLIT)
    variant_of = test_rank.TestMedian
    max_records = 1
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = test_framework.parts(2, 6)

    def twins(self) -> Mapping[str, Twin]:
        wrong = test_framework.WholeShare(self.mechanism.base, test_framework.SPLIT)
        return {"the whole share for the base": Twin(wrong.law, "domain 6")}


# Twins of the dividing itself: each makes other parts from the same units. They are written in plain Python,
# over units that the right one, in plain Python too, divides as the engine does.


@dataclass(frozen=True, slots=True)
class Dividing:
    """A way to divide: the right one, with one step replaced.

    Attributes:
        number: From the (group, value) of a unit's parts and the place of one to the divisor of its budget.
        before: Whether the largest budget is applied before dividing.
        lifted: Whether parts below the grid are lifted to its lowest level.
        raised: By how many levels a part's budget is raised.
    """

    number: Callable[[Sequence[tuple[str, int]], int], float] = lambda parts, _: len(parts)
    before: bool = True
    lifted: bool = False
    raised: int = 0

    def rows(self, records: Sequence[Record], *, keys: bool, most: float = 3.0) -> list[dict[str, Any]]:
        """Return the parts of all units, as records with budgets of their own."""
        found = []
        for record in records:
            if not budget(record):
                continue
            whole = min(row["eps"] for row in record["rows"])
            parts = [
                (row["grp"], row["v"])
                for row in record["rows"]
                if row["kept"] and row["grp"] in ("a", "b") and row["v"] is not None
            ]
            parts = sorted(set(parts)) if keys else parts
            for place, (group, value) in enumerate(parts):
                own = (min(whole, most) if self.before else whole) / self.number(parts, place)
                if self.lifted:
                    own = max(own, PARTS.least)
                found.append({"grp": group, "v": value, "eps": own * 2 ** (self.raised / 8)})
        return found


def of_each_group(parts: Sequence[tuple[str, int]], place: int) -> float:
    return Counter(group for group, _ in parts)[parts[place][0]]


def of_different_parts(parts: Sequence[tuple[str, int]], _: int) -> float:
    return len(set(parts))


def of_different_values(parts: Sequence[tuple[str, int]], _: int) -> float:
    return len({value for _, value in parts})


def cut_at_two(parts: Sequence[tuple[str, int]], _: int) -> float:
    return min(len(parts), 2)


def rounded_down(parts: Sequence[tuple[str, int]], _: int) -> float:
    return 1 << (len(parts).bit_length() - 1)


def before_the_last_row_came(parts: Sequence[tuple[str, int]], _: int) -> float:
    return max(1, len(parts) - 1)


def not_at_all(_: Sequence[tuple[str, int]], __: int) -> float:
    return 1


WRONG = {
    "k of each group": (Dividing(of_each_group), 1.3),
    "k of different rows": (Dividing(of_different_parts), 2.0),
    "k of different values": (Dividing(of_different_values), 2.0),
    "k cut off where rows are not": (Dividing(cut_at_two), 1.3),
    "k rounded down": (Dividing(rounded_down), 1.1),
    "k of an earlier read": (Dividing(before_the_last_row_came), 1.1),
    "levels rounded up": (Dividing(raised=1), 1.02),
    "nothing divided": (Dividing(not_at_all), 2.0),
    "the largest budget applied afterwards": (Dividing(before=False), 1.05),
    "parts below the grid lifted": (Dividing(lifted=True), 1.2),
}


def by_group(records: Sequence[Record], how: Dividing) -> list[Summary]:
    """Return the cells of two groups."""
    rows = how.rows(records, keys=False)
    cells = CellRead(POLICY, PARTS, {}, MEASURE, None)
    parted = ([row for row in rows if row["grp"] == group] for group in ("a", "b"))
    return [reference_summary(group, cells) for group in parted]


def weights(groups: Sequence[Summary]) -> Law:
    """Return the noisy weights around a range of each group: what adds up a unit's parts to the last one."""
    return Together(tuple(sides_at(0, 20)(FINE.law(one, Fraction(1))) for one in groups))


FINE = replace(MEDIAN, bits=14)
"""On a lattice so fine that rounding down hides no twin."""


def loss(how: Dividing, records: Sequence[Record] = (*UNITS, *MANY)) -> Loss:
    """Return the worst loss of the weights of both groups, of one unit beside another."""
    law: Any = weights
    found: Any = partial(by_group, how=how)
    return worst_loss(records, law, found, lambda record: float(SIDES) * budget(record), 2)


def test_units_in_plain_python_are_divided_as_the_engine_does() -> None:
    records = (*UNITS, *MANY, unit((5, NAN, True, "a")))
    assert by_group(records, Dividing()) == list(read(records, divided(grouped=True)))


def test_all_groups_together_stay_within_the_budget() -> None:
    assert loss(Dividing()).excess <= TOLERANCE


def test_some_unit_comes_close_to_what_it_may_lose() -> None:
    """A bound that nothing comes near would hide a mistake in the measuring itself."""
    losses = [loss(Dividing(), [record]).ratio for record in (MANY[0], MANY[1], MANY[3])]
    assert max(losses) > 0.9


@pytest.mark.parametrize("name", WRONG)
def test_dividing_in_another_way_breaks_the_promise(name: str) -> None:
    how, least = WRONG[name]
    found = [loss(how, [record]) for record in (*UNITS, *MANY)]
    worst = max(each.ratio for each in found)
    print(f"{name}: {worst:.2f} of the promise")
    assert worst > least


class TestGroupMax(MechanismContract):
    """The largest value of each group: a unit's parts are its groups."""

    mechanism: Any = Choice(MEASURE.low, MEASURE.high)
    variant_of: ClassVar[type | None] = test_choice.TestMax
    records = (*UNITS[:5], *MANY[:3])
    shares = (Fraction(1, 3),)
    tied_at = Fraction(10_000)
    asked = divided(grouped=True, part="group", fold="max")

    def summarise(self, records: Sequence[Record]) -> Summary:
        return Summary.together(read(records, self.asked))

    def budget(self, record: Record) -> float:
        return budget(record)

    def with_budget(self, record: Record, budget: float) -> Record | None:
        return with_budget(record, budget)

    def twins(self) -> Mapping[str, Twin]:
        return {"twice the share": Twin(lambda summary, share: self.law(summary, 2 * share))}


@pytest.mark.slow
class TestGroupTotals(TestMedian):
    """The median of what units' rows add up to in each group: parts are groups, with wider ends than rows."""

    mechanism: Any = replace(MEDIAN, low=2 * MEASURE.low, high=2 * MEASURE.high)
    records = (*UNITS[:5], *MANY[:3])
    asked = divided(grouped=True, part="group", fold="sum")

    def summarise(self, records: Sequence[Record]) -> Summary:
        return Summary.together(read(records, self.asked))

    def twins(self) -> Mapping[str, Twin]:
        twice = Twin(lambda summary, share: self.law(summary, 2 * share), "range, light weights")
        return {"twice the share": twice}


def totals_by_group(records: Sequence[Record], how: Dividing) -> list[Summary]:
    """Return the cells of what units add up to in two groups, divided in a way."""
    found = []
    for record in records:
        kept = [
            (row["grp"], row["v"])
            for row in record["rows"]
            if row["kept"] and row["grp"] in ("a", "b") and row["v"] is not None
        ]
        groups = sorted({group for group, _ in kept})
        totals = [(group, sum(value for own, value in kept if own == group)) for group in groups]
        for place, (group, total) in enumerate(totals if budget(record) else []):
            own = min(3.0, *(row["eps"] for row in record["rows"])) / how.number(totals, place)
            found.append({"grp": group, "v": total, "eps": own})
    cells = CellRead(POLICY, PARTS, {}, MEASURE.added_up(2), None)
    parted = ([row for row in found if row["grp"] == group] for group in ("a", "b"))
    return [reference_summary(group, cells) for group in parted]


def test_totals_in_plain_python_are_those_of_the_engine() -> None:
    records = (*UNITS, *MANY, unit((5, NAN, True, "a")))
    asked = divided(grouped=True, part="group", fold="sum")
    assert totals_by_group(records, Dividing()) == list(read(records, asked))


@pytest.mark.parametrize("how", [of_each_group, not_at_all, before_the_last_row_came])
def test_totals_of_groups_with_more_than_their_part_break_the_promise(how: Any) -> None:
    fine = replace(FINE, low=2 * MEASURE.low, high=2 * MEASURE.high)

    def weights(groups: Sequence[Summary]) -> Law:
        return Together(tuple(sides_at(0, 20)(fine.law(one, Fraction(1))) for one in groups))

    def ratio(divide: Any) -> float:
        promised: Any = lambda record: float(SIDES) * budget(record)  # noqa: E731
        found: Any = partial(totals_by_group, how=Dividing(divide))
        law: Any = weights
        return worst_loss((*UNITS, *MANY), law, found, promised, 1).ratio

    assert ratio(Dividing().number) <= 1 + TOLERANCE
    assert ratio(how) > 1.4


@pytest.mark.parametrize(("how", "breaks"), [(Dividing(), False), (Dividing(not_at_all), True)])
def test_a_mechanism_of_rows_in_domains_of_whole_budgets_breaks_it(how: Dividing, breaks: bool) -> None:
    """A base that is private for one row is run on all rows of a unit, in the domain of its whole budget."""
    base: Any = TestFramework.mechanism
    below, part = test_framework.parts(2, 6)["domain 6"]

    found = worst_loss(
        MANY,
        lambda cells: below(base.law(cells, Fraction(1))),
        lambda records: by_group(records, how)[0],
        lambda record: float(part) * budget(record),
        1,
    )
    assert found.ratio > 2 if breaks else found.excess <= TOLERANCE


def test_parts_of_units_are_as_many_as_their_groups_or_keys() -> None:
    """Three equal rows are one key in one group; two rows in each of two groups are two groups."""
    highest = read([MANY[0], MANY[2]], divided(grouped=True, part="group", fold="max"))
    assert [[cell.count for cell in one.cells] for one in highest] == [[1, 1], [1]]
    keys = read([MANY[0], MANY[2]], divided(grouped=True, part="key"))
    assert [one.keys for one in keys] == [1, 2]


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
def test_the_grid_of_groups_is_just_deep_enough_for_a_unit_in_all_of_them(number: int) -> None:
    """No unit has more parts than groups, so that a declared number of rows does not matter."""
    levels = divided_levels(LEVELS, 0, 2**20, groups=number)
    least = levels.at_least
    assert Fraction(LEVELS.at_least) / number >= least
    assert LEVELS.at_least / (2 * number) < least * 2, "and no deeper by more than an octave"


def test_groups_of_units_with_the_least_budget_are_on_their_grid() -> None:
    asked = divided(grouped=True, part="group", fold="max")
    assert isinstance(asked.read, CellRead)
    shallow = divided_levels(LEVELS, 0, 2**20, groups=2)
    asked = replace(asked, read=replace(asked.read, levels=shallow))
    least = float(LEVELS.at_least)
    found = read([unit((5, least, True, "a"), (7, least, True, "b"))], asked)
    assert [[cell.count for cell in one.cells] for one in found] == [[1], [1]]


def keys_by_group(records: Sequence[Record], how: Dividing, levels: Levels = PARTS) -> list[Any]:
    """Return the keys of two groups."""
    rows = how.rows(records, keys=True, most=float(levels.at_most))
    cells = CellRead(POLICY, levels, {}, None, None)
    parted = ([row for row in rows if row["grp"] == group] for group in ("a", "b"))
    return [reference_keys(group, cells, "v") for group in parted]


FEW = Coarse(Fraction(5), Fraction(80))
PAIRS: tuple[Record, ...] = (
    unit((1, 60.0, True, "a"), (2, 60.0, True, "a"), (1, 60.0, True, "b"), (1, 60.0, True, "b")),
    unit((1, 80.0, True, "a")),
    unit((1, 40.0, True, "a"), (2, 40.0, True, "b")),
)


@pytest.mark.parametrize(
    ("how", "least"),
    [
        (Dividing(), 0.0),
        (Dividing(of_each_group), 1.4),
        (Dividing(of_different_values), 1.4),
    ],
    ids=["right", "keys of each group", "different keys over all groups"],
)
def test_distinct_keys_of_all_groups_stay_within_the_budget(how: Dividing, least: float) -> None:
    def totals(groups: Sequence[Any]) -> Law:
        laws: list[Any] = [DISTINCT.law(one, Fraction(1)).laws[0] for one in groups]
        return Together(tuple(law.then(9) for law in laws))

    def promised(record: Record) -> float:
        return float(TOTAL_PART) * float(min(row["eps"] for row in record["rows"]))

    found: Any = partial(keys_by_group, how=how, levels=FEW)
    law: Any = totals
    worst = worst_loss(PAIRS, law, found, promised, 2)
    if least:
        assert worst.ratio > least
    else:
        assert worst.excess <= TOLERANCE


def test_keys_in_plain_python_are_those_of_the_engine() -> None:
    records = (*PAIRS, *UNITS)
    found = read(records, divided(grouped=True, part="key"))
    assert keys_by_group(records, Dividing()) == [replace(one, holders=None) for one in found]
