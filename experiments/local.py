"""How accurate the local model is beyond the paper's table: sums, and errors of counts against n.

Run ``python -m experiments.local --data FOLDER``. One virtual client for each record, all of whose budget is
used (share 1), β = 0.1. The noise is exact; ``prdp.local.simulate`` draws the tallies. Counts on every set
are Table 4 of the paper: ``python -m experiments.paper --only table_4``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments.datasets import DataSet, normal, real
from experiments.paper.report.figures import png
from experiments.paper.report.parts import Figure, Line, Panel
from experiments.studies import COUNT_WAYS, POLICY, SUMS, errors, errors_among
from experiments.yardsticks import slope, trimmed
from prdp.local import Crowd

SIZES = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)


def sums(sets: list[DataSet], runs: int, seed: int) -> Iterator[str]:
    """Yield the table of sums: relative errors in percent, 20 % trimmed each side."""
    yield f"sum, inverse policy, share 1, β = 0.1, {runs} runs, seed {seed}: error in %, 20 % trimmed"
    heads = "".join(f"{name:>10}" for name in ("error", "± s.e.", "p90", "mean"))
    yield f"{'set':14}{'clients':>9}  {'method':30}{heads}"
    for data in sets:
        crowd = Crowd.of({"v": data.values}, POLICY)
        for name, study in SUMS.items():
            found = errors(study, crowd, float(data.values.sum()), runs, seed)
            middle, error = trimmed(found)
            yield (
                f"{data.name:14}{data.values.size:9,}  {name:30}{middle:10.2f}{error:10.2f}"
                f"{np.quantile(found, 0.9):10.4g}{found.mean():10.4g}"
            )


def against_n(runs: int, seed: int) -> dict[str, list[tuple[float, float]]]:
    """Return the trimmed error in clients against their number, for some ways of counting."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for n in SIZES:
        values = normal("", 50_000, n, seed).values
        for name, study in COUNT_WAYS.items():
            found, truth = errors_among(values, "count", study, runs, seed)
            lines.setdefault(name, []).append((float(n), trimmed(found)[0] * truth / 100))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=500, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--only", choices=("sum", "n"), help="one table instead of both")
    parser.add_argument("--figure", type=Path, help="where to write the figure of errors against n, as PNG")
    arguments = parser.parse_args()
    runs, seed, folder = arguments.runs, arguments.seed, arguments.data
    named = [normal("Normal(50k)", 50_000), *(real(name, folder) for name in ("Bank", "SF") if folder)]
    sets = [data for data in named if data is not None]
    if arguments.only in (None, "sum"):
        for line in sums(sets, runs, seed):
            print(line, flush=True)
        print()
    if arguments.only in (None, "n"):
        show_against_n(max(20, runs // 5), seed, arguments.figure)


def show_against_n(runs: int, seed: int, figure: Path | None) -> None:
    lines = against_n(runs, seed)
    print(f"count, Normal(50k): error in clients against n, {runs} runs, seed {seed}; √n has the slope 0.5")
    print(f"{'n':>26}" + "".join(f"{n:11,}" for n in SIZES) + f"{'slope':>8}")
    for name, points in lines.items():
        print(f"{name:26}" + "".join(f"{error:11,.1f}" for _, error in points) + f"{slope(points)[0]:8.2f}")
    if figure:
        start = lines["1/4 for all, bits"][0][1]
        lines["√n"] = [(float(n), start * math.sqrt(n / SIZES[0])) for n in SIZES]
        drawn = tuple(Line(name, tuple(points)) for name, points in lines.items())
        title = "Counting clients under PrLDP: error against n"
        panel = Panel(title, "clients", "error in clients", drawn)
        figure.write_bytes(png(Figure("local_error", title, (panel,))))


if __name__ == "__main__":
    main()
