"""The work of Figures 3 to 5: every method's error of a sum under each policy, while one thing varies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.paper.answering import answer_jobs, answered
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.setting import Setting


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each value of what varies, policy and method.

    Jobs on one data set come one after another, so that a worker draws it once.
    """
    return [
        job
        for value in config["values"]
        for policy in config["policies"]
        for job in answer_jobs(
            config["name"],
            (("policy", policy), (config["varied"], value)),
            replace(Setting("Normal", policy), **{config["varies"]: value}),
            config["runs"],
            context,
            work=with_absolute,
        )
    ]


def with_absolute(setting: Setting, method: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return answers and errors of so many runs, the absolute ones too."""
    columns = answered(setting, method, runs, seed, folder)
    return {**columns, "absolute": np.abs(columns["answer"] - columns["truth"])}
