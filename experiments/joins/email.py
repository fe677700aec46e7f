"""Paths of two edges in email-Eu-core: our methods, the paper's figure, R2T and residual sensitivity.

Run ``python -m experiments.joins.email --data FOLDER``. Records are pairs of people, E = 100 / weight; the
weight is declared to lie between 1 and 10,000, and people are the public numbers 0 to 1,004.
"""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

import prdp
from experiments.joins.baselines import (
    Floats,
    r2t_at_the_least_budget,
    r2t_with_personal_truncation,
    residual_sensitivity,
)
from experiments.options import options
from experiments.yardsticks import trimmed
from prdp.mechanisms.smooth import two_paths
from prdp.pairs import Pairs
from prdp.testing import simulate

NODES = range(1005)
PLAIN = (
    "SELECT sum(d * (d - 1) // 2) FROM (SELECT count(*) AS d FROM "
    "(SELECT src AS v FROM {file} UNION ALL SELECT dst FROM {file}) GROUP BY v)"
)
TRIM = 0.1


def opened(path: Path) -> prdp.Graph:
    return prdp.open_graph(
        path,
        source="src",
        target="dst",
        nodes=NODES,
        policy=prdp.Policy("100 / weight"),
        bounds={"weight": (1, 10_000)},
    )


def shown(name: str, answers: Floats, truth: float, aim: str = "") -> None:
    errors = 100 * np.abs(answers - truth) / truth
    middle, spread = trimmed(errors, TRIM)
    print(f"{name:44}{middle:12.3f}{spread:10.3f}{np.quantile(errors, 0.99):14.4g}  {aim}", flush=True)


def greedy_floor(pairs: Pairs, share: float) -> float:
    """Return what some method must err by, on this graph or without some of its edges.

    Edges are removed in order of paths lost per budget; the bound is lost / (1 + exp(budget removed)).
    """
    budgets = np.array(
        [float(pairs.levels.quanta(int(level)) * pairs.levels.quantum) for level in pairs.level]
    )
    degrees = pairs.degrees()
    order = np.argsort(-(degrees[pairs.ends].sum(axis=0) - 2) / budgets)
    lost, spent, best = 0.0, 0.0, 0.0
    for edge in order[:2000]:
        u, w = pairs.ends[:, edge]
        lost += degrees[u] + degrees[w] - 2
        degrees[[u, w]] -= 1
        spent += share * budgets[edge]
        best = max(best, lost / (1 + np.exp(spent)))
        if spent > 8:
            break
    return best


def accuracy(path: Path, runs: int, seed: int) -> None:
    graph = opened(path)
    pairs = graph.raw_pairs()
    truth = float(two_paths(pairs))
    least = float(graph.reading.levels.at_least)
    print(f"paths of two edges, {runs} runs, seed {seed}: relative error in %, 10 % trimmed each side")
    print(f"{'method':44}{'error':>12}{'± s.e.':>10}{'p99':>14}  aim")
    aims = {("truncate", "1"): "1.0 or less", ("framework", "1"): "2.06 or less (the paper's)"}
    for share in ("1", "1/3", "1/10"):
        part = 1 if share == "1" else 1 / float(share.split("/")[1])
        random = np.random.default_rng(seed)
        for method in ("truncate", "framework"):
            releases = simulate(graph, prdp.Paths(2), share=share, method=method, runs=runs, seed=seed)
            answers = np.array([float(release.exact) for release in releases])
            shown(f"share {share}: {method}", answers, truth, aims.get((method, share), ""))
        race = r2t_with_personal_truncation(pairs, part, runs, random)
        shown(f"share {share}: R2T, personal truncation", race, truth)
        least_race = r2t_at_the_least_budget(pairs, part, runs, random)
        shown(f"share {share}: R2T at the least budget", least_race, truth)
        residual = residual_sensitivity(pairs, part * least, runs, random)
        shown(f"share {share}: residual sensitivity, least budget", residual, truth, "paper: above 100")
        floor = 100 * greedy_floor(pairs, part) / truth
        print(f"share {share}: any method errs by {floor:.3f} % here or nearby")
    for query in (prdp.Stars(3), prdp.Triangles()):
        last = graph.raw_cut(query)
        true = last.value(Fraction(2 * last.reach)) / last.steps
        for share in ("1", "1/10"):
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
            simulate(opened(path), prdp.Paths(2), method=method, runs=1, seed=repeat)
            times.append(time.perf_counter() - start)
    base = float(np.median(plain))
    print(f"\nseconds from file to answer, median of {repeats}: plain SQL {base:.3f} (paper's method: 0.10)")
    for method, times in ours.items():
        print(f"  {method}: {np.median(times):.3f}, {np.median(times) / base:.1f} times the plain count")


def main() -> None:
    arguments = options(__doc__, runs=500)
    path = (arguments.data or Path()) / "email_eu.parquet"
    if not path.exists():
        print("email_eu.parquet is not in the folder given by --data")
        return
    accuracy(path, arguments.runs, arguments.seed)
    speed(path)


if __name__ == "__main__":
    main()
