"""The README's pictures: errors and intervals beside other methods, and time beside other libraries.

``python -m experiments.pictures`` draws ``docs/accuracy.png`` from ``experiments/accuracy.csv`` and
``experiments/interval_peers.csv`` (which ``experiments.interval_peers`` writes), and ``docs/speed.png`` from
``experiments/peers.csv``.
``--results results/paper`` first writes the former file from what ``experiments.paper --only table_3`` left
there: trimmed means of 5,000 runs, as in the paper's Table 3.
The latter is written by ``python -m benchmarks.peers.run --csv experiments/peers.csv``, on one machine.
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

from experiments.interval_peers import EPSILONS, Interval
from experiments.interval_peers import stored as stored_intervals
from experiments.yardsticks import trimmed

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "experiments" / "accuracy.csv"
PICTURE = ROOT / "docs" / "accuracy.png"
PEERS = ROOT / "experiments" / "peers.csv"
SPEED = ROOT / "docs" / "speed.png"

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


LIBRARIES = {
    "prdp": LOOKS["default"],
    "OpenDP with Polars": ("OpenDP with Polars", "#d55e00", "s"),
    "Tumult Analytics": ("Tumult Analytics", "#009e73", "^"),
    "SmartNoise SQL": ("SmartNoise SQL", "#56b4e9", "v"),
}
"""Whom the picture of speed has, from the top."""
STATED = {
    "prdp": LIBRARIES["prdp"],
    "OpenDP": LIBRARIES["OpenDP with Polars"],
    "Tumult Analytics": LIBRARIES["Tumult Analytics"],
}
"""Whose intervals are shown, from the top."""
ASKED = {"sum": "a sum", "sum by branch": "sums by 101 keys"}
CLIPS = {
    "chosen privately": "clip chosen privately",
    "best clip": "best clip, found in the data",
    "public bounds": "clip at public bounds",
}
"""How sums are clipped of which intervals are shown; those clipped at public bounds are hollow."""


@dataclass(frozen=True, slots=True)
class Timed:
    """How long one library takes for one question, in seconds and in parts of what prdp takes."""

    question: str
    library: str
    version: str
    rows: int
    runs: int
    seconds: float
    times_prdp: float


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


def drawn(points: list[Point], intervals: list[Interval]) -> Figure:
    """Draw errors, and below them intervals, one row a set, on logarithmic axes: further left is better."""
    figure = Figure(figsize=(10, 8.6), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=(3.9, 4.7))
    upper, lower = halves
    panels = upper.subplots(1, 2, sharey=True)
    for panel, question in zip(panels, ("count", "sum"), strict=True):
        _panel(panel, [point for point in points if point.question == question])
        panel.set_title(f"errors of {question}s", loc="left", fontsize="medium")
    _completed(upper, panels, columns=4)
    panels = lower.subplots(1, 2, sharey=True)
    for panel, epsilon in zip(panels, EPSILONS, strict=True):
        _widths(panel, [one for one in intervals if one.epsilon == epsilon])
        title = f"95 % intervals of sums, coverage in %; ε = {epsilon}"
        panel.set_title(title, loc="left", fontsize="medium")
    _completed(lower, panels, columns=2)
    return figure


def _completed(figure: Any, panels: Any, columns: int) -> None:
    """Put the first row on top, and a legend below."""
    panels[0].invert_yaxis()
    handles = {
        text: one for panel in panels for one, text in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False)


def _widths(panel: Any, intervals: list[Interval]) -> None:
    for one in intervals:
        ours, place = one.library == "prdp", list(STATED).index(one.library)
        _, colour, marker = STATED[one.library]
        row, at = list(SETS).index(one.set) + 0.27 * (place - 1), one.half_width_percent
        gid = f"interval {one.epsilon} {one.set} {one.library} {one.clip}"
        look = f"{one.library}, {CLIPS[one.clip]}", colour, marker
        _marked(panel, at, row, look, gid, ours=ours, hollow=one.clip == "public bounds")
        covered = f"{100 * one.coverage:.1f}"
        panel.annotate(
            covered, (at, row), (10, 0), textcoords="offset points", va="center", fontsize="x-small"
        )
    _dressed(panel, list(SETS.values()), "half the width in % of the sum, further left is better")
    panel.margins(x=0.12)


def timed() -> list[Timed]:
    """Return the times of the file in the repository."""
    with PEERS.open(encoding="utf-8", newline="") as file:
        return [
            Timed(
                row["question"],
                row["library"],
                row["version"],
                int(row["rows"]),
                int(row["runs"]),
                float(row["seconds"]),
                float(row["times_prdp"]),
            )
            for row in csv.DictReader(file)
        ]


def drawn_speed(times: list[Timed]) -> Figure:
    """Draw the times as multiples of prdp's, one row a library, on a logarithmic axis."""
    figure = Figure(figsize=(10, 2.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, (question, words) in zip(panels, ASKED.items(), strict=True):
        for one in (one for one in times if one.question == question):
            row, ours = list(LIBRARIES).index(one.library), one.library == "prdp"
            _marked(
                panel, one.times_prdp, row, LIBRARIES[one.library], f"{question} {one.library}", ours=ours
            )
            stated = f"{one.times_prdp:.3g} ({one.seconds:.2g} s)"
            panel.annotate(stated, (one.times_prdp, row), (12, 0), textcoords="offset points", va="center")
        panel.set_title(f"{words} over {times[0].rows:,} rows", loc="left", fontsize="medium")
        panel.set_xlim(0.7, 1_000)
        _dressed(panel, list(LIBRARIES), "times what prdp takes, further left is better")
    panels[0].invert_yaxis()
    return figure


def _panel(panel: Any, points: list[Point]) -> None:
    for point in points:
        gid, row = f"{point.question} {point.set} {point.method}", list(SETS).index(point.set)
        ours = point.method == "default"
        _marked(panel, point.error_percent, row, LOOKS[point.method], gid, ours=ours)
    _dressed(panel, list(SETS.values()), "relative error in %, further left is better")


def _marked(
    panel: Any,
    at: float,
    row: float,
    look: tuple[str, str, str],
    gid: str,
    *,
    ours: bool,
    hollow: bool = False,
) -> None:
    """Draw one point; prdp's is a ring around whatever is there."""
    label, colour, marker = look
    panel.plot(
        [at],
        [row],
        marker,
        color=colour,
        markersize=12 if ours else 7,
        markerfacecolor="none" if ours or hollow else colour,
        markeredgewidth=3 if ours else 1.5,
        zorder=3 if ours else 2,
        label=label,
        gid=gid,
    )


def _dressed(panel: Any, rows: list[str], across: str) -> None:
    panel.set_xscale("log")
    panel.set_yticks(range(len(rows)), rows)
    panel.set_xlabel(across)
    panel.grid(axis="x", alpha=0.3)
    panel.margins(y=0.15)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def main() -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(prog="python -m experiments.pictures", description=__doc__)
    parser.add_argument("--results", type=Path, help="where Table 3 was run: results/paper")
    given = parser.parse_args()
    if given.results is not None:
        written(measured(given.results))
    for figure, place in (
        (drawn(stored(), stored_intervals()), PICTURE),
        (drawn_speed(timed()), SPEED),
    ):
        figure.savefig(place, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
