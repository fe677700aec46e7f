"""Functions of numbers in ClickHouse that mean what DuckDB's do."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from prdp.engines.dialects.clickhouse_words import call, plain, said
from prdp.engines.dialects.translate import Rule

_OWN_BITS = 2**52


def _exponent(x: str) -> str:
    """Return the power of two that a double's last bit is worth, plus 1074."""
    return f"greatest(toInt64(bitShiftRight(reinterpretAsUInt64(abs({x})), 52)), 1) - 1"


def _mantissa(x: str) -> str:
    """Return a double in units of its last bit."""
    bits = f"reinterpretAsUInt64(abs({x}))"
    hidden = f"if(bitShiftRight({bits}, 52) = 0, 0, {_OWN_BITS})"
    return f"toInt128(bitAnd({bits}, {_OWN_BITS - 1}) + {hidden})"


_DIVISOR = f"greatest({_mantissa('prdp_b')}, toInt128(1))"
"""All branches are computed, and none may divide by zero."""

_GAP = f"({_exponent('prdp_a')} - ({_exponent('prdp_b')}))"
_FOLDED = (
    f"arrayFold((prdp_r, prdp_n) -> (prdp_r * toInt128('18446744073709551616')) % {_DIVISOR}, "
    f"range(toUInt64(greatest(intDiv({_GAP}, 64), 0))), {_mantissa('prdp_a')} % {_DIVISOR})"
)
_SHIFT = f"bitShiftLeft(toInt128(1), toUInt8(greatest({_GAP} % 64, 0)))"
_REST = (
    f"toFloat64(({_FOLDED} * {_SHIFT}) % {_DIVISOR}) * exp2({_exponent('prdp_b')} - 1074)"
    " * if(prdp_a < 0, -1, 1)"
)
_MODULO = (
    "if(isFinite(prdp_a) AND isFinite(prdp_b) AND prdp_b != 0 AND abs(prdp_a) >= abs(prdp_b), "
    f"{_REST}, if(isFinite(prdp_a) AND abs(prdp_b) > abs(prdp_a), prdp_a, nan))"
)
_POWER = (
    "multiIf(x = 0 OR y = 0 OR NOT isFinite(x) OR NOT isFinite(y), pow(x, y), "
    "abs(y) * abs(log2(abs(x))) > 1100, "
    "if((y > 0) != (abs(x) > 1), 0e0, if(x < 0 AND floor(y / 2) * 2 != y, -inf, inf)), "
    "abs(x) < 2.2250738585072014e-308, pow(x * exp2(200), y) * exp2(-200 * y), pow(x, y))"
)
"""ClickHouse's own pow() is wrong for the least doubles, and for exponents that leave all doubles."""

_ROUNDED = "(trunc(x) + if(abs(x - trunc(x)) >= 0.5, if(x < 0, -1e0, 1e0), 0e0))"


def _modulo(node: exp.Expression) -> exp.Expression:
    """Return an exact remainder, 64 bits of the quotient at a time: ClickHouse's own is rounded."""
    return said(
        f"arrayElement(arrayMap((prdp_a, prdp_b) -> {_MODULO}, [a], [b]), 1)", a=node.this, b=node.expression
    )


def _logarithm(node: exp.Expression) -> exp.Expression:
    return call(f"log{plain(node.this)}", node.expression)


def _extremum(name: str) -> Rule:
    """Return a rule for the least or greatest: of doubles, NaN where one is NaN."""

    def write(node: exp.Expression) -> exp.Expression:
        parts = [node.this, *node.expressions]
        if any(isinstance(part, exp.Floor) for part in parts):
            known = [plain(part) for part in parts]
            parts = [
                part if digits is None else exp.Literal.number(f"{digits}e0")
                for part, digits in zip(parts, known, strict=True)
            ]
        signless = [part.this if isinstance(part, exp.Neg) else part for part in parts]
        if not any(isinstance(part, exp.Coalesce) for part in signless):  # as ``_guards`` writes doubles
            return call(name, *parts)
        listed = exp.Array(expressions=[part.copy() for part in parts])
        most = {"greatest": "arrayMax", "least": "arrayMin"}[name]
        chosen = f"if(arrayExists(prdp_n -> isNaN(prdp_n), prdp_l), nan, {most}(prdp_l))"
        return said(f"arrayElement(arrayMap(prdp_l -> {chosen}, [listed]), 1)", listed=listed)

    return write


def _number_text(node: exp.Expression) -> exp.Expression:
    """Return the shortest text of a double as Python writes it, whole ones without a point."""
    written = node.this  # of CAST(number AS VARCHAR)
    return said(f"arrayElement(arrayMap(prdp_x -> {_TEXT}, [x]), 1)", x=written.expressions[0])


_OWN = "toString(abs(prdp_x))"
_DIGITS = f"replaceRegexpOne(replaceRegexpOne(replaceRegexpOne({_OWN}, '[.]', ''), '^0+', ''), '0+$', '')"
_FIRST_DIGITS = (
    f"concat(substring({_DIGITS}, 1, 1), if(length({_DIGITS}) > 1, '.', ''), substring({_DIGITS}, 2))"
)
_ZEROS = f"toInt64(length(extract({_OWN}, '^0[.](0*)')))"
_LARGE = f"concat({_FIRST_DIGITS}, 'e+', toString(toInt64(length(extract({_OWN}, '^[0-9]+'))) - 1))"
_SMALL = f"concat({_FIRST_DIGITS}, 'e-', leftPad(toString({_ZEROS} + 1), 2, '0'))"
_WITH_POWER = (
    f"replaceRegexpOne(replaceRegexpOne({_OWN}, 'e([0-9])', 'e+\\\\1'), 'e([+-])([0-9])$', 'e\\\\10\\\\2')"
)
_TEXT = (
    "concat(if(prdp_x < 0, '-', ''), multiIf("
    f"position({_OWN}, 'e') > 0, {_WITH_POWER}, "
    f"abs(prdp_x) >= 1e16 AND isFinite(prdp_x), {_LARGE}, "
    f"abs(prdp_x) < 1e-4 AND prdp_x != 0, {_SMALL}, {_OWN}))"
)


def _named(name: str) -> Rule:
    return lambda node: call(name, node.this)


NUMBER_RULES: Mapping[str, Rule] = {
    "IsNan": _named("isNaN"),
    "Log": _logarithm,
    "Ln": _named("log"),
    "Exp": _named("exp"),
    "Pow": lambda node: said(_POWER, x=node.this, y=node.expression),
    "Floor": lambda node: exp.Floor(this=node.this.copy()),
    "Ceil": lambda node: exp.Ceil(this=node.this.copy()),
    "Round": lambda node: said(_ROUNDED, x=node.this),
    "round_even": lambda node: call("roundBankers", node.expressions[0]),
    "Mod": _modulo,
    "Greatest": _extremum("greatest"),
    "Least": _extremum("least"),
    "RegexpReplace": _number_text,
}
"""Functions of numbers."""
