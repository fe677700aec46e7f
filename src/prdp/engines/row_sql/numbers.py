"""Arithmetic and functions in SQL, guarded so that they mean what ``strict`` says.

Here NaN represents NULL just as NULL does, and ``may_be_nan`` tells where it can occur. A guard is
written only where the ranges of the operands leave room for what it guards against.

A result that may leave the doubles, for infinity or for zero, is cast to DOUBLE. That is nothing to
DuckDB; it marks the place for the dialects of engines that fail there (``dialects``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from prdp.expressions.functions import LARGEST_WITH_FRACTION, is_whole
from prdp.expressions.intervals import EMPTY, Interval, arithmetic, call
from prdp.expressions.tokens import number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prdp.expressions.functions import NumberFunction
    from prdp.expressions.nodes import ArithmeticOp, CompareOp


BEYOND = Fraction(2) ** 1024 - Fraction(2) ** 970
"""From here on a result rounds to infinity."""


def least_double(edge: Fraction) -> float:
    """Return the smallest double that is at least an edge."""
    near = float(edge)
    return near if Fraction(near) >= edge else math.nextafter(near, math.inf)


def greatest_double(edge: Fraction) -> float:
    """Return the largest double that is at most an edge, which is not negative."""
    near = float(edge)
    return near if Fraction(near) <= edge else math.nextafter(near, 0.0)


INFINITY = "CAST('Infinity' AS DOUBLE)"
NAN = "CAST('NaN' AS DOUBLE)"
UNKNOWN = "CAST(NULL AS DOUBLE)"

_LONGEST_GUARD = 4_000
"""Maximum length of a guard that mentions its operands more than once, in characters."""


_LARGE, _SMALL = 1e300, 1e-300
_SMALLEST = 2.0**-1074


@dataclass(frozen=True, slots=True)
class Double:
    """SQL of a double.

    Attributes:
        sql: The SQL; NULL or NaN where the number is unknown.
        values: Encloses every number that it can be.
        may_be_nan: Whether it can be NaN.
        zero_test: SQL that is true where the number is zero, if there is a cheaper one.
        reach: Magnitudes that it is between where it is neither zero nor infinite, beside ``values``.
    """

    sql: str
    values: Interval
    may_be_nan: bool = False
    zero_test: str = ""
    reach: tuple[float, float] | None = None

    @property
    def constant(self) -> float | None:
        """The number, if it is written in the SQL itself."""
        return self.values.point if self.sql == double(self.values.low) else None

    @property
    def most(self) -> float:
        """The greatest magnitude that it can have; the greatest finite one where ``reach`` is known."""
        most = max(abs(self.values.low), abs(self.values.high))
        return min(most, self.reach[1]) if self.reach else most

    @property
    def least(self) -> float:
        """A magnitude below which it is zero, if anything."""
        least = max(1.0 if self.zero_test else 0.0, self.reach[0] if self.reach else 0.0)
        if self.values.contains(0.0):
            return least
        return max(least, min(abs(self.values.low), abs(self.values.high)))

    def is_zero(self, name: str) -> str:
        """Return SQL that is true where the number, computed as ``name``, is zero."""
        return self.zero_test if self.zero_test and name == self.sql else f"{name} = 0e0"


def double(value: float | None) -> str:
    """Return a double as SQL that reads back as just that double."""
    if value is None:
        return UNKNOWN
    if math.isinf(value):
        return INFINITY if value > 0 else f"(-{INFINITY})"
    text = number_text(abs(value))
    text = text if "e" in text else f"{text}e0"
    return text if value >= 0 else f"(-{text})"


def constant(value: float | None) -> Double:
    """Return a constant; ``None`` is NULL."""
    return Double(double(value), EMPTY if value is None else Interval(value, value))


@dataclass(frozen=True, slots=True)
class Guards:
    """Writes operations; ``name`` is a word that no column of the table has."""

    name: str

    def once(self, operands: Sequence[str], write: Callable[..., str]) -> str:
        """Write SQL that mentions its operands several times, long ones being computed once."""
        plain = write(*operands)
        if len(plain) <= _LONGEST_GUARD:
            return plain
        if len(operands) == 1:
            return f"list_transform([{operands[0]}], lambda {self.name}: {write(self.name)})[1]"
        names = [f"{self.name}[{place}]" for place in range(1, len(operands) + 1)]
        listed = ", ".join(operands)
        return f"list_transform([[{listed}]], lambda {self.name}: {write(*names)})[1]"

    def clean(self, x: Double) -> str:
        """Return SQL of a number that is NULL where it is unknown, never NaN."""
        if not x.may_be_nan:
            return x.sql
        return self.once([x.sql], lambda v: f"CASE WHEN isnan({v}) THEN NULL ELSE {v} END")

    def is_null(self, x: Double) -> str:
        """Return whether a number is unknown."""
        return f"isnan(coalesce({x.sql}, {NAN}))" if x.may_be_nan else f"({x.sql} IS NULL)"

    def compare(self, op: CompareOp, left: Double, right: Double) -> str:
        """Return a comparison of numbers, NULL where one of them is unknown."""
        if not (left.may_be_nan or right.may_be_nan):
            return f"({left.sql} {op} {right.sql})"

        def write(a: str, b: str) -> str:
            doubtful = [name for name, x in ((a, left), (b, right)) if x.may_be_nan]
            nan = " OR ".join(f"isnan({name})" for name in doubtful)
            return f"CASE WHEN {nan} THEN NULL ELSE {a} {op} {b} END"

        return f"({self.once([left.sql, right.sql], write)})"

    def among(self, x: Double, items: str) -> str:
        """Return whether a number is one of a list, NULL where it is unknown."""
        if not x.may_be_nan:
            return f"({x.sql} IN ({items}))"
        return self.once([x.sql], lambda v: f"(CASE WHEN isnan({v}) THEN NULL ELSE {v} IN ({items}) END)")

    def negate(self, x: Double) -> Double:
        """Return a number with its sign turned."""
        return Double(f"(-{x.sql})", x.values.negated(), x.may_be_nan, reach=x.reach)

    def arithmetic(self, op: ArithmeticOp, left: Double, right: Double) -> Double:
        """Return a sum, difference, product, quotient or remainder."""
        found = arithmetic(op, left.values, right.values)
        nan = left.may_be_nan or right.may_be_nan or not found.total
        if op == "%":
            return Double(self._remainder(left, right), found.values, nan)
        reach = _reach(op, left, right)
        if op != "/" or not right.values.contains(0.0):
            return Double(_operation(op, left.sql, right.sql, reach), found.values, nan, reach=reach)
        if left.constant:
            endless = double(math.copysign(math.inf, left.constant))
            quotient = self.once(
                [right.sql],
                lambda b: (
                    f"CASE WHEN {right.is_zero(b)} THEN {endless} "
                    f"ELSE {_operation('/', left.sql, b, reach)} END"
                ),
            )
        else:
            quotient = self.once(
                [left.sql, right.sql],
                lambda a, b: (
                    f"CASE WHEN {right.is_zero(b)} THEN {a} * {INFINITY} "
                    f"ELSE {_operation('/', a, b, reach)} END"
                ),
            )
        return Double(f"({quotient})", found.values, nan, reach=reach)

    def _remainder(self, left: Double, right: Double) -> str:
        if not right.values.contains(0.0):
            return f"({left.sql} % {right.sql})"
        return self.once(
            [left.sql, right.sql], lambda a, b: f"(CASE WHEN {right.is_zero(b)} THEN NULL ELSE {a} % {b} END)"
        )

    def call(self, name: NumberFunction, args: Sequence[Double]) -> Double:
        """Return a function of numbers."""
        found = call(name, [arg.values for arg in args])
        nan = any(arg.may_be_nan for arg in args)
        match name:
            case "least" | "greatest":
                return self._extremum(name, args, found.values)
            case "power":
                return Double(self._power(*args), found.values, nan)
            case "sqrt" if not found.total:
                sql = self.once([args[0].sql], lambda x: f"(CASE WHEN {x} >= 0e0 THEN sqrt({x}) END)")
            case "ln" | "log2" | "log10" if args[0].values.low <= 0:
                sql = self.once([args[0].sql], lambda x: _guarded_logarithm(name, x))
            case "round":
                return Double(self._rounded(*args), found.values, nan)
            case "sign":
                sql = self.once([args[0].sql], lambda x: _sign(x, nan=nan))
                return Double(sql, found.values)
            case _:
                sql = f"{name}({args[0].sql})"
        return Double(sql, found.values, nan)

    def _rounded(self, x: Double, digits: Double | None = None) -> str:
        """Return a number rounded to a constant number of digits, halves away from zero."""
        places = int(digits.values.low) if digits is not None else 0
        scale = f"1e{abs(places)}"
        if places < 0:
            return f"CAST(round(CAST({x.sql} / {scale} AS DOUBLE)) * {scale} AS DOUBLE)"
        if places == 0:
            return f"round({x.sql})"
        limit = double(LARGEST_WITH_FRACTION)
        return self.once(
            [x.sql],
            lambda v: f"(CASE WHEN abs({v}) < {limit} THEN round({v} * {scale}) / {scale} ELSE {v} END)",
        )

    def _extremum(self, name: NumberFunction, args: Sequence[Double], values: Interval) -> Double:
        """Return the least or greatest; SQL's own would pass over an unknown argument."""
        known = [arg.constant for arg in args if arg.constant is not None]
        limit = (min(known) if name == "least" else max(known)) if known else None
        others = [arg for arg in args if arg.constant is None]
        if limit is not None and len(others) == 1:
            return Double(self._limited(name, others[0], limit), values, others[0].may_be_nan)
        nan = any(arg.may_be_nan for arg in others)
        if limit is None and len(others) == 2 and not nan:
            op = "<=" if name == "least" else ">="
            sql = self.once(
                [arg.sql for arg in others],
                lambda a, b: f"CASE WHEN {a} {op} {b} THEN {a} WHEN {b} {op} {a} THEN {b} END",
            )
            return Double(f"({sql})", values)
        # NaN is the greatest double to the engine, so greatest() carries it along.
        sign = "-" if name == "least" else ""
        parts = [f"{sign}coalesce({arg.sql}, {NAN})" for arg in others]
        parts += [] if limit is None else [f"{sign}{double(limit)}"]
        return Double(f"({sign}greatest({', '.join(parts)}))", values, may_be_nan=True)

    def _limited(self, name: NumberFunction, x: Double, limit: float) -> str:
        """Return the least or greatest of a number and a constant."""
        beyond = ">" if name == "least" else "<"
        not_nan = x.may_be_nan and name == "least"

        def write(v: str) -> str:
            guard = f" AND NOT isnan({v})" if not_nan else ""
            return f"(CASE WHEN {v} {beyond} {double(limit)}{guard} THEN {double(limit)} ELSE {v} END)"

        return self.once([x.sql], write)

    def _power(self, base: Double, exponent: Double) -> str:
        fixed = exponent.constant
        if fixed is not None and fixed != 0:
            return self._fixed_power(base, fixed)
        one = base.values.contains(1.0) and exponent.may_be_nan
        if base.values.low > 0 and not base.may_be_nan and not one:
            return f"power({base.sql}, {exponent.sql})"
        return self.once([base.sql, exponent.sql], _guarded_power)

    def _fixed_power(self, base: Double, exponent: float) -> str:
        """Return a number to a constant power, with the guards that this power needs."""
        value, at_zero = double(exponent), INFINITY if exponent < 0 else "0e0"
        if base.values.low > 0 or (is_whole(exponent) and exponent > 0):
            return f"power({base.sql}, {value})"
        if is_whole(exponent):
            return self.once(
                [base.sql],
                lambda x: f"(CASE WHEN {base.is_zero(x)} THEN {at_zero} ELSE power({x}, {value}) END)",
            )
        return self.once(
            [base.sql],
            lambda x: (
                f"(CASE WHEN {x} > 0e0 THEN power({x}, {value}) WHEN {base.is_zero(x)} THEN {at_zero} END)"
            ),
        )


