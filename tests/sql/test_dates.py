"""MIN and MAX of dates: days from a limit in WHERE, shown as dates with an interval."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.sql.answers_codec import answers_from_json, answers_to_json
from prdp.sql.estimates import ComputedAnswer

DAYS = np.arange(4_000) % 300
OFFICES = ["Köln", "Würzburg"]
FIRST, LAST = datetime(2024, 1, 5), datetime(2024, 10, 30)
YEAR = "filed >= DATE '2024-01-01' AND filed < DATE '2025-01-01'"


def declarations(policy: str = "1000000") -> prdp.Table:
    """Return declarations that were filed from FIRST to LAST; with such a budget noise is next to nothing."""
    filed = (np.datetime64(FIRST, "us") + DAYS.astype("timedelta64[D]")).astype("datetime64[us]")
    columns = {
        "filed": np.where(np.arange(4_000) % 50 == 7, np.datetime64("NaT"), filed),
        "office": np.array(OFFICES)[np.arange(4_000) % 2],
        "online": np.arange(4_000) % 3 == 0,
    }
    return prdp.open(columns, policy=policy, name="declarations")


def ask(text: str, policy: str = "1000000") -> Any:
    return declarations(policy).sql(text, share="1/2", keys={"office": OFFICES})


def assert_near(cell: Any, truth: datetime, days: int = 4) -> None:
    assert isinstance(cell, ComputedAnswer)
    assert isinstance(cell.value, datetime)
    assert abs((cell.value - truth).days) <= days
    low, high = cell.interval()
    assert low <= truth.toordinal() <= high


def test_the_first_and_the_last_day_are_dates_with_an_interval_within_where() -> None:
    answers = ask(f"SELECT MIN(filed) AS first, MAX(filed) AS last FROM declarations WHERE {YEAR}")
    first, last = answers.rows[0]
    assert_near(first, FIRST)
    assert_near(last, LAST)
    assert datetime(2024, 1, 1).toordinal() == first.interval()[0]
    assert datetime(2024, 12, 31).toordinal() == last.interval()[1]
    assert (first.low, last.high) == (datetime(2024, 1, 1), datetime(2024, 12, 31))
    columns = answers.to_dict()
    assert columns["first_low"] == [datetime(2024, 1, 1)]
    assert columns["last_high"] == [datetime(2024, 12, 31)]
    assert str(answers).splitlines()[1].startswith(first.value.date().isoformat())


@pytest.mark.parametrize(
    "where",
    [
        "filed <= DATE '2024-10-31'",
        "year(filed) = 2024",
        "year(filed) BETWEEN 2023 AND 2024",
        "filed BETWEEN DATE '2023-01-01' AND TIMESTAMP '2024-11-01 10:00:00'",
    ],
)
def test_one_limit_or_the_years_are_enough_for_the_last_day(where: str) -> None:
    assert_near(ask(f"SELECT MAX(filed) FROM declarations WHERE {where}").answer, LAST)


def test_the_last_day_is_found_from_the_first_limit_alone_less_precisely() -> None:
    last = ask("SELECT MAX(filed) FROM declarations WHERE filed >= DATE '2024-01-01'").answer
    assert_near(last, LAST, days=30)
    assert last.caveat == "records with small budgets may lie after it"


def test_days_by_group_are_sorted_and_compared() -> None:
    answers = ask(
        f"SELECT office, MAX(filed) AS last FROM declarations WHERE {YEAR} GROUP BY office "
        "HAVING MAX(filed) > DATE '2024-03-01' ORDER BY last DESC, office"
    )
    assert sorted(row[0] for row in answers.rows) == OFFICES
    days = [row[1].value for row in answers.rows]
    assert days == sorted(days, reverse=True)
    none = ask(
        f"SELECT office, MAX(filed) AS last FROM declarations WHERE {YEAR} GROUP BY office "
        "HAVING MAX(filed) > DATE '2024-12-01'"
    )
    assert len(none) == 0


def test_days_between_the_first_and_the_last_are_a_number() -> None:
    answers = ask(
        f"SELECT date_diff('day', MIN(filed), MAX(filed)) / 7 AS weeks, LOW(MAX(filed)) AS low "
        f"FROM declarations WHERE {YEAR}"
    )
    weeks, low = answers.rows[0]
    truth = (LAST - FIRST).days / 7
    assert weeks.interval()[0] <= truth <= weeks.interval()[1]
    assert weeks.value == pytest.approx(truth, abs=1.5)
    assert datetime(2024, 1, 1) <= low <= LAST


def test_a_filter_of_an_aggregate_limits_its_days_too() -> None:
    text = "SELECT MAX(filed) FILTER (WHERE online AND filed < DATE '2024-08-01') AS last FROM declarations"
    assert_near(ask(text).answer, datetime(2024, 7, 31))


def test_days_pass_through_ctes_unions_and_subqueries() -> None:
    answers = ask(
        f"WITH t AS (SELECT office, MIN(filed) AS d FROM declarations WHERE {YEAR} GROUP BY office) "
        "SELECT office, d FROM t WHERE d < DATE '2024-06-01' ORDER BY d, office"
    )
    assert len(answers) == 2
    for row in answers.rows:
        assert_near(row[1], FIRST)
    both = ask(
        f"SELECT MIN(filed) AS d FROM declarations WHERE {YEAR} "
        f"UNION ALL SELECT MAX(filed) FROM declarations WHERE {YEAR}"
    )
    assert_near(both.rows[0][0], FIRST)
    assert_near(both.rows[1][0], LAST)


def test_days_come_back_from_json_as_they_went() -> None:
    answers = ask(f"SELECT MIN(filed) AS first, MAX(filed) AS last FROM declarations WHERE {YEAR}", "1")
    came = answers_from_json(json.loads(json.dumps(answers_to_json(answers))))
    assert came == answers
    assert str(came) == str(answers)


def test_a_day_that_nothing_says_anything_of_is_unreliable() -> None:
    text = "SELECT MAX(filed) FROM declarations WHERE filed BETWEEN DATE '1990-01-01' AND DATE '1990-12-31'"
    last = ask(text).answer
    assert last.flag == "unreliable"
    assert [date.fromordinal(int(end)).year for end in last.interval()] == [1990, 1990]
    assert last.cv is None


def test_where_nothing_can_be_the_day_is_null_and_free() -> None:
    table = declarations()
    answers = table.sql(f"SELECT MAX(filed) FROM declarations WHERE {YEAR} AND 1 = 2", share="1/2")
    assert answers.values == [(None,)]
    assert table.remaining == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT MAX(filed) FROM declarations", "MAX of a date needs a public date"),
        ("SELECT MIN(filed) FROM declarations WHERE online", "MIN of a date needs a public date"),
        (f"SELECT year(MAX(filed)) FROM declarations WHERE {YEAR}", "nothing is computed"),
        (
            f"SELECT CASE WHEN MAX(filed) > DATE '2024-05-01' THEN 1 END FROM declarations WHERE {YEAR}",
            "nothing is computed",
        ),
        (
            f"SELECT RANK() OVER (ORDER BY MAX(filed)) FROM declarations WHERE {YEAR} GROUP BY online",
            "nothing is computed",
        ),
        (
            f"SELECT MAX(d) FROM (SELECT MAX(filed) d FROM declarations WHERE {YEAR} GROUP BY online) AS t",
            "not aggregated",
        ),
        (
            f"SELECT month(d) FROM (SELECT MAX(filed) AS d FROM declarations WHERE {YEAR}) AS t",
            "nothing is computed",
        ),
    ],
)
def test_what_is_not_answered_of_days_is_refused_and_free(text: str, reason: str) -> None:
    table = declarations()
    with pytest.raises(prdp.errors.SqlError, match=reason):
        table.sql(text, share="1/2")
    assert table.remaining == 1
