"""Compute each CAST: what cannot be made is unknown, whatever it is made of."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from prdp.expressions.datetimes import truncated
from prdp.expressions.functions import CastTarget
from prdp.expressions.spelling import moment_from, number_text

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
