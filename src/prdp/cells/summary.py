"""Exact totals per cell: all that a mechanism ever sees of the records.

A cell holds the records of one budget and one range of magnitudes. Its ends contain its records'
values, and its budget is at most what any of them is owed; the proofs use these two facts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import (
    Column,
    Places,
    exact_column,
    kept,
    narrowed,
    over,
    plus,
    product,
    runs,
    same,
    shifted,
    squared,
    total,
    totals_at,
    totals_from,
)
from prdp.levels import PER_OCTAVE, Levels, largest_until, quarter_octaves, smallest_from, step_ends


class CellKey(NamedTuple):
    """The budget level and magnitude that the records of a cell have in common: public by construction.

    Attributes:
        quanta: The cell's budget in quanta, at most the budget of each of its records.
        low: The smallest absolute value that the cell can hold, in steps.
        high: The largest one.
        sign: -1, 0 or 1.
        missing: Whether the records have no value; they add nothing, as if it were 0.
    """

    quanta: int
    low: int
    high: int
    sign: int
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's records, counted and added up exactly; its repr shows no number of theirs.

    >>> Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
    Cell(key=CellKey(quanta=100, low=4, high=5, sign=1, missing=False))
    """

    key: CellKey
    count: int = field(repr=False)
    total: int = field(repr=False)
    squares: int = field(default=0, repr=False)

    def clipped(self, cap: int) -> int:
        """Return the records' total when none may count for more than ``cap`` steps.

        Where the cell's upper end is within the cap the total is exact; else each record counts for
        the cap or the cell's lower end, whichever is less.

        >>> cell = Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
        >>> cell.clipped(10), cell.clipped(2)  # the total; then 2 for each of the three
        (13, 6)
        """
        if self.key.high <= cap:
            return self.total
        return self.key.sign * self.count * min(self.key.low, cap)


@lru_cache(maxsize=1 << 16)
def magnitude_key(quanta: int, code: int | None, largest: int, per_octave: int = PER_OCTAVE) -> CellKey:
    """Return the key of an engine's magnitude code.

    None is a record without a value and 0 one with the value zero; ±(m + 2) is a value of that sign
    whose magnitude step is m, from -1 on: the slack puts the value 1 below the first edge.

    >>> magnitude_key(100, 0, 50), magnitude_key(100, None, 50).missing
    (CellKey(quanta=100, low=0, high=0, sign=0, missing=False), True)
    >>> magnitude_key(100, -(24 + 2), 50)  # step 24: from 2^3 on, and below 2^(25/8) = 8.7
    CellKey(quanta=100, low=8, high=8, sign=-1, missing=False)
    """
    if not code:
        return CellKey(quanta, 0, 0, 0, missing=code is None)
    step = abs(code) - 2
    high = min(largest_until(step + 1, per_octave), largest)
    return CellKey(quanta, smallest_from(step, per_octave), high, 1 if code > 0 else -1)


