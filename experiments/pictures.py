"""The README's picture of accuracy: errors of counts and sums beside other methods under the same policy.

``python -m experiments.pictures`` draws ``docs/accuracy.png`` from ``experiments/accuracy.csv``.
``--results results/paper`` first writes that file from what ``experiments.paper --only table_3`` left there:
trimmed means of 5,000 runs, as in the paper's Table 3.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from matplotlib.figure import Figure

from experiments.yardsticks import trimmed

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "experiments" / "accuracy.csv"
PICTURE = ROOT / "docs" / "accuracy.png"

SETS = {"Bank": "Bank", "SF": "SF payroll", "CBP": "County payrolls", "Normal(50k)": "Normal"}
LOOKS = {
    "default": ("prdp", "#0072b2", "o"),
    "Algorithm 1": ("the paper's Algorithm 1", "#d55e00", "s"),
    "Algorithm 2": ("the paper's Algorithm 2", "#e69f00", "D"),
    "personalised truncation with sampling": ("personalised truncation", "#009e73", "^"),
    "personalised truncation": ("personalised truncation", "#009e73", "^"),
    "sampling at t = 0.1": ("sampling, t = 0.1", "#56b4e9", "v"),
    "sampling at t = 1": ("sampling, t = 1", "#56b4e9", "P"),
    "naive": ("ordinary DP, least budget", "#000000", "x"),
}
"""What is drawn; personalised truncation in the form that fits the paper's figures: counts with sampling."""


@dataclass(frozen=True, slots=True)
class Point:
    """What one method makes of one question about one set."""

    question: str
    set: str
    method: str
    error_percent: float
    standard_error: float
    runs: int


def measured(folder: Path) -> list[Point]:
    """Return the points of a run of Table 3."""
    frame = pyarrow.parquet.read_table(folder / "table_3.parquet").to_pandas()
    points = []
    for (question, data, method), runs in frame.groupby(["question", "set", "method"], sort=False):
        if (
            data in SETS
            and method in LOOKS
            and question in ("count", "sum")
            and not _other_form(question, method)
        ):
            error, deviation = trimmed(np.asarray(runs["error"]))
            points.append(Point(question, data, method, _rounded(error), _rounded(deviation), len(runs)))
    return points


def _other_form(question: str, method: str) -> bool:
    return question == "count" and method == "personalised truncation"


def _rounded(number: float) -> float:
    return float(f"{number:.4g}")


def written(points: list[Point]) -> None:
    """Write points to the file in the repository."""
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Point))
        writer.writerows(map(astuple, points))


def stored() -> list[Point]:
    """Return the points of the file in the repository."""
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return [
            Point(
                row["question"],
                row["set"],
                row["method"],
                float(row["error_percent"]),
                float(row["standard_error"]),
                int(row["runs"]),
            )
            for row in csv.DictReader(file)
        ]


def drawn(points: list[Point]) -> Figure:
    """Draw the errors, one row a set, on a logarithmic axis: further left is better."""
    figure = Figure(figsize=(10, 3.9), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, question in zip(panels, ("count", "sum"), strict=True):
        _panel(panel, [point for point in points if point.question == question])
        panel.set_title(f"{question}s", loc="left", fontsize="medium")
    panels[0].invert_yaxis()
    handles = {
        text: one for panel in panels for one, text in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _panel(panel: Any, points: list[Point]) -> None:
    for point in points:
        label, colour, marker = LOOKS[point.method]
        panel.plot(
            [point.error_percent],
            [list(SETS).index(point.set)],
            marker,
            color=colour,
            markersize=12 if point.method == "default" else 7,
            markerfacecolor="none" if point.method == "default" else colour,
            markeredgewidth=3 if point.method == "default" else 1.5,
            zorder=3 if point.method == "default" else 2,
            label=label,
            gid=f"{point.question} {point.set} {point.method}",
        )
    panel.set_xscale("log")
    panel.set_yticks(range(len(SETS)), list(SETS.values()))
    panel.set_xlabel("relative error in %, further left is better")
    panel.grid(axis="x", alpha=0.3)
    panel.margins(y=0.15)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m experiments.pictures", description=__doc__)
    parser.add_argument("--results", type=Path, help="where Table 3 was run: results/paper")
    given = parser.parse_args()
    if given.results is not None:
        written(measured(given.results))
    drawn(stored()).savefig(PICTURE, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
