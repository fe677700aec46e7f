"""Evaluate an expression for one record: the reference that every engine is held to.

Numbers are doubles: a whole number beyond 2^53, a decimal or a fraction is rounded to the nearest
double first, and one beyond their range becomes an infinity. NaN in a record is the unknown value.
A time with a zone is moved to UTC. Texts compare by code point.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, assert_never

from prdp.expressions.datetimes import PART_MEANING, added, counted, days_between, truncated
from prdp.expressions.functions import ARITHMETIC_MEANING, FUNCTION_MEANING, SIGNATURES, CastTarget
from prdp.expressions.nodes import (
    And,
    Arithmetic,
    Boolean,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    CompareOp,
    InList,
    IsNull,
    IsTrue,
    Moment,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Or,
    Text,
)
from prdp.expressions.texts import TEXT_MEANING
from prdp.expressions.tokens import moment_from, number_text
from prdp.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


NUMBER_PATTERN = r" *[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)? *"
"""A text that is a number."""

MOMENT_PATTERN = (
    r" *(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-[0-9]{2}-[0-9]{2}"
    r"(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?)? *"
)
"""A text that is a date, or a date and time; that there is such a day is not seen from it."""

LIMITS = {"INTEGER": (-(2.0**31), 2.0**31), "BIGINT": (-(2.0**63), 2.0**63)}
"""The least whole number of a type, and the first beyond it."""

_NUMBER, _MOMENT = re.compile(NUMBER_PATTERN), re.compile(MOMENT_PATTERN)


def cast(value: float | str | bool | datetime, target: CastTarget) -> float | str | datetime | None:
    """Return a value as one of another type; unknown where there is none.

    >>> cast("1e3", "DOUBLE"), cast("one", "DOUBLE"), cast(2.5, "INTEGER"), cast(2.0**31, "INTEGER")
    (1000.0, None, 2.0, None)
    >>> cast(10.0, "VARCHAR"), cast(True, "VARCHAR"), cast(datetime(2026, 1, 31, 9, 0, 0, 500000), "VARCHAR")
    ('10', 'true', '2026-01-31 09:00:00.5')
    """
    match target:
        case "DOUBLE":
            return _as_number(value)
        case "INTEGER" | "BIGINT":
            number = _as_number(value)
            return None if number is None else whole(number, *LIMITS[target])
        case "VARCHAR":
            return _as_text(value)
        case "DATE" | "TIMESTAMP":
            moment = _as_moment(value)
            return moment if moment is None or target == "TIMESTAMP" else truncated("day", moment)


def whole(number: float, least: float, beyond: float) -> float | None:
    """Return the nearest whole number, of two the even one; unknown outside the limits."""
    if number in (float("inf"), float("-inf")):
        return None
    rounded = float(round(number))
    return rounded if least <= rounded < beyond else None


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool | float):
        return float(value)
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else None


def _as_text(value: float | str | bool | datetime) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return number_text(value + 0.0)
    return value if isinstance(value, str) else moment_text(value)


def moment_text(value: datetime) -> str:
    """Return a date, or a date and time; midnight is a date."""
    if value.time() == value.min.time():
        return value.date().isoformat()
    written = value.isoformat(sep=" ")
    return written.rstrip("0") if value.microsecond else written


def _as_moment(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    return moment_from(value.strip(" ")) if isinstance(value, str) and _MOMENT.fullmatch(value) else None


Value = float | str | bool | datetime | None
"""Result of an expression; ``None`` is unknown."""

Strict = Negate | Arithmetic | Call | Cast | Compare | InList
"""Nodes that are unknown as soon as one operand is."""

_TYPES: dict[Kind | None, type] = {
    Kind.NUMBER: float, Kind.TEXT: str, Kind.BOOLEAN: bool, Kind.MOMENT: datetime,
}  # fmt: skip
_MEANING: dict[str, Callable[..., Any]] = {
    **{str(name): meaning for name, meaning in FUNCTION_MEANING.items()},
    **{str(name): meaning for name, meaning in TEXT_MEANING.items()},
    **{str(name): meaning for name, meaning in PART_MEANING.items()},
    "date_trunc": truncated,
    "date_add": added,
    "date_diff": counted,
}


def evaluate(node: Node, record: Mapping[str, object]) -> Value:
    """Return the value of a checked expression for a record.

    >>> from prdp.expressions.parse import parse
    >>> evaluate(parse("10000 / balance"), {"balance": 40_000})
    0.25
    >>> evaluate(parse("CASE WHEN balance > 0 THEN 1 ELSE 2 END"), {"balance": None}) is None
    True
    >>> evaluate(parse("job IN ('chef', 'clerk') AND age < 40"), {"job": "chef", "age": 31})
    True
    """
    match node:
        case Number() | Text() | Boolean() | Moment():
            return node.value
        case Null():
            return None
        case Column():
            given = record[node.name]
            return given if type(given) is float and not math.isnan(given) else value_of(given)
        case And() | Or() | Not() | Case() | IsNull() | IsTrue() | Call(name="coalesce" | "nullif"):
            return _decide(node, record)
        case _:
            return _strict(node, record)


def value_of(given: object) -> Value:
    """Return a record's value as the language sees it.

    >>> value_of(3), value_of(Decimal("0.5")), value_of(float("nan")), value_of("chef")
    (3.0, 0.5, None, 'chef')
    >>> value_of(date(2026, 1, 31))
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    match given:
        case None | bool():
            return given
        case str():
            return str.__str__(given)  # of a class of somebody's own: the text alone
        case Decimal():
            return None if given.is_nan() else float(given)
        case Real():
            return as_double(given)
        case datetime():
            return None if given != given else _without_zone(given)  # noqa: PLR0124  (pandas' NaT)
        case date():
            return datetime(given.year, given.month, given.day)
        case _:
            raise TypeError(f"a record's value cannot be of type {type(given).__name__}")


