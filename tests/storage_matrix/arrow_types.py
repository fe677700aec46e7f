"""Every type of Arrow's, with ordinary values and the extremes of its physical form.

Types are listed by the library's own ids: one that is neither made nor excepted here fails a test. Extremes
are patterns of bits, so that they lie beyond what a logical type means where its physical form allows that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow

OTHERS = 4
"""How many ordinary records a table has."""

_UNITS = ("s", "ms", "us", "ns")
_CHILDREN = (pyarrow.int64(), pyarrow.string(), pyarrow.timestamp("ms", "UTC"))
_INDEXES = (pyarrow.int8(), pyarrow.uint8(), pyarrow.int32(), pyarrow.uint64())
_VALUES = (
    *_CHILDREN,
    *(pyarrow.float64(), pyarrow.large_string(), pyarrow.binary(), pyarrow.date64(), pyarrow.bool_()),
)

TYPES: Mapping[str, Sequence[Any]] = {
    "NA": [pyarrow.null()],
    "BOOL": [pyarrow.bool_()],
    **{
        f"{sign}INT{bits}": [getattr(pyarrow, f"{sign}int{bits}".lower())()]
        for sign in ("", "U")
        for bits in (8, 16, 32, 64)
    },
    "HALF_FLOAT": [pyarrow.float16()],
    "FLOAT": [pyarrow.float32()],
    "DOUBLE": [pyarrow.float64()],
    "DECIMAL32": [pyarrow.decimal32(9, 2)],
    "DECIMAL64": [pyarrow.decimal64(18, 2)],
    "DECIMAL128": [pyarrow.decimal128(*shape) for shape in ((4, 2), (18, 2), (38, 10), (38, 37), (5, -2))],
    "DECIMAL256": [pyarrow.decimal256(*shape) for shape in ((18, 2), (38, 10), (76, 2))],
    "DATE32": [pyarrow.date32()],
    "DATE64": [pyarrow.date64()],
    "TIME32": [pyarrow.time32("s"), pyarrow.time32("ms")],
    "TIME64": [pyarrow.time64("us"), pyarrow.time64("ns")],
    "TIMESTAMP": [
        pyarrow.timestamp(unit, zone) for unit in _UNITS for zone in (None, "UTC", "Europe/Berlin", "+05:30")
    ],
    "DURATION": [pyarrow.duration(unit) for unit in _UNITS],
    "INTERVAL_MONTH_DAY_NANO": [pyarrow.month_day_nano_interval()],
    "STRING": [pyarrow.string()],
    "LARGE_STRING": [pyarrow.large_string()],
    "STRING_VIEW": [pyarrow.string_view()],
    "BINARY": [pyarrow.binary()],
    "LARGE_BINARY": [pyarrow.large_binary()],
    "BINARY_VIEW": [pyarrow.binary_view()],
    "FIXED_SIZE_BINARY": [pyarrow.binary(3), pyarrow.binary(16)],
    "LIST": [pyarrow.list_(child) for child in _CHILDREN],
    "LARGE_LIST": [pyarrow.large_list(child) for child in _CHILDREN],
    "LIST_VIEW": [pyarrow.list_view(child) for child in _CHILDREN],
    "LARGE_LIST_VIEW": [pyarrow.large_list_view(child) for child in _CHILDREN],
    "FIXED_SIZE_LIST": [pyarrow.list_(child, 1) for child in _CHILDREN],
    "STRUCT": [pyarrow.struct([("a", child)]) for child in _CHILDREN],
    "MAP": [pyarrow.map_(pyarrow.string(), child) for child in _CHILDREN],
    "DENSE_UNION": [pyarrow.dense_union([pyarrow.field("a", child)]) for child in _CHILDREN],
    "SPARSE_UNION": [pyarrow.sparse_union([pyarrow.field("a", child)]) for child in _CHILDREN],
    "DICTIONARY": [pyarrow.dictionary(_INDEXES[place % 4], value) for place, value in enumerate(_VALUES)],
    "RUN_END_ENCODED": [pyarrow.run_end_encoded(pyarrow.int32(), child) for child in _CHILDREN],
}
"""The types that are tried, by the library's id of each."""

EXCEPTED: Mapping[str, str] = {
    "INTERVAL_MONTHS": "pyarrow has no function that makes the type",
    "INTERVAL_DAY_TIME": "pyarrow has no function that makes the type",
}
"""The ids that are left out, and why."""

