"""Ordinary differential privacy at the least budget of the universe: the paper's *Naive*.

Every record loses at most ε̌ ≤ E(r). A count is the library's ``naive``. For a sum the library's would add
noise of scale U/ε̌; the paper takes the universal estimator at ε̌, and inverse sensitivity for a maximum.
"""

from __future__ import annotations

import numpy as np

from experiments.baselines.universal import choose_largest, clipped_sums, read
from experiments.method import Method, seeded
from experiments.problem import Problem
from experiments.yardsticks import Floats
from prdp.testing import simulate

_AT_ONCE = 500
"""Runs that are held in memory together."""


def _answers(problem: Problem, runs: int, seed: int) -> Floats:
    if problem.question == "count":
        releases = simulate(problem.table, problem.query, method="naive", runs=runs, seed=seed)
        return np.array([float(release.exact) for release in releases])
    random = seeded(problem, seed, "naive")
    ranges, _, counts, sums = read(problem)
    if problem.question == "max":
        sizes = [min(_AT_ONCE, runs - start) for start in range(0, runs, _AT_ONCE)]
        drawn = [choose_largest(ranges, _repeated(counts, size), problem.least, random) for size in sizes]
        return np.concatenate(drawn)
    counted, summed = (_repeated(ranges.by_octave(totals), runs) for totals in (counts, sums))
    return clipped_sums(counted, summed, problem.least, random)


def _repeated(totals: Floats, runs: int) -> Floats:
    return np.broadcast_to(totals, (runs, totals.size))


NAIVE = Method(
    name="naive",
    role="baseline",
    questions=("count", "sum", "max"),
    answers=_answers,
    note="Ordinary differential privacy at the least budget that the universe allows.",
)