def as_double(given: Real) -> float | None:
    """Return the nearest double, an infinity beyond their range, and None for NaN.

    >>> as_double(7), as_double(10**400), as_double(float("nan"))
    (7.0, inf, None)
    """
    try:
        double = float(given)
    except OverflowError:
        return -math.inf if given < 0 else math.inf
    return None if math.isnan(double) else double


def _without_zone(given: datetime) -> datetime:
    try:
        moved = given.astimezone(UTC) if given.tzinfo else given
    except OverflowError:
        moved = given  # within a day of the calendar's ends there is no UTC time to move to
    return datetime.combine(moved.date(), moved.time())  # a plain one, whatever class it was of


def _strict(node: Strict, record: Mapping[str, object]) -> Value:  # noqa: PLR0911  (one return a class)
    """Evaluate what is unknown as soon as one operand is."""
    operands: list[Any] = [evaluate(part, record) for part in _operands(node)]
    if None in operands or not _fits(node, operands):
        return None
    match node:
        case Negate():
            return -operands[0]  # type: ignore[no-any-return]
        case Arithmetic():
            if isinstance(operands[0], datetime):
                return days_between(*operands)
            return ARITHMETIC_MEANING[node.op](*operands)
        case Call():
            given = _MEANING[node.name](*operands)
            return float(given) if type(given) is int else given
        case Cast():
            return cast(operands[0], node.target)
        case Compare():
            return compare(node.op, *operands)
        case InList():
            return _in_list(operands[0], node)
        case _:
            assert_never(node)


def _in_list(value: Any, node: InList) -> bool | None:
    """Return whether a value is one of the items: what ``=`` with each of them gives, joined by OR."""
    alike = [item.value for item in node.items if type(item.value) is type(value)]
    if value in alike:
        return True
    return False if len(alike) == len(node.items) else None


def _fits(node: Strict, operands: list[Any]) -> bool:
    """Return whether operands are of the kinds that a checked expression gives.

    An expression from elsewhere may not have been checked against the record's columns. Python would multiply
    texts and add truth values, and take as long and as much memory as the record decides.
    """
    match node:
        case Call():
            takes = SIGNATURES[node.name].kind
            return all(type(value) is _TYPES[takes(place)] for place, value in enumerate(operands))
        case Arithmetic(op="-") if isinstance(operands[0], datetime):
            return isinstance(operands[1], datetime)
        case Negate() | Arithmetic():
            return {*map(type, operands)} == {float}
        case Compare():
            ordered = node.op in ("=", "<>") or type(operands[0]) is not bool
            return ordered and type(operands[0]) is type(operands[1])
        case _:
            return True


def _operands(node: Strict) -> tuple[Node, ...]:
    match node:
        case Arithmetic() | Compare():
            return (node.left, node.right)
        case Call():
            return node.args
        case _:
            return (node.operand,)


def compare(op: CompareOp, left: Any, right: Any) -> bool:
    """Return whether a comparison of two known values of one kind holds."""
    match op:
        case "=":
            return bool(left == right)
        case "<>":
            return bool(left != right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case ">=":
            return bool(left >= right)
        case _:
            assert_never(op)


def _decide(  # noqa: C901, PLR0911  (one return a class)
    node: And | Or | Not | Case | IsNull | IsTrue | Call, record: Mapping[str, object]
) -> Value:
    match node:
        case And():
            return _kleene(node.parts, record, decisive=False)
        case Or():
            return _kleene(node.parts, record, decisive=True)
        case Not():
            holds = _truth(evaluate(node.operand, record))
            return None if holds is None else not holds
        case IsNull():
            return evaluate(node.operand, record) is None
        case IsTrue():
            return evaluate(node.operand, record) is True
        case Call():
            return _chosen(node, record)
        case Case():
            for condition, value in node.branches:
                holds = _truth(evaluate(condition, record))
                if holds is None:
                    return None
                if holds:
                    return evaluate(value, record)
            return evaluate(node.default, record)
        case _:
            assert_never(node)


def _chosen(node: Call, record: Mapping[str, object]) -> Value:
    """Return the first known value of ``coalesce``, or that of ``nullif`` unless it equals the second."""
    if node.name == "nullif":
        first, second = evaluate(node.args[0], record), evaluate(node.args[1], record)
        return None if type(first) is type(second) and first == second else first
    for part in node.args:
        value = evaluate(part, record)
        if value is not None:
            return value
    return None


def _kleene(parts: tuple[Node, ...], record: Mapping[str, object], *, decisive: bool) -> bool | None:
    """Return ``decisive`` if some part is that, unknown if some part is, else the opposite."""
    values = []
    for part in parts:  # no comprehension: it would take one more of the stack's frames a level
        values.append(_truth(evaluate(part, record)))  # noqa: PERF401
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _truth(holds: Value) -> bool | None:
    """Return a condition's value; one that is no truth value, as only an unchecked one can be, is unknown."""
    return holds if isinstance(holds, bool) else None
