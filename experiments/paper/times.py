"""How long one query of every method takes, beside the paper's algorithms over rows."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow

from experiments.baselines import ROW_TWINS
from experiments.method import Method
from experiments.methods import METHODS
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job, Label
from experiments.paper.report.parts import Kind, Row, Section, Table, number
from experiments.paper.results import grouped
from experiments.paper.setting import Setting
from experiments.problem import QUERIES, Problem

OPEN, WHOLE = "default, from an open table", "default, opening it"
TIMED = tuple(method for method in METHODS if method.role not in {"ours", "yardstick"})
BY_NAME = {method.name: method for method in (*TIMED, *ROW_TWINS)}


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each set, question and way of answering it."""
    found: list[Job] = []
    for data in context.present(context.sets_of(config)):
        for question in QUERIES:
            setting = Setting(data, question=question)
            labels = (("set", data), ("question", question))
            for name in (OPEN, WHOLE):
                arguments = (setting, name, config["repeats"], context.data)
                found.append(Job("times", (*labels, ("method", name)), released, arguments))
            for method, repeats in _others(config, context, data):
                if question in method.questions:
                    arguments = (setting, method.name, repeats, context.data)
                    found.append(Job("times", (*labels, ("method", method.name)), answered, arguments))
    return found


def _others(config: Config, context: Context, data: str) -> list[tuple[Method, int]]:
    """Return the methods to time on a set, and how often; a twin over rows comes with its method."""
    timed = [method for method in TIMED if method in context.methods]
    slow = ROW_TWINS if data in config["slow_sets"] else ()
    twins = [twin for twin in slow if any(twin.name.startswith(method.name) for method in timed)]
    return [(m, config["repeats"]) for m in timed] + [(m, config["slow_repeats"]) for m in twins]


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
            table.filter("v > 1000").count(share="1/2")
            start = time.perf_counter()
        table.agg(problem.query, share="1/2")
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


# Below: how results are shown. They do not depend on it.


Medians = Mapping[tuple[Label, ...], float]


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    seconds = grouped(results, ("set", "question", "method"), "seconds")
    medians = {key: float(np.median(values)) for key, values in seconds.items()}
    named = context.sets_of(config)
    sets = context.present(named)
    tables = tuple(times(question, sets, medians, config) for question in QUERIES)
    machine = f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores."
    parts: tuple[Table | str, ...] = (machine, *context.absent(named), *tables)
    return Section(config["title"], config["about"], parts, tuple(findings(medians)))


def findings(medians: Medians) -> Iterator[str]:
    """Say how many times as long the row twins take."""
    ratios = {
        (data, question, name): seconds / medians[data, question, OPEN]
        for (data, question, name), seconds in medians.items()
        if str(name).endswith("over rows")
    }
    if ratios:
        reported = "; ".join(f"{q}, {name}: {number(ratio)}" for (_, q, name), ratio in ratios.items())
        yield f"Over rows in plain Python, times the default's from an open table: {reported}."


def times(question: str, sets: Sequence[str], medians: Medians, config: Config) -> Table:
    """Return milliseconds of each method, and how many times as long it takes as the default."""
    rows = []
    for name, printed in config["published"][question].items():
        cells = (f"{number(1000 * printed[data])} ms" if data in printed else "–" for data in sets)
        rows.append(Row((f"{name}, as published, another machine", *cells), "published"))
    for name in (OPEN, WHOLE, *BY_NAME):
        if any((data, question, name) in medians for data in sets):
            kind: Kind = "ours" if name in {OPEN, WHOLE} else ""
            rows.append(Row((name, *(_cell(medians, data, question, name) for data in sets)), kind))
    caption = f"{question}: median time of a query (times the default's, from an open table)"
    return Table(caption, ("", *sets), tuple(rows))


def _cell(medians: Medians, data: str, question: str, name: str) -> str:
    if (data, question, name) not in medians:
        return "–"
    seconds = medians[data, question, name]
    return f"{number(1000 * seconds)} ms ({number(seconds / medians[data, question, OPEN])}×)"
