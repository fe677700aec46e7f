"""The cells of many groups side by side: what each cell has in common with others is written once.

A hundred thousand groups have millions of cells but a few thousand kinds of them, a kind being what a
``CellKey`` holds. So a cell is the number of its kind, a count and a total, and what follows from the kind
alone is worked out once for each. Every total is exact, and equal to what the groups' own summaries give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import (
    AT_ONCE,
    Column,
    Places,
    kept,
    looked_up,
    narrowed,
    numbered,
    plus,
    product,
    runs,
    shifted,
    side_by_side,
    stretches,
    widest,
)
from prdp.cells.summary import CellColumns, Ratios, Summary
from prdp.levels import Levels

_BEYOND = 1 << 63
_LIMB = 31
_MASK = (1 << _LIMB) - 1
_PIECES = 8
_ROW_BITS = 32
_DOUBLE_BITS = 52
"""Whole numbers that add up to less than 2^52 are added up exactly by doubles."""

_DENSE = 4
"""Stride above which unwanted rows of a stretch are skipped one by one."""


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
        """Number of rows of each segment."""
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


def by_number(group: Places, ends: Places) -> Places:
    """Return the places of rows in the order of their groups, each of which begins and ends as ``ends`` says.

    Groups are sorted some of them at the same time.
    """
    order = np.empty(len(group), np.int32 if len(group) < 1 << (_ROW_BITS - 1) else np.int64)
    groups = len(ends) - 1
    pieces = max(1, min(groups, -(-len(group) // AT_ONCE), _PIECES))
    cuts = [groups * piece // pieces for piece in range(pieces + 1)]

    def sort(piece: tuple[int, int]) -> None:
        first, last = piece
        rows = np.flatnonzero((group >= first) & (group < last)).astype(np.int64, copy=False)
        rows |= group[rows].astype(np.int64) << _ROW_BITS
        rows.sort()  # by group and then by row: numbers are sorted faster than places
        rows &= (1 << _ROW_BITS) - 1
        order[ends[first] : ends[last]] = rows

    side_by_side(sort, pairwise(cuts))
    return order


def _in_order(column: Column, order: Places) -> Column:
    """Return a column in the order that ``by_number`` found."""
    found = np.empty(len(order), column.dtype)

    def move(rows: slice) -> None:
        np.take(column, order[rows], out=found[rows], mode="clip")  # all places are there: nothing is clipped

    side_by_side(move, stretches(len(order)))
    return found


def totals_by(places: Places, column: Column, number: int) -> Column:
    """Return the sums of a column at each of so many places.

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


