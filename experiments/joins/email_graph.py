"""The graph of e-mails, or one made up in its place, and what any count of its paths must err by."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import prdp
from experiments.joins.large_graph import drawn
from prdp.cells.edges import Pairs

NODES = range(1005)
EDGES = 16_064
FILE = "email_eu.parquet"


def found(folder: Path | None) -> Path | None:
    """Return where the graph of e-mails is, or None where it is not."""
    path = folder / FILE if folder else None
    return path if path and path.exists() else None


def opened(edges: Path | Mapping[str, Any]) -> prdp.graphs.Graph:
    """Open edges under the paper's policy."""
    return prdp.graphs.open(
        edges,
        source="src",
        target="dst",
        nodes=NODES,
        policy=prdp.Policy("100 / weight"),
        bounds={"weight": (1, 10_000)},
        name="email",
        synthetic=True,
    )


@lru_cache(maxsize=1)
def graph(path: Path | None) -> prdp.graphs.Graph:
    """Return the graph of e-mails, or a made-up one with as many nodes and edges where there is no path."""
    return opened(path or drawn(0, len(NODES), EDGES))


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
