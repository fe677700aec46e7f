"""ClickHouse's dialect: where it differs from DuckDB; nothing in it can fail, whatever a record holds.

Functions of ClickHouse compute all branches of a CASE, so each is total by itself. Whole numbers are Int64,
or Int128 where statements say so; a moment is an Int64 of microseconds (``datetimes``). Integers and
floats have no common type: constants are written with theirs.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from prdp.engines.clickhouse.datetimes import (
    MOMENT_RULES,
    call,
    cast_to_moment,
    from_template,
    number,
    plain,
    text,
    text_to_moment,
)
from prdp.engines.statements.translate import Dialect, Rule, counts_from_one, unmaterialized
from prdp.expressions.texts import CAPITALS, SMALL_LETTERS

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
    return from_template(
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
        if not any(isinstance(part, exp.Coalesce) for part in signless):  # as in ``row_sql.numbers``
            return call(name, *parts)
        listed = exp.Array(expressions=[part.copy() for part in parts])
        most = {"greatest": "arrayMax", "least": "arrayMin"}[name]
        chosen = f"if(arrayExists(prdp_n -> isNaN(prdp_n), prdp_l), nan, {most}(prdp_l))"
        return from_template(f"arrayElement(arrayMap(prdp_l -> {chosen}, [listed]), 1)", listed=listed)

    return write


def _number_text(node: exp.Expression) -> exp.Expression:
    """Return the shortest text of a double as Python writes it, whole ones without a point."""
    written = node.this  # of CAST(number AS VARCHAR)
    return from_template(f"arrayElement(arrayMap(prdp_x -> {_TEXT}, [x]), 1)", x=written.expressions[0])


_NUMBER = "toString(abs(prdp_x))"
_DIGITS = f"replaceRegexpOne(replaceRegexpOne(replaceRegexpOne({_NUMBER}, '[.]', ''), '^0+', ''), '0+$', '')"
_FIRST_DIGITS = (
    f"concat(substring({_DIGITS}, 1, 1), if(length({_DIGITS}) > 1, '.', ''), substring({_DIGITS}, 2))"
)
_ZEROS = f"toInt64(length(extract({_NUMBER}, '^0[.](0*)')))"
_LARGE = f"concat({_FIRST_DIGITS}, 'e+', toString(toInt64(length(extract({_NUMBER}, '^[0-9]+'))) - 1))"
_SMALL = f"concat({_FIRST_DIGITS}, 'e-', leftPad(toString({_ZEROS} + 1), 2, '0'))"
_WITH_POWER = (
    f"replaceRegexpOne(replaceRegexpOne({_NUMBER}, 'e([0-9])', 'e+\\\\1'), 'e([+-])([0-9])$', 'e\\\\10\\\\2')"
)
_TEXT = (
    "concat(if(prdp_x < 0, '-', ''), multiIf("
    f"position({_NUMBER}, 'e') > 0, {_WITH_POWER}, "
    f"abs(prdp_x) >= 1e16 AND isFinite(prdp_x), {_LARGE}, "
    f"abs(prdp_x) < 1e-4 AND prdp_x != 0, {_SMALL}, {_NUMBER}))"
)


def _named(name: str) -> Rule:
    return lambda node: call(name, node.this)


NUMBER_RULES: Mapping[str, Rule] = {
    "IsNan": _named("isNaN"),
    "Log": _logarithm,
    "Ln": _named("log"),
    "Exp": _named("exp"),
    "Pow": lambda node: from_template(_POWER, x=node.this, y=node.expression),
    "Floor": lambda node: exp.Floor(this=node.this.copy()),
    "Ceil": lambda node: exp.Ceil(this=node.this.copy()),
    "Round": lambda node: from_template(_ROUNDED, x=node.this),
    "round_even": lambda node: call("roundBankers", node.expressions[0]),
    "Mod": _modulo,
    "Greatest": _extremum("greatest"),
    "Least": _extremum("least"),
    "RegexpReplace": _number_text,
}
"""Functions of numbers."""


_ALL_OF_UTF_8 = r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"


def _fits(node: exp.Expression) -> exp.Expression:
    pattern = node.expression.name
    if pattern == _ALL_OF_UTF_8:
        return call("isValidUTF8", node.this)
    return call("match", node.this, text(f"^(?:{pattern})$"))


def _letters(table: Mapping[int, int]) -> Rule:
    """Return a rule that writes letters one by one, by the table that every engine has to follow."""
    given, taken = ("".join(map(chr, places)) for places in (table.keys(), table.values()))
    return lambda node: call("translateUTF8", node.this, text(given), text(taken))


def _trimmed(node: exp.Expression) -> exp.Expression:
    """Cut off characters, not bytes."""
    cut = node.expression.name
    if not cut:
        operand: exp.Expression = node.this
        return operand.copy()
    every = "[" + "".join(f"\\x{{{ord(one):x}}}" for one in cut) + "]+"
    position = node.args.get("position")
    found: exp.Expression = node.this
    if position != "TRAILING":
        found = call("replaceRegexpOne", found, text(f"^{every}"), text(""))
    if position != "LEADING":
        found = call("replaceRegexpOne", found, text(f"{every}$"), text(""))
    return found


_LENGTH = "toInt64(lengthUTF8(t))"
_PLACE = f"multiIf(p > 0, p, p = 0, 1, p + {_LENGTH} >= 0, p + {_LENGTH} + 1, p < 0, 1, NULL)"
_FROM = f"substringUTF8(t, {_PLACE})"


def _part(node: exp.Expression) -> exp.Expression:
    """Return a part of a text: from a place on, counted from its end if negative, or its first characters."""
    length = node.args.get("length")
    if length is None:
        return from_template(_FROM, t=node.this, p=node.args["start"])
    return from_template("substringUTF8(t, 1, n)", t=node.this, n=length)


TEXT_RULES: Mapping[str, Rule] = {
    "RegexpFullMatch": _fits,
    "StartsWith": lambda node: call("startsWith", node.this, node.expression),
    "EndsWith": lambda node: call("endsWith", node.this, node.expression),
    "Contains": lambda node: from_template("position(t, p) > 0", t=node.this, p=node.expression),
    "Lower": _letters(SMALL_LETTERS),
    "Upper": _letters(CAPITALS),
    "Trim": _trimmed,
    "Substring": _part,
    "DPipe": lambda node: call("concat", node.this, node.expression),
    "Length": lambda node: from_template("toInt64(lengthUTF8(t))", t=node.this),
    "strlen": lambda node: from_template("toInt64(length(t))", t=node.expressions[0]),
    "ConcatWs": lambda node: call("concatWithSeparator", *node.expressions),
    "MD5": lambda node: from_template("lower(hex(MD5(t)))", t=node.this),
}
"""Functions of texts."""


_LARGEST = 2**63 - 1
_NOTHING = f"toInt16({-(2**15)})"
_SIGNED = {"TINYINT": "Int8", "SMALLINT": "Int16", "INT": "Int64", "BIGINT": "Int64", "INT128": "Int128"}
_UNSIGNED = {"UTINYINT": "Int64", "USMALLINT": "Int64", "UINT": "Int64", "UBIGINT": "UInt64"}
"""As unsigned columns are read, and not as they are kept."""

_INTEGERS = _SIGNED | _UNSIGNED
_TYPES = _INTEGERS | {"DOUBLE": "Float64", "TEXT": "String", "BOOLEAN": "Bool", "TIMESTAMPNTZ": "Int64"}


def _literal(node: exp.Expression) -> exp.Expression:
    """Write a constant with its type; a place in a list and the digits of a type stay as they are."""
    if node.args["is_string"] or isinstance(node.parent, exp.Bracket | exp.DataTypeParam | exp.Limit):
        return node
    written = node.name
    if not written.isdigit():
        return node if "." in written or "e" in written.lower() else exp.Literal.number(f"{written}e0")
    return number(int(written))


def _cast(node: exp.Expression) -> exp.Expression:  # noqa: PLR0911  (one return a type)
    operand, kind = node.this, node.args["to"].this.name
    if kind == "ARRAY":
        return from_template("arrayMap(p -> toInt64(p), x)", x=operand)
    if isinstance(operand, exp.Null):
        return call("CAST", operand, text(f"Nullable({_TYPES[kind]})"))
    match kind:
        case "TIMESTAMPNTZ":
            return text_to_moment(operand) if isinstance(node, exp.TryCast) else cast_to_moment(operand)
        case "DOUBLE" if isinstance(operand, exp.Literal) and operand.is_string:
            return call("toFloat64", text(operand.name.lower().removesuffix("inity")))
        case "DOUBLE":
            return call("toFloat64OrNull" if isinstance(node, exp.TryCast) else "toFloat64", operand)
        case "TEXT":
            return call("toString", operand)
        case "BOOLEAN":
            return call("toBool", operand)
        case "DECIMAL":
            digits = ", ".join(part.name for part in node.args["to"].expressions)
            return call("CAST", operand, text(f"Decimal({digits})"))
        case _:
            return _whole(operand, _INTEGERS[kind], maybe=isinstance(node, exp.TryCast))


def _whole(operand: exp.Expression, kind: str, *, maybe: bool) -> exp.Expression:
    """Return a whole number of a type; of a double, which may be NaN, NULL where it is none."""
    known = plain(operand)
    if known is not None:
        return call(f"to{kind}", text(known))
    if _is_double(operand):  # in its range wherever it is used; elsewhere it is any number, and no error
        return from_template(f"if(isNull(x), NULL, to{kind}(ifNotFinite(ifNull(x, 0e0), 0e0)))", x=operand)
    is_whole = isinstance(operand, exp.Column) or kind == "Int128" or operand.is_string
    if is_whole and not maybe:
        return call(f"to{kind}", operand)
    return call("accurateCastOrNull", operand, text(kind))


def _is_double(node: exp.Expression) -> bool:
    """Return whether an operand is a double by the way it is written."""
    if isinstance(node, exp.Add | exp.Paren):
        return _is_double(node.this)
    if isinstance(node, exp.Anonymous):
        floats = (exp.Literal, exp.Floor)
        bounded = any(isinstance(one, floats) and not one.is_string for one in node.expressions)
        return node.name == "roundBankers" or (node.name in ("greatest", "least") and bounded)
    return isinstance(node, exp.Floor)


def _array(node: exp.Expression) -> exp.Expression:
    """Return a list; one of constants in one piece, which is read far faster."""
    parts = node.expressions
    known = [plain(part) for part in parts]
    if known and all(one is not None for one in known):
        kind = "Int64" if all(abs(int(one)) <= _LARGEST for one in known if one is not None) else "Int128"
        quote = "" if kind == "Int64" else "'"
        listed = [exp.Var(this=f"{quote}{one}{quote}") for one in known]
        return call("CAST", exp.Array(expressions=listed), text(f"Array({kind})"))
    if kinds := {part.name for part in parts if isinstance(part, exp.Anonymous)} & {"toInt64", "toInt128"}:
        wide = "Int128" if "toInt128" in kinds else "Int64"
        if all(isinstance(part, exp.Anonymous) and part.expressions[0].is_string for part in parts):
            listed = [part.expressions[0].copy() for part in parts]
            return call("CAST", exp.Array(expressions=listed), text(f"Array({wide})"))
    return exp.Array(expressions=[part.copy() for part in parts])


def _bracket(node: exp.Expression) -> exp.Expression:
    """Return an element of a list; NULL where the place is unknown."""
    (place,) = node.expressions
    if isinstance(place, exp.Literal):
        return call("arrayElement", node.this, exp.Literal.number(int(place.name) + 1))
    if not counts_from_one(place):
        place = from_template("p + 1", p=place)
    return from_template(
        "if(isNull(p), NULL, arrayElement(a, assumeNotNull(ifNull(p, 1))))", a=node.this, p=place
    )


def _computed_once(node: exp.Expression) -> exp.Expression:
    """Return a list to whose elements a lambda is applied; nested ones have names that differ."""
    (given,) = node.expression.expressions
    name = f"prdp{len(list(node.find_all(exp.Lambda)))}_once"
    body = exp.Paren(this=node.expression.this.copy())
    for word in list(body.find_all(exp.Identifier)):
        if word.name == given.name:
            word.replace(exp.to_identifier(name))
    return call("arrayMap", exp.Lambda(this=body.this, expressions=[exp.to_identifier(name)]), node.this)


def _select(node: exp.Expression) -> exp.Expression:
    """Unfold lists beside each other: ClickHouse's function would give every pair of their elements."""
    _group_by_plain_numbers(node)
    unfolded = [part for item in node.expressions for part in item.find_all(exp.Explode)]
    if not unfolded:
        return node
    lists = []
    for place, part in enumerate(unfolded):
        name = f"prdp_element{place}"
        lists.append(exp.alias_(part.this.copy(), name))
        part.replace(exp.column(name))
    node.set("from_", exp.From(this=exp.Subquery(this=exp.Select(expressions=[exp.Literal.number(1)]))))
    node.set("joins", [exp.Join(this=lists[0], kind="ARRAY", expressions=lists[1:])])
    return node


