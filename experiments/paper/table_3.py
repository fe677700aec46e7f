"""Table 3: every method's counts, sums and maxima on every set, beside the printed errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow

from experiments.datasets import NAMES
from experiments.methods import METHODS
from experiments.paper.answering import answer_jobs
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job, Label
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.report.tails import HEADER, tail_row, with_error
from experiments.paper.results import Measures, grouped, measured
from experiments.paper.setting import Setting
from experiments.problem import QUERIES
from experiments.yardsticks import count_floor, sum_floor

FLOOR = "floor"


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each method that answers a question, on each set that can be had."""
    found: list[Job] = []
    for data in context.present(config.get("sets", NAMES)):
        for question in QUERIES:
            setting = Setting(data, config["policy"], question)
            labels = (("set", data), ("question", question))
            found += answer_jobs("table_3", labels, setting, config["runs"], context)
            if question != "max":
                found.append(Job("table_3", (*labels, ("method", FLOOR)), floor, (setting, context.data)))
    return found


def floor(setting: Setting, folder: Path | None) -> Columns:
    """Return what any private method must err by, here or on the set without some of its records."""
    problem = setting.problem(folder)
    counted = setting.question == "count"
    least = count_floor(problem.budgets) if counted else sum_floor(problem.weights, problem.budgets)
    truth = np.array([problem.truth])
    return {"answer": np.array([np.nan]), "error": 100 * least / truth, "truth": truth}


# Below: how results are shown. They do not depend on it.


Found = Mapping[tuple[Label, ...], Measures]

_ROLES = {method.name: method.role for method in METHODS}
_TITLES = {"count": "Count", "sum": "Sum", "max": "Maximum"}


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    found = measured(results, ("set", "question", "method"))
    named = config.get("sets", NAMES)
    sets = context.present(named)
    parts: list[Table | str] = list(context.absent(named))
    parts += [errors(question, sets, found, config) for question in QUERIES]
    parts += [beside_published(sets, found, config), heights(sets, results)]
    parts += [tails(question, sets, found) for question in QUERIES]
    return Section(config["title"], config["about"], tuple(parts), tuple(findings(sets, found, config)))


def errors(question: str, sets: Sequence[str], found: Found, config: Config) -> Table:
    """Return the paper's measure: trimmed means with their standard errors, published figures first."""
    naive = ("naive, as published", *(config["naive"][question] if data != "CBP" else "–" for data in sets))
    rows = [Row(naive, "published")]
    for name, printed in config["published"][question].items():
        figures = (str(printed.get(data, "–")) for data in sets)
        rows.append(Row((f"{config['called'].get(name, name)}, as published", *figures), "published"))
    for method in METHODS:
        if question in method.questions:
            here = [found[data, question, method.name] for data in sets]
            rows.append(Row((method.name, *map(with_error, here)), method.role))
    if question != "max":
        least = tuple(number(found[data, question, FLOOR].mean) for data in sets)
        rows.append(Row(("floor: any private method, here or nearby", *least), "yardstick"))
    caption = (
        f"{_TITLES[question]}: error in %, {config['runs']:,} runs, a fifth left out at each end, ± s.e."
    )
    return Table(caption, ("", *sets), tuple(rows))


def beside_published(sets: Sequence[str], found: Found, config: Config) -> Table:
    """Return what each published figure is beside our run of the same method, and beside the default."""
    rows = []
    for question, data, name, printed in compared(sets, config):
        here, default = found[data, question, name], found[data, question, "default"]
        figures = (
            here.trimmed,
            here.trimmed / printed,
            default.trimmed,
            default.trimmed / printed,
            here.p99,
            default.p99,
            here.p99 / default.p99,
        )
        rows.append(Row((f"{data}, {question}: {name}", str(printed), *(number(x) for x in figures))))
    header = (
        "",
        "published",
        "run here",
        "/ published",
        "default",
        "/ published",
        "its p99",
        "default's p99",
        "ratio of p99s",
    )
    return Table("Beside the published figures, and the tails that trimming hides", header, tuple(rows))


def compared(sets: Sequence[str], config: Config) -> Iterator[tuple[str, str, str, float]]:
    """Yield every published figure that can be compared: question, set, method and figure."""
    for question in QUERIES:
        for data in sets:
            for name, printed in config["published"][question].items():
                if data in printed and data not in config["not_comparable"]:
                    yield question, data, name, printed[data]


