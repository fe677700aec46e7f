"""Intervals of doubles, and what each operation can give on them.

IEEE sums, products, quotients and square roots are correctly rounded and monotone, so the ends of
the result are the operation at the ends, in the same doubles, with nothing added. The functions
that libraries round differently are widened by a few doubles on either side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from prdp.expressions.strict import (
    ARITHMETIC_MEANING,
    FUNCTION_MEANING,
    is_whole,
    power,
    square_root,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prdp.expressions.nodes import ArithmeticOp, FunctionName

_DOUBLES_TO_SPARE = 4
"""How far the result of a library's logarithm, exponential or power may be off, in doubles."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All doubles from ``low`` to ``high``, both included; empty when ``low`` is the greater.

    >>> Interval(0.0, 1.0).contains(0.5), Interval(1.0, 0.0).empty
    (True, True)
    """

    low: float
    high: float

    @property
    def empty(self) -> bool:
        """Whether it holds no number at all."""
        return not self.low <= self.high

    @property
    def infinite(self) -> bool:
        """Whether it reaches an infinity."""
        return math.inf in (abs(self.low), abs(self.high))

    @property
    def point(self) -> float | None:
        """The only number in it, if there is just one."""
        return self.low if self.low == self.high else None

    def contains(self, value: float) -> bool:
        """Return whether a number is in it."""
        return self.low <= value <= self.high

    def meet(self, other: Interval) -> Interval:
        """Return what lies in both."""
        both = Interval(max(self.low, other.low), min(self.high, other.high))
        return EMPTY if both.empty else both

    def negated(self) -> Interval:
        """Return the interval with its sign turned."""
        return Interval(0.0 - self.high, 0.0 - self.low)


EMPTY = Interval(math.inf, -math.inf)
UNBOUNDED = Interval(-math.inf, math.inf)
_POSITIVE = Interval(math.nextafter(0.0, 1.0), math.inf)
_NEGATIVE = _POSITIVE.negated()
_NOT_NEGATIVE = Interval(0.0, math.inf)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The possible results of an operation whose operands have values.

    Attributes:
        values: Encloses every number that it can give.
        total: Whether it always gives a number.
    """

    values: Interval
    total: bool


def hull(intervals: Iterable[Interval]) -> Interval:
    """Return the smallest interval around all of them."""
    filled = [interval for interval in intervals if not interval.empty]
    if not filled:
        return EMPTY
    return Interval(min(i.low for i in filled), max(i.high for i in filled))


def arithmetic(op: ArithmeticOp, left: Interval, right: Interval) -> Outcome:
    """Return what a sum, difference, product or quotient can be."""
    if left.empty or right.empty:
        return Outcome(EMPTY, total=True)
    zeros, infinities = (left.contains(0.0), right.contains(0.0)), (left.infinite, right.infinite)
    match op:
        case "+":
            return _sum(left, right)
        case "-":
            return _sum(left, right.negated())
        case "*":
            total = not (zeros[0] and infinities[1]) and not (zeros[1] and infinities[0])
            return Outcome(_around_corners("*", left, right), total=total)
        case "/":
            return Outcome(_quotient(left, right), total=not all(zeros) and not all(infinities))


def _sum(left: Interval, right: Interval) -> Outcome:
    """Add end to end; where infinities cancel at an end, anything may be left beside them."""
    low, high = left.low + right.low, left.high + right.high
    cancel = (left.low == -math.inf and right.high == math.inf) or (
        left.high == math.inf and right.low == -math.inf
    )
    ends = (-math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high)
    return Outcome(Interval(*ends), total=not cancel)


def _around_corners(op: ArithmeticOp, left: Interval, right: Interval) -> Interval:
    """Apply an operation that is monotone in each operand to all pairs of ends."""
    meaning = ARITHMETIC_MEANING[op]
    values = [meaning(a, b) for a, b in product((left.low, left.high), (right.low, right.high))]
    # Unknown is 0 · inf or inf / inf: beside that corner the finite operands give 0.
    known = [0.0 if value is None else value for value in values]
    return Interval(min(known), max(known))


def _quotient(left: Interval, right: Interval) -> Interval:
    parts = [
        _around_corners("/", left, side)
        for side in (right.meet(_NEGATIVE), right.meet(_POSITIVE))
        if not side.empty
    ]
    if right.contains(0.0):
        # A zero divisor has no sign: what counts is the sign of what is divided.
        parts += [Interval(math.inf, math.inf)] * (left.high > 0)
        parts += [Interval(-math.inf, -math.inf)] * (left.low < 0)
    return hull(parts)


def call(name: FunctionName, args: Sequence[Interval]) -> Outcome:  # noqa: PLR0911  (one return a function)
    """Return what a function can give; a function without a case is a type error."""
    if any(arg.empty for arg in args):
        return Outcome(EMPTY, total=True)
    first = args[0]
    match name:
        case "least":
            return Outcome(Interval(min(a.low for a in args), min(a.high for a in args)), total=True)
        case "greatest":
            return Outcome(Interval(max(a.low for a in args), max(a.high for a in args)), total=True)
        case "abs":
            least = 0.0 if first.contains(0.0) else min(abs(first.low), abs(first.high))
            return Outcome(Interval(least, max(abs(first.low), abs(first.high))), total=True)
        case "sqrt":
            return _on_not_negative(first, square_root, spare=0)
        case "exp":
            values = _widened(_ends(FUNCTION_MEANING["exp"], first)).meet(_NOT_NEGATIVE)
            return Outcome(values, total=True)
        case "power":
            return _power(first, args[1])
        case "ln" | "log2" | "log10":
            return _on_not_negative(first, FUNCTION_MEANING[name], spare=_DOUBLES_TO_SPARE)


def _on_not_negative(arg: Interval, function: Callable[[float], float | None], *, spare: int) -> Outcome:
    """Return what a growing function gives that is unknown below zero."""
    values = _widened(_ends(function, arg.meet(_NOT_NEGATIVE)), spare)
    return Outcome(values, total=arg.low >= 0)


def _ends(function: Callable[[float], float | None], arg: Interval) -> Interval:
    """Apply a growing function to the ends."""
    if arg.empty:
        return EMPTY
    low, high = function(arg.low), function(arg.high)
    return EMPTY if low is None or high is None else Interval(low, high)


def _widened(interval: Interval, spare: int = _DOUBLES_TO_SPARE) -> Interval:
    if interval.empty:
        return EMPTY
    low, high = interval.low, interval.high
    for _ in range(spare):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return Interval(low, high)


def _power(base: Interval, exponent: Interval) -> Outcome:
    upper = _power_of_size(base.meet(_NOT_NEGATIVE), exponent)
    below_zero = base.meet(_NEGATIVE)
    if below_zero.empty:
        return Outcome(upper, total=True)
    size = _power_of_size(below_zero.negated(), exponent)
    if exponent.point is not None and is_whole(exponent.point):
        lower = size.negated() if exponent.point % 2 else size
        return Outcome(hull((upper, lower)), total=True)
    if exponent.infinite or math.floor(exponent.high) >= exponent.low:
        upper = hull((upper, size, size.negated()))
    return Outcome(upper, total=False)


def _power_of_size(base: Interval, exponent: Interval) -> Interval:
    """Return what a base that is not negative gives: monotone in each, so corners are enough."""
    if base.empty:
        return EMPTY
    ends = product((base.low, base.high), (exponent.low, exponent.high))
    values = [value for value in (power(b, e) for b, e in ends) if value is not None]
    return _widened(Interval(min(values), max(values))).meet(_NOT_NEGATIVE)