def _group_by_plain_numbers(node: exp.Expression) -> None:
    """Group by keys without NULL, which is far faster: NULL is a number that none of them has."""
    source = node.args["from_"].this if node.args.get("from_") else None
    inner = source.this if isinstance(source, exp.Subquery) else None
    group = node.args.get("group")
    if group is None or node.args.get("where") is not None or not isinstance(inner, exp.Select):
        return
    keys = {key.name for key in group.expressions} & {"grp", "level", "code"}
    for item in list(inner.expressions):
        name, given = item.alias_or_name, item.unalias()
        if name not in keys or not isinstance(given, exp.Column if name == "grp" else exp.Case):
            continue
        item.replace(exp.alias_(from_template(f"ifNull(x, {_NOTHING})", x=given), name))
        for shown in list(node.expressions):
            if isinstance(shown, exp.Column) and shown.name == name:
                shown.replace(exp.alias_(from_template(f"nullIf(x, {_NOTHING})", x=shown), name))


def _aggregate(node: exp.Expression) -> exp.Expression:
    """Make a count a signed number, unless something around it belongs to it."""
    return node if isinstance(node.parent, exp.Filter | exp.Window) else call("toInt64", node)


def _around_aggregate(node: exp.Expression) -> exp.Expression:
    counts = isinstance(node.this, exp.Count | exp.RowNumber | exp.DenseRank)
    return call("toInt64", node) if counts else node


