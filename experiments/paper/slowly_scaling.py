"""Tumult Core's slowly scaling samplers beside the default and ``clip``; they can't be seeded."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow

from experiments.baselines.tumult.comparison import compared
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.setting import Setting

FIGURES = ("ours", "ours_se", "clip", "clip_se", "theirs", "theirs_se")
WORDS = ("sampler", "promise", "method")


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each set, or none in a quick run."""
    if not config["run"]:
        return []
    return [
        Job(
            "slowly_scaling",
            (("set", data),),
            sampled,
            (data, config["runs"], *context.seeds(data), context.data),
        )
        for data in context.present(context.sets_of(config))
    ]


def sampled(data: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return a row for each sampler and anchor, or one that says why there are none."""
    comparison = compared([Setting(data).problem(folder).data], runs, seed)
    if comparison.missing:
        words = {name: np.array([comparison.missing if name == "sampler" else ""]) for name in WORDS}
        return {**words, "anchor": np.zeros(1), **{name: np.full(1, np.nan) for name in FIGURES}}
    rows = [asdict(row) for row in comparison.rows]
    return {name: np.array([row[name] for row in rows]) for name in (*WORDS, "anchor", *FIGURES)}


# Below: how results are shown. They do not depend on it.


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    parts: list[Table | str] = list(context.absent(context.sets_of(config)))
    if not config["run"]:
        parts.append("Left out of quick runs, because the environment takes long to make.")
    rows = [
        Row(
            (
                f"{row['set']}: {row['sampler']}",
                row["promise"],
                f"{row['anchor']:,.0f}",
                f"{row['method']}: {number(row['ours'])} ± {number(row['ours_se'], 1)}",
                f"{number(row['clip'])} ± {number(row['clip_se'], 1)}",
                f"{number(row['theirs'])} ± {number(row['theirs_se'], 1)}",
                number(row["ours"] / row["theirs"]),
            )
        )
        for row in results.to_pylist()
    ]
    if rows:
        header = ("", "its promise", "E = 1 at", "default", "clip", "sampler", "default / sampler")
        parts.append(Table(f"Sum: error in %, {config['runs']:,} runs", header, tuple(rows)))
    return Section(config["title"], config["about"], tuple(parts))
