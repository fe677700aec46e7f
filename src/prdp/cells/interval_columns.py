"""Bound an expression over many boxes of records at once.

The rules are those of ``expressions.intervals``, one array operation for all boxes: ends are the same
doubles. What has no rule here (logarithms, powers, texts, dates) is bounded box by box by the rules there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from prdp.expressions.functions import NUMBER_FUNCTIONS
from prdp.expressions.interval_rules import EMPTY, UNBOUNDED, Interval, call
from prdp.expressions.intervals import DAYS, LIMITS, column_limit, may_be_number, outcome
from prdp.expressions.nodes import (
    OPPOSITE,
    And,
    Arithmetic,
    ArithmeticOp,
    Boolean,
    Call,
    Case,
    Column,
    Compare,
    CompareOp,
    InList,
    IsNull,
    IsTrue,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Or,
)

Doubles = NDArray[np.float64]
Marks = NDArray[np.bool_]

_TINY = np.nextafter(0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """One interval a box.

    Attributes:
        low: The lower ends.
        high: The upper ends; below the lower one where an interval is empty.
    """

    low: Doubles
    high: Doubles

    @classmethod
    def all(cls, one: Interval, number: int) -> Intervals:
        """Return the same interval for each box."""
        return cls(np.full(number, one.low), np.full(number, one.high))

    @classmethod
    def of(cls, single: Iterable[Interval]) -> Intervals:
        """Return intervals side by side."""
        ends = np.array([(one.low, one.high) for one in single], dtype=np.float64).reshape(-1, 2)
        return cls(ends[:, 0], ends[:, 1])

    @property
    def filled(self) -> Marks:
        """Marks of those that hold a number."""
        return self.low <= self.high

    def at(self, places: NDArray[np.intp] | Marks | slice) -> Intervals:
        """Return the intervals of some boxes."""
        return Intervals(self.low[places], self.high[places])

    def where(self, places: Marks, other: Intervals) -> Intervals:
        """Return the intervals of marked boxes, and others for the rest."""
        return Intervals(np.where(places, self.low, other.low), np.where(places, self.high, other.high))

    def single(self) -> list[Interval]:
        """Return the intervals one by one."""
        return list(map(Interval, self.low.tolist(), self.high.tolist()))


Boxes = Mapping[str, Intervals]
"""The ranges of columns, box by box; a column that is not in it may hold any double."""


def bound_each(node: Node, boxes: Boxes, number: int) -> Intervals:
    """Return ``bound(node, box)`` of each box.

    >>> from prdp.expressions.parse import parse
    >>> balances = Intervals(np.array([1.0, 100.0]), np.array([100.0, 1e4]))
    >>> bound_each(parse("10000 / balance"), {"balance": balances}, 2).single()
    [Interval(low=100.0, high=10000.0), Interval(low=1.0, high=100.0)]

    Args:
        node: What is bounded.
        boxes: The ranges of columns.
        number: The number of boxes.
    """
    with np.errstate(all="ignore"):  # infinities and unknowns have rules
        found = _values(node, boxes, number)
        return Intervals(found.low + 0.0, found.high + 0.0)


def _values(node: Node, boxes: Boxes, number: int) -> Intervals:  # noqa: PLR0911  (one return a class)
    match node:
        case Number():
            return Intervals.all(Interval(node.value, node.value), number)
        case Column():
            return boxes.get(node.name) or Intervals.all(UNBOUNDED, number)
        case Negate():
            return _negated(_values(node.operand, boxes, number))
        case Arithmetic():
            if node.of_moments or not (may_be_number(node.left) and may_be_number(node.right)):
                return Intervals.all(DAYS, number)
            left, right = _values(node.left, boxes, number), _values(node.right, boxes, number)
            return _where_filled(_arithmetic(node.op, left, right), (left, right))
        case Call() if node.name in NUMBER_FUNCTIONS:
            return _called(node, [_values(arg, boxes, number) for arg in node.args])
        case Case():
            return _case(node, boxes, number)
        case _:
            return Intervals.of([outcome(node, box).values for box in _one_by_one(boxes, number)])


def _arithmetic(op: ArithmeticOp, left: Intervals, right: Intervals) -> Intervals:
    match op:
        case "+":
            return _sum(left, right)
        case "-":
            return _sum(left, _negated(right))
        case "*":
            return _around_corners(np.multiply, left, right)
        case "/":
            return _quotient(left, right)
        case "%":
            divisor = np.maximum(abs(right.low), abs(right.high))
            below, above = np.maximum(0.0, -left.low), np.maximum(0.0, left.high)
            return Intervals(-np.minimum(divisor, below), np.minimum(divisor, above))


def _sum(left: Intervals, right: Intervals) -> Intervals:
    low, high = left.low + right.low, left.high + right.high
    return Intervals(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))


def _around_corners(operation: np.ufunc, left: Intervals, right: Intervals) -> Intervals:
    corners = np.stack([operation(a, b) for a in (left.low, left.high) for b in (right.low, right.high)])
    corners[np.isnan(corners)] = 0.0
    return Intervals(corners.min(axis=0), corners.max(axis=0))


def _quotient(left: Intervals, right: Intervals) -> Intervals:
    below = Intervals(right.low, np.minimum(right.high, -_TINY))
    above = Intervals(np.maximum(right.low, _TINY), right.high)
    parts = [_where_filled(_around_corners(np.divide, left, side), [side]) for side in (below, above)]
    zero = (right.low <= 0) & (right.high >= 0)
    up, down = zero & (left.high > 0), zero & (left.low < 0)
    infinite = (
        Intervals(np.where(up, np.inf, EMPTY.low), np.where(up, np.inf, EMPTY.high)),
        Intervals(np.where(down, -np.inf, EMPTY.low), np.where(down, -np.inf, EMPTY.high)),
    )
    return reduce(_hull, (*parts, *infinite))


def _called(node: Call, args: Sequence[Intervals]) -> Intervals:
    first = args[0]
    match node.name:
        case "least":
            lows, highs = (np.minimum.reduce([getattr(arg, end) for arg in args]) for end in ("low", "high"))
            return _where_filled(Intervals(lows, highs), args)
        case "greatest":
            lows, highs = (np.maximum.reduce([getattr(arg, end) for arg in args]) for end in ("low", "high"))
            return _where_filled(Intervals(lows, highs), args)
        case "abs":
            low, high = abs(first.low), abs(first.high)
            least = np.where((first.low <= 0) & (first.high >= 0), 0.0, np.minimum(low, high))
            return _where_filled(Intervals(least, np.maximum(low, high)), args)
        case "sqrt":
            low, high = np.maximum(first.low, 0.0), first.high
            return _where_filled(Intervals(np.sqrt(low), np.sqrt(high)), [Intervals(low, high), first])
        case name if name in NUMBER_FUNCTIONS:
            each = zip(*(arg.single() for arg in args), strict=True)
            return Intervals.of([call(name, given).values for given in each])
        case _:
            raise TypeError(f"{node.name} is no function of numbers")


def _case(node: Case, boxes: Boxes, number: int) -> Intervals:
    found = Intervals.all(EMPTY, number)
    places, rest = np.arange(number), boxes
    for condition, value in node.branches:
        true, false = _truth(condition, rest, places.size)
        inside, may_hold = _narrowed(condition, rest, places.size, holds=True)
        found = _with_branch(found, value, inside, places, true & may_hold)
        outside, may_fail = _narrowed(condition, rest, places.size, holds=False)
        left = np.flatnonzero(false & may_fail)
        places, rest = places[left], _at(outside, left)
    return _with_branch(found, node.default, rest, places, np.ones(places.size, dtype=bool))


def _with_branch(
    found: Intervals, value: Node, boxes: Boxes, places: NDArray[np.intp], reached: Marks
) -> Intervals:
    """Return the outcomes so far, joined with a branch's in the boxes that reach it."""
    inner = np.flatnonzero(reached)
    if not inner.size:
        return found
    given, at = _values(value, _at(boxes, inner), inner.size), places[inner]
    joined = _hull(found.at(at), given)
    low, high = found.low.copy(), found.high.copy()
    low[at], high[at] = joined.low, joined.high
    return Intervals(low, high)


