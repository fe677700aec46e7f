"""Values of the PostgreSQL protocol: types with their numbers, as text and as bytes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from prdp.server.wire.failures import WireError

BOOL, INT8, FLOAT8, NUMERIC, TEXT, DATE, TIMESTAMP = 16, 20, 701, 1700, 25, 1082, 1114
TEXTS, OID = 1009, 26
UNKNOWN = (0, 705)
_SIZES = {BOOL: 1, INT8: 8, FLOAT8: 8, DATE: 4, TIMESTAMP: 8, OID: 4}
_EPOCH = datetime(2000, 1, 1)
_DIGITS = 4
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?")
_ENDLESS = {float("inf"): "Infinity", float("-inf"): "-Infinity"}


@dataclass(frozen=True, slots=True)
class WireColumn:
    """A column of a result: its name and its type's number."""

    name: str
    type: int

    @property
    def size(self) -> int:
        """The size of its values in bytes; -1 where that differs."""
        return _SIZES.get(self.type, -1)


def as_text(value: Any, kind: int) -> bytes | None:  # noqa: PLR0911  (a table of types)
    """Return a value as text; None for NULL.

    >>> as_text(True, BOOL), as_text(41, INT8), as_text(0.5, FLOAT8), as_text(float("inf"), FLOAT8)
    (b't', b'41', b'0.5', b'Infinity')
    """
    value = _of_kind(value, kind)
    if value is None:
        return None
    match value:
        case bool():
            return b"t" if value else b"f"
        case float() if value != value:  # noqa: PLR0124  (NaN)
            return b"NaN"
        case float():
            return (_ENDLESS.get(value) or repr(value).removesuffix(".0")).encode()
        case datetime():
            return value.isoformat(" ").encode()
        case list():
            return _array(value).encode()
        case Decimal():
            return f"{value:f}".encode()
        case _:
            return str(value).encode()


def _array(values: list[Any]) -> str:
    def quoted(one: Any) -> str:
        if one is None:
            return "NULL"
        return '"' + str(one).replace("\\", "\\\\").replace('"', '\\"') + '"'

    return "{" + ",".join(map(quoted, values)) + "}"


def as_bytes(value: Any, kind: int) -> bytes | None:
    r"""Return a value in the binary form of its type; None for NULL.

    >>> as_bytes(1, INT8), as_bytes(True, BOOL), as_bytes(date(2000, 1, 2), DATE)
    (b'\x00\x00\x00\x00\x00\x00\x00\x01', b'\x01', b'\x00\x00\x00\x01')
    """
    value = _of_kind(value, kind)
    if value is None:
        return None
    if kind in _PACKED:
        return _PACKED[kind](value)
    if kind == TEXTS:
        raise WireError("0A000", "lists are sent as text alone.")
    return str(value).encode()


def _whole(value: int) -> bytes:
    if not -(1 << 63) <= value < 1 << 63:
        raise WireError("22003", "a whole number beyond 64 bits has no binary form: ask for results as text.")
    return struct.pack("!q", value)


def _timestamp(value: datetime) -> bytes:
    passed = value.replace(tzinfo=None) - _EPOCH
    return struct.pack("!q", passed // timedelta(microseconds=1))


def _numeric(value: Decimal) -> bytes:
    """Return digits in groups of four, from a power of 10,000 on."""
    sign, digits, power = value.as_tuple()
    places = max(0, -int(power))
    text = "".join(map(str, digits)) + "0" * max(0, int(power))
    whole, part = (text[:-places], text[-places:].rjust(places, "0")) if places else (text, "")
    whole, part = whole.lstrip("0"), part + "0" * (-len(part) % _DIGITS)
    whole = "0" * (-len(whole) % _DIGITS) + whole
    groups = [int((whole + part)[at : at + _DIGITS]) for at in range(0, len(whole + part), _DIGITS)]
    weight = len(whole) // _DIGITS - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = struct.pack(
        "!hhHh", len(groups), weight if groups else 0, 0x4000 if sign and groups else 0, places
    )
    return head + struct.pack(f"!{len(groups)}h", *groups)


_PACKED: dict[int, Callable[[Any], bytes]] = {
    BOOL: lambda value: b"\x01" if value else b"\x00",
    INT8: _whole,
    OID: lambda value: struct.pack("!I", value),
    FLOAT8: lambda value: struct.pack("!d", value),
    NUMERIC: _numeric,
    DATE: lambda value: struct.pack("!i", (value - _EPOCH.date()).days),
    TIMESTAMP: _timestamp,
}


