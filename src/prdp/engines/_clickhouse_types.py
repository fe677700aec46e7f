"""Columns of ClickHouse as prdp reads them: what kind they are of, and as which plain value they are read.

A value is read exactly and totally, or not at all. Moments are microseconds since 1970 in UTC, whatever zone
a column or a server has; texts are their bytes.
"""

from __future__ import annotations

import re

from prdp.expressions.moments import DAY
from prdp.schema import ColumnType, Kind

_WHOLE = {
    **{
        f"Int{bits}": name
        for bits, name in ((8, "TINYINT"), (16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"))
    },
    **{f"UInt{bits}": name for bits, name in ((8, "UTINYINT"), (16, "USMALLINT"), (32, "UINTEGER"))},
}
_WIDE = {"UInt64": "UBIGINT", "Int128": "HUGEINT"}
_DECIMAL = re.compile(r"Decimal\((\d+), ?(\d+)\)")
_MOST_DIGITS = 38
_TICKS = re.compile(r"DateTime64\((\d)(?:, .*)?\)")
_WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)")
_MICROSECONDS, _SECOND = 6, 1_000_000
_LAST = 2**63 - 1


def read_as(native: str, name: str) -> tuple[ColumnType, str]:
    """Return what a column of ClickHouse is to prdp, and the SQL that reads it.

    >>> read_as("Nullable(Int32)", "`v`")
    (INTEGER, 'toInt64(`v`)')
    >>> read_as("LowCardinality(String)", "`job`"), read_as("Array(Int8)", "`x`")[0].kind
    ((VARCHAR, 'toString(`job`)'), <Kind.OTHER: 'something that expressions do not read'>)
    """
    kind, read = _read_as(native, name)
    return (kind if "Nullable(" in native else kind.never_null()), read


def _read_as(native: str, name: str) -> tuple[ColumnType, str]:
    inner = native
    while wrapped := _WRAPPED.fullmatch(inner):
        inner = wrapped[1]
    whole = _WHOLE.get(inner) or _WIDE.get(inner)
    if whole:
        read = f"toInt64({name})" if inner in _WHOLE else f"to{inner}({name})"
        return ColumnType(Kind.NUMBER, integer=True, native=whole), read
    for found in (_number(inner, name), _text(inner, name), _moment(inner, name)):
        if found is not None:
            return found
    return ColumnType(Kind.OTHER, native=native), name


def _number(inner: str, name: str) -> tuple[ColumnType, str] | None:
    if inner in ("Float64", "Float32", "BFloat16"):
        kind = "DOUBLE" if inner == "Float64" else "FLOAT"
        return ColumnType(Kind.NUMBER, native=kind), name if inner == "Float64" else f"toFloat64({name})"
    if inner == "Bool":
        return ColumnType(Kind.BOOLEAN, native="BOOLEAN"), name
    digits = _DECIMAL.fullmatch(inner)
    if digits and int(digits[1]) <= _MOST_DIGITS:
        return ColumnType(Kind.NUMBER, native=f"DECIMAL({digits[1]},{digits[2]})"), name
    return None


def _text(inner: str, name: str) -> tuple[ColumnType, str] | None:
    """Read a text as it is; one of fixed length without the zero bytes that fill it up."""
    kind = ColumnType(Kind.TEXT, native="VARCHAR")
    if inner.startswith("FixedString("):
        return kind, f"replaceRegexpOne(toString({name}), '\\\\x00+$', '')"
    if inner in ("String", "UUID", "IPv4", "IPv6") or inner.startswith(("Enum8(", "Enum16(")):
        return kind, f"toString({name})"
    return None


def _moment(inner: str, name: str) -> tuple[ColumnType, str] | None:
    kind = ColumnType(Kind.MOMENT, native="TIMESTAMP")
    if inner in ("Date", "Date32"):
        days = f"toUInt16({name})" if inner == "Date" else f"toInt32({name})"
        return kind, f"toInt64({days}) * toInt64({DAY})"
    if inner == "DateTime" or inner.startswith("DateTime("):
        return kind, f"toInt64(toUnixTimestamp({name})) * {_SECOND}"
    if ticks := _TICKS.fullmatch(inner):
        return kind, _microseconds(f"reinterpretAsInt64({name})", int(ticks[1]))
    return None


def _microseconds(ticks: str, digits: int) -> str:
    """Return ticks, 10^digits to the second, in microseconds: rounded down, and within 64 bits."""
    if digits == _MICROSECONDS:
        return ticks
    step = 10 ** abs(digits - _MICROSECONDS)
    if digits > _MICROSECONDS:
        return f"intDiv({ticks}, {step}) - if({ticks} % {step} < 0, 1, 0)"
    scaled = f"toInt128({ticks}) * {step}"
    return f"toInt64(least(greatest({scaled}, toInt128({-_LAST})), toInt128({_LAST})))"
