"""Groups that no row can be in are not asked: of public tables, dates, and what follows from a column."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prdp

SIZE = 1_200
PLACE = np.arange(SIZE)
ROWS = (("A", "north", 9), ("B", "north", 4), ("C", "south", 4), ("D", "west", 1))
COUNTIES = dict(zip(("county", "region", "size"), map(list, zip(*ROWS, strict=True)), strict=True))
REGION = {county: region for county, region, _ in ROWS}
FRAME = pd.DataFrame(
    {
        "county": np.array(["A", "B", "C", "D", "E"])[PLACE % 5],
        "age": PLACE % 50 + 20,
        "day": (np.datetime64("2023-11-20") + (PLACE % 90).astype("timedelta64[D]")).astype("datetime64[us]"),
    }
)


def opened(budget: int = 10**9, *, synthetic: bool = True) -> prdp.Table:
    return prdp.open(
        FRAME,
        policy=prdp.Policy.constant(budget),
        name="people",
        bounds={"age": (0, 99)},
        synthetic=synthetic,
    )


def counted(text: str, **more: Any) -> dict[tuple[Any, ...], int]:
    answers = opened().sql(text, share="1/4", tables={"counties": COUNTIES}, **more)
    return {tuple(row[:-1]): row[-1] for row in answers.values}


JOINED = "FROM people JOIN counties c ON people.county = c.county"


def test_columns_of_a_public_table_are_groups_as_they_stand_in_its_rows() -> None:
    rows = counted(
        f"SELECT c.county, c.region, c.size, COUNT(*) {JOINED} GROUP BY c.county, c.region, c.size"
    )
    assert rows == dict.fromkeys(ROWS, 240)


def test_columns_of_a_public_table_without_its_key_are_tied_too() -> None:
    rows = counted(f"SELECT c.region, c.size, COUNT(*) {JOINED} GROUP BY c.region, c.size")
    assert rows == {("north", 9): 240, ("north", 4): 240, ("south", 4): 240, ("west", 1): 240}


def test_a_condition_on_a_public_column_leaves_out_groups_of_another_one() -> None:
    text = f"SELECT c.region, COUNT(*) {JOINED} WHERE c.size BETWEEN 2 AND 5 GROUP BY c.region"
    assert counted(text) == {("north",): 240, ("south",): 240}


def test_a_row_without_a_partner_is_a_group_of_a_left_join_where_null_is_listed() -> None:
    text = "SELECT c.region, c.size, COUNT(*) FROM people LEFT JOIN counties c ON people.county = c.county "
    keys = {"region": ["north", None], "size": [9, 4, None]}
    rows = counted(f"{text} GROUP BY c.region, c.size", keys=keys)
    assert rows == {("north", 9): 240, ("north", 4): 240, (None, None): 240}


def test_margins_of_nested_columns_have_sql_s_rows() -> None:
    text = f"SELECT c.region, c.county, COUNT(*) {JOINED} GROUP BY ROLLUP (c.region, c.county)"
    wanted: Counter[tuple[Any, ...]] = Counter()
    for county in FRAME["county"]:
        if county in REGION:
            for key in ((REGION[county], county), (REGION[county], None), (None, None)):
                wanted[key] += 1
    assert counted(text) == wanted


@pytest.mark.parametrize(
    ("by", "of"),
    [
        ("year(day), month(day)", lambda day: (day.year, day.month)),
        ("year(day), quarter(day), month(day)", lambda day: (day.year, day.quarter, day.month)),
        ("date_trunc('year', day), month(day)", lambda day: (pd.Timestamp(day.year, 1, 1), day.month)),
        ("CAST(day AS DATE), dayofweek(day)", lambda day: (day, day.isoweekday() % 7)),
    ],
)
def test_parts_of_a_date_are_groups_as_the_days_of_where_have_them(by: str, of: Any) -> None:
    text = f"SELECT {by}, COUNT(*) FROM people WHERE day >= DATE '2023-11-20' AND day < DATE '2024-02-10' "
    kept = FRAME["day"][FRAME["day"] < pd.Timestamp(2024, 2, 10)]
    assert counted(f"{text} GROUP BY {by}") == Counter(map(of, kept))


def test_what_depends_on_the_hour_is_not_followed_by_days() -> None:
    noon = "CASE WHEN day < TIMESTAMP '2023-12-01 12:00:00' THEN 1 ELSE 2 END"
    text = f"SELECT {noon}, year(day), COUNT(*) FROM people WHERE day >= DATE '2023-12-01' "
    rows = counted(f"{text} AND day < DATE '2023-12-02' GROUP BY {noon}, year(day)")
    assert rows.keys() == set(product([1, 2], [2023]))


def test_a_column_beside_what_follows_from_it_has_the_groups_that_can_be() -> None:
    text = "SELECT age, age % 3 AS rest, COUNT(*) FROM people WHERE age BETWEEN 30 AND 35 GROUP BY age, rest"
    assert counted(text) == {(age, age % 3): 24 for age in range(30, 36)}


def test_two_texts_made_of_a_column_whose_values_are_not_all_listed_are_not_tied() -> None:
    """A row whose county is not listed may have both of the listed results, so both are asked together."""
    frame = pd.DataFrame({"county": ["Ab", "aB", "AB"] * 100})
    table = prdp.open(frame, policy=prdp.Policy.constant(10**9), name="people", synthetic=True)
    text = "SELECT upper(county) AS u, lower(county) AS l, COUNT(*) FROM people GROUP BY u, l"
    answers = table.sql(text, share="1/4", keys={"u": ["AB"], "l": ["ab"]})
    assert answers.values == [("AB", "ab", 300)]


def test_a_remainder_has_no_group_that_no_number_has() -> None:
    assert counted("SELECT age % 2, COUNT(*) FROM people GROUP BY age % 2") == {(0,): 600, (1,): 600}


def test_public_tables_of_a_join_are_grouped_by_as_their_rows_stand() -> None:
    shop = prdp.open_join(
        {
            "people": pd.DataFrame({"id": np.arange(300), "town": np.arange(300) % 3}),
            "towns": pd.DataFrame(
                {"code": range(4), "name": ["Bonn", "Ulm", "Bern", "Hof"], "in_land": [1, 1, 2, 1]}
            ),
            "lands": pd.DataFrame({"land": [1, 2], "called": ["DE", "CH"]}),
        },
        private="people",
        key="id",
        references={"people.town": "towns.code", "towns.in_land": "lands.land"},
        public=["towns", "lands"],
        policy=prdp.Policy.constant(10**9),
        synthetic=True,
    )
    text = (
        "SELECT called, name, COUNT(*) AS n FROM people JOIN towns ON town = code "
        "JOIN lands ON in_land = land GROUP BY called, name"
    )
    rows = {row[:2]: row[2] for row in shop.sql(text, share="1/4").values}
    assert rows == {("DE", "Bonn"): 100, ("DE", "Ulm"): 100, ("CH", "Bern"): 100, ("DE", "Hof"): 0}
