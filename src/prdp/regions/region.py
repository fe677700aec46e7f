"""Sets of contents: unions of boxes, each of which says for some columns what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from prdp.regions.points import PointSet

MAX_BOXES = 64
"""How many boxes a region is kept with; more are widened to the one around all of them."""

Side = tuple[str, PointSet]


@dataclass(frozen=True, slots=True)
class Box:
    """Contents whose columns lie in given sets; a column that is not named may hold anything.

    Attributes:
        sides: Columns and their sets, by name; none of them empty, none of them everything.
    """

    sides: tuple[Side, ...] = ()

    def side(self, column: str) -> PointSet | None:
        """Return what a column may hold; None for anything."""
        return next((points for name, points in self.sides if name == column), None)

    def without(self, column: str) -> tuple[Side, ...]:
        """Return what it says of all other columns."""
        return tuple(side for side in self.sides if side[0] != column)

    def meet(self, other: Box) -> Box | None:
        """Return the contents of two boxes; None if there are none."""
        found = dict(self.sides)
        for column, points in other.sides:
            both = points.meet(found[column]) if column in found else points
            if both.empty:
                return None
            found[column] = both
        return Box(tuple(sorted(found.items(), key=_name)))

    def holds(self, other: Box) -> bool:
        """Say whether all contents of another box are in this one."""
        theirs = dict(other.sides)
        return all(column in theirs and points.holds(theirs[column]) for column, points in self.sides)


@dataclass(frozen=True)
class Region:
    """The contents of some boxes.

    Attributes:
        boxes: None of them inside another; none at all for nobody.
    """

    boxes: tuple[Box, ...]

    @classmethod
    def where(cls, column: str, points: PointSet) -> Region:
        """Return the contents whose one column lies in a set."""
        if points.everything:
            return EVERYBODY
        return NOBODY if points.empty else cls((Box(((column, points),)),))

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it says something of."""
        return frozenset(column for box in self.boxes for column, _ in box.sides)

    @cached_property
    def hull(self) -> dict[str, PointSet]:
        """For each column that all boxes say something of, a set that ends where all of it does."""
        if len(self.boxes) == 1:
            return dict(self.boxes[0].sides)
        hulls = {column: _hull(column, self.boxes) for column in _common(self.boxes)} if self.boxes else {}
        return {column: points for column, points in hulls.items() if not points.everything}

    def is_beside(self, other: Region) -> bool:
        """Say whether some column's hulls show that two regions have nothing in common."""
        mine, theirs = self.hull, other.hull
        return any(
            column in theirs
            and mine[column].beside(theirs[column])
            and not (mine[column].null and theirs[column].null)
            for column in mine
        )

    def meets(self, other: Region) -> bool:
        """Say whether two regions have a content in common."""
        return any(one.meet(two) is not None for one in self.boxes for two in other.boxes)


EVERYBODY = Region((Box(),))
NOBODY = Region(())


def union(regions: Iterable[Region]) -> Region:
    """Return a region that holds all of some; too many boxes are widened.

    >>> weeks = [Region.filter("week", PointSet("whole", ((week, week + 1),))) for week in (1, 2, 4)]
    >>> union(weeks).boxes[0].side("week").spans
    ((1, 3), (4, 5))
    """
    return Region(_few(_tidied([box for region in regions for box in region.boxes])))


def intersection(regions: Sequence[Region]) -> Region:
    """Return a region that holds what all of some have in common; too many boxes are widened.

    Two by two, so that many small ones cost little.
    """
    level = list(regions)
    while len(level) > 1:
        pairs = [level[place : place + 2] for place in range(0, len(level), 2)]
        level = [_both(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0] if level else EVERYBODY


def _both(one: Region, two: Region) -> Region:
    few, many = sorted((one.boxes, two.boxes), key=len)
    if len(few) * len(many) > MAX_BOXES:
        many = (_around(many),)
    if len(few) > MAX_BOXES:
        few = (_around(few),)
    met = [box for mine in few for theirs in many if (box := mine.meet(theirs)) is not None]
    return Region(_few(_tidied(met)))


def _few(boxes: list[Box]) -> tuple[Box, ...]:
    if len(boxes) > MAX_BOXES:
        boxes = [_around(boxes)]
    return tuple(sorted(boxes, key=repr))


def _around(boxes: Sequence[Box]) -> Box:
    """Return a box that holds all of some."""
    sides = [(column, _joined(column, boxes)) for column in sorted(_common(boxes))]
    return Box(tuple((column, points) for column, points in sides if not points.everything))


def _common(boxes: Sequence[Box]) -> set[str]:
    """Return the columns that all of some boxes say something of."""
    return set.intersection(*({column for column, _ in box.sides} for box in boxes))


def _hull(column: str, boxes: Sequence[Box]) -> PointSet:
    found = [points for box in boxes for name, points in box.sides if name == column]
    ends = [(points.spans[0][0], points.spans[-1][1]) for points in found if points.spans]
    around = [(min(first for first, _ in ends), max(end for _, end in ends))] if ends else []
    return PointSet(found[0].kind, tuple(around), any(points.null for points in found))


def _joined(column: str, boxes: Sequence[Box]) -> PointSet:
    found = [points for box in boxes for name, points in box.sides if name == column]
    spans = (span for points in found for span in points.spans)
    return PointSet.of(found[0].kind, spans, null=any(points.null for points in found))


def _tidied(boxes: list[Box]) -> list[Box]:
    """Return the same contents in fewer boxes: those that differ in one column are joined."""
    boxes = list(dict.fromkeys(boxes))
    for column in sorted({column for box in boxes for column, _ in box.sides}):
        alike: dict[tuple[Side, ...], list[Box]] = {}
        for box in boxes:
            alike.setdefault(box.without(column), []).append(box)
        boxes = [_one_of(column, rest, group) for rest, group in alike.items()]
    if len(boxes) > MAX_BOXES:
        return boxes
    return [
        box
        for place, box in enumerate(boxes)
        if not any(
            other.holds(box) and (place > at or not box.holds(other))
            for at, other in enumerate(boxes)
            if at != place
        )
    ]


def _one_of(column: str, rest: tuple[Side, ...], group: Sequence[Box]) -> Box:
    """Return boxes that agree in all but one column as one."""
    if any(box.side(column) is None for box in group):
        return Box(rest)
    joined = _joined(column, group)
    return Box(rest if joined.everything else tuple(sorted((*rest, (column, joined)), key=_name)))


def _name(side: Side) -> str:
    return side[0]
