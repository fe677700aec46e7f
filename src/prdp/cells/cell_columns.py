"""The cells of a table as columns, the groups of a table side by side in them.

A row is a cell, and rows are in ascending order of their keys. Thousands of groups share one set of columns,
of which each group's cells are a view; nobody can write to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from prdp.cells.cell import Cell, CellKey, magnitude_key
from prdp.cells.columns import (
    Column,
    Places,
    exact_column,
    kept,
    over,
    product,
    runs,
    same,
    shifted,
    totals_from,
)

NO_VALUE = -(1 << 15)
"""The magnitude code of records without a value, below all others; where columns hold no NULL."""


@dataclass(frozen=True, slots=True, eq=False)
class CellColumns:
    """Cells, one a row: the columns of a ``CellKey`` and of a ``Cell``; its repr shows no number of theirs.

    Two are equal where they hold the same cells; there is no hash.
    """

    quanta: Column = field(repr=False)
    low: Column = field(repr=False)
    high: Column = field(repr=False)
    sign: Column = field(repr=False)
    missing: NDArray[np.bool_] = field(repr=False)
    count: Column = field(repr=False)
    total: Column = field(repr=False)
    squares: Column = field(repr=False)

    def __post_init__(self) -> None:
        for column in self.columns:
            kept(column)

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> CellColumns:
        """Add up cells that share a key."""
        rows = [(*cell.key, cell.count, cell.total, cell.squares) for cell in cells]
        columns = list(zip(*rows, strict=True)) or [()] * 8
        quanta, low, high, sign, missing, *sums = map(exact_column, columns)
        return cls(quanta, low, high, sign, missing.astype(bool), *sums).added_up()

    @classmethod
    def counting(cls, quanta: Column, count: Column) -> CellColumns:
        """Return the cells of records that count 1 each, by their budgets."""
        ones, zeros = np.ones(len(quanta), dtype=np.int64), np.zeros(len(quanta), dtype=np.int64)
        return cls(quanta, ones, ones, ones, zeros.astype(bool), count, count, zeros)

    @classmethod
    def coded(
        cls,
        quanta: Column,
        code: Column,
        sums: Sequence[Column],
        *,
        largest: int,
        per_octave: int,
    ) -> CellColumns:
        """Return the rows of an engine, in its order: a magnitude's code stands for ends and sign.

        Args:
            quanta: Each row's budget.
            code: Its magnitude, as ``magnitude_key`` reads it; ``NO_VALUE`` for records without a value.
            sums: Its count, its total and, where they were added up, its squares.
            largest: The greatest absolute value that the public bounds allow.
            per_octave: How finely magnitudes are cut.
        """
        codes, which = np.unique(code, return_inverse=True)
        known = (None if each == NO_VALUE else each for each in codes.tolist())
        keys = [magnitude_key(0, each, largest, per_octave) for each in known]
        _, low, high, sign, missing = map(exact_column, zip(*keys, strict=True)) if keys else [code] * 5
        squares = sums[2] if len(sums) > 2 else np.zeros(len(code), dtype=np.int64)
        ends = (low[which], high[which], sign[which], missing.astype(bool)[which])
        return cls(quanta, *ends, sums[0], sums[1], squares)

    @classmethod
    def together(cls, several: Sequence[CellColumns]) -> CellColumns:
        """Return all cells of several tables, those that share a key added up."""
        return cls(*map(np.concatenate, zip(*(each.columns for each in several), strict=True))).added_up()

    def __len__(self) -> int:
        return len(self.quanta)

    def __iter__(self) -> Iterator[Cell]:
        """Yield the cells one by one, for references and tests; mechanisms use the columns."""
        for *key, count, total, squares in zip(*(column.tolist() for column in self.columns), strict=True):
            yield Cell(CellKey(*key), count, total, squares)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CellColumns) and same(self.columns, other.columns)

    __hash__ = None  # type: ignore[assignment]

    @property
    def keys(self) -> tuple[Column, ...]:
        """The columns of a ``CellKey``."""
        return self.quanta, self.low, self.high, self.sign, self.missing

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, in the order of the fields."""
        return (*self.keys, self.count, self.total, self.squares)

    def added_up(self) -> CellColumns:
        """Return the rows in ascending order of their keys, those that share a key added up."""
        return self._added_up(())[0]

    def split(self, group: Column, groups: int) -> tuple[CellColumns, ...]:
        """Return each group's rows, added up as by ``added_up``: views of columns that they share.

        Args:
            group: Each row's group, from 0 on.
            groups: How many groups there are.
        """
        cells, order = self._added_up((group,))
        ends = np.searchsorted(order[0], np.arange(groups + 1)).tolist()
        return tuple(cells.where(slice(first, last)) for first, last in pairwise(ends))

    def _added_up(self, leading: tuple[Column, ...]) -> tuple[CellColumns, tuple[Column, ...]]:
        """Sort by some columns and then by the keys, and add up rows that share all of them."""
        keys = (*leading, *self.keys)
        order = np.lexsort(keys[::-1])
        keys = tuple(key[order] for key in keys)
        starts = runs(keys, len(self))
        sums = (totals_from(starts, column[order]) for column in (self.count, self.total, self.squares))
        first = tuple(key[starts] for key in keys)
        return CellColumns(*first[len(leading) :], *sums), first[: len(leading)]

    def where(self, rows: slice | NDArray[np.bool_]) -> CellColumns:
        """Return some of the cells."""
        return CellColumns(*(column[rows] for column in self.columns))

    def counted(self) -> CellColumns:
        """Return the cells in which every record has the value 1."""
        starts = runs((self.quanta,), len(self))
        return CellColumns.counting(self.quanta[starts], totals_from(starts, self.count))

    def refined(self, bits: int) -> CellColumns:
        """Return the same values on a lattice 2^bits times as fine; without their squares."""
        low, high, total = (shifted(column, bits) for column in (self.low, self.high, self.total))
        none = np.zeros(len(self), dtype=np.int64)
        return CellColumns(self.quanta, low, high, self.sign, self.missing, self.count, total, none)

    def clipped(self, caps: Column) -> Column:
        """Return each cell's total when none of its records may count for more than a cap, in steps.

        Where the cell's upper end is within the cap the total is exact; else each record counts for
        the cap or the cell's lower end, whichever is less.
        """
        cut = product(self.sign, product(self.count, np.minimum(self.low, caps)))
        return np.where(self.high <= caps, self.total, cut)

    def masses(self, lattice: int) -> Column:
        """Return the budget mass of each cell's records, on a lattice of so many quanta."""
        return product(over(self.quanta, lattice), self.count)

    def by_budget(self, worth: Callable[[int], int]) -> Column:
        """Return a whole number for each cell, worked out once for every budget, in quanta, that occurs."""
        starts = runs((self.quanta,), len(self))
        values = exact_column(map(worth, self.quanta[starts].tolist()))
        return np.repeat(values, np.diff(starts, append=len(self)))

    def by_magnitude(self, place: Callable[[tuple[int, int, int]], int]) -> Places:
        """Return a place for each cell, looked up once for each low end, high end and sign that occur."""
        ends = (self.low, self.high, self.sign)
        order = np.lexsort(ends[::-1])
        ends = (self.low[order], self.high[order], self.sign[order])
        starts = runs(ends, len(self))
        found = [place(row) for row in zip(*(column[starts].tolist() for column in ends), strict=True)]
        places = np.empty(len(self), dtype=np.intp)
        places[order] = np.repeat(np.array(found, dtype=np.intp), np.diff(starts, append=len(self)))
        return places
