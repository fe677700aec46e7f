"""Table 3: every method's counts, sums and maxima on every set, beside the printed errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow

from experiments.datasets import comparable
from experiments.method import Method
from experiments.methods import METHODS
from experiments.paper.answering import answer_jobs
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job, Label
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.report.tails import HEADER, SPREAD, tail_row, with_error, with_spread
from experiments.paper.results import Measures, OverSeeds, grouped, measured, percentile, ratio
from experiments.paper.setting import Setting
from experiments.problem import QUERIES
from experiments.yardsticks import Floats, count_floor, sum_floor

FLOOR = "floor"


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each method that answers a question, on each set that can be had."""
    found: list[Job] = []
    for data in context.present(context.sets_of(config)):
        for question in QUERIES:
            setting = Setting(data, config["policy"], question)
            labels = (("set", data), ("question", question))
            found += answer_jobs("table_3", labels, setting, config, context)
            if question != "max":
                found.append(Job("table_3", (*labels, ("method", FLOOR)), floor, (setting, context.data)))
    return found


def floor(setting: Setting, folder: Path | None) -> Columns:
    """Return what any private method must err by, here or on the set without some of its records."""
    problem = setting.problem(folder)
    counted = setting.question == "count"
    least = count_floor(problem.budgets) if counted else sum_floor(problem.weights, problem.budgets)
    truth = np.array([problem.truth])
    return {"answer": np.array([np.nan]), "error": 100 * least / truth, "truth": truth, "seed": np.zeros(1)}


# Below: how results are shown. They do not depend on it.


_ROLES = {method.name: method.role for method in METHODS}
_TITLES = {"count": "Count", "sum": "Sum", "max": "Maximum"}
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Found:
    """The measured errors by set, question and method, and what of it the run was asked for."""

    config: Config
    sets: Sequence[str]
    methods: Sequence[Method]
    measures: Mapping[tuple[Label, ...], Measures]

    def of(self, data: str, question: str, method: str = _DEFAULT) -> Measures:
        """Return the errors of a method, or of the default."""
        return self.measures[data, question, method]

    @property
    def spread(self) -> str:
        """What is in brackets behind a figure of the tail."""
        return SPREAD.format(self.config["seeds"])

    def answering(self, question: str) -> list[Method]:
        """Return the methods that answer a question."""
        return [method for method in self.methods if question in method.questions]

    def published(self) -> Iterator[tuple[str, str, str, float]]:
        """Yield every published figure that can be compared: question, set, method and figure."""
        for question in QUERIES:
            run = {method.name for method in self.answering(question)}
            for data in filter(comparable, self.sets):
                for name, printed in self.config["published"][question].items():
                    if name in run and data in printed:
                        yield question, data, name, printed[data]

    def best_published(self, question: str, data: str) -> float | None:
        """Return the least printed figure of the paper's own algorithms, if it has the set."""
        printed = self.config["published"][question].items()
        own = (figures[data] for name, figures in printed if _ROLES[name] == "paper" and data in figures)
        return min(own, default=None)


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    named = context.sets_of(config)
    measures = measured(results, ("set", "question", "method"))
    found = Found(config, context.present(named), context.methods, measures)
    parts: list[Table | str] = list(context.absent(named))
    parts += [errors(question, found) for question in QUERIES]
    parts += [beside_published(found), heights(found, results)]
    parts += [tails(question, found) for question in QUERIES]
    return Section(config["title"], config["about"], tuple(parts), tuple(findings(found)))


def errors(question: str, found: Found) -> Table:
    """Return the paper's measure: trimmed means with their standard errors, published figures first."""
    config, sets = found.config, found.sets
    printed = config["published"][question]
    known = {data for figures in printed.values() for data in figures}
    naive = (config["naive"][question] if data in known else "–" for data in sets)
    rows = [Row(("naive, as published", *naive), "published")]
    for name, figures in printed.items():
        cells = (str(figures.get(data, "–")) for data in sets)
        rows.append(Row((f"{config['called'].get(name, name)}, as published", *cells), "published"))
    for method in found.answering(question):
        here = (with_error(found.of(data, question, method.name)) for data in sets)
        rows.append(Row((method.name, *here), method.role))
    if question != "max":
        least = (number(found.of(data, question, FLOOR).mean.value) for data in sets)
        rows.append(Row(("floor: any private method, here or nearby", *least), "yardstick"))
    caption = (
        f"{_TITLES[question]}: error in %, {config['runs']:,} runs, a fifth left out at each end, ± s.e."
    )
    return Table(caption, ("", *sets), tuple(rows))


def beside_published(found: Found) -> Table:
    """Return what each published figure is beside our run of the same method, and beside the default."""
    rows = []
    for question, data, name, printed in found.published():
        here, default = found.of(data, question, name), found.of(data, question)
        middle = (here.trimmed, here.trimmed / printed, default.trimmed, default.trimmed / printed)
        cells = (
            *map(number, middle),
            with_spread(here.p99),
            with_spread(default.p99),
            number(ratio(here.p99.value, default.p99.value)),
        )
        rows.append(Row((f"{data}, {question}: {name}", str(printed), *cells)))
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
    caption = "Beside the published figures, and the tails that trimming hides"
    return Table(f"{caption}; {found.spread}", header, tuple(rows))


