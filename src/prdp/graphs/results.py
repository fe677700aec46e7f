"""Results that use several records each: cut by a linear program, or, of stars, node by node.

Of stars, half of an edge's allowance belongs to each of its ends. At a node with d edges, the cut count is
the least, over the number m of edges that are given up, of the allowances of the m cheapest edges plus the
stars among the other d - m.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prdp.cells.edges import Integers, Pairs, budget_mass
from prdp.levels import Levels
from prdp.mechanisms._packing import Packing

_SLACK_BITS = 8  # a certificate may be off by 1/256 of the least allowance, which the noise makes up for


class Results(Protocol):
    """Results inside an engine; records are numbered."""

    def total(self) -> int:
        """Return the number of results."""

    def loads(self) -> Integers:
        """Return, for each record, how many results use it."""

    def touching(self, records: NDArray[Any]) -> Integers:
        """Return the results that use one of these records: a row of different records each, -1 for none."""

    def by_level(self) -> Mapping[int, int]:
        """Return the number of results for each least level among their records."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The most results, in parts, such that no record is used for more than its allowance.

    In full: proofs/truncate.md.

    Attributes:
        levels: The grid of budgets.
        level: Each record's budget level.
        results: The results.
        most: The most results that a record can be part of; public.
        steps: The number of lattice steps of a result.
        during: What is entered while a program is solved, which may take long; by default nothing.
    """

    levels: Levels
    level: Integers = field(repr=False)
    results: Results = field(repr=False)
    most: int
    steps: int = 1 << 20
    during: Callable[[], AbstractContextManager[None]] = field(default=nullcontext, repr=False, compare=False)
    _kept: dict[Fraction, int] = field(default_factory=dict, repr=False, compare=False)
    _loads: list[Integers] = field(default_factory=list, repr=False, compare=False)

    how = "by a linear program with one constraint for each record"

    @property
    def reach(self) -> int:
        """An allowance of all results that a record can be part of."""
        return self.steps * self.most

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all records."""
        return budget_mass(self.levels, self.level, lattice)

    def slack(self, per_quantum: Fraction) -> int:
        """Return the maximum excess of the certified value over the optimum: 2^-8 of the least allowance."""
        return max(2, int(self.levels.quanta(0) * per_quantum) >> _SLACK_BITS)

    def value(self, per_quantum: Fraction) -> int:
        """Return the cut count, in steps."""
        if per_quantum not in self._kept:
            self._kept[per_quantum] = self._value(per_quantum)
        return self._kept[per_quantum]

    def _value(self, per_quantum: Fraction) -> int:
        if not self._loads:
            self._loads.append(self.results.loads())
        loads, every = self._loads[0], self.results.total()
        levels, places = np.unique(self.level, return_inverse=True)
        up, down, reach = per_quantum.numerator, per_quantum.denominator, self.reach
        of_level = [min(reach, self.levels.quanta(level) * up // down) for level in levels.tolist()]
        allowances = np.array(of_level, dtype=np.int64)[places]
        bound = loads * self.steps > allowances
        if not bound.any():
            return every * self.steps
        results = self.results.touching(np.flatnonzero(bound))
        packing = Packing.of(results, bound, allowances, self.steps)
        with self.during():
            return (every - len(results)) * self.steps + packing.most(self.slack(per_quantum))


@dataclass(frozen=True, slots=True)
class FixedWeights(Packed):
    """Each result counts for what its records could bear if all their results were there.

    No program is solved, so that any number of results will do; far more is cut.
    """

    how = "at public weights, because there are more nodes than the linear program is meant for"

    def slack(self, per_quantum: Fraction) -> int:  # noqa: ARG002  (exact at every point)
        """Return 0: nothing is rounded but weights, which belong to one result each."""
        return 0

    def _value(self, per_quantum: Fraction) -> int:
        return sum(
            count * min(self.steps, int(self.levels.quanta(level) * per_quantum / self.most))
            for level, count in self.results.by_level().items()
        )


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Results as an array: a row of different records each, -1 for none."""

    rows: Integers = field(repr=False)
    level: Integers = field(repr=False)

    def total(self) -> int:
        """Return the number of results."""
        return len(self.rows)

    def loads(self) -> Integers:
        """Return, for each record, how many results use it."""
        used = self.rows[self.rows >= 0]
        return np.bincount(used, minlength=len(self.level)).astype(np.int64)

    def touching(self, records: NDArray[Any]) -> Integers:
        """Return the results that use one of these records."""
        chosen = np.zeros(len(self.level) + 1, dtype=bool)
        chosen[records] = True
        return self.rows[chosen[self.rows].any(axis=1)]

    def by_level(self) -> Mapping[int, int]:
        """Return the number of results for each least level among their records."""
        levels = np.append(self.level, np.iinfo(np.int64).max)
        values, counts = np.unique(levels[self.rows].min(axis=1), return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))


_FINEST_BITS = 20  # as in ``clip``
_VALUE_BITS = 40


@dataclass(frozen=True, slots=True)
class CutStars:
    """The stars of a graph, cut at the nodes. In full: proofs/truncate.md.

    Attributes:
        pairs: The graph.
        size: The number of edges that a star has.
        steps: The number of lattice steps of a star.
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
        """Return the number of edges of a node from which one of this allowance is worth giving up."""
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
        degrees: The number of edges that each has.
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
