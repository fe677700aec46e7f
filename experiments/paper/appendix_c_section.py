"""Appendix C in the report: errors beside the printed figures."""

from __future__ import annotations

import pyarrow

from experiments.joins.email_graph import FILE, found
from experiments.joins.path_methods import DEFAULT, FRAMEWORK, METHODS
from experiments.paper.appendix_c import FLOOR
from experiments.paper.experiment import Config, Context
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.report.tails import HEADER, with_error
from experiments.paper.results import measured


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    real = found(context.data) is not None
    measures = {name: m for (name,), m in measured(results, ("method",), trim=config["trim"]).items()}
    rows = [
        Row((name, figure, *["–"] * 4), "published") for name, figure in config["published"].items() if real
    ]
    for name, method in METHODS.items():
        m = measures[name]
        figures = (number(x) for x in (m.median, m.p90, m.p99, m.mean))
        rows.append(Row((name, with_error(m), *figures), method.role))
    least = number(measures[FLOOR].mean)
    rows.append(Row(("floor: any private method, here or nearby", least, *["–"] * 4), "yardstick"))
    caption = f"Paths of two edges: error in %, {config['runs']:,} runs, a tenth left out at each end, ± s.e."
    table = Table(caption, HEADER, tuple(rows))
    if not real:
        return Section(config["title"], config["about"], (missing(context), table))
    finding = (
        f"Paths of two edges: 2.06 % in the paper; its framework gives "
        f"{number(measures[FRAMEWORK].trimmed)} % here and the default {number(measures[DEFAULT].trimmed)} %."
    )
    return Section(config["title"], config["about"], (table,), (finding,))


def missing(context: Context) -> str:
    """Say which file is missing and what is shown in its place."""
    return (
        f"email-Eu-core: left out, {FILE} is not in {context.data or 'a folder given by --data'}. In "
        "its place stands a made-up graph of as many nodes and edges, power-law degrees and Pareto weights; "
        "its errors can't be compared with the paper's."
    )
