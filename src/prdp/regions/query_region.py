"""Regions of a query: records for which a filter can be TRUE or FALSE, and those with a listed key."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from prdp.declare.exact import is_integer
from prdp.declare.groups import Bin, Calendar, Grouping, GroupKey, KeyValue, Truncated, first_moment
from prdp.expressions.evaluate import evaluate
from prdp.expressions.nodes import (
    MIRRORED,
    OPPOSITE,
    And,
    Boolean,
    Column,
    Compare,
    CompareOp,
    InList,
    IsNull,
    IsTrue,
    Node,
    Not,
    Or,
    columns,
)
from prdp.regions.region import (
    EVERYBODY,
    NOBODY,
    WHOLE,
    Box,
    PointKind,
    PointSet,
    Region,
    Span,
    around,
    intersection,
    kind_of,
    microseconds,
    union,
)
from prdp.schema import ColumnType, Schema


@dataclass(frozen=True, slots=True)
class Sides:
    """The contents for which a condition can be TRUE, and for which it can be FALSE.

    Attributes:
        true: Holds every content of a record for which the condition is TRUE.
        false: Holds every content of a record for which it is FALSE.
    """

    true: Region
    false: Region


ANY = Sides(EVERYBODY, EVERYBODY)


def filter_region(condition: Node | None, schema: Schema, immutable: Collection[str]) -> Region:
    """Return a region that holds every record for which a filter is TRUE.

    Args:
        condition: The checked filter; None lets everything through.
        schema: The table's columns.
        immutable: The columns that may narrow: their values never change in a row.
    """
    return EVERYBODY if condition is None else sides(condition, schema, immutable).true


def sides(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    """Return the contents for which a condition can be TRUE or FALSE; if not understood, both anywhere.

    >>> from prdp.expressions.parse import parse
    >>> from prdp.schema import ColumnType, Kind
    >>> whole = ColumnType(Kind.NUMBER, integer=True)
    >>> both = sides(parse("NOT (a + b > 5)"), {"a": whole, "b": whole}, ["a", "b"])
    >>> both.true == both.false == EVERYBODY
    True
    """
    match node:
        case Boolean():
            return Sides(EVERYBODY, NOBODY) if node.value else Sides(NOBODY, EVERYBODY)
        case Not():
            inner = sides(node.operand, schema, immutable)
            return Sides(inner.false, inner.true)
        case IsTrue():  # it is FALSE for whatever is unknown, too
            return Sides(sides(node.operand, schema, immutable).true, EVERYBODY)
        case And() | Or():
            parts = [sides(part, schema, immutable) for part in node.parts]
            true, false = [part.true for part in parts], [part.false for part in parts]
            if node.every:
                return Sides(intersection(true), union(false))
            return Sides(union(true), intersection(false))
        case _:
            return _atom(node, schema, immutable)


def _atom(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    """Return the sides of a condition on one immutable column."""
    column = _column_of(node)
    kind = kind_of(schema[column]) if column is not None and column in immutable else None
    if column is None or kind is None:
        return ANY
    match node:
        case Column():
            true = PointSet.compared(kind, "=", value=True)
            false = PointSet.compared(kind, "=", value=False)
        case IsNull():
            true, false = PointSet(kind, (), null=True), PointSet(kind, (WHOLE[kind],))
        case InList():
            true = _listed(kind, [item.value for item in node.items])
            false = _unlisted(kind, [item.value for item in node.items])
        case Compare():
            op, limit = _against_a_constant(node)
            true = PointSet.compared(kind, op, evaluate(limit, {}))
            false = PointSet.compared(kind, OPPOSITE[op], evaluate(limit, {}))
        case _:
            return ANY
    if true is None or false is None:
        return ANY
    return Sides(Region.where(column, true), Region.where(column, false))


def _column_of(node: Node) -> str | None:
    """Return the one plain column that a condition compares with constants; None for any other condition."""
    match node:
        case Column():
            return node.name
        case IsNull(operand=Column() as column) | InList(operand=Column() as column):
            return column.name
        case Compare(left=Column() as column, right=other) | Compare(left=other, right=Column() as column):
            return None if columns(other) else column.name
        case _:
            return None


def _against_a_constant(node: Compare) -> tuple[CompareOp, Node]:
    """Return a comparison as one of the column with a constant."""
    return (node.op, node.right) if isinstance(node.left, Column) else (MIRRORED[node.op], node.left)


def _listed(kind: PointKind, values: list[object]) -> PointSet | None:
    spans = [around(kind, value) for value in values]
    known = [span for span in spans if span is not None]
    return PointSet.of(kind, known) if len(known) == len(spans) else None


def _unlisted(kind: PointKind, values: list[object]) -> PointSet | None:
    """Return the complement of a list: from the whole list, since the listed set may be widened."""
    spans = [around(kind, value) for value in values]
    known = sorted(span for span in spans if span is not None)
    low, end = WHOLE[kind]
    gaps = zip([low, *(after for _, after in known)], [*(at for at, _ in known), end], strict=True)
    return PointSet.of(kind, gaps) if len(known) == len(spans) else None


_AFTER_ALL_YEARS = microseconds(datetime.max) + 1
"""End of the last year that a key can name."""

_LONGEST: dict[Calendar, timedelta] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=31),
    "quarter": timedelta(days=92),
    "year": timedelta(days=366),
}
_DECIMAL = re.compile(r"DECIMAL\(\d+,\s*(\d+)\)")


def keys_region(grouping: Grouping | None, schema: Schema, immutable: Collection[str]) -> Region:
    """Return a region that holds every record of a listed key; others may hold anything.

    Args:
        grouping: The public groups; None for one group of all records.
        schema: The table's columns.
        immutable: The columns that may narrow.
    """
    if grouping is None or grouping.other:
        return EVERYBODY
    kept = [
        (place, key)
        for place, key in enumerate(grouping.by)
        if key.expression is None and key.column in immutable
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
    if is_integer(value):
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
    assert low is not None  # noqa: S101  (for the type checker; floats have their places)
    assert end is not None  # noqa: S101
    return low[0], end[1] if least <= greatest else low[0]


def _double_from(edge: Fraction) -> Fraction:
    near = float(edge)
    return Fraction(near if Fraction(near) >= edge else math.nextafter(near, math.inf))


def _double_to(edge: Fraction, *, itself: bool) -> Fraction:
    near = float(edge)
    inside = Fraction(near) <= edge if itself else Fraction(near) < edge
    return Fraction(near if inside else math.nextafter(near, -math.inf))
