"""Arithmetic of doubles in PostgreSQL, which fails where a result leaves them: guarded, so that none does.

What is too large is an infinity and what is too small is zero, as IEEE 754 rounds. Scaling by a power of two
is exact, so a guard can compare before the operation is tried. NaN is PostgreSQL's greatest double, which is
why guards say BETWEEN ... AND 'Infinity'. CASE decides what is computed; AND would not promise it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import islice

from sqlglot import exp

from prdp.engines.row_sql.numbers import BEYOND, greatest_double, least_double
from prdp.engines.statements.translate import form
from prdp.levels import SLACK

NAME = "postgres"
_FEW = 8
"""Largest number of nodes of an operand that a guard mentions more than once."""

_NOTHING = Fraction(1, 2**1075)
"""Exponent up to which a result rounds to zero."""


def doubles(text: str) -> str:
    """Return a template in which ``2^k`` is a power of two, and ``inf`` is infinity, as doubles.

    >>> doubles("a * 2^-3 < inf")
    "a * CAST('0.125' AS DOUBLE PRECISION) < CAST('Infinity' AS DOUBLE PRECISION)"
    """
    words = []
    for word in text.split(" "):
        bare = word.strip("(),")
        if bare == "inf":
            value = "Infinity"
        elif bare.startswith("2^"):
            value = repr(2.0 ** int(bare[2:]))
        else:
            words.append(word)
            continue
        words.append(word.replace(bare, f"CAST('{value}' AS DOUBLE PRECISION)"))
    return " ".join(words)


def once(template: str, **parts: exp.Expression) -> exp.Expression:
    """Return a template of PostgreSQL's with parts in it; long ones are computed once, in a subquery."""
    if all(map(is_short, parts.values())):
        return form(template, NAME, **parts)
    return bound(form(template, NAME, **{name: exp.column(f"prdp_{name}") for name in parts}), parts)


def is_short(node: exp.Expression) -> bool:
    """Return whether an expression may be computed again wherever it is mentioned."""
    return len(list(islice(node.walk(), _FEW + 1))) <= _FEW


def bound(body: exp.Expression, parts: Mapping[str, exp.Expression]) -> exp.Expression:
    """Return an expression in which ``prdp_a`` names part ``a``.

    The OFFSET keeps it from being copied; as a text it is a constant of its type at once, so that PostgreSQL
    still shares the work among processes.
    """
    named = ", ".join(f"{name} AS prdp_{name}" for name in parts)
    return form(f"(SELECT body FROM (SELECT {named} OFFSET '0') AS once)", NAME, body=body, **parts)


def number(value: float) -> exp.Expression:
    """Return a double."""
    return _double(repr(value))


def literal(node: exp.Expression) -> exp.Expression:
    """Write a literal: with a point or an exponent it is a double, not a NUMERIC."""
    if node.is_string or node.name.isdigit():
        return node
    return _double(node.name)


def _double(text: str) -> exp.Expression:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=exp.DType.DOUBLE))


