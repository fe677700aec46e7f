"""Columns of whole numbers that never wrap around: 64 bits where all of them fit, else Python's own integers.

A column is ``int64`` or, as soon as one number needs more bits, an array of Python's integers. What is
computed here is exact: before NumPy adds or multiplies in 64 bits, the widest number decides whether it may.
No number ever becomes a float.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 18
"""Rows per batch; memory beside them does not grow with the number of rows."""

_MAX_THREADS = 4

_Part = TypeVar("_Part")
_Found = TypeVar("_Found")


def side_by_side(work: Callable[[_Part], _Found], parts: Iterable[_Part]) -> list[_Found]:
    """Map a function over parts, in their order; it draws nothing and changes no part.

    >>> side_by_side(abs, [3, -4])
    [3, 4]
    """
    listed = list(parts)
    threads = min(len(listed), _MAX_THREADS, os.cpu_count() or 1)
    if threads < 2:
        return list(map(work, listed))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, listed))


def stretches(length: int) -> list[slice]:
    """Return slices of so many rows, each of ``AT_ONCE`` or fewer.

    >>> stretches(3)
    [slice(0, 3, None)]
    """
    return [slice(start, min(start + AT_ONCE, length)) for start in range(0, length, AT_ONCE)]


Column = NDArray[Any]
"""One whole number a place: ``int64``, or objects that are all Python's integers."""

Places = NDArray[Any]
"""Numbers of places in another array."""

_BEYOND = 1 << 63
_DOUBLE = 1 << 53
"""Whole numbers that add up to less are added up exactly by doubles, which is faster."""
_HALF_BITS = 64
_COUNTABLE = 1 << 24
"""Numbers in a narrower range are distinguished by a table of all of them, which is faster than sorting."""


def exact_column(values: Iterable[int]) -> Column:
    """Return whole numbers as a read-only column.

    >>> exact_column([1, 2**63 - 1]).dtype.name, exact_column([1, 2**63]).dtype.name
    ('int64', 'object')
    """
    listed = list(values)
    fits = not listed or (max(listed) < _BEYOND and min(listed) >= -_BEYOND)
    return kept(np.array(listed, dtype=np.int64 if fits else object))


def from_halves(high: NDArray[Any], low: NDArray[Any]) -> Column:
    """Return numbers of 128 bits, given as their signed upper and their unsigned lower halves.

    >>> from_halves(np.array([-1, 0]), np.array([2**64 - 1, 7], dtype=np.uint64))
    array([-1,  7])
    """
    low = low.astype(np.uint64, copy=False)
    narrow = low.view(np.int64)
    if (not high.any() and narrow.min(initial=0) >= 0) or np.array_equal(high, narrow >> np.int64(63)):
        return kept(narrow)
    return kept((high.astype(object) << _HALF_BITS) + low.astype(object))


def kept(column: Column) -> Column:
    """Return a column that nobody can write to any more: views of it are shared.

    Raises:
        TypeError: It holds other numbers than 64-bit or Python integers, or truth values: those could wrap.
    """
    if column.dtype not in (np.int64, np.object_, np.bool_):
        raise TypeError(f"a column of {column.dtype} is not exact: take int64, or Python integers")
    column.setflags(write=False)
    return column


def narrowed(column: Column) -> Column:
    """Return a column in 64 bits where all of it fits.

    >>> narrowed(np.array([1, 2], dtype=object)).dtype.name
    'int64'
    """
    return column.astype(np.int64) if column.dtype == object and widest(column) < _BEYOND else column


