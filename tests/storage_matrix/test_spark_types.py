"""No value of any type of Spark changes what other records count for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from prdp.engines.engine import Engine
from prdp.schema import Kind
from tests.storage_matrix.typed_tables import Columns, Rows, TypedColumn, faults, named

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
]

_DAY = 20_148
_MICROSECONDS = _DAY * 86_400 * 10**6
_TEXTS = (b"\xff\xfe", "\U0010ffff".encode() * 30, b"", b"\x00", None)
_LETTERS = (b"a", b"b", b"clerk")


def _moments(kind: pyarrow.DataType, bits: int, usual: int, day: int) -> TypedColumn:
    ends = (2 ** (bits - 1) - 1, -(2 ** (bits - 1)), -1, None)
    return TypedColumn(kind, (usual, usual + 1, usual + 40 * day), ends)


def _whole(kind: pyarrow.DataType, bits: int) -> TypedColumn:
    return TypedColumn(kind, (1, 7, 2 ** (bits - 2) + 1), (2 ** (bits - 1) - 1, -(2 ** (bits - 1)), None))


def _decimal(digits: int, scale: int) -> TypedColumn:
    most = Decimal("9" * digits + f"e-{scale}")
    usual = (Decimal(0), Decimal(f"1e-{scale}"), Decimal("5" * digits + f"e-{scale}"))
    return TypedColumn(pyarrow.decimal128(digits, scale), usual, (most, most.copy_negate(), None))


def _floats(kind: pyarrow.DataType, largest: float, least: float) -> TypedColumn:
    odd = (float("nan"), float("inf"), float("-inf"), largest, least, -0.0, None)
    return TypedColumn(kind, (1.0, 2.5, 300.0), odd)


COLUMNS = named(
    (
        *(_whole(getattr(pyarrow, f"int{bits}")(), bits) for bits in (8, 16, 32, 64)),
        *(_decimal(*digits) for digits in ((1, 0), (9, 2), (18, 2), (38, 0), (38, 10), (38, 38))),
        _floats(pyarrow.float32(), 3.4028234663852886e38, 1.401298464324817e-45),
        _floats(pyarrow.float64(), 1.7976931348623157e308, 5e-324),
        TypedColumn(pyarrow.bool_(), (True, False, True), (True, False, None)),
        TypedColumn(pyarrow.string(), _LETTERS, _TEXTS),
        _moments(pyarrow.date32(), 32, _DAY, 1),
        _moments(pyarrow.timestamp("us"), 64, _MICROSECONDS, 86_400 * 10**6),
        _moments(pyarrow.timestamp("us", "Asia/Tokyo"), 64, _MICROSECONDS, 86_400 * 10**6),
    )
)
"""The columns of Parquet files that Spark reads, by Arrow's names of what they store."""

_READ = {
    *("ByteType", "ShortType", "IntegerType", "LongType", "DecimalType", "FloatType", "DoubleType"),
    *("BooleanType", "StringType", "DateType", "TimestampNTZType", "TimestampType"),
}
_TEXTS_OF_TABLES = {"CharType", "VarcharType"}
"""Texts whose length a table's catalogue limits; a file has them as StringType."""

_UNREAD = {
    "BinaryType": "BINARY",
    "ArrayType": "ARRAY<INT>",
    "MapType": "MAP<STRING, INT>",
    "StructType": "STRUCT<a: INT>",
    "DayTimeIntervalType": "INTERVAL DAY TO SECOND",
    "YearMonthIntervalType": "INTERVAL YEAR TO MONTH",
    "VariantType": "VARIANT",
    "NullType": "VOID",
}
_NO_COLUMN = {
    "StructField": "a part of StructType, not a type",
    "UserDefinedType": "stored as another type, which is in the matrix",
    "CalendarIntervalType": "no table may have a column of it",
    "TimeType": "switched off by default: a statement that names it is refused",
    "GeographyType": "an experiment that is switched off",
    "GeometryType": "an experiment that is switched off",
}
_NUMBERS = count()


def _subclasses(kind: Any) -> Iterator[Any]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def test_every_type_of_spark_is_in_the_matrix_or_has_a_reason(spark: Any) -> None:
    from pyspark.sql import types  # noqa: PLC0415  (heavy)

    known = {*_READ, *_TEXTS_OF_TABLES, *_UNREAD, *_NO_COLUMN}
    own = [one for one in _subclasses(types.DataType) if one.__module__ == types.__name__]
    leaves = {one.__name__ for one in own if not one.__subclasses__()}
    assert leaves <= known
    assert known <= {one.__name__ for one in own}
    engine_schema = _kept_in_table(spark, _UNREAD)
    assert {kind.kind for kind in engine_schema.values()} == {Kind.OTHER}


def _kept_in_table(spark: Any, types: Mapping[str, str]) -> dict[str, Any]:
    """Return what prdp makes of columns of some types."""
    from prdp.engines.spark.engine import open_source  # noqa: PLC0415

    items = ", ".join(f"CAST(NULL AS {kind}) AS c{place}" for place, kind in enumerate(types.values()))
    return dict(open_source(spark.sql(f"SELECT {items}"), None, rows_are_records=True).schema)


def _array(kind: pyarrow.DataType, values: list[Any]) -> pyarrow.Array:
    """Return a column of what is stored: whole numbers for moments, any bytes for texts."""
    if pyarrow.types.is_temporal(kind):
        raw = pyarrow.int32() if pyarrow.types.is_date32(kind) else pyarrow.int64()
        return pyarrow.array(values, raw).view(kind)
    if pyarrow.types.is_string(kind):
        return pyarrow.array(values, pyarrow.binary()).view(kind)
    return pyarrow.array(values, kind)


class Kept:
    """Keeps rows in a file of Parquet, which a session reads."""

    def __init__(self, session: Any, folder: Path) -> None:
        self._session, self._folder = session, folder

    def __call__(self, some: Columns, rows: Rows) -> Engine:
        from prdp.engines.spark.engine import open_source  # noqa: PLC0415

        numbers, *others = zip(*rows, strict=True)
        arrays = [
            _array(column.declared, list(values))
            for column, values in zip(some.values(), others, strict=True)
        ]
        table = pyarrow.table([pyarrow.array(numbers, pyarrow.int64()), *arrays], names=["record", *some])
        file = self._folder / f"{next(_NUMBERS)}.parquet"
        pyarrow.parquet.write_table(table, file, row_group_size=2)
        return open_source(self._session.read.parquet(str(file)), None)


@pytest.mark.parametrize("kind", ["spark", "connect"])
def test_no_value_of_any_type_changes_what_others_count_for(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    session = request.getfixturevalue(kind)
    found = faults(COLUMNS, Kept(session, tmp_path), one_by_one=kind == "spark")
    assert not found, "\n".join(found[:5])[:4000]
