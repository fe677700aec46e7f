"""The statistics of every set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.datasets import NAMES
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.setting import Setting


def jobs(config: Config, context: Context) -> list[Job]:  # noqa: ARG001  (as every experiment's)
    """Return a job for each set that can be had."""
    return [
        Job("table_2", (("set", data),), statistics, (data, context.data)) for data in context.present(NAMES)
    ]


def statistics(data: str, folder: Path | None) -> Columns:
    """Return one row."""
    values = Setting(data).problem(folder).values
    figures = {"n": values.size, "largest": values.max(), "mean": values.mean(), "median": np.median(values)}
    return {name: np.array([float(figure)]) for name, figure in figures.items()}
