"""The page of times."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow

from experiments.datasets import NAMES
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Label
from experiments.paper.report.parts import Kind, Row, Section, Table, number
from experiments.paper.results import grouped
from experiments.paper.times import BY_NAME, OPEN, WHOLE
from experiments.problem import QUERIES

Medians = Mapping[tuple[Label, ...], float]


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    seconds = grouped(results, ("set", "question", "method"), "seconds")
    medians = {key: float(np.median(values)) for key, values in seconds.items()}
    named = config.get("sets", NAMES)
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
        told = "; ".join(f"{q}, {name}: {number(ratio)}" for (_, q, name), ratio in ratios.items())
        yield f"Over rows in plain Python, times the default's from an open table: {told}."


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
