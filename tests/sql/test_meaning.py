"""Statements that once meant something else than SQL says, and texts that once made the reader fail."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import prdp

JOBS = {"job": ["clerk", "chef"], "level": [1, 2]}
HUGE = "1000000000"
"""A budget with which answers are the truth."""


def accounts(rows: int = 600) -> prdp.Table:
    columns = {
        "age": np.arange(rows) % 60,
        "x": np.arange(rows) % 7 / 2,
        "job": np.array(["clerk", "chef", "judge"])[np.arange(rows) % 3],
        "opened": np.datetime64("2025-01-01", "us") + np.arange(rows).astype("timedelta64[h]"),
    }
    return prdp.open(columns, policy=HUGE, bounds={"age": (0, 100), "x": (0, 10)}, name="accounts")


def shop() -> prdp.Join:
    return prdp.open_join(
        {
            "people": {"id": np.arange(100), "vip": np.arange(100) % 2 == 0},
            "orders": {"buyer": np.arange(300) % 60, "price": np.arange(300) % 5},
        },
        private="people",
        key="id",
        references={"orders.buyer": "people.id"},
        policy=HUGE,
        bounds={"price": (0, 10)},
    )


def values(text: str, **given: Any) -> list[tuple[Any, ...]]:
    return accounts().sql(text, share="1/2", **given).values


@pytest.mark.parametrize(
    ("selected", "count"),
    [("COUNT(j.job)", 400), ("COUNT(*) FILTER (WHERE j.job IS NULL)", 200), ("COUNT(j.level)", 400)],
)
def test_a_row_without_a_partner_has_no_key_of_the_public_table(selected: str, count: int) -> None:
    text = f"SELECT {selected} FROM accounts a LEFT JOIN jobs j ON a.job = j.job"
    assert values(text, tables={"jobs": JOBS}) == [(count,)]


def test_a_left_join_finds_the_rows_that_have_no_partner() -> None:
    text = "SELECT COUNT(*) FROM accounts a LEFT JOIN jobs j ON a.job = j.job WHERE j.job IS NULL"
    assert values(text, tables={"jobs": JOBS}) == [(200,)]


def test_a_condition_of_a_left_join_takes_partners_away_and_keeps_the_records() -> None:
    text = "SELECT COUNT(*), COUNT(j.job) FROM accounts a LEFT JOIN jobs j ON a.job = j.job AND j.level > 1"
    assert values(text, tables={"jobs": JOBS}) == [(600, 200)]


def test_a_public_table_alone_is_answered_as_it_is_and_at_no_cost() -> None:
    table, jobs = accounts(), {"job": ["clerk", "chef", "judge"], "level": [1, None, 5]}
    text = "SELECT COUNT(*), COUNT(level), SUM(level), AVG(level), MAX(job) FROM jobs WHERE job <> 'cook'"
    answers = table.sql(text, share="1/2", tables={"jobs": jobs})
    assert answers.values == [(3, 2, 6, 3, "judge")]
    assert table.explain_sql(text, share="1/2", tables={"jobs": jobs}).startswith("costs    nothing")
    assert answers.share == 0
    assert table.remaining == 1


def test_a_table_that_is_asked_is_never_taken_for_a_public_one() -> None:
    with pytest.raises(prdp.InvalidRequest, match="which is a table that is asked"):
        values("SELECT * FROM accounts", tables={"Accounts": JOBS})
    named = "WITH jobs AS (SELECT age, job FROM accounts) SELECT * FROM jobs"
    with pytest.raises(prdp.errors.SqlError):
        values(named, tables={"jobs": JOBS})
    inner = f"SELECT COUNT(*) FROM ({named}) AS t WHERE age < 30"
    assert values(inner, tables={"jobs": JOBS}) == [(300,)]


def test_an_aggregate_in_exists_is_refused_since_it_always_has_a_row() -> None:
    public = (
        "SELECT COUNT(*) FROM accounts a WHERE EXISTS (SELECT MAX(level) FROM jobs j WHERE j.job = a.job)"
    )
    with pytest.raises(prdp.errors.SqlError, match="whether there is a row"):
        values(public, tables={"jobs": JOBS})
    own = "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT COUNT(*) FROM orders WHERE buyer = id)"
    with pytest.raises(prdp.errors.SqlError, match="whether there is a row"):
        shop().sql(own, share=0.1)


def test_columns_of_exists_are_not_seen_outside_of_it() -> None:
    text = (
        "SELECT COUNT(*) FILTER (WHERE price > 3) FROM people "
        "WHERE EXISTS (SELECT 1 FROM orders WHERE buyer = id)"
    )
    with pytest.raises(prdp.errors.SqlError, match="no column price"):
        shop().sql(text, share=0.1)


@pytest.mark.parametrize("answer", ["COUNT(*) / 0", "exp(COUNT(*) + 1000)", "ln(COUNT(*) - COUNT(*))"])
def test_an_infinite_answer_is_unknown_and_not_zero(answer: str) -> None:
    assert values(f"SELECT {answer} FROM accounts") == [(None,)]


def test_keys_are_found_only_where_doubles_hold_them() -> None:
    text = "SELECT age * 0.1 AS tenth, COUNT(*) FROM accounts WHERE age < 20 GROUP BY tenth"
    with pytest.raises(prdp.errors.SqlError, match="are not declared"):
        values(text)
    for tenth in ("age / 10", "round(age * 0.1, 1)", "floor(age / 10) * 10", "age * 0.5"):
        found = values(f"SELECT {tenth} AS tenth, COUNT(*) FROM accounts GROUP BY tenth")
        assert sum(count for _, count in found) == 600, tenth


@pytest.mark.parametrize("target", ["FLOAT", "REAL", "TINYINT", "SMALLINT"])
def test_a_cast_to_a_narrower_type_is_refused(target: str) -> None:
    with pytest.raises(prdp.errors.SqlError, match="is not read"):
        values(f"SELECT COUNT(*) FROM accounts WHERE CAST(age AS {target}) > 5")


def test_the_rounding_step_of_a_cast_is_that_of_its_type() -> None:
    [(days,)] = values("SELECT SUM(CAST(opened AS DATE) - CAST(opened AS DATE) + 1) FROM accounts")
    assert days == 600


@pytest.mark.parametrize("total", ["SUM(DISTINCT total)", "AVG(DISTINCT total)"])
def test_distinct_sums_of_records_are_refused(total: str) -> None:
    inner = "SELECT id, SUM(price) AS total FROM people JOIN orders ON buyer = id GROUP BY id"
    with pytest.raises(prdp.errors.SqlError, match="plain columns"):
        shop().sql(f"SELECT {total} FROM ({inner}) t", share=0.1)


def test_a_sum_of_each_record_is_not_redefined_by_its_name() -> None:
    inner = "SELECT id, SUM(price) AS total FROM people JOIN orders ON buyer = id GROUP BY id"
    with pytest.raises(prdp.errors.SqlError, match="not answered yet"):
        shop().sql(f"SELECT SUM(total) FROM (SELECT total * 1000 AS total FROM ({inner}) t) u", share=0.1)
    assert shop().sql(f"SELECT SUM(total) FROM (SELECT * FROM ({inner}) t) u", share="1/2").values == [(600,)]


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNT(*) FROM accounts LIMIT {'9' * 5000}",
        f"SELECT COUNT(*) FROM accounts ORDER BY {'9' * 5000}",
        f"SELECT COUNT(*) FROM accounts GROUP BY {'9' * 5000}",
        f"SELECT COUNT(*) FROM accounts WHERE age > {'9' * 5000} + 1",
        "SELECT COUNT(*) FROM accounts WHERE age > 1e99999999 + 1",
        "SELECT QUANTILE_CONT(age, 1e-99999999) FROM accounts",
        "SELECT COUNT() FROM accounts",
        "SELECT age",
    ],
)
def test_an_odd_number_or_aggregate_is_refused_at_once(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(prdp.errors.SqlError):
        values(text)
    assert time.process_time() - begun < 20, "10 ** 99999999 takes minutes"


@pytest.mark.parametrize(
    ("part", "first"), [("year", "9999-01-01"), ("month", "9999-12-01"), ("week", "9999-12-27")]
)
def test_the_last_groups_of_the_calendar_have_keys(part: str, first: str) -> None:
    text = (
        f"SELECT date_trunc('{part}', opened) AS k, COUNT(*) FROM accounts "
        f"WHERE opened >= DATE '{first}' AND opened <= DATE '9999-12-31' GROUP BY k"
    )
    assert values(text) == [(datetime.fromisoformat(first), 0)]


def test_times_with_a_zone_are_read_in_utc_in_every_storage(tmp_path: Path) -> None:
    """Midnight in Tokyo is 15 o'clock of the day before."""
    midnight = [datetime(2024, 12, 31, 15, tzinfo=UTC), datetime(2025, 1, 1, 15, tzinfo=UTC), None]
    frame = pyarrow.table({"at": pyarrow.array(midnight, pyarrow.timestamp("us", tz="Asia/Tokyo"))})
    path = tmp_path / "times.parquet"
    pyarrow.parquet.write_table(frame, path)
    connection = duckdb.connect()
    for source in (frame, str(path), frame.to_pandas(), connection.from_parquet(str(path))):
        ledger = tmp_path / f"{id(source)}.ledger"  # of one file that is opened in two ways
        times = prdp.open(source, policy=HUGE, name="times", ledger=ledger, separate_account=True)
        [(years, days)] = times.sql(
            "SELECT COUNT_IF(year(at) = 2024), COUNT(DISTINCT date_trunc('day', at)) FROM times", share="1/4"
        ).values
        assert (years, days) == (1, 2)
        text = (
            "SELECT date_trunc('day', at) AS day, COUNT(*) FROM times WHERE at >= DATE '2024-12-31' AND at < "
        )
        rows = times.sql(text + "DATE '2025-01-02' GROUP BY day", share="1/4").values
        assert rows == [(datetime(2024, 12, 31), 1), (datetime(2025, 1, 1), 1)]


