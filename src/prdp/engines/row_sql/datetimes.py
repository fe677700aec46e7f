"""Functions of dates and times in SQL, as in ``expressions.datetimes``; no row makes them fail.

Outside the years 1 to 9999 they give NULL, the engine's infinities among them; inside nothing overflows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prdp.engines.row_sql.numbers import Guards
from prdp.expressions.datetimes import DAY, MICROSECONDS, MONTHS
from prdp.expressions.functions import MomentPart

FIRST, LAST = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"
"""Between these no date function of the engine can overflow."""

_YEAR_ONE = 62_135_596_800_000_000
"""Microseconds from the first moment of year 1 until 1970."""

_LAST_MICROSECOND = 315_537_897_599_999_999
_MONTHS = (12, 9999 * 12 + 11)


@dataclass(frozen=True, slots=True)
class Moments:
    """Writes functions of moments."""

    guards: Guards

    def part(self, name: MomentPart, moment: str) -> str:
        """Return a part of a moment as a double."""
        return self._inside([moment], lambda at: f"CAST({name}({at}) AS DOUBLE)")

    def truncated(self, unit: str, moment: str) -> str:
        """Return the first moment of the unit that a moment is in."""
        return self._inside([moment], lambda at: f"CAST(date_trunc('{unit}', {at}) AS TIMESTAMP)")

    def counted(self, unit: str, start: str, end: str) -> str:
        """Return the number of times a unit begins between two moments, as a double."""
        return self._inside(
            [start, end], lambda a, b: f"CAST({_place(unit, b)} - {_place(unit, a)} AS DOUBLE)"
        )

    def days_between(self, end: str, start: str) -> str:
        """Return the days between two moments, as a double."""
        return self._inside(
            [end, start], lambda a, b: f"(CAST(epoch_us({a}) - epoch_us({b}) AS DOUBLE) / {DAY}e0)"
        )

    def added(self, unit: str, number: int, moment: str) -> str:
        """Return a moment so many units later."""
        if unit in MICROSECONDS:
            return self._inside([moment], lambda at: _later(at, number * MICROSECONDS[unit]))
        return self._inside([moment], lambda at: _months_later(at, number * MONTHS[unit]))

    def as_text(self, moment: str) -> str:
        """Return a moment as a text; midnight is a date."""
        return self._inside(
            [moment],
            lambda at: (
                f"CASE WHEN date_trunc('day', {at}) = {at} THEN strftime({at}, '%Y-%m-%d') "
                f"ELSE CAST({at} AS VARCHAR) END"
            ),
        )

    def _inside(self, moments: Sequence[str], write: Callable[..., str]) -> str:
        def guarded(*names: str) -> str:
            inside = " AND ".join(f"{name} BETWEEN {FIRST} AND {LAST}" for name in names)
            return f"(CASE WHEN {inside} THEN {write(*names)} END)"

        return self.guards.once(moments, guarded)


def _place(unit: str, at: str) -> str:
    if unit in MICROSECONDS:
        return f"((epoch_us({at}) + {_YEAR_ONE}) // {MICROSECONDS[unit]})"
    months = f"year({at}) * 12 + month({at}) - 1"
    return f"(({months}) // {MONTHS[unit]})"


def _later(at: str, microseconds: int) -> str:
    if abs(microseconds) > _LAST_MICROSECOND:
        return "CAST(NULL AS TIMESTAMP)"
    place = f"epoch_us({at}) + {microseconds}"
    inside = f"{place} BETWEEN {-_YEAR_ONE} AND {_LAST_MICROSECOND - _YEAR_ONE}"
    return f"CASE WHEN {inside} THEN make_timestamp({place}) END"


def _months_later(at: str, months: int) -> str:
    if abs(months) > _MONTHS[1]:
        return "CAST(NULL AS TIMESTAMP)"
    inside = f"year({at}) * 12 + month({at}) - 1 + {months} BETWEEN {_MONTHS[0]} AND {_MONTHS[1]}"
    return f"CASE WHEN {inside} THEN {at} + to_months({months}) END"
