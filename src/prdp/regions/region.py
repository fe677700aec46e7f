"""Sets of contents: points of a column, boxes, unions of boxes; written as JSON and in words."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, Literal, cast, get_args

from prdp.declare.strict_json import strict_json
from prdp.expressions.nodes import CompareOp
from prdp.expressions.tokens import moment_literal, number_text, shown_name, text_literal
from prdp.schema import ColumnType, Kind

PointKind = Literal["whole", "number", "text", "moment", "truth"]
Span = tuple[Any, Any]
"""A first key, and the first key that is not in it."""

MAX_SPANS = 1_000
"""Maximum number of spans of a set; of more, neighbours are joined, which makes the set larger."""

_BEYOND = 2**1024  # where a whole number that no double reaches is put
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def ordinal(number: float) -> int:
    """Return a double's place among all doubles; minus zero has that of zero.

    >>> ordinal(0.0), ordinal(-0.0), ordinal(5e-324), ordinal(-5e-324)
    (0, 0, 1, -1)
    """
    bits: int
    (bits,) = struct.unpack(">q", struct.pack(">d", number + 0.0))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def double_at(place: int) -> float:
    """Return the double at a place.

    >>> double_at(ordinal(-46.5))
    -46.5
    """
    size: float
    (size,) = struct.unpack(">d", struct.pack(">q", abs(place)))
    return -size if place < 0 else size


def microseconds(moment: datetime) -> int:
    """Return a moment in microseconds since 1970.

    >>> microseconds(datetime(1970, 1, 2)), microseconds(datetime(1969, 12, 31, 23, 59, 59))
    (86400000000, -1000000)
    """
    return (moment - _EPOCH) // _MICROSECOND


WHOLE: dict[PointKind, Span] = {
    "whole": (-_BEYOND, _BEYOND + 1),
    "number": (ordinal(-math.inf), ordinal(math.inf) + 1),
    "text": ((0, ""), (1, "")),
    "moment": (-(2**63), 2**63),
    "truth": (0, 2),
}
"""All keys of a kind."""


def kind_of(column: ColumnType) -> PointKind | None:
    """Return the kind of a column's points; None for one that expressions do not read.

    >>> kind_of(ColumnType(Kind.NUMBER, integer=True)), kind_of(ColumnType(Kind.TEXT))
    ('whole', 'text')
    """
    if column.kind is Kind.NUMBER:
        return "whole" if column.integer else "number"
    kinds: dict[Kind, PointKind] = {Kind.TEXT: "text", Kind.MOMENT: "moment", Kind.BOOLEAN: "truth"}
    return kinds.get(column.kind)


def around(kind: PointKind, value: object) -> Span | None:  # noqa: PLR0911  (one return a kind)
    """Return the first key at or after a value, and the first after it; None for a value of another kind.

    >>> around("whole", 46.0), around("whole", 46.5), around("truth", 1.0)
    ((46, 47), (47, 47), None)
    """
    match kind, value:
        case ("whole", float()):
            if math.isinf(value):
                place = _BEYOND if value > 0 else -_BEYOND
                return place, place + 1
            return math.ceil(value), math.floor(value) + 1
        case ("number", float()):
            return ordinal(value), ordinal(value) + 1
        case ("text", str()):
            return (0, value), (0, value + "\0")
        case ("moment", datetime()):
            return microseconds(value), microseconds(value) + 1
        case ("truth", bool()):
            return int(value), int(value) + 1
        case _:
            return None


@dataclass(frozen=True, slots=True)
class PointSet:
    """A set of points of one column.

    Attributes:
        kind: What the points are.
        spans: Half-open, ascending, and apart from each other.
        null: Whether NULL is in it.
    """

    kind: PointKind
    spans: tuple[Span, ...]
    null: bool = False

    @classmethod
    def of(cls, kind: PointKind, spans: Iterable[Span], *, null: bool = False) -> PointSet:
        """Return the points of some spans, in any order.

        >>> PointSet.of("whole", [(3, 5), (1, 2), (4, 7), (9, 9)])
        PointSet(kind='whole', spans=((1, 2), (3, 7)), null=False)
        """
        joined: list[Span] = []
        for low, end in sorted(span for span in spans if span[0] < span[1]):
            if joined and low <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((low, end))
        return cls(kind, _at_most(joined), null)

    @classmethod
    def compared(cls, kind: PointKind, op: CompareOp, value: object) -> PointSet | None:
        """Return the points for which a comparison with a constant holds; None if unknown.

        >>> PointSet.compared("whole", "<", 46.5).spans[0][1]
        47
        """
        near = around(kind, value)
        if near is None:
            return None
        (low, end), (at, after) = WHOLE[kind], near
        spans: dict[CompareOp, list[Span]] = {
            "<": [(low, at)],
            "<=": [(low, after)],
            ">": [(after, end)],
            ">=": [(at, end)],
            "=": [(at, after)],
            "<>": [(low, at), (after, end)],
        }
        return cls.of(kind, spans[op])

    @property
    def empty(self) -> bool:
        """True if the set is empty."""
        return not self.spans and not self.null

    @property
    def everything(self) -> bool:
        """True if all points and NULL are in it."""
        return self.null and self.spans == (WHOLE[self.kind],)

    def others(self) -> PointSet:
        """Return the points, NULL not among them, that are not in an *exact* set; of no other set."""
        low, end = WHOLE[self.kind]
        firsts = [low, *(high for _, high in self.spans)]
        ends = [*(first for first, _ in self.spans), end]
        return PointSet.of(self.kind, zip(firsts, ends, strict=True))

    def join(self, other: PointSet) -> PointSet:
        """Return the union of two sets."""
        return PointSet.of(self.kind, (*self.spans, *other.spans), null=self.null or other.null)

    def meet(self, other: PointSet) -> PointSet:
        """Return the intersection of two sets."""
        if self.beside(other):
            return PointSet(self.kind, (), self.null and other.null)
        found: list[Span] = []
        mine, theirs = iter(self.spans), iter(other.spans)
        one, two = next(mine, None), next(theirs, None)
        while one is not None and two is not None:
            low, end = max(one[0], two[0]), min(one[1], two[1])
            if low < end:
                found.append((low, end))
            if one[1] < two[1]:
                one = next(mine, None)
            else:
                two = next(theirs, None)
        return PointSet(self.kind, _at_most(found), self.null and other.null)

    def beside(self, other: PointSet) -> bool:
        """Return whether all points of one set, except NULL, come before all of another, by their ends."""
        mine, theirs = self.spans, other.spans
        return not mine or not theirs or mine[-1][1] <= theirs[0][0] or theirs[-1][1] <= mine[0][0]

    def holds(self, other: PointSet) -> bool:
        """Return whether all of another set is in this one."""
        return self.meet(other) == other


def _at_most(spans: list[Span]) -> tuple[Span, ...]:
    """Return ascending spans, neighbours joined until they are few enough."""
    if len(spans) <= MAX_SPANS:
        return tuple(spans)
    step = -(-len(spans) // MAX_SPANS)
    parts = (spans[start : start + step] for start in range(0, len(spans), step))
    return tuple((part[0][0], part[-1][1]) for part in parts)


MAX_BOXES = 64
"""Maximum number of boxes of a region; more are widened to the one around all of them."""

Side = tuple[str, PointSet]


@dataclass(frozen=True, slots=True)
class Box:
    """Contents whose columns lie in given sets; a column that is not named may hold anything.

    Attributes:
        sides: Columns and their sets, by name; none of them empty, none of them everything.
    """

    sides: tuple[Side, ...] = ()

    def side(self, column: str) -> PointSet | None:
        """Return the points that a column may hold; None for anything."""
        return next((points for name, points in self.sides if name == column), None)

    def without(self, column: str) -> tuple[Side, ...]:
        """Return the box without this column."""
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
        """Return whether all contents of another box are in this one."""
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
        """Return whether some column's hulls show that two regions have nothing in common."""
        mine, theirs = self.hull, other.hull
        return any(
            column in theirs
            and mine[column].beside(theirs[column])
            and not (mine[column].null and theirs[column].null)
            for column in mine
        )


