"""No value of any type of ClickHouse changes what other records count for.

Extremes are made of the bytes that a column stores, whatever its type takes for a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from chdb.session import Session

from prdp.engines.clickhouse.engine import open_source
from prdp.engines.engine import Engine
from prdp.schema import Kind
from tests.engines.clickhouse import chdb
from tests.storage_matrix.typed_tables import Columns, Rows, TypedColumn, faults, named

pytestmark = pytest.mark.slow

__all__ = ["chdb"]

_TEXTS = ("repeat(unhex('f48fbfbf'), 30)", "''", "unhex('00')", "unhex('ff63fe')", "repeat('a', 900000)")
_FLOATS = {"BFloat16": (16, "7f80", "0001"), "Float32": (32, "7f800000", "00000001")}
_FLOATS["Float64"] = (64, "7ff0000000000000", "0000000000000001")


def _stored(kind: str, data: bytes) -> str:
    """Return the value of a type by its bytes."""
    escaped = kind.replace("'", "\\'")
    literal = "".join(f"\\x{byte:02x}" for byte in data)
    return f"(SELECT c FROM format(RowBinary, 'c {escaped}', '{literal}'))"


def _raw(kind: str, number: int, bits: int) -> str:
    """Return the value of a type that is stored as a whole number."""
    return _stored(kind, number.to_bytes(bits // 8, "little", signed=number < 0))


def _ends(kind: str, bits: int) -> list[str]:
    return [_raw(kind, number, bits) for number in (2 ** (bits - 1) - 1, -(2 ** (bits - 1)), -1, 0)]


def _whole() -> Iterator[TypedColumn]:
    for bits in (8, 16, 32, 64, 128, 256):
        for kind, low, high in (
            (f"Int{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1),
            (f"UInt{bits}", 0, 2**bits - 1),
        ):
            usual = [f"to{kind}('{number}')" for number in (1, 7, high // 2 + 1)]
            yield TypedColumn(kind, usual, [f"to{kind}('{end}')" for end in (high, low, 0)])


def _floats() -> Iterator[TypedColumn]:
    for kind, (bits, infinity, least) in _FLOATS.items():
        patterns = [infinity, "f" + infinity[1:], infinity[:-1] + "1", "f" * (bits // 4), least]
        patterns += ["8" + "0" * (bits // 4 - 1)]  # -inf, two NaN of other bits, the least double, minus zero
        odd = [_stored(kind, bytes.fromhex(one)[::-1]) for one in patterns]
        yield TypedColumn(kind, ["1", "2.5", "300"], odd)


def _decimals() -> Iterator[TypedColumn]:
    for digits, scale in ((1, 0), (9, 2), (9, 9), (18, 2), (19, 0), (38, 0), (38, 10), (38, 38), (76, 2)):
        kind = f"Decimal({digits}, {scale})"
        bits = 32 if digits <= 9 else 64 if digits <= 18 else 128 if digits <= 38 else 256
        ends = [_raw(kind, number, bits) for number in (10**digits - 1, 1 - 10**digits)]
        usual = [_raw(kind, number, bits) for number in (1, 7, 10**digits // 2 + 1)]
        yield TypedColumn(kind, usual, [*ends, *_ends(kind, bits)])


def _moments() -> Iterator[TypedColumn]:
    day, second = 20_148, 20_148 * 86_400
    for kind, bits, unit in (("Date", 16, 1), ("Date32", 32, 1)):
        usual = [_raw(kind, day + more, bits) for more in (0, unit, 40 * unit)]
        yield TypedColumn(kind, usual, _ends(kind, bits))
    zones = ("", "'UTC'", "'Asia/Tokyo'", "'America/St_Johns'")
    for kind in (f"DateTime({zone})" if zone else "DateTime" for zone in zones):
        yield TypedColumn(
            kind, [_raw(kind, second + more, 32) for more in (0, 1, 40 * 86_400)], _ends(kind, 32)
        )
    for digits in range(10):
        zone = zones[digits % len(zones)]
        kind = f"DateTime64({digits}, {zone})" if zone else f"DateTime64({digits})"
        usual = [_raw(kind, (second + more) * 10**digits, 64) for more in (0, 1, 40 * 86_400)]
        yield TypedColumn(kind, usual, _ends(kind, 64))


def _texts() -> Iterator[TypedColumn]:
    usual = ("'a'", "'b'", "'clerk'")
    yield TypedColumn("String", usual, _TEXTS)
    yield TypedColumn("FixedString(6)", usual, ("unhex('fffefdfcfbfa')", "''", "unhex('000061000000')"))
    for kind, bits in (
        ("Enum8('a' = 1, 'b' = 2, 'clerk' = -3, '' = 127)", 8),
        ("Enum16('a' = 1, 'b' = 500)", 16),
    ):
        yield TypedColumn(kind, ("'a'", "'b'", "'a'"), [_raw(kind, one, bits) for one in (127, -9, 0)])
    yield TypedColumn(
        "UUID",
        ("toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')",),
        ("toUUID('" + "f" * 8 + "-ffff" * 3 + "-" + "f" * 12 + "')",),
    )
    yield TypedColumn("IPv4", ("'10.0.0.1'", "'10.0.0.2'"), ("'255.255.255.255'", "'0.0.0.0'"))
    yield TypedColumn(
        "IPv6", ("'::1'", "'::2'"), ("'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'", "'::ffff:1.2.3.4'")
    )
    yield TypedColumn("Bool", ("true", "false"), [_raw("Bool", number, 8) for number in (2, 128, 255)])


_INTERVALS = "Nanosecond Microsecond Millisecond Second Minute Hour Day Week Month Quarter Year"
_UNREAD: Mapping[str, tuple[str, str]] = {
    **{f"Interval{unit}": ("toInt64(1)", "toInt64(9223372036854775807)") for unit in _INTERVALS.split()},
    "Array(Int8)": ("[1]", "[]"),
    "Tuple(Int8, String)": ("(1, 'a')", "(2, '')"),
    "Map(String, Int8)": ("map('a', 1)", "map()"),
    "Nested(a Int8)": ("[tuple(toInt8(1))]", "[]"),
    "Variant(Int8, String)": ("toInt8(1)", "'a'"),
    "Dynamic": ("1", "'a'"),
    "JSON": ("'{\"a\": 1}'", "'{}'"),
    "Point": ("(1, 1)", "(inf, nan)"),
    "Ring": ("[(1, 1)]", "[]"),
    "LineString": ("[(1, 1)]", "[]"),
    "MultiPoint": ("[(1, 1)]", "[]"),
    "MultiLineString": ("[[(1, 1)]]", "[]"),
    "Polygon": ("[[(1, 1)]]", "[]"),
    "MultiPolygon": ("[[[(1, 1)]]]", "[]"),
    "Geometry": ("(1., 1.)::Point", "(inf, nan)::Point"),
    "Time": ("toTime('01:00:00')", "toTime('999:59:59')"),
    "Time64(9)": ("toTime64('01:00:00', 9)", "toTime64('999:59:59', 9)"),
    "QBit(Float32, 2)": ("[1., 2.]", "[inf, nan]"),
    "AggregateFunction(sum, Int8)": (
        "arrayReduce('sumState', [toInt8(1)])",
        "arrayReduce('sumState', [toInt8(7)])",
    ),
}
"""What prdp does not read: it is in the table all the same."""

_WRAPPERS = {"Nullable": "NULL", "LowCardinality": "", "SimpleAggregateFunction": ""}
_NOT_MADE = {
    "Nothing": "the type of an empty list's elements; no column has it",
    **{f"Decimal{bits}": "another name of Decimal(digits, scale)" for bits in (32, 64, 128, 256)},
    "Enum": "another name of Enum8 or Enum16",
    "DateTime32": "another name of DateTime",
}


def _plain() -> list[TypedColumn]:
    return [*_whole(), *_floats(), *_decimals(), *_moments(), *_texts()]


def _wrapped() -> Iterator[TypedColumn]:
    """Yield columns that may be NULL, or are coded; each of a type that is there without it too."""
    for column in _plain():
        family = column.declared.partition("(")[0]
        yield TypedColumn(f"Nullable({column.declared})", column.usual, ["NULL", *column.extremes[:1]])
        if family in (
            "String",
            "FixedString",
            "Int64",
            "UInt64",
            "Float64",
            "Date",
            "DateTime",
            "UUID",
            "IPv4",
        ):
            kind = f"LowCardinality(Nullable({column.declared}))"
            yield TypedColumn(kind, column.usual, ["NULL", *column.extremes[:1]])
    yield TypedColumn("SimpleAggregateFunction(max, Int64)", ["1", "7", "9"], [str(2**63 - 1)])


COLUMNS = named(_plain())
WRAPPED = named(_wrapped())
OTHERS = named(TypedColumn(kind, [usual], [odd]) for kind, (usual, odd) in _UNREAD.items())
_SETTINGS = (
    "allow_suspicious_low_cardinality_types = 1, enable_time_time64_type = 1, "
    "allow_experimental_qbit_type = 1, flatten_nested = 0, allow_suspicious_variant_types = 1"
)


def test_every_family_of_types_is_in_the_matrix_or_has_a_reason(chdb: Session) -> None:
    listed = str(chdb.query("SELECT name FROM system.data_type_families WHERE alias_to = ''", "TSV")).split()
    tried = {one.declared.partition("(")[0] for one in (*COLUMNS.values(), *OTHERS.values())}
    assert tried | {*_WRAPPERS} | {*_NOT_MADE} == {*listed}


class Kept:
    """Keeps rows in a table of a session, in place of those that were in it."""

    def __init__(self, session: Session, how: str) -> None:
        self._session, self._how = session, how

    def __call__(self, some: Columns, rows: Rows) -> Engine:
        columns = ", ".join(f"{name} {column.declared}" for name, column in some.items())
        self._session.query(f"SET {_SETTINGS}")
        self._session.query("DROP TABLE IF EXISTS matrix SYNC")
        self._session.query(f"CREATE TABLE matrix (record Int64, {columns}) ENGINE = {self._how}")
        for row in rows if "File" not in self._how else ():
            self._session.query(f"INSERT INTO matrix SELECT {', '.join(map(str, row))}")
        if "File" in self._how and rows:  # to which nothing can be added later
            selected = (f"SELECT {_typed(some, row)}" for row in rows)
            self._session.query(f"INSERT INTO matrix {' UNION ALL '.join(selected)}")
        return open_source(self._session, None, table="matrix", rows_are_records="File" in self._how)


def _typed(columns: Columns, row: Sequence[Any]) -> str:
    kinds = [column.declared.replace("'", "\\'") for column in columns.values()]
    values = (f"CAST({one}, '{kind}')" for one, kind in zip(row[1:], kinds, strict=True))
    return ", ".join([f"toInt64({row[0]})", *values])


_PLAIN, _SORTED = "MergeTree ORDER BY tuple()", "MergeTree ORDER BY record PARTITION BY record % 2"


@pytest.mark.parametrize(("columns", "how"), [(COLUMNS, _PLAIN), (WRAPPED, _SORTED)])
def test_no_value_of_any_type_changes_what_others_count_for(
    chdb: Session, columns: Columns, how: str
) -> None:
    found = faults(columns, Kept(chdb, how), one_by_one=columns is COLUMNS)
    assert not found, "\n".join(found[:5])[:4000]


def test_values_of_types_that_are_not_read_change_nothing(chdb: Session) -> None:
    engine = Kept(chdb, _PLAIN)(OTHERS, [])
    assert {kind.kind for name, kind in engine.schema.items() if name != "record"} == {Kind.OTHER}
    found = faults(OTHERS, Kept(chdb, _PLAIN))
    assert not found, "\n".join(found[:5])[:4000]


@pytest.mark.parametrize("how", ["File(Parquet)", "Memory", "Log"])
def test_no_value_changes_what_others_count_for_in_other_storages(chdb: Session, how: str) -> None:
    families = (
        "UInt64",
        "Int128",
        "Float32",
        "Decimal(38, 10)",
        "Date32",
        "DateTime64(9, 'UTC')",
        "String",
        "Bool",
    )
    columns = named(column for column in _plain() if column.declared in families)
    found = faults(columns, Kept(chdb, how), one_by_one=False)
    assert not found, "\n".join(found[:5])[:4000]
