"""Figures 3 to 5: every method's error of a sum under each policy, while one thing varies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow

from experiments.method import Method
from experiments.paper.answering import answer_jobs, with_absolute
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Job, Label
from experiments.paper.report.parts import Figure, Line, Panel, Row, Section, Table, held, number
from experiments.paper.results import Measures, measured
from experiments.paper.setting import Setting
from experiments.problem import POLICIES


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each value of what varies, policy and method.

    Jobs on one data set come one after another, so that a worker draws it once.
    """
    return [
        job
        for value in config["values"]
        for policy in config["policies"]
        for job in answer_jobs(
            config["name"],
            (("policy", policy), (config["varied"], value)),
            replace(Setting("Normal", policy), **{config["varies"]: value}),
            config,
            context,
            work=with_absolute,
        )
    ]


# Below: how results are shown. They do not depend on it.


@dataclass(frozen=True, slots=True)
class Scaling:
    """The results of one figure: absolute and relative errors by policy, value and method."""

    config: Config
    methods: tuple[Method, ...]
    absolute: Mapping[tuple[Label, ...], Measures]
    relative: Mapping[tuple[Label, ...], Measures]
    largest_truth: float

    @classmethod
    def of(cls, config: Config, context: Context, results: pyarrow.Table) -> Scaling:
        """Measure the results."""
        methods = tuple(method for method in context.methods if "sum" in method.questions)
        by = ("policy", config["varied"], "method")
        largest = float(results["truth"].to_numpy().max())
        return cls(config, methods, measured(results, by, "absolute"), measured(results, by), largest)

    def ratio(self, policy: str, value: int, method: str) -> float:
        """Return a method's trimmed error as a multiple of the default's."""
        return self.absolute[policy, value, method].trimmed / self.absolute[policy, value, "default"].trimmed


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section of a figure."""
    name = config["name"]
    found = Scaling.of(config, context, results)
    parts: tuple[Figure | Table | str, ...] = (
        _figure(name, found, tail=False),
        _figure(f"{name}_p99", found, tail=True),
        config["remarks"],
        _ratios(found),
        *(_errors(policy, found) for policy in config["policies"]),
    )
    return Section(config["title"], config["about"], parts, tuple(_findings(found)))


def _figure(name: str, found: Scaling, *, tail: bool) -> Figure:
    config = found.config
    shown = "99th percentile" if tail else "trimmed mean (a fifth left out at each end)"
    panels = tuple(
        Panel(
            f"{policy}: {POLICIES[policy].expression}",
            config["across"],
            "absolute error of the sum" + (", 99th percentile" if tail else ""),
            tuple(_line(method, policy, found, tail=tail) for method in found.methods),
        )
        for policy in config["policies"]
    )
    ends = (
        f"from the least to the greatest of {config['seeds']} seeds" if tail else "over two standard errors"
    )
    bars = f" Bars go {ends}{'' if tail else ' either way'}."
    caption = f"Error of the sum, {shown} of {config['runs']:,} runs.{bars} All axes are logarithmic."
    return held(Figure(name, caption, panels), found.largest_truth)


def _line(method: Method, policy: str, found: Scaling, *, tail: bool) -> Line:
    measures = ((value, found.absolute[policy, value, method.name]) for value in found.config["values"])
    found_at = [(float(value), m) for value, m in measures]
    if not tail:
        spread = tuple(
            (m.trimmed - 2 * m.standard_error, m.trimmed + 2 * m.standard_error) for _, m in found_at
        )
        return Line(method.name, tuple((x, m.trimmed) for x, m in found_at), method.role, spread)
    points = tuple((x, m.p99.value) for x, m in found_at)
    return Line(method.name, points, method.role, tuple((m.p99.least, m.p99.greatest) for _, m in found_at))


def _ratios(found: Scaling) -> Table:
    """Return every method's trimmed error as a multiple of the default's."""
    values = found.config["values"]
    rows = tuple(
        Row(
            (
                f"{policy}: {method.name}",
                *(number(found.ratio(policy, value, method.name)) for value in values),
            ),
            method.role,
        )
        for policy in found.config["policies"]
        for method in found.methods
        if method.role != "ours"
    )
    caption = "Trimmed error as a multiple of the default's: above 1, the default is better"
    return Table(caption, _header(found), rows)


def _errors(policy: str, found: Scaling) -> Table:
    """Return relative errors; absolute ones are in the figure."""
    values = found.config["values"]
    here = {m.name: [found.relative[policy, value, m.name] for value in values] for m in found.methods}
    rows = tuple(Row((m.name, *(number(x.trimmed) for x in here[m.name])), m.role) for m in found.methods)
    widest = max(x.standard_error / x.trimmed for measures in here.values() for x in measures)
    caption = (
        f"{policy}: error in % of the sum, {found.config['runs']:,} runs, trimmed; "
        f"standard errors are at most {100 * widest:.0f} % of them"
    )
    return Table(caption, _header(found), rows)


def _header(found: Scaling) -> tuple[str, ...]:
    varied, values = found.config["varied"], found.config["values"]
    return (f"{varied} =", *(number(value) for value in values))


def _findings(found: Scaling) -> Iterator[str]:
    """Say in how many settings the default is ahead of the paper's algorithms, and where it is not."""
    config = found.config
    cells = [(policy, value) for policy in config["policies"] for value in config["values"]]
    title = config["title"].split(":")[0]
    for name in (method.name for method in found.methods if method.role == "paper"):
        ratios = {cell: found.ratio(*cell, name) for cell in cells}
        behind = {cell: ratio for cell, ratio in ratios.items() if ratio < 1}
        sentence = (
            f"{title}: the default's trimmed error is at or below that of {name} in "
            f"{len(cells) - len(behind)} of {len(cells)} settings"
        )
        if behind:
            worst = min(behind, key=lambda cell: behind[cell])
            sentence += (
                f"; at worst it is {number(1 / behind[worst])} times as large "
                f"({worst[0]}, {config['varied']} = {number(worst[1])})"
            )
        yield sentence + "."
