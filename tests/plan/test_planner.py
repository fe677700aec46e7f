"""A planner knows public facts alone: equal facts give equal plans, and refusals come before any charge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.errors import InvalidRequest

QUERIES = (
    prdp.count(),
    prdp.sum("v"),
    prdp.mean("v"),
    prdp.variance("v"),
    prdp.max("v"),
    prdp.quantile("v", ("1/4", "3/4")),
    prdp.count_distinct("job"),
)


def table(rows: int, **options: Any) -> prdp.Table:
    columns = {"v": np.arange(rows) % 97, "job": np.array(["chef", "clerk", "none"])[np.arange(rows) % 3]}
    policy = prdp.Policy("10 / greatest(v, 1)")
    return prdp.open(columns, policy=policy, bounds={"v": (0, 100)}, name="t", **options)


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_plan_is_the_same_whatever_the_records_are(query: Any) -> None:
    few, many = table(3), table(3000)
    assert few.plan(query, share="1/3") == many.plan(query, share="1/3")
    by_job = [opened.group_by("job", keys=["chef", "cook"]) for opened in (few, many)]
    assert by_job[0].plan(query, share="1/3") == by_job[1].plan(query, share="1/3")


def test_parts_of_a_charge_are_what_was_asked_for() -> None:
    plan = table(9).plan(*QUERIES[:3], share="1/2", shares=["1/4", "1/6", "1/12"])
    assert [query.share for query in plan.queries] == [Fraction(1, 4), Fraction(1, 6), Fraction(1, 12)]
    assert [step.share for step in plan.queries[2].steps] == [Fraction(3, 16), Fraction(1, 16)]
    assert plan.queries[1].steps[0].share == Fraction(3, 16)  # the mean's, which has the shares of both
    assert [step.own_share for step in plan.queries[2].steps] == [Fraction(1, 16), Fraction(1, 48)]


def test_groups_choose_together_unless_the_policy_reads_what_tells_them_apart() -> None:
    opened = table(9)
    reported = opened.group_by("job", keys=["chef", "cook"]).plan(prdp.sum("v"), share=1)
    cut = opened.group_by(prdp.bins("v", [0, 10, 20])).plan(prdp.sum("v"), share=1)
    one = opened.group_by("job", keys=["chef"]).plan(prdp.sum("v"), share=1)
    assert [plan.queries[0].together for plan in (reported, cut, one)] == ["pooled", "", ""]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (prdp.sum("job"), "needs numbers"),
        (prdp.sum("nothing"), "names the column"),
        (prdp.graphs.edges(), "takes queries"),
        (prdp.quantile("v", "2"), "between 0 and 1"),
    ],
    ids=str,
)
def test_a_wrong_question_is_refused_and_nothing_is_charged(query: Any, words: str) -> None:
    opened = table(9)
    for ask in (opened.plan, opened.explain, opened.agg):
        with pytest.raises(InvalidRequest, match=words):
            ask(query, share="1/2")
    assert opened.ledger.entries == ()
