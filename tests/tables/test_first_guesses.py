"""What people write first works: lists of columns and quantiles, numbers of bins, dates as texts."""

from __future__ import annotations

import re
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
    for listed in (
        table.histogram("age", bins=[0, 18, 65, 100], share="1/4"),
        table["age"].histogram(bins=(0, 18, 65, 100), share="1/4"),
    ):
        assert [str(key) for (key,) in listed.keys] == ["[0, 18)", "[18, 65)", "[65, 100]"]


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({}, "needs bins: write edges="),
        ({"bins": 3, "edges": [0, 1]}, "needs bins: write edges="),
        ({"bins": 0}, "is not a number of bins"),
        ({"bins": True}, "is not a number of bins"),
        ({"bins": "10"}, "is not a number of bins"),
        ({"bins": [0, 5], "edges": [0, 1]}, "needs bins: write edges="),
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


@pytest.mark.parametrize("keys", [None, ["chef", "clerk", "judge"]])
def test_normalized_value_counts_are_each_value_s_part_of_all_counted(keys: list[str] | None) -> None:
    jobs = ["chef"] * 600 + ["clerk"] * 300 + ["judge"] * 100 + [None] * 500
    ages = [70] * 200 + [30] * 800 + [70] * 500
    table = prdp.open(pl.DataFrame({"job": jobs, "the age": ages}), policy=10**6)
    for found in (
        table.value_counts("job", keys=keys, normalize=True, share="1/8"),
        table["job"].value_counts(keys=keys, normalize=True, share="1/8"),
    ):
        assert [key for key, _ in found.values] == ["chef", "clerk", "judge"]
        assert [part for _, part in found.values] == pytest.approx([0.6, 0.3, 0.1], abs=1e-3)
        assert table.remaining == Fraction(7, 8)
    old = table.filter('"the age" > 60').value_counts("job", keys=keys, normalize=True, share="1/8")
    assert old["chef", "proportion"].value == pytest.approx(1, abs=1e-3)
    assert table.remaining == Fraction(3, 4)


def test_normalized_value_counts_take_named_and_computed_columns() -> None:
    frame = pl.DataFrame({"the age": [30] * 750 + [70] * 250})
    table = prdp.open(frame, policy=10**6, bounds={"the age": (0, 120)})
    computed = table["the age"] > 60
    for found in (
        table.value_counts("the age", keys=[30, 70], normalize=True, share="1/8"),
        computed.value_counts(normalize=True, share="1/8"),
        computed.value_counts(keys=[False, True], normalize=True, share="1/8"),
    ):
        assert [part for _, part in found.values] == pytest.approx([0.75, 0.25], abs=1e-3)


def test_normalized_value_counts_refuse_what_they_cannot_take_before_a_charge() -> None:
    table = staff()
    with pytest.raises(InvalidRequest, match=r"with pattern=\. List the values"):
        table["job"].value_counts(normalize=True, pattern="[a-z]{3,6}", share="1/4")
    with pytest.raises(InvalidRequest, match="takes a column"):
        table.value_counts(prdp.bins("age", [0, 50, 100]), normalize=True, share="1/4")
    assert table.remaining == 1


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


def test_groups_without_keys_find_them_with_half_of_the_share() -> None:
    table = staff(policy=100)
    found = table.group_by("job").count(share="1/2")
    assert set(found.keys[:3]) == {("chef",), ("clerk",), ("judge",)}
    assert table.remaining == Fraction(1, 2)
    assert found["chef"].value == pytest.approx(N / 3, abs=5)
    assert found["chef"].share == Fraction(1, 4)
    assert any("half of the share found the keys of job" in note for note in found.notes)
    again = table.group_by("job").count(share="1/2")
    assert again.recorded_at
    assert table.remaining == Fraction(1, 2)
    listed = table.find_keys("job", share="1/4")
    counts = table.group_by("job", keys=listed).count(share="1/4")
    assert counts.sort("job").releases == found.releases
    table.group_by("job").mean("age", share="1/2")
    assert table.remaining == Fraction(1, 4), "the keys were found before"


