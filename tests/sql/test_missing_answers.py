"""A mean of no values is NULL in all that is computed from it, and intervals hold what the noise hides."""

from __future__ import annotations

from itertools import count

import numpy as np
import pandas as pd
import pytest

import prdp
from prdp.release.release import Release
from prdp.sql.estimates import ComputedAnswer
from prdp.testing import Seeded

FEW, MANY = 3, 50
GROUPS = "(SELECT job, AVG(age) AS a FROM staff GROUP BY job)"


@pytest.fixture(autouse=True)
def _no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each answer bytes of its own: the same in every run."""
    seeds = count(38)
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", lambda: Seeded(next(seeds)))


def opened(policy: prdp.Policy) -> prdp.Table:
    """Return 995 chefs of one age, 5 cooks of another, and no clerk."""
    chef = np.arange(1000) < 995
    frame = pd.DataFrame({"job": np.where(chef, "chef", "cook"), "age": np.where(chef, MANY, FEW)})
    return prdp.open(frame, policy=policy, bounds={"age": (0, 100)}, name="staff", synthetic=True)


def rows(text: str) -> list[tuple[object, ...]]:
    table = opened(prdp.Policy.constant(10**9))
    return table.sql(text, share="1/4", keys={"job": ["chef", "cook", "clerk"]}).values


def test_null_is_replaced_and_tested_as_in_sql() -> None:
    a = "AVG(age)"
    text = f"SELECT COALESCE({a}, -7), CASE WHEN {a} IS NULL THEN 1 ELSE 0 END FROM staff GROUP BY job"
    assert rows(text) == [(pytest.approx(MANY), 0), (pytest.approx(FEW), 0), (-7, 1)]


def test_aggregates_of_results_pass_over_null_as_in_sql() -> None:
    (found,) = rows(f"SELECT SUM(a), COUNT(a), AVG(a), MIN(a), MAX(a) FROM {GROUPS}")
    wanted = (MANY + FEW, 2, (MANY + FEW) / 2, FEW, MANY)
    assert found == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("function", ["MIN", "SUM", "COUNT", "AVG"])
def test_intervals_hold_a_group_whose_rows_the_noise_hides(function: str) -> None:
    truth = {"MIN": FEW, "SUM": MANY + FEW, "COUNT": 2, "AVG": (MANY + FEW) / 2}[function]
    table = opened(prdp.Policy.constant(1))
    hidden = 0
    for _ in range(10):
        text = f"SELECT {function}(a) AS x, COUNT(a) AS n FROM {GROUPS}"
        ((x, n),) = table.sql(text, share="1/5", keys={"job": ["chef", "cook"]}).rows
        assert isinstance(x, Release | ComputedAnswer)
        assert isinstance(n, Release | ComputedAnswer)
        low, high = x.interval()
        assert low <= truth <= high
        hidden += n.value == 1
    assert hidden


def test_an_extreme_of_selected_results_holds_those_that_may_be_selected() -> None:
    table = opened(prdp.Policy.constant(1))
    text = (
        "SELECT MIN(n) FILTER (WHERE n > 100) AS x FROM (SELECT job, COUNT(*) AS n FROM staff GROUP BY job)"
    )
    for _ in range(5):
        x = table.sql(text, share="1/100", keys={"job": ["chef", "cook"]}).rows[0][0]
        assert isinstance(x, Release | ComputedAnswer)
        low, high = x.interval()
        assert low <= 995 <= high
        assert low <= 101  # the cooks may be as many