EVERYBODY = Region((Box(),))
NOBODY = Region(())


def union(regions: Iterable[Region]) -> Region:
    """Return a region that holds all of some; too many boxes are widened.

    >>> weeks = [Region.where("week", PointSet("whole", ((week, week + 1),))) for week in (1, 2, 4)]
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


def region_to_json(region: Region) -> str:
    """Return a region as text, the same for equal ones.

    >>> region_to_json(Region.where("week", PointSet("whole", ((46, 47), (50, 53)), null=True)))
    '[{"week": {"whole": [46, [50, 52]], "null": true}}]'
    """
    boxes = [{column: _points_form(points) for column, points in box.sides} for box in region.boxes]
    return json.dumps(boxes, ensure_ascii=False, allow_nan=False)


@lru_cache(maxsize=50_000)
def region_from_json(text: str) -> Region:
    """Read what ``region_to_json`` wrote.

    Raises:
        ValueError: It did not write this.
    """
    try:
        form = strict_json(text)
        boxes = tuple(Box(tuple((column, _points(points)) for column, points in box.items())) for box in form)
        region = Region(boxes)
        if region_to_json(region) == text:
            return region
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        pass
    raise ValueError("the text is no region")


def _points_form(points: PointSet) -> dict[str, Any]:
    form: dict[str, Any] = {points.kind: [_span_form(points.kind, span) for span in points.spans]}
    return form | {"null": True} if points.null else form


def _span_form(kind: PointKind, span: Span) -> Any:
    (first, end), (low, high) = span, WHOLE[kind]
    if kind == "text":
        if end == (0, first[1] + "\0"):
            return first[1]
        return [first[1], None if end == high else end[1]]
    if end == first + 1:
        return _point_form(kind, first)
    return [
        None if first == low else _point_form(kind, first),
        None if end == high else _point_form(kind, end - 1),
    ]


def _point_form(kind: PointKind, key: int) -> Any:
    if kind == "truth":
        return bool(key)
    if kind != "number":
        return key
    number = double_at(key)
    if math.isinf(number):
        return str(number)
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def _points(form: dict[str, Any]) -> PointSet:
    kind = next(iter(form))
    if kind not in get_args(PointKind):
        raise ValueError("no kind of points")
    known = cast("PointKind", kind)
    spans = [_span(known, span) for span in form[kind]]
    points = PointSet.of(known, spans, null=form.get("null", False))
    if points.empty or points.everything or list(points.spans) != spans:
        raise ValueError("no set of points that is written")
    return points


def _span(kind: PointKind, form: Any) -> Span:
    low, high = WHOLE[kind]
    if not isinstance(form, list):
        first = _key(kind, form)
        return (first, (0, form + "\0")) if kind == "text" else (first, first + 1)
    first, last = form
    if kind == "text":
        return _key(kind, first), high if last is None else _key(kind, last)
    return (
        low if first is None else _key(kind, first),
        high if last is None else _key(kind, last) + 1,
    )


def _key(kind: PointKind, point: Any) -> Any:
    low, high = WHOLE[kind]
    key = (0, point) if kind == "text" else ordinal(float(point)) if kind == "number" else int(point)
    if not low <= key < high:
        raise ValueError("no point of its kind")
    return key


_MAX_SPANS = 6
_MAX_BOXES = 3
_FIRST, _LAST = microseconds(datetime.min), microseconds(datetime.max)


def region_words(region: Region) -> str:
    """Describe a region in words.

    >>> region_words(Region.where("week", PointSet("whole", ((46, 47), (50, 53)), null=True)))
    'week = 46 or week from 50 to 52 or week IS NULL'
    >>> region_words(Region((Box(),))), region_words(Region(()))
    ('all records', 'no record')
    """
    if not region.boxes:
        return "no record"
    if not all(box.sides for box in region.boxes):
        return "all records"
    shown = [_box(box, alone=len(region.boxes) == 1) for box in region.boxes[:_MAX_BOXES]]
    more = len(region.boxes) - _MAX_BOXES
    return "; or ".join(shown + [f"{more} more"] * (more > 0))


def _box(box: Box, *, alone: bool) -> str:
    sides = [_described_points(column, points) for column, points in box.sides]
    if len(sides) == 1 and alone:
        return sides[0]
    return " and ".join(f"({side})" if " or " in side else side for side in sides)


def _described_points(column: str, points: PointSet) -> str:
    name = shown_name(column)
    single = [span for span in points.spans if _is_one(points.kind, span)]
    if len(single) == len(points.spans) > 1 and not points.null:
        listed = [_point(points.kind, span[0]) for span in single[:_MAX_SPANS]]
        more = [f"{len(single) - _MAX_SPANS:,} more"] * (len(single) > _MAX_SPANS)
        return f"{name} in {', '.join(listed + more)}"
    shown = [_described_span(name, points.kind, span) for span in points.spans[:_MAX_SPANS]]
    more = [f"{len(points.spans) - _MAX_SPANS:,} more"] * (len(points.spans) > _MAX_SPANS)
    return " or ".join(shown + more + [f"{name} IS NULL"] * points.null)


def _is_one(kind: PointKind, span: Span) -> bool:
    return bool(span[1] == ((0, span[0][1] + "\0") if kind == "text" else span[0] + 1))


def _described_span(name: str, kind: PointKind, span: Span) -> str:
    first, end = span
    low, high = WHOLE[kind]
    if _is_one(kind, span):
        return f"{name} = {_point(kind, first)}"
    if (first, end) == (low, high):
        return f"{name} IS NOT NULL"
    if kind in {"text", "moment"}:  # what ends before the first moment of a month is read best so
        before = f"before {_point(kind, end)}"
        return (
            f"{name} {before}"
            if first == low
            else f"{name} from {_point(kind, first)} on" + ("" if end == high else f" and {before}")
        )
    last = _point(kind, end - 1)
    if first == low:
        return f"{name} up to {last}"
    return f"{name} from {_point(kind, first)} {'on' if end == high else f'to {last}'}"


def _point(kind: PointKind, key: Any) -> str:
    match kind:
        case "text":
            return text_literal(key[1].replace("\0", "\\0"))
        case "truth":
            return str(bool(key)).upper()
        case "number":
            return number_text(double_at(key))
        case "moment" if _FIRST <= key <= _LAST:
            return moment_literal(datetime(1970, 1, 1) + timedelta(microseconds=key))
        case _:
            return str(key)
