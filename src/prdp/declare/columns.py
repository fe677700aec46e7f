"""Read a caller's declarations of columns, computed ones too, and check them against the table's."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any

from prdp.declare.exact import Exact, exact, short_repr
from prdp.errors import Argument, ExpressionError, InvalidRequest
from prdp.expressions.check import checked_kind
from prdp.expressions.evaluate import evaluate
from prdp.expressions.functions import MOMENT_PARTS, FunctionName, is_whole
from prdp.expressions.nodes import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Negate,
    Node,
    Null,
    canonical,
    columns,
)
from prdp.expressions.nodes import Number as NumberNode
from prdp.expressions.parse import parse
from prdp.schema import Bounds, ColumnType, Kind, Rounding, Schema

Number = Exact
"""A bound, or an edge of bins, as it may be written."""

LARGEST_STEP = 10**18
"""A rounding step is a fraction of whole numbers up to this."""


_DICTS = {
    "tables": ("the tables' names", "'customers': 'customers.parquet', 'orders': 'orders.parquet'"),
    "references": ("referring columns", "'orders.customer': 'customers.id'"),
    "keys": ("column", "'job': ['chef', 'clerk']"),
}
"""Options of which an example is another than numbers by column: by what they are, and the example."""


def refuse_unless_mappings(**options: object) -> None:
    """Refuse an option that is not a dict, by column or by what else it should be.

    >>> refuse_unless_mappings(bounds=[(0, 100)])
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: bounds=[(0, 100)] is not a dict by column. Write bounds={'balance': ...}.
    """
    for name, option in options.items():
        if option is not None and not isinstance(option, Mapping):
            by, such = _DICTS.get(name, ("column", "'balance': ..."))
            raise InvalidRequest(
                f"{name}={short_repr(option)} is not a dict by {by}. Write {name}={{{such}}}."
            )


def written(column: object) -> object:
    """Return a column's text, also of one that is written as an expression, such as ``table["age"]``."""
    return str(column) if isinstance(column, ColumnExpression) else column


class ColumnExpression:
    """Base of columns and expressions that users write in Python; ``str`` is their text."""

    __slots__ = ()


