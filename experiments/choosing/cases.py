"""The cases that rules are compared on: tables, policies and questions, through the library's cells.

Synthetic sets are for tuning; the real ones are only for measuring what was tuned on the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow
from numpy.typing import NDArray

import prdp
from experiments.datasets import CUT, LARGEST, DataSet, normal, real
from experiments.yardsticks import oracle_clip
from prdp.cells.measure import Measure
from prdp.cells.ratios import possible_ratios
from prdp.cells.summary import Summary
from prdp.mechanisms._threshold import Points, RecordCandidates
from prdp.mechanisms.clipped_tiers import ClippedTiers
from prdp.plan import queries
from prdp.plan.reads import CellRead
from prdp.testing.truth import raw_cells

Floats = NDArray[np.float64]

POLICIES = {
    "inverse": "10000 / v",
    "log": "500 / power(ln(v), 4)",
    "sqrt": "8 / sqrt(v)",
    "stepwise": "CASE WHEN v < 10000 THEN 10 WHEN v < 100000 THEN 1 ELSE 0.1 END",
    "personal": "e",
}
STEPS = {
    "10, 1, 0.1": POLICIES["stepwise"],
    "5, 0.1": "CASE WHEN v < 50000 THEN 5 ELSE 0.1 END",
    "1, 0.01": "CASE WHEN v < 1000000 THEN 1 ELSE 0.01 END",
    "20, 2, 0.2, 0.02": "CASE WHEN v < 3000 THEN 20 WHEN v < 30000 THEN 2 "
    "WHEN v < 300000 THEN 0.2 ELSE 0.02 END",
    "3, 0.3": "CASE WHEN v < 20000 THEN 3 ELSE 0.3 END",
}
"""Budgets that fall by steps: sums under them have a clipping point for each (``step_sums.py``)."""
QUERIES: dict[str, queries.Count | queries.Sum] = {"count": prdp.count(), "sum": prdp.sum("v")}
SHARES = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
REAL = ("Bank", "SF", "CBP")


@dataclass(frozen=True, slots=True)
class Case:
    """A question about a table, reduced to what decides the error of a clipping rule.

    Attributes:
        name: Set, policy and question.
        points: The public clipping points, a quarter of an octave apart, in units of the answer for each
            unit of budget; from the foot of each span of possible ratios up.
        heights: How high each is above the first, in quarters of an octave.
        above_foot: How many points are below each in its span.
        masses: The budget mass that each point clips.
        pulls: By how much each point pulls the answer below the truth.
        mass: The budget mass of all records.
        truth: The answer itself.
        oracles: The error of the best fixed point, for each of ``SHARES``.
        tiers: Where each span of possible ratios finds a point of its own, the records of each.
    """

    name: tuple[str, str, str]
    points: Floats
    heights: NDArray[np.int64]
    above_foot: NDArray[np.int64]
    masses: Floats
    pulls: Floats
    mass: float
    truth: float
    oracles: tuple[float, ...]
    tiers: tuple[Case, ...] = ()


def synthetic_sets(seed: int = 0) -> Iterator[DataSet]:
    """Yield the synthetic sets."""
    random = np.random.default_rng(seed)
    yield normal("Normal(50k)", 50_000)
    yield normal("Normal(500k)", 500_000)
    shapes = {
        "Zipf(3)": 1e4 * (random.random(200_000) ** (-1 / 2) - 1),
        "Zipf(5)": 1e4 * (random.random(200_000) ** (-1 / 4) - 1),
        "lognormal": random.lognormal(np.log(2e4), 1.5, 50_000),
        "Pareto": 1e3 * random.random(100_000) ** (-1 / 1.3),
        "uniform": random.uniform(CUT, 2e5, 30_000),
        "point mass": np.full(30_000, 5e4),
        "two clusters": np.concatenate([random.normal(2e3, 300, 100_000), random.normal(1e6, 1e5, 300)]),
    }
    for name, draws in shapes.items():
        values = np.rint(draws).astype(np.int64)
        yield DataSet(name, np.minimum(values[values >= CUT], LARGEST))


def sets(folder: Path | None) -> Iterator[DataSet]:
    """Yield the real sets in a folder, or the synthetic ones where none is given."""
    if folder is None:
        yield from synthetic_sets()
        return
    for name in REAL:
        found = real(name, folder)
        if found is None:
            print(f"{name}: left out, its file is not in {folder}")
        else:
            yield found


def personal_budgets(size: int) -> Floats:
    """Draw budgets that have nothing to do with the values: some people are careful, a few are not."""
    return np.random.default_rng(1).choice([0.02, 0.2, 2.0], size, p=[0.3, 0.5, 0.2])


def opened(data: DataSet, policy: str) -> prdp.Table:
    """Open a set under a policy."""
    columns = {"v": data.values, "e": personal_budgets(data.values.size)}
    return prdp.open(
        pyarrow.table(columns),
        policy=prdp.Policy((POLICIES | STEPS)[policy], at_most=100),
        bounds={"v": (CUT, LARGEST), "e": ("0.001", 100)},
        name=data.name,
        synthetic=True,
    )


def budgets_of(data: DataSet, table: prdp.Table, policy: str) -> Floats:
    """Return the budget of every record."""
    if policy == "personal":
        return personal_budgets(data.values.size)
    distinct, where = np.unique(data.values, return_inverse=True)
    return np.array([table.policy.budget({"v": int(v), "e": 1.0}) for v in distinct], float)[where]


def cases(
    folder: Path | None, policies: tuple[str, ...] = tuple(POLICIES), asked: tuple[str, ...] = tuple(QUERIES)
) -> Iterator[Case]:
    """Yield every case."""
    for data in sets(folder):
        for policy in policies:
            table = opened(data, policy)
            budgets = budgets_of(data, table, policy)
            for query in asked:
                values = data.values.astype(float) if query == "sum" else np.ones(data.values.size)
                oracles = tuple(oracle_clip(values, budgets, float(s)) for s in SHARES)
                measure = Measure("v", Fraction(1), CUT, LARGEST) if query == "sum" else None
                reading = CellRead(table.policy, table.levels, table.bounds, measure, None)
                (summary,) = raw_cells(table, reading)
                summary = replace(summary, ratios=possible_ratios(reading))
                if query == "count":
                    summary = summary.refined(20)
                yield _case((data.name, policy, query), summary, float(values.sum()), oracles)


def _case(name: tuple[str, str, str], summary: Summary, truth: float, oracles: tuple[float, ...]) -> Case:
    quantum = float(summary.levels.quantum)
    round_to = 2.0**-20 if name[2] == "count" else 1.0
    points = Points.spanning(summary, 1)
    steps = np.array([float(points.per_quantum(j)) for j in range(len(points.numerators))])
    cells = summary.cells
    columns = (cells.quanta, cells.low, cells.high, cells.count, cells.total)
    quanta, low, high, count, total = (column.astype(float) for column in columns)
    pulls = np.empty(steps.size)
    for place, step in enumerate(steps):
        cap = np.floor(quanta * step * (1 + 1e-12))
        clipped = np.where(high <= cap, total, count * np.minimum(low, cap))
        pulls[place] = truth - round_to * float(clipped.sum())
    candidates = RecordCandidates(summary)
    masses = np.array(candidates.masses(1, 1), float) * quantum
    heights = np.array(points.heights)
    feet = np.flatnonzero(np.diff(heights, prepend=-2) > 1)
    above_foot = np.arange(heights.size) - feet[np.searchsorted(feet, np.arange(heights.size), "right") - 1]
    mass = candidates.mass(1) * quantum
    whole = Case(name, steps * round_to / quantum, heights, above_foot, masses, pulls, mass, truth, oracles)
    return replace(whole, tiers=tuple(_tiers(name, summary))) if name[2] == "sum" else whole


def _tiers(name: tuple[str, str, str], summary: Summary) -> Iterator[Case]:
    """Yield the tiers of a sum that find a point each."""
    tiers = ClippedTiers.of(summary, Fraction(1))
    for part in tiers.parts(summary) if tiers else ():
        yield _case(name, part, float(part.cells.total.astype(float).sum()), ())
