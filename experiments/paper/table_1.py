"""Every method while one of 1/ε_min, U and n varies, distinct counts likewise, and the local model."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow

import prdp
from experiments.local import COUNT_WAYS, SUM_WAYS, errors_at
from experiments.paper.answering import answer_jobs
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.scaling import with_absolute
from experiments.paper.setting import Setting
from experiments.problem import GREATEST_BUDGET, Question
from prdp.testing import simulate

EXPERIMENT = "table_1"
BUDGET, LARGEST, SIZE = "1/ε_min", "U", "n"
VARIED = (BUDGET, LARGEST, SIZE)
LOCAL = {"local count": COUNT_WAYS, "local sum": SUM_WAYS}
RECORDS_OF_A_KEY = 2


def jobs(config: Config, context: Context) -> list[Job]:
    """Return the jobs of the central model, then those of the local one."""
    return [
        *_answers("count", config, context),
        *_answers("sum", config, context),
        *_distinct_counts(config, context),
        *_local_studies(config, context),
    ]


def _answers(question: Question, config: Config, context: Context) -> Iterator[Job]:
    for varied, x, setting in settings(question, config):
        labels = (("question", question), ("varied", varied), ("x", x))
        yield from answer_jobs(EXPERIMENT, labels, setting, config["runs"], context, work=with_absolute)


def _distinct_counts(config: Config, context: Context) -> Iterator[Job]:
    for varied, x, setting in settings("count", config):
        labels = (("question", "distinct count"), ("varied", varied), ("x", x), ("method", "default"))
        yield Job(EXPERIMENT, labels, distinct, (setting, config["runs"], context.seed))


def _local_studies(config: Config, context: Context) -> Iterator[Job]:
    for question, ways in LOCAL.items():
        for n in config["local_sizes"]:
            for way in ways:
                labels = (("question", question), ("varied", SIZE), ("x", float(n)), ("method", way))
                given = (question, way, n, config["local_runs"], context.seed)
                yield Job(EXPERIMENT, labels, local, given)


def settings(question: Question, config: Config) -> Iterator[tuple[str, float, Setting]]:
    """Yield what varies, where it stands, and the setting."""
    for factor in map(Fraction, config["factors"]):
        yield BUDGET, float(1 / factor), Setting("Normal", question=question, factor=factor)
    for largest in config["largest"]:
        yield LARGEST, float(largest), Setting("Normal", question=question, largest=largest)
    for size in config["sizes"]:
        yield SIZE, float(size), Setting("Normal", question=question, size=size)


def distinct(setting: Setting, runs: int, seed: int) -> Columns:
    """Return the errors of a distinct count whose keys have two records each."""
    problem = setting.problem(None)
    keys = np.arange(problem.values.size) // RECORDS_OF_A_KEY
    table = prdp.open(
        pyarrow.table({"v": problem.values, "key": keys}),
        policy=prdp.Policy(problem.expression, at_most=GREATEST_BUDGET),
        bounds={"v": (0, problem.largest)},
        name=problem.data.name,
        stand_in=True,
    )
    releases = simulate(table, prdp.Distinct("key"), runs=runs, seed=seed)
    answers = np.array([float(release.exact) for release in releases])
    truth = float(keys[-1] + 1)
    absolute = np.abs(answers - truth)
    return {
        "answer": answers,
        "error": 100 * absolute / truth,
        "absolute": absolute,
        "truth": np.full(runs, truth),
    }


def local(question: str, way: str, n: int, runs: int, seed: int) -> Columns:
    """Return the errors of a study among n clients."""
    relative, truth = errors_at(n, question.removeprefix("local "), LOCAL[question][way], runs, seed)
    return {
        "answer": np.full(runs, np.nan),
        "error": relative,
        "absolute": relative * truth / 100,
        "truth": np.full(runs, truth),
    }
