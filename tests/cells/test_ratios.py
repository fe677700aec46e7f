"""What ratios of value to budget can be: every record within the bounds has one that is listed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import prdp
from prdp.cells.measure import Measure
from prdp.cells.ratios import possible_ratios
from prdp.cells.summary import CellColumns, Ratios, Summary
from prdp.mechanisms._threshold import Points
from prdp.plan.reads import CellRead

LOW, HIGH = 0, 10**6
POLICIES = {
    "10000 / v": 1,
    "v / 100": 1,
    "500 / power(ln(v + 2), 4)": 1,
    "3": 1,
    "e": 1,
    "e / (1 + v)": 1,
    "CASE WHEN v < 1000 THEN 8 WHEN v < 50000 THEN 0.5 ELSE 0.01 END": 3,
    "CASE WHEN v = 77 THEN 50 ELSE 0.01 END": 2,
    "CASE WHEN coalesce(v, 5) < 1000 THEN 8 WHEN e > 1 THEN 0.5 ELSE 0.01 END": 3,
    "CASE WHEN e > 1 THEN CASE WHEN v < 5 THEN 1 + 1 ELSE 0.02 END WHEN v < 0 THEN 50 ELSE 0.02 END": 2,
}


def read(policy: str, measure: Measure | None, values: np.ndarray) -> tuple[Summary, Ratios]:
    budgets = np.random.default_rng(1).uniform(0.01, 2, values.size)
    table = prdp.open(
        pyarrow.table({"v": values, "e": budgets}),
        policy=prdp.Policy(policy, at_most=100, at_least="0.001"),
        bounds={"v": (LOW, HIGH), "e": ("0.01", 2)},
        name="t",
    )
    reading = CellRead(table.policy, table.levels, table.bounds, measure, None)
    ratios = possible_ratios(reading)
    assert ratios is not None
    return table._engine.summarise(reading)[0], ratios


@pytest.mark.filterwarnings("ignore::prdp.errors.RecordsLeftOut")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("measure", [None, Measure("v", Fraction(1), LOW, HIGH)], ids=["count", "sum"])
def test_every_cell_has_a_ratio_that_is_listed(policy: str, measure: Measure | None) -> None:
    random = np.random.default_rng(0)
    values = np.concatenate([np.arange(0, 2000), random.integers(LOW, HIGH, 3000), [49_999, 50_000, HIGH]])
    summary, ratios = read(policy, measure, values)
    assert ratios.records
    for cell in summary.cells:
        size = cell.key.high if measure else 1
        ratio = Fraction(size, cell.key.quanta)
        assert size == 0 or any(low <= ratio <= high for low, high in ratios.values), cell.key
        assert any(low <= Fraction(1, cell.key.quanta) <= high for low, high in ratios.records)


@pytest.mark.filterwarnings("ignore::prdp.errors.RecordsLeftOut")
@pytest.mark.parametrize("policy", POLICIES)
def test_a_count_has_a_span_for_each_step_of_the_policy(policy: str) -> None:
    _, ratios = read(policy, None, np.array([5]))
    assert len(ratios.values) == POLICIES[policy]


def test_points_start_at_the_least_ratio_and_leave_gaps_away() -> None:
    spans = ((Fraction(1), Fraction(8)), (Fraction(100), Fraction(120)))
    summary = read("10000 / v", None, np.array([5]))[0]
    points = Points.spanning(Summary(summary.levels, 1, 1, CellColumns.of(()), Ratios(spans, spans)), 2)
    found = [float(points.per_quantum(place)) for place in range(len(points.numerators))]
    assert found == pytest.approx([1, 2**0.5, 2, 2**1.5, 4, 2**2.5, 8, 120], rel=1e-5)
    assert points.heights == (0, 2, 4, 6, 8, 10, 12, 27)


def test_a_policy_of_hundreds_of_steps_is_not_worked_out() -> None:
    steps = " ".join(f"WHEN v < {100 * step} THEN {10 if step % 2 else 0.1}" for step in range(1, 200))
    table = prdp.open(
        pyarrow.table({"v": np.arange(1000)}),
        policy=prdp.Policy(f"CASE {steps} ELSE 0.1 END"),
        bounds={"v": (LOW, HIGH)},
        name="t",
    )
    assert possible_ratios(CellRead(table.policy, table.levels, table.bounds, None, None)) is None
