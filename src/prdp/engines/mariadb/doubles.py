"""Arithmetic of doubles in MariaDB, which has neither infinities nor NaN, and fails beyond its largest.

The greatest double represents infinity, as MariaDB itself has it where it stores what is beyond: so none is
finite. NULL represents NaN. Every operation whose result may leave the doubles is guarded: it is decided
beforehand, by scaling with powers of two, which is exact. CASE decides what is computed.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from sqlglot import exp

from prdp.engines.row_sql.numbers import BEYOND, greatest_double, least_double
from prdp.engines.statements.translate import Rule, form

NAME = "mysql"
"""sqlglot's name of the dialect nearest to MariaDB's."""

GREATEST = sys.float_info.max
"""Represents infinity; its opposite represents minus infinity."""

_LARGEST = math.nextafter(GREATEST, 0.0)
"""The largest that is finite here."""


def double(value: float) -> str:
    """Return a double as MariaDB reads one: with an exponent, for without it would be a DECIMAL.

    >>> double(0.125), double(1e300), double(float("-inf"))
    ('0.125e0', '1e+300', '-1.7976931348623157e+308')
    """
    text = repr(max(min(value, GREATEST), -GREATEST))
    return text if "e" in text else f"{text}e0"


def number(value: float) -> exp.Expression:
    """Return a double; infinity becomes the double that represents it."""
    plain = exp.Literal.number(double(abs(value)))
    return exp.Paren(this=exp.Neg(this=plain)) if value < 0 else plain


def rule_from(template: str) -> Rule:
    """Return the rule that says a function of one operand, ``a``, by a template."""
    written = doubles(template)
    return lambda node: exp.Paren(this=form(written, NAME, a=operand(node)))


def operand(node: exp.Expression, place: int = 0) -> exp.Expression:
    """Return an operand of a function, whether sqlglot knows the function or not."""
    if isinstance(node, exp.Anonymous):
        found: exp.Expression = node.expressions[place]
        return found
    of: exp.Expression = node.expression if place else node.this
    return of


def doubles(text: str) -> str:
    """Return a template in which ``2^k`` is a power of two, and ``inf`` is infinity, as doubles.

    >>> doubles("a * 2^-3 < inf")
    'a * 0.125e0 < 1.7976931348623157e+308'
    """
    words = {word: word.strip("(),") for word in text.split(" ")}
    operands = {
        word: word.replace(bare, double(GREATEST if bare == "inf" else 2.0 ** int(bare[2:])))
        for word, bare in words.items()
        if bare == "inf" or bare.startswith("2^")
    }
    return " ".join(operands.get(word, word) for word in text.split(" "))


def literal(node: exp.Expression) -> exp.Expression:
    """Write a number: with a point or an exponent it is a double, not a DECIMAL, and always finite."""
    if node.name.isdigit():
        return node
    return exp.Literal.number(double(min(float(node.name), _LARGEST)))


def constant(node: exp.Expression) -> float | None:
    """Return the double that an expression is, if it is one."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        found = constant(node.this)
        return None if found is None else -found
    is_number = isinstance(node, exp.Literal) and not node.is_string and node.name[0].isdigit()
    return float(node.name) if is_number else None


def _may_be_infinite(node: exp.Expression) -> bool:
    """Return whether the double that represents infinity occurs in an operand."""
    return any(double(GREATEST) in str(one.this) for one in node.find_all(exp.Literal))


def operation(node: exp.Expression) -> exp.Expression:
    """Write a sum or difference, guarded if an operand may be infinite."""
    return exp.Paren(this=guarded(node)) if _may_be_infinite(node) else node


def product(node: exp.Expression) -> exp.Expression:
    """Write a product; one with infinity is an infinity, or unknown for zero."""
    sides = (node.this, node.expression)
    for side, other in (sides, sides[::-1]):
        if constant(other) == GREATEST:
            return exp.Paren(
                this=form(doubles("CASE WHEN a > 0 THEN inf WHEN a < 0 THEN - inf END"), NAME, a=side)
            )
    return operation(node)


