"""Table 2: the statistics of every set, beside the printed ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow

from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.report.parts import Row, Section, Table
from experiments.paper.setting import Setting


def jobs(config: Config, context: Context) -> list[Job]:  # noqa: ARG001  (as every experiment's)
    """Return a job for each set that can be had."""
    return [
        Job("table_2", (("set", data),), statistics, (data, context.data))
        for data in context.present(context.sets)
    ]


def statistics(data: str, folder: Path | None) -> Columns:
    """Return one row."""
    values = Setting(data).problem(folder).values
    figures = {"n": values.size, "largest": values.max(), "mean": values.mean(), "median": np.median(values)}
    return {name: np.array([float(figure)]) for name, figure in figures.items()}


# Below: how results are shown. They do not depend on it.


_FIGURES = ("n", "largest", "mean", "median")


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:  # noqa: ARG001
    """Return the section."""
    rows = []
    for found in results.to_pylist():
        printed = config["published"].get(found["set"])
        if printed:
            cells = (f"{float(printed[name]):,.0f}" for name in _FIGURES)
            called = found["set"].removesuffix(" (made up)")
            rows.append(Row((f"{called}, as published", *cells), "published"))
        rows.append(Row((found["set"], *(f"{found[name]:,.0f}" for name in _FIGURES))))
    header = ("", "records", "largest value", "mean", "median")
    return Section(config["title"], config["about"], (Table("Values of 100 and more", header, tuple(rows)),))
