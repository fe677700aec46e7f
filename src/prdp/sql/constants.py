"""Constants that a statement computes: decimals exactly (0.06 + 0.01 is 0.07), dates with intervals."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, Literal

from prdp.expressions.spelling import moment_from

_SPANS = {
    "second": timedelta(seconds=1), "minute": timedelta(minutes=1), "hour": timedelta(hours=1),
    "day": timedelta(days=1), "week": timedelta(days=7),
}  # fmt: skip
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MAX = 10**6

MOMENTS: dict[str, Literal["DATE", "TIMESTAMP"]] = {
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMPNTZ": "TIMESTAMP",
}
"""The types of sqlglot that are moments without a zone, and how the row language calls them."""

_MAX_LEVELS = 100
_MAX_DIGITS = 400
_MAX_EXPONENT = 400
_MAX_DIGITS_OF_A_PLACE = 18


def whole_in(node: Any) -> int | None:
    """Return the whole number that a literal says, such as that of LIMIT; None where it says none."""
    written = str(getattr(node, "this", ""))
    if type(node).__name__ != "Literal" or node.is_string or not written.isdigit():
        return None
    return int(written) if len(written) <= _MAX_DIGITS_OF_A_PLACE else None


def number_in(node: Any, levels: int = _MAX_LEVELS) -> Fraction | None:
    """Return the number that a constant expression says, exactly; None where it is no such."""
    kind = type(node).__name__
    if kind == "Literal":
        return None if node.is_string else _literal(str(node.this).replace("_", "").lower())
    if levels == 0 or kind not in {"Paren", "Neg", "Add", "Sub", "Mul", "Div"}:
        return None
    left = number_in(node.this, levels - 1)
    if left is None or kind in {"Paren", "Neg"}:
        return -left if left is not None and kind == "Neg" else left
    right = number_in(node.expression, levels - 1)
    if right is None or (kind == "Div" and right == 0):
        return None
    found = {"Add": left + right, "Sub": left - right, "Mul": left * right}.get(kind)
    found = left / right if found is None else found
    return found if max(abs(found.numerator), found.denominator) < 10**300 else None


def _literal(written: str) -> Fraction | None:
    """Return a number as it is written; None where it has more digits than a double has."""
    exponent = written.partition("e")[2]
    if len(written) > _MAX_DIGITS or abs(int(exponent or 0)) > _MAX_EXPONENT:
        return None
    return Fraction(written)


def moment_in(node: Any, levels: int = _MAX_LEVELS) -> datetime | None:
    """Return the moment that a constant expression says, intervals added; None where it is no such."""
    kind = type(node).__name__
    if kind == "Paren" and levels:
        return moment_in(node.this, levels - 1)
    if kind == "Cast" and type(node.this).__name__ == "Literal" and node.this.is_string:
        return moment_from(node.this.this) if node.to.this.value in MOMENTS else None
    if kind in {"Add", "Sub"} and levels and type(node.expression).__name__ == "Interval":
        moment = moment_in(node.this, levels - 1)
        return None if moment is None else moved(moment, node.expression, -1 if kind == "Sub" else 1)
    return None


def moved(moment: datetime, interval: Any, sign: int) -> datetime | None:
    """Return a moment moved by an interval; None where that is none of the calendar's."""
    unit = str(interval.args["unit"].name).lower().removesuffix("s") if interval.args.get("unit") else ""
    count = str(getattr(interval.this, "this", ""))
    if not count.isdigit() or int(count) > _MAX or unit not in {*_SPANS, *_MONTHS}:
        return None
    try:
        if unit in _SPANS:
            return moment + sign * int(count) * _SPANS[unit]
        months = moment.year * 12 + moment.month - 1 + sign * int(count) * _MONTHS[unit]
        year, month = months // 12, months % 12 + 1
        return moment.replace(
            year=year, month=month, day=min(moment.day, calendar.monthrange(year, month)[1])
        )
    except (ValueError, OverflowError):
        return None