def _truth(condition: Node, boxes: Boxes, number: int) -> tuple[Marks, Marks]:  # noqa: PLR0911
    """Return in which boxes a condition can be true, and in which it can be false."""
    yes, no = np.ones(number, dtype=bool), np.zeros(number, dtype=bool)
    match condition:
        case Boolean():
            return (yes, no) if condition.value else (no, yes)
        case Null():
            return no, no
        case IsTrue():
            return _truth(condition.operand, boxes, number)[0], yes
        case Not():
            true, false = _truth(condition.operand, boxes, number)
            return false, true
        case And() | Or():
            parts = [_truth(part, boxes, number) for part in condition.parts]
            every, some = np.logical_and.reduce, np.logical_or.reduce
            joined = (every, some) if condition.every else (some, every)
            return joined[0]([true for true, _ in parts]), joined[1]([false for _, false in parts])
        case Compare() if may_be_number(condition.left) and may_be_number(condition.right):
            left, right = (_values(side, boxes, number) for side in (condition.left, condition.right))
            filled = left.filled & right.filled
            true, false = (_can_hold(op, left, right) for op in (condition.op, OPPOSITE[condition.op]))
            return filled & true, filled & false
        case InList() if len(condition.numbers) == len(condition.items):
            operand = _values(condition.operand, boxes, number)
            listed = condition.numbers
            true = np.logical_or.reduce([(operand.low <= one) & (one <= operand.high) for one in listed])
            point = (operand.low == operand.high) & np.isin(operand.low, listed)
            return true, operand.filled & ~point
        case _:
            return yes, yes


