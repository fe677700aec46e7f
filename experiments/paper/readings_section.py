"""The readings of Algorithm 2 in the report."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyarrow

from experiments.paper.experiment import Config, Context
from experiments.paper.readings import QUESTIONS, READINGS
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.results import measured

_PRINTED = tomllib.loads((Path(__file__).with_name("table_3.toml")).read_text(encoding="utf-8"))


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    found = measured(results, ("set", "question", "reading"))
    lost = measured(results, ("set", "question", "reading"), "dropped")
    sets = context.present(config["sets"])
    printed = {question: _PRINTED["published"][question]["Algorithm 2"] for question in QUESTIONS}
    columns = [(data, question) for question in QUESTIONS for data in sets]
    rows = [Row(("as published", *(number(printed[q][data]) for data, q in columns)), "published")]
    for reading in READINGS:
        errors = [(found[data, q, reading].trimmed, printed[q][data]) for data, q in columns]
        cells = (f"{number(error)} ({number(error / paper, 2)})" for error, paper in errors)
        rows.append(Row((reading, *cells)))
    for reading in READINGS:
        parts = (number(lost[data, q, reading].trimmed) if q == "sum" else "" for data, q in columns)
        rows.append(Row((f"dropped; {reading}", *parts), "yardstick"))
    fitting = [
        reading
        for reading in READINGS
        if all(2 / 3 <= found[data, q, reading].trimmed / printed[q][data] <= 1.5 for data, q in columns)
    ]
    conclusion = (
        "Readings of Algorithm 2 that give all of its published figures within a factor of 1.5: "
        + ("; ".join(fitting) or "none of the four")
        + "."
    )
    header = ("", *(f"{data} {question}" for data, question in columns))
    table = Table(f"Errors in %, {config['runs']:,} runs", header, tuple(rows))
    shown: tuple[Table | str, ...] = (*context.absent(config["sets"]), table)
    return Section(config["title"], config["about"], shown, (conclusion,))
