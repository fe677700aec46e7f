"""Compute each operation on dates and times: years 1 to 9999, without zones, in whole microseconds.

What leaves those years is unknown. Weeks begin on Monday, and are those of ISO 8601.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import datetime, timedelta

from prdp.expressions.functions import MomentPart

DAY = 86_400_000_000
"""Microseconds."""

MAX_DAYS = 3_652_058.0
"""From the first day to the last."""

MICROSECONDS = {"week": 7 * DAY, "day": DAY, "hour": DAY // 24, "minute": 60_000_000, "second": 1_000_000}
MONTHS = {"year": 12, "quarter": 3, "month": 1}

_FIRST = datetime(1, 1, 1)
_MICROSECOND = timedelta(microseconds=1)

PART_MEANING: dict[MomentPart, Callable[[datetime], int]] = {
    "year": lambda at: at.year,
    "quarter": lambda at: (at.month + 2) // 3,
    "month": lambda at: at.month,
    "week": lambda at: at.isocalendar().week,
    "day": lambda at: at.day,
    "dayofweek": lambda at: at.isoweekday() % 7,
    "isodow": lambda at: at.isoweekday(),
    "dayofyear": lambda at: at.timetuple().tm_yday,
    "hour": lambda at: at.hour,
    "minute": lambda at: at.minute,
    "second": lambda at: at.second,
}


def since_year_one(at: datetime) -> int:
    """Return the microseconds since the first moment of year 1."""
    return (at - _FIRST) // _MICROSECOND


def truncated(unit: str, at: datetime) -> datetime | None:
    """Return the first moment of the year, month, week or whatever a moment is in.

    >>> print(truncated("quarter", datetime(2026, 6, 30, 9)), truncated("week", datetime(2026, 11, 15)))
    2026-04-01 00:00:00 2026-11-09 00:00:00
    """
    if unit in MICROSECONDS:  # the first day of year 1 is a Monday
        return _FIRST + timedelta(microseconds=since_year_one(at) // MICROSECONDS[unit] * MICROSECONDS[unit])
    if unit in MONTHS:
        return datetime(at.year, (at.month - 1) // MONTHS[unit] * MONTHS[unit] + 1, 1)
    return None


def counted(unit: str, start: datetime, end: datetime) -> float | None:
    """Return the number of times a unit begins after one moment and until another.

    >>> counted("year", datetime(2025, 12, 31), datetime(2026, 1, 1))
    1.0
    """
    places = _place(unit, start), _place(unit, end)
    return None if places[0] is None or places[1] is None else float(places[1] - places[0])


def _place(unit: str, at: datetime) -> int | None:
    if unit in MICROSECONDS:
        return since_year_one(at) // MICROSECONDS[unit]
    return (at.year * 12 + at.month - 1) // MONTHS[unit] if unit in MONTHS else None


def days_between(end: datetime, start: datetime) -> float:
    """Return the days from one moment to another, with their fraction.

    >>> days_between(datetime(2026, 3, 1), datetime(2026, 2, 27, 12))
    1.5
    """
    return float(since_year_one(end) - since_year_one(start)) / DAY


def added(unit: str, number: float, at: datetime) -> datetime | None:
    """Return a moment so many units later; the day of a shorter month is its last.

    >>> print(added("month", 1.0, datetime(2024, 1, 31)), added("day", -1.0, datetime(1, 1, 1)))
    2024-02-29 00:00:00 None
    """
    try:
        if unit in MICROSECONDS:
            return at + timedelta(microseconds=int(number) * MICROSECONDS[unit])
        if unit not in MONTHS:
            return None
        year, month = divmod(at.year * 12 + at.month - 1 + int(number) * MONTHS[unit], 12)
        last = calendar.monthrange(year, month + 1)[1] if 1 <= year <= at.max.year else 0
        return at.replace(year=year, month=month + 1, day=min(at.day, last)) if last else None
    except (OverflowError, ValueError):
        return None
