"""A region as the one line of JSON that a ledger keeps with a charge.

A list of boxes; a box has, for each column that it says something of, the kind of its points and their spans.
A span is its first and its last point, null where there is none, or the point alone if it is one; of texts
the second is the first text that is not in it. Only what ``region_to_json`` writes is read.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import Any, cast, get_args

from prdp.declare.exact import whole_of
from prdp.regions.points import WHOLE, PointKind, PointSet, Span, double_at, ordinal
from prdp.regions.region import Box, Region


def region_to_json(region: Region) -> str:
    """Return a region as text, the same for equal ones.

    >>> region_to_json(Region.filter("week", PointSet("whole", ((46, 47), (50, 53)), null=True)))
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
        form = json.loads(text, parse_int=whole_of)
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
