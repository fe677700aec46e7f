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

from prdp.expressions.datetimes import DAY, MAX_DAYS, MICROSECONDS
from prdp.expressions.evaluate import LIMITS, whole
from prdp.expressions.functions import (
    ARITHMETIC_MEANING,
    FUNCTION_MEANING,
    RISING,
    CastTarget,
    MomentPart,
    is_whole,
    power,
    rounded,
    square_root,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prdp.expressions.functions import FunctionName, NumberFunction
    from prdp.expressions.nodes import ArithmeticOp, CompareOp

_DOUBLES_TO_SPARE = 4
"""Maximum error of a library's logarithm, exponential or power, in doubles."""


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
        """True if it holds no number at all."""
        return not self.low <= self.high

    @property
    def infinite(self) -> bool:
        """True if it reaches an infinity."""
        return math.inf in (abs(self.low), abs(self.high))

    @property
    def point(self) -> float | None:
        """The only number in it, if there is just one."""
        return self.low if self.low == self.high else None

    def contains(self, value: float) -> bool:
        """Return whether a number is in it."""
        return self.low <= value <= self.high

    def meet(self, other: Interval) -> Interval:
        """Return the intersection."""
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
    """Return the range of a sum, difference, product, quotient or remainder."""
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
        case "%":
            return Outcome(_remainder(left, right), total=not zeros[1] and not infinities[0])


def _remainder(left: Interval, right: Interval) -> Interval:
    """Return the range of a remainder: the dividend's sign, no larger than the dividend or the divisor."""
    divisor = max(abs(right.low), abs(right.high))
    return Interval(-min(divisor, max(0.0, -left.low)), min(divisor, max(0.0, left.high)))


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


def call(name: NumberFunction, args: Sequence[Interval]) -> Outcome:  # noqa: PLR0911  (one a function)
    """Return the range of a function of numbers; one that is not in ``RISING`` has a case of its own."""
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
        case "round":
            digits = [arg.low for arg in args[1:]]  # a constant
            return Outcome(_ends(lambda x: rounded(x, *digits), first), total=True)
        case "ln" | "log2" | "log10":
            return _on_not_negative(first, FUNCTION_MEANING[name], spare=_DOUBLES_TO_SPARE)
        case _:
            return Outcome(_ends(RISING[name], first), total=True)


_PART_LIMITS: dict[MomentPart, tuple[float, float]] = {
    "year": (1.0, 9999.0), "quarter": (1.0, 4.0), "month": (1.0, 12.0), "week": (1.0, 53.0),
    "day": (1.0, 31.0), "dayofweek": (0.0, 6.0), "isodow": (1.0, 7.0), "dayofyear": (1.0, 366.0),
    "hour": (0.0, 23.0), "minute": (0.0, 59.0), "second": (0.0, 59.0),
}  # fmt: skip
_LONGEST = {"year": 9998.0, "quarter": 39_995.0, "month": 119_987.0, "day": MAX_DAYS}
_MAX_CHARACTERS = 2.0**32
"""No engine holds a text of more bytes."""

OF_TEXTS_AND_MOMENTS: dict[FunctionName, Interval] = {
    **{name: Interval(*limits) for name, limits in _PART_LIMITS.items()},
    "length": Interval(0.0, _MAX_CHARACTERS),
}
"""Ranges of numeric functions of texts and moments, whatever their arguments."""


def counted(unit: str) -> Interval:
    """Return the range of the number of times a unit begins between two moments.

    >>> counted("year").high, counted("day").high
    (9998.0, 3652058.0)
    """
    most = _LONGEST.get(unit) or (MAX_DAYS + 1) * (DAY // MICROSECONDS.get(unit, 1))
    return Interval(-most, most)


def to_whole(target: CastTarget, values: Interval) -> Outcome:
    """Return the range of the nearest whole numbers of a type; outside the type there are none."""
    if values.empty:
        return Outcome(EMPTY, total=True)
    least, beyond = LIMITS[target]
    inside = values.meet(Interval(least - 1, beyond))
    if inside.empty:
        return Outcome(EMPTY, total=False)
    ends = Interval(float(round(inside.low)), float(round(inside.high)))
    allowed = Interval(least, math.nextafter(beyond, 0.0))
    total = all(whole(end, least, beyond) is not None for end in (values.low, values.high))
    return Outcome(ends.meet(allowed), total)


def _on_not_negative(arg: Interval, function: Callable[[float], float | None], *, spare: int) -> Outcome:
    """Return the range of an increasing function that is unknown below zero."""
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
    """Return the range for a base that is not negative: monotone in each, so corners are enough."""
    if base.empty:
        return EMPTY
    ends = product((base.low, base.high), (exponent.low, exponent.high))
    values = [value for value in (power(b, e) for b, e in ends) if value is not None]
    return _widened(Interval(min(values), max(values))).meet(_NOT_NEGATIVE)


def can_hold(op: CompareOp, left: Interval, right: Interval) -> bool:
    """Return whether a comparison holds for some pair of numbers of two intervals."""
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
            return not left.meet(right).empty
        case "<>":
            return left.point is None or left.point != right.point
