"""Lower bounds of what tables with a concentrated policy lose, from their answers alone.

Whoever sees nothing but answers, with a record and without it, compares how often they pass a threshold. A
divergence of two such chances is no larger than that of all answers (data processing), so that what is
certain of it is a lower bound of the record's loss. Thresholds are chosen on other draws than those that
are counted.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import prdp
from prdp.testing import Seeded
from tests.statistical.thresholds import P_THRESHOLD, SEED

pytestmark = pytest.mark.slow

DRAWS = 10_000
THRESHOLDS = 15
ORDERS = (1.05, 1.5, 2.0, 4.0, 8.0, 16.0)

OTHERS = [(10, 1.0)] * 40 + [(3, 0.2)] * 10
RECORD = (100, 2.0)
"""A value and what its record may lose, P(r)."""

CASES = [(prdp.count(), "1"), (prdp.sum("v"), "p")]


def answers(rows: list[tuple[int, float]], query: Any, policy: str, seed: int) -> NDArray[np.float64]:
    """Return many answers of a table, drawn with the whole share."""
    columns = {"v": np.array([value for value, _ in rows]), "p": np.array([p for _, p in rows])}
    table = prdp.open(
        columns,
        policy=prdp.Policy(policy, at_least="1/10", at_most=4, notion="zcdp"),
        bounds={"v": (0, 1000)},
        synthetic=True,
    )
    drawn: Any = table.plan(query, share=1).draw(table._reader, Seeded(seed), DRAWS)
    return np.array([float(one.releases[0][0].exact) for one in drawn])


def chances(passed: int, draws: int) -> tuple[float, float]:
    """Return what a chance is between, except with a probability far below the threshold of a test."""
    failure = P_THRESHOLD / (8 * THRESHOLDS)
    low = stats.beta.ppf(failure, passed, draws - passed + 1) if passed else 0.0
    high = stats.beta.ppf(1 - failure, passed + 1, draws - passed) if passed < draws else 1.0
    return float(low), float(high)


def divergence(p: float, q: float, order: float) -> float:
    """Return the divergence of two chances, over its order."""
    parts = ((p, q), (1 - p, 1 - q))
    whole = math.fsum(one**order * other ** (1 - order) for one, other in parts if one)
    return math.log(whole) / (order - 1) / order


def certain_loss(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the largest divergence over its order that is certain of two samples."""
    half = len(one) // 2
    places = np.linspace(0.01, 0.99, THRESHOLDS)
    thresholds = np.quantile(np.concatenate([one[:half], other[:half]]), places)
    found = 0.0
    for threshold in thresholds:
        (low, high), (other_low, other_high) = (
            chances(int((sample[half:] > threshold).sum()), len(sample) - half) for sample in (one, other)
        )
        if high < other_low:
            pairs = [(high, other_low), (other_low, high)]
        elif other_high < low:
            pairs = [(low, other_high), (other_high, low)]
        else:
            continue
        found = max(found, *(divergence(*pair, order) for pair in pairs for order in ORDERS))
    return found


@cache
def loss_of(query: Any, policy: str) -> float:
    """Return what is certain of the record's loss with the whole share."""
    return certain_loss(
        answers([*OTHERS, RECORD], query, policy, SEED), answers(OTHERS, query, policy, SEED + 1)
    )


@pytest.mark.parametrize(("query", "policy"), CASES, ids=str)
def test_no_lower_bound_is_above_what_a_record_may_lose(query: Any, policy: str) -> None:
    assert loss_of(query, policy) <= (1.0 if policy == "1" else RECORD[1])


@pytest.mark.parametrize(("query", "policy"), CASES, ids=str)
def test_a_table_that_loses_4_times_as_much_is_found_out(query: Any, policy: str) -> None:
    """Its answers are those of the policy, its promise a fourth of that."""
    assert loss_of(query, policy) > (1.0 if policy == "1" else RECORD[1]) / 4
