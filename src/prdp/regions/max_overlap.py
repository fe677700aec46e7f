"""The most that any record of a region was charged: the deepest place of overlapping charges.

Columns are swept one after the other. Within a column, the sum of all that overlap in a cell is an upper
bound of what lies there, so that cells with large sums are looked into first, and most others never. Both
finding what overlaps and sweeping it are bounded, whatever the regions are.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prdp.regions.region import Box, PointSet, Region

MAX_WORK = 300_000
"""Maximum number of sides and spans of boxes in the sweep for one answer, counted anew in each cell."""

MAX_COMPARED = 1_000_000
"""Maximum number of spans compared to find overlaps, for one answer; a side counts as some."""

_SIDE = 5
_MAX_BITS = 16_000

Charged = tuple[Region, Fraction]
"""A charged region, and its share."""


def spent_in(region: Region, charges: Iterable[Charged], *, most_work: int = MAX_WORK) -> Fraction:
    """Return the most that any content of a region was charged; never less, and more only past the work.

    >>> from prdp.regions.region import PointSet
    >>> def weeks(first, last):
    ...     return Region.where("week", PointSet("whole", ((first, last + 1),)))
    >>> half, quarter = Fraction(1, 2), Fraction(1, 4)
    >>> charges = [(weeks(1, 4), half), (weeks(4, 9), quarter), (weeks(9, 9), quarter)]
    >>> spent_in(weeks(1, 3), charges), spent_in(weeks(1, 9), charges), spent_in(weeks(10, 52), charges)
    (Fraction(1, 2), Fraction(3, 4), Fraction(0, 1))

    Args:
        region: Whose contents are looked at.
        charges: All that was charged so far.
        most_work: The work after which the sum of all that overlap in a cell replaces its maximum.
    """
    near = [charge for charge in _together(list(charges)) if not charge[0].is_beside(region)]
    scale, weights = _scaled([share for _, share in near])
    search, comparison = _Search(weights, most_work), _Comparison(MAX_COMPARED)
    deepest = 0
    for box in region.boxes:
        inside, everywhere = comparison.within(box, near)
        base = sum(weights[index] for index in everywhere)
        items = [item for item in inside if item.index not in everywhere]
        deepest = max(deepest, base + search.deepest(items, deepest - base))
    return Fraction(deepest, scale)


def _together(charges: Sequence[Charged]) -> list[Charged]:
    """Return charges with those of one region as one, where a ledger has read its text once.

    Objects are distinguished by their identity: to compare thousands of regions and fractions takes longer.
    """
    times = Counter((id(region), id(share)) for region, share in charges)
    regions = {id(region): region for region, _ in charges}
    shares = {id(share): share for _, share in charges}
    sums: dict[int, Fraction] = {}
    for (region, share), many in times.items():
        sums[region] = sums.get(region, Fraction(0)) + many * shares[share]
    return [(regions[region], total) for region, total in sums.items()]


def _scaled(shares: Sequence[Fraction]) -> tuple[int, list[int]]:
    """Return a common denominator, and what all shares are over it.

    Shares that were chosen to have none that is short are rounded up, each by less than 2^-128.
    """
    scale = 1
    for denominator in {share.denominator for share in shares}:
        scale = math.lcm(scale, denominator)
        if scale.bit_length() > _MAX_BITS:
            return 1 << 128, [-(-(share.numerator << 128) // share.denominator) for share in shares]
    return scale, [share.numerator * (scale // share.denominator) for share in shares]


def overlapping(region: Region, charges: Sequence[Charged]) -> list[int]:
    """Return the places of the charges that some content of a region was charged by, or that may be so."""
    comparison = _Comparison(MAX_COMPARED)
    return [
        place
        for place, charge in enumerate(charges)
        if not charge[0].is_beside(region)
        and any(any(comparison.within(box, [charge])) for box in region.boxes)
    ]


@dataclass(frozen=True, slots=True)
class _Item:
    """A part of a charge's region: which charge it is of, and what it says of the columns that are left."""

    index: int
    sides: dict[str, PointSet]


