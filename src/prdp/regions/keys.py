"""The contents of the records that are in one of a question's public groups."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from datetime import datetime, timedelta
from fractions import Fraction

from prdp.declare.groups import Bin, Calendar, Grouping, GroupKey, KeyValue, Truncated, first_moment
from prdp.regions.points import PointSet, Span, around, kind_of, microseconds
from prdp.regions.region import EVERYBODY, Box, Region, union
from prdp.schema import ColumnType, Schema

_AFTER_ALL_YEARS = microseconds(datetime.max) + 1
"""Where the last year that a key can name ends."""

_LONGEST: dict[Calendar, timedelta] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=31),
    "quarter": timedelta(days=92),
    "year": timedelta(days=366),
}
_DECIMAL = re.compile(r"DECIMAL\(\d+,\s*(\d+)\)")


def keys_region(grouping: Grouping | None, schema: Schema, fixed: Collection[str]) -> Region:
    """Return a region that holds every record of a listed key; others may hold anything.

    Args:
        grouping: The public groups; None for one group of all records.
        schema: The table's columns.
        fixed: The columns that may narrow.
    """
    if grouping is None or grouping.other:
        return EVERYBODY
    kept = [
        (place, key)
        for place, key in enumerate(grouping.by)
        if key.expression is None and key.column in fixed
    ]
    rows = dict.fromkeys(tuple(values[place] for place, _ in kept) for values in grouping.keys)
    if len(kept) == 1:
        ((_, key),) = kept
        kind = kind_of(schema[key.column])
        spans = [_span(key, value, schema[key.column]) for (value,) in rows]
        return EVERYBODY if kind is None else Region.where(key.column, PointSet.of(kind, spans))
    return union(Region((_box([key for _, key in kept], row, schema),)) for row in rows)


def _box(keys: list[GroupKey], row: tuple[KeyValue, ...], schema: Schema) -> Box:
    """Return the contents of one listed key; a column that is named twice meets both."""
    box = Box()
    for key, value in zip(keys, row, strict=True):
        column = schema[key.column]
        kind = kind_of(column)
        points = None if kind is None else PointSet.of(kind, [_span(key, value, column)])
        met = None if points is None or points.empty else box.meet(Box(((key.column, points),)))
        box = box if met is None else met
    return box


def _span(key: GroupKey, value: KeyValue, column: ColumnType) -> Span:
    """Return the points of one listed value."""
    if isinstance(value, Bin):
        return _bin(value, column)
    if isinstance(key, Truncated) and isinstance(value, datetime):
        return microseconds(value), _next_first(value, key.part)
    kind = kind_of(column)
    if isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    found = None if kind is None else around(kind, value)
    if found is None:  # the listed keys are of the column's own kind
        raise TypeError(f"a key of {key.column!r} is of another kind than the column")
    return found


def _next_first(first: datetime, part: Calendar) -> int:
    """Return when the next year, month, ... begins."""
    try:
        return microseconds(first_moment(first + _LONGEST[part], part))
    except OverflowError:
        return _AFTER_ALL_YEARS


def _bin(numbers: Bin, column: ColumnType) -> Span:
    """Return the points of a bin's numbers: of the least and the greatest that the column can hold in it."""
    found = _DECIMAL.fullmatch(column.native)
    kind = "whole" if column.integer else "number"
    if column.integer or found:
        steps = 10 ** (int(found[1]) if found else 0)
        least = Fraction(math.ceil(numbers.low * steps), steps)
        top = numbers.high * steps
        greatest = Fraction(math.floor(top) if numbers.last else math.ceil(top) - 1, steps)
    else:
        least, greatest = _double_from(numbers.low), _double_to(numbers.high, itself=numbers.last)
    low, end = around(kind, float(least)), around(kind, float(greatest))  # type: ignore[arg-type]
    assert low is not None  # noqa: S101  (told to the type checker; floats have their places)
    assert end is not None  # noqa: S101
    return low[0], end[1] if least <= greatest else low[0]


def _double_from(edge: Fraction) -> Fraction:
    near = float(edge)
    return Fraction(near if Fraction(near) >= edge else math.nextafter(near, math.inf))


def _double_to(edge: Fraction, *, itself: bool) -> Fraction:
    near = float(edge)
    inside = Fraction(near) <= edge if itself else Fraction(near) < edge
    return Fraction(near if inside else math.nextafter(near, -math.inf))
