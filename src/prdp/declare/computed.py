"""Columns that are computed: an expression over a record's own columns, read where a column's name may stand.

Its value is a function of the record alone, so everything that is proved for a column is proved for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prdp.declare.columns import known_column
from prdp.errors import ExpressionError, InvalidRequest
from prdp.expressions.check import checked_kind
from prdp.expressions.evaluate import evaluate
from prdp.expressions.functions import MOMENT_PARTS, FunctionName
from prdp.expressions.nodes import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Negate,
    Node,
    Null,
    Number,
    canonical,
    columns,
)
from prdp.expressions.parse import parse
from prdp.expressions.strict import is_whole
from prdp.schema import ColumnType, Kind, Rounding, Schema

_NATIVE = {Kind.NUMBER: "DOUBLE", Kind.TEXT: "VARCHAR", Kind.BOOLEAN: "BOOLEAN", Kind.MOMENT: "TIMESTAMP"}
_DECIMAL = re.compile(r"DECIMAL\(\d+,\s*(\d+)\)")
_NAME_LIKE = re.compile(r"[\w ]*")
_LARGEST_POWER = 16
WHOLE: frozenset[FunctionName] = frozenset({"floor", "ceil", "sign", "length", "date_diff", *MOMENT_PARTS})
"""The functions that give whole numbers."""

_WHOLE_TYPES = frozenset({"INTEGER", "BIGINT", "DATE"})
"""The types that hold whole numbers, or whole days."""


@dataclass(frozen=True, slots=True)
class ColumnRead:
    """A column as a question names it.

    Attributes:
        name: The column's name, or the canonical text of an expression.
        expression: What is computed; None for a column of the table.
        type: What it holds.
    """

    name: str
    expression: Node | None
    type: ColumnType


def read_column(text: object, schema: Schema, what: str) -> ColumnRead:
    """Return the column that a text names, or the expression that it says; a tree says itself.

    >>> schema = {"Price": ColumnType(Kind.NUMBER, integer=True), "n": ColumnType(Kind.NUMBER, integer=True)}
    >>> read_column("price", schema, "sum").name, read_column("price*N", schema, "sum").name
    ('Price', 'Price * n')
    >>> read_column("prise", schema, "sum")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: sum names the column 'prise', ... Did you mean 'Price'?
    """
    node = _expression(text, schema)
    text = canonical(node) if isinstance(text, Node) else text
    if isinstance(node, Column):
        name = known_column(node.name, schema, what)
        return ColumnRead(name, None, schema[name])
    checked, kind = checked_kind(node, schema, str(text))
    name = canonical(checked)
    if not columns(checked) or kind is None:
        raise InvalidRequest(f"{what}({text!r}) reads no column: it is the same for every record.")
    if name.lower() in {column.lower() for column in schema}:
        raise InvalidRequest(
            f"{what}({text!r}) may be computed, or mean the column of that name. Rename the column."
        )
    return ColumnRead(name, checked, ColumnType(kind, native=_NATIVE[kind]))


def mentioned(text: object, schema: Schema) -> frozenset[str]:
    """Return the names of columns that a text or a tree reads, whether or not the table has them.

    >>> sorted(mentioned("price * quantity", {}))
    ['price', 'quantity']
    """
    return columns(_expression(text, schema))


def _expression(text: object, schema: Schema) -> Node:
    """Return the expression that a text says; a column where it is one's name, or was meant to be one."""
    if isinstance(text, Node):
        return text
    if not isinstance(text, str) or any(name.lower() == text.lower() for name in schema):
        return Column(text if isinstance(text, str) else repr(text))
    try:
        return parse(text)
    except ExpressionError:
        if _NAME_LIKE.fullmatch(text):
            return Column(text)
        raise


def computed_type(node: Node, schema: Schema) -> ColumnType:
    """Return what a checked expression gives."""
    _, kind = checked_kind(node, schema, "")
    return ColumnType(kind or Kind.NUMBER, native=_NATIVE[kind or Kind.NUMBER])


