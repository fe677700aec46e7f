"""Virtual clients that hold the rows of a table, as protocols read them; for simulations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.cells.measure import Measure
from prdp.errors import InvalidRequest
from prdp.levels import Levels
from prdp.local.client.client import own_of
from prdp.local.protocols.categories import Bins, Categories
from prdp.local.protocols.protocol import number_of, steps_of
from prdp.local.protocols.summing import RatioGrid
from prdp.policy import Policy

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Crowd:
    """Virtual clients: their records, and the level of each one's budget, -1 for a dummy."""

    columns: Mapping[str, NDArray[Any]] = field(repr=False)
    levels: Integers = field(repr=False)
    grid: Levels
    _steps: dict[Measure, Integers] = field(default_factory=dict, init=False, repr=False)
    _octaves: dict[Measure, Integers] = field(default_factory=dict, init=False, repr=False)
    _numbers: dict[str, NDArray[np.bool_]] = field(default_factory=dict, init=False, repr=False)
    remembered: list[Any] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(cls, columns: Mapping[str, Any], policy: Policy) -> Crowd:
        """Return the clients that hold a table's rows; budgets come from the policy's reference.

        >>> policy = Policy("1 / visits", at_least="1/4", at_most=1)
        >>> crowd = Crowd.of({"visits": [1, 4, 9]}, policy)
        >>> len(crowd), (crowd.levels >= 0).tolist()  # 1/9 is below at_least
        (3, [True, True, False])
        """
        if not isinstance(columns, Mapping):
            raise InvalidRequest(f"records are a dict of columns, not {type(columns).__name__}.")
        read = {name: np.asarray(values) for name, values in columns.items()}
        sizes = {values.shape for values in read.values()}
        if len(sizes) != 1 or len(next(iter(sizes))) != 1:
            raise InvalidRequest(
                "records are a dict of columns of one length, such as {'balance': [100, 250]}."
            )
        refuse_missing(policy.columns, read)
        kinds, which = distinct_rows([read[name] for name in sorted(policy.columns)], *sizes.pop())
        grid = policy.levels
        found = [own_of(policy, grid, record_at(read, int(place))) for place in kinds]
        by_quanta = {grid.quanta(level): level for level in range(grid.top + 1)}
        levels = np.array([-1 if own is None else by_quanta[own.quanta] for own in found], np.int64)
        return cls(read, levels[which], grid)

    def __len__(self) -> int:
        return int(self.levels.size)

    def quanta(self, level: int) -> int:
        """Return a level's budget."""
        return self.grid.quanta(level)

    def steps(self, measure: Measure) -> Integers:
        """Return every client's value as protocols read it."""
        if measure not in self._steps:
            if measure.largest > 2**62:
                raise InvalidRequest(
                    "a simulation adds up to 2^62 rounding steps a client: choose a larger rounding step."
                )
            name = measure.column
            distinct, which = _distinct_values(self.column(name))
            read = [steps_of({name: value}, measure) for value in distinct]
            self._steps[measure] = np.array(read, np.int64)[which]
        return self._steps[measure]

    def octaves(self, ratios: RatioGrid) -> Integers:
        """Return every client's octave of |value| / budget, -1 where it has none; the share plays no part."""
        measure = ratios.measure
        if measure not in self._octaves:
            sizes = np.abs(self.steps(measure))
            found = np.full(len(self), -1, np.int64)
            slopes = [ratios.slope(octave) * self.grid.quantum for octave in range(ratios.count)]
            for level in np.unique(self.levels[self.levels >= 0]):
                quanta = self.quanta(int(level))
                ends = np.array([min(2**62, math.floor(slope * quanta)) for slope in slopes], np.int64)
                here = (self.levels == level) & (sizes > 0)
                found[here] = np.searchsorted(ends, sizes[here], side="left")
            self._octaves[measure] = found
        return self._octaves[measure]

    def places(self, by: Categories | Bins) -> Integers:
        """Return the public value of every client, -1 where it has none of them."""
        distinct, which = _distinct_values(self.column(by.column))
        found = [by.place({by.column: value}) for value in distinct]
        return np.array([-1 if place is None else place for place in found], np.int64)[which]

    @cached_property
    def domains(self) -> Integers:
        """The paper's domain of every client; 0 for a dummy."""
        domains = [self.grid.domain(self.quanta(level)) for level in range(self.grid.top + 1)]
        return np.array([*domains, 0], np.int64)[self.levels]

    @cached_property
    def domain_sizes(self) -> tuple[int, ...]:
        """The number of clients in each of the paper's domains."""
        return self._sizes(self.domains)

    def domain_sizes_with(self, column: str) -> tuple[int, ...]:
        """Return the number of clients with a number in a column in each of the paper's domains."""
        return self._sizes(np.where(self.has_number(column), self.domains, 0))

    def _sizes(self, domains: Integers) -> tuple[int, ...]:
        return tuple(map(int, np.bincount(domains, minlength=self.grid.domains + 1)[1:]))

    def has_number(self, column: str) -> NDArray[np.bool_]:
        """Return the clients that have a number in a column."""
        if column not in self._numbers:
            distinct, which = _distinct_values(self.column(column))
            self._numbers[column] = np.array([number_of(value) is not None for value in distinct])[which]
        return self._numbers[column]

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of the records."""
        refuse_missing({name}, self.columns)
        return self.columns[name]

    def from_domain(self, domain: int) -> NDArray[np.bool_]:
        """Return the clients that have the budget of a domain or more."""
        least = self.grid.domain_quanta(domain)
        enough = np.array([*(self.quanta(level) >= least for level in range(self.grid.top + 1)), False])
        return np.asarray(enough[self.levels])


def refuse_missing(wanted: Iterable[str], columns: Mapping[str, Any]) -> None:
    """Refuse a simulation in which every client would be a dummy for want of a column."""
    missing = sorted(set(wanted) - set(columns))
    if missing:
        raise InvalidRequest(
            f"the records have no column {missing[0]!r}, which the study reads. They have "
            f"{', '.join(map(repr, columns)) or 'none'}."
        )


def distinct_rows(columns: Sequence[NDArray[Any]], size: int) -> tuple[Integers, Integers]:
    """Return a first place for every distinct row, and for every row which one it is."""
    which = np.zeros(size, np.int64)
    for column in columns:
        _, codes = _distinct_values(column)
        _, which = np.unique(which * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    _, first = np.unique(which, return_index=True)
    return first, which


def _distinct_values(column: NDArray[Any]) -> tuple[list[object], Integers]:
    """Return a column's distinct values as Python has them, and for every row which one it is."""
    if column.dtype != object:
        values, which = np.unique(column, return_inverse=True)
        return values.tolist(), which
    seen: dict[str, int] = {}  # values of any kind: those that look alike are alike
    codes = [seen.setdefault(f"{type(value).__name__} {value!r}", len(seen)) for value in column]
    which = np.array(codes, np.int64)
    _, first = np.unique(which, return_index=True)
    return [column[place] for place in first], which


def record_at(columns: Mapping[str, NDArray[Any]], place: int) -> dict[str, object]:
    """Return one client's record, with values as Python has them."""
    return {
        name: values[place].item() if values.dtype != object else values[place]
        for name, values in columns.items()
    }
