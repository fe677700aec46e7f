"""The methods of the comparison, in the order in which tables print them.

To add one, write a function from a problem, a number of runs and a seed to answers, and list it here: every
table and figure of ``experiments.paper`` then has it. ``experiments/README.md`` shows how.
"""

from __future__ import annotations

import numpy as np

from experiments.baselines import BASELINES
from experiments.method import Answering, Method, seeded
from experiments.problem import Problem
from experiments.yardsticks import Floats, best_point
from prdp.methods import Chosen, Framework
from prdp.testing import simulate


def library(method: Chosen | None) -> Answering:
    """Return the answers of a mechanism of the library's own; None is its default."""

    def answers(problem: Problem, runs: int, seed: int) -> Floats:
        releases = simulate(problem.table, problem.query, method=method, runs=runs, seed=seed)
        return np.array([float(release.exact) for release in releases])

    return answers


def oracle_clip(problem: Problem, runs: int, seed: int) -> Floats:
    """Clip at the best fixed point, which only somebody who sees the data can know."""
    weights = problem.weights
    point = best_point(weights, problem.budgets)
    clipped = float(np.minimum(weights, problem.budgets * point).sum())
    return clipped + seeded(problem, seed, "oracle clip").laplace(0, point, runs)


METHODS = (
    Method(
        "default",
        "ours",
        ("count", "sum", "max"),
        library(None),
        "The library's default: clip for counts and sums, choice for maxima.",
        ("clip", "choice"),
    ),
    Method(
        "Algorithm 1",
        "paper",
        ("count", "sum"),
        library("partition"),
        "The paper's count and its extension to sums, as printed (β = 0.1).",
        ("partition",),
    ),
    Method(
        "Algorithm 2",
        "paper",
        ("sum", "max"),
        library(Framework(beta="1/20", split="1/2")),
        "The paper's framework as printed: half of the budget, and of β = 0.1, for either step.",
        ("framework",),
    ),
    Method(
        "Algorithm 2, split 1/4",
        "paper",
        ("sum", "max"),
        library(Framework(split="1/4")),
        "The framework with a quarter of the budget for the domain, the library's split.",
        ("framework", "split 1/4"),
    ),
    *BASELINES,
    Method(
        "oracle clip",
        "yardstick",
        ("count", "sum"),
        oracle_clip,
        "Not private: the best fixed clipping point, known beforehand, with Laplace noise.",
    ),
)