@lru_cache(maxsize=16)
def magnitudes(low: int, high: int, per_octave: int = PER_OCTAVE) -> tuple[tuple[int, int, int], ...]:
    """Return every magnitude code between two values, with the least and the greatest value it can have.

    >>> [(least, most) for _, least, most in magnitudes(0, 4, per_octave=1)]  # an edge may be on either side
    [(0, 0), (1, 1), (1, 2), (2, 4), (4, 4)]
    """
    found = [(0, 0, 0)] if low <= 0 <= high else []
    for sign, least, most in ((1, max(low, 1), high), (-1, max(-high, 1), -low)):
        for code, (smallest, largest) in enumerate(step_ends(most, per_octave), start=1):
            first, last = max(smallest, least), min(largest, most)
            if first <= last:
                found.append((code, first, last) if sign > 0 else (-code, -last, -first))
    return tuple(found)


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
        """Return the rows of an engine, in its order: a magnitude's code encodes ends and sign.

        Args:
            quanta: Each row's budget.
            code: Its magnitude, as ``magnitude_key`` reads it; ``NO_VALUE`` for records without a value.
            sums: Its count, its total and, where they were added up, its squares.
            largest: The greatest absolute value that the public bounds allow.
            per_octave: The number of magnitude cells in an octave.
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
        for *key, count, added, squares in zip(*(column.tolist() for column in self.columns), strict=True):
            yield Cell(CellKey(*key), count, added, squares)

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
            groups: The number of groups.
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


_HEAVIEST_KEY = 1024
_EDGE_BITS = 90
_LEAST_EDGE = 64
_ROOT_BITS = 20

CENTER_BITS = 8
"""Squared distances are taken from a center that is this many bits finer than the values."""


Span = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Ratios:
    """The possible ratios of a cell's upper end to its budget, in steps a quantum: public.

    Spans are ascending and at least two octaves apart.

    Attributes:
        values: Those of the values.
        records: Those where every record counts 1; None where nothing is known of them.
    """

    values: tuple[Span, ...]
    records: tuple[Span, ...] | None

    def refined(self, bits: int) -> Ratios:
        """Return the ratios of values on a lattice 2^bits times as fine.

        >>> Ratios(((Fraction(1), Fraction(3)),), None).refined(2).values
        ((Fraction(4, 1), Fraction(12, 1)),)
        """
        return Ratios(tuple((low * 2**bits, high * 2**bits) for low, high in self.values), self.records)


@dataclass(frozen=True, slots=True)
class Summary:
    """All cells of a table, with the public facts that the mechanisms need.

    Attributes:
        levels: The grid of budgets.
        smallest: The least absolute value above zero that the public bounds allow, in steps.
        largest: The greatest one.
        cells: The cells that hold records.
        ratios: Which ratios of value to budget the public facts allow; None where nothing is known.
    """

    levels: Levels
    smallest: int
    largest: int
    cells: CellColumns = field(repr=False)
    ratios: Ratios | None = field(default=None, repr=False)

    @classmethod
    def of(cls, levels: Levels, smallest: int, largest: int, cells: Iterable[Cell]) -> Summary:
        """Add up cells that share a key."""
        return cls(levels, smallest, largest, CellColumns.of(cells))

    @classmethod
    def counting(cls, levels: Levels, level: NDArray[np.int64]) -> Summary:
        """Return records as cells, to be counted, from the level of each."""
        found, counts = np.unique(level, return_counts=True)
        quanta = exact_column(map(levels.quanta, found.tolist()))
        return cls(levels, 1, 1, CellColumns.counting(quanta, counts.astype(np.int64)))

    @classmethod
    def together(cls, summaries: Sequence[Summary]) -> Summary:
        """Return the summary of several tables' records together; there is at least one."""
        first = summaries[0]
        facts = first.levels, first.smallest, first.largest
        if any((other.levels, other.smallest, other.largest) != facts for other in summaries):
            raise ValueError("summaries merge only over the same levels and bounds")
        known = all(other.ratios == first.ratios for other in summaries)
        cells = CellColumns.together([summary.cells for summary in summaries])
        return cls(*facts, cells, first.ratios if known else None)

    def merged(self, other: Summary) -> Summary:
        """Return the summary of both tables' records together.

        >>> from prdp.cells.summary import CellKey
        >>> three = Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
        >>> summary = Summary.of(Levels(Fraction(1), Fraction(2)), 1, 9, [three])
        >>> summary.merged(summary).records
        6
        """
        return Summary.together((self, other))

    def counted(self) -> Summary:
        """Return the summary in which every record has the value 1.

        >>> from prdp.cells.summary import CellKey
        >>> three = Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
        >>> summary = Summary.of(Levels(Fraction(1), Fraction(2)), 1, 9, [three])
        >>> summary.clipped_total(9), summary.counted().clipped_total(9)
        (13, 3)
        """
        records = self.ratios.records if self.ratios else None
        return Summary(self.levels, 1, 1, self.cells.counted(), Ratios(records, records) if records else None)

    def valued(self) -> Summary:
        """Return the summary of those records alone that have a value."""
        missing = self.cells.missing
        return replace(self, cells=self.cells.where(~missing)) if missing.any() else self

    def from_budget(self, quanta: int) -> Summary:
        """Return the summary of those records alone that have at least such a budget.

        >>> from prdp.cells.summary import CellKey
        >>> cells = [Cell(CellKey(quanta, 1, 1, 1), count=1, total=1) for quanta in (100, 200, 300)]
        >>> Summary.of(Levels(Fraction(1), Fraction(2)), 1, 1, cells).from_budget(200).records
        2
        """
        return replace(self, cells=self.cells.where(self.cells.quanta >= exact_column([quanta])))

    def squared_around(self, center: int, bits: int = 0) -> Summary:
        """Return the summary in which every value is its squared distance from a public center.

        Squares must have been added up: Σ (v - c)² = Σ v² - 2c Σ v + c² n is exact.

        Args:
            center: In steps that are ``bits`` bits finer than those of the values.
            bits: How much finer; squares are counted in the squares of such steps.
        """
        cells = self.cells
        one, other = (
            plus(product(cells.sign, shifted(end, bits)), exact_column([-center]))
            for end in (cells.low, cells.high)
        )
        far, near = np.maximum(abs(one), abs(other)), np.minimum(abs(one), abs(other))
        near = np.where((np.minimum(one, other) <= 0) & (np.maximum(one, other) >= 0), 0, near)
        moved = product(shifted(cells.total, bits), exact_column([-2 * center]))
        squares = shifted(cells.squares, 2 * bits)
        around = plus(plus(squares, moved), product(cells.count, exact_column([center**2])))
        fine = replace(
            cells,
            low=squared(near),
            high=squared(far),
            sign=np.ones_like(cells.sign),
            missing=np.zeros_like(cells.missing),
            total=around,
            squares=np.zeros_like(cells.count),
        )
        largest = ((self.largest << bits) + abs(center)) ** 2
        return Summary(self.levels, 1 << 2 * bits, largest, fine.added_up())

    def refined(self, bits: int) -> Summary:
        """Return the same values on a lattice 2^bits times as fine."""
        ratios = self.ratios and self.ratios.refined(bits)
        return Summary(
            self.levels, self.smallest << bits, self.largest << bits, self.cells.refined(bits), ratios
        )

    @property
    def records(self) -> int:
        """The number of records."""
        return total(self.cells.count)

    def clipped_total(self, caps: Column | int) -> int:
        """Return the total when no record of a cell may count for more than its cap, or than one of all."""
        return total(self.cells.clipped(exact_column([caps]) if isinstance(caps, int) else caps))

    def clipped_totals(self, places: Places, number: int, caps: Column) -> list[int]:
        """Return the clipped total of each place; ``places`` says where a cell belongs, of so many."""
        return totals_at(places, self.cells.clipped(caps), number)