WITH_NULLS = {
    "age": [20.0, 70.0, None, 10.0] * 3,
    "job": ["a", "b", None, "c"] * 3,
    "ok": [True, None, False] * 4,
}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(CASE WHEN age >= 65 THEN 0 ELSE 1 END) FROM people",
        "SELECT SUM(CASE WHEN age > 65 THEN 65 WHEN age > 15 THEN age ELSE 1 END) FROM people",
        "SELECT SUM(CASE job WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 7 END) FROM people",
        "SELECT SUM(IF(age > 15, 1, 5)) FROM people",
        "SELECT SUM(CASE WHEN age > 30 THEN 1 WHEN job IS NULL THEN 10 END) FROM people",
        "SELECT COUNT(CASE WHEN NOT ok THEN 1 WHEN age > 15 OR ok THEN 2 END) FROM people",
        "SELECT AVG(CASE WHEN ok AND age < 50 THEN age ELSE 0 END) FROM people",
        "SELECT COUNT(*) FROM people WHERE CASE WHEN ok THEN age > 15 ELSE job = 'b' END",
        "SELECT CASE WHEN age >= 18 THEN 'a' ELSE 'o' END AS g, COUNT(*) FROM people GROUP BY g ORDER BY g",
    ],
)
def test_case_goes_on_where_a_condition_is_unknown_as_in_every_database(text: str) -> None:
    frame = pyarrow.table(WITH_NULLS)
    people = prdp.open(frame, policy=HUGE, bounds={"age": (0, 100)}, round_to={"age": 1}, name="people")
    with duckdb.connect() as plain:
        plain.register("people", frame)
        rows = plain.execute(text).fetchall()
    assert people.sql(text, share=1).values == [
        tuple(map(pytest.approx, row)) if len(row) == 1 else row for row in rows
    ]


