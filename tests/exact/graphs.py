"""Every graph on five nodes, each edge with a budget of its own, and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from prdp.cells.edges import Pairs
from prdp.graphs.results import Listed
from prdp.levels import Levels

LEVELS = Levels(Fraction(8), Fraction(32))
PLACES = tuple(combinations(range(5), 2))
BUDGET_LEVELS = (0, 9, 3, 15, 0, 6, 12, 0, 8, 2)
"""The level of each possible edge: least budgets, largest ones and some between, spread over the nodes."""


def graph(edges: int, *, nodes: int = 5, levels: Levels = LEVELS, shift: int = 0) -> Pairs:
    """Return the graph of the edges whose bits are set; ``shift`` turns the budgets around."""
    chosen = [
        (*PLACES[place], BUDGET_LEVELS[(place + shift) % 10]) for place in range(10) if edges >> place & 1
    ]
    return Pairs.of(levels, nodes, chosen)


def quanta(place: int, *, levels: Levels = LEVELS, shift: int = 0) -> int:
    """Return the budget of a possible edge, in quanta."""
    return levels.quanta(BUDGET_LEVELS[(place + shift) % 10])


def neighbours(within: int = 0b1111111111) -> Iterator[tuple[int, int, int]]:
    """Yield every graph of some possible edges, the same with one edge more, and that edge's place."""
    for edges in range(1 << 10):
        if edges & ~within:
            continue
        for place in range(10):
            if within >> place & 1 and not edges >> place & 1:
                yield edges, edges | 1 << place, place


def listed_triangles(pairs: Pairs) -> Listed:
    """Return the triangles of a small graph, found by looking at all triples of edges."""
    ends = [frozenset(map(int, pair)) for pair in pairs.ends.T]
    rows = [row for row in combinations(range(len(ends)), 3) if _close(*(ends[edge] for edge in row))]
    return Listed(np.array(rows, dtype=np.int64).reshape(-1, 3), pairs.level)


def _close(one: frozenset[int], two: frozenset[int], three: frozenset[int]) -> bool:
    return len(one | two | three) == 3
