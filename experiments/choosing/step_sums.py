"""Sums under policies with a few budgets: one clipping point for all records, or one for each budget.

``python -m experiments.choosing.step_sums`` draws both from their laws, in floats, over the made-up sets;
``--data FOLDER`` over the real ones. Errors are in oracle clips, the best fixed *common* point.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow

import prdp
from experiments.choosing.cases import SHARES, Case, _case, sets
from experiments.choosing.figures import Branch, Figures
from experiments.choosing.laws import Floats
from experiments.choosing.rules import Rule, now
from experiments.datasets import CUT, LARGEST, DataSet
from experiments.yardsticks import oracle_clip
from prdp.cells.measure import Measure
from prdp.cells.ratios import possible_ratios
from prdp.plan.reads import CellRead
from prdp.testing.raw_cells import raw_cells

POLICIES = {
    "falls 10, 1, 0.1": "CASE WHEN v < 10000 THEN 10 WHEN v < 100000 THEN 1 ELSE 0.1 END",
    "falls 5, 0.1": "CASE WHEN v < 50000 THEN 5 ELSE 0.1 END",
    "rises 0.1, 5": "CASE WHEN v < 10000 THEN 0.1 ELSE 5 END",
    "some 5, 0.1": "CASE WHEN g < 2 THEN 0.1 ELSE 5 END",
    "some 2, 0.2, 0.02": "CASE WHEN g < 30 THEN 0.02 WHEN g < 80 THEN 0.2 ELSE 2 END",
    "near 2, 1": "CASE WHEN v < 20000 THEN 2 ELSE 1 END",
}
"""Budgets that fall or rise with what is added up, or that have nothing to do with it."""


@dataclass(frozen=True, slots=True)
class StepCase:
    """A sum, as a whole and by tiers.

    Attributes:
        whole: All records with one ladder.
        tiers: The records of each budget, with the ladder of the values that are possible with it.
        oracles: The error of the best fixed common point, for each share.
    """

    whole: Case
    tiers: tuple[Case, ...]
    oracles: tuple[float, ...]


def step_cases(folder: Path | None) -> Iterator[StepCase]:
    """Yield every set under every policy."""
    for data in sets(folder):
        groups = np.random.default_rng(2).integers(0, 100, data.values.size)
        for name, text in POLICIES.items():
            table = prdp.open(
                pyarrow.table({"v": data.values, "g": groups}),
                policy=prdp.Policy(text, at_most=100),
                bounds={"v": (CUT, LARGEST), "g": (0, 99)},
                name=data.name,
                stand_in=True,
            )
            yield _step_case(data, groups, name, table)


def _step_case(data: DataSet, groups: Floats, name: str, table: prdp.Table) -> StepCase:
    rows = {"v": data.values.tolist(), "g": groups.tolist()}
    kinds: dict[tuple[bool, ...], float] = {}
    budgets = np.empty(data.values.size)
    for place, (v, g) in enumerate(zip(rows["v"], rows["g"], strict=True)):
        kind = (v < 1e4, v < 2e4, v < 5e4, v < 1e5, g < 2, g < 30, g < 80)
        if kind not in kinds:
            kinds[kind] = table.policy.budget({"v": v, "g": g}) or 0.0
        budgets[place] = kinds[kind]
    values = data.values.astype(float)
    oracles = tuple(oracle_clip(values, budgets, float(s)) for s in SHARES)
    reading = CellRead(
        table.policy, table.levels, table.bounds, Measure("v", Fraction(1), CUT, LARGEST), None
    )
    (summary,) = raw_cells(table, reading)
    summary = replace(summary, ratios=possible_ratios(reading))
    whole = _case((data.name, name, "sum"), summary, float(values.sum()), oracles)
    steps = {
        "falls 10, 1, 0.1": {10: (CUT, 1e4), 1: (1e4, 1e5), 0.1: (1e5, LARGEST)},
        "falls 5, 0.1": {5: (CUT, 5e4), 0.1: (5e4, LARGEST)},
        "rises 0.1, 5": {0.1: (CUT, 1e4), 5: (1e4, LARGEST)},
        "near 2, 1": {2: (CUT, 2e4), 1: (2e4, LARGEST)},
    }.get(name)
    tiers = []
    for budget in {"some 5, 0.1": (5, 0.1), "some 2, 0.2, 0.02": (2, 0.2, 0.02)}.get(name, steps):
        ends = steps[budget] if steps else (CUT, LARGEST)
        tiers.append(tier_case(whole.name, values[np.isclose(budgets, budget)], budget, ends))
    return StepCase(whole, tuple(tiers), oracles)


def tier_case(name: tuple[str, str, str], values: Floats, budget: float, ends: tuple[float, float]) -> Case:
    """Return the records of one budget, with a ladder over the values that are possible with it."""
    heights = np.arange(0, int(np.ceil(4 * np.log2(ends[1] / ends[0]))) + 1)
    caps = np.minimum(ends[0] * 2 ** (heights / 4), ends[1])
    ordered = np.sort(values)
    held = np.concatenate(([0.0], np.cumsum(ordered)))
    place = np.searchsorted(ordered, caps * (1 + 1e-9), side="right")
    over = ordered.size - place
    pulls = held[-1] - held[place] - caps * over
    mass = budget * ordered.size
    return Case(name, caps / budget, heights, heights, budget * over, pulls, mass, float(held[-1]), ())


@dataclass(frozen=True, slots=True)
class Drawn:
    """Draws of a rule: how far each is from the truth without its noise, and its noise's scale."""

    pull: Floats
    scale: Floats


def drawn(
    case: Case, share: float, branches: Sequence[Branch], random: np.random.Generator, runs: int
) -> Drawn:
    """Draw where a rule clips."""
    chance = np.concatenate([branch.chances for branch in branches])
    scale = np.concatenate([case.points / (share * branch.part) for branch in branches])
    pull = np.concatenate([case.pulls for _ in branches])
    which = np.searchsorted(np.cumsum(chance / chance.sum()), random.random(runs))
    which = np.minimum(which, chance.size - 1)
    return Drawn(pull[which], scale[which])


def apart(
    case: StepCase,
    share: float,
    rule: Rule,
    random: np.random.Generator,
    runs: int,
    least: float,
    rise: float,
) -> tuple[Floats, Floats]:
    """Return errors where each tier has its own point, and whether the last tier was kept."""
    parts = [drawn(tier, share, rule(tier, share), random, runs) for tier in case.tiers]
    scale = np.array([part.scale for part in parts])
    noisy = np.array([t.truth - part.pull for t, part in zip(case.tiers, parts, strict=True)])
    noisy = noisy + random.laplace(0, 1, noisy.shape) * scale
    order = np.argsort(scale, axis=0)
    scale, noisy = (np.take_along_axis(array, order, 0) for array in (scale, noisy))
    heavy = np.abs(noisy) >= scale * (least + rise * np.log2(scale / scale[0]))
    heavy[0] = True
    kept = np.maximum.accumulate(heavy[::-1], axis=0)[::-1]
    truth = sum(tier.truth for tier in case.tiers)
    return np.abs((noisy * kept).sum(axis=0) - truth), kept.sum(axis=0)


def shape(errors: Floats) -> Figures:
    """Return the figures of errors."""
    errors = np.sort(errors)
    cut = errors.size // 5
    p90, p99 = np.quantile(errors, [0.9, 0.99])
    return Figures(float(errors[cut:-cut].mean()), float(p90), float(p99), float(errors.mean()))
