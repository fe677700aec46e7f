"""Every method under every policy, for each value of the number of records."""

from __future__ import annotations

from experiments.paper.experiment import Config, Context
from experiments.paper.job import Job
from experiments.paper.scaling import scaling_jobs
from experiments.paper.setting import Setting


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each value, policy and method."""
    return scaling_jobs(
        "figure_3", config, context, lambda policy, value: Setting("Normal", policy, size=value)
    )
