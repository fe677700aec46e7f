"""The records of a graph: one per pair of public nodes, each with its budget.

What a mechanism sees of a graph, as ``Summary`` is what it sees of a table. Nodes are numbered by their
place in the public node set; neither nodes nor numbers of records are ever printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.cells.summary import Summary
from prdp.levels import Levels

Integers = NDArray[np.int64]


def budget_mass(levels: Levels, level: Integers, lattice: int) -> int:
    """Return the budget mass of records, from the level of each, on a lattice of so many quanta."""
    counts = np.bincount(level).tolist()
    return sum(levels.quanta(level) // lattice * count for level, count in enumerate(counts))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Undirected edges between public nodes, each pair at most once.

    Attributes:
        levels: The grid of budgets.
        nodes: The number of public nodes.
        ends: The two nodes of each edge, one row an end.
        level: Each edge's budget level.
    """

    levels: Levels
    nodes: int
    ends: Integers = field(repr=False)
    level: Integers = field(repr=False)

    @classmethod
    def of(cls, levels: Levels, nodes: int, edges: Iterable[tuple[int, int, int]]) -> Pairs:
        """Return the graph of some edges (node, node, level)."""
        rows = np.array(list(edges), dtype=np.int64).reshape(-1, 3)
        return cls(levels, nodes, rows[:, :2].T.copy(), rows[:, 2].copy())

    def from_level(self, least: int) -> Pairs:
        """Return the graph of the edges from a level on."""
        kept = self.level >= least
        return Pairs(self.levels, self.nodes, self.ends[:, kept], self.level[kept])

    def at_level(self, least: int) -> Pairs:
        """Return the graph of the edges from a level on, each with the budget of that level."""
        kept = self.from_level(least)
        return Pairs(self.levels, self.nodes, kept.ends, np.full_like(kept.level, least))

    def degrees(self) -> Integers:
        """Return each node's number of edges."""
        return np.bincount(self.ends.ravel(), minlength=self.nodes).astype(np.int64)

    def summary(self) -> Summary:
        """Return the edges as cells, to be counted."""
        return Summary.counting(self.levels, self.level)

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all edges, on a lattice of so many quanta."""
        return budget_mass(self.levels, self.level, lattice)

    def incidences(self) -> list[tuple[int, Integers, Integers]]:
        """Return, for each level that occurs, its nodes and how many of the level's edges each has."""
        found = []
        for level in np.unique(self.level).tolist():
            at = self.ends[:, self.level == level].ravel()
            nodes, counts = np.unique(at, return_counts=True)
            found.append((int(level), nodes.astype(np.int64), counts.astype(np.int64)))
        return found

    def among(self, chosen: NDArray[Any]) -> set[tuple[int, int]]:
        """Return the edges between chosen nodes, each in both directions."""
        flags = np.zeros(self.nodes + 1, dtype=bool)
        flags[chosen] = True
        inside = self.ends[:, flags[self.ends[0]] & flags[self.ends[1]]]
        return {(int(u), int(w)) for u, w in np.hstack((inside, inside[::-1])).T}


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """The public set of nodes: whole numbers or texts, each once, in ascending order."""

    values: range | Integers | tuple[str, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def are_texts(self) -> bool:
        """True if nodes are named by texts."""
        return isinstance(self.values, tuple)

    def places(self, given: NDArray[Any]) -> Integers:
        """Return each value's place among the nodes, or -1 for what is no node; texts come as bytes."""
        if isinstance(self.values, range):
            first, step = self.values.start, self.values.step
            inside = (given >= first) & (given < self.values.stop)
            offset = np.where(inside, given, first) - first
            return np.where(inside & (offset % step == 0), offset // step, -1).astype(np.int64)
        if isinstance(self.values, tuple):
            return places_among([text.encode() for text in self.values], given)
        return places_among(self.values, given)


def places_among(names: Integers | Sequence[bytes], given: NDArray[Any]) -> Integers:
    """Return the index of each value among different names, or -1 where it is none of them.

    Texts are looked up as Python's bytes: an array of texts would lose NULs at their ends and be as wide as
    the longest.
    """
    if not isinstance(names, np.ndarray) or names.dtype.kind == "O":
        place = {name: number for number, name in enumerate(names)}
        return np.fromiter((place.get(value, -1) for value in given), dtype=np.int64, count=len(given))
    if not len(names):
        return np.full(len(given), -1, dtype=np.int64)
    order = np.argsort(names)
    found = order[np.minimum(np.searchsorted(names, given, sorter=order), len(names) - 1)]
    return np.where(names[found] == given, found, -1).astype(np.int64)
