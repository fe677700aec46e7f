"""Table 2 in the report."""

from __future__ import annotations

import pyarrow

from experiments.paper.experiment import Config, Context
from experiments.paper.report.parts import Row, Section, Table

_FIGURES = ("n", "largest", "mean", "median")


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:  # noqa: ARG001
    """Return the section."""
    rows = []
    for found in results.to_pylist():
        printed = config["published"].get(found["set"])
        if printed:
            cells = (f"{float(printed[name]):,.0f}" for name in _FIGURES)
            rows.append(Row((f"{found['set']}, as published", *cells), "published"))
        rows.append(Row((found["set"], *(f"{found[name]:,.0f}" for name in _FIGURES))))
    header = ("", "records", "largest value", "mean", "median")
    return Section(config["title"], config["about"], (Table("Values of 100 and more", header, tuple(rows)),))
