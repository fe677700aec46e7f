"""What PostgreSQL's types, collations and limits are to prdp: no value of a column makes a statement fail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from fractions import Fraction

import psycopg
import pytest

from prdp.engines.postgres.engine import open_source
from prdp.engines.sql_engine import SqlEngine
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
from tests.engines.test_postgres import run

pytestmark = pytest.mark.slow

NewDatabase = Callable[[], str]


def opened(address: str, columns: str, rows: str, *, before: str = "SELECT 1") -> SqlEngine:
    run(address, before, f"CREATE TABLE accounts ({columns})", f"INSERT INTO accounts VALUES {rows}")
    return open_source(address, None, table="accounts")


def test_every_type_is_read_as_what_it_is_or_stated_to_be_none(new_database: NewDatabase) -> None:
    columns = {
        "a": ("smallint", "SMALLINT"),
        "b": ("integer", "INTEGER"),
        "c": ("bigserial", "BIGINT"),
        "d": ("real", "FLOAT"),
        "e": ("double precision", "DOUBLE"),
        "f": ("numeric(10,2)", "DECIMAL(10,2)"),
        "g": ("numeric", "DOUBLE"),
        "h": ("numeric(50,2)", "DOUBLE"),
        "i": ("numeric(3,-2)", "DOUBLE"),
        "j": ("char(5)", "VARCHAR"),
        "k": ("varchar(9)", "VARCHAR"),
        "l": ('text COLLATE "POSIX"', "VARCHAR"),
        "m": ("mood", "VARCHAR"),
        "n": ("uuid", "VARCHAR"),
        "o": ("boolean", "BOOLEAN"),
        "p": ("date", "DATE"),
        "q": ("timestamp(3)", "TIMESTAMP"),
        "r": ("timestamptz", "TIMESTAMP WITH TIME ZONE"),
        "s": ("postcode", "VARCHAR"),
        "t": ("price", "DECIMAL(8,2)"),
        "u": ("jsonb", "jsonb"),
        "v": ("integer[]", "integer[]"),
        "w": ("bytea", "bytea"),
        "x": ("interval", "interval"),
        "y": ("bigint GENERATED ALWAYS AS (b * 2) STORED", "BIGINT"),
    }
    address = new_database()
    run(
        address,
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE DOMAIN letters AS text",
        "CREATE DOMAIN postcode AS letters CHECK (length(VALUE) < 9)",
        "CREATE DOMAIN price AS numeric(8,2)",
        f"CREATE TABLE accounts ({', '.join(f'{name} {kind}' for name, (kind, _) in columns.items())})",
    )
    engine = open_source(address, None, table="accounts")
    assert {name: kind.native for name, kind in engine.schema.items()} == {
        name: native for name, (_, native) in columns.items()
    }
    assert [name for name, kind in engine.schema.items() if kind.kind is Kind.OTHER] == list("uvwx")


def test_texts_are_distinguished_by_their_bytes_whatever_their_collation(new_database: NewDatabase) -> None:
    """Under a collation in which capitals are small letters, where the server has such ones."""
    address = new_database()
    try:
        run(
            address,
            "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        )
    except psycopg.errors.FeatureNotSupported:
        run(address, "CREATE COLLATION any_case FROM pg_catalog.ucs_basic")
    rows = "('clerk'), ('Clerk'), ('CLERK'), ('clérk'), ('cle\u0301rk'), (' clerk'), (NULL)"
    engine = opened(address, "job text COLLATE any_case", rows)
    tells_clerks_apart(engine)


def test_blanks_that_fill_a_char_up_are_no_part_of_it(new_database: NewDatabase) -> None:
    engine = opened(new_database(), "job char(6)", "('a'), ('a  '), (' a'), ('')")
    assert counts(engine, "job", ["a", " a", "", "a     "]) == [2, 1, 1, 0]
    assert counts(engine, "length(job)", [0, 1, 2, 6]) == [1, 2, 1, 0]


def test_enums_uuids_and_domains_are_texts(new_database: NewDatabase) -> None:
    engine = opened(
        new_database(),
        "mood mood, id uuid",
        "('sad', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'), ('happy', NULL), ('sad', NULL)",
        before="CREATE TYPE mood AS ENUM ('sad', 'happy')",
    )
    assert counts(engine, "mood", ["sad", "happy", "none"]) == [2, 1, 0]
    assert counts(engine, "id", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]) == [1]


def test_numeric_of_any_size_is_the_nearest_double(new_database: NewDatabase) -> None:
    rows = "('NaN'), ('Infinity'), ('-Infinity'), (1e400), (-1e400), (1e-400), (0.1), (NULL)"
    engine = opened(new_database(), "x numeric", rows)
    assert counts(engine, "x", [0.1, 0.0]) == [1, 1]
    assert counts(engine, "x > 1", [True, False]) == [2, 4]
    assert counts(engine, "x IS NULL", [True, False]) == [2, 6]


def test_exact_numerics_have_no_nan(new_database: NewDatabase) -> None:
    engine = opened(new_database(), "x numeric(10,2)", "('NaN'), (1.25), (-0.10), (99999999.99), (NULL)")
    assert total(engine, "x", Fraction(1, 100), 10**12) == 125 - 10 + 9999999999
    assert counts(engine, "x IS NULL", [True, False]) == [2, 3]


def test_moments_at_the_ends_of_postgres_time_have_no_parts(new_database: NewDatabase) -> None:
    rows = (
        "('infinity', 'infinity', 'infinity'), ('-infinity', '-infinity', '-infinity'), "
        "('294276-12-31', '294276-12-31', '5874897-12-31'), "
        "('4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC'), "
        "('2025-02-03 10:00', '2025-02-03 10:00+02', '2025-02-03'), (NULL, NULL, NULL)"
    )
    engine = opened(new_database(), "at timestamp, zoned timestamptz, day date", rows)
    for column in ("at", "zoned", "day"):
        assert counts(engine, f"year({column})", [2025, 10000]) == [1, 0]
        assert counts(engine, f"{column} IS NULL", [True]) == [1]
        assert sum(counts(engine, f"{column} + INTERVAL '1 day'", [datetime(2025, 2, 4)])) <= 1
        assert sum(counts(engine, f"date_trunc('month', {column})", [datetime(2025, 2, 1)])) == 1
    assert counts(engine, "hour(zoned)", [8, 10]) == [1, 0]  # in UTC, whatever the session
    for column in ("at", "zoned", "day"):
        read_in_every_way(engine, column, datetime(2025, 2, 3))


def test_arithmetic_beyond_the_doubles_is_that_of_the_reference(new_database: NewDatabase) -> None:
    rows = ", ".join(f"({place}, '{x}', '{y}')" for place, (x, y) in enumerate(PAIRS))
    holds_arithmetic(opened(new_database(), "place bigint, x float8, y float8", rows))


def test_long_operands_are_computed_once_and_stay_what_they_are(new_database: NewDatabase) -> None:
    """Expressions whose guards are so long that they are in subqueries, one in another."""
    rows = ", ".join(
        f"({place}, '{x}', '{y}', {'NULL' if job is None else repr(job)})"
        for place, (x, y, job) in enumerate(RECORDS)
    )
    holds_long_operands(opened(new_database(), "place bigint, x float8, y float8, job text", rows))
