"""Counts in email-Eu-core beyond the paper's: paths at smaller shares, stars, triangles, and their times.

Run ``python -m experiments.joins.email --data FOLDER``. The graph and the methods are those of the paper's
Appendix C, which at the whole share is ``python -m experiments.paper --only appendix_c``.
"""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

import prdp
from experiments.joins.email_graph import FILE, found, greedy_floor, opened
from experiments.joins.path_methods import METHODS
from experiments.options import options
from experiments.yardsticks import Floats, trimmed
from prdp.mechanisms.smooth import two_paths
from prdp.testing import simulate
from prdp.testing.truth import raw_cells

PLAIN = (
    "SELECT sum(d * (d - 1) // 2) FROM (SELECT count(*) AS d FROM "
    "(SELECT src AS v FROM {file} UNION ALL SELECT dst FROM {file}) GROUP BY v)"
)
TRIM = 0.1


def shown(name: str, answers: Floats, truth: float) -> None:
    errors = 100 * np.abs(answers - truth) / truth
    middle, spread = trimmed(errors, TRIM)
    print(f"{name:44}{middle:12.3f}{spread:10.3f}{np.quantile(errors, 0.99):14.4g}", flush=True)


def accuracy(path: Path, runs: int, seed: int) -> None:
    graph = opened(path)
    pairs = raw_cells(graph, graph.plan(prdp.graphs.edges(), 1))[0]
    truth = float(two_paths(pairs))
    print(f"paths of two edges, {runs} runs, seed {seed}: relative error in %, 10 % trimmed each side")
    print(f"{'method':44}{'error':>12}{'± s.e.':>10}{'p99':>14}")
    for share in (Fraction(1, 3), Fraction(1, 10)):
        for name, method in METHODS.items():
            shown(f"share {share}: {name}", method.answers(graph, share, runs, seed), truth)
        floor = 100 * greedy_floor(pairs, float(share)) / truth
        print(f"share {share}: any method errs by {floor:.3f} % here or nearby")
    for query in (prdp.graphs.stars(3), prdp.graphs.triangles()):
        last = raw_cells(graph, graph.plan(query, 1))[0]
        true = last.value(Fraction(2 * last.tail_factor)) / last.steps
        for share in (Fraction(1), Fraction(1, 10)):
            releases = simulate(graph, query, share=share, runs=runs, seed=seed)
            answers = np.array([float(release.exact) for release in releases])
            shown(f"share {share}: {query}, truncate", answers, true)


def speed(path: Path, repeats: int = 15) -> None:
    """Print the time from opening the file to the answer, beside the plain count, alternating."""
    plain: list[float] = []
    ours: dict[str, list[float]] = {"truncate": [], "framework": []}
    sql = PLAIN.format(file=f"read_parquet('{path}')")
    for repeat in range(repeats):
        start = time.perf_counter()
        duckdb.connect().execute(sql).fetchall()
        plain.append(time.perf_counter() - start)
        for method, times in ours.items():
            start = time.perf_counter()
            simulate(opened(path), prdp.graphs.paths(2), method=method, runs=1, seed=repeat)
            times.append(time.perf_counter() - start)
    base = float(np.median(plain))
    print(f"\nseconds from file to answer, median of {repeats}: plain SQL {base:.3f} (paper's method: 0.10)")
    for method, times in ours.items():
        print(f"  {method}: {np.median(times):.3f}, {np.median(times) / base:.1f} times the plain count")


def main() -> None:
    arguments = options(__doc__, runs=500)
    path = found(arguments.data)
    if path is None:
        print(f"{FILE} is not in the folder given by --data")
        return
    accuracy(path, arguments.runs, arguments.seed)
    speed(path)


if __name__ == "__main__":
    main()
