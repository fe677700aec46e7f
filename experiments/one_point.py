"""Errors of sums in all margins of three columns: a clipping threshold for each cell, and one for all.

``python -m experiments.one_point --data FOLDER --runs 20``. Thresholds of cells are drawn as ``marginals``
draws them. The one for all is the best there is for margins of so many columns, found from the records and
free, with the parts of the share and the least squares of counts: a bound for any mechanism that chooses one.
Errors are medians of |answer - truth| over the truth, in percent, over cells that hold something.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prdp
from experiments.concentrated import POLICIES, RANKED, SEED, SIZE, cbp, policies
from prdp.release.consistency import Lattice, Margin, margins_to_ask, subsets
from prdp.testing import Seeded

SHARE = Fraction(1, 5)
ANSWER = 1 - Fraction(4, 100)  # of P for the answers: a choice at a fifth of the root of the share
THRESHOLDS = np.geomspace(1e-6, 1, 80)
"""As parts of the largest ratio of a value to e(r)."""

COLUMNS = ("the total", "one column", "two", "three")

Rows = Mapping[str, NDArray[Any]]


def sets(data: Path) -> dict[str, Rows]:
    """Return the sets: cells that are alike, cells that are not, and business statistics."""
    random = np.random.default_rng(SEED)
    alike = {name: random.integers(0, size, SIZE) for name, size in (("a", 4), ("b", 8), ("c", 12))}
    values = np.maximum(random.lognormal(8, 1.5, SIZE).astype(np.int64), 100)
    skewed = {name: (size * random.random(SIZE) ** 3).astype(int) for name, size in zip("abc", (4, 8, 12))}  # noqa: B905
    other = np.maximum(random.lognormal(7 + 0.4 * skewed["b"], 1.2).astype(np.int64), 100)
    kept = ("state", "sector", "estab", "v")
    return {
        "cells alike": {**alike, "v": values},
        "cells unlike": {**skewed, "v": other},
        "CBP": {name: column for name, column in cbp(data).items() if name in kept},
    }


def compare(rows: Rows, policy: str, runs: int) -> dict[str, list[float]]:
    """Return the errors of both by the number of columns."""
    names = [name for name in rows if name != "v"]
    keys = {name: np.unique(rows[name]).tolist() for name in names}
    places = [np.searchsorted(keys[name], rows[name]) for name in names]
    sizes = tuple(len(keys[name]) for name in names)
    cube = subsets(tuple(range(len(names))))

    def margins(values: NDArray[Any]) -> dict[Margin, NDArray[Any]]:
        cells = np.bincount(np.ravel_multi_index(places, sizes), values, math.prod(sizes)).reshape(sizes)
        return {m: np.ravel(cells.sum(axis=tuple({*range(len(names))} - {*m}))) for m in cube}

    def errors(answers: Mapping[Margin, NDArray[Any]]) -> list[float]:
        found: list[list[Any]] = [[] for _ in range(len(names) + 1)]
        for margin, drawn in answers.items():
            held = truth[margin] > 0
            found[len(margin)].append(np.ravel(np.abs(drawn[:, held] / truth[margin][held] - 1)) * 100)
        return [float(np.median(np.concatenate(each))) for each in found]

    truth = margins(rows["v"])
    (stated,) = [one for notion, one in policies(POLICIES[policy]) if notion == "within the notion"]
    table = prdp.open(rows, policy=stated, bounds={"v": (0, 10**8)}, synthetic=True)
    own = {}
    for margin in cube:
        listed = list(product(*(keys[names[column]] for column in margin)))
        by = [names[column] for column in margin]
        asked: Any = table.group_by(*by, keys=listed if len(by) > 1 else keys[by[0]]) if by else table
        plan: Any = asked.plan(prdp.sum("v"), share=SHARE / len(cube))
        drawn = plan.draw(table._reader, Seeded(SEED), runs)  # noqa: SLF001
        own[margin] = np.array([[float(row[0].exact) for row in one.releases] for one in drawn])
    budget = 1.0 if policy == "E = 1" else np.minimum(10_000 / np.maximum(rows["v"], 1000), 10)
    e = np.sqrt(2 * budget * np.tanh(budget / 2))
    parts = margins_to_ask(sizes, cube, concentrated=True)
    lattice = Lattice(sizes, {margin: 1 / (ANSWER * SHARE * part) for margin, part in parts.items()})
    deviations = {margin: math.sqrt(lattice.variance(margin) or 0) for margin in cube}
    random, every = np.random.default_rng(SEED), []
    for at in THRESHOLDS * float((rows["v"] / e).max()):
        clipped = margins(np.minimum(rows["v"], at * e))
        noisy = {
            m: one + random.normal(0, at * deviations[m], (runs, len(one))) for m, one in clipped.items()
        }
        every.append(errors(noisy))
    best = {
        f"one, the best for {title}": min(every, key=lambda one: one[columns])
        for columns, title in enumerate(COLUMNS)
    }
    return {"one for each cell": errors(own)} | best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    print("| set | policy | threshold |", " | ".join(COLUMNS), "|")
    print("|---|---|---|---|---|---|---|")
    for name, rows in sets(given.data).items():
        for policy in RANKED:
            for kind, found in compare(rows, policy, given.runs).items():
                shown = " | ".join(f"{error:.2g}" for error in found)
                print(f"| {name} | {policy} | {kind} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