def _operation(op: ArithmeticOp, a: str, b: str, reach: tuple[float, float] | None) -> str:
    """Return an operation on numbers, marked if its result may leave the doubles."""
    return f"({a} {op} {b})" if reach else f"CAST({a} {op} {b} AS DOUBLE)"


def _reach(op: ArithmeticOp, left: Double, right: Double) -> tuple[float, float] | None:
    """Return the magnitudes of a result, without zero and infinity; ``None`` if it may leave the doubles."""
    match op:
        case "*":
            least, most = left.least * right.least, _product(left.most, right.most)
        case "/":
            least = 0.0 if math.isinf(right.most) else left.least / (right.most or 1.0)
            most = math.inf if right.least < _SMALL else _product(left.most, 1 / right.least)
        case _:
            # A sum is never too small for a double: it is a multiple of the least one.
            least, most = _SMALLEST, left.most + right.most
    inside = most < _LARGE and (op in "+-" or least > _SMALL)
    return (least, most) if inside else None


def reach_of(found: Sequence[Double]) -> tuple[float, float] | None:
    """Return the magnitudes of a number that is one of several, without zero and infinity."""
    if not any(one.reach for one in found):
        return None
    return min(one.least for one in found), max(one.most for one in found)


def _product(x: float, y: float) -> float:
    return 0.0 if 0.0 in (x, y) else x * y


