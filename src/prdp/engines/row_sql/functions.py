"""Functions of texts, dates and times in SQL, as in ``expressions``; no row makes them fail.

Texts of an Arrow table may be no UTF-8. Of such a text DuckDB's ``lower``, ``upper`` and ``trim`` make an
error after which the database must be opened again, so they are given NULL in its place. (``TRY`` would be
cheaper. In a branch of a CASE, DuckDB 1.5 gives it the values of other records.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prdp.engines.row_sql.numbers import Guards, double
from prdp.expressions.datetimes import DAY, MICROSECONDS, MONTHS
from prdp.expressions.functions import FunctionName, MomentPart
from prdp.expressions.texts import FARTHEST, MAX_BYTES, SPACES, Piece, Wildcard, lower, pieces_of
from prdp.expressions.tokens import text_literal

_MEANT_BY_RE2 = frozenset(r"\.+*?()|[]{}^$")

_LARGEST = double(sys.float_info.max)
NEEDS_UTF_8: frozenset[FunctionName] = frozenset({"lower", "upper", "trim", "ltrim", "rtrim", "ilike"})
"""The functions that fail on other bytes; what they give is UTF-8."""

_UTF_8 = r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"
"""All that Unicode has; RE2 reads bytes of UTF-8, and fits no others."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Writes functions of texts."""

    guards: Guards

    def valid(self, text: str) -> str:
        """Return a text, or NULL if it is no UTF-8."""
        return self.guards.once(
            [text], lambda t: f"(CASE WHEN regexp_full_match({t}, '{_UTF_8}') THEN {t} END)"
        )

    def call(self, name: FunctionName, args: Sequence[str]) -> str:
        """Return a function of texts, and of numbers that are never NaN."""
        match name:
            case "lower" | "upper" | "length":
                return f"{name}({args[0]})"
            case "starts_with" | "ends_with" | "contains":
                return _by_code_point(name, args[0], args[1])
            case "trim" | "ltrim" | "rtrim":
                return f"{name}({args[0]}, {args[1] if args[1:] else text_literal(SPACES)})"
            case "concat":
                return self._joined(args)
            case "substring":
                places = [*map(self._place, args[1:2]), *map(self._length, args[2:])]
                return self._substring(args[0], *places)
            case _:
                raise TypeError(f"{name} is no function of texts")

    def _joined(self, args: Sequence[str]) -> str:
        def write(*texts: str) -> str:
            length = " + ".join(f"strlen({text})" for text in texts)
            return f"(CASE WHEN {length} <= {MAX_BYTES} THEN CAST({' || '.join(texts)} AS VARCHAR) END)"

        return self.guards.once(args, write)

    def _substring(self, text: str, start: str, length: str = "") -> str:
        """Return a part of a text, counted alike by all versions where it begins before the text does."""
        if not length:
            return f"substring({text}, {start})"

        def write(t: str, p: str, n: str) -> str:
            place, count = f"CAST({p} AS BIGINT)", f"CAST({n} AS BIGINT)"
            missing = f"CASE WHEN {place} < 0 THEN greatest(-{place} - length({t}), 0) "
            missing += f"WHEN {place} = 0 THEN 1 ELSE 0 END"
            part = f"substring(substring({t}, {place}), 1, greatest({count} - ({missing}), 0))"
            return f"(CASE WHEN {n} IS NOT NULL THEN {part} END)"  # greatest() would pass over NULL

        # The numbers as texts, because a list has one type.
        return self.guards.once([text, f"CAST({start} AS VARCHAR)", f"CAST({length} AS VARCHAR)"], write)

    def _place(self, number: str) -> str:
        """Return a place in a text; NULL where it is not whole, or infinite."""
        return self.guards.once(
            [number],
            lambda x: (
                f"(CASE WHEN {x} = floor({x}) AND abs({x}) <= {_LARGEST} "
                f"THEN CAST(least(greatest({x}, {-FARTHEST}e0), {FARTHEST}e0) AS BIGINT) END)"
            ),
        )

    def _length(self, number: str) -> str:
        return self.guards.once(
            [number],
            lambda x: (
                f"(CASE WHEN {x} = floor({x}) AND {x} >= 0e0 AND {x} <= {_LARGEST} "
                f"THEN CAST(least({x}, {FARTHEST}e0) AS BIGINT) END)"
            ),
        )


def like(  # noqa: PLR0911  (one return a form)
    text: str, pattern: str, escape: str = "", *, any_case: bool = False
) -> str:
    """Return whether a text fits a pattern, in time that grows with the text and not with its power.

    >>> like("t", "a%"), like("t", "%a_b%c")
    ("starts_with(((t) COLLATE C), 'a')", "regexp_full_match(t, '(?s).*a.b.*c')")
    """
    pieces = pieces_of(pattern, escape) or ()
    if any_case:
        text = f"lower({text})"
        pieces = tuple(lower(piece) if isinstance(piece, str) else piece for piece in pieces)
    match pieces:
        case ():
            return f"(({text}) COLLATE C = '')"
        case (Wildcard.ANY,):
            return f"starts_with({text}, '')"
        case (str(same),):
            return f"(({text}) COLLATE C = {text_literal(same)})"
        case (str(start), Wildcard.ANY):
            return _by_code_point("starts_with", text, text_literal(start))
        case (Wildcard.ANY, str(end)):
            return _by_code_point("ends_with", text, text_literal(end))
        case (Wildcard.ANY, str(inside), Wildcard.ANY):
            return _by_code_point("contains", text, text_literal(inside))
        case _:
            return f"regexp_full_match({text}, {text_literal(_regular(pieces))})"


def _by_code_point(name: str, text: str, part: str) -> str:
    """Return a search for a part of a text; DuckDB's own would search by a column's collation."""
    written = part if part.startswith("'") else f"(({part}) COLLATE C)"
    return f"{name}((({text}) COLLATE C), {written})"  # PostgreSQL's POSITION takes no COLLATE without ()


def _regular(pieces: Sequence[Piece]) -> str:
    written = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
    parts = (
        "".join(f"\\{one}" if one in _MEANT_BY_RE2 else one for one in piece)
        if isinstance(piece, str)
        else written[piece]
        for piece in pieces
    )
    return "(?s)" + "".join(parts)


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
