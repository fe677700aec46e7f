"""Columns and conditions written as in pandas mean the same as their SQL, and other names get a hint."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import prdp
from prdp.errors import InvalidRequest
from prdp.expressions.evaluate import evaluate
from prdp.expressions.nodes import canonical
from prdp.expressions.parse import parse
from prdp.release.table import ReleaseTable
from prdp.tables.column import TableColumn

N = 1200
FARMS = pl.DataFrame(
    {
        "scheme": ["area", "animal", "O'Neill"] * (N // 3),
        "net worth": np.arange(N) % 70 + 0.5,
        "herd": [None, 4, 7, 11] * (N // 4),
        "organic": [True, False] * (N // 2),
        "paid": [date(2023 + place % 2, 1 + place % 12, 5) for place in range(N)],
    }
)

Farms = prdp.Table
Made = Callable[[Farms], Any]


def farms() -> Farms:
    bounds = {"net worth": (0, 100), "herd": (0, 20)}
    return prdp.open(FARMS, policy=20, bounds=bounds, name="farms")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (lambda t: t["herd"] >= 7, "herd >= 7"),
        (lambda t: t["HERD"] != np.int64(7), "herd <> 7"),
        (lambda t: t["net worth"] < Decimal("1.5"), '"net worth" < 1.5'),
        (lambda t: 3 - t["herd"] > -1, "3 - herd > -1"),
        (lambda t: -t["herd"] * 2 + 1 <= 0.5, "-herd * 2 + 1 <= 0.5"),
        (lambda t: 100 / (t["herd"] + 1) % 3 == 1, "(100 / (herd + 1)) % 3 = 1"),
        (lambda t: abs(t["herd"] - 7) == 3, "abs(herd - 7) = 3"),
        (lambda t: t["organic"] & (t["herd"] > 4), "organic AND herd > 4"),
        (lambda t: ~(t["organic"] | t["herd"].isna()), "NOT (organic OR herd IS NULL)"),
        (lambda t: t["herd"].notna() & t["herd"].between(4, 7), "herd IS NOT NULL AND herd BETWEEN 4 AND 7"),
        (lambda t: t["herd"].fillna(0) > 4, "coalesce(herd, 0) > 4"),
        (lambda t: t["scheme"].fill_null("none") == "none", "coalesce(scheme, 'none') = 'none'"),
        (lambda t: t["scheme"].isin(["area", "O'Neill"]), "scheme IN ('area', 'O''Neill')"),
        (lambda t: t["organic"] == np.bool_(True), "organic = TRUE"),
        (lambda t: t["herd"].clip(0, 10) > 4, "least(greatest(herd, 0), 10) > 4"),
        (lambda t: t["herd"].clip(upper=t["net worth"]) > 4, 'least(herd, "net worth") > 4'),
        (lambda t: np.log(t["herd"] + 1) > 1, "ln(herd + 1) > 1"),
        (lambda t: np.log1p(np.maximum(t["herd"], 0)) > 1, "ln(1 + greatest(herd, 0)) > 1"),
        (lambda t: np.float64(2) * t["herd"] > np.int64(3), "2 * herd > 3"),
        (lambda t: np.int64(3) < t["herd"] - np.float64(1), "herd - 1 > 3"),
        (lambda t: np.logical_and(t["organic"], np.abs(-t["herd"]) > 4), "organic AND abs(-herd) > 4"),
        (lambda t: t["paid"] >= date(2024, 1, 1), "paid >= DATE '2024-01-01'"),
        (lambda t: t["paid"] < "2024-01-01", "paid < '2024-01-01'"),
        (lambda t: t["paid"].dt.weekday == 0, "isodow(paid) - 1 = 0"),
        (lambda t: t["paid"] > datetime(2024, 3, 5, 10), "paid > TIMESTAMP '2024-03-05 10:00:00'"),
        (lambda t: t["paid"].dt.year == 2024, "year(paid) = 2024"),
        (lambda t: (t["paid"] - date(2024, 1, 1)).dt.days > 30, "floor(paid - DATE '2024-01-01') > 30"),
        (lambda t: (t.herd >= 7) & ~t.organic, "herd >= 7 AND NOT organic"),
        (lambda t: t["scheme"].str.startswith("ar"), "starts_with(scheme, 'ar')"),
        (lambda t: t["scheme"].str.len() > t["herd"], "length(scheme) > herd"),
    ],
)
def test_a_condition_on_columns_is_that_of_its_sql(written: Made, meant: str) -> None:
    table = farms()
    condition: TableColumn[Any] = written(table)
    by_column, by_text = table[condition].condition, table.filter(meant).condition
    assert by_column is not None
    assert by_text is not None
    assert canonical(by_column) == canonical(by_text)
    assert table.filter(condition).condition == by_column


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        (lambda t: t["herd"].mean(share="1/8"), lambda t: t.mean("herd", share="1/8")),
        (lambda t: t["net worth"].sum(share="1/8"), lambda t: t.sum("net worth", share="1/8")),
        (lambda t: t["organic"].mean(share="1/8"), lambda t: t.mean("organic", share="1/8")),
        (lambda t: t["herd"].isna().sum(share="1/8"), lambda t: t.sum("herd IS NULL", share="1/8")),
        (lambda t: t["herd"].count(share="1/8"), lambda t: t.filter("herd IS NOT NULL").count(share="1/8")),
        (lambda t: (t["herd"] * 2).max(share="1/8"), lambda t: t.max("herd * 2", share="1/8")),
        (lambda t: t["herd"].min(share="1/8"), lambda t: t.min("herd", share="1/8")),
        (lambda t: t["herd"].std(share="1/8"), lambda t: t.std("herd", share="1/8")),
        (lambda t: t["herd"].variance(share="1/8"), lambda t: t.variance("herd", share="1/8")),
        (lambda t: t["herd"].median(share="1/8"), lambda t: t.median("herd", share="1/8")),
        (
            lambda t: t["herd"].quantile([0.1, 0.9], share="1/8"),
            lambda t: t.quantile("herd", [0.1, 0.9], share="1/8"),
        ),
        (
            lambda t: t["scheme"].count_distinct(share="1/8"),
            lambda t: t.count_distinct("scheme", share="1/8"),
        ),
        (
            lambda t: t["herd"].histogram(bins=4, share="1/8"),
            lambda t: t.histogram("herd", bins=4, share="1/8"),
        ),
        (
            lambda t: t["scheme"].value_counts(keys=["area"], share="1/8"),
            lambda t: t.value_counts("scheme", keys=["area"], share="1/8"),
        ),
        (lambda t: t.mean(t["herd"], share="1/8"), lambda t: t.mean("herd", share="1/8")),
        (
            lambda t: t.histogram(t["herd"], edges=[0, 5, 10], share="1/8"),
            lambda t: t.histogram("herd", edges=[0, 5, 10], share="1/8"),
        ),
        (
            lambda t: t.agg(prdp.count(t["herd"]), prdp.max(t["net worth"]), share="1/8"),
            lambda t: t.agg(prdp.count("herd"), prdp.max("net worth"), share="1/8"),
        ),
        (
            lambda t: t.group_by(prdp.date_trunc("year", t["paid"]), keys=["2024-01-01"]).count(share="1/8"),
            lambda t: t.group_by(prdp.date_trunc("year", "paid"), keys=["2024-01-01"]).count(share="1/8"),
        ),
        (
            lambda t: t.filter(t["organic"], t["herd"] > 4, scheme="O'Neill").count(share="1/8"),
            lambda t: t.filter("organic AND herd > 4 AND scheme = 'O''Neill'").count(share="1/8"),
        ),
        (
            lambda t: t.group_by("scheme", keys=["area"]).filter("organic", "herd > 4").count(share="1/8"),
            lambda t: t.filter("organic AND herd > 4").group_by("scheme", keys=["area"]).count(share="1/8"),
        ),
        (
            lambda t: t[["herd", "net worth"]].mean(share="1/8"),
            lambda t: t.agg(prdp.mean("herd"), prdp.mean("net worth"), share="1/8"),
        ),
        (
            lambda t: t.groupby("organic")[["herd", "NET worth"]].agg(["sum", "max"], share="1/8"),
            lambda t: t.group_by("organic").agg(
                prdp.sum("herd"), prdp.max("herd"), prdp.sum("net worth"), prdp.max("net worth"), share="1/8"
            ),
        ),
        (
            lambda t: t.group_by(t["paid"].dt.year, keys=[2024])["herd"].sum(share="1/8"),
            lambda t: t.group_by("year(paid)", keys=[2024]).sum("herd", share="1/8"),
        ),
    ],
)
def test_a_query_of_a_column_is_that_of_the_table(asked: Made, same: Made) -> None:
    table = farms()
    answer, again = asked(table), same(table)
    assert again.recorded_at, "the same question, asked again, costs nothing"
    assert answer == again


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (lambda t: t["wealth"], "the table has scheme, net worth"),
        (lambda t: t[:5], "No single record is shown"),
        (lambda t: t[["herd", "wealth"]], "the table has scheme, net worth"),
        (lambda t: t[[]], "neither a column's name nor a condition"),
        (lambda t: t["herd"] * np.array([1, 2]), "Write a number"),
        (lambda t: t[3], "neither a column's name nor a condition"),
        (lambda t: t[(t["herd"] > 1) and (t["herd"] < 3)], "Join conditions by & and |"),
        (lambda t: t["herd"] == None, r"isna\(\) for a missing value"),  # noqa: E711
        (lambda t: t["scheme"].isin("area"), r"write isin\(\['chef', 'clerk'\]\)"),
        (lambda t: t[t["herd"]], "a true or false is needed"),
    ],
)
def test_what_is_no_condition_is_refused_with_what_to_write(written: Made, says: str) -> None:
    with pytest.raises((InvalidRequest, prdp.errors.ExpressionError), match=says):
        written(farms())


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (lambda t: t.where, "Write filter"),
        (lambda t: t.pivot_table, "Write group_by"),
        (lambda t: t.avg, "Write mean"),
        (lambda t: t.size, "Write count"),
        (lambda t: t.head, "no single record is shown"),
        (lambda t: t.info, "Write schema"),
        (lambda t: t["herd"].avg, r"Write mean\(share"),
        (lambda t: t["paid"].dt.era, "but year, quarter"),
        (lambda t: t[["herd", "net worth"]].corr, "but sum, mean, std"),
        (lambda t: (t["paid"] - t["paid"]).dt.total_seconds, r"date_diff\('second', opened, closed\)"),
        (lambda t: t.count(share="1/8").ci, "Write interval"),
        (lambda t: t.count(share="1/8").lower, "Write low"),
        (lambda t: t.group_by("scheme", keys=["area"]).count(share="1/8").nlargest, "Write top"),
        (lambda t: t.merge, r"tables=\{'towns': frame\}.* or prdp.open_join"),
        (lambda t: t.explain_mean, r"Write explain\(prdp.mean\('age'\), share="),
        (lambda t: t["herd"].explain_mean, r"Write table.explain\(prdp.mean\('age'\), share="),
        (lambda t: t["scheme"].top_k, r"Write table.top_keys\('job', 3, share="),
        (lambda t: t.spent, "Write ledger.to_pandas"),
        (lambda t: t.plot, r"Write histogram\('age', bins=10, share=...\).plot"),
        (lambda t: t["paid"].dt.date, "write prdp.date_trunc"),
        (lambda t: t.group_by("scheme", keys=["area"]).count(share="1/8").sort_values, "Write sort"),
    ],
)
def test_a_name_of_another_library_is_answered_with_the_right_one(written: Made, says: str) -> None:
    with pytest.raises(AttributeError, match=says):
        written(farms())


def test_days_of_the_week_are_those_of_pandas() -> None:
    days = [date(2024, 2, 26) + timedelta(days=place) for place in range(9)]
    table = prdp.open(pl.DataFrame({"day": days}), policy=1)
    for written in (table["day"].dt.dayofweek, table["day"].dt.weekday):
        found = [evaluate(parse(str(written)), {"day": day}) for day in days]
        assert found == [day.weekday() for day in days], "0 is Monday, and a Monday is first"


@pytest.mark.parametrize("conditions", [(), (3,), ("herd > 4", 3), (farms, "herd > 4")])
def test_a_filter_takes_conditions_alone(conditions: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidRequest, match="filter takes a condition"):
        farms().filter(*conditions)


def test_each_condition_of_several_holds_as_a_whole() -> None:
    both = farms().filter("organic OR herd > 4", "herd = 7").condition
    assert both is not None
    assert canonical(both) == canonical(parse("(organic OR herd > 4) AND herd = 7"))


def test_a_name_of_pandas_for_the_same_thing_works_and_is_not_listed() -> None:
    table: Any = farms()
    found = table["scheme"].count_distinct(share="1/8")
    assert table["scheme"].nunique(share="1/8") == table.n_unique("scheme", share="1/8") == found
    assert table["herd"].var(share="1/8") == table.variance("herd", share="1/8")
    assert table.herd.hist(bins=4, share="1/8") == table.histogram("herd", bins=4, share="1/8")
    assert table.dtypes == table.schema
    counted = table.group_by("scheme", keys=["area"]).count(share="1/8")
    assert table.groupby("scheme", keys=["area"]).count(share="1/8").releases == counted.releases
    groups = table.group_by("scheme", keys=["area"])
    assert groups.size(share="1/8").releases == groups.len(share="1/8").releases == counted.releases
    assert table.query("herd > 4 and organic").condition == table.filter("herd > 4 AND organic").condition
    assert not {"size", "len", "query"} & {*dir(groups), *dir(table)}
    assert not {"groupby", "nunique", "n_unique", "var", "synonyms"} & {*dir(table), *dir(table["scheme"])}


def test_a_column_that_is_called_like_a_method_is_not_taken_for_it() -> None:
    table: Any = prdp.open({"count": np.arange(9), "query": np.arange(9), "size": np.arange(9)}, policy=1)
    assert table.count(share="1/8").question == "count"
    assert table.query("size > 3").condition == table.filter(table.size > 3).condition
    assert str(table["query"]) == "query"
    copied = copy.copy(table)
    assert str(copied.size) == "size"
    with pytest.raises(AttributeError, match="no attribute 'wealth'"):
        _ = table.wealth


@pytest.mark.parametrize("taken", [np.asarray, lambda column: np.histogram(column, [0, 5, 10])])
def test_a_column_is_no_array_and_names_the_query_for_intervals(taken: Any) -> None:
    with pytest.raises(TypeError, match=r"write group_by\(prdp.bins\('herd', "):
        taken(farms()["herd"])


def test_numbers_of_numpy_count_as_numbers_beside_a_column() -> None:
    herd: Any = farms()["herd"]
    assert str(np.float64(3) * herd) == str(3.0 * herd)
    assert str(np.int64(3) < herd) == str(herd > 3)


def test_every_hint_is_for_a_name_that_is_not_there() -> None:
    table = farms()
    count = table.count(share="1/8")
    for held in (table, table.group_by("scheme", keys=["area"]), table["herd"], count):
        hinted = {
            name
            for base in type(held).__mro__
            for known in ("hints", "synonyms")
            for name in vars(base).get(known, {})
        }
        assert not hinted & set(object.__dir__(held))
        assert not hinted & set(dir(held))
        assert "hints" not in dir(held)
        assert not hasattr(held, "no_such_name")


def test_the_length_of_a_table_is_asked_by_a_query() -> None:
    with pytest.raises(TypeError, match=r"Write count\(share="):
        len(farms())
    assert farms()


def test_a_column_describes_itself_as_its_table_does() -> None:
    table = farms()
    assert table["herd"].describe(share="1/2").asked == table.describe("herd", share="1/2").asked
    assert table.remaining == Fraction(1, 2)


def test_an_argument_of_pandas_alone_is_answered_with_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"no dropna=\. NULL forms no group"):
        farms()["scheme"].value_counts(dropna=False, share="1/2")
    with pytest.raises(TypeError, match=r"no dropna=\. NULL forms no group"):
        farms()["scheme"].value_counts(keys=["area"], dropna=False, share="1/2")
    with pytest.raises(TypeError, match=r"no ascending=\. Sort the answers"):
        farms()["scheme"].value_counts(ascending=True, share="1/2")
    with pytest.raises(TypeError, match=r"no no_such=\.$"):
        farms()["scheme"].value_counts(no_such=1, share="1/2")


def test_a_condition_is_never_moved_into_bounds() -> None:
    table = farms()
    for part in (table["herd"].isna(), table["herd"] > 7, table["organic"]):
        assert "count as the bound" not in str(part.mean(share="1/20"))
    assert "values outside 0 to 20 count as the bound" in str(table["herd"].mean(share="1/20"))


def test_groups_whose_keys_are_found_are_sorted_by_them() -> None:
    counts = farms().group_by("herd").count(share="1/2")
    assert list(counts.keys) == sorted(counts.keys)


def test_a_table_has_no_rows_to_walk_through() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(farms())  # type: ignore[call-overload]
    assert isinstance(copy.copy(farms())["herd"], TableColumn)


def test_a_column_is_described_from_one_charge() -> None:
    table = farms()
    found = table.describe("net worth", share="1/2")
    assert isinstance(found, ReleaseTable)
    assert found.asked == ("count", "mean", "std", "min", "q0.25", "median", "q0.75", "max")
    assert table.remaining == prdp.Policy.constant("1/2").at_most
    assert found["count"].value == pytest.approx(N, abs=60)
    assert found["mean"].value == pytest.approx(35.1, abs=6)
    assert found["q0.25"].value < found["median"].value < found["q0.75"].value
    grouped = table.group_by("organic", keys=[True]).describe("net worth", share="1/4")
    assert grouped.asked == found.asked
    assert grouped[True, "count"].value == pytest.approx(N / 2, abs=100)


def test_whole_numbers_of_expressions_are_keys_without_decimals() -> None:
    table = farms()
    found = table.group_by("year(paid)", keys=[2023, 2024]).count(share="1/2")
    assert "2023 " in str(found)
    assert "2023.0" not in str(found)
    assert found[2023].value == pytest.approx(N / 2, abs=40)


@pytest.mark.parametrize(
    ("name", "right"),
    [("read_csv", "prdp.open"), ("avg", "prdp.mean"), ("col", "table"), ("merge", "open_join")],
)
def test_a_name_of_another_library_in_the_module_is_answered_too(name: str, right: str) -> None:
    with pytest.raises(AttributeError, match=f"Write .*{right}"):
        getattr(prdp, name)
    assert not hasattr(prdp, "no_such_name")
    assert len(prdp.__all__) <= 40


def test_a_function_of_numpy_that_no_expression_has_is_refused_with_those_there_are() -> None:
    for wrong in (np.sin, np.add.reduce):
        with pytest.raises(TypeError, match=r"is not available. Of NumPy's functions, these are: sqrt, exp"):
            wrong(farms()["herd"])
