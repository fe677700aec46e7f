"""From a filter to the contents for which it can be TRUE, and to those for which it can be FALSE.

Both are supersets, and each is carried by itself: the complement of a superset is none. See
proofs/accounting.md.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from prdp.expressions.evaluate import evaluate
from prdp.expressions.nodes import (
    MIRRORED,
    OPPOSITE,
    Among,
    And,
    Boolean,
    Column,
    Compare,
    CompareOp,
    IsNull,
    IsTrue,
    Node,
    Not,
    Or,
    columns,
)
from prdp.regions.points import WHOLE, PointKind, PointSet, around, kind_of
from prdp.regions.region import EVERYBODY, NOBODY, Region, intersection, union
from prdp.schema import Schema


@dataclass(frozen=True, slots=True)
class Sides:
    """Where a condition can be TRUE, and where it can be FALSE.

    Attributes:
        true: Holds every content of a record for which the condition is TRUE.
        false: Holds every content of a record for which it is FALSE.
    """

    true: Region
    false: Region


ANY = Sides(EVERYBODY, EVERYBODY)


def filter_region(condition: Node | None, schema: Schema, fixed: Collection[str]) -> Region:
    """Return a region that holds every record for which a filter is TRUE.

    Args:
        condition: The checked filter; None lets everything through.
        schema: The table's columns.
        fixed: The columns that may narrow: their values never change in a row.
    """
    return EVERYBODY if condition is None else sides(condition, schema, fixed).true


def sides(node: Node, schema: Schema, fixed: Collection[str]) -> Sides:
    """Return where a condition can be TRUE and where FALSE; whatever is not understood can be both anywhere.

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
            inner = sides(node.operand, schema, fixed)
            return Sides(inner.false, inner.true)
        case IsTrue():  # it is FALSE for whatever is unknown, too
            return Sides(sides(node.operand, schema, fixed).true, EVERYBODY)
        case And() | Or():
            parts = [sides(part, schema, fixed) for part in node.parts]
            true, false = [part.true for part in parts], [part.false for part in parts]
            if isinstance(node, And):
                return Sides(intersection(true), union(false))
            return Sides(union(true), intersection(false))
        case _:
            return _atom(node, schema, fixed)


def _atom(node: Node, schema: Schema, fixed: Collection[str]) -> Sides:
    """Return the sides of a condition on one fixed column."""
    column = _column_of(node)
    kind = kind_of(schema[column]) if column is not None and column in fixed else None
    if column is None or kind is None:
        return ANY
    match node:
        case Column():
            true = PointSet.compared(kind, "=", value=True)
            false = PointSet.compared(kind, "=", value=False)
        case IsNull():
            true, false = PointSet(kind, (), null=True), PointSet(kind, (WHOLE[kind],))
        case Among():
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
        case IsNull(operand=Column() as column) | Among(operand=Column() as column):
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
    """Return what is in no place of a list: from the whole list, since the listed set may be widened."""
    spans = [around(kind, value) for value in values]
    known = sorted(span for span in spans if span is not None)
    low, end = WHOLE[kind]
    gaps = zip([low, *(after for _, after in known)], [*(at for at, _ in known), end], strict=True)
    return PointSet.of(kind, gaps) if len(known) == len(spans) else None
