"""The samplers on the page of what is not the same twice."""

from __future__ import annotations

import pyarrow

from experiments.paper.experiment import Config, Context
from experiments.paper.report.parts import Row, Section, Table, number


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    parts: list[Table | str] = list(context.absent(config["sets"]))
    if not config["run"]:
        parts.append("Left out of quick runs, because the environment takes long to make.")
    rows = [
        Row(
            (
                f"{row['set']}: {row['sampler']}",
                row["promise"],
                f"{row['anchor']:,.0f}",
                f"{number(row['ours'])} ± {number(row['ours_se'], 1)}",
                f"{number(row['theirs'])} ± {number(row['theirs_se'], 1)}",
                number(row["ours"] / row["theirs"]),
            )
        )
        for row in results.to_pylist()
    ]
    if rows:
        header = ("", "its promise", "E = 1 at", "default", "sampler", "default / sampler")
        parts.append(Table(f"Sum: error in %, {config['runs']:,} runs", header, tuple(rows)))
    return Section(config["title"], config["about"], tuple(parts))
