"""Appendix C: every way to count paths of two edges in a graph of e-mails, beside the printed errors."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow

import prdp
from experiments.joins.email_graph import FILE, found, graph, greedy_floor
from experiments.joins.path_methods import DEFAULT, METHODS, PRINTED
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.report.tails import HEADER, SPREAD, with_error, with_spread
from experiments.paper.results import measured
from prdp.mechanisms.smooth import two_paths
from prdp.testing.truth import raw_cells

FLOOR = "floor"


def jobs(config: Config, context: Context) -> list[Job]:
    """Return jobs of a few runs for each method, and one for the floor."""
    path = found(context.data)
    starts = range(0, config["runs"], size := config["runs_a_job"])
    seeds = context.seeds("email-Eu-core" if path else "a graph made up", len(starts))
    parts = [
        Job(
            "appendix_c",
            (("method", name), ("seed", part)),
            counted,
            (path, name, min(size, config["runs"] - first), seeds[part]),
        )
        for name in METHODS
        for part, first in enumerate(starts)
    ]
    return [*parts, Job("appendix_c", (("method", FLOOR), ("seed", 0)), floor, (path,))]


def counted(path: Path | None, name: str, runs: int, seed: int) -> Columns:
    """Return answers and relative errors in percent of so many runs."""
    asked = graph(path)
    truth = float(two_paths(raw_cells(asked, asked.plan(prdp.graphs.edges(), 1))[0]))
    answers = METHODS[name].answers(asked, Fraction(1), runs, seed)
    return {"answer": answers, "error": 100 * np.abs(answers - truth) / truth}


def floor(path: Path | None) -> Columns:
    """Return what any private method must err by, on the graph or without some of its edges."""
    (pairs,) = raw_cells(graph(path), graph(path).plan(prdp.graphs.edges(), 1))
    least = 100 * greedy_floor(pairs, 1) / float(two_paths(pairs))
    return {"answer": np.array([np.nan]), "error": np.array([least])}


# Below: how results are shown. They do not depend on it.


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    real = found(context.data) is not None
    measures = {name: m for (name,), m in measured(results, ("method",), trim=config["trim"]).items()}
    rows = [
        Row((name, figure, *["–"] * 4), "published") for name, figure in config["published"].items() if real
    ]
    for name, method in METHODS.items():
        m = measures[name]
        tail = (with_spread(figure) for figure in (m.p90, m.p99, m.mean))
        rows.append(Row((name, with_error(m), number(m.median), *tail), method.role))
    least = number(measures[FLOOR].mean.value)
    rows.append(Row(("floor: any private method, here or nearby", least, *["–"] * 4), "yardstick"))
    spread = SPREAD.format(-(-config["runs"] // config["runs_a_job"]))
    caption = (
        f"Paths of two edges: error in %, {config['runs']:,} runs, a tenth left out at each end, ± s.e.; "
        f"for the last three columns, which leave nothing out, {spread}"
    )
    table = Table(caption, HEADER, tuple(rows))
    if not real:
        return Section(config["title"], config["about"], (missing(context), table))
    finding = (
        f"Paths of two edges: 2.06 % in the paper; its framework gives "
        f"{number(measures[PRINTED].trimmed)} % here and the default {number(measures[DEFAULT].trimmed)} %."
    )
    return Section(config["title"], config["about"], (table,), (finding,))


def missing(context: Context) -> str:
    """Say which file is missing and what is shown in its place."""
    return (
        f"email-Eu-core: left out, {FILE} is not in {context.data or 'a folder given by --data'}. In "
        "its place is a made-up graph of as many nodes and edges, power-law degrees and Pareto weights; "
        "its errors can't be compared with the paper's."
    )