class _Comparison:
    """The charges in a box, compared as long as work is left; the others count as all over it."""

    def __init__(self, work: int) -> None:
        self._work = work

    def within(self, box: Box, charges: Sequence[Charged]) -> tuple[list[_Item], set[int]]:
        """Return the parts of charges that lie in a box, and the charges that hold all of it, or may."""
        own = dict(box.sides)
        items: list[_Item] = []
        everywhere: set[int] = set()
        for index, (region, _) in enumerate(charges):
            for charged in region.boxes:
                if self._work <= 0:
                    everywhere.add(index)
                    break
                sides = self._cut(charged, own)
                if sides is None:
                    continue
                if not sides:
                    everywhere.add(index)
                    break
                items.append(_Item(index, sides))
        return items, everywhere

    def _cut(self, charged: Box, own: dict[str, PointSet]) -> dict[str, PointSet] | None:
        """Return a box's columns in which it is narrower than another box; None if they are disjoint."""
        sides = {}
        for column, points in charged.sides:
            mine = own.get(column)
            met = points if mine is None else points.meet(mine)
            compared = 0 if mine is None or points.beside(mine) else len(points.spans) + len(mine.spans)
            self._work -= _SIDE + compared + len(met.spans)
            if met.empty:
                return None
            if mine is None or met != mine:
                sides[column] = met
        return sides


@dataclass(frozen=True, slots=True)
class _Cell:
    """A place in one column where no span begins or ends, and the sum of all that overlap there."""

    bound: int
    at: Any
    null: bool = False

    def is_in(self, points: PointSet) -> bool:
        """Return whether the cell lies in a set."""
        if self.null:
            return points.null
        place = bisect_right(points.spans, self.at, key=_first) - 1
        return place >= 0 and self.at < points.spans[place][1]


class _Search:
    """A search for the deepest place, with the work that it may still do."""

    def __init__(self, weights: Sequence[int], work: int) -> None:
        self._weights = weights
        self._work = work

    def deepest(self, items: Sequence[_Item], floor: int = 0) -> int:
        """Return the largest sum at a place, or an upper bound: at most ``floor``, or past the work.

        ``items`` are cut to the box that is looked at, and none of them is all over it.
        """
        most = self._sum(items)
        columns = sorted({column for item in items for column in item.sides})
        if not columns or most <= floor or self._work < _cost(items, columns):
            return most
        swept = {column: self._cells(items, column) for column in columns}
        chosen = min(columns, key=lambda column: max(cell.bound for cell in swept[column]))
        cells = sorted(swept[chosen], key=lambda cell: -cell.bound)
        if len(columns) == 1:
            return cells[0].bound
        best = floor
        seen: set[frozenset[int]] = set()
        for cell in cells:
            if cell.bound <= best:
                break
            if self._work <= 0:
                return cell.bound
            here = self._here(items, chosen, cell)
            same = frozenset(map(id, here))
            if same not in seen:
                seen.add(same)
                best = max(best, self._below(here, chosen, best))
        return best

    def _below(self, items: Sequence[_Item], column: str, floor: int) -> int:
        """Return the largest sum at a place of a cell, by the columns that are left."""
        rest = [
            _Item(item.index, {name: side for name, side in item.sides.items() if name != column})
            for item in items
        ]
        everywhere = {item.index for item in rest if not item.sides}
        base = sum(self._weights[index] for index in everywhere)
        left = [item for item in rest if item.index not in everywhere]
        return base + (self.deepest(left, floor - base) if left else 0)

    def _here(self, items: Sequence[_Item], column: str, cell: _Cell) -> list[_Item]:
        self._work -= len(items)
        return [item for item in items if column not in item.sides or cell.is_in(item.sides[column])]

    def _sum(self, items: Iterable[_Item]) -> int:
        return sum(self._weights[index] for index in {item.index for item in items})

    def _cells(self, items: Sequence[_Item], column: str) -> list[_Cell]:
        """Return the cells of a column that are in no smaller sum's shadow: a span begins, then one ends."""
        through = [item for item in items if column not in item.sides]
        spans = [
            (span, item.index) for item in items if column in item.sides for span in item.sides[column].spans
        ]
        self._work -= len(items) + len(spans)
        active = {item.index: 1 for item in through}
        bound = self._sum(through)
        null = [item for item in items if column in item.sides and item.sides[column].null]
        cells = [_Cell(self._sum([*through, *null]), None, null=True)] if null else []
        events = sorted(
            [(span[1], 0, index) for span, index in spans] + [(span[0], 1, index) for span, index in spans]
        )
        rising = False
        at: Any = None
        for place, begins, index in events:
            if begins:
                active[index] = active.get(index, 0) + 1
                bound += self._weights[index] if active[index] == 1 else 0
            else:
                if rising:
                    cells.append(_Cell(bound, at))
                active[index] -= 1
                bound -= self._weights[index] if active[index] == 0 else 0
            rising, at = bool(begins), place
        return cells


def _cost(items: Sequence[_Item], columns: Sequence[str]) -> int:
    """Return the work of sweeping all columns once."""
    spans = sum(len(points.spans) for item in items for points in item.sides.values())
    return len(items) * len(columns) + spans


def _first(span: tuple[Any, Any]) -> Any:
    return span[0]
