"""Algorithm 2 with each stage at a half or at the whole of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

import prdp
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.setting import Setting
from experiments.problem import Problem, Question
from experiments.yardsticks import Floats
from prdp.plan.plan import Order
from prdp.plan.queries import Options
from prdp.testing.seeded import Seeded

_HALF, _WHOLE = Fraction(1, 2), Fraction(1)
READINGS = {
    "halves: E(r)": (_HALF, _HALF),
    "first stage whole: 1.5 E(r)": (_WHOLE, _HALF),
    "M whole: 1.5 E(r)": (_HALF, _WHOLE),
    "both whole: 2 E(r)": (_WHOLE, _WHOLE),
}
QUESTIONS: tuple[Question, ...] = ("sum", "max")


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each set, question and reading."""
    return [
        Job(
            "readings",
            (("set", data), ("question", question), ("reading", reading)),
            read,
            (Setting(data, question=question), stages, config["runs"], context.seed, context.data),
        )
        for data in context.present(config["sets"])
        for question in QUESTIONS
        for reading, stages in READINGS.items()
    ]


def read(
    setting: Setting, stages: tuple[Fraction, Fraction], runs: int, seed: int, folder: Path | None
) -> Columns:
    """Return errors under one reading; what it spends may be more than a share can be."""
    problem = setting.problem(folder)
    spent = sum(stages, Fraction(0))
    options = Options("framework", Fraction(1, 20), split=stages[0] / spent)
    recipe = problem.table.facts.recipe(problem.query, spent, options)
    order = Order((recipe,), spent, None, single=True)
    drawn = problem.table._released(order, Seeded(seed), runs=runs)  # noqa: SLF001
    releases = [release for release in drawn if isinstance(release, prdp.Release)]
    answers = np.array([float(release.exact) for release in releases])
    least = [float(dict(release.choices)["kept budgets from"].split()[0]) for release in releases]
    return {"answer": answers, "error": problem.errors(answers), "dropped": dropped(problem, least)}


def dropped(problem: Problem, least: Sequence[float]) -> Floats:
    """Return what records with smaller budgets than those kept are of the sum, in percent."""
    parts = {low: 100 * problem.values[problem.budgets < low].sum() / problem.truth for low in set(least)}
    return np.array([parts[low] for low in least])
