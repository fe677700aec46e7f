"""Results that use several records each, cut by a linear program over those that touch a cut record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prdp.levels import Levels
from prdp.mechanisms._packing import Integers, Packing

_SLACK_BITS = 8  # a certificate may be off by 1/256 of the least allowance, which the noise makes up for


class Results(Protocol):
    """Results inside an engine; records are numbered."""

    def total(self) -> int:
        """Return how many results there are."""

    def loads(self) -> Integers:
        """Return, for each record, how many results use it."""

    def touching(self, records: NDArray[Any]) -> Integers:
        """Return the results that use one of these records: a row of different records each, -1 for none."""

    def by_level(self) -> Mapping[int, int]:
        """Return how many results there are for each least level among their records."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The most results, in parts, such that no record is used for more than its allowance.

    In full: proofs/truncate.md.

    Attributes:
        levels: The grid of budgets.
        level: Each record's budget level.
        results: The results.
        most: The most results that a record can be part of; public.
        steps: How many lattice steps a result is.
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
        counts = np.bincount(self.level).tolist()
        return sum(self.levels.quanta(level) // lattice * count for level, count in enumerate(counts))

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
        """Return how many results there are."""
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
        """Return how many results there are for each least level among their records."""
        levels = np.append(self.level, np.iinfo(np.int64).max)
        values, counts = np.unique(levels[self.rows].min(axis=1), return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))
