"""Width, coverage and missing ends of intervals whose tail factor is selected.

The constants of ``mechanisms/_tail.py`` were looked at on the made-up sets, and frozen before real ones:
python -m experiments.choosing.tails --runs 200 [--only lognormal] [--hostile] [--data folder]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet

import prdp
from prdp.cells.summary import Summary
from prdp.mechanisms.clip import FINEST_BITS, finer_bits
from prdp.plan.queries import Count, Sum
from prdp.release.bias import Clipping
from prdp.release.release import Release
from prdp.testing import simulate
from prdp.testing.truth import raw_cells

SHARES = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
FALLING = "10000 / greatest(abs(v), 100)"


@dataclass(frozen=True, slots=True)
class Case:
    """A table and a question about it, alone and by group."""

    name: str
    table: prdp.Table
    keys: Sequence[Any]
    query: Any


def case(  # noqa: PLR0917  (a row of the tables below)
    name: str, values: np.ndarray, query: Any, policy: str = FALLING, groups: Any = 8, low: int = 0
) -> Case:
    """Return a case; groups are many of one size, or the column that says them."""
    column = np.arange(len(values)) % groups if isinstance(groups, int) else np.asarray(groups)
    table = prdp.open(
        {"v": np.rint(values).astype(np.int64), "g": column},
        policy=prdp.Policy(policy, at_most=100),
        bounds={"v": (low, 10**9)},
        name=name,
        synthetic=True,
    )
    return Case(name, table, sorted(set(column.tolist())), query)


def made_up() -> Iterator[Case]:
    """Yield the sets on which constants were looked at."""
    random = np.random.default_rng(20261118)
    for size in (100_000, 10_000):
        for sigma in (0.5, 1.0, 1.5):
            values = 1000 * np.exp(random.normal(0, sigma, size))
            yield case(f"count lognormal {sigma} {size}", values, Count())
            yield case(f"sum lognormal {sigma} {size}", values, Sum("v"))
        for power in (1.3, 2.0):
            values = np.minimum(500 * random.random(size) ** (-1 / power), 10**9)
            yield case(f"count pareto {power} {size}", values, Count())
            yield case(f"sum pareto {power} {size}", values, Sum("v"))
        values = random.exponential(2000, size)
        yield case(f"sum exponential {size}", values, Sum("v"))
        yield case(f"sum flat {size}", values, Sum("v"), "1")
        yield case(f"sum children {size}", random.integers(0, 6, size), Sum("v"), "1")
        yield case(f"sum signed {size}", 500 * random.standard_t(4, size), Sum("v"), low=-(10**9))
        yield case(f"sum allows negatives {size}", values, Sum("v"), low=-(10**9))


def hostile() -> Iterator[Case]:
    """Yield sets made to mislead the rule: bumps beyond what is seen, clusters, steps."""
    random = np.random.default_rng(7)
    size = 50_000
    plain = 1000 * np.exp(random.normal(0, 0.7, size))
    for times in (3, 10, 30, 100, 1000):
        for bump in (20, 200):
            values = np.concatenate((plain, np.full(bump, 1000.0 * times)))
            yield case(f"sum bump of {bump} at {times}", values, Sum("v"), "1", groups=1)
            yield case(f"count bump of {bump} at {times}", values, Count(), groups=1)
    clusters = np.concatenate((random.normal(1000, 50, size), random.normal(40_000, 500, size // 50)))
    yield case("sum two clusters", clusters, Sum("v"), "1")
    yield case("count two clusters", clusters, Count())
    steps = "CASE WHEN v < 1000 THEN 10 WHEN v < 10000 THEN 1 ELSE 0.1 END"
    yield case("sum steps", plain, Sum("v"), steps)
    yield case("count steps", plain, Count(), steps)


def real(folder: Path) -> Iterator[Case]:
    """Yield the real sets that are in a folder: looked at after all constants were frozen."""
    for name, file, value, by, low in (
        ("Bank", "bank", "balance", "job", -(10**9)),
        ("CBP", "cbp_2021", "payroll_kusd", "state", 0),
        ("SF", "sf_salary", "total_pay", "year", -1000),
    ):
        rows = pyarrow.parquet.read_table(folder / f"{file}.parquet", columns=[value, by])
        values = rows[value].to_numpy(zero_copy_only=False)
        for query in (Count(), Sum("v")):
            yield case(
                f"{name} {type(query).__name__.lower()}", values, query, groups=rows[by].to_pylist(), low=low
            )


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One group's cells: what is true of it, and what an interval says of it."""

    summary: Summary

    @property
    def truth(self) -> float:
        """The true total."""
        return float(sum(self.summary.cells.total.tolist()))

    def said(self, release: Release) -> float:
        """Return the total in which records that the interval excludes count for what they were allowed."""
        pull = release.clipping
        if not isinstance(pull, Clipping) or pull.nothing:
            return self.truth
        return self._said(pull.at, pull.reached(None))

    @cache  # noqa: B019  (the groups of a case live as long as it does)
    def _said(self, at: Fraction, reached: tuple[Fraction, Fraction]) -> float:
        bits = finer_bits(self.summary, FINEST_BITS)
        fine = self.summary.refined(bits)
        cells, quantum = fine.cells, fine.levels.quantum
        cap, below, above = (
            cells.by_budget(lambda quanta, point=point: int(quanta * quantum * point))  # type: ignore[misc]
            for point in (at, *reached)
        )
        within = cells.high <= np.where(cells.sign > 0, above, below)
        return float(Fraction(sum(np.where(within, cells.total, cells.clipped(cap)).tolist()), 1 << bits))


