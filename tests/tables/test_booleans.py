"""Truth values are the numbers 0 and 1 where they are added up."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import prdp
from prdp.testing.truth import truths

N = 4000
ACTIVE = np.random.default_rng(2).random(N) < 0.3
AGES = np.arange(N) % 90


def people(**options: Any) -> prdp.Table:
    frame = pd.DataFrame({"active": pd.array(ACTIVE, dtype="boolean"), "age": AGES, "who": np.arange(N) // 4})
    frame.loc[::10, "active"] = pd.NA
    source = pl.from_pandas(frame).lazy() if options.get("engine") == "polars" else frame
    chosen: dict[str, Any] = {"policy": 20, "bounds": {"age": (0, 120)}} | options
    return prdp.open(source, name="people", **chosen)


KNOWN = np.arange(N) % 10 != 0


def true(table: prdp.Table, query: Any) -> Fraction:
    (plan,) = table.plan(query, share="1").queries
    [[value]] = [truths(plan, cells) for cells in table._reader.read(plan.read)]
    return value


@pytest.mark.parametrize("options", [{}, {"privacy_unit": "who"}, {"engine": "polars"}])
@pytest.mark.parametrize("text", ["active", "CAST(active AS INTEGER)", "CAST(active AS DOUBLE)"])
def test_sums_and_means_of_truth_values(options: dict[str, Any], text: str) -> None:
    table = people(**options)
    assert true(table, prdp.sum(text)) == ACTIVE[KNOWN].sum()
    assert true(table, prdp.mean(text)) == Fraction(int(ACTIVE[KNOWN].sum()), int(KNOWN.sum()))
    assert true(table, prdp.sum("age > 30")) == (AGES > 30).sum()


def test_the_bounds_are_0_and_1_also_through_a_cast() -> None:
    for text in ("active", "CAST(active AS INTEGER)", "CAST(active AS BIGINT)", "CAST(age > 30 AS INTEGER)"):
        (plan,) = people().plan(prdp.sum(text), share="1").queries
        assert plan.measure is not None
        assert (plan.measure.low, plan.measure.high, plan.measure.round_to) == (0, 1, Fraction(1))
    wide = "CAST(CAST(age AS VARCHAR) AS INTEGER)"
    (plan,) = people().plan(prdp.sum(wide), share="1").queries
    assert plan.measure is not None
    assert plan.measure.high >= 2**31 - 1


def test_a_cast_is_no_worse_than_a_case() -> None:
    widths = []
    for text in ("active", "CAST(active AS INTEGER)", "CASE WHEN active THEN 1 WHEN NOT active THEN 0 END"):
        low, high = people().sum(text, share="1/2").interval()
        assert low is not None
        assert high is not None
        widths.append(high - low)
    assert max(widths) < 2 * min(widths)


def test_a_policy_may_count_truth_values() -> None:
    policy = prdp.Policy("1 + 4 * CAST(active AS INTEGER)")
    table = people(policy=policy)
    assert (table.policy.at_least, table.policy.at_most) == (Fraction(1), Fraction(5))


def test_answers_and_statements_call_the_column_by_its_name() -> None:
    table = people()
    share_active = table.mean("active", share="1/4")
    assert share_active.question == "mean of active"
    assert share_active.value == pytest.approx(ACTIVE[KNOWN].mean(), abs=0.02)
    assert table.std("active", share="1/4").value == pytest.approx(ACTIVE[KNOWN].std(), abs=0.02)
    answers = table.sql("SELECT SUM(active) AS s, AVG(CAST(active AS INTEGER)) AS a FROM people", share="1/2")
    total, mean = map(float, answers.rows[0])  # type: ignore[arg-type]
    assert total == pytest.approx(ACTIVE[KNOWN].sum(), rel=0.05)
    assert mean == pytest.approx(ACTIVE[KNOWN].mean(), abs=0.02)


def test_the_same_question_however_it_is_written() -> None:
    table = people()
    first = table.sum("active", share="1/4")
    assert table.sum("CAST(active AS INTEGER)", share="1/4").value == first.value
    assert table.remaining == Fraction(3, 4)
