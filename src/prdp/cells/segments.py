"""Exact totals of many runs of rows at once: in 64 bits where they fit, in limbs where they may not.

And the way there: rows in any order, sorted by the numbers of their runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, Places, narrowed, widest
from prdp.cells.threads import AT_ONCE, side_by_side

_BEYOND = 1 << 63
_LIMB = 31
_MASK = (1 << _LIMB) - 1
_PIECES = 4
_ROW_BITS = 32
_DOUBLE_BITS = 52
"""Whole numbers that add up to less than 2^52 are added up exactly by doubles."""

_DENSE = 4
"""Of a stretch of which one row in so many is wanted, those that are not are left out one by one."""


def limbs(column: Column, terms: int) -> list[Column]:
    """Return a column as 64-bit columns of so many bits each, of which ``terms`` can be added up.

    The number at a place is Σ limb[place] · 2^(31 · i); the last limb has the sign.

    >>> [limb.tolist() for limb in limbs(np.array([2**40 + 5, -1]), 2**31)]
    [[5, 2147483647], [512, -1]]
    """
    if terms >= 1 << (63 - _LIMB):
        return [column.astype(object)]
    if column.dtype != object and widest(column) * terms < _BEYOND:
        return [column]
    found: list[Column] = []
    rest = column
    while rest.dtype == object or widest(rest) * terms >= _BEYOND:
        found.append((rest & _MASK).astype(np.int64))
        rest = rest >> _LIMB
        if rest.dtype == object and widest(rest) < _BEYOND:
            rest = rest.astype(np.int64)
    return [*found, rest]


def joined(parts: list[Column], bits: int = _LIMB) -> Column:
    """Return the numbers whose limbs of so many bits these are, or totals of limbs.

    >>> joined([np.array([5]), np.array([512])]).tolist() == [2**40 + 5]
    True
    """
    whole = parts[-1]
    for part in reversed(parts[:-1]):
        narrow = whole.dtype != object and (widest(whole) << bits) + widest(part) < _BEYOND
        whole = (whole << bits) + part if narrow else (whole.astype(object) << bits) + part.astype(object)
    return whole


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of columns.

    Attributes:
        whole: A stretch that they lie in.
        some: Which of it they are; None for all of it.
    """

    whole: slice
    some: NDArray[Any] | None = None

    def of(self, column: Column) -> Column:
        """Return the rows of a column."""
        stretch = column[self.whole]
        return stretch if self.some is None else stretch[self.some]


@dataclass(frozen=True, slots=True)
class Segments:
    """Runs of rows side by side, some of them perhaps empty.

    Attributes:
        ends: Where each begins, and where the last one ends.
    """

    ends: Places

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def sizes(self) -> Places:
        """How many rows each has."""
        return np.diff(self.ends)

    def rows(self, chosen: Places) -> tuple[Rows, Segments]:
        """Return the rows of some of the segments, and the segments that they are."""
        sizes = self.sizes[chosen]
        ends = np.concatenate((np.zeros(1, np.intp), np.cumsum(sizes)))
        if len(chosen) and (np.diff(chosen) > 0).all():
            first, last = int(chosen[0]), int(chosen[-1]) + 1
            whole = slice(int(self.ends[first]), int(self.ends[last]))
            if last - first == len(chosen):
                return Rows(whole), Segments(ends)
            if _DENSE * int(ends[-1]) >= whole.stop - whole.start:
                there = np.zeros(last - first, dtype=bool)
                there[chosen - first] = True
                return Rows(whole, np.repeat(there, self.sizes[first:last])), Segments(ends)
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)
        return Rows(slice(None), np.repeat(self.ends[:-1][chosen], sizes) + within), Segments(ends)

    def parts(self, chosen: Places, most: int) -> list[slice]:
        """Return the chosen segments a part at a time, each of about ``most`` rows or of one segment."""
        before = np.cumsum(self.sizes[chosen]) - self.sizes[chosen]
        cuts = [0, *(np.flatnonzero(np.diff(before // most)) + 1).tolist(), len(chosen)]
        return [slice(first, last) for first, last in pairwise(cuts) if first < last]

    def totals(self, column: Column) -> Column:
        """Return each segment's total."""
        filled = np.flatnonzero(self.sizes)
        if not len(filled):
            return np.zeros(len(self), dtype=np.int64)
        starts, most = self.ends[filled], int(self.sizes.max())
        parts: list[Column] = []
        for limb in limbs(column, most):
            part: NDArray[Any] = np.zeros(len(self), dtype=limb.dtype)
            part[filled] = np.add.reduceat(limb, starts)
            parts.append(part)
        return joined(parts)

    def labels(self) -> Places:
        """Return the segment of each row."""
        return np.repeat(np.arange(len(self)), self.sizes)


def by_number(group: Places, ends: Places, columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return columns in the order of their rows' groups, each of which begins and ends where ``ends`` says.

    Groups are sorted some of them at the same time.
    """
    found = {name: np.empty(len(group), column.dtype) for name, column in columns.items()}
    groups = len(ends) - 1
    pieces = max(1, min(groups, -(-len(group) // AT_ONCE), _PIECES))
    cuts = [groups * piece // pieces for piece in range(pieces + 1)]

    def sort(piece: tuple[int, int]) -> None:
        first, last = piece
        rows = np.flatnonzero((group >= first) & (group < last)).astype(np.int64, copy=False)
        rows |= group[rows].astype(np.int64) << _ROW_BITS
        rows.sort()  # by group and then by row: numbers are sorted faster than places
        rows &= (1 << _ROW_BITS) - 1
        for name, column in columns.items():
            np.take(column, rows, out=found[name][ends[first] : ends[last]], mode="clip")

    side_by_side(sort, pairwise(cuts))
    return found


def totals_by(places: Places, column: Column, number: int) -> Column:
    """Return what a column adds up to at each of so many places.

    >>> totals_by(np.array([2, 0, 2]), np.array([2**60, -1, 2**60]), 3).tolist() == [-1, 0, 2**61]
    True
    """
    bits = _DOUBLE_BITS - len(column).bit_length()
    if column.dtype == object or bits < 1:
        totals: Column = np.zeros(number, dtype=object)
        np.add.at(totals, places, column.astype(object))
        return narrowed(totals)
    parts, rest = [], column
    while widest(rest) >> bits:
        parts.append(rest & ((1 << bits) - 1))
        rest = rest >> bits
    sums = [np.bincount(places, part, number).astype(np.int64) for part in (*parts, rest)]
    return joined(sums, bits)