def test_found_groups_answer_what_listed_ones_do() -> None:
    table = staff(policy=1000)
    groups = table.group_by(["job", "town"])
    assert "to be found" in repr(groups)
    counted = groups.agg(n=("age", "size"), total=("pay", "sum"), share="1/8")
    assert counted.asked == ("n", "total")
    assert len(counted) >= 6, "and now and then a key that nobody has"
    assert counted["chef", "Bonn", "n"].value == pytest.approx(N / 6, abs=5)
    assert groups.filter("age < 45")["pay"].median(share="1/8")["chef", "Ulm"].value == pytest.approx(
        35, abs=5
    )
    assert len(table.group_by("town").histogram("pay", bins=4, share="1/8")) >= 8
    assert table.group_by("town").quantile("pay", [0.1, 0.9], share="1/8").asked == ("q0.1_pay", "q0.9_pay")
    assert table.group_by("age").remaining == table.remaining
    assert len(table.group_by("age > 40").count(share="1/8")) == 2


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda t: t.group_by("hired").count(share="1/8"),
            r"Or list the keys: group_by\(..., keys=",
        ),
        (lambda t: t.group_by("job").count(share="1/1000000"), "no key was found with half of the share"),
        (lambda t: t.group_by("job").explain(prdp.count(), share="1/8"), "needs its public keys"),
        (lambda t: t.group_by("job").agg(prdp.count(), share="1/8", shares=["1/8"]), "needs its public keys"),
        (lambda t: t.agg({"age": "mode"}, share="1/8"), "agg does not know 'mode' of 'age'"),
    ],
)
@pytest.mark.filterwarnings("ignore::prdp.errors.KeysOutOfReach")
def test_what_no_key_can_be_found_for_says_to_list_them(ask: Any, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        ask(staff())


def test_queries_are_written_as_in_pandas_too() -> None:
    table = staff(policy=1000)
    found = table.agg({"age": ["mean", "max"], "pay": "sum"}, share="1/8")
    assert found.asked == ("mean_age", "max_age", "sum_pay")
    own = table.agg(prdp.mean("age"), prdp.max("age"), prdp.sum("pay"), share="1/8")
    assert own.recorded_at, "the same question"
    assert own.releases == found.releases
    named = table.agg(n=("age", "count"), middle=("age", "median"), kinds=("job", "nunique"), share="1/8")
    assert named["n"].value == pytest.approx(N, abs=2)
    assert named["middle"].value == pytest.approx(45, abs=3)
    assert named["kinds"].value == pytest.approx(3, abs=2)


def test_a_column_is_aggregated_as_in_pandas() -> None:
    table = staff(policy=1000)
    found = table["age"].agg(["mean", "max"], share="1/8")
    assert found.asked == ("mean_age", "max_age")
    assert found.releases == table.agg({"age": ["mean", "max"]}, share="1/8").releases
    towns = table.group_by("town", keys=["Bonn", "Ulm"])["age"].agg("mean", share="1/8")
    assert towns.asked == ("mean_age",)
    assert [mean.value for (mean,) in towns.releases] == pytest.approx([44, 45], abs=2)


def test_years_and_months_are_found_without_saying_which_there_may_be() -> None:
    table = staff(policy=100)
    years = table.group_by("year(hired)").count(share="1/4")
    assert {2024, 2025} <= {key for (key,) in years.keys}
    assert len(table.group_by("month(hired)").count(share="1/4")) == 12


@pytest.mark.parametrize(
    ("where", "years"),
    [
        ("hired BETWEEN '2023-05-01' AND '2025-02-01'", [2023, 2024, 2025]),
        ("hired >= '2024-01-01' AND hired < '2025-01-01'", [2024]),
        ("hired > '2024-01-01' AND hired <= '2025-01-01'", [2024, 2025]),
        ("hired = DATE '2024-06-01'", [2024]),
    ],
)
def test_years_follow_from_the_dates_that_where_allows(where: str, years: list[int]) -> None:
    text = f"SELECT year(hired) AS y, COUNT(*) AS n FROM staff WHERE {where} GROUP BY y"
    assert list(staff().sql(text, share="1/8")["y"]) == years


def test_years_of_an_open_range_are_found_by_a_part_of_the_share() -> None:
    table = staff(policy=100)
    text = "SELECT year(hired) AS y, COUNT(*) FROM staff WHERE hired >= '2024-01-01' GROUP BY y"
    answers = table.sql(text, share="1/2")
    assert answers["y"] == sorted(answers["y"])
    assert len(answers["y"]) > 0
    assert any("found the keys of year(hired)" in note for note in answers.notes)


def test_what_an_interval_excludes_of_a_condition_names_the_condition() -> None:
    table = staff(policy="30 / greatest(pay, 1)")
    answers = [table.mean("age > 40", share=share) for share in ("1/400", "1/100")]
    assert not any("CAST" in answer.excludes for answer in answers)


@pytest.mark.parametrize("name", ["staff", "self", '"table"', "staff AS s"])
def test_a_frame_without_a_name_answers_to_any(name: str) -> None:
    table = prdp.open(STAFF, policy=20)
    counted = table.sql(f"SELECT COUNT(*) AS n FROM {name}", share="1/8")
    assert counted.to_pandas()["n"].item() == pytest.approx(N, abs=30)


def test_any_name_is_not_taken_for_a_table_where_it_may_mean_another() -> None:
    unnamed: Any = prdp.open(STAFF, policy=20)
    jobs = {"jobs": pl.DataFrame({"job": ["chef"]})}
    for asked, options in (("jbos", {"tables": jobs}), ('"staff.csv"', {}), ("read_csv('staff.csv')", {})):
        with pytest.raises(InvalidRequest, match="there is no table"):
            unnamed.sql(f"SELECT COUNT(*) AS n FROM {asked}", share="1/8", **options)
    with pytest.raises(InvalidRequest, match="there is no table stuff"):
        staff().sql("SELECT COUNT(*) AS n FROM stuff", share="1/8")


def test_a_filter_for_records_without_a_budget_says_that_none_of_them_counts() -> None:
    table = staff(policy=prdp.Policy("30 / pay", at_most=20))
    missing = table.filter("pay IS NULL AND age > 40").count(share="1/8")
    assert missing.left_out == (
        "leaves out all records of the filter: the policy gives no budget to those without pay"
    )
    assert "all records" not in table.filter("pay IS NULL OR age > 40").count(share="1/8").left_out


def test_the_keys_of_truth_values_are_public_by_their_type() -> None:
    table = staff()
    found = table.group_by("age > 40").agg(n=prdp.count(), share="1/4")
    assert found.keys == ((False,), (True,))
    assert [n.share for (n,) in found.releases] == [Fraction(1, 4)] * 2, "nothing is spent to find them"
    assert table.remaining == Fraction(3, 4)
    assert (
        table.value_counts("age > 40", share="1/4").releases
        == table.group_by("age > 40").count(share="1/4").releases
    )
    both = table.group_by("age > 40", "pay > 3").explain(prdp.count(), share="1/8")
    assert "1/8 of every record's budget" in str(both)
    crossed = table.group_by("age > 40", prdp.bins("pay", [0, 40, 80])).count(share="1/8")
    assert len(crossed) == 4
    mixed = table.group_by("job", "age > 40")
    assert "to be found" in repr(mixed)
    listed = table.group_by(["town", "age > 40"], keys={"town": ["Bonn", "Ulm"]})
    assert listed.count(share="1/8").keys == tuple(
        (town, over) for town in ("Bonn", "Ulm") for over in (False, True)
    )
    with pytest.raises(InvalidRequest, match="without one column"):
        table.group_by(["town", "age > 40"], keys={"town": ["Bonn"], "age > 41": [True]})


def test_a_table_of_found_keys_states_the_share_of_both() -> None:
    table = staff(policy=100)
    counted = table.value_counts("job", share="1/4", pattern="[a-z]{3,6}")
    assert table.remaining == Fraction(3, 4)
    assert (counted.share, counted["chef"].share) == (Fraction(1, 4), Fraction(1, 8))
    assert any("half of the share found the keys of job" in note for note in counted.notes)
    found = table.group_by("town").count(share="1/4")
    assert table.remaining == Fraction(1, 2)
    assert (found.share, found["Ulm"].share) == (Fraction(1, 4), Fraction(1, 8))


@pytest.mark.parametrize(
    ("key", "listed", "kind"),
    [
        ("month(hired)", [1, 2], int),
        ("floor(pay / 10) * 10", [0, 10], int),
        ("pay / 4", [0.125, 0.25], float),
        ("pay", [1.0, 2.0], float),
    ],
)
def test_whole_keys_of_an_expression_are_integers_and_columns_keep_their_type(
    key: str, listed: list[Any], kind: type
) -> None:
    table = staff()
    counted = table.group_by(key, keys=listed).count(share="1/8")
    assert {type(value) for (value,) in counted.keys} == {kind}
    assert [value for (value,) in counted.keys] == listed
    assert counted.to_polars()[:, 0].dtype.is_integer() == (kind is int)
    again = table.group_by(key, keys=listed).count(share="1/8")
    assert again.recorded_at
    assert {type(value) for (value,) in again.keys} == {kind}
    assert table.group_by(key, keys=counted).count(share="1/8").recorded_at, (
        "found keys are the same question"
    )
    rest = table.group_by(key, keys=listed, other=True).count(share="1/8")
    assert {type(value) for (value,) in rest.keys[:-1]} == {kind}


def test_the_values_of_a_column_are_counted_by_name() -> None:
    table = prdp.open({"age": np.array([20.0, np.nan] * 500)}, policy=100, bounds={"age": (0, 100)})
    found = table.agg(prdp.count("age"), n=("age", "count"), share="1/2")
    assert found.question == "count of age, count of age"
    assert found.asked == ("count_age", "n")
    assert found["n"].value == pytest.approx(500, abs=5)
    assert "IS NOT NULL" not in str(found)
    assert str(prdp.count("net worth")) == 'count of "net worth"'


def test_the_first_rows_of_a_sorted_table_are_those_of_the_largest_answers() -> None:
    counted: Any = staff(policy=1000).group_by("town", keys=["Bonn", "Ulm", "Aue"]).count(share="1/2")
    assert counted.head(1).keys == (("Bonn",),)
    assert counted.sort(descending=True).head(2).releases == counted.top(2).releases
    assert counted.head(9).keys == counted.limit(9).keys == counted.keys
    assert len(counted.head(0)) == len(counted.head(-1)) == 0


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (
            lambda t: t.mean(["age", "pay"], share="1/8"),
            r"agg\(prdp.mean\('age'\), prdp.mean\('pay'\), share=",
        ),
        (lambda t: t.max("hired", share="1/8"), r"days from a public date .*date_diff\('day', .*, hired\)"),
        (lambda t: t.filter("hired > 2024-01-01"), "Write DATE '2020-01-31'"),
        (
            lambda t: t.group_by(prdp.date_trunc("month", "hired")).count(share="1/8"),
            r"Write between=\(.*\) in find_keys, and pass what it finds, keys=found. Or list",
        ),
        (
            lambda t: t.group_by("job", "town", keys=[("chef", "Ulm")]).count(share="1/8")["cook", "Ulm"],
            r"is not a key of this table, which has: \(chef, Ulm\)",
        ),
        (lambda _: prdp.open(STAFF, policy=-1), "policy=-1 is not a budget: a budget is more than 0"),
    ],
)
def test_a_message_names_the_next_step(mistake: Any, says: str) -> None:
    with pytest.raises((prdp.PrdpError, KeyError), match=says):
        mistake(staff())


