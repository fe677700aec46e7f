"""What Spark's types are to prdp: read exactly, or said to be none; no value makes a statement fail."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import prdp
from prdp.engines.spark.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.schema import Kind
from tests.engines.asked_values import (
    PAIRS,
    RECORDS,
    counts,
    holds_arithmetic,
    holds_long_operands,
    read_in_every_way,
    tells_clerks_apart,
    total,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
]


def opened(session: Any, **columns: Any) -> SqlEngine:
    return open_source(session.createDataFrame(pyarrow.table(columns)), None)


def test_every_type_is_read_as_what_it_is_or_stated_to_be_none(spark: Any) -> None:
    columns = {
        "a": ("TINYINT", "TINYINT"),
        "b": ("SMALLINT", "SMALLINT"),
        "c": ("INT", "INTEGER"),
        "d": ("BIGINT", "BIGINT"),
        "e": ("FLOAT", "FLOAT"),
        "f": ("DOUBLE", "DOUBLE"),
        "g": ("DECIMAL(10, 2)", "DECIMAL(10,2)"),
        "h": ("DECIMAL(38, 0)", "DECIMAL(38,0)"),
        "i": ("STRING", "VARCHAR"),
        "j": ("CHAR(5)", "VARCHAR"),
        "k": ("VARCHAR(9)", "VARCHAR"),
        "l": ("STRING COLLATE UTF8_LCASE", "VARCHAR"),
        "m": ("BOOLEAN", "BOOLEAN"),
        "n": ("DATE", "DATE"),
        "o": ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
        "p": ("TIMESTAMP_NTZ", "TIMESTAMP"),
        "q": ("BINARY", "BINARY"),
        "r": ("ARRAY<INT>", "ARRAY"),
        "s": ("STRUCT<a: INT>", "STRUCT"),
        "t": ("MAP<STRING, INT>", "MAP"),
        "u": ("INTERVAL DAY TO SECOND", "INTERVAL DAY TO SECOND"),
    }
    listed = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    spark.sql(f"CREATE TABLE typed ({listed}) USING parquet")
    engine = open_source("typed", None)
    spark.sql("DROP TABLE typed")
    assert {name: kind.native for name, kind in engine.schema.items()} == {
        name: native for name, (_, native) in columns.items()
    }
    assert [name for name, kind in engine.schema.items() if kind.kind is Kind.OTHER] == list("qrstu")
    table = prdp.open(engine=engine, policy="1", synthetic=True)
    with pytest.raises(InvalidRequest, match="'r'"):
        table.sum("r", share=1)


def test_texts_are_distinguished_by_their_bytes_whatever_their_collation(spark: Any) -> None:
    jobs = ["clerk", "Clerk", "CLERK", "clérk", "cle\u0301rk", " clerk", None]
    frame = spark.createDataFrame(pyarrow.table({"job": jobs}))
    tells_clerks_apart(open_source(frame.selectExpr("job COLLATE UNICODE_CI AS job"), None))


def test_exact_decimals_are_added_up_exactly(spark: Any) -> None:
    kind = pyarrow.decimal128(18, 2)
    values = [Decimal("1.25"), Decimal("-0.10"), Decimal("99999999.99"), None]
    engine = opened(spark, x=pyarrow.array(values, kind))
    assert total(engine, "x", Fraction(1, 100), 10**12) == 125 - 10 + 9999999999


def test_whole_numbers_at_the_ends_of_their_type_fail_nothing(spark: Any) -> None:
    ends = {"a": pyarrow.int8(), "d": pyarrow.int64(), "w": pyarrow.decimal128(38, 0)}
    most = {"a": 127, "d": 2**63 - 1, "w": 10**38 - 1}
    columns = {}
    for name, kind in ends.items():
        values = [-most[name] - (name != "w"), most[name], 5]
        columns[name] = pyarrow.array([Decimal(value) for value in values] if name == "w" else values, kind)
    engine = opened(spark, **columns)
    for name in ends:
        low = -most[name] - (name != "w")
        for bound in (100, 2**62):
            clipped = [min(max(value, -bound), bound) for value in (low, most[name], 5)]
            assert total(engine, name, Fraction(1), bound) == sum(clipped), name
        assert counts(engine, name, [5, 6]) == [1, 0]
        assert counts(engine, f"{name} * {name} - {name} > 5", [True, False])[0] >= 2
        read_in_every_way(engine, name, 5)


@pytest.mark.parametrize("unit", ["day", "at", "zoned"])
def test_moments_at_the_ends_of_spark_s_time_fail_nothing(spark: Any, tmp_path: Path, unit: str) -> None:
    kinds = {
        "day": (pyarrow.date32(), 86_400_000_000),
        "at": (pyarrow.timestamp("us"), 1),
        "zoned": (pyarrow.timestamp("us", "Asia/Tokyo"), 1),
    }
    kind, step = kinds[unit]
    known = int((datetime(2025, 2, 3) - datetime(1970, 1, 1)).total_seconds()) * 1_000_000 // step
    far = 2**31 - 1 if unit == "day" else 2**63 - 1
    near = [(date(9999, 12, 31) - date(1970, 1, 1)).days, (date(1, 1, 1) - date(1970, 1, 1)).days]
    places = [known, far, -far, *(days * 86_400_000_000 // step for days in near), None]
    raw = pyarrow.array(places, pyarrow.int32() if unit == "day" else pyarrow.int64())
    pyarrow.parquet.write_table(pyarrow.table({unit: raw.cast(kind)}), tmp_path / "t.parquet")
    engine = open_source(spark.read.parquet(str(tmp_path / "t.parquet")), None)
    assert counts(engine, f"year({unit})", [2025, 1850]) == [1, 0]
    assert counts(engine, f"date_trunc('month', {unit})", [datetime(2025, 2, 1)]) == [1]
    assert sum(counts(engine, f"{unit} + INTERVAL '1 month'", [datetime(2025, 3, 3)])) <= 1
    read_in_every_way(engine, unit, datetime(2025, 2, 3))


def test_arithmetic_beyond_the_doubles_is_that_of_the_reference(spark: Any) -> None:
    x, y = zip(*PAIRS, strict=True)
    holds_arithmetic(opened(spark, place=list(range(len(PAIRS))), x=list(x), y=list(y)))


def test_long_operands_are_computed_once_and_stay_what_they_are(spark: Any) -> None:
    x, y, job = zip(*RECORDS, strict=True)
    holds_long_operands(opened(spark, place=list(range(len(RECORDS))), x=list(x), y=list(y), job=list(job)))
