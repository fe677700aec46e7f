"""Triangles, cut by a linear program over those that have an edge that would be cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prdp.levels import Levels
from prdp.mechanisms._packing import Integers, Packing
from prdp.pairs import Pairs

_SLACK_BITS = 8


class Results(Protocol):
    """Results that use several records each, inside an engine."""

    def loads(self) -> Integers:
        """Return, for each record, how many results use it."""

    def touching(self, edges: NDArray[Any]) -> Integers:
        """Return the results that use one of these records: a row of records each."""

    def by_level(self) -> Mapping[int, int]:
        """Return how many results there are for each least level among their records."""


@dataclass(frozen=True, slots=True)
class Triangles:
    """The most triangles, in parts, such that no edge is used for more than its allowance.

    In full: proofs/truncate.md.

    Attributes:
        pairs: The graph.
        results: Its triangles.
        steps: How many lattice steps a triangle is.
    """

    pairs: Pairs
    results: Results = field(repr=False)
    steps: int = 1 << 20
    _kept: dict[Fraction, int] = field(default_factory=dict, repr=False, compare=False)
    _loads: list[Integers] = field(default_factory=list, repr=False, compare=False)

    how = "by a linear program with one constraint for each edge"

    @property
    def levels(self) -> Levels:
        """The grid of budgets."""
        return self.pairs.levels

    @property
    def reach(self) -> int:
        """The most triangles that an edge can be part of."""
        return self.steps * max(1, self.pairs.nodes - 2)

    def mass(self, lattice: int) -> int:
        """Return the budget mass of all edges."""
        return self.pairs.mass(lattice)

    def slack(self, per_quantum: Fraction) -> int:
        """Return how far the certified value may be above the optimum: 2^-8 of the least allowance."""
        return max(2, int(self.levels.quanta(0) * per_quantum) >> _SLACK_BITS)

    def value(self, per_quantum: Fraction) -> int:
        """Return the cut count, in steps."""
        if per_quantum not in self._kept:
            self._kept[per_quantum] = self._value(per_quantum)
        return self._kept[per_quantum]

    def _value(self, per_quantum: Fraction) -> int:
        if not self._loads:
            self._loads.append(self.results.loads())
        loads = self._loads[0]
        every = int(loads.sum()) // 3
        most = self.reach
        of_level = [
            min(most, int(self.levels.quanta(level) * per_quantum)) for level in range(self.levels.top + 1)
        ]
        allowances = np.array(of_level, dtype=np.int64)[self.pairs.level]
        bound = loads * self.steps > allowances
        if not bound.any():
            return every * self.steps
        results = self.results.touching(np.flatnonzero(bound))
        packing = Packing.of(results, bound, allowances, self.steps)
        return (every - len(results)) * self.steps + packing.most(self.slack(per_quantum))


@dataclass(frozen=True, slots=True)
class FixedTriangles(Triangles):
    """Each triangle counts for what its edges could bear if all their triangles were there.

    An edge is part of at most nodes - 2 triangles. No program is solved, so any number of nodes will do; far
    more is cut.
    """

    how = "at public weights, because there are more nodes than the linear program is meant for"

    def slack(self, per_quantum: Fraction) -> int:  # noqa: ARG002  (exact at every point)
        """Return 0: nothing is rounded but weights, which belong to one triangle each."""
        return 0

    @property
    def reach(self) -> int:
        """An allowance of a whole triangle for every node but two."""
        return self.steps * max(1, self.pairs.nodes - 2)

    def _value(self, per_quantum: Fraction) -> int:
        most = max(1, self.pairs.nodes - 2)
        return sum(
            count * min(self.steps, int(self.levels.quanta(level) * per_quantum / most))
            for level, count in self.results.by_level().items()
        )