def _sign(x: str, *, nan: bool) -> str:
    unknown = f"WHEN isnan({x}) THEN NULL " if nan else ""
    return f"(CASE {unknown}WHEN {x} > 0e0 THEN 1e0 WHEN {x} < 0e0 THEN (-1e0) WHEN {x} = 0e0 THEN 0e0 END)"


def _guarded_logarithm(name: str, x: str) -> str:
    return f"(CASE WHEN {x} > 0e0 THEN {name}({x}) WHEN {x} = 0e0 THEN (-{INFINITY}) END)"


def _guarded_power(x: str, y: str) -> str:
    """Return a number to any power; C's pow(1, NaN) and pow(NaN, 0) would be 1."""
    at_zero = f"CASE WHEN {y} > 0e0 THEN 0e0 WHEN {y} = 0e0 THEN 1e0 ELSE {INFINITY} END"
    return (
        f"(CASE WHEN {y} IS NULL OR isnan({x}) OR isnan({y}) THEN NULL "
        f"WHEN {x} > 0e0 THEN power({x}, {y}) "
        f"WHEN {x} = 0e0 THEN {at_zero} "
        f"WHEN {x} < 0e0 AND {y} = floor({y}) AND abs({y}) < {INFINITY} THEN power({x}, {y}) END)"
    )