def _sum(node: exp.Expression) -> exp.Expression:
    return exp.Sum(this=call("toInt128", node.this))


def _in_list(node: exp.Expression) -> exp.Expression:
    """Return whether a value is one of a list: unknown, where it is none of them and one is unknown."""
    if all(plain(item) is not None or isinstance(item, exp.Literal) for item in node.expressions):
        return node
    same = [
        exp.Paren(this=exp.EQ(this=node.this.copy(), expression=item.copy())) for item in node.expressions
    ]
    return exp.Paren(this=exp.or_(*same))


def _operand(node: exp.Expression) -> exp.Expression:
    operand: exp.Expression = node.this
    return operand.copy()


def _join(node: exp.Expression) -> exp.Expression:
    """Give a search by order alone something to be equal in: ClickHouse wants one."""
    if node.args.get("method") != "ASOF":
        return node
    node.set(
        "on",
        from_template(
            "toUInt8(ifNull(k < k, 0)) = toUInt8(ifNull(s < s, 0)) AND k >= s",
            k=node.args["on"].this,
            s=node.args["on"].expression,
        ),
    )
    return node


_OWN: Mapping[str, Rule] = {
    "Literal": _literal,
    "Cast": _cast,
    "TryCast": _cast,
    "Array": _array,
    "Bracket": _bracket,
    "Select": _select,
    "Transform": _computed_once,
    "Count": _aggregate,
    "Filter": _around_aggregate,
    "Window": _around_aggregate,
    "Sum": _sum,
    "In": _in_list,
    "CTE": unmaterialized,
    "Collate": _operand,
    "Encode": _operand,
    "Join": _join,
    "GenerateSeries": lambda node: call("range", node.args["end"]),
    "Split": lambda node: call("splitByString", node.expression, node.this),
    "Div": lambda node: call("divide", node.this, node.expression),
    "IntDiv": lambda node: call("intDivOrZero", node.this, node.expression),
}

RULES: Mapping[str, Rule] = {**_OWN, **NUMBER_RULES, **TEXT_RULES, **MOMENT_RULES}
"""Translation rules; the engine writes the table's own name."""

_SHARED = """
    Identifier Column DataType DataTypeParam Alias If Select From Subquery Null Not Is Table Where TableAlias
    Paren Group Having And Or Star Union With Distinct Order Ordered RowNumber Boolean Var Lambda Explode
    Limit DenseRank
    LT LTE GT GTE EQ NEQ Between Add Sub Mul Neg Min Max Abs Sqrt Coalesce BitwiseRightShift BitwiseAnd
"""

CLICKHOUSE = Dialect("clickhouse", RULES, frozenset(_SHARED.split()))
"""ClickHouse's dialect."""
