"""A filter that no record can satisfy, by public facts alone: SQL's answers, and nothing read or charged."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import prdp
from prdp.sql.estimates import ComputedAnswer
from prdp.testing import simulate

EMPTY = [
    "1 = 2",
    "false",
    "NULL",
    "age > 60 AND age < 50",
    "job = 'chef' AND job = 'clerk'",
    "age IS NULL AND age > 3",
]
BEYOND = [
    "age > 200",
    "age < 0",
    "age BETWEEN 130 AND 140",
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


@pytest.mark.parametrize("condition", EMPTY)
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


@pytest.mark.parametrize("condition", BEYOND)
def test_a_filter_beyond_the_bounds_is_refused_and_says_them(people: prdp.Table, condition: str) -> None:
    with pytest.raises(prdp.errors.SqlError, match="age lies between 0 and 120, its public bounds"):
        people.sql(f"SELECT COUNT(*) FROM people WHERE {condition}", share="1/4")
    assert people.remaining == 1


@pytest.mark.parametrize("condition", POSSIBLE)
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
    text = "SELECT job, COUNT(*) AS n, AVG(age) FROM people WHERE 1 = 2 GROUP BY job ORDER BY job"
    listed = people.sql(text, share="1/4", keys={"job": ["clerk", "chef"]})
    assert listed.values == [("chef", 0, None), ("clerk", 0, None)]
    assert people.remaining == 1


def test_a_dry_run_says_that_it_costs_nothing(people: prdp.Table) -> None:
    stated = people.explain_sql("SELECT AVG(age) FROM people WHERE 1 = 2", share="1/4")
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
    empty = table.sql(text.replace("FROM t", "FROM t WHERE 1 = 2"), share="1/4")
    assert empty.values == [(None,)]
    assert table.remaining == Fraction(3, 4)
    assert stated in str(empty)


NOTHING = "there may be no such values"


@pytest.fixture
def chefs() -> prdp.Table:
    columns = {"age": [20 + k % 60 for k in range(4000)], "job": ["chef"] * 4000}
    return prdp.open(pa.table(columns), policy="100", bounds={"age": (0, 120)}, name="people", synthetic=True)


@pytest.mark.parametrize("item", ["AVG(age)", "STDDEV(age)", "AVG(age) + 1", "2 * VAR_POP(age)"])
def test_whoever_prints_an_average_of_nothing_is_warned_that_there_may_be_nothing(
    chefs: prdp.Table, item: str
) -> None:
    texts = [f"SELECT {item} AS x, COUNT(*) AS n FROM people WHERE job = '{job}'" for job in ("cook", "chef")]
    nobody, everybody = (chefs.sql(text, share="1/2") for text in texts)
    assert nobody["x"] == [None]
    assert f"NULL where the released count is below 1: {NOTHING}" in nobody.notes
    assert NOTHING not in str(everybody)


@pytest.mark.parametrize(
    ("item", "least", "most"),
    [
        ("SQRT(COUNT(*) - 3999)", 3999, math.inf),
        ("SQRT(4001 - COUNT(*))", 0, 4001),
        ("LN(COUNT(*) - 3998) * 0 + COUNT(*)", 3998, math.inf),
        ("SQRT(COUNT(*) - 1000)", 1000, math.inf),
        ("COUNT(*) - 4000", 0, math.inf),
    ],
)
def test_an_expression_that_may_have_no_value_says_so(
    chefs: prdp.Table, item: str, least: float, most: float
) -> None:
    texts = [f"SELECT {item} + {place} AS x FROM people" for place in range(20)]
    every = [chefs.sql(text, share="1/100")["x"][0] for text in texts]
    shown = [one for one in every if isinstance(one, ComputedAnswer)]  # others are NULL, as in SQL
    assert shown
    for one in shown:
        ((low, high),) = (part.interval() for part in one.parts.values())
        assert (NOTHING in one.excludes) == (low < least or high > most)


def test_of_several_rows_it_is_stated_of_some(chefs: prdp.Table) -> None:
    text = "SELECT job, AVG(age) AS x FROM people GROUP BY job"
    answers = chefs.sql(text, share="1/2", keys={"job": ["chef", "cook"]})
    assert NOTHING in str(answers)
    assert answers["x"][1] is None
    alone = chefs.sql(text, share="1/2", keys={"job": ["chef"]})
    assert NOTHING not in str(alone)


@pytest.mark.parametrize("query", [prdp.mean("age"), prdp.std("age"), prdp.min("age"), prdp.median("age")])
def test_a_table_of_groups_says_it_too_and_which_column_it_is(chefs: prdp.Table, query: Any) -> None:
    there, both = (
        simulate(chefs.group_by("job", keys=keys), [prdp.count(), query], share="1/2", runs=1, seed=3)[0]
        for keys in (["chef"], ["chef", "cook"])
    )
    name = both.asked[1]
    assert f"in some groups, {NOTHING}: the noise hides whether there are ({name})" in str(both)
    (_, chef), (_, cook) = both.releases
    assert NOTHING in cook.excludes
    assert NOTHING not in chef.excludes
    assert NOTHING not in str(there)