EXTENSIONS: Mapping[str, Sequence[Any]] = {
    "UuidType": [pyarrow.uuid()],
    "JsonType": [pyarrow.json_()],
    "Bool8Type": [pyarrow.bool8()],
    "OpaqueType": [pyarrow.opaque(child, "odd", "nobody") for child in _CHILDREN],
    "FixedShapeTensorType": [pyarrow.fixed_shape_tensor(pyarrow.int64(), [1])],
}
"""Types that others are stored as, by their classes."""

EXTENSIONS_EXCEPTED = {"ExtensionType": "the base of a caller's own types, which their storages represent"}

_TEXTS = (
    b"",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"a\x00b",
    b"x" * 70_000,
    "\U0010ffff".encode(),
    b"\xc0\x80",
    b"\xe4",
)
_PATTERNS: Sequence[Callable[[int], bytes]] = (
    bytes,
    lambda width: b"\xff" * width,
    lambda width: bytes(width - 1) + b"\x80",
    lambda width: b"\xff" * (width - 1) + b"\x7f",
    lambda width: bytes(width - 2) + b"\xf0\x7f" if width > 1 else b"\x7e",
    lambda width: b"\x01" + bytes(max(width - 3, 0)) + b"\xf0\xff" if width > 2 else b"\x81" * width,
    lambda width: bytes(7 * place % 251 for place in range(1, width + 1)),
    lambda width: bytes(250 - 3 * place for place in range(width)),
)


@dataclass(frozen=True)
class Column:
    """A column of one type.

    Attributes:
        kind: Its type.
        ordinary: The values of ordinary records.
        extremes: Values that one record may have, each an array of one.
    """

    kind: Any
    ordinary: Any
    extremes: Sequence[Any]


def columns() -> dict[str, Column]:
    """Return a column of every type, by a name that says which."""
    kinds = [kind for made in (*TYPES.values(), *EXTENSIONS.values()) for kind in made]
    return {str(kind): Column(kind, ordinary(kind), list(extremes(kind))) for kind in kinds}


def table(columns: Mapping[str, Column], extremes: Mapping[str, Sequence[Any]] | None = None) -> Any:
    """Return a table of ordinary records, and in their middle one for each extreme of a column.

    Args:
        columns: The columns.
        extremes: The extremes by column; a record has one, and ordinary values in all other columns.
    """
    half = OTHERS // 2
    odd = [(name, one) for name, found in (extremes or {}).items() for one in found]
    records = [1, 2, *[0] * len(odd), 3, 4]
    made: dict[str, Any] = {"record": pyarrow.array(records)}
    for name, column in columns.items():
        plain = column.ordinary[:1]
        middle = [one if whose == name else plain for whose, one in odd]
        made[name] = joined([column.ordinary[:half], *middle, column.ordinary[half:]])
    return pyarrow.table(made)


def joined(parts: Sequence[Any]) -> Any:
    """Return arrays one after another in one array; some types cannot be joined, and stay in chunks."""
    try:
        return pyarrow.chunked_array([pyarrow.concat_arrays(parts)])
    except (pyarrow.ArrowNotImplementedError, pyarrow.ArrowInvalid):
        return pyarrow.chunked_array(parts)


def ordinary(kind: Any) -> Any:
    """Return ordinary values of a type."""
    types = pyarrow.types
    if isinstance(kind, pyarrow.BaseExtensionType):
        return pyarrow.ExtensionArray.from_storage(kind, ordinary(kind.storage_type))
    if types.is_null(kind):
        return pyarrow.nulls(OTHERS)
    if (nested := _nested(kind, ordinary, OTHERS)) is not None:
        return nested
    if types.is_fixed_size_binary(kind):
        return pyarrow.array([bytes([65 + place]) * kind.byte_width for place in range(OTHERS)], kind)
    if types.is_floating(kind):
        return pyarrow.array([1.0, 2.0, 3.0, 4.0]).cast(kind)
    return pyarrow.array(list(_plain(kind)), kind)


def _plain(kind: Any) -> Iterator[Any]:
    types = pyarrow.types
    for place in range(1, OTHERS + 1):
        if types.is_boolean(kind):
            yield place % 2 == 0
        elif types.is_date(kind):
            yield date(2025, 3, place)
        elif types.is_time(kind):
            yield time(place)
        elif types.is_timestamp(kind):
            yield datetime(2025, 3, place, 12, tzinfo=UTC if kind.tz else None)
        elif types.is_decimal(kind):
            yield Decimal(place * 10 ** max(-kind.scale, 0))
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            yield "abcd"[place - 1]
        elif types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
            yield b"abcd"[place - 1 : place]
        elif types.is_interval(kind):
            yield (place, place, place)
        else:
            yield place


