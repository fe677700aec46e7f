"""Bound an expression over all records whose columns lie in given ranges.

The range is sound, not always tight: for every record whose number columns are unknown or in their
ranges, the value of the expression is unknown or in the interval. A column without a range may hold
any double. Conditions of the form ``column < constant`` narrow the column where they hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prdp.expressions.datetimes import MAX_DAYS
from prdp.expressions.evaluate import evaluate
from prdp.expressions.functions import CASTS, NUMBER_FUNCTIONS, SIGNATURES
from prdp.expressions.interval_rules import (
    EMPTY,
    OF_TEXTS_AND_MOMENTS,
    UNBOUNDED,
    Interval,
    Outcome,
    arithmetic,
    call,
    can_hold,
    counted,
    hull,
    to_whole,
)
from prdp.expressions.nodes import (
    MIRRORED,
    OPPOSITE,
    And,
    Arithmetic,
    Boolean,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    CompareOp,
    InList,
    IsNull,
    IsTrue,
    Literals,
    Moment,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Or,
    Text,
    columns,
)
from prdp.schema import Kind

__all__ = [
    "DAYS",
    "EMPTY",
    "LIMITS",
    "UNBOUNDED",
    "Interval",
    "Outcome",
    "arithmetic",
    "bound",
    "call",
    "can_be_true",
    "hull",
    "may_be_number",
    "narrowed",
    "outcome",
]

Ranges = Mapping[str, Interval]


def bound(node: Node, ranges: Ranges) -> Interval:
    """Return an interval around every number that an expression can give.

    >>> from prdp.expressions.parse import parse
    >>> bound(parse("10000 / balance"), {"balance": Interval(0.0, 1e12)})
    Interval(low=1e-08, high=inf)
    >>> bound(parse("CASE WHEN age < 18 THEN 1 ELSE age END"), {"age": Interval(0.0, 120.0)})
    Interval(low=1.0, high=120.0)
    """
    values = outcome(node, ranges).values
    return values if values.empty else Interval(values.low + 0.0, values.high + 0.0)


def outcome(node: Node, ranges: Ranges) -> Outcome:  # noqa: PLR0911  (one return a class)
    """Return the range of an expression, and whether it is a number wherever its columns are.

    >>> from prdp.expressions.parse import parse
    >>> outcome(parse("age + 1"), {"age": Interval(0.0, 120.0)})
    Outcome(values=Interval(low=1.0, high=121.0), total=True)
    >>> outcome(parse("sqrt(debt)"), {"debt": Interval(-1.0, 4.0)}).total  # below 0 there is no root
    False
    """
    match node:
        case Number():
            return Outcome(Interval(node.value, node.value), total=True)
        case Null():
            return Outcome(EMPTY, total=False)
        case Column():
            return Outcome(ranges.get(node.name, UNBOUNDED), total=True)
        case Negate():
            inner = outcome(node.operand, ranges)
            return Outcome(inner.values.negated(), inner.total)
        case Arithmetic():
            if node.of_moments or not (may_be_number(node.left) and may_be_number(node.right)):
                return Outcome(DAYS, total=False)
            left, right = outcome(node.left, ranges), outcome(node.right, ranges)
            result = arithmetic(node.op, left.values, right.values)
            return Outcome(result.values, result.total and left.total and right.total)
        case Call():
            return _call(node, ranges)
        case Cast():
            return _cast(node, ranges)
        case Case():
            return _case(node, ranges)
        case _:
            raise TypeError(f"{type(node).__name__} does not give a number")


ANYTHING = Outcome(UNBOUNDED, total=False)
DAYS = Interval(-MAX_DAYS - 1, MAX_DAYS + 1)
"""Between which numbers the days from one moment to another are."""


def _call(node: Call, ranges: Ranges) -> Outcome:
    """Return the range of a function; of texts and moments only their types are known."""
    if node.name in NUMBER_FUNCTIONS:
        args = [outcome(arg, ranges) for arg in node.args]
        result = call(node.name, [arg.values for arg in args])
        return Outcome(result.values, result.total and all(arg.total for arg in args))
    match node.name, node.args:
        case "nullif", (first, _):
            return Outcome(outcome(first, ranges).values, total=False)
        case "coalesce", _:
            return _first_known(node.args, ranges)
        case "date_diff", (Text() as unit, *_):
            return Outcome(counted(unit.value), _is_known(node))
        case _ if node.name in OF_TEXTS_AND_MOMENTS:
            return Outcome(OF_TEXTS_AND_MOMENTS[node.name], _is_known(node))
        case _:
            raise TypeError(f"{node.name} does not give a number")


def _first_known(nodes: Iterable[Node], ranges: Ranges) -> Outcome:
    """Join the possible outcomes: all nodes before the first constant, and that constant."""
    reached: list[Outcome] = []
    for node in nodes:
        reached.append(outcome(node, ranges))
        if isinstance(node, Literals):
            break
    return Outcome(hull(given.values for given in reached), any(given.total for given in reached))


def _cast(node: Cast, ranges: Ranges) -> Outcome:
    """Return the range of a CAST to a number: of a text, any of the type, or none; of truth, 0 or 1."""
    if node.of_boolean:
        truth = _truth(node.operand, ranges)
        ends = [Interval(float(value), float(value)) for value in (0, 1) if (truth.false, truth.true)[value]]
        return Outcome(hull(ends), total=not truth.unknown)
    inner = outcome(node.operand, ranges) if may_be_number(node.operand) else ANYTHING
    surely = _is_number(node.operand) or inner.values != UNBOUNDED
    if node.target == "DOUBLE":
        return Outcome(inner.values, inner.total and surely)
    found = to_whole(node.target, inner.values)
    return Outcome(found.values, found.total and inner.total and surely)


def _is_number(node: Node) -> bool:
    """Return whether a node gives a number whatever the columns hold, if it gives anything."""
    match node:
        case Number() | Negate() | Arithmetic():
            return True
        case Call():
            return SIGNATURES[node.name].gives is Kind.NUMBER
        case Cast():
            return CASTS[node.target][0] is Kind.NUMBER
        case _:
            return False


def _is_known(node: Node) -> bool:
    """Return whether a text, a moment or a function of them has a value wherever its columns have."""
    match node:
        case Column() | Text() | Moment() | Number() | Boolean():
            return True
        case Call(name="coalesce"):
            return any(map(_is_known, node.args))
        case Call(name="concat" | "substring" | "date_add" | "nullif"):
            return False
        case Call():
            return None not in SIGNATURES[node.name].takes and all(map(_is_known, node.args))
        case _:
            return False


def _case(node: Case, ranges: Ranges) -> Outcome:
    """Join what the branches give that can be reached, each with the ranges it is reached with."""
    reached: list[Outcome] = []
    rest: Ranges | None = ranges
    undecided = False
    for condition, value in node.branches:
        if rest is None:
            break
        truth = _truth(condition, rest)
        undecided = undecided or truth.unknown
        inside = narrowed(condition, rest, holds=True) if truth.true else None
        if inside is not None:
            given = outcome(value, inside)
            # A branch for unknown columns says nothing about records that have values.
            reached.append(Outcome(given.values, given.total or EMPTY in inside.values()))
        rest = narrowed(condition, rest, holds=False) if truth.false else None
    if rest is not None:
        reached.append(outcome(node.default, rest))
    total = not undecided and all(given.total for given in reached)
    return Outcome(hull(given.values for given in reached), total)


def can_be_true(condition: Node, ranges: Ranges) -> bool:
    """Return whether a condition may hold for any record whose columns are unknown or in their ranges.

    >>> from prdp.expressions.parse import parse
    >>> ages = {"age": Interval(0.0, 120.0)}
    >>> [can_be_true(parse(text), ages) for text in ("age > 110", "age > 200", "1 = 2", "age IS NULL")]
    [True, False, False, True]
    """
    return _truth(condition, ranges).true and narrowed(condition, ranges, holds=True) is not None


@dataclass(frozen=True, slots=True)
class _Truth:
    """The possible truth values of a condition; ``unknown`` is for records whose columns all have values."""

    true: bool
    false: bool
    unknown: bool


_EITHER = _Truth(true=True, false=True, unknown=True)


def _truth(condition: Node, ranges: Ranges) -> _Truth:  # noqa: PLR0911  (one return a class)
    match condition:
        case Boolean():
            return _Truth(true=condition.value, false=not condition.value, unknown=False)
        case Null():
            return _Truth(true=False, false=False, unknown=True)
        case Column() | IsNull():
            return _Truth(true=True, false=True, unknown=False)
        case IsTrue():  # also of unknown columns, for which it fails
            return _Truth(true=_truth(condition.operand, ranges).true, false=True, unknown=False)
        case Call(name="starts_with" | "ends_with" | "contains" | "like" | "ilike"):
            return _Truth(true=True, false=True, unknown=not _is_known(condition))
        case Not():
            inner = _truth(condition.operand, ranges)
            return _Truth(true=inner.false, false=inner.true, unknown=inner.unknown)
        case And() | Or():
            parts = [_truth(part, ranges) for part in condition.parts]
            joined = (all, any) if condition.every else (any, all)
            return _Truth(
                true=joined[0](part.true for part in parts),
                false=joined[1](part.false for part in parts),
                unknown=any(part.unknown for part in parts),
            )
        case Compare():
            return _compared(condition, ranges)
        case InList():
            return _listed(condition, ranges)
        case _:
            return _EITHER


def _compared(node: Compare, ranges: Ranges) -> _Truth:
    if not (may_be_number(node.left) and may_be_number(node.right)):
        known = _is_known(node.left) and _is_known(node.right)
        return _Truth(true=True, false=True, unknown=not known)
    left, right = outcome(node.left, ranges), outcome(node.right, ranges)
    if left.values.empty or right.values.empty:
        return _Truth(true=False, false=False, unknown=True)
    return _Truth(
        true=can_hold(node.op, left.values, right.values),
        false=can_hold(OPPOSITE[node.op], left.values, right.values),
        unknown=not (left.total and right.total),
    )


def _listed(node: InList, ranges: Ranges) -> _Truth:
    listed = node.numbers
    if len(listed) < len(node.items):
        return _Truth(true=True, false=True, unknown=not _is_known(node.operand))
    operand = outcome(node.operand, ranges)
    true = any(operand.values.contains(value) for value in listed)
    false = not operand.values.empty and operand.values.point not in listed
    return _Truth(true=true, false=false, unknown=not operand.total)


def may_be_number(node: Node) -> bool:
    """Return whether a node can give a number: a column may be of any type."""
    match node:
        case Column() | Null():
            return True
        case Call() if None in SIGNATURES[node.name].takes:
            return all(map(may_be_number, node.args))
        case Case():
            return all(may_be_number(value) for _, value in node.branches) and may_be_number(node.default)
        case _:
            return _is_number(node)


def narrowed(condition: Node, ranges: Ranges, *, holds: bool) -> Ranges | None:  # noqa: PLR0911
    """Return the ranges of the records for which a condition holds, or fails to.

    ``None`` means that there are no such records. A column that is known to be unknown there has
    the empty range.
    """
    match condition:
        case Not():
            return narrowed(condition.operand, ranges, holds=not holds)
        case And() | Or():
            every = condition.every is holds
            join = _narrowed_by_all if every else _narrowed_by_some
            return join(condition.parts, ranges, holds=holds)
        case IsTrue():
            inner = condition.operand
            return narrowed(inner, ranges, holds=True) if holds else _narrowed_by_not_true(inner, ranges)
        case IsNull(operand=Column() as column):
            return {**ranges, column.name: EMPTY} if holds else ranges
        case Compare():
            return _narrowed_by_comparison(condition, ranges, holds=holds)
        case InList(operand=Column() as column) if holds:
            inside = hull(Interval(point, point) for point in condition.numbers)
            return _meet(ranges, column.name, inside) if condition.numbers else ranges
        case _:
            return ranges


def _narrowed_by_not_true(condition: Node, ranges: Ranges) -> Ranges:
    """Return ranges of the records for which a condition is false or unknown.

    A comparison of a column with a constant is unknown where the column is, and no range keeps that out.
    OR is true as soon as one part is, so none of its parts is.
    """
    match condition:
        case Compare():
            return narrowed(condition, ranges, holds=False) or ranges
        case Or():
            for part in condition.parts:
                ranges = _narrowed_by_not_true(part, ranges)
    return ranges


def _narrowed_by_all(parts: Iterable[Node], ranges: Ranges, *, holds: bool) -> Ranges | None:
    found: Ranges | None = ranges
    for part in parts:
        if found is not None:
            found = narrowed(part, found, holds=holds)
    return found


def _narrowed_by_some(parts: Iterable[Node], ranges: Ranges, *, holds: bool) -> Ranges | None:
    """Return ranges around those of each part that can be so."""
    ways = [way for part in parts if (way := narrowed(part, ranges, holds=holds)) is not None]
    if not ways:
        return None
    names = set().union(*ways)
    return {name: hull(way.get(name, UNBOUNDED) for way in ways) for name in names}


def column_limit(node: Compare) -> tuple[str, CompareOp, float | None] | None:
    """Return the column that a comparison limits, and the limit; it is None where nothing passes.

    None for a comparison that limits no column by a number.
    """
    op, left, right = node.op, node.left, node.right
    if isinstance(right, Column) and not isinstance(left, Column):
        op, left, right = MIRRORED[op], right, left
    if not isinstance(left, Column) or columns(right):
        return None
    match evaluate(right, {}):
        case None | float() as limit:
            return left.name, op, limit
        case _:
            return None


def _narrowed_by_comparison(node: Compare, ranges: Ranges, *, holds: bool) -> Ranges | None:
    found = column_limit(node)
    if found is None:
        return ranges
    name, op, limit = found
    if limit is None:
        return None
    op = op if holds else OPPOSITE[op]
    return _meet(ranges, name, LIMITS[op](limit, ranges.get(name, UNBOUNDED)))


def _meet(ranges: Ranges, name: str, allowed: Interval) -> Ranges | None:
    both = ranges.get(name, UNBOUNDED).meet(allowed)
    return None if both.empty else {**ranges, name: both}


def _without(limit: float, interval: Interval) -> Interval:
    """Return an interval without a number, if the number is one of its ends."""
    if interval.low == limit:
        return Interval(math.nextafter(limit, math.inf), interval.high)
    if interval.high == limit:
        return Interval(interval.low, math.nextafter(limit, -math.inf))
    return interval


LIMITS: dict[CompareOp, Callable[[float, Interval], Interval]] = {
    "<": lambda limit, _: _below(limit),
    "<=": lambda limit, _: Interval(-math.inf, limit),
    ">": lambda limit, _: _below(-limit).negated(),
    ">=": lambda limit, _: Interval(limit, math.inf),
    "=": lambda limit, _: Interval(limit, limit),
    "<>": _without,
}
"""For each comparison with a number, an interval around what passes it."""


def _below(limit: float) -> Interval:
    if limit == -math.inf:
        return EMPTY
    return Interval(-math.inf, math.nextafter(limit, -math.inf))