def _can_hold(op: CompareOp, left: Intervals, right: Intervals) -> Marks:
    match op:
        case "<":
            return left.low < right.high
        case "<=":
            return left.low <= right.high
        case ">":
            return left.high > right.low
        case ">=":
            return left.high >= right.low
        case "=":
            return np.maximum(left.low, right.low) <= np.minimum(left.high, right.high)
        case "<>":
            apart: Marks = (left.low != left.high) | (right.low != right.high) | (left.low != right.low)
            return apart


def _narrowed(condition: Node, boxes: Boxes, number: int, *, holds: bool) -> tuple[Boxes, Marks]:  # noqa: PLR0911
    """Return the boxes of the records for which a condition holds or fails, and which have any."""
    everywhere = np.ones(number, dtype=bool)
    match condition:
        case Not():
            return _narrowed(condition.operand, boxes, number, holds=not holds)
        case And() | Or():
            every = condition.every is holds
            join = _narrowed_by_all if every else _narrowed_by_some
            return join(condition.parts, boxes, number, holds=holds)
        case IsTrue() if holds:
            return _narrowed(condition.operand, boxes, number, holds=True)
        case IsTrue():
            return _narrowed_by_not_true(condition.operand, boxes, number), everywhere
        case IsNull(operand=Column() as column) if holds:
            return {**boxes, column.name: Intervals.all(EMPTY, number)}, everywhere
        case Compare():
            return _narrowed_by_comparison(condition, boxes, number, holds=holds)
        case InList(operand=Column() as column) if holds and condition.numbers:
            inside = Interval(min(condition.numbers), max(condition.numbers))
            return _met(boxes, column.name, Intervals.all(inside, number), number)
    return boxes, everywhere


