"""What is stated to somebody who uses prdp for the first time: each message names what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.tables.table import Table

LISTED: Any = ["ward"]
SALES = {"price": np.arange(1, 2001), "ward": np.array(["ER", "GP"] * 1000), "week": np.arange(2000) % 4}


def sales(**options: Any) -> Table:
    return prdp.open(SALES, policy="least(1000 / price, 10)", bounds={"price": (1, 10**5)}, **options)


@pytest.mark.parametrize(
    ("mistake", "stated"),
    [
        (lambda: sales(privacy_unit=["ward", "week"]), "Write privacy_unit='customer_id'"),
        (lambda: prdp.open(SALES, policy="1", bounds={"price": (0, float("inf"))}), "pair of finite numbers"),
        (lambda: sales().group_by("week", LISTED, keys=["ER"]), "without a list around the columns"),
        (
            lambda: sales().group_by("ward", "week", keys=["ER"]),
            "keys={'ward': [...], 'week': [...]}",
        ),
        (lambda: sales().filter("price > 3 & week = 1"), "Write AND between conditions."),
        (lambda: sales().filter("price > 3 || week = 1"), "Write OR between conditions."),
        (lambda: sales().filter("ward = None"), "Write IS NULL or IS NOT NULL"),
        (lambda: sales().ledger.charge("lost", 0.25), "Write Fraction('0.1') or Fraction(1, 10)."),  # type: ignore[arg-type]
        (
            lambda: sales().agg(n=prdp.count(), m=prdp.count(), share=0.05, shares=[0.04, 0.04]),
            "These add up to 2/25.",
        ),
        (
            lambda: sales().agg(n=prdp.count(), m=prdp.count(), share=0.05, shares={"n": 0.01, "k": 0.01}),
            "The names are n, m.",
        ),
        (
            lambda: sales().agg(prdp.count(), m=prdp.count(), share=0.05, shares={"count": 0.01, "m": 0.01}),
            "The names are m. A query without a name is named by a keyword or .alias('n').",
        ),
    ],
)
def test_a_refusal_says_what_to_write(mistake: Callable[[], object], stated: str) -> None:
    with pytest.raises(prdp.PrdpError) as refused:
        mistake()
    assert stated in str(refused.value)


@pytest.mark.parametrize(
    ("options", "stated"),
    [
        ({"tables": ["customers.parquet"]}, "not a dict by the tables' names. Write tables={'customers': "),
        ({"references": "orders.customer"}, "Write references={'orders.customer': 'customers.id'}."),
    ],
)
def test_what_a_join_takes_as_dicts_is_shown(options: dict[str, Any], stated: str) -> None:
    given: dict[str, Any] = {"tables": {"sales": SALES}, "references": {}} | options
    with pytest.raises(prdp.InvalidRequest) as refused:
        prdp.open_join(given.pop("tables"), private="sales", key="price", policy="1", **given)
    assert stated in str(refused.value)


def test_where_nothing_is_left_the_advice_is_to_narrow() -> None:
    visits = sales(immutable=["week"])
    visits.filter("week = 1").count(share=1)
    with pytest.raises(
        prdp.BudgetExhausted, match=r"to spend there\. Narrow the question by week to records"
    ):
        visits.count(share="1/2")


def test_fixed_columns_may_leave_more_than_a_view_says() -> None:
    visits = sales(immutable=["week"])
    assert "; all of every budget left" in repr(visits)
    visits.filter("week = 1").count(share="1/4")
    assert "; at least 3/4 of every budget left" in repr(visits)


def test_what_is_stated_below_a_table_names_its_columns_where_they_differ() -> None:
    reported = str(sales().agg(prdp.max("price"), prdp.count_distinct("ward"), n=prdp.count(), share=1))
    assert "\nchoice (max_price): records with small budgets may lie above it" in reported
    assert "\ndistinct (count_distinct_ward): keys of few" in reported
    assert "\nclip (n): clipped records can bias it toward zero" in reported


def test_what_is_true_of_all_columns_names_none() -> None:
    reported = str(sales().agg(prdp.count(), prdp.sum("price"), share=1))
    assert "\nintervals: 95 %" in reported
    assert "\nclip: clipped records" in reported


def test_a_column_that_was_not_asked_for_is_refused_with_those_that_were() -> None:
    with pytest.raises(KeyError, match="'m' is not a column of this table, which has: n"):
        sales().agg(n=prdp.count(), share=1)["m"]


def test_a_maximum_has_an_interval_with_one_end_and_no_decimals_where_values_are_whole() -> None:
    largest = sales().max("price", share=1)
    low, high = largest.interval()
    assert high == float("inf")
    assert f": {largest.value:,.0f}, from {low:,.0f}, no upper limit (95 %" in str(largest)


def test_a_range_of_one_number_is_printed_with_its_decimals() -> None:
    table = prdp.open(
        {"weight": np.full(5000, 1.37)},
        policy="1",
        bounds={"weight": (0, 100)},
        round_to={"weight": "0.01"},
    )
    assert "median of weight: 1.37, from 1.37 to 1.37 (" in str(table.median("weight", share=1))


@pytest.mark.parametrize(("ask", "side"), [(prdp.max, "above"), (prdp.min, "below")])
def test_an_extreme_says_on_which_side_of_it_records_may_lie(ask: Any, side: str) -> None:
    answer = sales().agg(found=ask("price"), share=Fraction(1, 2))["found"]
    assert f"records with small budgets may lie {side} it" in answer.caveat