def test_case_in_a_policy_gives_nobody_a_budget_by_an_unknown_condition() -> None:
    policy = prdp.Policy("CASE WHEN age > 30 THEN 1 ELSE 2 END")
    assert policy.budget({"age": None}) is None


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("job = 'chef'", ["chef"]),
        ("job IN ('chef', 'judge') AND age > 3", ["chef", "judge"]),
        ("job = 'chef' OR 'clerk' = job", ["clerk", "chef"]),
        ("job LIKE 'c%' AND job <> 'chef'", ["clerk"]),
        ("NOT (job IN ('chef', 'clerk'))", ["judge", "baker"]),
        ("job = 'chef' OR age > 3", ["clerk", "chef", "judge", "baker"]),
    ],
)
def test_listed_keys_that_where_leaves_out_are_no_groups(where: str, left: list[str]) -> None:
    listed = {"job": ["clerk", "chef", "judge", "baker"]}
    text = f"SELECT job, COUNT(*) FROM accounts WHERE {where} GROUP BY job"
    assert [job for job, _ in values(text, keys=listed)] == left
    pairs = {"job,age": [(job, age) for job in listed["job"] for age in (5, 50)]}
    text = f"SELECT job, age, COUNT(*) FROM accounts WHERE ({where}) AND age < 10 GROUP BY job, age"
    assert [key[:2] for key in values(text, keys=pairs)] == [(job, 5) for job in left]


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("age BETWEEN 20 AND 45", [20, 30, 40]),
        ("age >= 20 AND age < 40", [20, 30]),
        ("30 > age AND age > 9", [10, 20]),
        ("age IN (15, 38) AND job = 'chef'", [10, 20, 30]),
        ("NOT (age < 60 OR age > 69)", [60]),
        ("age < 20 OR job = 'chef'", list(range(0, 110, 10))),
        ("age > 9 AND age < 10", list(range(0, 110, 10))),
        ("age IS NULL", list(range(0, 110, 10))),
    ],
)
def test_bins_that_where_leaves_out_are_no_groups(where: str, left: list[int]) -> None:
    text = f"SELECT floor(age / 10) * 10 AS decade, COUNT(*) FROM accounts WHERE {where} GROUP BY decade"
    found = values(text)
    assert [decade for decade, _ in found] == left
    listed = {"decade": list(range(0, 110, 10))}
    assert [decade for decade, _ in values(text, keys=listed)] == left
    whole = values(f"SELECT COUNT(*) FROM accounts WHERE {where}")
    assert whole == [(sum(count for _, count in found),)]


