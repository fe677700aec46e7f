"""Every method on every set and question."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.datasets import NAMES
from experiments.paper.answering import answer_jobs
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.setting import Setting
from experiments.problem import QUERIES
from experiments.yardsticks import count_floor, sum_floor

FLOOR = "floor"


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each method that answers a question, on each set that can be had."""
    found: list[Job] = []
    for data in context.present(config.get("sets", NAMES)):
        for question in QUERIES:
            setting = Setting(data, config["policy"], question)
            labels = (("set", data), ("question", question))
            found += answer_jobs("table_3", labels, setting, config["runs"], context)
            if question != "max":
                found.append(Job("table_3", (*labels, ("method", FLOOR)), floor, (setting, context.data)))
    return found


def floor(setting: Setting, folder: Path | None) -> Columns:
    """Return what any private method must err by, here or on the set without some of its records."""
    problem = setting.problem(folder)
    counted = setting.question == "count"
    least = count_floor(problem.budgets) if counted else sum_floor(problem.weights, problem.budgets)
    truth = np.array([problem.truth])
    return {"answer": np.array([np.nan]), "error": 100 * least / truth, "truth": truth}