def extremes(kind: Any) -> Iterator[Any]:
    """Yield the extremes of a type, NULL among them."""
    types = pyarrow.types
    yield pyarrow.nulls(1, kind)
    if isinstance(kind, pyarrow.BaseExtensionType):
        for one in extremes(kind.storage_type):
            yield pyarrow.ExtensionArray.from_storage(kind, one)
    elif types.is_null(kind):
        return
    elif types.is_boolean(kind):
        yield from (pyarrow.array([value]) for value in (True, False))
    elif (child := _child(kind)) is not None:
        for one in extremes(child):
            yield _nested(kind, lambda _, one=one: one, 1)  # type: ignore[misc]
    elif types.is_fixed_size_binary(kind) or _is_fixed(kind):
        width = kind.byte_width if types.is_fixed_size_binary(kind) else kind.bit_width // 8
        for pattern in _PATTERNS:
            yield pyarrow.Array.from_buffers(kind, 1, [None, pyarrow.py_buffer(pattern(width))])
    else:
        yield from (_of_bytes(kind, text) for text in _TEXTS)


def _is_fixed(kind: Any) -> bool:
    try:
        return bool(kind.bit_width >= 8)
    except ValueError:
        return False


def _of_bytes(kind: Any, text: bytes) -> Any:
    """Return one text or one run of bytes, whatever the bytes are."""
    types = pyarrow.types
    if types.is_string_view(kind) or types.is_binary_view(kind):
        head = len(text).to_bytes(4, "little")
        place = text[:4] + bytes(8) if len(text) > 12 else text + bytes(12 - len(text))
        buffers = [None, pyarrow.py_buffer(head + place), pyarrow.py_buffer(text)]
        return pyarrow.Array.from_buffers(kind, 1, buffers)
    width = 8 if types.is_large_string(kind) or types.is_large_binary(kind) else 4
    offsets = bytes(width) + len(text).to_bytes(width, "little")
    return pyarrow.Array.from_buffers(kind, 1, [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(text)])


def _child(kind: Any) -> Any:
    """Return the type of what is nested in a type; None if nothing is."""
    types = pyarrow.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return kind.value_type
    if types.is_map(kind):
        return kind.item_type
    if types.is_struct(kind) or types.is_union(kind):
        return kind.field(0).type
    return kind.value_type if hasattr(kind, "value_type") else None


def _nested(kind: Any, make: Callable[[Any], Any], length: int) -> Any:  # noqa: PLR0911  (one a type)
    """Return an array of a nested type, each value of which holds one of its child's; None of other types."""
    types = pyarrow.types
    if (child := _child(kind)) is None:
        return None
    values = make(child)
    places = list(range(length + 1))
    if types.is_dictionary(kind):
        return pyarrow.DictionaryArray.from_arrays(pyarrow.array(places[:-1], kind.index_type), values)
    if types.is_run_end_encoded(kind):
        ends = pyarrow.array(places[1:], kind.run_end_type)
        return pyarrow.Array.from_buffers(kind, length, [None], children=[ends, values])  # nothing is checked
    if types.is_map(kind):
        return pyarrow.MapArray.from_arrays(places, pyarrow.array(["k"] * length), values)
    if types.is_struct(kind):
        return pyarrow.StructArray.from_arrays([values], fields=list(kind))
    if types.is_union(kind):
        tags = pyarrow.array([0] * length, pyarrow.int8())
        if kind.mode == "sparse":
            return pyarrow.UnionArray.from_sparse(tags, [values], ["a"])
        return pyarrow.UnionArray.from_dense(
            tags, pyarrow.array(places[:-1], pyarrow.int32()), [values], ["a"]
        )
    if types.is_fixed_size_list(kind):
        return pyarrow.FixedSizeListArray.from_arrays(values, kind.list_size)
    wide = types.is_large_list(kind) or types.is_large_list_view(kind)
    offset = pyarrow.int64() if wide else pyarrow.int32()
    offsets = pyarrow.array(places, offset)
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        whole = pyarrow.LargeListViewArray if wide else pyarrow.ListViewArray
        return whole.from_arrays(offsets[:-1], pyarrow.array([1] * length, offset), values)
    whole = pyarrow.LargeListArray if wide else pyarrow.ListArray
    return whole.from_arrays(offsets, values)