def line(one: Case, share: Fraction, runs: int, seed: int, *, grouped: bool) -> str:
    """Return the measurements of one case at a share."""
    asked: Any = one.table.group_by("g", keys=list(one.keys)) if grouped else one.table
    plan = one.table.planner.plan([one.query], share, asked.grouping if grouped else None)
    cells = [found for found in raw_cells(one.table, plan) if isinstance(found, Summary)]
    counted = isinstance(one.query, Count)
    groups = [Group(found.counted() if counted else found) for found in cells]
    answers: Any = simulate(asked, one.query, share=share, runs=runs, seed=seed)
    widths, covered, said, missing, errors = [], [], [], [], []
    for place, group in enumerate(groups):
        drawn = [table.releases[place][0] for table in answers] if grouped else list(answers)
        error = float(np.quantile([abs(float(found) - group.truth) for found in drawn], 0.95))
        ends = np.array([found.interval() for found in drawn])
        there = np.isfinite(ends).all(axis=1)
        missing.append(1 - there.mean())
        covered.append(np.mean((ends[:, 0] <= group.truth) & (group.truth <= ends[:, 1])))
        excluded = np.array([group.said(found) for found in drawn])
        slack = 1e-9 * np.abs(excluded) + 1e-6
        said.append(np.mean((ends[:, 0] <= excluded + slack) & (excluded - slack <= ends[:, 1])))
        errors.append(error / max(group.truth, 1))
        if there.any() and error > 0:
            widths.append(float(np.median((ends[there, 1] - ends[there, 0]) / 2)) / error)
    mass = float(min(map(_mass, groups)) * share)
    return (
        f"{one.name:30}{share!s:>6}{'  by group' if grouped else '  alone   '}{mass:12,.0f}"
        f"{100 * np.median(errors):9.3f}{np.median(widths) if widths else np.nan:8.1f}"
        f"{max(widths, default=np.nan):8.1f}{np.mean(covered):8.3f}{np.mean(said):8.3f}{min(said):8.3f}"
        f"{100 * np.mean(missing):8.1f}"
    )


def _mass(group: Group) -> Fraction:
    cells = group.summary.cells
    return int(sum(cells.masses(1)[cells.high != 0].tolist())) * group.summary.levels.quantum


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument("--hostile", action="store_true", help="sets that are made to mislead the rule")
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{asked.runs} runs, seed {asked.seed}; errors and missing ends in %")
    print(
        f"{'set':30}{'share':>6}{'':10}{'mass/s':>12}{'error':>9}{'width':>8}{'worst':>8}{'covers':>8}"
        f"{'said':>8}{'worst':>8}{'missing':>8}"
    )
    for one in real(asked.data) if asked.data else hostile() if asked.hostile else made_up():
        if asked.only in one.name:
            for share in SHARES:
                for grouped in (False, True) if len(one.keys) > 1 else (False,):
                    print(line(one, share, asked.runs, asked.seed, grouped=grouped), flush=True)


if __name__ == "__main__":
    main()
