"""A random graph of a million edges with power-law degrees: time, memory and error of several counts.

Run ``python -m experiments.joins.large_graph``. Edges join nodes with chances in proportion to falling
weights (exponent 2.3 of the degrees); an edge's weight is Pareto from 1 to 10,000 and its budget 100 /
weight.
"""

from __future__ import annotations

import resource
import time
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

import prdp
from experiments.options import options
from experiments.yardsticks import trimmed
from prdp.graphs.graph import Paths, Stars, Triangles
from prdp.testing import simulate
from prdp.testing.truth import raw_cells

NODES, EDGES, EXPONENT = 300_000, 1_000_000, 2.3


def drawn(seed: int, nodes: int = NODES, edges: int = EDGES) -> dict[str, NDArray[np.int64]]:
    """Draw pairs of nodes until there are so many different ones."""
    random = np.random.default_rng(seed)
    weights = (np.arange(nodes) + 20.0) ** (-1 / (EXPONENT - 1))
    chances = np.cumsum(weights) / weights.sum()
    found = np.zeros(0, np.int64)
    while found.size < edges:
        ends = np.sort(np.searchsorted(chances, random.random((2, edges // 2))), axis=0)
        different = ends[:, ends[0] < ends[1]]
        found = np.unique(np.concatenate([found, different[0] * nodes + different[1]]))
    kept = random.permutation(found)[:edges]
    weight = np.minimum(10_000, np.floor(1 / random.random(edges))).astype(np.int64)
    return {"src": kept // nodes, "dst": kept % nodes, "weight": weight}


def peak() -> float:
    """Return the most memory that the process has had, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    arguments = options(__doc__, runs=200)
    edges = drawn(arguments.seed)
    graph = prdp.graphs.open(
        edges,
        source="src",
        target="dst",
        nodes=range(NODES),
        policy=prdp.Policy("100 / weight"),
        bounds={"weight": (1, 10_000)},
        name="random",
        synthetic=True,
    )
    degrees = np.bincount(np.concatenate([edges["src"], edges["dst"]]))
    print(f"{EDGES:,} edges, {NODES:,} nodes, largest degree {degrees.max():,}; {peak():.2f} GB so far")
    print(f"{arguments.runs} runs, seed {arguments.seed}: error in % of the truth, 20 % trimmed each side")
    for query, method in (
        (prdp.graphs.paths(2), "framework"),
        (prdp.graphs.paths(2), "truncate"),
        (prdp.graphs.stars(3), "truncate"),
        (prdp.graphs.triangles(), "truncate"),
    ):
        for share in ("1", "1/10"):
            start = time.perf_counter()
            simulate(graph, query, share=share, method=method, runs=1, seed=arguments.seed)
            first = time.perf_counter() - start
            releases = simulate(
                graph, query, share=share, method=method, runs=arguments.runs, seed=arguments.seed
            )
            truth = true_count(graph, query, degrees)
            errors = 100 * np.abs(np.array([float(r.exact) for r in releases]) / truth - 1)
            middle, spread = trimmed(errors)
            print(
                f"{query!s:20}{method:11}share {share:>5}: truth {truth:17,.0f}, "
                f"error {middle:8.3f} ± {spread:.3f}, "
                f"p99 {np.quantile(errors, 0.99):8.3f}; first answer {first:7.2f} s, peak {peak():.2f} GB",
                flush=True,
            )


def true_count(
    graph: prdp.graphs.Graph, query: Paths | Stars | Triangles, degrees: NDArray[np.int64]
) -> float:
    if isinstance(query, Triangles):
        cut = raw_cells(graph, graph.plan(query, 1))[0]
        return float(cut.value(Fraction(2 * cut.tail_factor)) / cut.steps)
    size = query.size if isinstance(query, Stars) else 2
    return float(sum(comb(int(degree), size) for degree in degrees))


if __name__ == "__main__":
    main()
