"""The samplers on each set, called in their own environment."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from experiments.baselines.tumult.comparison import compared
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.setting import Setting

FIGURES = ("ours", "ours_se", "theirs", "theirs_se")


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each set, or none in a quick run."""
    if not config["run"]:
        return []
    return [
        Job("slowly_scaling", (("set", data),), sampled, (data, config["runs"], context.seed, context.data))
        for data in context.present(config["sets"])
    ]


def sampled(data: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return a row for each sampler and anchor, or one that says why there are none."""
    comparison = compared([Setting(data).problem(folder).data], runs, seed)
    if comparison.missing:
        words = {"sampler": np.array([comparison.missing]), "promise": np.array([""])}
        return {**words, "anchor": np.zeros(1), **{name: np.full(1, np.nan) for name in FIGURES}}
    rows = [asdict(row) for row in comparison.rows]
    return {
        name: np.array([row[name] for row in rows]) for name in ("sampler", "promise", "anchor", *FIGURES)
    }
