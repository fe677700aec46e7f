"""One query of every method, timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.baselines import ROW_TWINS
from experiments.datasets import NAMES
from experiments.method import Method
from experiments.methods import METHODS
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.setting import Setting
from experiments.problem import QUERIES, Problem

OPEN, WHOLE = "default, from an open table", "default, opening it"
TIMED = tuple(method for method in METHODS if method.role not in {"ours", "yardstick"})
BY_NAME = {method.name: method for method in (*TIMED, *ROW_TWINS)}


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each set, question and way of answering it."""
    found: list[Job] = []
    for data in context.present(config.get("sets", NAMES)):
        for question in QUERIES:
            setting = Setting(data, question=question)
            labels = (("set", data), ("question", question))
            for name in (OPEN, WHOLE):
                arguments = (setting, name, config["repeats"], context.data)
                found.append(Job("times", (*labels, ("method", name)), released, arguments))
            for method, repeats in _others(config, data):
                if question in method.questions:
                    arguments = (setting, method.name, repeats, context.data)
                    found.append(Job("times", (*labels, ("method", method.name)), answered, arguments))
    return found


def _others(config: Config, data: str) -> list[tuple[Method, int]]:
    slow = ROW_TWINS if data in config["slow_sets"] else ()
    return [(m, config["repeats"]) for m in TIMED] + [(m, config["slow_repeats"]) for m in slow]


def released(setting: Setting, name: str, repeats: int, folder: Path | None) -> Columns:
    """Time real releases, each from a table opened anew.

    Either with the opening, or from a table that has answered another question, about other records: the
    engine has started then, but nothing that it has read can be used again.
    """
    seconds = []
    for problem in _afresh(setting, repeats, folder):
        start = time.perf_counter()
        table = problem.table
        if name == OPEN:
            table.where("v > 1000").count(share="1/2")
            start = time.perf_counter()
        table.ask(problem.query, share="1/2")
        seconds.append(time.perf_counter() - start)
    return {"seconds": np.array(seconds)}


def answered(setting: Setting, name: str, repeats: int, folder: Path | None) -> Columns:
    """Time single answers of a method, nothing prepared."""
    seconds = []
    for problem in _afresh(setting, repeats, folder):
        start = time.perf_counter()
        BY_NAME[name].answers(problem, 1, 0)
        seconds.append(time.perf_counter() - start)
    return {"seconds": np.array(seconds)}


def _afresh(setting: Setting, repeats: int, folder: Path | None) -> Iterator[Problem]:
    """Yield the problem again and again, each time without anything that it keeps for later."""
    problem = setting.problem(folder)
    for _ in range(repeats):
        yield replace(problem)
