"""Algorithm 1 on a table like the example's."""

from __future__ import annotations

from typing import Any

import numpy as np

import prdp
from experiments.paper.experiment import Config, Context
from experiments.paper.figure_1_worked import BETA, table
from experiments.paper.job import Columns, Job
from prdp.testing import simulate


def jobs(config: Config, context: Context) -> list[Job]:
    """Return the one job."""
    arguments = (config["printed"], config["runs"], context.seed)
    return [Job("figure_1", (("method", "Algorithm 1"),), counted, arguments)]


def counted(printed: dict[str, Any], runs: int, seed: int) -> Columns:
    """Return answers, their relative errors in percent, and the budget from which domains were kept."""
    releases = simulate(table(printed), prdp.Count(), method="partition", beta=BETA, runs=runs, seed=seed)
    answers = np.array([float(release.exact) for release in releases])
    kept = np.array([float(dict(release.choices)["kept budgets from"].split()[0]) for release in releases])
    truth = printed["truth"]
    return {"answer": answers, "error": 100 * np.abs(answers - truth) / truth, "kept_from": kept}