@dataclass(slots=True, eq=False)
class GroupRows:
    """The rows of an engine, one a cell, in any order; whoever makes groups of them uses them up.

    Of millions of cells, what is not needed any more should not stay.

    Attributes:
        group: The number of each row's group, from 0 on.
        count: The number of its records.
        total: Their total; None for all 0.
        squares: The total of their squares; None for all 0.
        budget: The number of its budget in a list.
        key: The number of its ends and sign in a list.
    """

    group: Places = field(repr=False)
    count: Column = field(repr=False)
    total: Column | None = field(repr=False)
    squares: Column | None = field(default=None, repr=False)
    budget: Places | None = field(default=None, repr=False)
    key: Places | None = field(default=None, repr=False)

    def take(self, name: str) -> Column:
        """Return a column, and keep it no longer."""
        column: Column = getattr(self, name)
        setattr(self, name, None)
        return column

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Drop the other rows."""
        alike = self.total is self.count
        for each in fields(self):
            if getattr(self, each.name) is not None:
                setattr(self, each.name, self.take(each.name)[rows])
        if alike:
            self.total = self.count


@dataclass(frozen=True, slots=True, eq=False)
class SummaryGroups(Sequence[Summary]):
    """The summaries of disjoint groups with the same public facts; each is made when it is looked at.

    Attributes:
        levels: The grid of budgets.
        smallest: The least absolute value above zero that the public bounds allow, in steps.
        largest: The greatest one.
        kinds: The kinds of cells, one a row, without counts and totals.
        segments: Which cells are whose.
        kind: Each cell's kind.
        counts: The number of records that it has.
        totals: Their total, on a lattice that is 2^bits times coarser than that of the ends.
        squares: The total of their squares; None where nobody asked for it.
        bits: How much coarser.
        ratios: As in a ``Summary``.
    """

    levels: Levels
    smallest: int
    largest: int
    kinds: CellColumns = field(repr=False)
    segments: Segments = field(repr=False)
    kind: Places = field(repr=False)
    counts: Column = field(repr=False)
    totals: Column = field(repr=False)
    squares: Column | None = field(default=None, repr=False)
    bits: int = 0
    ratios: Ratios | None = field(default=None, repr=False)

    @classmethod
    def of(cls, summaries: Sequence[Summary]) -> SummaryGroups:
        """Return the groups of summaries that have the same public facts; there is at least one."""
        if isinstance(summaries, SummaryGroups):
            return summaries
        empty = replace(summaries[0], cells=CellColumns.of(()))
        if any(replace(one, cells=empty.cells) != empty for one in summaries):
            raise ValueError("groups have the same levels, bounds and possible ratios")
        columns = [one.cells.columns for one in summaries]
        cells = CellColumns(*map(np.concatenate, zip(*columns, strict=True)))
        sizes = [len(one.cells) for one in summaries]
        group = np.repeat(np.arange(len(sizes)), sizes)
        squares = cells.squares if cells.squares.any() else None
        kinds, kind = _kinds(cells.keys)
        return cls._of_kinds(
            empty, GroupRows(group, cells.count, cells.total, squares, key=kind), kinds, len(sizes)
        )

    @classmethod
    def crossed(
        cls,
        empty: Summary,
        rows: GroupRows,
        budgets: Column,
        keys: CellColumns,
        groups: int,
    ) -> SummaryGroups:
        """Return the groups of rows in any order, which are used up.

        Args:
            empty: The summary of no records.
            rows: What the rows hold.
            budgets: Budgets in quanta, which ``rows.budget`` numbers.
            keys: Cells of no records, with the ends and signs that ``rows.key`` numbers.
            groups: The number of groups.
        """
        size = np.dtype(np.int32 if len(budgets) * len(keys) < 1 << 31 else np.int64)
        number: Column = rows.take("budget").astype(size)
        number *= size.type(len(keys))
        number += rows.take("key").astype(size, copy=False)
        pairs, pair = numbered(number)
        del number  # before more of its size is made
        budget, key = np.divmod(pairs, max(1, len(keys)))
        kinds, kind = _kinds((budgets[budget], *(column[key] for column in keys.keys[1:])))
        rows.key = looked_up(kind, pair)
        del pair
        return cls._of_kinds(empty, rows, kinds, groups)

    @classmethod
    def _of_kinds(cls, empty: Summary, rows: GroupRows, kinds: CellColumns, groups: int) -> SummaryGroups:
        """Return the groups of rows, of which ``rows.key`` is each one's kind."""
        sizes = np.bincount(rows.group, minlength=groups)
        ends = np.concatenate((np.zeros(1, np.intp), np.cumsum(sizes)))
        order = by_number(rows.take("group"), ends)
        kind = _in_order(rows.take("key").astype(np.int32, copy=False), order)
        counted = rows.total is rows.count
        summed, squared = rows.total is not None, rows.squares is not None
        count = kept(_in_order(rows.take("count"), order))
        if counted:
            total = count
        else:
            total = kept(_in_order(rows.take("total"), order)) if summed else np.zeros_like(count)
        squares = kept(_in_order(rows.take("squares"), order)) if squared else None
        facts = empty.levels, empty.smallest, empty.largest
        return cls(
            *facts,
            kinds,
            Segments(ends),
            kind,
            count,
            total,
            squares,
            ratios=empty.ratios,
        )

    def __len__(self) -> int:
        return len(self.segments)

    @overload
    def __getitem__(self, place: int) -> Summary: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Summary, ...]: ...

    def __getitem__(self, place: int | slice) -> Summary | tuple[Summary, ...]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        rows = slice(int(self.segments.ends[place]), int(self.segments.ends[place + 1]))
        squares = np.zeros(rows.stop - rows.start, np.int64) if self.squares is None else self.squares[rows]
        return self._summary(self.kind[rows], self.counts[rows], self.totals[rows], squares)

    def __iter__(self) -> Iterator[Summary]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SummaryGroups | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(mine == yours for mine, yours in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _summary(self, kind: Places, count: Column, total: Column, squares: Column) -> Summary:
        """Return the summary of some cells, those of the same kind added up."""
        quanta, low, high, sign, missing = (key[kind] for key in self.kinds.keys)
        cells = CellColumns(quanta, low, high, sign, missing, count, total, squares)
        if self.bits:
            fine = replace(cells, low=cells.low >> self.bits, high=cells.high >> self.bits)
            cells = fine.refined(self.bits)
        return Summary(self.levels, self.smallest, self.largest, cells.added_up(), self.ratios)

    def counted(self) -> SummaryGroups:
        """Return the groups in which every record has the value 1."""
        if self.largest == 1 and self.totals is self.counts and not self.bits:
            return self
        budgets, which = np.unique(self.kinds.quanta, return_inverse=True)
        none = np.zeros(len(budgets), np.int64)
        kinds = CellColumns.counting(budgets, none)
        kind = looked_up(which.astype(np.int32), self.kind)
        records = self.ratios.records if self.ratios else None
        ratios = Ratios(records, records) if records else None
        return SummaryGroups(
            self.levels, 1, 1, kinds, self.segments, kind, self.counts, self.counts, None, 0, ratios
        )

    def valued(self) -> SummaryGroups:
        """Return the groups of those records alone that have a value."""
        missing = self.kinds.missing
        if not missing.any():
            return self
        kept_rows = ~missing[self.kind]
        sizes = Segments(self.segments.ends).totals(kept_rows.astype(np.int64))
        ends = np.concatenate((np.zeros(1, np.intp), np.cumsum(sizes)))
        squares = None if self.squares is None else self.squares[kept_rows]
        return replace(
            self,
            segments=Segments(ends),
            kind=self.kind[kept_rows],
            counts=self.counts[kept_rows],
            totals=self.totals[kept_rows],
            squares=squares,
        )

    def refined(self, bits: int) -> SummaryGroups:
        """Return the same values on a lattice 2^bits times as fine."""
        return replace(
            self,
            smallest=self.smallest << bits,
            largest=self.largest << bits,
            kinds=self.kinds.refined(bits),
            squares=None,
            bits=self.bits + bits,
            ratios=self.ratios and self.ratios.refined(bits),
        )

    @property
    def empty(self) -> Summary:
        """The summary of no records: the public facts alone."""
        cells = CellColumns.of(())
        return Summary(self.levels, self.smallest, self.largest, cells, self.ratios)

    def together(self, chosen: Places) -> Summary:
        """Return the summary of some groups' records together."""

        def of(part: slice) -> tuple[Column, Column]:
            rows, _ = self.segments.rows(chosen[part])
            kind = rows.of(self.kind)
            count, total = (
                totals_by(kind, rows.of(column), len(self.kinds)) for column in (self.counts, self.totals)
            )
            return count, total

        found = side_by_side(of, self.segments.parts(chosen, AT_ONCE))
        if not found:
            return self.empty
        count, total = (reduce(plus, sums) for sums in zip(*found, strict=True))
        there = np.flatnonzero(count)
        return self._summary(there, count[there], total[there], np.zeros(len(there), np.int64))

    def records(self) -> Column:
        """Return the number of records of each group."""
        return self.segments.totals(self.counts)

    def weighed(self, weights: Column) -> Column:
        """Return, for each group, what the weights of its records add up to; each kind has one weight.

        >>> from fractions import Fraction
        >>> from prdp.cells.summary import Cell, CellKey
        >>> three = Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
        >>> groups = SummaryGroups.of([Summary.of(Levels(Fraction(1), Fraction(2)), 1, 9, [three])])
        >>> groups.weighed(groups.kinds.quanta).tolist()
        [300]
        """
        every = np.arange(len(self))

        def of(part: slice) -> Column:
            rows, segments = self.segments.rows(every[part])
            return _weighed(weights, rows.of(self.kind), rows.of(self.counts), segments)

        return np.concatenate(side_by_side(of, self.segments.parts(every, AT_ONCE)))

    def weighed_at(self, chosen: Places, places: Places, number: int, weights: Column) -> list[Column]:
        """Return the sums of the weights of some groups' records at each of so many places.

        Args:
            chosen: The groups.
            places: The place of each kind.
            number: The number of places.
            weights: The weight of each kind.

        Returns:
            Limbs, whose numbers ``joined`` puts together: a row for each group, a column for each place.
        """
        weight = limbs(weights, int(self.records()[chosen].max(initial=0)))

        def of(part: slice) -> list[Column]:
            rows, segments = self.segments.rows(chosen[part])
            kind, count = rows.of(self.kind), rows.of(self.counts)
            at = segments.labels() * number + places[kind]
            found = []
            for limb in weight:
                totals = np.zeros(len(segments) * number, dtype=limb.dtype)
                np.add.at(totals, at, limb[kind] * count)
                found.append(totals.reshape(len(segments), number))
            return found

        none = [np.zeros((0, number), dtype=limb.dtype) for limb in weight]
        parts = side_by_side(of, self.segments.parts(chosen, AT_ONCE))
        return [np.concatenate(limb) for limb in zip(none, *parts, strict=True)]

    def clipped(self, chosen: Places, caps: Column, only: NDArray[np.bool_] | None = None) -> Column:
        """Return some groups' totals when no record may count for more than the cap of its kind, in steps.

        ``only`` says of each kind whether it counts at all; None for all of them.
        """
        return self.clipped_each(chosen, [caps], np.zeros(len(chosen), np.intp), only)

    def clipped_each(
        self,
        chosen: Places,
        caps: Sequence[Column],
        which: Places,
        only: NDArray[np.bool_] | None = None,
    ) -> Column:
        """Return some groups' totals as ``clipped`` does, each by caps of its own.

        Args:
            chosen: The groups.
            caps: Lists of caps, one a kind.
            which: Which of the lists is each group's.
            only: As in ``clipped``.
        """
        within, cut = self._cut(caps, only)

        def of(part: slice) -> Column:
            rows, segments = self.segments.rows(chosen[part])
            at = np.repeat(which[part] * len(self.kinds), segments.sizes) + rows.of(self.kind)
            exact = segments.totals(np.where(within[at], rows.of(self.totals), 0))
            return plus(shifted(exact, self.bits), _weighed(cut, at, rows.of(self.counts), segments))

        return np.concatenate(
            [np.zeros(0, np.int64), *side_by_side(of, self.segments.parts(chosen, AT_ONCE))]
        )

    def _cut(
        self, caps: Sequence[Column], only: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.bool_], Column]:
        """Return, by list of caps, whether each kind lies within, and else what a record counts for."""
        kinds = self.kinds
        within = np.concatenate([np.asarray(kinds.high <= cap, dtype=bool) for cap in caps])
        cuts = [product(kinds.sign, np.minimum(kinds.low, cap)) for cap in caps]
        cut = np.where(within, 0, np.concatenate(cuts))
        if only is not None:
            counts = np.tile(only, len(caps))
            within, cut = within & counts, np.where(counts, cut, 0)
        return within, narrowed(cut)