def heights(sets: Sequence[str], results: pyarrow.Table) -> Table:
    """Return how high answers to a maximum are, which its rank error does not say."""
    answers = grouped(results, ("set", "question", "method"), "answer")
    truths = grouped(results, ("set", "question", "method"), "truth")
    rows = []
    for data in sets:
        for method in METHODS:
            if "max" in method.questions:
                key = (data, "max", method.name)
                ratio = answers[key] / truths[key]
                figures = (*(np.quantile(ratio, part) for part in (0.5, 0.99)), 100 * (ratio > 1.7).mean())
                rows.append(
                    Row((f"{data}: {method.name}", *(number(float(x)) for x in figures)), method.role)
                )
    header = ("", "median", "p99", "above 1.7 times, %")
    return Table("Maximum: the answer as a multiple of the largest value, all runs", header, tuple(rows))


def best_published(config: Config, question: str, data: str) -> float | None:
    """Return the least printed figure of the paper's own algorithms, if it has the set."""
    published = config["published"][question].items()
    own = (printed[data] for name, printed in published if _ROLES[name] == "paper" and data in printed)
    return min(own, default=None)


def tails(question: str, sets: Sequence[str], found: Found) -> Table:
    """Return median, 90th and 99th percentile and mean of every run, none left out."""
    rows = tuple(
        tail_row(f"{data}: {method.name}", found[data, question, method.name], method.role)
        for data in sets
        for method in METHODS
        if question in method.questions
    )
    return Table(f"{_TITLES[question]}: error in %, all runs", HEADER, rows)


def findings(sets: Sequence[str], found: Found, config: Config) -> Iterator[str]:
    """Say what the section shows, in sentences for the summary."""
    yield _against_published(sets, found, config)
    yield _faithful(sets, found, config)
    for question, name in (("count", "Algorithm 1"), ("sum", "Algorithm 1"), ("max", "Algorithm 2")):
        ratios = {d: found[d, question, name].p99 / found[d, question, "default"].p99 for d in sets}
        least = min(ratios, key=lambda data: ratios[data])
        yield (
            f"The 99th percentile of the default's error, {question}, is at least {number(ratios[least])} "
            f"times smaller than {name}'s on every set (least on {least})."
        )
    yield _ahead_of_default(sets, found)


def _against_published(sets: Sequence[str], found: Found, config: Config) -> str:
    cells = [(d, question) for question in QUERIES for d in sets if d not in config["not_comparable"]]
    best = {cell: best_published(config, cell[1], cell[0]) for cell in cells}
    ratios = {
        f"{data} {question}": found[data, question, "default"].trimmed / figure
        for (data, question), figure in best.items()
        if figure is not None
    }
    above = ", ".join(f"{cell} ({number(ratio)})" for cell, ratio in ratios.items() if ratio > 1)
    below = sum(ratio <= 1 for ratio in ratios.values())
    return (
        f"The default is at or below the paper's best published figure in {below} of {len(ratios)} cells"
        + (f"; above it in {above}." if above else ".")
    )


def _faithful(sets: Sequence[str], found: Found, config: Config) -> str:
    ratios = {
        f"{data} {question}, {name}": found[data, question, name].trimmed / printed
        for question, data, name, printed in compared(sets, config)
    }
    apart = {cell: ratio for cell, ratio in ratios.items() if not 1 / 1.5 <= ratio <= 1.5}
    named = "; ".join(f"{cell} ({number(ratio)} of the published figure)" for cell, ratio in apart.items())
    return (
        f"Run as published, {len(ratios) - len(apart)} of {len(ratios)} figures come out within a factor "
        "of 1.5" + (f"; not so {named}." if apart else ".")
    )


def _ahead_of_default(sets: Sequence[str], found: Found) -> str:
    ahead = [
        f"{method.name} ({data} {question}: "
        f"{number(found[data, question, method.name].trimmed / found[data, question, 'default'].trimmed)})"
        for method in METHODS
        if method.role != "yardstick"
        for question in method.questions
        for data in sets
        if found[data, question, method.name].trimmed < found[data, question, "default"].trimmed
    ]
    if not ahead:
        return "No other private method has a smaller trimmed error than the default on any set."
    return f"Private methods with a smaller trimmed error than the default somewhere: {'; '.join(ahead)}."
