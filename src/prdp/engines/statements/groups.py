"""The group of a record, in SQL: its keys joined with the public list; no row can make it fail."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from prdp.declare.groups import Bin, Binned, Grouping, GroupKey, KeyValue, Truncated, Values
from prdp.engines.duckdb.column_types import column_sql, fits_64_bits, is_native_integer, whole_range
from prdp.engines.row_sql.functions import FIRST, LAST
from prdp.expressions.tokens import quoted, text_literal
from prdp.schema import ColumnType, Kind, Schema

_FEW = 256
"""Maximum number of bins in a CASE; among more, a sorted search is faster, and by far among many."""

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
        """True if the bins are searched by a join."""
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


_MANY = 100
_FAR = 1 << 62
"""Keys that lie nearer to zero are subtracted in 64 bits."""
_SEPARATORS = (",", ";", "|", "~", "\n", "\t")
"""Separators of long lists of keys: the first one that is in none of them."""


def key_columns(grouping: Grouping, schema: Schema) -> list[str]:
    """Return the record's keys as select items ``key0``, ``key1``, ...; NULL where it has none."""
    return [f"{key_sql(key, schema)} AS key{place}" for place, key in enumerate(grouping.by)]


def joined(records: str, grouping: Grouping, schema: Schema, *, every_row: bool = False) -> str:
    """Return the join of a subquery that has the key columns with the list of public keys.

    With ``every_row``, rows of no listed key stay, and their ``grp`` is NULL; where they are a group
    of their own, it is the number after the listed ones.
    """
    public = grouping.listed
    if not public:  # all records that have none of no keys
        return f"(SELECT *, 0::INTEGER AS grp FROM {records})"
    ends = _consecutive(grouping, schema)
    if ends is not None:
        return _counted_off(records, *ends, every_row=every_row, other=grouping.other)
    columns = [_listed(by, [key[place] for key in public], schema) for place, by in enumerate(grouping.by)]
    raw = ", ".join(f"unnest({_one_list(texts)}) AS raw{place}" for place, (texts, _) in enumerate(columns))
    named = ", ".join(
        f"{form.format(f'raw{place}')} AS listed{place}" for place, (_, form) in enumerate(columns)
    )
    listed = f"SELECT {named}, grp FROM (SELECT {raw}, unnest(range({len(public)})::INTEGER[]) AS grp)"
    bins = [
        (place, BinColumn.of(key, schema)) for place, key in enumerate(grouping.by) if isinstance(key, Binned)
    ]
    searched = "".join(column.search(place) for place, column in bins if column.many)
    keys = {place: f"key{place}" for place in range(len(grouping.by))}
    keys |= {place: f"bin{place}" for place, column in bins if column.many}
    match = " AND ".join(f"{key} = listed{place}" for place, key in keys.items())
    every_row = every_row or grouping.other
    found = f"{records}{searched} {'LEFT JOIN' if every_row else 'JOIN'} ({listed}) AS listed ON {match}"
    if not grouping.other:
        return found
    return f"(SELECT * REPLACE (coalesce(grp, {len(public)}) AS grp) FROM {found})"


def _consecutive(grouping: Grouping, schema: Schema) -> tuple[int, int] | None:
    """Return the first and the last key where the list counts up by ones, in a column of whole numbers.

    Then a record's group is how far its key is from the first, and nothing need be looked up.
    """
    by = grouping.by[0]
    if len(grouping.by) > 1 or not isinstance(by, Values) or not fits_64_bits(schema[by.column]):
        return None
    first, last = grouping.listed[0][0], grouping.listed[-1][0]
    if not isinstance(first, int) or not isinstance(last, int) or not -_FAR < first <= last < _FAR:
        return None
    counted = zip(range(first, last + 1), grouping.listed, strict=False)
    if last - first + 1 != len(grouping.listed) or any(number != key for number, (key,) in counted):
        return None
    return first, last


def _counted_off(records: str, first: int, last: int, *, every_row: bool, other: bool) -> str:
    """Return records with their group, the distance of ``key0`` from the first key; see ``joined``."""
    key = "CAST(key0 AS BIGINT)"
    number = f"CASE WHEN {key} BETWEEN {first} AND {last} THEN CAST({key} - ({first}) AS INTEGER) END"
    if other:
        return f"(SELECT *, coalesce({number}, {last - first + 1}) AS grp FROM {records})"
    found = f"(SELECT *, {number} AS grp FROM {records})"
    return found if every_row else f"(SELECT * FROM {found} WHERE grp IS NOT NULL)"


def key_sql(key: GroupKey, schema: Schema) -> str:
    """Return a record's key; NULL where it has none."""
    if isinstance(key, Binned):
        return BinColumn.of(key, schema).key
    column = schema[key.column]
    value = column_sql(key.column, column)
    if isinstance(key, Truncated):
        return (
            f"CASE WHEN {value} BETWEEN {FIRST} AND {LAST} "
            f"THEN CAST(date_trunc('{key.part}', {value}) AS TIMESTAMP) END"
        )
    if column.kind is Kind.TEXT:
        return by_code_point(value)
    if column.kind is not Kind.NUMBER:
        return value
    if fits_64_bits(column):
        return quoted(key.column)
    return f"CAST({quoted(key.column)} AS HUGEINT)" if is_native_integer(column) else f"({value} + 0.0)"


def by_code_point(text: str) -> str:
    """Return a text as bytes, which no collation of the caller's can take for others.

    Under a collation two listed keys might be equal, and a record in both of their groups.
    """
    return f"encode({text})"


def _listed(by: GroupKey, values: Sequence[KeyValue], schema: Schema) -> tuple[list[str], str]:
    """Return a column of the listed keys as constants, and the form that makes keys of them."""
    if isinstance(by, Binned):
        places = {edge: place for place, edge in enumerate(by.edges)}
        return [str(places[value.low]) for value in values if isinstance(value, Bin)], "{}"
    column = schema[by.column]
    texts = [_constant(value) for value in values]
    match column.kind:
        case Kind.TEXT:
            return texts, by_code_point("{}")
        case Kind.MOMENT:
            return texts, "CAST({} AS TIMESTAMP)"
        case Kind.NUMBER if is_native_integer(column):
            return texts, f"CAST({{}} AS {'BIGINT' if fits_64_bits(column) else 'HUGEINT'})"
        case _:
            return texts, "{}"


def _one_list(constants: Sequence[str]) -> str:
    """Return constants as one list; many texts as one text that is split, which is read far faster.

    A row of constants each would take the engine many times longer still.
    """
    if len(constants) > _MANY and all(text.startswith("'") for text in constants):
        for separator in _SEPARATORS:
            if not any(separator in text for text in constants):
                whole = separator.join(text[1:-1] for text in constants)
                return f"string_split('{whole}', '{separator}')"
    return f"[{', '.join(constants)}]"


def _constant(value: KeyValue) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return text_literal(value)
        case datetime():
            return text_literal(value.isoformat(sep=" "))
        case float():
            return f"{value:.17e}"
        case _:
            return text_literal(str(value))