def quotient(node: exp.Expression) -> exp.Expression:
    """Write a quotient of doubles: sqlglot would add casts, and MariaDB makes DECIMALs of integers."""
    if _may_be_infinite(node):
        return operation(node)
    sides = [
        exp.Literal.number(f"{side.name}e0")
        if isinstance(side, exp.Literal) and not side.is_string and side.name.isdigit()
        else side.copy()
        for side in (node.this, node.expression)
    ]
    return exp.Div(this=sides[0], expression=sides[1], typed=False, safe=True)


def guarded(operation: exp.Expression) -> exp.Expression:  # noqa: PLR0911  (one return a form)
    """Write an operation on doubles that may overflow, or whose operands may be infinite."""
    left, right = operation.this, operation.expression
    first, second = constant(left), constant(right)
    match operation:
        case exp.Mul() if second and math.isfinite(second):
            return _scaled("a * c", left, second, BEYOND / abs(Fraction(second)))
        case exp.Mul() if first and math.isfinite(first):
            return _scaled("a * c", right, first, BEYOND / abs(Fraction(first)))
        case exp.Mul():
            return form(_PRODUCT, NAME, a=left, b=right)
        case exp.Div() if second:
            return _scaled("a / c", left, second, BEYOND * abs(Fraction(second)))
        case exp.Div() if first:
            return _over(first, right)
        case exp.Div():
            return form(_QUOTIENT, NAME, a=left, b=right)
        case _:
            template = _SUM if isinstance(operation, exp.Add) else _DIFFERENCE
            return form(template, NAME, a=left, b=right)


_UNKNOWN = "CASE WHEN a IS NULL OR b IS NULL THEN NULL "
_SIGNED = "CASE WHEN (a < 0) = (b < 0) THEN inf ELSE - inf END "
_PRODUCT = doubles(
    f"{_UNKNOWN}WHEN ABS(a) >= inf OR ABS(b) >= inf "
    f"THEN CASE WHEN a = 0 OR b = 0 THEN NULL ELSE {_SIGNED}END "
    f"WHEN ABS(a) > 1 AND ABS(b) > 1 AND ABS((a * 2^-512 ) * (b * 2^-512 )) >= 1 THEN {_SIGNED}ELSE a * b END"
)
_QUOTIENT = doubles(
    f"{_UNKNOWN}WHEN ABS(a) >= inf THEN CASE WHEN ABS(b) >= inf THEN NULL ELSE {_SIGNED}END "
    "WHEN ABS(b) >= inf THEN 0e0 "
    f"WHEN ABS(b) < 1 AND ABS(a) >= (ABS(b) * 2^512 ) * 2^512 THEN {_SIGNED}ELSE a / b END"
)
_SUM = doubles(
    f"{_UNKNOWN}WHEN ABS(a) >= inf THEN CASE WHEN ABS(b) >= inf AND a <> b THEN NULL ELSE a END "
    "WHEN ABS(b) >= inf THEN b WHEN a * 2^-2 + b * 2^-2 >= 2^1022 THEN inf "
    "WHEN a * 2^-2 + b * 2^-2 <= - 2^1022 THEN - inf ELSE a + b END"
)
_DIFFERENCE = doubles(
    f"{_UNKNOWN}WHEN ABS(a) >= inf THEN CASE WHEN ABS(b) >= inf AND a = b THEN NULL ELSE a END "
    "WHEN ABS(b) >= inf THEN - b WHEN a * 2^-2 - b * 2^-2 >= 2^1022 THEN inf "
    "WHEN a * 2^-2 - b * 2^-2 <= - 2^1022 THEN - inf ELSE a - b END"
)


def _scaled(template: str, of: exp.Expression, by: float, limit: Fraction) -> exp.Expression:
    """Return a product or quotient with a constant: from which size of the other it is infinite is known."""
    signs = "inf ELSE - inf" if by > 0 else "- inf ELSE inf"
    written = doubles(f"CASE WHEN ABS(a) >= f THEN CASE WHEN a > 0 THEN {signs} END ELSE {template} END")
    first = number(least_double(limit) if limit < BEYOND else GREATEST)
    return form(written, NAME, a=of, f=first, c=number(by))


