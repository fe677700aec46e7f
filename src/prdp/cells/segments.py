"""Exact totals of many runs of rows at once: in 64 bits where they fit, in limbs where they may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, Places, widest

_BEYOND = 1 << 63
_LIMB = 31
_MASK = (1 << _LIMB) - 1


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


def joined(parts: list[Column]) -> Column:
    """Return the numbers whose limbs these are, or totals of limbs.

    >>> joined([np.array([5]), np.array([512])]).tolist() == [2**40 + 5]
    True
    """
    whole = parts[-1]
    for part in reversed(parts[:-1]):
        narrow = whole.dtype != object and (widest(whole) << _LIMB) + widest(part) < _BEYOND
        whole = (whole << _LIMB) + part if narrow else (whole.astype(object) << _LIMB) + part.astype(object)
    return whole


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

    def rows(self, chosen: Places) -> tuple[slice | Places, Segments]:
        """Return the rows of some of the segments, and the segments that they are."""
        sizes = self.sizes[chosen]
        ends = np.concatenate((np.zeros(1, np.intp), np.cumsum(sizes)))
        if len(chosen) and np.array_equal(chosen, np.arange(chosen[0], chosen[0] + len(chosen))):
            return slice(int(self.ends[chosen[0]]), int(self.ends[chosen[-1] + 1])), Segments(ends)
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)
        return np.repeat(self.ends[:-1][chosen], sizes) + within, Segments(ends)

    def parts(self, chosen: Places, most: int) -> Iterator[Places]:
        """Yield some of the segments a part at a time, each of about ``most`` rows or of one segment."""
        before = np.cumsum(self.sizes[chosen]) - self.sizes[chosen]
        yield from np.split(chosen, np.flatnonzero(np.diff(before // most)) + 1) if len(chosen) else ()

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
