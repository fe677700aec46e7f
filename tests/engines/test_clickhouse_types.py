"""What ClickHouse's types are to prdp: read exactly, or said to be none; no value makes a statement fail."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from chdb.session import Session

import prdp
from prdp.engines.clickhouse.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.plan.reads import CellRead
from prdp.schema import Kind
from prdp.testing.reference import reference_summary
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
from tests.engines.clickhouse import chdb

pytestmark = pytest.mark.slow

__all__ = ["chdb"]

_NUMBERS = count()


def opened(session: Session, columns: str, *rows: str) -> SqlEngine:
    name = f"typed{next(_NUMBERS)}"
    session.query(f"CREATE TABLE {name} ({columns}) ENGINE = MergeTree ORDER BY tuple()")
    for row in rows:
        session.query(f"INSERT INTO {name} SELECT {row}")
    return open_source(session, None, table=name)


def test_every_type_is_read_as_what_it_is_or_stated_to_be_none(chdb: Session) -> None:
    columns = {
        "a": ("Int8", "TINYINT"),
        "b": ("Nullable(Int16)", "SMALLINT"),
        "c": ("Int32", "INTEGER"),
        "d": ("Int64", "BIGINT"),
        "e": ("Int128", "HUGEINT"),
        "f": ("UInt8", "UTINYINT"),
        "g": ("UInt16", "USMALLINT"),
        "h": ("UInt32", "UINTEGER"),
        "i": ("UInt64", "UBIGINT"),
        "j": ("Float32", "FLOAT"),
        "k": ("Nullable(Float64)", "DOUBLE"),
        "l": ("Decimal(10, 2)", "DECIMAL(10,2)"),
        "m": ("Decimal(38, 0)", "DECIMAL(38,0)"),
        "n": ("String", "VARCHAR"),
        "o": ("LowCardinality(Nullable(String))", "VARCHAR"),
        "p": ("FixedString(5)", "VARCHAR"),
        "q": ("Enum8('sad' = 1, 'happy' = 2)", "VARCHAR"),
        "r": ("UUID", "VARCHAR"),
        "s": ("IPv6", "VARCHAR"),
        "t": ("Bool", "BOOLEAN"),
        "u": ("Date", "TIMESTAMP"),
        "v": ("Date32", "TIMESTAMP"),
        "w": ("DateTime('Asia/Tokyo')", "TIMESTAMP"),
        "x": ("Nullable(DateTime64(9, 'UTC'))", "TIMESTAMP"),
        "y": ("Decimal(50, 2)", "Decimal(50, 2)"),
        "z": ("UInt128", "UInt128"),
        "za": ("Array(Int8)", "Array(Int8)"),
        "zb": ("Map(String, Int8)", "Map(String, Int8)"),
        "zc": ("Tuple(Int8, Int8)", "Tuple(Int8, Int8)"),
    }
    engine = opened(chdb, ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items()))
    assert {name: kind.native for name, kind in engine.schema.items()} == {
        name: native for name, (_, native) in columns.items()
    }
    unread = [name for name, kind in engine.schema.items() if kind.kind is Kind.OTHER]
    assert unread == ["y", "z", "za", "zb", "zc"]
    table = prdp.open(engine=engine, policy="1", synthetic=True)
    with pytest.raises(InvalidRequest, match="za"):
        table.sum("za", share=1)


def test_texts_are_distinguished_by_their_bytes(chdb: Session) -> None:
    rows = ["'clerk'", "'Clerk'", "'CLERK'", "'clérk'", "'cle\u0301rk'", "' clerk'", "NULL", "unhex('ff63')"]
    for kind in ("Nullable(String)", "LowCardinality(Nullable(String))"):
        engine = opened(chdb, f"job {kind}", *rows)
        tells_clerks_apart(engine)


def test_zeros_that_fill_a_fixed_string_up_are_no_part_of_it(chdb: Session) -> None:
    engine = opened(chdb, "job FixedString(6)", "'a'", "'a'", "' a'", "''", "unhex('6100610000')")
    assert counts(engine, "job", ["a", " a", ""]) == [2, 1, 1]
    assert counts(engine, "length(job)", [0, 1, 2, 3, 6]) == [1, 2, 1, 1, 0]


def test_enums_uuids_and_addresses_are_texts(chdb: Session) -> None:
    columns = "mood Enum8('sad' = -1, 'happy' = 2), id Nullable(UUID), at IPv4"
    one = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    engine = opened(chdb, columns, f"'sad', '{one}', '10.0.0.1'", "'happy', NULL, '10.0.0.2'")
    assert counts(engine, "mood", ["sad", "happy", "none"]) == [1, 1, 0]
    assert counts(engine, "id", [one]) == [1]
    assert counts(engine, "at", ["10.0.0.1", "10.0.0.3"]) == [1, 0]


def test_exact_decimals_are_added_up_exactly(chdb: Session) -> None:
    engine = opened(chdb, "x Nullable(Decimal(18, 2))", "1.25", "-0.10", "toDecimal64('99999999.99', 2)")
    assert total(engine, "x", Fraction(1, 100), 10**12) == 125 - 10 + 9999999999


@pytest.mark.parametrize("kind", ["Int8", "UInt32", "Int64", "UInt64", "Int128"])
def test_whole_numbers_at_the_ends_of_their_type_fail_nothing(chdb: Session, kind: str) -> None:
    bits = int(kind.partition("Int")[2])
    low, high = (0, 2**bits - 1) if kind[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    engine = opened(
        chdb, f"v Nullable({kind})", f"CAST('{low}', '{kind}')", f"CAST('{high}', '{kind}')", "5", "NULL"
    )
    for most in (100, 2**62):
        ends = [min(max(value, -most), most) for value in (low, high, 5)]
        assert total(engine, "v", Fraction(1), most) == sum(ends)
    assert counts(engine, "v", [5, 6]) == [1, 0]
    assert counts(engine, "v * v - v > 5", [True, False], "v IS NOT NULL")[0] >= 2
    read_in_every_way(engine, "v", 5)


@pytest.mark.parametrize(("scale", "one"), [(0, 3.0), (2, 1.25)])
def test_decimals_at_the_ends_of_their_type_fail_nothing(chdb: Session, scale: int, one: float) -> None:
    high = "9" * (38 - scale) + "." + "9" * scale
    rows = [f"toDecimal128('{value}', {scale})" for value in (high, f"-{high}", one)]
    engine = opened(chdb, f"x Nullable(Decimal(38, {scale}))", *rows, "NULL")
    assert total(engine, "x", Fraction(1, 4), 2**20) == one * 4  # the others are each other's opposites
    assert counts(engine, "x > 5", [True, False]) == [1, 2]
    assert counts(engine, "x", [one]) == [1]
    read_in_every_way(engine, "x", one)


def test_moments_at_the_ends_of_clickhouse_s_time_fail_nothing(chdb: Session) -> None:
    columns = {
        "day": ("Date", "0", "65535"),
        "wide": ("Date32", "'1900-01-01'", "'2299-12-31'"),
        "second": ("DateTime('Asia/Tokyo')", "0", "4294967295"),
        "milli": ("DateTime64(3, 'Asia/Tokyo')", "'1900-01-01 09:00:00'", "'2299-12-31 23:59:59.999'"),
        "nano": ("DateTime64(9, 'UTC')", "'1900-01-01 00:00:00'", "'2262-04-11 23:47:16.854775807'"),
    }
    known = "'2025-02-03 00:00:00'"
    rows = [", ".join(values) for values in zip(*(ends[1:] for ends in columns.values()), strict=True)]
    rows.append(f"'2025-02-03', '2025-02-03', toDateTime({known}, 'UTC'), {known}, {known}")
    engine = opened(
        chdb, ", ".join(f"{name} Nullable({kind})" for name, (kind, *_) in columns.items()), *rows
    )
    for column in columns:
        assert counts(engine, f"year({column})", [2025, 1850]) == [1, 0], column
        assert counts(engine, f"{column} IS NULL", [True, False]) == [0, 3]
        assert sum(counts(engine, f"{column} + INTERVAL '1 month'", [datetime(2025, 3, 3)])) <= 1
        read_in_every_way(engine, column, datetime(2025, 2, 3))
    assert counts(engine, "milli", [datetime(2025, 2, 2, 15), datetime(2025, 2, 3)]) == [
        1,
        0,
    ]  # Tokyo's midnight
    assert counts(engine, "hour(second)", [0, 9]) == [2, 0]


def test_a_moment_before_1970_is_rounded_down_to_its_microsecond(chdb: Session) -> None:
    engine = opened(
        chdb, "at DateTime64(9, 'UTC')", "toDateTime64('1969-12-31 23:59:59.999999999', 9, 'UTC')"
    )
    assert counts(engine, "at", [datetime(1969, 12, 31, 23, 59, 59, 999999)]) == [1]
    assert counts(engine, "year(at)", [1969, 1970]) == [1, 0]


def test_arithmetic_beyond_the_doubles_is_that_of_the_reference(chdb: Session) -> None:
    listed = ", ".join(f"({place}, {x}, {y})" for place, (x, y) in enumerate(PAIRS))
    rows = f"* FROM values('place Int64, x Float64, y Float64', {listed})"
    holds_arithmetic(opened(chdb, "place Int64, x Float64, y Float64", rows))


def test_long_operands_stay_what_they_are(chdb: Session) -> None:
    rows: list[Any] = [
        f"{place}, {x}, {y}, {'NULL' if job is None else repr(job)}"
        for place, (x, y, job) in enumerate(RECORDS)
    ]
    holds_long_operands(opened(chdb, "place Int64, x Float64, y Float64, job Nullable(String)", *rows))


@pytest.mark.parametrize("kind", ["Int32", "Nullable(Int32)"])
@pytest.mark.parametrize(
    "condition", ["age >= 65", "NOT age >= 65 OR age = 70", "rate >= 65", "nullif(age, 70) > 1"]
)
def test_a_record_whose_condition_is_unknown_has_no_budget_whatever_may_be_null(
    chdb: Session, kind: str, condition: str
) -> None:
    ages = [20, 65, 70, *([None] if kind != "Int32" else [])]
    rows = [f"{'NULL' if age is None else age}, {'nan' if age == 65 else 66}" for age in ages]
    engine = opened(chdb, f"age {kind}, rate Float64", *rows)
    policy = prdp.Policy(f"CASE WHEN {condition} THEN 2 ELSE 4 END", at_least=1, at_most=4).within(
        engine.schema, {}
    )
    records = [{"age": age, "rate": float("nan") if age == 65 else 66.0} for age in ages]
    reading = CellRead(policy, policy.levels, {}, None, None)
    (found,) = engine.summarise(reading)
    assert list(found.cells) == list(reference_summary(records, reading).cells)
