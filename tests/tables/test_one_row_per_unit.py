"""Units with one row each: who takes part, whom questions are charged to, and what a ledger is bound to."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import prdp
from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.tables.join import Join
from prdp.tables.table import Table
from prdp.testing import simulate

ROWS: dict[str, list[Any]] = {
    "id": [1, 2, 3, 3, 4, 4, None],
    "week": [45, 46, 45, 46, 46, 46, 46],
    "v": [1, 2, 3, 4, 5, None, 7],
    "eps": [1.0, 1.0, 1.0, 1.0, 1.0, None, 1.0],
}
ONLY_1_AND_2 = {name: values[:2] for name, values in ROWS.items()}


def opened(rows: dict[str, list[Any]] = ROWS, **options: Any) -> Table:
    options = {
        "privacy_unit": "id",
        "immutable": ["week"],
        "one_row_per_unit": True,
        "name": "visits",
        **options,
    }
    return prdp.open(
        pyarrow.table(rows), policy=prdp.Policy.column("eps", at_least="1/2", at_most=2), **options
    )


def test_units_with_several_rows_are_in_no_answer_whatever_is_asked() -> None:
    """Unit 3 has one row in each week, and unit 4 one valid row: a filter or a budget makes neither one."""
    options: dict[str, Any] = {"synthetic": True, "bounds": {"v": (0, 10)}}
    several, alone = opened(**options), opened(ONLY_1_AND_2, **options)
    for text in ("TRUE", "week = 45", "week = 46", "v = 5", "eps >= 1"):
        for query in (prdp.count(), prdp.sum("v"), prdp.max("v"), prdp.count_distinct("id")):
            found = [
                table.filter(text).plan(query, share=1).queries[0].read.find(table._reader)
                for table in (several, alone)
            ]
            assert found[0] == found[1], (text, query)
    grouped = [table.group_by("week", keys=[45, 46]) for table in (several, alone)]
    answers = [simulate(groups, prdp.count(), share=1, runs=20, seed=3) for groups in grouped]
    assert answers[0] == answers[1]


def test_groups_are_apart_so_that_all_that_units_are_asked_is_answered_in_them() -> None:
    visits = opened(bounds={"v": (0, 10)})
    weeks = visits.group_by("week", keys=[45, 46])
    assert len(weeks.max("v", share="1/4")) == 2
    assert len(weeks.count(share="1/4", method="naive")) == 2
    several = opened(bounds={"v": (0, 10)}, one_row_per_unit=False).group_by("week", keys=[45, 46])
    with pytest.raises(InvalidRequest, match="method='naive' keeps all rows of a unit by group"):
        several.count(share="1/4", method="naive")
    assert several.table.remaining == 1


def test_by_group_a_unit_with_one_row_has_its_whole_budget_and_one_with_several_divides_it() -> None:
    """Unit 3 has a row in each week: each has half its budget, which is 1."""
    bounds: dict[str, Any] = {"bounds": {"v": (0, 10)}, "synthetic": True}
    for one_row, expected in ((True, {1.0: 2}), (False, {1.0: 2, 0.5: 2})):
        table = opened(one_row_per_unit=one_row, **bounds)
        (plan,) = table.group_by("week", keys=[45, 46]).plan(prdp.max("v"), share=1).queries
        parts = [getattr(cells, "totals", cells) for cells in plan.read.find(table._reader)]
        (levels,) = {one.levels for one in parts}
        quanta = {levels.quanta(levels.index(budget) or 0): budget for budget in (0.5, 1.0)}
        counts = Counter[float]()
        for cell in (cell for one in parts for cell in one.cells):
            counts[quanta[cell.key.quanta]] += cell.count
        assert counts == expected


def test_filters_and_keys_of_fixed_columns_narrow_and_others_do_not() -> None:
    visits = opened()
    visits.filter("week = 45").count(share=1)
    visits.group_by("week", keys=[46]).count(share=1)
    assert visits.filter("week = 47 AND v = 1").remaining == 1
    assert visits.filter("v = 1").remaining == 0
    reported = visits.filter("week = 48").explain(prdp.count(), share=1)
    assert "1 of the budget of records with week = 48 only" in reported
    assert "record   one id with its one row; in no answer if it has several" in reported


def test_without_it_everything_is_charged_to_everybody_and_nothing_is_stated_by_region(
    tmp_path: Path,
) -> None:
    visits = opened(one_row_per_unit=False, ledger=tmp_path / "v.ledger")
    visits.filter("week = 45").count(share=1)
    assert visits.filter("week = 46").remaining == 0
    assert visits.ledger.immutable == ()
    assert visits.ledger.entries[0].notes.region is None


def test_it_is_bound_to_the_ledger_and_stated_each_time(tmp_path: Path) -> None:
    path = tmp_path / "v.ledger"
    opened(ledger=path).filter("week = 45").count(share=1)
    again = opened(ledger=path, immutable=None)
    assert again.filter("week = 45").remaining == 0
    assert again.filter("week = 46").remaining == 1
    with pytest.raises(LedgerError, match="one_row_per_unit: True -> none"):
        opened(ledger=path, one_row_per_unit=False)
    other = tmp_path / "o.ledger"
    opened(ledger=other, one_row_per_unit=False)
    with pytest.raises(LedgerError, match="one_row_per_unit: none -> True"):
        opened(ledger=other)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"privacy_unit": None}, "one_row_per_unit=True is for privacy_unit="),
        ({"one_row_per_unit": 1}, "one_row_per_unit=1 is True or False"),
        ({"max_rows": 3}, "cannot be combined with one_row_per_unit"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        opened(**options)


PEOPLE = {"pid": [1, 2, 2], "joined": [45, 45, 46], "town": [1, 1, 1]}
TABLES = {
    "people": PEOPLE,
    "orders": {"buyer": [1, 1, 2, 9], "month": [3, 4, 3, 3]},
    "towns": {"tid": [1], "country": ["fr"]},
}


def shop(**options: Any) -> Join:
    options = {"immutable": ["joined"], "one_row_per_unit": True, **options}
    return prdp.open_join(
        {name: pyarrow.table(rows) for name, rows in TABLES.items()},
        private="people",
        key="pid",
        references={"orders.buyer": "people.pid", "people.town": "towns.tid"},
        public=["towns"],
        policy="1",
        **options,
    )


def test_in_a_join_only_fixed_columns_of_the_private_table_narrow() -> None:
    people = shop()
    orders = people.over("orders", "towns")
    orders.filter("joined = 45 AND month = 3").count(share=1)
    assert orders.filter("joined = 45 AND month = 4").remaining == 0
    assert orders.filter("joined = 46").remaining == 1
    assert people.filter("joined = 45").remaining == 0
    assert orders.filter("country = 'fr'").remaining == 0
    assert orders.filter("month = 4").remaining == 0
    with pytest.raises(BudgetExhausted, match="joined = 45"):
        people.filter("joined = 45").count(share="1/2")


def test_in_a_join_units_with_several_own_rows_are_in_no_answer() -> None:
    orders = shop(synthetic=True).over("orders")
    for text, expected in (("TRUE", 2), ("joined = 45", 2), ("joined = 46", 0), ("month = 3", 1)):
        asked = orders.filter(text)
        (found,) = asked.plan(prdp.count(), share=1).queries[0].read.find(asked._reader)
        assert sum(cell.total for cell in found.totals.cells) == expected, text


@pytest.mark.parametrize("column", ["month", "country"])
def test_in_a_join_columns_of_other_tables_are_not_fixed(column: str) -> None:
    with pytest.raises(InvalidRequest, match="only columns of the private table"):
        shop(immutable=[column])


def test_a_join_without_it_is_charged_to_everybody_and_one_that_grows_has_snapshots(tmp_path: Path) -> None:
    first = shop(one_row_per_unit=False, ledger=tmp_path / "s.ledger", snapshot="2026-W45")
    first.filter("joined = 45").count(share="1/2")
    second = shop(one_row_per_unit=False, ledger=tmp_path / "s.ledger", snapshot="2026-W46")
    second.filter("joined = 45").count(share="1/2")
    assert [entry.notes.snapshot for entry in second.ledger.entries] == ["2026-W45", "2026-W46"]
    assert second.filter("joined = 46").remaining == 0
