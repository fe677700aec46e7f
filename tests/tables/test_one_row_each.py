"""Owners with one row each: who takes part, whom questions are charged to, and what a ledger is bound to."""

from __future__ import annotations

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
    options = {"protect": "id", "fixed": ["week"], "one_row_each": True, "name": "visits", **options}
    return prdp.open(
        pyarrow.table(rows), policy=prdp.Policy.column("eps", at_least="1/2", at_most=2), **options
    )


def test_owners_with_several_rows_are_in_no_answer_whatever_is_asked() -> None:
    """Owner 3 has one row in each week, and owner 4 one valid row: a filter or a budget makes neither one."""
    options: dict[str, Any] = {"stand_in": True, "bounds": {"v": (0, 10)}}
    several, alone = opened(**options), opened(ONLY_1_AND_2, **options)
    for text in ("TRUE", "week = 45", "week = 46", "v = 5", "eps >= 1"):
        for query in (prdp.count(), prdp.sum("v"), prdp.max("v"), prdp.count_distinct("id")):
            found = [
                table.where(text).plan(query, share=1).queries[0].read.find(table._reader)
                for table in (several, alone)
            ]
            assert found[0] == found[1], (text, query)
    grouped = [table.group_by("week", keys=[45, 46]) for table in (several, alone)]
    answers = [simulate(groups, prdp.count(), share=1, runs=20, seed=3) for groups in grouped]
    assert answers[0] == answers[1]


def test_groups_are_apart_so_that_all_that_owners_are_asked_is_answered_in_them() -> None:
    visits = opened(bounds={"v": (0, 10)})
    weeks = visits.group_by("week", keys=[45, 46])
    assert len(weeks.max("v", share="1/4")) == 2
    assert len(weeks.count(share="1/4", method="naive")) == 2
    several = opened(bounds={"v": (0, 10)}, one_row_each=False)
    with pytest.raises(InvalidRequest, match="not proved"):
        several.group_by("week", keys=[45, 46]).max("v", share="1/4")


def test_filters_and_keys_of_fixed_columns_narrow_and_others_do_not() -> None:
    visits = opened()
    visits.where("week = 45").count(share=1)
    visits.group_by("week", keys=[46]).count(share=1)
    assert visits.where("week = 47 AND v = 1").left == 1
    assert visits.where("v = 1").left == 0
    told = visits.where("week = 48").explain(prdp.count(), share=1)
    assert "1 of the budget of week = 48, and nobody else's" in told
    assert "record   one id with its one row; in no answer if it has several" in told


def test_without_it_everything_is_charged_to_everybody_and_nothing_is_said_by_region(tmp_path: Path) -> None:
    visits = opened(one_row_each=False, ledger=tmp_path / "v.ledger")
    visits.where("week = 45").count(share=1)
    assert visits.where("week = 46").left == 0
    assert visits.ledger.fixed == ()
    assert visits.ledger.entries[0].notes.region is None


def test_it_is_bound_to_the_ledger_and_said_each_time(tmp_path: Path) -> None:
    path = tmp_path / "v.ledger"
    opened(ledger=path).where("week = 45").count(share=1)
    again = opened(ledger=path, fixed=None)
    assert again.where("week = 45").left == 0
    assert again.where("week = 46").left == 1
    with pytest.raises(LedgerError, match="one_row_each: True -> none"):
        opened(ledger=path, one_row_each=False)
    other = tmp_path / "o.ledger"
    opened(ledger=other, one_row_each=False)
    with pytest.raises(LedgerError, match="one_row_each: none -> True"):
        opened(ledger=other)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protect": None}, "one_row_each=True is for protect="),
        ({"one_row_each": 1}, "one_row_each=1 is True or False"),
        ({"most_rows": 3}, "one row is all"),
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
    options = {"fixed": ["joined"], "one_row_each": True, **options}
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
    orders.where("joined = 45 AND month = 3").count(share=1)
    assert orders.where("joined = 45 AND month = 4").left == 0
    assert orders.where("joined = 46").left == 1
    assert people.where("joined = 45").left == 0
    assert orders.where("country = 'fr'").left == 0
    assert orders.where("month = 4").left == 0
    with pytest.raises(BudgetExhausted, match="joined = 45"):
        people.where("joined = 45").count(share="1/2")


def test_in_a_join_owners_with_several_own_rows_are_in_no_answer() -> None:
    orders = shop(stand_in=True).over("orders")
    for text, expected in (("TRUE", 2), ("joined = 45", 2), ("joined = 46", 0), ("month = 3", 1)):
        asked = orders.where(text)
        (found,) = asked.plan(prdp.count(), share=1).queries[0].read.find(asked._reader)
        assert sum(cell.total for cell in found.totals.cells) == expected, text


@pytest.mark.parametrize("column", ["month", "country"])
def test_in_a_join_columns_of_other_tables_are_not_fixed(column: str) -> None:
    with pytest.raises(InvalidRequest, match="only columns of the private table"):
        shop(fixed=[column])


def test_a_join_without_it_is_charged_to_everybody_and_one_that_grows_has_editions(tmp_path: Path) -> None:
    first = shop(one_row_each=False, ledger=tmp_path / "s.ledger", edition="2026-W45")
    first.where("joined = 45").count(share="1/2")
    second = shop(one_row_each=False, ledger=tmp_path / "s.ledger", edition="2026-W46")
    second.where("joined = 45").count(share="1/2")
    assert [entry.notes.edition for entry in second.ledger.entries] == ["2026-W45", "2026-W46"]
    assert second.where("joined = 46").left == 0
