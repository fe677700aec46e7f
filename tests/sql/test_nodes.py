"""Statements are read as trees of the row language: the very ones that its own text would be read as."""

from __future__ import annotations

import time

import pytest

import prdp
from prdp.expressions.nodes import canonical
from prdp.expressions.parse import parse
from prdp.sql.execute import relations_of
from prdp.sql.statement import Compiled
from tests.sql.fixtures import Fixture, compiled_in, fixtures, opened
from tests.sql.worlds import WORLDS

READ = [fixture for fixture in fixtures() if not fixture.refused]
FEW_SECONDS = 20


@pytest.mark.parametrize("fixture", READ, ids=lambda fixture: f"{fixture.file}: {fixture.name}")
def test_what_is_asked_reads_back_as_the_same_tree(fixture: Fixture) -> None:
    """A ledger keeps the text: were it another tree's, two questions would share one answer."""
    statement = compiled_in(WORLDS[fixture.world], opened(fixture.world), fixture.text)
    for asked in relations_of(statement):
        if not isinstance(asked, Compiled) or asked.queryable is None:
            continue
        planner = asked.queryable.planner
        trees = [planner.where, *(item.checked.node for item in asked.groups)]
        trees += [getattr(query.known(planner.schema), "expression", None) for query in asked.queries]
        for tree in trees:
            assert tree is None or parse(canonical(tree)) == tree


def refusal(text: str, **given: object) -> prdp.InvalidRequest:
    with pytest.raises(prdp.InvalidRequest) as refused:
        opened("accounts").explain_sql(text, share="1/10", **given)
    return refused.value


def test_a_condition_that_is_none_is_underlined_where_it_is() -> None:
    wrong = refusal("SELECT COUNT_IF(age + 1) FROM accounts")
    assert isinstance(wrong, prdp.errors.SqlError)
    assert wrong.reason == "this is a number, and a true or false is needed here"
    assert wrong.text[slice(*wrong.span)] == "age + 1"


@pytest.mark.parametrize("value", ["a\0b", "a\ud800b", float("inf")], ids=["NUL", "half", "infinity"])
def test_a_public_value_that_no_text_could_say_is_refused(value: object) -> None:
    column = "age" if isinstance(value, float) else "job"
    text = f"SELECT COUNT(*) FROM accounts WHERE {column} IN (SELECT x FROM odd)"
    assert "neither a finite number" in str(refusal(text, tables={"odd": {"x": [value]}}))


def test_parts_that_stand_twice_in_a_tree_do_not_double_without_end() -> None:
    inner = "age"
    for _ in range(22):
        inner = f"CASE WHEN {inner} BETWEEN 1 AND 2 THEN 1 ELSE 0 END"
    start = time.perf_counter()
    wrong = refusal(f"SELECT SUM({inner}) FROM accounts")
    assert "says too much" in str(wrong)
    assert time.perf_counter() - start < FEW_SECONDS


def test_subqueries_nest_no_deeper_than_a_filter_does() -> None:
    steps = "".join(f", t{k + 1} AS (SELECT abs(a) AS a FROM t{k})" for k in range(60))
    text = f"WITH t0 AS (SELECT age AS a FROM accounts){steps} SELECT SUM(a) FROM t60"
    assert "nests more than 32 levels deep" in str(refusal(text))


def test_the_planner_says_by_a_value_what_is_missing() -> None:
    accounts = opened("accounts")
    for of, cause in (("exp(balance)", "range"), ("1 / (balance - 5)", "range")):
        with pytest.raises(prdp.errors.PlanRefusal) as refused:
            accounts.plan(prdp.sum(of), share="1/10")
        assert refused.value.cause == cause