def test_a_range_in_where_is_enough_to_know_the_bins_of_a_number_without_bounds() -> None:
    table = prdp.open({"x": np.arange(100)}, policy=HUGE, name="numbers")
    text = "SELECT floor(x / 10) * 10 AS bin, COUNT(*) FROM numbers WHERE x >= 30 {} GROUP BY bin"
    with pytest.raises(prdp.errors.SqlError, match="are not declared"):
        table.sql(text.format(""), share="1/2")
    assert table.sql(text.format("AND x < 60"), share="1/2").values == [(30, 10), (40, 10), (50, 10)]


def test_a_where_that_leaves_no_listed_key_is_refused_before_it_costs_anything() -> None:
    table = accounts()
    for where, says in (
        ("job = 'miller'", "'miller' is none of the declared keys of job"),
        ("job <> 'clerk' AND job <> 'chef'", "WHERE leaves none of the listed keys of job"),
    ):
        text = f"SELECT job, COUNT(*) FROM accounts WHERE {where} GROUP BY job"
        with pytest.raises(prdp.errors.SqlError, match=says):
            table.sql(text, share="1/2", keys={"job": ["clerk", "chef"]})
    assert table.remaining == 1


def test_keys_of_dates_are_cut_as_the_dates_they_are() -> None:
    text = "SELECT opened, COUNT(*) FROM accounts WHERE opened >= DATE '2025-01-02' GROUP BY opened"
    days = ["2025-01-01", "2025-01-02"]
    assert [day for day, _ in values(text, keys={"opened": days})] == [datetime(2025, 1, 2)]