def constant(node: exp.Expression) -> float | None:
    """Return the finite double that an expression is, if it is one."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        found = constant(node.this)
        return None if found is None else -found
    if isinstance(node, exp.Cast) and node.this.is_string and node.to.this == exp.DType.DOUBLE:
        value = float(node.this.name)
        return value if math.isfinite(value) else None
    return float(node.name) if isinstance(node, exp.Literal) and not node.is_string else None


def guarded(operation: exp.Expression) -> exp.Expression:
    """Write an operation on doubles whose result may overflow."""
    left, right = operation.this, operation.expression
    match operation:
        case exp.Mul():
            of, other = (left, constant(right)) if constant(left) is None else (right, constant(left))
            return _product(left, right) if other is None else _times(of, other)
        case exp.Div():
            numerator, denominator = constant(left), constant(right)
            if denominator:
                return _limited(left, denominator, "a / c", lambda edge, c: edge * c, Fraction(denominator))
            if numerator:
                return _over(numerator, right)
            return once(_QUOTIENT, a=left, b=right)
        case _:
            op = "+" if isinstance(operation, exp.Add) else "-"
            return once(_SUM.replace("±", op), a=left, b=right)


def _product(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    if left != right:
        return once(_PRODUCT, a=left, b=right)
    if is_short(left):
        return form(_PRODUCT, NAME, a=left, b=left)
    name = exp.column("prdp_a")  # a square of a square is not computed four times
    return bound(form(_PRODUCT, NAME, a=name, b=name), {"a": left})


_PRODUCT = doubles(
    "CASE WHEN abs(a) > 1 THEN CASE WHEN abs(b) > 1 THEN CASE WHEN abs((a * 2^-512 ) * (b * 2^-512 )) "
    "BETWEEN 1 AND inf THEN CASE WHEN (a < 0) = (b < 0) THEN inf ELSE - inf END "
    "ELSE a * b END ELSE a * b END WHEN abs(b) < 1 THEN CASE WHEN abs(a) < 2^-537 OR abs(b) < 2^-537 THEN "
    "CASE WHEN abs((a * 2^600 ) * (b * 2^600 )) <= 2^125 THEN 0 ELSE a * b END ELSE a * b END ELSE a * b END"
)
_QUOTIENT = doubles(
    "CASE WHEN abs(b) < 1 THEN CASE WHEN abs(a) BETWEEN (abs(b) * 2^512 ) * 2^512 AND inf "
    "THEN CASE WHEN (a < 0) = (b < 0) THEN inf ELSE - inf END ELSE a / b END "
    "WHEN abs(a) < 2^-51 THEN CASE WHEN abs(b) BETWEEN (abs(a) * 2^512 ) * 2^563 AND inf "
    "THEN 0 ELSE a / b END ELSE a / b END"
)
_SUM = doubles(
    "CASE WHEN abs(a) > 1 THEN CASE WHEN abs(b) > 1 THEN CASE "
    "WHEN a * 2^-2 ± b * 2^-2 BETWEEN 2^1022 AND inf THEN inf "
    "WHEN a * 2^-2 ± b * 2^-2 <= - 2^1022 THEN - inf "
    "ELSE a ± b END ELSE a ± b END ELSE a ± b END"
)


def _times(of: exp.Expression, factor: float) -> exp.Expression:
    if factor == 0:
        return form("a * c", NAME, a=of, c=number(factor))
    return _limited(of, factor, "a * c", lambda edge, c: edge / c, Fraction(factor))


def _limited(
    of: exp.Expression,
    by: float,
    template: str,
    argument: Callable[[Fraction, Fraction], Fraction],
    exact: Fraction,
) -> exp.Expression:
    """Return a product or quotient with a constant: how far the other may go is known beforehand.

    Args:
        of: The other operand.
        by: The constant, not zero.
        template: The operation, on ``a`` and the constant ``c``.
        argument: What the other operand's magnitude is where the result's is at an edge.
        exact: The constant again, exactly.
    """
    large, small = (argument(edge, abs(exact)) for edge in (BEYOND, _NOTHING))
    cases = ""
    if large < BEYOND:
        first = least_double(large)
        signed = "inf ELSE - inf" if by > 0 else "- inf ELSE inf"
        cases += f"WHEN abs(a) BETWEEN f AND inf THEN CASE WHEN a > 0 THEN {signed} END "
        first_node = number(first)
    else:
        first_node = number(0.0)
    last = greatest_double(small)
    if last > 0:
        cases += "WHEN abs(a) <= l THEN 0 "
    if not cases:
        return form(template, NAME, a=of, c=number(by))
    edges = {"f": first_node, "l": number(last), "c": number(by)}
    return _filled(doubles(f"CASE {cases}ELSE {template} END"), edges, a=of)


def _over(numerator: float, right: exp.Expression) -> exp.Expression:
    """Return a constant over a number that is not zero."""
    size = abs(Fraction(numerator))
    last, first = greatest_double(size / BEYOND), size / _NOTHING
    cases = ""
    if last > 0:
        signed = "inf ELSE - inf" if numerator > 0 else "- inf ELSE inf"
        cases += f"WHEN abs(b) <= l THEN CASE WHEN b > 0 THEN {signed} END "
    if first < BEYOND:
        cases += "WHEN abs(b) BETWEEN f AND inf THEN 0 "
    edges = {"l": number(last), "c": number(numerator)}
    edges["f"] = number(least_double(first) if first < BEYOND else 0.0)
    template = doubles(f"CASE {cases}ELSE c / b END") if cases else "c / b"
    return _filled(template, edges, b=right)


def _filled(template: str, edges: Mapping[str, exp.Expression], **parts: exp.Expression) -> exp.Expression:
    """Return a template with constants and operands in it."""
    if all(map(is_short, parts.values())):
        return form(template, NAME, **edges, **parts)
    names = {name: exp.column(f"prdp_{name}") for name in parts}
    return bound(form(template, NAME, **edges, **names), parts)


def exponential(node: exp.Expression) -> exp.Expression:
    """Translate the exponential; just below the last doubles it is a constant, since libraries differ."""
    return once(_EXP, a=node.this)


def power(node: exp.Expression) -> exp.Expression:
    """Write a power, by the logarithm of its size where that is beyond the doubles."""
    return once(_POWER, a=node.this, b=node.expression)


_EXP = doubles(
    "CASE WHEN a BETWEEN CAST('709.782712893384' AS DOUBLE PRECISION) AND inf THEN inf "
    "WHEN a < CAST('-745.1332191019412' AS DOUBLE PRECISION) THEN 0 "
    "WHEN a < -745 THEN 2^-1074 ELSE exp(a) END"
)
_EXPONENT = doubles("least(greatest(b, - 2^66 ), 2^66 ) * ln(abs(a))")
_POWER = doubles(
    "CASE WHEN a IS NULL OR b IS NULL THEN NULL "  # which least() and greatest() pass over
    "WHEN b = 1 THEN a "
    "WHEN a = 0 OR abs(a) >= inf OR abs(b) >= inf OR abs(b) < 2^-66 THEN power(a, b) "
    f"WHEN {_EXPONENT} > CAST('709.78' AS DOUBLE PRECISION) "
    "THEN CASE WHEN a < 0 AND floor(b / 2) * 2 <> b THEN - inf ELSE inf END "
    f"WHEN {_EXPONENT} < CAST('-745.13' AS DOUBLE PRECISION) THEN 0 ELSE power(a, b) END"
)


def logarithm(node: exp.Expression) -> exp.Expression:
    """Write log2() and log10(); of a power of two, log2 is exact.

    Where steps of levels and magnitudes are counted, a slack makes room for an inexact one.
    """
    base, value = node.this.name, node.expression
    if base == "10":
        return exp.Anonymous(this="log", expressions=[value.copy()])
    times = node.parent
    if (
        isinstance(times, exp.Mul)
        and isinstance(times.parent, exp.Sub)
        and constant(times.parent.expression) == SLACK
    ):
        return form("ln(CAST(a AS DOUBLE PRECISION)) / c", NAME, a=value, c=number(math.log(2)))
    return _filled(_LOG2, {"c": number(math.log(2))}, a=value)


_LOG2 = doubles(
    "CASE WHEN a >= inf THEN a WHEN power( 2^1 , least(round(ln(a) / c), 1023)) = a "
    "THEN round(ln(a) / c) ELSE ln(a) / c END"
)


def half_away(node: exp.Expression) -> exp.Expression:
    """Write round(), halves away from zero; PostgreSQL's own takes the even one."""
    half = doubles("trunc(a) + CASE WHEN abs(a - trunc(a)) >= 2^-1 THEN sign(a) ELSE 0 END")
    return once(f"({half})", a=node.this)


