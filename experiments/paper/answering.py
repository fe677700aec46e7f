"""The work of most jobs: one method's answers to one problem, and their errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.methods import METHODS
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job, Label, Work
from experiments.paper.seeds import batches, places
from experiments.paper.setting import Setting

BY_NAME = {method.name: method for method in METHODS}


def answered(
    setting: Setting, method: str, runs: int, seeds: tuple[int, ...], folder: Path | None
) -> Columns:
    """Return answers and errors of so many runs, the truth, and which of the seeds drew them."""
    problem = setting.problem(folder)
    drawn = [BY_NAME[method].answers(problem, size, seed) for seed, size in batches(runs, seeds)]
    answers = np.concatenate(drawn)
    return {
        "answer": answers,
        "error": problem.errors(answers),
        "truth": np.full(runs, problem.truth),
        "seed": places(runs, seeds),
    }


def with_absolute(
    setting: Setting, method: str, runs: int, seeds: tuple[int, ...], folder: Path | None
) -> Columns:
    """Return what ``answered`` does, and absolute errors."""
    columns = answered(setting, method, runs, seeds, folder)
    return {**columns, "absolute": np.abs(columns["answer"] - columns["truth"])}


def answer_jobs(
    experiment: str,
    labels: tuple[tuple[str, Label], ...],
    setting: Setting,
    config: Config,
    context: Context,
    *,
    work: Work = answered,
) -> list[Job]:
    """Return a job for each method that answers the setting's question; ``work`` is the job's.

    The config says how many ``runs``, and from how many ``seeds`` they are drawn: one, unless it shows tails.
    """
    seeds = context.seeds(setting.name, config.get("seeds", 1))
    return [
        Job(
            experiment,
            (*labels, ("method", method.name)),
            work,
            (setting, method.name, config["runs"], seeds, context.data),
        )
        for method in context.methods
        if setting.question in method.questions
    ]
