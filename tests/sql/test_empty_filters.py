"""A filter that no record can satisfy, by public facts alone: SQL's answers, and nothing read or charged."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prdp

EMPTY = [
    "1 = 2",
    "false",
    "NULL",
    "age > 200",
    "age < 0",
    "age BETWEEN 130 AND 140",
    "age > 60 AND age < 50",
    "job = 'chef' AND job = 'clerk'",
    "age IS NULL AND age > 3",
    "age IN (200, 300) OR 2 < 1",
    "NOT (age <= 120)",
]
POSSIBLE = ["age = 120", "age IS NULL", "job = 'nobody'", "age > 200 OR job = 'chef'", "NOT (age > 119)"]


@pytest.fixture
def people(tmp_path: Path) -> prdp.Table:
    """Return a table whose file is gone: whoever reads it fails."""
    file = tmp_path / "people.parquet"
    pq.write_table(
        pa.table({"id": list(range(400)), "age": [20 + k % 60 for k in range(400)], "job": ["chef"] * 400}),
        file,
    )
    table = prdp.open(str(file), policy="1", bounds={"age": (0, 120)}, name="people")
    file.unlink()
    return table


@pytest.mark.parametrize("excludes", EMPTY)
def test_counts_and_sums_are_zero_and_all_else_is_null_at_no_cost(people: prdp.Table, condition: str) -> None:
    answers = people.sql(
        "SELECT COUNT(*), COUNT(age), SUM(age), COUNT(DISTINCT job), AVG(age), MIN(age), MAX(age), "
        f"MEDIAN(age), STDDEV(age), VAR_POP(age) FROM people WHERE {condition}",
        share=1,
    )
    assert answers.values == [(0, 0, 0, 0, None, None, None, None, None, None)]
    assert answers.share == 0
    assert people.remaining == 1
    assert "nothing was read or charged" in str(answers)


@pytest.mark.parametrize("excludes", POSSIBLE)
def test_a_filter_that_a_record_may_satisfy_is_read(people: prdp.Table, condition: str) -> None:
    with pytest.raises(prdp.PrdpError):
        people.sql(f"SELECT COUNT(*) FROM people WHERE {condition}", share="1/4")


def test_what_is_computed_follows_sql(people: prdp.Table) -> None:
    answers = people.sql(
        "SELECT COUNT(*) + 1 AS more, AVG(age) + 1 AS none, COALESCE(MAX(age), -1) AS filled, "
        "AVG(age) IS NULL AS missing FROM people WHERE 1 = 2 HAVING COUNT(*) = 0",
        share="1/4",
    )
    assert answers.values == [(1, None, -1, True)]
    kept = people.sql("SELECT COUNT(*) FROM people WHERE 1 = 2 HAVING COUNT(*) > 0", share="1/4")
    assert kept.values == []


def test_listed_keys_have_their_rows_and_others_are_not_searched(people: prdp.Table) -> None:
    text = "SELECT job, COUNT(*) AS n, AVG(age) FROM people WHERE age > 200 GROUP BY job ORDER BY job"
    listed = people.sql(text, share="1/4", keys={"job": ["clerk", "chef"]})
    assert listed.values == [("chef", 0, None), ("clerk", 0, None)]
    assert people.remaining == 1


def test_a_dry_run_says_that_it_costs_nothing(people: prdp.Table) -> None:
    stated = people.explain_sql("SELECT AVG(age) FROM people WHERE age > 200", share="1/4")
    assert stated == "costs    nothing: no record within the public bounds satisfies the filter"


def test_what_cannot_be_asked_is_refused_all_the_same(people: prdp.Table) -> None:
    with pytest.raises(prdp.InvalidRequest, match="bounds"):
        people.sql("SELECT SUM(id) FROM people WHERE 1 = 2", share="1/4")
    with pytest.raises(prdp.InvalidRequest, match="share"):
        people.sql("SELECT COUNT(*) FROM people WHERE 1 = 2", share=2)


def test_a_mean_over_units_says_which_records_it_counts() -> None:
    rows = {"id": [1, 1, 2, 3], "spent": [5, 6, None, 7]}
    table = prdp.open(
        pa.table(rows), policy="1", privacy_unit="id", max_rows=2, bounds={"spent": (0, 10)}, name="t"
    )  # fmt: skip
    text = "SELECT AVG(s) FROM (SELECT SUM(spent) AS s FROM t GROUP BY id) AS each"
    stated = "id whose values are all NULL count, with a sum of 0"
    assert stated in str(table.sql(text, share="1/4"))
    assert table.remaining == Fraction(3, 4)
    empty = table.sql(text.replace("FROM t", "FROM t WHERE spent > 20"), share="1/4")
    assert empty.values == [(None,)]
    assert table.remaining == Fraction(3, 4)
    assert stated in str(empty)
