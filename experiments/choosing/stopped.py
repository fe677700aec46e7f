"""Lean tables for which the choice of a clipping threshold stopped far below their records: are they flagged?

The constants of ``TailRule.failed`` were chosen here, on made-up sets of lean and less lean mass:
python -m experiments.choosing.stopped --runs 2000
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import prdp
from prdp.release.bias import Clipping
from prdp.testing import simulate

ROWS = 4_000
MASSES = (30, 60, 100, 150, 300, 500)
"""Budget masses, times the share."""


def made_up() -> Iterator[tuple[str, NDArray[np.int64], int]]:
    """Yield names, values, and the highest value that bounds allow."""
    rng = np.random.default_rng(0)
    yield "uniform, 500 to 999", rng.integers(500, 1000, ROWS), 2000
    yield "constant 700", np.full(ROWS, 700), 2000
    for spread, most in ((1.0, 10**6), (1.5, 10**7)):
        yield f"log-normal {spread}", np.exp(rng.normal(6, spread, ROWS)).astype(np.int64), most
    yield "small log-normal 1", np.exp(rng.normal(2, 1, ROWS)).astype(np.int64), 10**6
    for most in (20, 2000):
        yield f"0 to 5, bounds to {most}", rng.integers(0, 6, ROWS), most
    yield "ones", np.ones(ROWS, np.int64), 2000


def line(values: NDArray[np.int64], most: int, mass: int, runs: int, seed: int) -> str:
    """Return how often the choice stopped low, how often that was flagged, and other answers were."""
    table = prdp.open({"v": values}, policy=prdp.Policy.constant(1), bounds={"v": (0, most)}, synthetic=True)
    found = simulate(table, prdp.sum("v"), share=Fraction(mass, ROWS), runs=runs, seed=seed)
    points = [
        (float(one.clipping.at * one.step), one.clipping.failed)
        for one in found
        if isinstance(one.clipping, Clipping) and not one.clipping.blind
    ]
    thresholds, flagged = (np.array(column) for column in zip(*points, strict=True))
    flagged = flagged.astype(bool)
    stopped = np.array([(values > threshold).mean() > 1 / 2 for threshold in thresholds])
    caught = f"{flagged[stopped].mean():8.2f}" if stopped.any() else "       -"
    others = (flagged & ~stopped).sum() / runs
    return f"{len(points) / runs:8.3f}{stopped.sum() / runs:10.4f}{caught}{others:10.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=5, help="of the noise")
    arguments = parser.parse_args()
    print(f"{'':28}{'mass':>5}{'seen':>8}{'stopped':>10}{'caught':>8}{'others':>10}")
    for name, values, most in made_up():
        for mass in MASSES:
            print(f"{name:28}{mass:5}{line(values, most, mass, arguments.runs, arguments.seed)}")


if __name__ == "__main__":
    main()
