"""The group of a record, in SQL: its keys joined with the public list; no row can make it fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction

from prdp.engines._column_types import column_sql, fits_64_bits, is_native_integer
from prdp.expressions.spelling import quoted, text_literal
from prdp.grouping import Bin, Bins, Grouping, GroupKey, KeyValue, Truncated
from prdp.schema import Kind, Schema

_FIRST, _LAST = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59'"
"""Between these no date function of the engine can overflow."""


def key_columns(grouping: Grouping, schema: Schema) -> list[str]:
    """Return the record's keys as select items ``key0``, ``key1``, ...; NULL where it has none."""
    return [f"{_key_sql(key, schema)} AS key{place}" for place, key in enumerate(grouping.by)]


def joined(records: str, grouping: Grouping, schema: Schema, *, every_row: bool = False) -> str:
    """Return the join of a subquery that has the key columns with the list of public keys.

    With ``every_row``, rows of no listed key stay, and their ``grp`` is NULL.
    """
    names = [f"listed{place}" for place in range(len(grouping.by))]
    literals = [
        [_literal(by, value, schema) for by, value in zip(grouping.by, key, strict=True)]
        for key in grouping.keys
    ]
    rows = ", ".join(f"({', '.join(key)}, {place})" for place, key in enumerate(literals))
    match = " AND ".join(f"key{place} = {name}" for place, name in enumerate(names))
    kind = "LEFT JOIN" if every_row else "JOIN"
    return f"{records} {kind} (VALUES {rows}) AS listed({', '.join(names)}, grp) ON {match}"


def _key_sql(key: GroupKey, schema: Schema) -> str:
    column = schema[key.column]
    value = column_sql(key.column, column)
    if isinstance(key, Bins):
        return _bin_sql(value, key.edges)
    if isinstance(key, Truncated):
        return (
            f"CASE WHEN {value} BETWEEN {_FIRST} AND {_LAST} "
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


def _bin_sql(value: str, edges: Sequence[Fraction]) -> str:
    """Return the index of the bin that a double lies in, by binary search; NULL beyond the edges."""
    ends = [_least_double(edge) for edge in edges]

    def search(low: int, high: int) -> str:
        if high - low == 1:
            return str(low)
        middle = (low + high) // 2
        below, above = search(low, middle), search(middle, high)
        return f"CASE WHEN {value} < {ends[middle]:.17e} THEN {below} ELSE {above} END"

    within = f"{value} >= {ends[0]:.17e} AND {value} <= {_greatest_double(edges[-1]):.17e}"
    return f"CASE WHEN isnan({value}) THEN NULL WHEN {within} THEN {search(0, len(edges) - 1)} END"


def _least_double(edge: Fraction) -> float:
    """Return the smallest double that is at least the edge."""
    near = float(edge)
    return near if Fraction(near) >= edge else math.nextafter(near, math.inf)


def _greatest_double(edge: Fraction) -> float:
    near = float(edge)
    return near if Fraction(near) <= edge else math.nextafter(near, -math.inf)


def _literal(by: GroupKey, value: KeyValue, schema: Schema) -> str:
    match value:
        case Bin():
            assert isinstance(by, Bins)  # noqa: S101  (told to the type checker)
            return str(by.edges.index(value.low))
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return by_code_point(text_literal(value))
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case _ if is_native_integer(schema[by.column]):
            return f"CAST({value} AS {'BIGINT' if fits_64_bits(schema[by.column]) else 'HUGEINT'})"
        case _:
            return f"{float(value):.17e}"
