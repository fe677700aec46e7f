"""Stars of k edges at a node (for k = 2, paths), cut node by node: no linear program, exact integers.

Half of an edge's allowance belongs to each of its ends. At a node with d edges, the cut count is the least,
over the number m of edges that are given up, of the allowances of the m cheapest edges plus the stars among
the other d - m.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import comb

import numpy as np

from prdp.cells.edges import Integers, Pairs
from prdp.levels import Levels

_FINEST_BITS = 20  # as in ``clip``
_VALUE_BITS = 40


@dataclass(frozen=True, slots=True)
class CutStars:
    """The stars of a graph, cut at the nodes. In full: proofs/truncate.md.

    Attributes:
        pairs: The graph.
        size: How many edges a star has.
        steps: How many lattice steps a star is.
    """

    pairs: Pairs
    size: int
    steps: int
    _kept: dict[Fraction, int] = field(default_factory=dict, repr=False, compare=False)
    _touched: list[_Touched] = field(default_factory=list, repr=False, compare=False)

    how = "at the nodes: half of an edge's allowance at each end"

    @classmethod
    def of(cls, pairs: Pairs, size: int) -> CutStars:
        """Return the stars on a lattice that is as fine as the public number of nodes makes worth while."""
        most = comb(max(1, pairs.nodes - 2), size - 1)
        return cls(pairs, size, 1 << max(0, min(_FINEST_BITS, _VALUE_BITS - most.bit_length())))

    @property
    def levels(self) -> Levels:
        """The grid of budgets."""
        return self.pairs.levels

    @property
    def reach(self) -> int:
        """Twice the most stars that an edge can be part of at one end."""
        return 2 * self.steps * max(1, comb(max(0, self.pairs.nodes - 2), self.size - 1))

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all edges."""
        return self.pairs.mass(lattice)

    def slack(self, per_quantum: Fraction) -> int:  # noqa: ARG002  (exact at every point)
        """Return 0: nothing is rounded but allowances, which belong to one edge each."""
        return 0

    def value(self, per_quantum: Fraction) -> int:
        """Return the cut count, in steps."""
        if per_quantum not in self._kept:
            self._kept[per_quantum] = self._value(per_quantum)
        return self._kept[per_quantum]

    def _value(self, per_quantum: Fraction) -> int:
        if not self._touched:
            self._touched.append(_Touched.of(self.pairs))
        touched = self._touched[0]
        left = touched.degrees.copy()
        given_up = 0
        for level, nodes, counts in touched.incidences:
            allowance = self.levels.quanta(level) * per_quantum.numerator // (2 * per_quantum.denominator)
            if self._needed(int(left[nodes].max())) <= allowance:
                continue  # nowhere is an edge of this level worth giving up
            floor = self._worth_keeping(allowance) - 1
            gone = np.clip(left[nodes] - floor, 0, counts)
            left[nodes] -= gone
            given_up += int(gone.sum()) * allowance
        sizes, nodes_of = np.unique(left, return_counts=True)
        kept = sum(
            comb(int(size), self.size) * int(count) for size, count in zip(sizes, nodes_of, strict=True)
        )
        return given_up + kept * self.steps

    def _worth_keeping(self, allowance: int) -> int:
        """Return how many edges a node must have for one of this allowance to be worth giving up."""
        low, high = self.size, max(self.size, self.pairs.nodes + 1)
        while low < high:
            middle = (low + high) // 2
            if self._needed(middle) > allowance:
                high = middle
            else:
                low = middle + 1
        return low

    def _needed(self, edges: int) -> int:
        """Return in how many steps of stars each of a node's edges is: among n, in C(n - 1, k - 1) stars."""
        return comb(edges - 1, self.size - 1) * self.steps


@dataclass(frozen=True, slots=True)
class _Touched:
    """The nodes that have edges, numbered among themselves: there may be far more that have none.

    Attributes:
        degrees: How many edges each has.
        incidences: As those of ``Pairs``.
    """

    degrees: Integers
    incidences: list[tuple[int, Integers, Integers]]

    @classmethod
    def of(cls, pairs: Pairs) -> _Touched:
        """Return those of a graph."""
        names, degrees = np.unique(pairs.ends, return_counts=True)
        incidences = [
            (level, np.searchsorted(names, nodes), counts) for level, nodes, counts in pairs.incidences()
        ]
        return cls(degrees.astype(np.int64), incidences)