def test_found_days_are_passed_on_as_the_message_says() -> None:
    table = staff(policy=100)
    months = prdp.date_trunc("month", "hired")
    found = table.find_keys(months, between=("2024-01-01", "2024-03-31"), share="1/4")
    assert len(table.group_by(months, keys=found).count(share="1/4")) == 3


def test_a_policy_of_one_number_is_that_budget_for_all() -> None:
    for policy in (prdp.Policy(2), prdp.Policy(Fraction(4, 2)), prdp.Policy("2")):
        assert prdp.open(STAFF, policy=policy).policy.budget({}) == 2
    with pytest.raises(ExpressionError):
        prdp.Policy(True)


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.filter("day >= '2024-01-01'"),
        lambda t: t.group_by("day"),
        lambda t: t.count_distinct("day", share="1/8"),
        lambda t: t.max("day", share="1/8"),
    ],
)
def test_a_column_of_python_objects_says_how_to_convert_it(ask: Any) -> None:
    pandas = pytest.importorskip("pandas")
    table = prdp.open(pandas.DataFrame({"day": pandas.Series(DAYS, dtype=object)}), policy=1)
    with pytest.raises(
        InvalidRequest, match=r"Convert it in the frame first: pandas.to_datetime\(...\) for dates"
    ):
        ask(table)


def test_a_distinct_count_excludes_values_by_the_budgets_of_their_records() -> None:
    pay = {"pay": np.repeat(np.arange(1, 41), 50)}
    like = prdp.open(pay, policy="least(10 / pay, 5)", bounds={"pay": (1, 1000)}, synthetic=True)
    pairs = []
    for answer in prdp.simulate(like, prdp.count_distinct("pay"), share="1/4", runs=20, seed=7):
        excluded = re.search(r"values whose records' budgets add up to less than ([\d.]+)$", answer.excludes)
        counted = re.search(r"from a budget of ([\d.]+) on", dict(answer.choices)["a key counts fully"])
        pairs += [(float(excluded[1]), float(counted[1]))] if excluded and counted else []
    assert len(pairs) > 10
    for least, full in pairs:
        assert least == pytest.approx(full / 8, rel=0.01), "the interval covers 8 times what a value adds"


def test_the_fields_of_a_class_are_among_its_public_names() -> None:
    assert {"policy", "bounds", "ledger", "name", "round_to"} <= set(dir(prdp.Table))
    assert {"share", "keys", "by"} <= set(dir(prdp.ReleaseTable))
    assert not {"condition", "unit", "planner"} & set(dir(prdp.Table))
