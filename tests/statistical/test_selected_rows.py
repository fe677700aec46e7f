"""Rows that are selected or sorted by noisy answers: intervals hold in 95 % of runs, whichever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from scipy.stats import binomtest

import prdp
from experiments.intervals import KINDS, DataSet, found, measured
from prdp.release.release import Release
from prdp.release.table import ReleaseTable
from prdp.testing import Seeded, simulate
from tests.statistical.thresholds import P_THRESHOLD

pytestmark = pytest.mark.slow  # many simulated releases

RUNS = 300
GROUPS = 40
EACH = 50  # records of every group, so that nothing but noise tells groups apart
MANY = 56  # more than the interval of one row reaches
KEYS = list(range(GROUPS))

_RNG = np.random.default_rng(20261118)
_VALUES = _RNG.permuted(np.tile(np.arange(1, EACH + 1), (GROUPS, 1)), axis=1).ravel()
POLICIES = {"alike": "1", "by value": "least(20 / v, 4)"}


def data_set(policy: str) -> DataSet:
    return DataSet("t", _VALUES, np.repeat(KEYS, EACH), policy=POLICIES[policy], bounds=(1, EACH))


def opened(policy: str) -> prdp.Table:
    return data_set(policy).table


SELECTIONS: dict[str, Callable[[ReleaseTable], ReleaseTable]] = {
    "the largest": lambda table: table.top(1),
    "the three largest": lambda table: table.top(3),
    "the largest of the largest": lambda table: table.top(10).top(1),
    "the first when sorted": lambda table: table.sort(),
    "the smallest": lambda table: table.sort(descending=False),
    "large ones": lambda table: table.filter(lambda _key, one: one.value > MANY),
}


def all_hold(rows: Sequence[Release], truth: float) -> bool:
    return all(low <= truth <= high for low, high in (row.interval() for row in rows))


def refuted(held: Sequence[bool]) -> bool:
    """Return whether so few runs, all of whose selected rows hold the truth, refute 95 %."""
    return bool(binomtest(sum(held), len(held), 0.95, alternative="less").pvalue < P_THRESHOLD)


@pytest.mark.parametrize("kind", ["count", "mean"])
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_whichever_rows_answers_select_all_their_intervals_hold(policy: str, kind: str) -> None:
    """Excluded records count for what they were allowed, as the interval states."""
    data = data_set(policy)
    groups = data.table.group_by("g", keys=KEYS)
    of_each = found(data, kind, grouped=True)[0]  # all groups hold the same values
    tables = simulate(groups, [KINDS[kind]], share="1/2", runs=RUNS, seed=21)
    for select in SELECTIONS.values():
        kept = [[row[0] for row in select(table).releases[:3]] for table in tables]
        assert not refuted([all(measured(of_each, [row]).said == 1 for row in rows) for rows in kept])


def test_intervals_of_one_row_per_unit_would_not_hold() -> None:
    """The twin: each selected row has the interval that it would have if it had been named beforehand."""
    groups = opened("alike").group_by("g", keys=KEYS)
    tables = simulate(groups, [prdp.count()], share="1/2", runs=RUNS, seed=22)
    for select in SELECTIONS.values():
        kept = [[replace(row[0], among=1) for row in select(table).releases[:3]] for table in tables]
        assert refuted([all_hold(rows, EACH) for rows in kept])


@pytest.mark.parametrize(
    "rest",
    [f"HAVING COUNT(*) > {MANY}", "ORDER BY n DESC LIMIT 1", "ORDER BY low(n) DESC LIMIT 2", "ORDER BY n"],
)
def test_rows_that_a_statement_selects_by_answers_hold_the_truth(
    rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = count(23)
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", lambda: Seeded(next(seeds)))
    table = opened("alike")
    held, apart = [], []
    for _ in range(RUNS // 2):
        text = f"SELECT g, COUNT(*) AS n, COUNT(*) * 2 AS twice FROM t GROUP BY g {rest}"
        found = table.sql(text, share="1/2", keys={"g": KEYS})["n"]
        rows = [cell for cell in found if isinstance(cell, Release)]
        assert all(row.among == GROUPS for row in rows)
        held.append(all_hold(rows, EACH))
        apart.append(all_hold([replace(row, among=1) for row in rows], EACH))
    assert not refuted(held)
    assert refuted(apart), "the twin"
