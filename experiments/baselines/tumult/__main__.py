"""Tumult Core's slowly scaling samplers, the library's default and ``clip``, under the same policies.

``python -m experiments.baselines.tumult --data FOLDER``: relative errors of a sum in percent, 20 % trimmed
each side. The seed is that of our noise alone: theirs can't be seeded, so their figures change.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

from experiments.baselines.tumult.comparison import Comparison, compared
from experiments.baselines.tumult.environment import FOLDER, PACKAGE
from experiments.datasets import find, why_missing

SETS = ("Normal(50k)", "Bank", "SF", "CBP")


def lines(comparison: Comparison, runs: int, seed: int) -> Iterator[str]:
    """Yield the table, or why there is none."""
    if comparison.missing:
        yield comparison.missing
        return
    yield f"sum, {runs} runs, error in %, 20 % trimmed each side; ours: seed {seed}, {PACKAGE}: none possible"
    heads = ("default", "± s.e.", "clip", "± s.e.", "sampler", "± s.e.", "default/them", "off its law")
    start = f"{'set':13}{'sampler':30}{'promise':9}{'E = 1 at':>9} {'default':9}"
    yield start + "".join(f"{head:>13}" for head in heads)
    for row in comparison.rows:
        figures = (
            *(row.ours, row.ours_se, row.clip, row.clip_se, row.theirs, row.theirs_se),
            row.ours / row.theirs,
        )
        distance = f"{'-':>13}" if row.distance is None else f"{row.distance:13.4f}"
        cells = "".join(f"{figure:13.3g}" for figure in figures) + distance
        yield f"{row.data:13}{row.sampler:30}{row.promise:9}{row.anchor:9,} {row.method:9}{cells}"
    chance = 1.63 / math.sqrt(runs)
    yield f"off its law: Kolmogorov distance of its draws; above {chance:.4f} by chance in 1 % of the rows"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=1000, help="how often each sum is asked")
    parser.add_argument("--seed", type=int, default=0, help="of our noise")
    parser.add_argument(
        "--env", type=Path, default=FOLDER, help="an environment with Tumult Core, or where to make it"
    )
    asked = parser.parse_args()
    found = {name: find(name, asked.data) for name in SETS}
    for name, data in found.items():
        if data is None:
            print(why_missing(name, asked.data))
    sets = [data for data in found.values() if data is not None]
    for line in lines(compared(sets, asked.runs, asked.seed, folder=asked.env), asked.runs, asked.seed):
        print(line)


if __name__ == "__main__":
    main()
