"""Whoever a sum counts in full at a point, count and squares count in full at the points that follow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from prdp.cells.measure import Measure
from prdp.cells.summary import CellKey, Summary
from prdp.engines.duckdb.engine import open_source
from prdp.mechanisms.following import PairedPoints
from prdp.plan.reads import CellRead
from prdp.policy import Policy

ONE = Fraction(1)
POLICIES = (
    "10000 / v",
    "8 / sqrt(greatest(v, 1))",
    "500 / power(ln(greatest(v, 3)), 4)",
    "CASE WHEN v < 1000 THEN 10 WHEN v < 20000 THEN 1 ELSE 0.1 END",
    "1 + 0 * v",
)
LARGEST = 10**6
MEASURE = Measure("v", ONE, 0, LARGEST, squares=True)
POINTS = [Fraction(2) ** octaves for octaves in range(-8, 44)]


def opened(text: str) -> tuple[Summary, PairedPoints]:
    """Return the cells of many values, some of them above the bounds, and the pairs of a policy."""
    values = np.unique(np.geomspace(1, 4 * LARGEST, 1500).astype(np.int64))
    engine = open_source({"v": values}, None)
    bounds = {"v": (Fraction(0), Fraction(LARGEST))}
    policy = Policy(text, at_most=100, at_least="1/1000").within(engine.schema, bounds)
    summary = engine.summarise(CellRead(policy, policy.deep_levels, bounds, MEASURE, None))[0]
    found = PairedPoints.of(policy, policy.deep_levels, MEASURE)
    assert found is not None
    return summary, found


def whole(key: CellKey, high: int | Fraction, point: Fraction, quantum: Fraction) -> bool:
    return high <= key.quanta * quantum * point


@pytest.mark.parametrize("text", POLICIES)
@pytest.mark.parametrize("center", [Fraction(0), Fraction(1401, 2), Fraction(60_000)])
def test_whoever_is_whole_in_the_sum_is_whole_in_what_follows(text: str, center: Fraction) -> None:
    summary, pairs = opened(text)
    quantum = summary.levels.quantum
    squares = dict(zip(POINTS, pairs.squared(POINTS, center), strict=True))
    for cell in summary.cells:
        key = cell.key
        square = max(abs(key.low - center), abs(key.high - center)) ** 2
        for point in POINTS:
            if whole(key, key.high, point, quantum):
                assert whole(key, 1, pairs.counted(point), quantum)
                assert whole(key, square, squares[point], quantum)


@pytest.mark.parametrize("text", POLICIES)
def test_points_that_follow_only_rise_and_are_no_higher_than_some_record_needs(text: str) -> None:
    """But for a cell: with records of every magnitude, one that needs nearly as much is whole nearly there.

    A magnitude that a step of the policy cuts may have any budget in between.
    """
    summary, pairs = opened(text)
    quantum = summary.levels.quantum
    counts = [pairs.counted(point) for point in POINTS]
    assert counts == sorted(counts)
    for point, follows in zip(POINTS, counts, strict=True):
        keys = [cell.key for cell in summary.cells if whole(cell.key, cell.key.high, 2 * point, quantum)]
        if 0 < len(keys) < len(summary.cells):
            assert follows <= (10 if "CASE" in text else 2) / (min(key.quanta for key in keys) * quantum)


def test_there_are_none_where_the_policy_does_not_tell_them() -> None:
    def of(text: str, measure: Measure = MEASURE) -> PairedPoints | None:
        policy = Policy(text, at_most=100, at_least="1/1000")
        return PairedPoints.of(policy, policy.levels, measure)

    assert of("10000 / v") is not None
    assert of("e") is None  # it has nothing to do with the values
    assert of("10000 / greatest(v, e)") is None
    assert of("v / 100 + 1") is None  # budgets that grow
    assert of("CASE WHEN v < 100 THEN 1 WHEN v < 1000 THEN 5 ELSE 1 END") is None
    assert of("10000 / greatest(abs(v), 100)", Measure("v", ONE, -LARGEST, LARGEST)) is None
    assert (
        PairedPoints.of(Policy("10000 / v"), Policy("10000 / v", at_most=1, at_least=1).levels, None) is None
    )