def one_each(number: int) -> CellColumns:
    """Return cells of no records, in which each would have the value 1."""
    none = np.zeros(number, np.int64)
    return CellColumns.counting(none, none)


def magnitude_keys(codes: Column, *, largest: int, per_octave: int) -> CellColumns:
    """Return cells of no records and no budget, for an engine's magnitude codes."""
    none = np.zeros(len(codes), np.int64)
    return CellColumns.coded(none, codes, (none, none), largest=largest, per_octave=per_octave)


def _kinds(keys: Sequence[Column]) -> tuple[CellColumns, Places]:
    """Return the different keys, ascending, as cells of no records, and which of them each row has."""
    order = np.lexsort(keys[::-1])
    keys = [key[order] for key in keys]
    starts = runs(keys, len(order))
    which = np.empty(len(order), np.int32)
    which[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    none = np.zeros(len(starts), np.int64)
    quanta, low, high, sign, missing = (key[starts] for key in keys)
    return CellColumns(quanta, low, high, sign, missing.astype(bool), none, none, none), which


def _weighed(weights: Column, at: Places, count: Column, segments: Segments) -> Column:
    """Return the weight of each segment's records, by the place of each row's weight."""
    most = int(segments.totals(count).max(initial=0))
    return joined([segments.totals(limb[at] * count) for limb in limbs(weights, most)])