def heights(found: Found, results: pyarrow.Table) -> Table:
    """Return how high answers to a maximum are, which its rank error does not say."""
    answers = grouped(results, ("set", "question", "method"), "answer")
    truths = grouped(results, ("set", "question", "method"), "truth")
    seeds = grouped(results, ("set", "question", "method"), "seed")
    rows = []
    for data in found.sets:
        for method in found.answering("max"):
            key = (data, "max", method.name)
            high = answers[key] / truths[key]
            tail = (percentile(99), above(1.7))
            figures = (with_spread(OverSeeds.of(high, seeds[key], figure)) for figure in tail)
            cells = (f"{data}: {method.name}", number(float(np.median(high))), *figures)
            rows.append(Row(cells, method.role))
    header = ("", "median", "p99", "above 1.7 times, %")
    caption = f"Maximum: the answer as a multiple of the largest value, all runs; {found.spread}"
    return Table(caption, header, tuple(rows))


def above(most: float) -> Callable[[Floats], float]:
    """Return the function that computes which part of the runs is above a number, in percent."""
    return lambda runs: 100 * float(np.mean(runs > most))


def tails(question: str, found: Found) -> Table:
    """Return median, 90th and 99th percentile and mean of every run, none left out."""
    rows = tuple(
        tail_row(f"{data}: {method.name}", found.of(data, question, method.name), method.role)
        for data in found.sets
        for method in found.answering(question)
    )
    return Table(f"{_TITLES[question]}: error in %, all runs; {found.spread}", HEADER, rows)


def findings(found: Found) -> Iterator[str]:
    """Say what the section shows, in sentences for the summary."""
    yield from _against_published(found)
    yield from _faithful(found)
    for question, name in (("count", "Algorithm 1"), ("sum", "Algorithm 1"), ("max", "Algorithm 2")):
        if name in {method.name for method in found.methods}:
            yield from _shorter_tail(question, name, found)
    yield _ahead_of_default(found)


def _against_published(found: Found) -> Iterator[str]:
    cells = [(question, data) for question in QUERIES for data in filter(comparable, found.sets)]
    best = {cell: found.best_published(*cell) for cell in cells}
    ratios = {
        f"{data} {question}": found.of(data, question).trimmed / figure
        for (question, data), figure in best.items()
        if figure is not None
    }
    above = ", ".join(f"{cell} ({number(x)})" for cell, x in ratios.items() if x > 1)
    below = sum(x <= 1 for x in ratios.values())
    if ratios:
        yield (
            f"The default is at or below the paper's best published figure in {below} of {len(ratios)} cells"
            + (f"; above it in {above}." if above else ".")
        )


def _faithful(found: Found) -> Iterator[str]:
    ratios = {
        f"{data} {question}, {name}": found.of(data, question, name).trimmed / printed
        for question, data, name, printed in found.published()
    }
    apart = {cell: x for cell, x in ratios.items() if not 1 / 1.5 <= x <= 1.5}
    named = "; ".join(f"{cell} ({number(x)} of the published figure)" for cell, x in apart.items())
    if ratios:
        yield (
            f"Run as published, {len(ratios) - len(apart)} of {len(ratios)} figures come out within a factor "
            "of 1.5" + (f"; not so {named}." if apart else ".")
        )


def _shorter_tail(question: str, name: str, found: Found) -> Iterator[str]:
    """Compare 99th percentiles: of all runs, and of those seeds that are worst for the default."""
    pairs = {data: (found.of(data, question, name).p99, found.of(data, question).p99) for data in found.sets}
    ratios = {data: ratio(there.value, ours.value) for data, (there, ours) in pairs.items() if ours.least}
    if ratios:
        least = min(ratios, key=lambda data: ratios[data])
        worst = min(ratio(pairs[data][0].least, pairs[data][1].greatest) for data in ratios)
        yield (
            f"The 99th percentile of the default's error, {question}, is at least {number(ratios[least])} "
            f"times smaller than {name}'s on every set (least on {least}); with its greatest over "
            f"{found.config['seeds']} seeds and the other's least, {number(worst)} times."
        )


def _ahead_of_default(found: Found) -> str:
    ahead = [
        f"{method.name} ({data} {question}: {number(there.trimmed / default.trimmed)})"
        for method in found.methods
        if method.role != "yardstick"
        for question in method.questions
        for data in found.sets
        if (there := found.of(data, question, method.name)).trimmed
        < (default := found.of(data, question)).trimmed
    ]
    if not ahead:
        return "No other private method has a smaller trimmed error than the default on any set."
    return f"Private methods with a smaller trimmed error than the default somewhere: {'; '.join(ahead)}."
