"""The experiments, in the order of the report."""

from __future__ import annotations

from importlib import import_module

from experiments.paper.experiment import Experiment

_SAME_TWICE = (
    "table_2",
    "table_3",
    "readings",
    "theorems",
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
_MODULES = dict.fromkeys(("figure_3", "figure_4", "figure_5"), "scaling")
"""Where an experiment's module is not called like it."""


def _experiment(name: str) -> Experiment:
    module = import_module(f"experiments.paper.{_MODULES.get(name, name)}")
    return Experiment(name, module.jobs, module.section, name in _SAME_TWICE)


EXPERIMENTS = tuple(_experiment(name) for name in (*_SAME_TWICE, *_NEVER_THE_SAME))
