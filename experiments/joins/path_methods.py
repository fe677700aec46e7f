"""The ways to count paths of two edges that are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import prdp
from experiments.joins.baselines import (
    r2t_at_the_least_budget,
    r2t_with_personal_truncation,
    residual_sensitivity,
)
from experiments.method import Role
from experiments.yardsticks import Floats
from prdp.cells.edges import Pairs
from prdp.methods import Chosen, Framework
from prdp.testing import simulate
from prdp.testing.truth import raw_cells

Answering = Callable[[prdp.graphs.Graph, Fraction, int, int], Floats]
"""From a graph, a share, a number of runs and a seed to so many independent answers."""

DEFAULT, FRAMEWORK = "truncate (default)", "framework (Algorithm 2), split 1/4"
PRINTED = "framework (Algorithm 2) as printed: split 1/2, β/2 for either stage"


@dataclass(frozen=True, slots=True)
class PathMethod:
    """A way to count paths of two edges, and where it belongs in the comparison."""

    role: Role
    answers: Answering


def _library(method: Chosen) -> Answering:
    def answers(graph: prdp.graphs.Graph, share: Fraction, runs: int, seed: int) -> Floats:
        releases = simulate(graph, prdp.graphs.paths(2), share=share, method=method, runs=runs, seed=seed)
        return np.array([float(release.exact) for release in releases])

    return answers


def _baseline(method: Callable[[Pairs, float, int, np.random.Generator], Floats]) -> Answering:
    def answers(graph: prdp.graphs.Graph, share: Fraction, runs: int, seed: int) -> Floats:
        return method(
            raw_cells(graph, graph.plan(prdp.graphs.edges(), 1))[0],
            float(share),
            runs,
            np.random.default_rng(seed),
        )

    return answers


def _residual_at_the_least_budget(
    pairs: Pairs, share: float, runs: int, random: np.random.Generator
) -> Floats:
    return residual_sensitivity(pairs, share * float(pairs.levels.at_least), runs, random)


METHODS: Mapping[str, PathMethod] = {
    DEFAULT: PathMethod("ours", _library("truncate")),
    PRINTED: PathMethod("paper", _library(Framework(beta="1/20", split="1/2"))),
    FRAMEWORK: PathMethod("paper", _library("framework")),
    "R2T, personal truncation": PathMethod("baseline", _baseline(r2t_with_personal_truncation)),
    "R2T at the least budget": PathMethod("baseline", _baseline(r2t_at_the_least_budget)),
    "residual sensitivity, least budget": PathMethod("baseline", _baseline(_residual_at_the_least_budget)),
}