def remainder(node: exp.Expression) -> exp.Expression:
    """Write the remainder of doubles, which PostgreSQL lacks: of integers, in steps of 2^-1074."""
    return once(_REMAINDER, a=node.this, b=node.expression)


def _steps(name: str) -> str:
    """Return a double, neither zero nor infinite, as a whole number of 2^-1074, exactly.

    It is first scaled to 55 bits before the point, whatever the logarithm is wrong by, so that it is a whole
    number; in two factors, because one alone may be no double.
    """
    octave = f"CAST(floor(ln(abs({name})) / CAST('{math.log(2)!r}' AS DOUBLE PRECISION)) AS INT)"
    half = f"CAST((54 - {octave}) / 2 AS DOUBLE PRECISION)"
    factors = f"power( 2^1 , {half}) * power( 2^1 , 54 - {octave} - {half})"
    whole = f"CAST(CAST({name} * {factors} AS BIGINT) AS DECIMAL)"
    return f"div({whole} * power(CAST(2 AS DECIMAL), {octave} + 1074), CAST('{2**54}' AS DECIMAL))"


_WHOLE = "abs({0}) < 2^53 AND {0} = floor({0})"
_REMAINDER = doubles(
    "CASE WHEN a IS NULL OR b IS NULL THEN NULL "
    f"WHEN {_WHOLE.format('a')} AND {_WHOLE.format('b')} THEN CASE WHEN b <> 0 THEN "
    "CAST(mod(CAST(a AS BIGINT), CAST(b AS BIGINT)) AS DOUBLE PRECISION) END "
    "WHEN b = 0 OR abs(a) >= inf OR b > inf THEN NULL WHEN a = 0 OR abs(b) = inf THEN a "
    f"ELSE CAST(mod({_steps('a')}, {_steps('b')}) * CAST('{5**1074}e-1074' AS DECIMAL) "
    "AS DOUBLE PRECISION) END"
)
"""The last factor is 2^-1074."""
