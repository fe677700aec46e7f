"""The experiments, in the order of the report."""

from __future__ import annotations

from importlib import import_module

from experiments.paper.experiment import Experiment

_FOLDERS = (
    "table_2",
    "table_3",
    "readings",
    "zipf_scale",
    "figure_3",
    "figure_4",
    "figure_5",
    "table_1",
    "table_4",
    "appendix_c",
    "figure_1",
)
_NEVER_THE_SAME = ("times", "slowly_scaling")


def _experiment(folder: str) -> Experiment:
    jobs = import_module(f"experiments.paper.{folder}.jobs").jobs
    section = import_module(f"experiments.paper.{folder}.section").section
    return Experiment(folder, jobs, section, folder not in _NEVER_THE_SAME)


EXPERIMENTS = tuple(_experiment(folder) for folder in (*_FOLDERS, *_NEVER_THE_SAME))