def _of_kind(value: Any, kind: int) -> Any:  # noqa: PLR0911  (a table of types)
    """Return a value as one of a type; an answer that does not fit its column is a failure of ours."""
    if value is None:
        return None
    try:
        match kind:
            case 16:
                return bool(value)
            case 20 | 26:
                return int(value)
            case 701:
                return float(value)
            case 1700:
                return _decimal(value)
            case 1082:
                return value.date() if isinstance(value, datetime) else date.fromisoformat(str(value)[:10])
            case 1114:
                return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            case 1009:
                return list(value)
            case _:
                return str(value).replace("\0", "")
    except (TypeError, ValueError, OverflowError, InvalidOperation):
        raise WireError.of("failed") from None


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return Decimal(str(value))


_WHOLE = {20: "!q", 21: "!h", 23: "!i", 26: "!I"}
_REAL = {700: "!f", 701: "!d"}
_TEXTS = {19, 25, 1042, 1043, *UNKNOWN}


def literal(value: bytes | None, kind: int, *, binary: bool) -> str:
    r"""Return a parameter's value as a constant of SQL, or refuse what is none of its type.

    >>> literal(b"O'Neill", TEXT, binary=False), literal(b"41", INT8, binary=False)
    ("'O''Neill'", '41')
    >>> literal(b"\x00\x00\x00\x29", 23, binary=True)
    '41'
    """
    if value is None:
        return "NULL"
    try:
        return _binary(value, kind) if binary else _written(value.decode("utf-8"), kind)
    except (UnicodeDecodeError, struct.error, ValueError, OverflowError):
        raise WireError("22P03", "a parameter is not of its type.") from None


def _written(text: str, kind: int) -> str:
    if kind in _WHOLE or kind in _REAL or kind == NUMERIC:
        if _NUMBER.fullmatch(text.strip()) is None:
            raise ValueError
        return text.strip()
    if kind == BOOL:
        word = text.strip().lower()
        if word not in {"t", "true", "1", "on", "yes", "f", "false", "0", "off", "no"}:
            raise ValueError
        return "TRUE" if word in {"t", "true", "1", "on", "yes"} else "FALSE"
    if kind == DATE:
        return f"DATE '{date.fromisoformat(text.strip()).isoformat()}'"
    if kind in (TIMESTAMP, 1184):
        return f"TIMESTAMP '{_without_zone(datetime.fromisoformat(text.strip()))}'"
    if kind in _TEXTS:
        return _quoted(text)
    raise WireError("0A000", "parameters are numbers, texts, dates, timestamps and booleans.")


def _binary(value: bytes, kind: int) -> str:  # noqa: PLR0911  (a table of types)
    if kind in _WHOLE:
        return str(struct.unpack(_WHOLE[kind], value)[0])
    if kind in _REAL:
        (number,) = struct.unpack(_REAL[kind], value)
        return _written(repr(number), kind)
    if kind == NUMERIC:
        return _written(_numeric_text(value), kind)
    if kind == BOOL:
        return "TRUE" if struct.unpack("!?", value)[0] else "FALSE"
    if kind == DATE:
        return f"DATE '{(_EPOCH + timedelta(days=struct.unpack('!i', value)[0])).date().isoformat()}'"
    if kind in (TIMESTAMP, 1184):
        return f"TIMESTAMP '{_EPOCH + timedelta(microseconds=struct.unpack('!q', value)[0])}'"
    if kind in _TEXTS:
        return _quoted(value.decode("utf-8"))
    raise WireError("0A000", "parameters are numbers, texts, dates, timestamps and booleans.")


def _numeric_text(value: bytes) -> str:
    count, weight, sign, places = struct.unpack("!hhHh", value[:8])
    if count < 0 or count > 20 or abs(weight) > 10 or not 0 <= places <= 40 or sign not in (0, 0x4000):
        raise ValueError
    groups = struct.unpack(f"!{count}h", value[8:])
    if any(not 0 <= group < 10**_DIGITS for group in groups):
        raise ValueError
    number = sum(
        (Decimal(group).scaleb(_DIGITS * (weight - k)) for k, group in enumerate(groups)), Decimal(0)
    )
    return f"{-number if sign else number:f}"


def _without_zone(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ")


def _quoted(text: str) -> str:
    if "\0" in text:
        raise ValueError
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