def column_of(record: Mapping[str, Any], column: str, expression: Node | None) -> Any:
    """Return a record's value in a column, or what an expression gives.

    >>> from prdp.expressions.parse import parse
    >>> column_of({"a": 2, "b": 3}, "a * b", parse("a * b"))
    6.0
    """
    return record[column] if expression is None else evaluate(expression, record)


def rounding_of(column: str, schema: Schema, rounding: Rounding) -> Fraction | None:
    """Return the grain of a column's values: as declared, or as its type says; None where neither does.

    >>> cents = {"price": ColumnType(Kind.NUMBER, native="DECIMAL(15,2)")}
    >>> rounding_of("price", cents, {}), rounding_of("price", cents, {"price": Fraction(1, 2)})
    (Fraction(1, 100), Fraction(1, 2))
    """
    kind = schema[column]
    if column in rounding or kind.integer:
        return rounding.get(column, Fraction(1))
    found = _DECIMAL.fullmatch(kind.native)
    return Fraction(1, 10 ** int(found[1])) if found else None


def derived_rounding(node: Node, schema: Schema, rounding: Rounding) -> Fraction | None:  # noqa: PLR0911  (one a class)
    """Return a grain of which every value of an expression is a whole multiple; None where none follows.

    0 stands for what is always 0.

    >>> cents = {"price": ColumnType(Kind.NUMBER, native="DECIMAL(15,2)"), "n": ColumnType(Kind.NUMBER)}
    >>> str(derived_rounding(parse("price * (1 - price)"), cents, {}))
    '1/10000'
    >>> derived_rounding(parse("price / n"), cents, {}) is None
    True
    """
    match node:
        case Number():
            return abs(Fraction(repr(node.value)))
        case Null():
            return Fraction(0)
        case Column():
            return rounding_of(node.name, schema, rounding)
        case Negate():
            return derived_rounding(node.operand, schema, rounding)
        case Arithmetic():
            return _arithmetic_rounding(node, schema, rounding)
        case Call():
            return _call_rounding(node, schema, rounding)
        case Cast():
            kind = checked_kind(node.operand, schema, "")[1]
            if node.target in _WHOLE_TYPES or (node.target == "DOUBLE" and kind is Kind.BOOLEAN):
                return Fraction(1)
            return derived_rounding(node.operand, schema, rounding) if kind is Kind.NUMBER else None
        case Case():
            return _common(
                derived_rounding(value, schema, rounding)
                for value in (*(then for _, then in node.branches), node.default)
            )
        case _:
            return None


def _arithmetic_rounding(node: Arithmetic, schema: Schema, rounding: Rounding) -> Fraction | None:
    left, right = (derived_rounding(side, schema, rounding) for side in (node.left, node.right))
    if node.op in ("+", "-", "%"):
        return _common((left, right))
    if left is None or right is None:
        return None
    if node.op == "*":
        return left * right
    return left / right if isinstance(node.right, Number) and right else None


def _call_rounding(node: Call, schema: Schema, rounding: Rounding) -> Fraction | None:
    if node.name in WHOLE:
        return Fraction(1)
    if node.name == "round":
        digits = [int(part.value) for part in node.args[1:] if isinstance(part, Number)]
        return Fraction(10) ** -(digits[0] if digits else 0)
    if node.name == "nullif":
        return derived_rounding(node.args[0], schema, rounding)
    found = [derived_rounding(arg, schema, rounding) for arg in node.args]
    if node.name in ("least", "greatest", "abs", "coalesce"):
        return _common(found)
    if node.name == "power" and isinstance(node.args[1], Number) and found[0] is not None:
        exponent = node.args[1].value
        if is_whole(exponent) and 1 <= exponent <= _LARGEST_POWER:
            return Fraction(found[0] ** int(exponent))
    return None


def _common(rounding: Any) -> Fraction | None:
    """Return the largest rounding step of which all are whole multiples; None where one is unknown."""
    common = Fraction(0)
    for round_to in rounding:
        if round_to is None:
            return None
        denominator = math.lcm(common.denominator, round_to.denominator)
        common = Fraction(math.gcd(int(common * denominator), int(round_to * denominator)), denominator)
    return common
