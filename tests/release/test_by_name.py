"""Answers are found by their names, and have the types that frames expect."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Caveat
from prdp.release.release import Release

N = 3000
PEOPLE = {
    "job": np.array(["chef", "clerk", "n"] * (N // 3)),
    "age": np.arange(N) % 5 + 30,
    "pay": np.arange(N) % 70 + 0.5,
}


def people() -> prdp.Table:
    return prdp.open(PEOPLE, policy=20, bounds={"pay": (0, 100), "age": (0, 120)}, name="people")


def by_job() -> prdp.ReleaseTable:
    groups = people().group_by("job", keys=["chef", "clerk"])
    return groups.agg(n=prdp.count(), pay=prdp.mean("pay"), share="1/2")


def test_an_answer_is_found_by_its_key_and_its_name() -> None:
    table = by_job()
    n, pay = table["chef"]
    assert table["chef", "n"] == n
    assert table["chef", "pay"] == pay
    assert table["n"]["chef"] == n
    assert table["pay"]["clerk"] == table["clerk", "pay"]
    assert table["pay"].to_pandas().columns.tolist() == ["job", "pay", "pay_low", "pay_high", "pay_flag"]
    for key in (("chef", "m"), ("cook", "n"), "m", ("chef", "job"), ("chef", "n", "pay")):
        with pytest.raises(KeyError, match="is not a key of this table"):
            table[key]


def test_without_groups_the_name_is_enough() -> None:
    both = people().agg(n=prdp.count(), pay=prdp.mean("pay"), share="1/2")
    assert both["n"].question == "count"
    assert both["pay"].question == "mean of pay"
    with pytest.raises(KeyError, match="which has: n, pay"):
        both["m"]


def test_a_key_that_reads_like_a_column_is_the_key() -> None:
    counts = people().group_by("job", keys=["chef", "n"]).agg(n=prdp.count(), share="1/2")
    assert counts["n"].question == "count for job = n"
    assert counts["chef", "n"].question == "count for job = chef"


def test_by_several_columns_all_keys_come_first() -> None:
    groups = people().group_by("job", "age", keys=[("chef", 30), ("clerk", 31)])
    table = groups.agg(n=prdp.count(), pay=prdp.sum("pay"), share="1/2")
    assert table["clerk", 31, "pay"] == table["clerk", 31][1]
    assert table["clerk", "31", "pay"] == table["clerk", 31][1]


def test_a_statement_s_cells_are_found_likewise() -> None:
    text = "SELECT job, COUNT(*) AS n, AVG(pay) AS pay FROM people GROUP BY job"
    answers = people().sql(text, share="1/2", keys={"job": ["chef", "clerk"]})
    places = {row[0]: row for row in answers.rows}
    assert answers["clerk", "pay"] is places["clerk"][2]
    assert answers["chef", "n"] is places["chef"][1]
    with pytest.raises(KeyError, match="is the key of no row"):
        answers["cook", "n"]
    with pytest.raises(KeyError, match="is not a column"):
        answers["chef", "m"]


def test_counts_and_keys_are_integers_in_every_frame() -> None:
    groups = people().group_by("age", keys=[30, 31], other=True)
    table = groups.agg(n=prdp.count(), pay=prdp.mean("pay"), share="1/2")
    pandas, polars, arrow = table.to_pandas(), table.to_polars(), table.to_arrow()
    assert [str(pandas[name].dtype) for name in ("age", "n", "pay")] == ["Int64", "int64", "float64"]
    assert [str(polars[name].dtype) for name in ("age", "n", "pay")] == ["Int64", "Int64", "Float64"]
    assert [str(arrow.schema.field(name).type) for name in ("age", "n", "pay")] == [
        "int64",
        "int64",
        "double",
    ]
    for row, key in zip(table.to_dict()["rows"], (30, 31, None), strict=True):
        assert row["age"] == key
        assert type(row["n"]) is int
    alone = people().group_by("age", keys=[30, 31]).count(share="1/2").to_pandas()
    assert [str(alone[name].dtype) for name in ("age", "count")] == ["int64", "int64"]


def test_what_no_64_bits_hold_is_a_float() -> None:
    huge = Release("count", 2**70, Fraction(1), (Fraction(1),), Fraction(1), "clip", whole=True)
    table = prdp.ReleaseTable("count", Fraction(1), ("k",), ("count",), (("a",),), ((huge,),))
    assert table.to_pandas()["count"].tolist() == [2.0**70]


@pytest.mark.parametrize("scale", [3, 100])
def test_the_standard_error_is_that_of_the_interval(scale: int) -> None:
    noisy = Release("count", 5000, Fraction(1), (Fraction(scale),), Fraction(1), "naive")
    assert (noisy.low, noisy.high) == noisy.interval(0.95)
    assert noisy.std_error == (noisy.high - noisy.low) / 2 / 1.96
    assert noisy.cv == pytest.approx(noisy.std_error / 5000)
    assert noisy.std_error == pytest.approx(scale * math.sqrt(2), rel=0.1)  # that of Laplace noise


def test_there_is_none_where_an_end_is_missing() -> None:
    blind = Clipping(Fraction(5), Fraction(500), Fraction(1, 2), Fraction(2), stride=2, blind=True)
    caveat: Any = Caveat("clipped records", "toward zero")
    poor = Release("sum", 9, Fraction(1), (Fraction(3),), Fraction(1), "clip", caveat, clipping=blind)
    assert math.isinf(poor.high)
    assert poor.std_error is None
    assert poor.cv is None
    nothing = Release("count", 0, Fraction(1), (Fraction(3),), Fraction(1), "naive")
    assert nothing.std_error is not None
    assert nothing.cv is None


def test_what_is_moved_or_computed_has_them_too() -> None:
    noisy = Release("count", 5000, Fraction(1), (Fraction(10),), Fraction(1), "naive")
    assert noisy.std_error is not None
    assert (noisy / -10).std_error == pytest.approx(noisy.std_error / 10)
    assert (noisy / -10).low == -noisy.high / 10
    ratio = people().sql("SELECT SUM(pay) / COUNT(*) AS r FROM people", share="1/2").rows[0][0]
    assert ratio.low < ratio.value < ratio.high  # type: ignore[union-attr, operator]
    assert 0 < ratio.std_error < ratio.high - ratio.low  # type: ignore[union-attr, operator]
