"""Algorithm 2 with each stage at a half or at the whole of the budget, beside the printed figures."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow

import prdp
from experiments.datasets import comparable
from experiments.paper.experiment import Config, Context, published
from experiments.paper.job import Columns, Job
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.results import measured
from experiments.paper.setting import Setting
from experiments.problem import Problem, Question
from experiments.yardsticks import Floats
from prdp.plan.methods import Options
from prdp.plan.plan import Plan
from prdp.tables.queryable import reader_of
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
            (Setting(data, question=question), stages, config["runs"], *context.seeds(data), context.data),
        )
        for data in context.present(printed_sets(config, context))
        for question in QUESTIONS
        for reading, stages in READINGS.items()
    ]


def printed_sets(config: Config, context: Context) -> list[str]:
    """Return the sets of the run whose printed figures can be compared with."""
    printed = published("sum")["Algorithm 2"]
    return [data for data in context.sets_of(config) if data in printed and comparable(data)]


def read(
    setting: Setting, stages: tuple[Fraction, Fraction], runs: int, seed: int, folder: Path | None
) -> Columns:
    """Return errors under one reading; what it spends may be more than a share can be."""
    problem = setting.problem(folder)
    spent = sum(stages, Fraction(0))
    options = Options("framework", Fraction(1, 20), split=stages[0] / spent)
    plan = Plan((problem.table.planner.query_plan(problem.query, spent, options),), spent)
    drawn = plan.draw(reader_of(problem.table), Seeded(seed), runs)
    releases = [release for release in drawn if isinstance(release, prdp.Release)]
    answers = np.array([float(release.exact) for release in releases])
    least = [float(dict(release.choices)["kept budgets from"].split()[0]) for release in releases]
    return {"answer": answers, "error": problem.errors(answers), "dropped": dropped(problem, least)}


def dropped(problem: Problem, least: Sequence[float]) -> Floats:
    """Return what records with smaller budgets than those kept are of the sum, in percent."""
    parts = {low: 100 * problem.values[problem.budgets < low].sum() / problem.truth for low in set(least)}
    return np.array([parts[low] for low in least])


# Below: how results are shown. They do not depend on it.


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    named = printed_sets(config, context)
    sets = context.present(named)
    if not sets:
        nothing = (*context.absent(named), "The paper prints no figures of this run's sets.")
        return Section(config["title"], config["about"], nothing)
    found = measured(results, ("set", "question", "reading"))
    lost = measured(results, ("set", "question", "reading"), "dropped")
    printed = {question: published(question)["Algorithm 2"] for question in QUESTIONS}
    columns = [(data, question) for question in QUESTIONS for data in sets]
    rows = [Row(("as published", *(number(printed[q][data]) for data, q in columns)), "published")]
    for reading in READINGS:
        errors = [(found[data, q, reading].trimmed, printed[q][data]) for data, q in columns]
        cells = (f"{number(error)} ({number(error / paper, 2)})" for error, paper in errors)
        rows.append(Row((reading, *cells)))
    for reading in READINGS:
        parts = (number(lost[data, q, reading].trimmed) if q == "sum" else "" for data, q in columns)
        rows.append(Row((f"dropped; {reading}", *parts), "yardstick"))
    fitting = [
        reading
        for reading in READINGS
        if all(2 / 3 <= found[data, q, reading].trimmed / printed[q][data] <= 1.5 for data, q in columns)
    ]
    conclusion = (
        "Readings of Algorithm 2 that give all of its published figures within a factor of 1.5: "
        + ("; ".join(fitting) or "none of the four")
        + "."
    )
    header = ("", *(f"{data} {question}" for data, question in columns))
    table = Table(f"Errors in %, {config['runs']:,} runs", header, tuple(rows))
    shown: tuple[Table | str, ...] = (*context.absent(named), table)
    return Section(config["title"], config["about"], shown, (conclusion,))