def known_column(column: str, schema: Schema, what: str) -> str:
    """Return a column's name as the table spells it; capitals do not matter, as in SQL.

    >>> from prdp.schema import ColumnType
    >>> known_column("BALANCE", {"Balance": ColumnType(Kind.NUMBER)}, "sum")
    'Balance'
    >>> known_column("balence", {"Balance": ColumnType(Kind.NUMBER)}, "sum")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: sum names the column 'balence', ... Did you mean 'Balance'?
    """
    same = [name for name in schema if name == column] or [
        name for name in schema if isinstance(column, str) and name.lower() == column.lower()
    ]
    if len(same) == 1:
        return same[0]
    close = get_close_matches(str(column), schema, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InvalidRequest(f"{what} names the column {column!r}, but the table has {', '.join(schema)}.{hint}")


def read_bounds(given: Mapping[str, tuple[Number, Number]], schema: Schema) -> Bounds:
    """Return the public ends of number columns, exactly.

    >>> from prdp.schema import ColumnType
    >>> read_bounds({"age": (0, "120.5")}, {"age": ColumnType(Kind.NUMBER)})
    {'age': (Fraction(0, 1), Fraction(241, 2))}
    """
    known = ((known_column(name, schema, "bounds"), pair) for name, pair in given.items())
    return {name: _ends(name, pair, schema) for name, pair in known}


def _ends(name: str, pair: tuple[Number, Number], schema: Schema) -> tuple[Fraction, Fraction]:
    kind = schema[name]
    if kind.kind is not Kind.NUMBER:
        raise InvalidRequest(
            f"bounds[{name!r}] is for a number column, but it holds {kind.kind.value}.",
            f" {kind.conversion}".rstrip(),
        )
    try:
        ends = tuple(pair)
    except TypeError:
        ends = ()
    endless = any(isinstance(end, float) and not math.isfinite(end) for end in ends)
    if len(ends) != 2 or isinstance(pair, str) or endless:
        raise InvalidRequest(
            f"bounds[{name!r}] = {short_repr(pair)} is not a pair of finite numbers. For example: ",
            Argument("bounds", {name: (0, 10**12)}),
            ".",
        )
    low, high = (exact(end, f"bounds[{name!r}]") for end in ends)
    if low > high:
        raise InvalidRequest(
            f"bounds[{name!r}] = {short_repr(pair)} is reversed: the least value comes first. Write ",
            Argument("bounds", {name: (pair[1], pair[0])}),
            ".",
        )
    return low, high


def read_rounding(given: Mapping[str, Exact], schema: Schema) -> Rounding:
    """Return the public rounding step of number columns, exactly.

    >>> from prdp.schema import ColumnType
    >>> read_rounding({"price": "0.01"}, {"price": ColumnType(Kind.NUMBER)})
    {'price': Fraction(1, 100)}
    """
    rounding = {}
    for name, written in given.items():
        round_to = exact(written, f"round_to[{name!r}]")
        if round_to <= 0:
            raise InvalidRequest(
                f"round_to[{name!r}] = {short_repr(written)} is not a rounding step: it is more than 0 "
                "(1e-18 to 1e18)."
            )
        if max(round_to.numerator, round_to.denominator) > LARGEST_STEP:
            raise InvalidRequest(
                f"round_to[{name!r}] = {short_repr(written)} is not a rounding step: it is a fraction of "
                "two whole numbers of "
                "at most 1e18 each. Write what the values are multiples of, such as '0.01' or '1/3'."
            )
        known = known_column(name, schema, "round_to")
        if schema[known].kind is not Kind.NUMBER:
            raise InvalidRequest(
                f"round_to[{name!r}] is for a number column, but it holds {schema[known].kind.value}."
            )
        rounding[known] = round_to
    return rounding


def read_privacy_unit(column: str | None, schema: Schema) -> str | None:
    """Return the column whose value says which unit a row belongs to; None where a row is one.

    >>> from prdp.schema import ColumnType
    >>> read_privacy_unit("customer_id", {"Customer_ID": ColumnType(Kind.TEXT)})
    'Customer_ID'
    """
    if column is None:
        return None
    if not isinstance(column, str):
        raise InvalidRequest(
            f"privacy_unit={short_repr(column)} is not the name of one column. Write "
            "privacy_unit='customer_id': the "
            "column that says whose a row is."
        )
    known = known_column(column, schema, "privacy_unit")
    if schema[known].kind is Kind.OTHER:
        raise InvalidRequest(
            Argument("privacy_unit", column),
            f" cannot distinguish values of {schema[known].native}. Give a column of numbers, texts or "
            "dates.",
        )
    return known


UNNAMED = "table"
"""The name of a frame whose caller gives it none."""


def default_name(source: object, table: str | None = None) -> str:
    """Return what a table is called whose caller does not say: its name in a database, or its file's stem.

    >>> default_name("data/accounts.parquet"), default_name("data/part-*.csv"), default_name({"age": [30]})
    ('accounts', 'part', 'table')
    >>> default_name("bank.duckdb", "branch.accounts")
    'accounts'
    """
    if table is not None:
        return table.rpartition(".")[2] or UNNAMED
    if isinstance(source, str | Path):
        return Path(source).name.partition(".")[0].strip("*?[]_- ") or UNNAMED
    return UNNAMED


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
    """Return the rounding step of a column: as declared, or of its type; None where there is neither.

    >>> cents = {"price": ColumnType(Kind.NUMBER, native="DECIMAL(15,2)")}
    >>> rounding_of("price", cents, {}), rounding_of("price", cents, {"price": Fraction(1, 2)})
    (Fraction(1, 100), Fraction(1, 2))
    """
    kind = schema[column]
    if column in rounding or kind.integer:
        return rounding.get(column, Fraction(1))
    found = _DECIMAL.fullmatch(kind.native)
    return Fraction(1, 10 ** int(found[1])) if found else None


MAX_STEPS = 10**14
"""A default allows so many steps between 0 and a bound: squares of fewer than 2^47 add up exactly."""

_MAX_STEPS_OF_A_UNIT = 2**62
"""Likewise for all rows of a privacy unit together."""


def default_step(exact: Fraction | None, low: Fraction, high: Fraction, rows: int = 1) -> Fraction | None:
    """Return the rounding step of values whose caller declares none; None beyond 1e18 or what 1e18 can count.

    It is the exact step of the type (a decimal's scale, a rounding step that follows) where the bounds hold
    at most ``MAX_STEPS`` of it, and otherwise the smallest power of ten of which they hold no more. A value
    moves by at most half a step, less than 10^-13 of the larger bound: far below the noise that hides a
    record. The step is a function of the column's type, the bounds and ``max_rows``, all of them public and
    bound to the ledger, and rounding is a function of one value, so what is proved for a declared step holds
    for it.

    >>> [str(default_step(None, Fraction(0), Fraction(high))) for high in (1, 250, 10**6, 10**12)]
    ['1/100000000000000', '1/100000000000', '1/100000000', '1/100']
    >>> str(default_step(Fraction(1, 100), Fraction(0), Fraction(10**6)))
    '1/100'

    Args:
        exact: A step of which all values are whole multiples; None where none is known.
        low: The least value.
        high: The greatest value.
        rows: How many rows of one privacy unit may be added up.
    """
    largest, most = max(abs(low), abs(high)), max(1, min(MAX_STEPS, _MAX_STEPS_OF_A_UNIT // rows))
    if exact is not None and largest <= most * exact:
        return exact or Fraction(1)
    steps = (Fraction(10) ** power for power in range(-18, 19))
    return next((step for step in steps if largest <= most * step), None) if largest else Fraction(1)


def derived_rounding(node: Node, schema: Schema, rounding: Rounding) -> Fraction | None:  # noqa: PLR0911  (one a class)
    """Return a step of which every value of an expression is a whole multiple; None where none follows.

    0 represents what is always 0.

    >>> cents = {"price": ColumnType(Kind.NUMBER, native="DECIMAL(15,2)"), "n": ColumnType(Kind.NUMBER)}
    >>> str(derived_rounding(parse("price * (1 - price)"), cents, {}))
    '1/10000'
    >>> derived_rounding(parse("price / n"), cents, {}) is None
    True
    """
    match node:
        case NumberNode():
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
    return left / right if isinstance(node.right, NumberNode) and right else None


def _call_rounding(node: Call, schema: Schema, rounding: Rounding) -> Fraction | None:
    if node.name in WHOLE:
        return Fraction(1)
    if node.name == "round":
        digits = [int(part.value) for part in node.args[1:] if isinstance(part, NumberNode)]
        return Fraction(10) ** -(digits[0] if digits else 0)
    if node.name == "nullif":
        return derived_rounding(node.args[0], schema, rounding)
    found = [derived_rounding(arg, schema, rounding) for arg in node.args]
    if node.name in ("least", "greatest", "abs", "coalesce"):
        return _common(found)
    if node.name == "power" and isinstance(node.args[1], NumberNode) and found[0] is not None:
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
