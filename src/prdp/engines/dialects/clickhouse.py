"""What ClickHouse says otherwise than DuckDB; nothing in it can fail, whatever a record holds.

Functions of ClickHouse compute all branches of a CASE, so each is total by itself. Whole numbers are Int64,
or Int128 where statements say so; a moment is an Int64 of microseconds (``clickhouse_moments``). Integers and
floats have no common type: constants are written with theirs.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from prdp.engines.dialects.clickhouse_moments import MOMENT_RULES, cast_to_moment, text_to_moment
from prdp.engines.dialects.clickhouse_numbers import NUMBER_RULES
from prdp.engines.dialects.clickhouse_texts import TEXT_RULES
from prdp.engines.dialects.clickhouse_words import call, number, plain, said, text
from prdp.engines.dialects.translate import Dialect, Rule, counts_from_one

_LARGEST = 2**63 - 1
_NOTHING = f"toInt16({-(2**15)})"
_INTEGERS = {"TINYINT": "Int8", "SMALLINT": "Int16", "INT": "Int64", "BIGINT": "Int64", "INT128": "Int128"}
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
        return said("arrayMap(p -> toInt64(p), x)", x=operand)
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
        return said(f"if(isNull(x), NULL, to{kind}(ifNotFinite(ifNull(x, 0e0), 0e0)))", x=operand)
    is_whole = isinstance(operand, exp.Column) or kind == "Int128" or operand.is_string
    if is_whole and not maybe:
        return call(f"to{kind}", operand)
    return call("accurateCastOrNull", operand, text(kind))


def _is_double(node: exp.Expression) -> bool:
    """Say whether an operand is a double by the way it is written."""
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
        place = said("p + 1", p=place)
    return said("if(isNull(p), NULL, arrayElement(a, assumeNotNull(ifNull(p, 1))))", a=node.this, p=place)


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
    """Group by levels and codes without NULL, which is far faster: NULL is a number that none of them has."""
    source = node.args["from_"].this if node.args.get("from_") else None
    inner = source.this if isinstance(source, exp.Subquery) else None
    group = node.args.get("group")
    if group is None or node.args.get("where") is not None or not isinstance(inner, exp.Select):
        return
    keys = {key.name for key in group.expressions} & {"level", "code"}
    for item in list(inner.expressions):
        if item.alias in keys and isinstance(item.this, exp.Case):
            known = said(f"ifNull(x, {_NOTHING})", x=item.this)
            item.set("this", known)
            for shown in list(node.expressions):
                if isinstance(shown, exp.Column) and shown.name == item.alias:
                    shown.replace(exp.alias_(said(f"nullIf(x, {_NOTHING})", x=shown), item.alias))


def _aggregate(node: exp.Expression) -> exp.Expression:
    """Make a count a signed number, unless something around it belongs to it."""
    return node if isinstance(node.parent, exp.Filter | exp.Window) else call("toInt64", node)


def _around_aggregate(node: exp.Expression) -> exp.Expression:
    counts = isinstance(node.this, exp.Count | exp.RowNumber)
    return call("toInt64", node) if counts else node


def _sum(node: exp.Expression) -> exp.Expression:
    return exp.Sum(this=call("toInt128", node.this))


def _among(node: exp.Expression) -> exp.Expression:
    """Return whether a value is one of a list: unknown, where it is none of them and one is unknown."""
    if all(plain(item) is not None or isinstance(item, exp.Literal) for item in node.expressions):
        return node
    same = [
        exp.Paren(this=exp.EQ(this=node.this.copy(), expression=item.copy())) for item in node.expressions
    ]
    return exp.Paren(this=exp.or_(*same))


def _cte(node: exp.Expression) -> exp.Expression:
    node.set("materialized", None)
    return node


def _operand(node: exp.Expression) -> exp.Expression:
    operand: exp.Expression = node.this
    return operand.copy()


def _join(node: exp.Expression) -> exp.Expression:
    """Give a search by order alone something to be equal in: ClickHouse wants one."""
    if node.args.get("method") != "ASOF":
        return node
    node.set(
        "on",
        said(
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
    "In": _among,
    "CTE": _cte,
    "Collate": _operand,
    "Encode": _operand,
    "Join": _join,
    "GenerateSeries": lambda node: call("range", node.args["end"]),
    "Split": lambda node: call("splitByString", node.expression, node.this),
    "Div": lambda node: call("divide", node.this, node.expression),
    "IntDiv": lambda node: call("intDivOrZero", node.this, node.expression),
}

RULES: Mapping[str, Rule] = {**_OWN, **NUMBER_RULES, **TEXT_RULES, **MOMENT_RULES}
"""What is said otherwise; the table's own name is said by the engine."""

_SHARED = """
    Identifier Column DataType DataTypeParam Alias If Select From Subquery Null Not Is Table Where TableAlias
    Paren Group Having And Or Star Union With Distinct Order Ordered RowNumber Boolean Var Lambda Explode
    Limit
    LT LTE GT GTE EQ NEQ Between Add Sub Mul Neg Min Max Abs Sqrt Coalesce BitwiseRightShift BitwiseAnd
"""

CLICKHOUSE = Dialect("clickhouse", RULES, frozenset(_SHARED.split()))
"""ClickHouse's dialect."""
