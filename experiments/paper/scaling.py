"""The work of Figures 3 to 5: every method's error of a sum under each policy, while one thing varies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from experiments.paper.answering import answer_jobs, answered
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.setting import Setting


def scaling_jobs(
    experiment: str, config: Config, context: Context, setting: Callable[[str, int], Setting]
) -> list[Job]:
    """Return a job for each value of what varies, policy and method; ``setting`` is of a policy and a value.

    Jobs on one data set come one after another, so that a worker draws it once.
    """
    return [
        job
        for value in config["values"]
        for policy in config["policies"]
        for job in answer_jobs(
            experiment,
            (("policy", policy), (config["varied"], value)),
            setting(policy, value),
            config["runs"],
            context,
            work=with_absolute,
        )
    ]


def with_absolute(setting: Setting, method: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return answers and errors of so many runs, the absolute ones too."""
    columns = answered(setting, method, runs, seed, folder)
    return {**columns, "absolute": np.abs(columns["answer"] - columns["truth"])}
