"""Every way to count on every set."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from experiments.datasets import find
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.studies import COUNTS, errors
from prdp.local import Crowd
from prdp.policy import Policy


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each way to count, on each set that can be had."""
    return [
        Job(
            "table_4",
            (("set", data), ("method", name)),
            counted,
            (data, name, config["runs"], context.seed, context.data),
        )
        for data in context.present(config["sets"])
        for name in COUNTS
    ]


def counted(data: str, name: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return the errors of so many runs."""
    study = COUNTS[name]
    crowd = _crowd(data, study.policy, folder)
    return {"error": errors(study, crowd, len(crowd), runs, seed)}


@lru_cache(maxsize=2)
def _crowd(data: str, policy: Policy, folder: Path | None) -> Crowd:
    found = find(data, folder)
    if found is None:
        raise FileNotFoundError(f"{data} is not in {folder}")
    return Crowd.of({"v": found.values}, policy)
