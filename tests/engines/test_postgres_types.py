"""What PostgreSQL's types, collations and limits are to prdp: no value of a column makes a statement fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction

import psycopg

from prdp.cells.measure import Measure
from prdp.declare.groups import read_grouping
from prdp.declare.owners import Owners
from prdp.engines._expressions import to_sql
from prdp.engines.postgres import PostgresEngine, open_source
from prdp.expressions.check import check
from prdp.expressions.evaluate import evaluate
from prdp.expressions.parse import parse
from prdp.plan.reads import CellRead, KeyMassRead, OwnerRead
from prdp.policy import Policy
from prdp.schema import Kind
from tests.engines.test_postgres import run

NewDatabase = Callable[[], str]
ONE = Policy("1", at_least="1/10", at_most="10")


def opened(address: str, columns: str, rows: str, *, before: str = "SELECT 1") -> PostgresEngine:
    run(address, before, f"CREATE TABLE accounts ({columns})", f"INSERT INTO accounts VALUES {rows}")
    return open_source(address, None, table="accounts")


def counts(engine: PostgresEngine, by: str, keys: list[object], where: str | None = None) -> list[int]:
    """Return how many records have each key."""
    policy = ONE.within(engine.schema, {})
    condition = None if where is None else check(parse(where), engine.schema, Kind.BOOLEAN, where)
    grouping = read_grouping([by], keys, engine.schema)
    read = CellRead(policy, policy.levels, {}, None, condition, grouping)
    return [sum(cell.count for cell in summary.cells) for summary in engine.summarise(read)]


def total(engine: PostgresEngine, column: str, grain: Fraction, most: int) -> int:
    """Return the sum of a column in grains."""
    policy = ONE.within(engine.schema, {})
    read = CellRead(policy, policy.levels, {}, Measure(column, grain, -most, most), None, None)
    (found,) = engine.summarise(read)
    return sum(cell.total for cell in found.cells)


def test_every_type_is_read_as_what_it_is_or_said_to_be_none(new_database: NewDatabase) -> None:
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


def test_texts_are_told_apart_by_their_bytes_whatever_their_collation(new_database: NewDatabase) -> None:
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
    keys: list[object] = ["clerk", "Clerk", "clérk", "cle\u0301rk", "clerk "]
    assert counts(engine, "job", keys) == [1, 1, 1, 1, 0]
    assert counts(engine, "job", keys, "job = 'clerk'") == [1, 0, 0, 0, 0]
    assert counts(engine, "job", keys, "job > 'D'") == [1, 0, 1, 1, 0]
    assert counts(engine, "upper(job)", ["CLERK", "CLÉRK"]) == [3, 1]


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
    policy = ONE.within(engine.schema, {})
    for column in ("at", "zoned", "day"):
        by = read_grouping([column], [datetime(2025, 2, 3)], engine.schema).by
        engine.key_masses(KeyMassRead(policy, policy.levels, by, None, None))  # and none of them fails
        engine.fold_owners(OwnerRead(policy, policy.levels, Owners(column), None, "sum", None, None))


NUMBERS = [
    0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    5e-324,
    -5e-324,
    1e-308,
    2.0**-537,
    2.0**-538,
    1e-160,
    1e160,
    2.0**511,
    2.0**512,
]
NUMBERS += [
    -(2.0**512),
    1.3e154,
    1.35e154,
    1e308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    709.8,
    -746.0,
    3.0,
]
NUMBERS += [math.inf, -math.inf, math.nan, 1e20, 0.1]
EXPRESSIONS = (
    *("x * y", "x / y", "x + y", "x - y", "x * x", "x * 1e200", "x * 1e-200", "x / 1e-200", "x / 1e200"),
    *("1e300 / x", "1e-300 / x", "-1e300 / x", "x * -3", "exp(x)", "power(x, y)", "power(x, 3)", "x % y"),
    *(
        "power(x, -2)",
        "ln(x)",
        "log2(x)",
        "log10(x)",
        "sqrt(x)",
        "abs(x) * (y + 1e308)",
        "(x * y) * (x * y) / x",
    ),
    *("x * y * x * y * x * y * x * y * x * y", "round(x * y, -3)"),
)


LIBRARY = {text for text in EXPRESSIONS if text.startswith(("exp", "power", "ln", "log"))}


def test_arithmetic_beyond_the_doubles_is_that_of_the_reference(new_database: NewDatabase) -> None:
    """Each record has a place of its own, so that the sum over a group tells who is in it."""
    pairs = [(x, y) for x in NUMBERS for y in NUMBERS]
    rows = ", ".join(f"({place}, '{x}', '{y}')" for place, (x, y) in enumerate(pairs))
    engine = opened(new_database(), "place bigint, x float8, y float8", rows)
    for text in EXPRESSIONS:
        node = check(parse(text), engine.schema, Kind.NUMBER, text)
        found = engine.rows_of(f'SELECT "place", {to_sql(node, engine.schema)} AS value FROM prdp_records')
        assert len(found) == len(pairs)
        for place, value in found:
            x, y = pairs[place]
            expected = evaluate(node, {"x": x, "y": y})
            assert _same(value, expected, exact=text not in LIBRARY), (
                f"{text} of {x}, {y}: {value}, {expected}"
            )


def test_long_operands_are_computed_once_and_stay_what_they_are(new_database: NewDatabase) -> None:
    """Expressions whose guards are so long that they stand in subqueries, one in another."""
    records = [
        (2.0, -3.0, "Ab"),
        (math.nan, 1.0, None),
        (-2.0, 1e-300, "é  "),
        (0.0, 0.0, ""),
        (1.0, 7.0, "zzq"),
    ]
    rows = ", ".join(
        f"({place}, '{x}', '{y}', {'NULL' if job is None else repr(job)})"
        for place, (x, y, job) in enumerate(records)
    )
    engine = opened(new_database(), "place bigint, x float8, y float8, job text", rows)
    number, text = "x", "job"
    for turn in range(9):
        number = f"(({number}) * y - sqrt(abs({'x' if turn % 2 else 'y'})) / (x - {turn}))"
        text = f"substring(upper({text} || 'q'), x, 3)" if turn % 3 == 2 else f"trim(lower({text}), 'q')"
    chosen = (
        f"CASE WHEN {number} > 1 AND {number} < 1e9 THEN {text} WHEN {number} > -9 THEN 'low' ELSE job END"
    )
    for expression, kind in ((number, Kind.NUMBER), (text, Kind.TEXT), (chosen, Kind.TEXT)):
        node = check(parse(expression), engine.schema, kind, expression)
        sql = to_sql(node, engine.schema)
        assert kind is Kind.NUMBER or "list_transform" in sql or "][CAST(" in sql
        found: dict[int, object] = dict(engine.rows_of(f'SELECT "place", {sql} AS value FROM prdp_records'))
        expected = [evaluate(node, {"x": x, "y": y, "job": job}) for x, y, job in records]
        assert [found[place] for place in range(len(records))] == expected, expression


def _same(value: float | None, expected: object, *, exact: bool) -> bool:
    """Say whether a number is the expected one; of a library's functions, but for its last digits."""
    if value is None or expected is None or exact:
        return value == expected
    assert isinstance(expected, float)
    largest = abs(expected) > 1.79e308 and value == math.copysign(math.inf, expected)
    return math.isclose(value, expected, rel_tol=1e-14, abs_tol=1e-323) or largest
