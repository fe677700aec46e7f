"""A region in words: as a condition that a person can read, shortened where it is long."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from prdp.expressions.spelling import moment_literal, number_text, shown_name, text_literal
from prdp.regions.points import WHOLE, PointKind, PointSet, Span, double_at, microseconds
from prdp.regions.region import Box, Region

_MAX_SPANS = 6
_MAX_BOXES = 3
_FIRST, _LAST = microseconds(datetime.min), microseconds(datetime.max)


def region_words(region: Region) -> str:
    """Return whom a region is about.

    >>> region_words(Region.filter("week", PointSet("whole", ((46, 47), (50, 53)), null=True)))
    'week = 46 or week from 50 to 52 or week IS NULL'
    >>> region_words(Region((Box(),))), region_words(Region(()))
    ('everybody', 'nobody')
    """
    if not region.boxes:
        return "nobody"
    if not all(box.sides for box in region.boxes):
        return "everybody"
    shown = [_box(box, alone=len(region.boxes) == 1) for box in region.boxes[:_MAX_BOXES]]
    more = len(region.boxes) - _MAX_BOXES
    return "; or ".join(shown + [f"{more} more"] * (more > 0))


def _box(box: Box, *, alone: bool) -> str:
    sides = [_points(column, points) for column, points in box.sides]
    if len(sides) == 1 and alone:
        return sides[0]
    return " and ".join(f"({side})" if " or " in side else side for side in sides)


def _points(column: str, points: PointSet) -> str:
    name = shown_name(column)
    single = [span for span in points.spans if _is_one(points.kind, span)]
    if len(single) == len(points.spans) > 1 and not points.null:
        listed = [_point(points.kind, span[0]) for span in single[:_MAX_SPANS]]
        more = [f"{len(single) - _MAX_SPANS:,} more"] * (len(single) > _MAX_SPANS)
        return f"{name} in {', '.join(listed + more)}"
    shown = [_span(name, points.kind, span) for span in points.spans[:_MAX_SPANS]]
    more = [f"{len(points.spans) - _MAX_SPANS:,} more"] * (len(points.spans) > _MAX_SPANS)
    return " or ".join(shown + more + [f"{name} IS NULL"] * points.null)


def _is_one(kind: PointKind, span: Span) -> bool:
    return bool(span[1] == ((0, span[0][1] + "\0") if kind == "text" else span[0] + 1))


def _span(name: str, kind: PointKind, span: Span) -> str:
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