def _narrowed_by_not_true(condition: Node, boxes: Boxes, number: int) -> Boxes:
    """Return boxes of the records for which a condition is false or unknown."""
    match condition:
        case Compare():
            found, filled = _narrowed(condition, boxes, number, holds=False)
            unbounded = Intervals.all(UNBOUNDED, number)
            return {name: one.where(filled, boxes.get(name, unbounded)) for name, one in found.items()}
        case Or():
            for part in condition.parts:
                boxes = _narrowed_by_not_true(part, boxes, number)
    return boxes


def _narrowed_by_all(parts: Sequence[Node], boxes: Boxes, number: int, *, holds: bool) -> tuple[Boxes, Marks]:
    filled = np.ones(number, dtype=bool)
    for part in parts:
        boxes, some = _narrowed(part, boxes, number, holds=holds)
        filled = filled & some
    return boxes, filled


def _narrowed_by_some(
    parts: Sequence[Node], boxes: Boxes, number: int, *, holds: bool
) -> tuple[Boxes, Marks]:
    """Return boxes around those of each part that can be so."""
    ways = [_narrowed(part, boxes, number, holds=holds) for part in parts]
    unbounded = Intervals.all(UNBOUNDED, number)
    names = {name for found, _ in ways for name in found}
    joined = {
        name: reduce(_hull, (_only(found.get(name, unbounded), filled) for found, filled in ways))
        for name in names
    }
    return joined, np.logical_or.reduce([filled for _, filled in ways])


def _narrowed_by_comparison(node: Compare, boxes: Boxes, number: int, *, holds: bool) -> tuple[Boxes, Marks]:
    everywhere = np.ones(number, dtype=bool)
    found = column_limit(node)
    if found is None:
        return boxes, everywhere
    name, op, limit = found
    if limit is None:
        return boxes, ~everywhere
    op = op if holds else OPPOSITE[op]
    if op != "<>":
        return _met(boxes, name, Intervals.all(LIMITS[op](limit, UNBOUNDED), number), number)
    known = boxes.get(name) or Intervals.all(UNBOUNDED, number)
    starts, ends = known.low == limit, known.high == limit
    above, below = np.nextafter(limit, np.inf), np.nextafter(limit, -np.inf)
    without = Intervals(np.where(starts, above, known.low), np.where(ends & ~starts, below, known.high))
    return _met(boxes, name, without, number)


def _met(boxes: Boxes, name: str, allowed: Intervals, number: int) -> tuple[Boxes, Marks]:
    known = boxes.get(name) or Intervals.all(UNBOUNDED, number)
    both = Intervals(np.maximum(known.low, allowed.low), np.minimum(known.high, allowed.high))
    return {**boxes, name: both}, both.filled


def _negated(ranges: Intervals) -> Intervals:
    return Intervals(0.0 - ranges.high, 0.0 - ranges.low)


def _only(ranges: Intervals, places: Marks) -> Intervals:
    """Return the intervals of marked boxes; those of others are empty."""
    return Intervals(np.where(places, ranges.low, EMPTY.low), np.where(places, ranges.high, EMPTY.high))


def _where_filled(result: Intervals, operands: Sequence[Intervals]) -> Intervals:
    """Return a result that is empty where an operand is."""
    return _only(result, np.logical_and.reduce([operand.filled for operand in operands]))


def _hull(one: Intervals, other: Intervals) -> Intervals:
    one, other = (_only(ranges, ranges.filled) for ranges in (one, other))
    return Intervals(np.minimum(one.low, other.low), np.maximum(one.high, other.high))


def _at(boxes: Boxes, places: NDArray[np.intp]) -> Boxes:
    return {name: ranges.at(places) for name, ranges in boxes.items()}


def _one_by_one(boxes: Boxes, number: int) -> list[dict[str, Interval]]:
    single = {name: ranges.single() for name, ranges in boxes.items()}
    return [{name: ranges[place] for name, ranges in single.items()} for place in range(number)]
