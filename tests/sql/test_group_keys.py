"""NULL is a group where it is listed, rows in no group are stated, and what cannot be meant costs nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prdp

SIZE = 600


def opened(**more: Any) -> prdp.Table:
    place = np.arange(SIZE)
    frame = pd.DataFrame(
        {
            "job": pd.array([("chef", "clerk", None)[k % 3] for k in place], dtype="string"),
            "level": pd.array([(1, 2, 3, None)[k % 4] for k in place], dtype="Int64"),
            "vip": pd.array([(True, None)[k % 2] for k in place], dtype="boolean"),
            "age": place % 60 + 20,
        }
    )
    policy = prdp.Policy.constant(10**9)
    return prdp.open(frame, policy=policy, name="staff", bounds={"age": (0, 120), "level": (1, 3)}, **more)


def counted(text: str, keys: dict[str, Any] | None = None) -> dict[Any, int]:
    answers = opened(synthetic=True).sql(text, share="1/4", keys=keys)
    return {row[0]: row[1] for row in answers.values}


@pytest.mark.parametrize(
    ("column", "keys", "wanted"),
    [
        ("job", ["chef", "clerk", None], {"chef": 200, "clerk": 200, None: 200}),
        ("level", [1, 3, None], {1: 150, 3: 150, None: 150}),
        ("vip", [True, False, None], {True: 300, False: 0, None: 300}),
    ],
)
def test_a_null_key_that_is_listed_is_a_group(column: str, keys: list[Any], wanted: dict[Any, int]) -> None:
    text = f"SELECT {column}, COUNT(*) FROM staff GROUP BY {column}"
    assert counted(text, {column: keys}) == wanted


@pytest.mark.parametrize(
    ("key", "where", "wanted"),
    [
        ("coalesce(level, -1)", "", {-1: 150, 1: 150, 2: 150, 3: 150}),
        ("coalesce(level, 2)", "", {1: 150, 2: 300, 3: 150}),
        ("CASE WHEN level IS NULL THEN 9 ELSE level END", "", {1: 150, 2: 150, 3: 150, 9: 150}),
        ("coalesce(level, -1)", "WHERE level >= 2", {2: 150, 3: 150}),
        ("coalesce(level, -1)", "WHERE level IS NULL", {-1: 150}),
        ("coalesce(level, -1)", "WHERE age < 20 OR level < 9", {1: 150, 2: 150, 3: 150}),
    ],
)
def test_a_number_in_place_of_null_is_a_group(key: str, where: str, wanted: dict[Any, int]) -> None:
    found = counted(f"SELECT {key} AS l, COUNT(*) AS n FROM staff {where} GROUP BY l")
    assert {key: n for key, n in found.items() if n} == wanted


def test_where_lists_null_too() -> None:
    text = "SELECT job, COUNT(*) FROM staff WHERE job IN ('chef') OR job IS NULL GROUP BY job"
    assert counted(text) == {"chef": 200, None: 200}


def test_null_that_where_lists_is_a_group_beside_the_keys_of_the_caller() -> None:
    text = "SELECT job, COUNT(*) FROM staff WHERE job IS NULL OR job = 'chef' GROUP BY job"
    assert counted(text, {"job": ["chef", "clerk"]}) == {"chef": 200, None: 200}
    alone = "SELECT job, COUNT(*) FROM staff WHERE job IS NULL GROUP BY job"
    assert counted(alone, {"job": ["chef", "clerk"]}) == {None: 200}


def test_rows_that_where_leaves_and_no_key_has_are_stated() -> None:
    text = "SELECT job, COUNT(*) FROM staff WHERE job IN ('chef', 'clerk') GROUP BY job"
    stated = opened(synthetic=True).sql(text, share="1/4", keys={"job": ["chef"]}).remarks
    assert "rows whose job is not one of the keys are in no group" in stated


def test_an_expression_has_the_keys_of_those_values_that_where_leaves() -> None:
    text = "SELECT coalesce(job, 'none') AS k, COUNT(*) FROM staff WHERE job <> 'clerk' GROUP BY k"
    assert counted(text, {"job": ["chef", "clerk"]}) == {"chef": 200}


def test_a_key_that_is_not_declared_in_a_group_is_noted() -> None:
    by = "CASE WHEN job IN ('chef', 'clrek') THEN 'known' ELSE 'other' END"
    text = f"SELECT {by} AS k, COUNT(*) FROM staff GROUP BY k"
    stated = opened(synthetic=True).sql(text, share="1/4", keys={"job": ["chef", "clerk"]}).remarks
    assert "'clrek' is none of the declared keys of job. Did you mean 'clerk'?" in stated


def test_a_having_that_no_declared_key_meets_costs_nothing() -> None:
    table = opened()
    with pytest.raises(prdp.errors.SqlError, match="'cheff' is none of the declared keys of job"):
        table.sql(
            "SELECT job, COUNT(*) FROM staff GROUP BY job HAVING job = 'cheff'",
            share="1/4",
            keys={"job": ["chef", "clerk"]},
        )
    assert table.remaining == 1


def test_null_beside_another_key_is_a_group_of_its_own() -> None:
    text = "SELECT job, level, COUNT(*) AS n FROM staff GROUP BY job, level"
    answers = opened(synthetic=True).sql(text, share="1/4", keys={"job": ["chef", None], "level": [1, None]})
    assert {row[:2]: row[2] for row in answers.values} == {
        ("chef", 1): 50,
        ("chef", None): 50,
        (None, 1): 50,
        (None, None): 50,
    }


def test_a_record_whose_value_is_the_constant_that_represents_null_is_not_in_its_group() -> None:
    frame = pd.DataFrame({"job": pd.array(["NULL", None, "chef"] * 100, dtype="string")})
    table = prdp.open(frame, policy=prdp.Policy.constant(10**9), name="staff", synthetic=True)
    text = "SELECT job, COUNT(*) FROM staff GROUP BY job"
    assert table.sql(text, share="1/4", keys={"job": ["chef", None]}).values == [("chef", 100), (None, 100)]


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("coalesce(job, 'none')", {"chef": 200, "clerk": 200, "none": 200}),
        ("upper(job)", {"CHEF": 200, "CLERK": 200}),
        ("CASE WHEN job = 'chef' THEN 'kitchen' ELSE job END", {"kitchen": 200, "clerk": 200}),
    ],
)
def test_keys_follow_from_those_of_a_column(expression: str, wanted: dict[str, int]) -> None:
    text = f"SELECT {expression} AS k, COUNT(*) FROM staff GROUP BY {expression}"
    assert counted(text, {"job": ["chef", "clerk"]}) == wanted


def test_null_is_a_key_of_what_follows_from_a_column_where_it_is_listed() -> None:
    text = "SELECT upper(job) AS k, COUNT(*) FROM staff GROUP BY k"
    assert counted(text, {"job": ["chef", None]}) == {"CHEF": 200, None: 200}


def test_the_answer_says_which_rows_are_in_no_group() -> None:
    table = opened(synthetic=True)
    text = "SELECT job, COUNT(*) FROM staff GROUP BY job"
    stated = table.sql(text, share="1/4", keys={"job": ["chef"]}).remarks
    assert stated == ("rows whose job is NULL or not one of the keys are in no group",)
    with_null = table.sql(text, share="1/4", keys={"job": ["chef", None]}).remarks
    assert with_null == ("rows whose job is not one of the keys are in no group",)
    listed = table.sql(text.replace("GROUP", "WHERE job IN ('chef') GROUP"), share="1/4").remarks
    assert listed == ()


@pytest.mark.parametrize(
    ("condition", "reason", "advice"),
    [
        ("job = 'cheff'", "'cheff' is none of the declared keys of job", "Did you mean 'chef'?"),
        ("job IN ('Chef', 'judge')", "'Chef' is none of the declared keys of job", "Did you mean 'chef'?"),
        ("job LIKE 'cheff%'", "none of the declared keys of job satisfies this", "Did you mean 'chef'?"),
        ("lower(job) = 'Chef'", "none of the declared keys of job satisfies this", "Did you mean 'chef'?"),
        ("starts_with(job, 'x')", "none of the declared keys of job satisfies this", "'chef', 'clerk'"),
        ("age = 200", "age lies between 0 and 120, its public bounds", "Correct the number"),
        ("'age' >= '30'", "this compares constants, and is the same for every record", "the column age"),
        ("'jobs' = 'chef'", "this compares constants, and is the same for every record", "the column job"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_it_is_charged(
    condition: str, reason: str, advice: str
) -> None:
    table = opened()
    with pytest.raises(prdp.errors.SqlError) as refused:
        table.sql(
            f"SELECT COUNT(*) FROM staff WHERE {condition}", share="1/4", keys={"job": ["chef", "clerk"]}
        )
    assert reason in str(refused.value.reason)
    assert advice in str(refused.value.advice)
    assert table.remaining == 1


@pytest.mark.parametrize(
    ("condition", "number"),
    [
        ("job NOT LIKE 'cheff%'", 400),
        ("job <> 'cook'", 400),
        ("length(job) > 4", 200),
        ("job LIKE 'ch%'", 200),
        ("coalesce(job, 'none') = 'none'", 200),
        ("job LIKE 'x%' OR job IS NULL", 200),
    ],
)
def test_what_denies_a_key_or_holds_for_one_or_for_null_is_answered(condition: str, number: int) -> None:
    text = f"SELECT COUNT(*) FROM staff WHERE {condition}"
    answers = opened(synthetic=True).sql(text, share="1/4", keys={"job": ["chef", "clerk"]})
    assert answers.values == [(number,)]


def test_a_key_that_is_denied_and_not_declared_is_warned_of() -> None:
    text = "SELECT COUNT(*) FROM staff WHERE job <> 'clrek'"
    answers = opened(synthetic=True).sql(text, share="1/4", keys={"job": ["chef", "clerk"]})
    assert answers.remarks == ("'clrek' is none of the declared keys of job. Did you mean 'clerk'?",)


def test_keys_of_a_public_table_that_are_not_declared_are_no_mistake_of_whoever_asks() -> None:
    areas = {"job": ["chef", "clerk", "judge"], "area": ["kitchen", "office", "court"]}
    text = "SELECT a.area, COUNT(*) FROM staff s JOIN areas a ON s.job = a.job GROUP BY a.area"
    answers = opened(synthetic=True).sql(
        text, share="1/4", keys={"job": ["chef", "clerk"]}, tables={"areas": areas}
    )
    assert answers.remarks == ()


def test_constants_of_coalesce_are_its_keys() -> None:
    text = (
        "SELECT coalesce(CASE WHEN level = 1 THEN 'first' WHEN level = 2 THEN 'second' END, 'other') AS part,"
        " COUNT(*) FROM staff GROUP BY part"
    )
    assert counted(text) == {"first": 150, "second": 150, "other": 300}


def test_shares_of_a_total_say_which_rows_the_total_is_without() -> None:
    table = opened(synthetic=True)
    text = "SELECT job, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS part FROM staff GROUP BY job"
    without = "totals over groups, and shares of them, are without these rows"
    assert without in table.sql(text, share="1/4", keys={"job": ["chef", "clerk"]}).remarks
    listed = text.replace("GROUP", "WHERE job IN ('chef', 'clerk') GROUP")
    assert table.sql(listed, share="1/4").remarks == ()


def test_a_list_of_which_some_may_be_meant_is_answered_with_a_warning() -> None:
    answers = opened(synthetic=True).sql(
        "SELECT COUNT(*) FROM staff WHERE job IN ('chef', 'clrek') OR age IN (30, 300)",
        share="1/4",
        keys={"job": ["chef", "clerk"]},
    )
    assert set(answers.remarks) == {
        "'clrek' is none of the declared keys of job. Did you mean 'clerk'?",
        "300 is beyond the public bounds of age, 0 to 120",
    }


AREAS = {"job": ["chef", "clerk", "judge"], "area": ["kitchen", "office", "court"], "people": [2e4, 1e6, 3e3]}
BESIDE_AREAS = "FROM staff s JOIN areas a ON s.job = a.job"


@pytest.mark.parametrize(
    ("condition", "reason", "advice"),
    [
        ("a.area = 'kitchn'", "'kitchn' is none of the possible values", "Did you mean 'kitchen'?"),
        ("a.area IN ('Office')", "'Office' is none of the possible values", "Did you mean 'office'?"),
        ("a.people = 1500000", "1500000 is none of the possible", "They are 20000, 1000000, 3000."),
        ("CASE WHEN vip THEN 'yes' ELSE 'no' END = 'jes'", "'jes' is none of the possible", "mean 'yes'?"),
    ],
)
def test_a_value_that_no_row_of_a_public_table_has_is_refused_before_it_is_charged(
    condition: str, reason: str, advice: str
) -> None:
    table = opened()
    with pytest.raises(prdp.errors.SqlError) as refused:
        table.sql(f"SELECT COUNT(*) {BESIDE_AREAS} WHERE {condition}", share="1/4", tables={"areas": AREAS})
    assert reason in str(refused.value.reason)
    assert advice in str(refused.value.advice)
    assert table.remaining == 1


def test_a_value_that_no_row_of_a_joined_public_table_has_is_refused_before_it_is_charged() -> None:
    joined = prdp.open_join(
        {
            "people": pd.DataFrame({"id": [1, 2], "town": [0, 1]}),
            "towns": pd.DataFrame({"code": [0, 1], "name": ["Bonn", "Ulm"]}),
        },
        private="people",
        key="id",
        references={"people.town": "towns.code"},
        public=["towns"],
        policy=prdp.Policy.constant(10**9),
    )
    text = "SELECT COUNT(*) FROM people JOIN towns ON town = code WHERE name = '{}'"
    with pytest.raises(prdp.errors.SqlError, match="'Bon' is none of the values of name"):
        joined.sql(text.format("Bon"), share="1/4")
    assert joined.remaining == 1
    assert joined.sql(text.format("Bonn"), share="1/4").values == [(1,)]


def test_a_list_with_a_value_of_a_public_table_is_answered_with_a_warning() -> None:
    text = f"SELECT COUNT(*) {BESIDE_AREAS} WHERE a.area IN ('kitchen', 'ofice')"
    answers = opened(synthetic=True).sql(text, share="1/4", tables={"areas": AREAS})
    assert answers.values == [(200,)]
    assert "'ofice' is none of the possible values. Did you mean 'office'?" in answers.remarks


def test_what_follows_from_the_key_of_a_group_is_public_and_no_aggregate() -> None:
    """All rows of a group have it, so that its maximum, minimum and mean are known."""
    text = (
        "SELECT s.job, COUNT(*) AS n, 1000 * COUNT(*) / MAX(a.people) AS rate, MIN(a.area) AS area, "
        f"AVG(a.people) AS people, MAX(s.job) AS same {BESIDE_AREAS} GROUP BY s.job"
    )
    table = opened()
    answers = table.sql(text, share="1/4", keys={"job": ["chef", "clerk"]}, tables={"areas": AREAS})
    assert [row[3:] for row in answers.values] == [("kitchen", 20_000, "chef"), ("office", 10**6, "clerk")]
    rows: Any = answers.rows
    for (_, n, rate, *_), people in zip(rows, (20_000, 1_000_000), strict=True):
        assert n.share == rate.share == Fraction(1, 4), "nothing else is asked"
        assert rate.interval() == pytest.approx([1000 * end / people for end in n.interval()])


def test_a_case_between_the_keys_of_a_group_is_bounded_by_its_own_branch() -> None:
    text = "SELECT job, COUNT(*) AS n, CASE WHEN job = 'chef' THEN COUNT(*) ELSE 9 * COUNT(*) END AS weighed "
    answers = opened(synthetic=True).sql(
        f"{text} FROM staff GROUP BY job", share="1/4", keys={"job": ["chef", "clerk"]}
    )
    rows: Any = answers.rows
    for (_, n, weighed), times in zip(rows, (1, 9), strict=True):
        assert weighed.interval() == pytest.approx([times * end for end in n.interval()])


@pytest.mark.parametrize("group", ["ROLLUP (s.job)", "a.area"])
def test_a_public_column_that_differs_within_a_group_is_asked_for(group: str) -> None:
    selected = "COUNT(*), MAX(a.people)"
    text = f"SELECT {selected} {BESIDE_AREAS} GROUP BY {group}"
    stated = opened().explain_sql(text, share="1/4", keys={"job": ["chef", "clerk"]}, tables={"areas": AREAS})
    assert "method choice" in stated
