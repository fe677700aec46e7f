"""Groups are public: keys of the column's own kind, each once; everything else is refused with a reason."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from prdp.declare.groups import Bin, bins, date_trunc, read_grouping
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind

SCHEMA = {
    "job": ColumnType(Kind.TEXT, native="VARCHAR"),
    "age": ColumnType(Kind.NUMBER, integer=True, native="INTEGER"),
    "rate": ColumnType(Kind.NUMBER, native="DOUBLE"),
    "vip": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
    "opened": ColumnType(Kind.MOMENT, native="DATE"),
    "tags": ColumnType(Kind.OTHER, native="VARCHAR[]"),
}


@pytest.mark.parametrize(
    ("by", "keys", "read"),
    [
        ("job", ["clerk", ""], (("clerk",), ("",))),
        ("JOB", ("clerk",), (("clerk",),)),
        ("age", [np.int64(3), 4, 5.0, Decimal(6)], ((3,), (4,), (5,), (6,))),
        ("age", np.array([1, 2]), ((1,), (2,))),
        ("age", range(2), ((0,), (1,))),
        ("rate", [0.5, 1, Fraction(1, 4)], ((0.5,), (1.0,), (0.25,))),
        ("vip", [True, False], ((True,), (False,))),
        ("opened", [date(2025, 1, 1), "2025-02-01"], ((datetime(2025, 1, 1),), (datetime(2025, 2, 1),))),
        ("opened", [pandas.Timestamp("2025-01-01")], ((datetime(2025, 1, 1),),)),
        ("job", pandas.DataFrame({"job": ["a", "b"], "other": [1, 2]}), (("a",), ("b",))),
        ("job", polars.DataFrame({"job": ["a", "b"]}), (("a",), ("b",))),
        ("job", pyarrow.table({"job": ["a", "b"]}), (("a",), ("b",))),
        ("job", pandas.Series(["a", "b"]), (("a",), ("b",))),
        ("job", {"JOB": ["a", "b"]}, (("a",), ("b",))),
        ("job", pyarrow.array(["a", "b"]), (("a",), ("b",))),
    ],
)
def test_keys_are_read_from_lists_and_public_tables(by: str, keys: object, read: Any) -> None:
    assert read_grouping([by], keys, SCHEMA).keys == read


def test_several_columns_take_tuples_and_cross_with_bins() -> None:
    grouping = read_grouping(["job", bins("age", [0, 18, 99]), "vip"], [("a", True), ("b", False)], SCHEMA)
    young, old = Bin(Fraction(0), Fraction(18)), Bin(Fraction(18), Fraction(99), last=True)
    assert grouping.keys == (("a", young, True), ("a", old, True), ("b", young, False), ("b", old, False))


def test_bins_contain_their_lower_ends_and_the_last_one_both() -> None:
    assert [str(found) for found in bins("rate", [0, "0.5", 1]).bins] == ["[0, 0.5)", "[0.5, 1]"]


@pytest.mark.parametrize(
    ("part", "first"),
    [
        ("year", "2024-01-01"),
        ("quarter", "2024-04-01"),
        ("month", "2024-05-01"),
        ("week", "2024-05-13"),
        ("day", "2024-05-17"),
        ("hour", "2024-05-17 10:00"),
    ],
)
def test_a_moment_inside_a_period_is_refused_with_its_first_moment(part: str, first: str) -> None:
    key = date_trunc(part, "opened")
    assert read_grouping([key], [first], SCHEMA).keys == ((datetime.fromisoformat(first),),)
    with pytest.raises(InvalidRequest, match=f"write '{first}"):
        read_grouping([key], ["2024-05-17 10:20"], SCHEMA)


@pytest.mark.parametrize(
    ("by", "keys", "says"),
    [
        ([], None, "group_by needs a column"),
        (["job"], None, "needs its public keys"),
        (["jbo"], ["a"], "Did you mean 'job'"),
        (["tags"], ["a"], "cannot distinguish values of"),
        ([7], ["a"], "is not a column"),
        (["job", "job"], [("a", "b")], "twice"),
        (["job"], "clerk", "not a list of keys"),
        (["job"], [], "0 groups"),
        (["job"], ["a", "a"], "'a' twice"),
        (["age"], [1, 1.0], "1 twice"),
        (["job"], [None], "coalesce\\(job, 'unknown'\\).* filter\\('job IS NULL'\\)"),
        (["rate"], [float("nan")], "records without a value form no group"),
        (["job"], [1], "lists 1, but 'job' holds text"),
        (["job"], ["a\0"], "holds text"),
        (["age"], ["1"], "lists '1', but 'age' holds number"),
        (["age"], [1.5], "lists 1.5"),
        (["age"], [True], "lists True"),
        (["age"], [2**63], "holds number"),
        (["rate"], [float("inf")], "lists inf"),
        (["vip"], [1], "lists 1"),
        (["opened"], ["soon"], "lists 'soon'"),
        (["job", "age"], ["a"], "has 1 of 2 values"),
        (["job"], {"jobs": ["a"]}, "without one column 'job'"),
        (["job", "age"], {"job": ["a"], "age": []}, "0 groups were listed"),
        ([date_trunc("month", "job")], ["a"], "needs dates or times"),
        ([bins("job", [0, 1])], None, "need numbers"),
        ([bins("age", [0, 1])], [0], "their own keys"),
    ],
)
def test_groups_that_are_wrong_by_public_facts_are_refused(by: list[Any], keys: object, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        read_grouping(by, keys, SCHEMA)


@pytest.mark.parametrize("edges", [[], [1], [1, 1], [2, 1], [0, float("nan")], [0, float("inf")], ["a", "b"]])
def test_edges_that_do_not_ascend_are_refused(edges: list[Any]) -> None:
    with pytest.raises(InvalidRequest, match="edges"):
        bins("age", edges)


def test_a_calendar_knows_its_parts() -> None:
    with pytest.raises(InvalidRequest, match="year, quarter, month, week, day, hour, not to 'fortnight'"):
        date_trunc("fortnight", "opened")


def test_few_keys_are_listed_in_a_question_and_many_are_digested() -> None:
    few = read_grouping(["age"], range(3), SCHEMA).facts
    many = read_grouping(["age"], range(1000), SCHEMA).facts
    other = read_grouping(["age"], range(1, 1001), SCHEMA).facts
    assert few["keys"] == [[0], [1], [2]]
    assert many["keys"].startswith("1000 keys, sha256 ")
    assert many["keys"] != other["keys"]