@lru_cache(maxsize=64)
def key_edges(levels: Levels) -> tuple[int, ...]:
    """Return the public edges between sums of a key's budgets, in quanta.

    They are even and a quarter of an octave apart, and every fourth one is exactly the double. The fifth is
    at most the least budget or 256 quanta, the last at most 1024 times the largest one, and none is above
    2^90.
    """
    first = max(levels.quanta(0) // 4, _LEAST_EDGE if levels.below else 1)
    octave = [2 * (first * quarter_octaves(quarter, _ROOT_BITS) >> _ROOT_BITS) for quarter in range(4)]
    most = min(int(_HEAVIEST_KEY * levels.at_most / levels.quantum), 1 << _EDGE_BITS)
    edges: list[int] = []
    while (edge := octave[len(edges) % 4] << len(edges) // 4) <= most:
        edges.append(edge)
    return tuple(edges)


@dataclass(frozen=True, slots=True, eq=False)
class KeyHolders:
    """Units by the keys that they hold, each with an equal part of its unit's budget behind every one.

    Units with the same keys are one row: the fewest keys first, then in the order of their keys. So a row's
    place follows from its own keys, whatever others there are.

    Attributes:
        number: How many keys the units of each row hold.
        keys: The keys of each row, one row after the other, numbered in the order of their values.
        quanta: What the units of each row have behind each of their keys, in quanta.
    """

    number: Column = field(repr=False)
    keys: Column = field(repr=False)
    quanta: Column = field(repr=False)

    def __post_init__(self) -> None:
        for column in (self.number, self.keys, self.quanta):
            kept(column)

    @classmethod
    def of(cls, holder: Column, key: Column, quanta: Column) -> KeyHolders:
        """Return the holders of keys, from a row for each key of a holder; what is behind them is equal.

        >>> rows = [7, 3, 3, 4, 4], [10, 30, 20, 20, 30], [9, 5, 5, 1, 1]
        >>> found = KeyHolders.of(*map(exact_column, rows))
        >>> found.number.tolist(), found.keys.tolist(), found.quanta.tolist()
        ([1, 2], [0, 1, 2], [9, 6])
        """
        key = np.unique(key, return_inverse=True)[1].astype(np.int64)  # of few rows, and a wide range
        order = np.lexsort((key, holder))
        starts = runs([holder[order]], len(order))
        many = np.diff(np.append(starts, len(order)))
        numbers, keys, behind = [many[:0]], [key[:0]], [quanta[:0]]
        for number in np.unique(many).tolist():
            places = order[starts[many == number][:, np.newaxis] + np.arange(number)]
            held = key[places]
            by_keys = np.lexsort(held.T[::-1])
            firsts = runs(list(held[by_keys].T), len(held))
            numbers.append(np.full(len(firsts), number))
            keys.append(held[by_keys[firsts]].ravel())
            behind.append(totals_from(firsts, quanta[places[by_keys, 0]]))
        return cls(np.concatenate(numbers), np.concatenate(keys), narrowed(np.concatenate(behind)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyHolders):
            return NotImplemented
        return same((self.number, self.keys, self.quanta), (other.number, other.keys, other.quanta))

    __hash__ = None  # type: ignore[assignment]

    @property
    def sums(self) -> list[int]:
        """Sums of the budgets behind each key, in quanta."""
        return totals_at(self.keys, np.repeat(self.quanta, self.number), int(self.keys.max(initial=-1)) + 1)

    def clipped(self, most: int) -> int:
        """Return the total of what keys hold of so much each, where units move what is left over.

        First a key keeps what is behind it, of the first rows first. Then each row in turn offers what has
        come back to its keys, in their order, and each of them keeps what it has room for.

        >>> holders = KeyHolders.of(*map(exact_column, ([1, 2, 2], [10, 10, 20], [8, 4, 4])))
        >>> sum(min(8, total) for total in holders.sums), holders.clipped(8)
        (12, 16)
        """
        sums = self.sums
        total_found = sum(min(most, behind) for behind in sums)
        if max(sums, default=0) <= most:
            return total_found
        whose = np.repeat(np.arange(len(self.number)), self.number)
        order = np.argsort(self.keys, kind="stable")
        part, key = self.quanta[whose[order]], self.keys[order]
        reached = np.cumsum(part if sum(sums) < 1 << 63 else part.astype(object))
        below = exact_column([0, *accumulate(sums)])
        came_back = np.clip(reached - below[key] - most, 0, part)
        left = totals_at(whose[order], came_back, len(self.number))
        room = [max(0, most - behind) for behind in sums]
        offering = np.array([amount > 0 for amount in left], dtype=bool)[whose]
        offering &= np.array([amount > 0 for amount in room], dtype=bool)[self.keys]
        for row, held in zip(whose[offering].tolist(), self.keys[offering].tolist(), strict=True):
            moved = min(left[row], room[held])
            left[row] -= moved
            room[held] -= moved
            total_found += moved
        return total_found


@dataclass(frozen=True, slots=True, eq=False)
class KeySummary:
    """All keys of a table, by what the budgets of each one's records add up to; in columns.

    A record counts with its level's quanta, lowered to the last edge. Two tables' summaries say nothing
    about the two together, since a key may be in both: there is no way to merge them. A row holds the keys
    whose budgets add up to between two edges.

    Attributes:
        levels: The grid of budgets.
        edge: The place of the last edge that is not above the sums; -1 below the first. Ascending.
        count: The number of keys.
        total: The exact total of their sums, in quanta.
        holders: Where budgets of units are divided among their keys, which units hold which.
    """

    levels: Levels
    edge: Column = field(repr=False)
    count: Column = field(repr=False)
    total: Column = field(repr=False)
    holders: KeyHolders | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for column in self._columns:
            kept(column)

    @classmethod
    def of(cls, levels: Levels, sums: Iterable[int]) -> KeySummary:
        """Return the summary of keys with these sums of quanta.

        >>> levels = Levels(Fraction(1), Fraction(2))
        >>> found = KeySummary.of(levels, [levels.quanta(0), 3 * levels.quanta(0)])
        >>> found.keys, found.mass == 4 * levels.quanta(0)
        (2, True)
        """
        quanta = exact_column(sums)
        places = np.searchsorted(exact_column(key_edges(levels)), quanta, side="right")
        edges, which, counts = np.unique(places, return_inverse=True, return_counts=True)
        totals = exact_column(totals_at(which, quanta, len(edges)))
        return cls(levels, edges.astype(np.int64) - 1, counts.astype(np.int64), totals)

    @classmethod
    def held(cls, levels: Levels, holders: KeyHolders) -> KeySummary:
        """Return the summary of keys among which units divide their budgets."""
        return replace(cls.of(levels, holders.sums), holders=holders)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeySummary):
            return NotImplemented
        return (self.levels, self.holders) == (other.levels, other.holders) and same(
            self._columns, other._columns
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def _columns(self) -> tuple[Column, Column, Column]:
        return self.edge, self.count, self.total

    @property
    def keys(self) -> int:
        """The number of keys."""
        return total(self.count)

    @property
    def mass(self) -> int:
        """The budgets of all records, in quanta."""
        return total(self.total)

    def clipped(self) -> tuple[int, ...]:
        """Return, for each edge, the total of the keys' sums when none may count for more than the edge."""
        edges = key_edges(self.levels)
        counts, totals = (
            accumulate(totals_at(self.edge + 1, column, len(edges) + 1)) for column in self._columns[1:]
        )
        keys = self.keys
        return tuple(
            below + edge * (keys - passed) for edge, below, passed in zip(edges, totals, counts, strict=False)
        )

    def clipped_at(self, place: int) -> int:
        """Return the total clipped at one edge, with what units have left over moved to their other keys."""
        if self.holders is None:
            return self.clipped()[place]
        return self.holders.clipped(key_edges(self.levels)[place])


@dataclass(frozen=True, slots=True)
class TopSummary:
    """A table's records, and the different values of a column, each at the highest level of its records.

    Attributes:
        records: The records, each counting 1.
        values: The values, each counting 1.
    """

    records: Summary = field(repr=False)
    values: Summary = field(repr=False)