def numbered(column: Column) -> tuple[Column, Places]:
    """Return the different numbers in a column, ascending, and the index of each row's number.

    >>> values, which = numbered(np.array([7, -3, 7]))
    >>> values.tolist(), which.tolist()
    ([-3, 7], [1, 0, 1])
    """
    least, most = (int(column.min()), int(column.max())) if len(column) else (0, 0)
    if most - least >= _COUNTABLE:
        values, which = np.unique(column, return_inverse=True)
        return values, which
    if not len(column):
        return column.astype(np.int64), np.zeros(0, np.int32)
    there = np.zeros(most - least + 1, dtype=bool)

    def see(rows: slice) -> None:
        there[column[rows].astype(np.int64) - least] = True

    side_by_side(see, stretches(len(column)))
    numbers = np.cumsum(there, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(there) + least, looked_up(numbers, column, least)


def looked_up(table: Column, places: Places, first: int = 0) -> Column:
    """Return a table's entry at each place; places are numbered from ``first`` on.

    >>> looked_up(np.array([5, 7]), np.array([1, 0, 1])).tolist()
    [7, 5, 7]
    """
    found = np.empty(len(places), table.dtype)

    def look(rows: slice) -> None:
        found[rows] = table[places[rows].astype(np.int64) - first if first else places[rows]]

    side_by_side(look, stretches(len(places)))
    return found


def widest(column: Column) -> int:
    """Return the largest absolute value in a column; 0 in an empty one.

    >>> widest(exact_column([3, -7, 5])), widest(exact_column([]))
    (7, 0)
    """
    return max(int(column.max()), -int(column.min())) if len(column) else 0


def product(one: Column, other: Column) -> Column:
    """Multiply two columns, place by place.

    >>> product(exact_column([2, 2**62]), exact_column([3, 4])).tolist() == [6, 2**64]
    True
    """
    narrow = _are_narrow(one, other) and widest(one) * widest(other) < _BEYOND
    found: Column = one * other if narrow else one.astype(object) * other.astype(object)
    return found


def shifted(column: Column, bits: int) -> Column:
    """Multiply a column by 2^bits.

    >>> shifted(exact_column([1, -3]), 4).tolist()
    [16, -48]
    """
    if _are_narrow(column) and widest(column) << bits < _BEYOND:
        return column << bits
    return column.astype(object) << bits


def over(column: Column, divisor: int) -> Column:
    """Divide a column by a positive number, rounded down.

    >>> over(exact_column([7, -7]), 2).tolist()
    [3, -4]
    """
    if divisor == 1:
        return column
    return column // divisor if divisor < _BEYOND else column.astype(object) // divisor


def squared(column: Column) -> Column:
    """Multiply a column by itself."""
    return product(column, column)


def plus(one: Column, other: Column) -> Column:
    """Add two columns, place by place.

    >>> plus(exact_column([1, 2**63 - 1]), exact_column([1, 1])).tolist() == [2, 2**63]
    True
    """
    narrow = _are_narrow(one, other) and widest(one) + widest(other) < _BEYOND
    found: Column = one + other if narrow else one.astype(object) + other.astype(object)
    return found


def total(column: Column) -> int:
    """Add up a column.

    >>> total(exact_column([2**62, 2**62, 2**62])) == 3 * 2**62
    True
    """
    if column.dtype != object and widest(column) * len(column) < _BEYOND:
        return int(column.sum())
    return sum(column.tolist())


def totals_at(places: Places, column: Column, number: int) -> list[int]:
    """Add up the values at each of so many places.

    >>> totals_at(np.array([0, 2, 0]), exact_column([5, 7, 1]), 3)
    [6, 0, 7]
    """
    return list(_totals_at(places, column, number).tolist())


def sums_below(places: Places, column: Column, number: int) -> Column:
    """Add up the values below each of so many places, and last those at all of them.

    >>> sums_below(np.array([0, 2, 0]), exact_column([5, 7, 1]), 3).tolist()
    [0, 6, 6, 13]
    """
    totals = _totals_at(places, column, number)
    return np.concatenate((np.zeros(1, totals.dtype), np.cumsum(totals)))


def _totals_at(places: Places, column: Column, number: int) -> Column:
    most = None if column.dtype == object else widest(column) * len(column)
    if most is not None and most < _DOUBLE:
        return np.bincount(places, column, number).astype(np.int64)
    wide = most is None or most >= _BEYOND
    totals: Column = np.zeros(number, dtype=object if wide else np.int64)
    np.add.at(totals, places, column)
    return totals


def totals_from(starts: Places, column: Column) -> Column:
    """Add up a column from each start to the one after it; the first start is 0.

    >>> totals_from(np.array([0, 2]), exact_column([1, 2, 3, 4])).tolist()
    [3, 7]
    """
    if not len(starts):
        return column[:0]
    wide = column.dtype != object and widest(column) * len(column) >= _BEYOND
    return np.add.reduceat(column.astype(object) if wide else column, starts)


def runs(columns: Sequence[Column], length: int) -> Places:
    """Return the starts of runs of equal rows in sorted columns of a length.

    >>> runs([exact_column([4, 4, 4, 9]), exact_column([1, 1, 2, 2])], 4).tolist()
    [0, 2, 3]
    """
    differs = np.zeros(max(0, length - 1), dtype=bool)
    for column in columns:
        differs |= column[1:] != column[:-1]
    return np.flatnonzero(np.concatenate((np.ones(min(length, 1), dtype=bool), differs)))


def same(one: Iterable[Column], other: Iterable[Column]) -> bool:
    """Return whether columns hold the same numbers, however wide their forms are."""
    return all(np.array_equal(mine, yours) for mine, yours in zip(one, other, strict=True))


def _are_narrow(*columns: Column) -> bool:
    return all(column.dtype != object for column in columns)
