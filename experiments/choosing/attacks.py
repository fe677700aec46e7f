"""A search for tables on which what an interval says holds in fewer than 95 % of the runs.

    python -m experiments.choosing.attacks --tables 300 --runs 300 --generations 4

Tables are made of a body and of bumps of equal values, of one sign or both, in many groups that are alike or
differ, in units, at tiny budgets, with their mass near what the choice of a threshold may leave. Those that
miss most often are changed at random and asked again; last, the worst are asked anew, with noise that they
were not selected by.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import prdp
from experiments.intervals import INVERSE, KINDS, STEPS, DataSet, found, measured, warm_started
from prdp.testing import simulate

SHARES = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
POLICIES = (INVERSE, "1", STEPS)
MOST = 10**9
RECORDS = 200_000


@dataclass(frozen=True, slots=True)
class Shape:
    """A table to be made, and what is asked of it.

    Attributes:
        kind: Of the answers.
        share: The share.
        policy: The policy.
        body: Records of the body, and how far their logarithms spread.
        bumps: Octaves of a value above the body's middle, with its sign; and its mass, times the share.
        groups: The number of groups; one for an answer alone.
        alike: Whether bumps are in all groups; else each is in one, and only those groups are looked at.
        warm: Whether an answer alone starts from an earlier one.
        rows: The most rows of a unit; 1 for records.
        signed: Whether the bounds allow both signs.
        far: Octaves from the highest value to the bounds.
    """

    kind: str
    share: Fraction
    policy: str
    body: tuple[int, float]
    bumps: tuple[tuple[float, int, float], ...]
    groups: int
    alike: bool
    warm: bool
    rows: int
    signed: bool
    far: float

    @classmethod
    def drawn(cls, random: np.random.Generator) -> Shape:
        """Draw a shape; not a count under one budget for all, of which nothing is clipped."""
        policy = POLICIES[min(2, int(random.integers(5)) // 2)]
        return cls(
            kind=str(random.choice(["sum", "sum", "mean", "median", "sum" if policy == "1" else "count"])),
            share=SHARES[int(random.integers(3))],
            policy=policy,
            body=(int(10 ** random.uniform(0.5, 4.7)), float(random.uniform(0, 2))),
            bumps=tuple(_bump(random) for _ in range(random.integers(1, 5))),
            groups=int(random.choice([1, 1, 1, 8, 40])),
            alike=bool(random.random() < 0.5),
            warm=bool(random.random() < 0.5),
            rows=int(random.choice([1, 1, 1, 4])),
            signed=bool(random.random() < 0.3),
            far=float(random.uniform(0, 12)),
        )

    def changed(self, random: np.random.Generator) -> Shape:
        """Return nearly the same shape."""
        bumps = [
            (place + random.normal(0, 0.4), sign, mass * math.exp(random.normal(0, 0.3)))
            for place, sign, mass in self.bumps
        ]
        if random.random() < 0.3:
            bumps[int(random.integers(len(bumps)))] = _bump(random)
        size, spread = self.body
        size = max(1, int(size * math.exp(random.normal(0, 0.4))))
        return replace(
            self, bumps=tuple(bumps), body=(size, spread), far=max(0.0, self.far + random.normal(0, 1))
        )

    def data(self, seed: int) -> DataSet:
        """Make the table: as many records as have the masses."""
        random = np.random.default_rng(seed)
        size, spread = self.body
        parts = [2_000 * np.exp(random.normal(0, spread, size))]
        for place, sign, mass in self.bumps:
            value = 2_000 * 2**place
            number = mass / float(self.share) / _budget(self.policy, value)
            each = max(1, min(round(number), RECORDS))
            parts.append(np.full(each, value * (sign if self.signed else 1)))
        groups = [random.integers(0, self.groups, part.size) for part in parts]
        for place, group in enumerate(groups[1:] if not self.alike else ()):
            group[:] = place % self.groups
        values = np.clip(np.rint(np.concatenate(parts)), -MOST, MOST).astype(np.int64)
        if not self.signed:
            values = np.maximum(values, 1)
        top = min(MOST, int(np.abs(values).max() * 2**self.far) + 1)
        units = None if self.rows == 1 else random.integers(0, 1 + values.size // self.rows, values.size)
        return DataSet(
            "attack",
            values,
            np.concatenate(groups),
            policy=self.policy,
            bounds=(-top if self.signed else 0, top),
            units=units,
        )


def _bump(random: np.random.Generator) -> tuple[float, int, float]:
    return float(random.uniform(-4, 12)), int(random.choice([-1, 1])), float(10 ** random.uniform(0, 2.5))


def _budget(policy: str, value: float) -> float:
    """Return the budget of a record with this value."""
    found = prdp.Policy(policy, at_most=100).budget({"v": max(1, round(value))})
    return max(float(found or 0), 1e-9)


def held(shape: Shape, runs: int, seed: int) -> float:
    """Return how often what is said held: alone, or over all groups."""
    warnings.simplefilter("ignore")
    data = shape.data(1)
    grouped = shape.groups > 1
    groups = found(data, shape.kind, grouped=grouped)
    if not grouped:
        drawn: Any = simulate(data.table, KINDS[shape.kind], share=shape.share, runs=runs, seed=seed)
        warm = shape.warm and warm_started(data, KINDS[shape.kind], shape.share, drawn, seed)
        return measured(groups[0], warm or drawn).said
    runs = -(-runs // 2)
    asked = data.table.group_by("g", keys=data.keys())
    tables: Any = simulate(asked, KINDS[shape.kind], share=shape.share, runs=runs, seed=seed)
    which = range(len(groups) if shape.alike else min(len(groups), len(shape.bumps)))
    columns = {place: [one.releases[place][0] for one in tables] for place in which}
    return float(np.mean([measured(groups[place], each).said for place, each in columns.items()]))


def asked(runs: int, seed: int, shape: Shape) -> tuple[float, Shape]:
    """Return a shape with how often what is said held; a table without budget says nothing."""
    try:
        return held(shape, runs, seed), shape
    except prdp.errors.PrdpError:
        return 1.0, shape


def searched(
    pool: Any, tables: int, runs: int, generations: int, seed: int
) -> Iterator[Sequence[tuple[float, Shape]]]:
    """Yield the worst shapes after each generation."""
    random = np.random.default_rng(seed)
    shapes = [Shape.drawn(random) for _ in range(tables)]
    worst: list[tuple[float, Shape]] = []
    for generation in range(generations):
        worst += pool.map(partial(asked, runs, seed + generation), shapes)
        worst = sorted(worst, key=lambda pair: pair[0])[: max(1, tables // 10)]
        yield worst
        shapes = [shape.changed(random) for _, shape in worst for _ in range(4)]


def main() -> None:
    """Search, and ask the worst tables anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, number in (("tables", 300), ("runs", 300), ("generations", 4), ("seed", 0), ("again", 4000)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.processes) as pool:
        worst: Sequence[tuple[float, Shape]] = ()
        for worst in searched(pool, options.tables, options.runs, options.generations, options.seed):
            print("held least often, in %:", *(f"{100 * part:.1f}" for part, _ in worst[:10]), flush=True)
        anew = pool.map(partial(asked, options.again, 10_000), [shape for _, shape in worst[:12]])
        for (before, _), (part, shape) in zip(worst, anew, strict=False):
            print(f"{100 * before:.1f} -> {100 * part:.2f} % of {options.again} runs: {shape}", flush=True)


if __name__ == "__main__":
    main()
