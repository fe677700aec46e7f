"""The work of most jobs: one method's answers to one problem, and their errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.methods import METHODS
from experiments.paper.experiment import Context
from experiments.paper.job import Columns, Job, Label, Work
from experiments.paper.setting import Setting

BY_NAME = {method.name: method for method in METHODS}


def answered(setting: Setting, method: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return answers and errors of so many runs, and the truth."""
    problem = setting.problem(folder)
    answers = BY_NAME[method].answers(problem, runs, seed)
    return {"answer": answers, "error": problem.errors(answers), "truth": np.full(runs, problem.truth)}


def with_absolute(setting: Setting, method: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return answers and errors of so many runs, the absolute ones too."""
    columns = answered(setting, method, runs, seed, folder)
    return {**columns, "absolute": np.abs(columns["answer"] - columns["truth"])}


def answer_jobs(
    experiment: str,
    labels: tuple[tuple[str, Label], ...],
    setting: Setting,
    runs: int,
    context: Context,
    *,
    work: Work = answered,
) -> list[Job]:
    """Return a job for each method that answers the setting's question; ``work`` is the job's."""
    return [
        Job(
            experiment,
            (*labels, ("method", method.name)),
            work,
            (setting, method.name, runs, context.seed, context.data),
        )
        for method in context.methods
        if setting.question in method.questions
    ]
