"""What people write first works: lists of columns and quantiles, numbers of bins, dates as texts."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import prdp
from prdp.declare.groups import Bin
from prdp.errors import ExpressionError, InvalidRequest
from prdp.expressions.nodes import canonical

N = 3000
DAYS = [date(2024, 1, 1) + timedelta(days=place % 700) for place in range(N)]
STAFF = pl.DataFrame(
    {
        "job": ["chef", "clerk", "judge"] * (N // 3),
        "town": ["Bonn", "Ulm"] * (N // 2),
        "age": np.arange(N) % 90,
        "pay": np.arange(N) % 70 + 0.5,
        "hired": DAYS,
    }
)


def staff(**options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {"policy": 20, "bounds": {"age": (0, 100), "pay": (0, 80)}, "name": "staff"}
    return prdp.open(STAFF, **chosen | options)


def test_columns_to_group_by_may_be_one_list() -> None:
    keys = [("chef", "Bonn"), ("clerk", "Ulm")]
    table = staff()
    listed = table.group_by(["job", "town"], keys=keys).count(share="1/4")
    assert listed.by == ("job", "town")
    assert table.group_by("job", "town", keys=keys).count(share="1/4").releases == listed.releases
    assert table.group_by(("job",), keys=["chef"]).count(share="1/4").keys == (("chef",),)


def test_several_quantiles_are_a_table_with_a_column_each() -> None:
    table = staff(policy=100)
    found = table.quantile("pay", [0.1, "9/10"], share="1/2")
    assert found.asked == ("q0.1_pay", "q0.9_pay")
    assert found["q0.1_pay"].value == pytest.approx(7, abs=1.5)
    assert found["q0.9_pay"].value == pytest.approx(63, abs=1.5)
    assert table.quantile("pay", (0.5,), share="1/8").asked == ("median_pay",)
    assert table.quantile("pay", "0.9", share="1/8").value == pytest.approx(63, abs=2)
    grouped = table.group_by("town", keys=["Ulm"]).quantile("pay", [0.1, 0.9], share="1/8")
    assert grouped.asked == ("q0.1_pay", "q0.9_pay")
    with pytest.raises(InvalidRequest):
        table.quantile("pay", [], share="1/8")


def test_so_many_bins_divide_the_public_bounds() -> None:
    table = staff()
    found = table.histogram("age", bins=10, share="1/4")
    assert [str(key) for (key,) in found.keys][:2] == ["[0, 10)", "[10, 20)"]
    assert [str(key) for (key,) in found.keys][-1] == "[90, 100]"
    assert found.releases == table.histogram("age", edges=range(0, 101, 10), share="1/4").releases
    assert table.remaining == Fraction(3, 4)
    computed = table.histogram("age / 3", bins=2, share="1/4")
    ends = [(float(key.low), float(key.high)) for (key,) in computed.keys if isinstance(key, Bin)]
    assert np.array(ends) == pytest.approx(np.array([(0, 50 / 3), (50 / 3, 100 / 3)]))
    by_town = table.group_by("town", keys=["Ulm"]).histogram("pay", bins=4, share="1/4")
    assert len(by_town) == 4


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({}, "needs bins: write edges="),
        ({"bins": 3, "edges": [0, 1]}, "needs bins: write edges="),
        ({"bins": 0}, "is not a number of bins"),
        ({"bins": True}, "is not a number of bins"),
        ({"bins": 2.5}, "is not a number of bins"),
        ({"bins": 10**12}, "edges="),
        ({"column": "size", "bins": 3}, r"histogram\('size'\) needs the column's public bounds"),
    ],
)
def test_bins_that_do_not_follow_are_asked_for(stated: dict[str, Any], says: str) -> None:
    table = prdp.open({"age": np.arange(9), "size": np.arange(9)}, policy=1, bounds={"age": (0, 9)})
    with pytest.raises(InvalidRequest, match=says):
        table.histogram(**{"column": "age"} | stated, share="1/4")
    assert table.remaining == 1


def test_value_counts_finds_values_and_counts_them_for_one_share() -> None:
    table = staff()
    found = table.value_counts("job", share="1/2", pattern="[a-z]{3,6}")
    assert {key for (key,) in found.keys} >= {"chef", "clerk", "judge"}
    assert found["judge"].value == pytest.approx(N / 3, rel=0.1)
    assert table.remaining == Fraction(1, 2)
    assert table.value_counts("job", share="1/2", pattern="[a-z]{3,6}").releases == found.releases
    assert table.remaining == Fraction(1, 2)


def test_value_counts_of_public_values_uses_the_whole_share_to_count() -> None:
    table = staff()
    listed = table.value_counts("job", keys=["chef", "clerk"], share="1/4")
    assert [one.share for (one,) in listed.releases] == [Fraction(1, 4)] * 2
    with pytest.raises(InvalidRequest, match="keys= lists them"):
        table.value_counts("job", keys=["chef"], pattern="[a-z]*", share="1/4")


@pytest.mark.filterwarnings("ignore::prdp.errors.KeysOutOfReach")
def test_value_counts_of_nothing_found_is_an_empty_table() -> None:
    few = prdp.open({"job": np.array(["chef"])}, policy="0.01")
    found = few.value_counts("job", share="1/4", pattern="[a-z]{4}")
    assert len(found) == 0
    assert found.asked == ("count",)
    assert str(found)


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("hired >= '2024-06-01'", "hired >= DATE '2024-06-01'"),
        ("'2024-06-01' > hired", "DATE '2024-06-01' > hired"),
        (
            "hired BETWEEN '2024-02-01' AND '2024-02-29'",
            "hired BETWEEN DATE '2024-02-01' AND DATE '2024-02-29'",
        ),
        ("hired IN ('2024-01-03', '2024-01-04')", "hired IN (DATE '2024-01-03', DATE '2024-01-04')"),
        ("hired < '2024-06-01 12:00:00'", "hired < TIMESTAMP '2024-06-01 12:00:00'"),
        ("hired NOT IN ('2024-01-03')", "hired NOT IN (DATE '2024-01-03')"),
    ],
)
def test_a_date_is_compared_with_a_text_as_in_sql(text: str, dated: str) -> None:
    table = staff()
    with_text, with_date = table.filter(text).condition, table.filter(dated).condition
    assert with_text is not None
    assert with_date is not None
    assert canonical(with_text) == canonical(with_date)
    answer = table.filter(text).count(share="1/8")
    assert table.filter(dated).count(share="1/8") == answer
    assert table.remaining == Fraction(7, 8)


@pytest.mark.parametrize(
    "text", ["hired > 'soon'", "hired > '2024-02-30'", "hired = '01.02.2024'", "hired > 5"]
)
def test_a_text_that_says_no_date_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="cannot be compared"):
        staff().filter(text)
