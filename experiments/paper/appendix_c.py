"""Every way to count the paths, some runs at a time."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from experiments.joins.email_graph import found, graph, greedy_floor
from experiments.joins.path_methods import METHODS
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from prdp.mechanisms.smooth import two_paths

FLOOR = "floor"
_PARTS = 1000
"""More parts than a run has, so that runs with different seeds have no part's seed in common."""


def jobs(config: Config, context: Context) -> list[Job]:
    """Return jobs of a few runs for each method, and one for the floor."""
    path = found(context.data)
    size = config["runs_a_job"]
    parts = [
        Job(
            "appendix_c",
            (("method", name), ("part", part)),
            counted,
            (path, name, min(size, config["runs"] - first), context.seed * _PARTS + part),
        )
        for name in METHODS
        for part, first in enumerate(range(0, config["runs"], size))
    ]
    return [*parts, Job("appendix_c", (("method", FLOOR), ("part", 0)), floor, (path,))]


def counted(path: Path | None, name: str, runs: int, seed: int) -> Columns:
    """Return answers and relative errors in percent of so many runs."""
    asked = graph(path)
    truth = float(two_paths(asked.raw_pairs()))
    answers = METHODS[name].answers(asked, Fraction(1), runs, seed)
    return {"answer": answers, "error": 100 * np.abs(answers - truth) / truth}


def floor(path: Path | None) -> Columns:
    """Return what any private method must err by, on the graph or without some of its edges."""
    pairs = graph(path).raw_pairs()
    least = 100 * greedy_floor(pairs, 1) / float(two_paths(pairs))
    return {"answer": np.array([np.nan]), "error": np.array([least])}