def _over(numerator: float, right: exp.Expression) -> exp.Expression:
    """Return a constant over a number that is not zero."""
    last = greatest_double(abs(Fraction(numerator)) / BEYOND)
    signs = "inf ELSE - inf" if numerator > 0 else "- inf ELSE inf"
    large = f"WHEN ABS(b) <= f THEN CASE WHEN b > 0 THEN {signs} END " if last > 0 else ""
    written = doubles(f"CASE {large}WHEN ABS(b) >= inf THEN 0e0 ELSE c / b END")
    return form(written, NAME, b=right, f=number(last), c=number(numerator))


_EXPONENT = "LEAST(GREATEST(b, - 2^66 ), 2^66 ) * LN(ABS(a))"
_POWER = doubles(
    f"{_UNKNOWN}WHEN b = 0 OR a = 1 THEN 1e0 WHEN b = 1 THEN a "
    "WHEN ABS(b) >= inf THEN CASE WHEN ABS(a) = 1 THEN 1e0 WHEN (ABS(a) > 1) = (b > 0) THEN inf ELSE 0e0 END "
    "WHEN a = 0 THEN CASE WHEN b > 0 THEN 0e0 ELSE inf END "
    "WHEN ABS(a) >= inf THEN CASE WHEN b < 0 THEN 0e0 WHEN a < 0 AND FLOOR(b / 2) * 2 <> b THEN - inf "
    "ELSE inf END "
    f"WHEN ABS(b) >= 2^-66 AND {_EXPONENT} > 709.78e0 "
    "THEN CASE WHEN a < 0 AND FLOOR(b / 2) * 2 <> b THEN - inf ELSE inf END "
    f"WHEN ABS(b) >= 2^-66 AND {_EXPONENT} < -745.13e0 THEN 0e0 ELSE POW(a, b) END"
)
_EXP = doubles(
    "CASE WHEN a >= 709.782712893384e0 THEN inf WHEN a < -745.1332191019412e0 THEN 0e0 ELSE EXP(a) END"
)
_LOG2 = (
    "CASE WHEN a >= inf THEN inf WHEN POW(2e0, LEAST(GREATEST(ROUND(LOG2(a)), -1000), 1023)) = a "
    "THEN ROUND(LOG2(a)) ELSE LOG2(a) END"
)
_TRUNCATED = "TRUNCATE(a, 0)"
_ROUNDED = f"({_TRUNCATED} + CASE WHEN ABS(a - {_TRUNCATED}) >= 2^-1 THEN SIGN(a) ELSE 0 END)"
_EVEN = (
    f"({_TRUNCATED} + CASE WHEN ABS(a - {_TRUNCATED}) > 2^-1 OR (ABS(a - {_TRUNCATED}) = 2^-1 "
    f"AND MOD({_TRUNCATED}, 2) <> 0) THEN SIGN(a) ELSE 0 END)"
)


def power(node: exp.Expression) -> exp.Expression:
    """Write a power, by the logarithm of its size where that is beyond the doubles."""
    return exp.Paren(this=form(_POWER, NAME, a=node.this, b=node.expression))


def logarithm(node: exp.Expression) -> exp.Expression:
    """Write log2() and log10(); of a power of two, log2 is exact."""
    value = node.expression
    if node.this.name == "10":
        return form(doubles("CASE WHEN a >= inf THEN inf ELSE LOG10(a) END"), NAME, a=value)
    if isinstance(node.parent, exp.Mul):  # steps of levels and magnitudes: a slack makes room
        return exp.Anonymous(this="LOG2", expressions=[value.copy()])
    return exp.Paren(this=form(doubles(_LOG2), NAME, a=value))


DOUBLES: dict[str, Rule] = {
    "Literal": literal,
    "Mul": product,
    "Div": quotient,
    "Sub": operation,
    "Pow": power,
    "Log": logarithm,
    "Exp": rule_from(_EXP),
    "Ln": rule_from("CASE WHEN a >= inf THEN inf ELSE LN(a) END"),
    "Sqrt": rule_from("CASE WHEN a >= inf THEN inf ELSE SQRT(a) END"),
    "Round": rule_from(_ROUNDED),
    "round_even": rule_from(_EVEN),
    "Mod": lambda node: exp.Paren(
        this=form(doubles("CASE WHEN ABS(a) < inf THEN MOD(a, b) END"), NAME, a=node.this, b=node.expression)
    ),
    "IsNan": rule_from("a IS NULL"),
    "isfinite": rule_from("a IS NOT NULL"),
}
"""Translation rules of numbers."""
