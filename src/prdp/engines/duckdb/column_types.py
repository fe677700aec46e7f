"""Map DuckDB's column types to SQL, a range of numbers, and whether they have NaN."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prdp.expressions.intervals import UNBOUNDED, Interval
from prdp.expressions.tokens import quoted
from prdp.schema import ColumnType, Kind

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_RANGES = {
    **{name: Interval(-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) for name, bits in _BITS.items()},
    **{f"U{name}": Interval(0.0, 2.0**bits) for name, bits in _BITS.items()},
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_EXACT_WHOLE = 2**53
_EXACT_DIGITS = 15
_LARGEST_EXACT_POWER_OF_TEN = 22


def range_of(column: ColumnType) -> Interval:
    """Return the doubles that a column can hold by its type alone."""
    if column.native.startswith("DECIMAL("):
        return Interval(-1e38, 1e38)
    return _RANGES.get(column.native, UNBOUNDED)


def has_nan(column: ColumnType) -> bool:
    """Return whether a column's numbers may include NaN."""
    return not (column.integer or column.native in _RANGES or column.native.startswith("DECIMAL("))


def is_native_integer(column: ColumnType) -> bool:
    """Return whether a column can be compared with a whole constant as it is."""
    return column.native in _RANGES


def fits_64_bits(column: ColumnType) -> bool:
    """Return whether every whole number that a column can hold is a BIGINT."""
    return column.native in _RANGES and not column.native.endswith(("UBIGINT", "HUGEINT"))


def whole_range(column: ColumnType) -> tuple[int, int] | None:
    """Return the least and the greatest whole number of an integer column; None for others."""
    name = column.native.removeprefix("U")
    if name not in _BITS or column.native not in _RANGES:
        return None
    bits = _BITS[name]
    return (0, 2**bits - 1) if column.native.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def items_within_digits(columns: Mapping[str, str]) -> str:
    """Return select items of all columns of a source; a decimal that has more digits than its type is NULL.

    A file or a frame can hold such, and DuckDB fails for good at some of them.

    Args:
        columns: The native types of the columns, by name.

    >>> items_within_digits({"a": "BIGINT", "b": "DECIMAL(4,2)"})
    '* REPLACE (CASE WHEN "b" BETWEEN -99.99 AND 99.99 THEN "b" END AS "b")'
    """
    kept = []
    for name, native in columns.items():
        if found := _DECIMAL.fullmatch(native):
            most, column = _decimal("9" * int(found[1]), int(found[2])), quoted(name)
            kept.append(f"CASE WHEN {column} BETWEEN -{most} AND {most} THEN {column} END AS {column}")
    return f"* REPLACE ({', '.join(kept)})" if kept else "*"


def column_sql(name: str, column: ColumnType) -> str:
    """Return a column's value as the language sees it: as a double, say, or a text."""
    match column.kind:
        case Kind.NUMBER:
            return _double_sql(quoted(name), column.native)
        case Kind.TEXT if column.native != "VARCHAR":
            return f"CAST({quoted(name)} AS VARCHAR)"
        case Kind.MOMENT:
            return _moment_sql(quoted(name), column.native)
        case _:
            return quoted(name)


def _double_sql(name: str, native: str) -> str:
    """Return a number as the nearest double, which the engine's own cast misses for some types."""
    if native == "DOUBLE":
        return name
    if native == "FLOAT" or (native in _RANGES and not native.endswith("HUGEINT")):
        return f"CAST({name} AS DOUBLE)"
    if native.endswith("HUGEINT"):
        return _rounded_once(name, str(_EXACT_WHOLE))
    if found := _DECIMAL.fullmatch(native):
        return _decimal_sql(name, int(found[1]), int(found[2]))
    return f"TRY_CAST({name} AS DOUBLE)"


def _decimal_sql(name: str, digits: int, scale: int) -> str:
    if digits <= _EXACT_DIGITS:
        return f"CAST({name} AS DOUBLE)"
    most = _decimal("9" * digits, scale)
    if scale > _LARGEST_EXACT_POWER_OF_TEN:
        return (
            f"(CASE WHEN {name} BETWEEN -{most} AND {most} THEN CAST(CAST({name} AS VARCHAR) AS DOUBLE) END)"
        )
    return _rounded_once(name, _decimal(str(_EXACT_WHOLE), scale), most)


def _decimal(whole: str, scale: int) -> str:
    """Return a constant, of its digits without the point.

    >>> _decimal("1234", 2), _decimal("12", 3), _decimal("12", 0)
    ('12.34', '0.012', '12')
    """
    padded = whole.zfill(scale + 1)
    return f"{padded[:-scale]}.{padded[-scale:]}" if scale else padded


def _rounded_once(name: str, limit: str, most: str = "") -> str:
    """Cast through text where the engine's own cast would round twice.

    Args:
        name: The number.
        limit: Up to where the engine's own cast is exact.
        most: The largest number of its type: a file can hold larger ones, which have no text, and are NULL.
    """
    text = f"CAST(CAST({name} AS VARCHAR) AS DOUBLE)"
    rest = f"WHEN {name} BETWEEN -{most} AND {most} THEN {text}" if most else f"ELSE {text}"
    return f"(CASE WHEN {name} BETWEEN -{limit} AND {limit} THEN CAST({name} AS DOUBLE) {rest} END)"


def _moment_sql(name: str, native: str) -> str:
    if native == "TIMESTAMP":
        return name
    if native == "TIMESTAMP WITH TIME ZONE":
        # A cast would move it to the session's zone; this is UTC whatever the session.
        return f"make_timestamp(epoch_us({name}))"
    if native == "TIMESTAMPTZ_NS":
        return f"make_timestamp(epoch_us(TRY_CAST({name} AS TIMESTAMP WITH TIME ZONE)))"
    return f"TRY_CAST({name} AS TIMESTAMP)"
