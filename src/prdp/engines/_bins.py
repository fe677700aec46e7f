"""The bin that a number lies in, in SQL: exact for whole numbers and decimals, for doubles as they are."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from prdp.declare.groups import Binned
from prdp.engines._column_types import column_sql, whole_range
from prdp.expressions.spelling import quoted
from prdp.schema import ColumnType, Schema

_FEW = 256
"""So many bins are told apart by a CASE; among more, a sorted search is faster, and by far among many."""

_NOWHERE = "CAST(NULL AS BIGINT)"
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


@dataclass(frozen=True, slots=True)
class BinColumn:
    """A column and its bins.

    Attributes:
        value: The column as it is compared.
        native: The type of what it is compared with.
        starts: Where bins begin, ascending, with their places; of bins that hold none of the column's
            numbers, none.
        end: The last number of the last bin.
    """

    value: str
    native: str
    starts: tuple[tuple[str, int], ...]
    end: str

    @classmethod
    def of(cls, key: Binned, schema: Schema) -> BinColumn:
        """Return the column's bins, with edges that its own numbers can be compared with."""
        column = schema[key.column]
        steps = _steps(column)
        if steps is None:
            firsts = {_least_double(edge): place for place, edge in enumerate(key.edges[:-1])}
            starts = tuple((f"{first:.17e}", place) for first, place in firsts.items())
            end = f"{_greatest_double(key.edges[-1]):.17e}"
            value = f"({column_sql(key.column, column)} + 0.0)"  # minus zero is zero
            return cls(value, "DOUBLE", starts, end)
        scale, low, high = steps
        wholes = [max(low, math.ceil(edge * 10**scale)) for edge in key.edges[:-1]]
        last = min(high, math.floor(key.edges[-1] * 10**scale))
        kept = {whole: place for place, whole in enumerate(wholes) if whole <= last}
        texts = tuple((_decimal_text(whole, scale), place) for whole, place in kept.items())
        return cls(quoted(key.column), column.native, texts, _decimal_text(last, scale))

    @property
    def many(self) -> bool:
        """Whether the bins are searched by a join."""
        return len(self.starts) > _FEW

    @property
    def key(self) -> str:
        """The place of the bin; among many bins the number itself; NULL beyond the edges."""
        if not self.starts:
            return _NOWHERE
        inside = (
            f"{self.value} >= {self._typed(self.starts[0][0])} AND {self.value} <= {self._typed(self.end)}"
        )
        found = self.value if self.many else self._place(self.starts)
        not_nan = f"WHEN isnan({self.value}) THEN NULL " if self.native == "DOUBLE" else ""
        return f"CASE {not_nan}WHEN {inside} THEN {found} END"

    def search(self, place: int) -> str:
        """Return the join that finds ``bin{place}`` for ``key{place}``; without a key it is NULL."""
        quote = "" if self.native == "DOUBLE" else "'"
        firsts = ", ".join(f"{quote}{start}{quote}" for start, _ in self.starts)
        places = ", ".join(str(number) for _, number in self.starts)
        begins = f"CAST(unnest([{firsts}]) AS {self.native}) AS start{place}"
        listed = f"SELECT {begins}, unnest([{places}]) AS bin{place}"
        return f" ASOF LEFT JOIN ({listed}) AS bins{place} ON key{place} >= start{place}"

    def _place(self, starts: Sequence[tuple[str, int]]) -> str:
        """Return the place of the last bin that begins at the number or before, by binary search."""
        if len(starts) == 1:
            return str(starts[0][1])
        middle = len(starts) // 2
        below, above = self._place(starts[:middle]), self._place(starts[middle:])
        return f"CASE WHEN {self.value} < {self._typed(starts[middle][0])} THEN {below} ELSE {above} END"

    def _typed(self, number: str) -> str:
        return number if self.native == "DOUBLE" else f"CAST('{number}' AS {self.native})"


def _steps(column: ColumnType) -> tuple[int, int, int] | None:
    """Return a column's digits after the point, and its ends in steps of the last; None for doubles."""
    if found := _DECIMAL.fullmatch(column.native):
        most = 10 ** int(found[1]) - 1
        return int(found[2]), -most, most
    ends = whole_range(column)
    return None if ends is None else (0, *ends)


def _decimal_text(steps: int, scale: int) -> str:
    if scale == 0:
        return str(steps)
    digits = str(abs(steps)).zfill(scale + 1)
    return f"{'-' if steps < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _least_double(edge: Fraction) -> float:
    """Return the smallest double that is at least the edge."""
    near = float(edge)
    return (near if Fraction(near) >= edge else math.nextafter(near, math.inf)) + 0.0


def _greatest_double(edge: Fraction) -> float:
    near = float(edge)
    return (near if Fraction(near) <= edge else math.nextafter(near, -math.inf)) + 0.0
