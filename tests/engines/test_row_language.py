"""DuckDB gives for texts, dates and casts what the reference gives: record by record, whatever the record."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, datetime
from itertools import zip_longest

import duckdb
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prdp.engines.row_sql.expressions import quoted, to_sql
from prdp.errors import ExpressionError
from prdp.expressions.case_mapping import lower, upper
from prdp.expressions.check import checked_kind
from prdp.expressions.evaluate import Value, evaluate
from prdp.expressions.nodes import Node
from prdp.expressions.parse import parse
from prdp.expressions.texts import MAX_BYTES, SPACES
from prdp.schema import ColumnType, Kind
from prdp.testing.row_contract import ROW_EXPRESSIONS, ROW_RECORDS

SCHEMA = {
    "job": ColumnType(Kind.TEXT, native="VARCHAR"),
    "name": ColumnType(Kind.TEXT, native="VARCHAR"),
    "x": ColumnType(Kind.NUMBER, native="DOUBLE"),
    "v": ColumnType(Kind.NUMBER, integer=True, native="BIGINT"),
    "day": ColumnType(Kind.MOMENT, native="TIMESTAMP"),
    "born": ColumnType(Kind.MOMENT, native="DATE"),
    "ok": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
}
_TEXTS = [*(record["job"] for record in ROW_RECORDS), "x" * 5_000, "\0", "\uffff", "\U0010ffff", "b", "Abc"]
_POOLS: dict[str, list[object]] = {
    "job": list(_TEXTS),
    "name": _TEXTS[::-1],
    "x": [*(record["x"] for record in ROW_RECORDS), 1e22, -(2.0**31) - 0.6, 123456.789, 2.0**53 + 2],
    "v": [0, 1, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63), 100],
    "day": [
        *(record["day"] for record in ROW_RECORDS),
        datetime(1, 1, 7, 23),
        datetime(1999, 12, 31, 23, 59),
    ],
    "born": [date(1, 1, 1), date(9999, 12, 31), date(2020, 2, 29), date(2000, 1, 1), date(1900, 3, 1)],
    "ok": [True, False],
}


def _records(extra: int = 200, seed: int = 20261117) -> list[dict[str, object]]:
    chance = random.Random(seed)
    shown = zip_longest(*_POOLS.values(), fillvalue=None)
    mixed = ([chance.choice([None, *pool, *pool]) for pool in _POOLS.values()] for _ in range(extra))
    return [dict(zip(_POOLS, values, strict=True)) for values in (*shown, *mixed)]


RECORDS = _records()

PAIRS = [
    *("lower(job) = lower(name)", "job || name", "job || '-' || name || job", "starts_with(job, name)"),
    *("ends_with(job, name)", "contains(job, name)", "nullif(job, name)", "nullif(x, v)", "x % v"),
    *("substring(job, x, v)", "substring(job, v)", "substring(name, -v, 3)", "trim(job, '')"),
    *("coalesce(x, v, 5)", "coalesce(job, name, 'none')", "coalesce(day, born)", "coalesce(ok, FALSE)"),
    *("coalesce(x / 0 * 0, 1)", "nullif(x, x)", "x % x", "x % 0", "round(x, 15)", "round(x, -15)"),
    *("round(sqrt(x), 1)", "sign(v)", "round(v)", "CAST(v AS BIGINT)", "CAST(v AS INTEGER)"),
    *("CAST(ok AS DOUBLE)", "CAST(ok AS VARCHAR)", "CAST(born AS VARCHAR)", "CAST(sqrt(x) AS VARCHAR)"),
    *("CAST(sqrt(x) AS INTEGER)", "CAST(x AS DOUBLE)", "CAST(day AS TIMESTAMP)", "CAST(job AS VARCHAR)"),
    *("day - born", "born - day", "day - born > 100", "date_diff('hour', born, day)"),
    *("ok IS TRUE", "ok IS NOT TRUE", "ok IS UNKNOWN", "(x > 0) IS NOT FALSE"),
    *("lower(CASE WHEN ok THEN job ELSE name END)", "length(coalesce(job, name))"),
    *("CASE WHEN ok IS TRUE THEN 1 / x ELSE x END", "coalesce(CASE WHEN x > 0 THEN 10 / x END, 7)"),
    *("lower('İX') = job", "length('ab') + x", "CAST('5' AS DOUBLE) * x", "day > CAST('2000-01-01' AS DATE)"),
    *("nullif(job, job || NULL)", "job = name || NULL", "substring('a_C', x, v)", "substring(job, -5, 4)"),
    *("starts_with(job, coalesce(NULL, NULL))", "lower(nullif(NULL, NULL))", "lower(job) IS NULL"),
    *("CAST(job AS DOUBLE) IS NULL", "coalesce(NULL, x)", "nullif(NULL, x)"),
    *("coalesce(NULL, job) || 'x'", "NULL || job", "length(NULL)", "year(NULL)", "CAST(NULL AS DOUBLE)"),
    *(f"date_trunc('{unit}', born)" for unit in ("year", "quarter", "month", "week", "day", "minute")),
    *(f"date_diff('{unit}', day, born)" for unit in ("year", "quarter", "month", "day", "minute")),
    *(
        f"{column} {sign} INTERVAL '{number} {unit}'"
        for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
        for column, sign, number in (
            ("day", "+", 1),
            ("born", "-", 13),
            ("day", "+", 10**9),
            ("day", "-", 11),
        )
    ),
]


@pytest.fixture(scope="module", params=["true", "false"], ids=["ieee", "not-ieee"])
def engine(request: pytest.FixtureRequest) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"SET ieee_floating_point_ops = {request.param}")
    columns = ", ".join(f"{quoted(name)} {column.native}" for name, column in SCHEMA.items())
    connection.execute(f"CREATE TABLE t (place INTEGER, {columns})")
    marks = ", ".join("?" * (len(SCHEMA) + 1))
    rows = [(place, *record.values()) for place, record in enumerate(RECORDS)]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    # Some settings of a session change what texts compare as.
    connection.execute("SET default_collation = 'nocase'")
    yield connection
    connection.close()


def read(text: str) -> Node:
    return checked_kind(parse(text), SCHEMA, text)[0]


def same(found: object, expected: Value) -> bool:
    if found is None or expected is None:
        return found is expected
    return type(found) is type(expected) and found == expected


def answers(engine: duckdb.DuckDBPyConnection, sql: str) -> list[object]:
    return [row[0] for row in engine.execute(f"SELECT {sql} FROM t ORDER BY place").fetchall()]


def asked(sql: str, table: pyarrow.Table) -> list[object]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("given", table)
        return [row[0] for row in connection.execute(f"SELECT {sql} FROM given").fetchall()]


def test_every_record_has_the_value_of_the_reference(engine: duckdb.DuckDBPyConnection) -> None:
    for text in (*ROW_EXPRESSIONS, *PAIRS):
        node = read(text)
        for record, found in zip(RECORDS, answers(engine, to_sql(node, SCHEMA)), strict=True):
            assert same(found, evaluate(node, record)), (text, record, found, evaluate(node, record))


LEAVES = {
    "t": ["job", "name", "'a_C'", "NULL"],
    "n": ["x", "v", "2", "-0.5", "NULL"],
    "d": ["day", "born", "DATE '2024-02-29'"],
    "b": ["ok", "job LIKE '%a%'", "x > 0", "day < born", "NULL"],
}
FORMS = {
    "t": [
        *(
            "lower({t})",
            "upper({t})",
            "trim({t})",
            "rtrim({t}, 'a')",
            "{t} || {t}",
            "substring({t}, {n}, {n})",
        ),
        *("coalesce({t}, {t})", "nullif({t}, {t})", "CAST({n} AS VARCHAR)", "CAST({d} AS VARCHAR)"),
        *("CASE WHEN {b} THEN {t} ELSE {t} END", "CAST({b} AS VARCHAR)", "substring({t}, -2)"),
    ],
    "n": [
        *("length({t})", "({n} % {n})", "round({n}, 1)", "floor({n})", "sign({n})", "coalesce({n}, {n})"),
        *("nullif({n}, {n})", "CAST({t} AS DOUBLE)", "CAST({n} AS INTEGER)", "CAST({b} AS BIGINT)"),
        *("month({d})", "date_diff('day', {d}, {d})", "({d} - {d})", "CASE WHEN {b} THEN {n} ELSE {n} END"),
        *("least({n}, {n})", "({n} / {n})", "(-({n}))", "CASE WHEN ({b}) IS TRUE THEN {n} END"),
    ],
    "d": [
        *("date_trunc('week', {d})", "({d} + INTERVAL '1 month')", "({d} - INTERVAL '5 hours')"),
        *("CAST({t} AS DATE)", "CAST({t} AS TIMESTAMP)", "CAST({d} AS DATE)", "coalesce({d}, {d})"),
        *("CASE WHEN {b} THEN {d} ELSE {d} END", "nullif({d}, {d})"),
    ],
    "b": [
        *(
            "(({t}) ILIKE '_a%')",
            "starts_with({t}, {t})",
            "contains({t}, {t})",
            "(({t}) = {t})",
            "(({n}) < {n})",
        ),
        *("(({d}) >= {d})", "(({b}) IS NOT TRUE)", "(({b}) IS FALSE)", "(({b}) AND {b})", "(NOT {b})"),
        *(
            "(({t}) IS NULL)",
            "(({n}) IS NULL)",
            "coalesce({b}, {b})",
            "(({t}) IN ('a', 'A'))",
            "nullif({b}, {b})",
        ),
    ],
}


@st.composite
def written(draw: st.DrawFn, kind: str = "t", depth: int = 4) -> str:
    """Draw the text of an expression of a kind, functions in functions."""
    form = draw(st.sampled_from(FORMS[kind] if depth else LEAVES[kind]))
    for inner in "tndb":
        while f"{{{inner}}}" in form:
            below = draw(st.integers(0, depth - 1)) if depth else 0
            form = form.replace(f"{{{inner}}}", draw(written(inner, below)), 1)
    return form


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(st.sampled_from("tndb").flatmap(written), min_size=2, max_size=5))
def test_functions_in_functions_have_the_values_of_the_reference(
    engine: duckdb.DuckDBPyConnection, texts: list[str]
) -> None:
    for text in texts:
        try:
            node = read(text)
        except ExpressionError as refused:
            assert refused.reason.startswith(("this nests", "this says too much", "a comparison with NULL"))
            continue
        for record, found in zip(RECORDS, answers(engine, to_sql(node, SCHEMA)), strict=True):
            assert same(found, evaluate(node, record)), (text, record, found, evaluate(node, record))


# What one might write without care: each is wrong for some record, and must be found out.
CARELESS = {
    "job LIKE 'a!_c' ESCAPE '!'": "job LIKE 'a_c'",
    "trim(job)": "trim(job, ' ')",
    "lower(job) = 'a'": "lower(job) = 'a' OR job ILIKE 'a%'",
    "length(job)": "CAST(strlen(job) AS DOUBLE)",
    "CAST(job AS DOUBLE)": "TRY_CAST(job AS DOUBLE)",
    "CAST(job AS DATE)": "CAST(TRY_CAST(job AS DATE) AS TIMESTAMP)",
    "CAST(x AS VARCHAR)": "CAST(x AS VARCHAR)",
    "CAST(x AS INTEGER)": "round(x)",
    "coalesce(x, 7)": "coalesce(x, 7e0)",
    "sign(x)": "CAST(sign(x) AS DOUBLE)",
    "x % v": "fmod(x, v)",
    "round(x, 2)": "round(x * 100) / 100",
    "day + INTERVAL '1 month'": "day + to_days(30)",
    "date_diff('month', day, born)": "CAST(date_sub('month', day, born) AS DOUBLE)",
    "(x > 0) IS TRUE": "x > 0",
}


@pytest.mark.parametrize("text", CARELESS)
def test_careless_sql_is_distinguished_from_the_reference(text: str) -> None:
    connection = duckdb.connect(config={"threads": 1})
    columns = ", ".join(f"{quoted(name)} {column.native}" for name, column in SCHEMA.items())
    connection.execute(f"CREATE TABLE t (place INTEGER, {columns})")
    tame = [record for record in RECORDS if record["day"] is None or record["day"].year < 9000]  # type: ignore[attr-defined]
    rows = [(place, *record.values()) for place, record in enumerate(tame)]
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 8)})", rows)
    careless = answers(connection, CARELESS[text])
    careful = answers(connection, to_sql(read(text), SCHEMA))
    expected = [evaluate(read(text), record) for record in tame]
    assert all(map(same, careful, expected))
    assert not all(map(same, careless, expected))


def test_letters_and_spaces_are_the_engine_s_for_every_character_there_is() -> None:
    """Where a new version of DuckDB has another table, this fails, and the language's own table decides."""
    places = (
        "(SELECT CAST(i AS INTEGER) AS i FROM range(1, 1114112) r(i) WHERE NOT i BETWEEN 55296 AND 57343)"
    )
    rows = duckdb.execute(
        f"SELECT chr(i), lower(chr(i)), upper(chr(i)), trim(chr(i)) = '' FROM {places}"
    ).fetchall()
    assert len(rows) == 0x110000 - 1 - 2048
    for character, small, capital, is_space in rows:
        assert lower(character) == small, character
        assert upper(character) == capital, character
        assert (character in SPACES) == is_space, character


_letters = st.text(st.sampled_from(["a", "b", "B", "%", "_", "!", "é", "\n", "."]), max_size=8)


@settings(max_examples=150, deadline=None)
@given(
    pattern=_letters,
    texts=st.lists(_letters, min_size=1, max_size=20),
    word=st.sampled_from(["LIKE", "ILIKE"]),
)
def test_patterns_fit_the_texts_that_they_fit_in_the_reference(
    pattern: str, texts: list[str], word: str
) -> None:
    escape = "" if (len(pattern) - len(pattern.rstrip("!"))) % 2 else " ESCAPE '!'"
    node = read(f"job {word} '{pattern}'{escape}")
    sql = to_sql(node, SCHEMA)
    table = pyarrow.table({"job": texts})
    found = asked(sql, table)
    assert found == [evaluate(node, {"job": text}) for text in texts]


def test_a_pattern_takes_time_that_grows_with_the_text_and_not_with_its_power() -> None:
    """Both hang in a matcher that goes back for every wildcard."""
    node = read(f"job LIKE '{'%a_' * 12}b'")
    text = "a" * 4_000
    assert evaluate(node, {"job": text}) is False
    (found,) = duckdb.execute(f"SELECT {to_sql(node, SCHEMA)} FROM (SELECT ? AS job)", [text]).fetchall()
    assert found == (False,)


BROKEN = [
    b"\xff",
    b"ok",
    b"\xff\xff",
    b"A long text that ends in \xff",
    None,
    b"\xe2\x82",
    b"a\xf0\x9f",
    b"\xc0\x80",
]
BROKEN += [b"\x80\x80abc", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"A" * 20 + b"\xe2", b"Abc"]


def test_a_text_that_is_no_utf_8_makes_nothing_fail_and_changes_no_other_record() -> None:
    """An Arrow table may hold such bytes; DuckDB itself stops at them and must be opened again."""
    for text in (*ROW_EXPRESSIONS, *PAIRS):
        if "job" in text:
            survives_broken_texts(text)


def survives_broken_texts(text: str) -> None:
    rest = {"x": 1.0, "v": 2, "day": datetime(2020, 1, 1), "born": date(2020, 1, 1), "ok": True}
    broken = pyarrow.array(BROKEN, pyarrow.binary()).view(pyarrow.string())
    columns = {name: [value] * len(BROKEN) for name, value in rest.items()}
    table = pyarrow.table({"place": range(len(BROKEN)), "job": broken, "name": broken, **columns})
    node = read(text)
    sql = to_sql(node, SCHEMA)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("t", table)
        found = connection.execute(
            f"SELECT encode(CAST(({sql}) AS VARCHAR)), ({sql}) IS NULL FROM t"
        ).fetchall()
        whole = [place for place, given in enumerate(BROKEN) if given in (b"ok", None, b"Abc")]
        again = connection.execute(f"SELECT {sql} FROM t WHERE place IN {tuple(whole)}").fetchall()
    assert len(found) == len(BROKEN), text
    for place, (value,) in zip(whole, again, strict=True):
        read_as = BROKEN[place]
        given = None if read_as is None else read_as.decode()
        record = {"job": given, "name": given, **rest}
        assert same(value, evaluate(node, record)), (text, given, value)


FAR = [
    *("TIMESTAMP '0044-03-15 (BC) 10:00:00'", "TIMESTAMP 'infinity'", "TIMESTAMP '-infinity'"),
    *("TIMESTAMP '290000-12-22 (BC) 00:00:00'", "TIMESTAMP '294247-01-10 04:00:54.775806'"),
    *("TIMESTAMP '10000-01-01 00:00:00'", "TIMESTAMP '0001-12-31 (BC) 23:59:59.999999'"),
]


@pytest.mark.parametrize("native", ["TIMESTAMP", "DATE", "TIMESTAMP WITH TIME ZONE"])
def test_no_moment_makes_a_function_fail_and_far_ones_are_unknown_to_it(native: str) -> None:
    schema = SCHEMA | {"day": ColumnType(Kind.MOMENT, native=native)}
    reported = ("year", "month", "day +", "day -", "date_trunc", "extract", "CAST(day AS VARCHAR)")
    with duckdb.connect(config={"threads": 1}) as connection:
        rows = ", ".join(f"({far})" for far in FAR)
        others = "CAST(NULL AS DATE) AS born, 1e0 AS x, 'a' AS job"
        # A plain cast to a time with a zone fails at the far end of DuckDB 1.5.
        made = (
            "CASE WHEN isfinite(day) THEN make_timestamptz(epoch_us(day)) ELSE CAST(day AS TIMESTAMPTZ) END"
        )
        made = made if "ZONE" in native else f"TRY_CAST(day AS {native})"
        connection.execute(f"CREATE TABLE t AS SELECT {made} AS day, {others} FROM (VALUES {rows}) r(day)")
        for text in (text for text in (*ROW_EXPRESSIONS, *PAIRS) if "day" in text):
            sql = to_sql(checked_kind(parse(text), schema, text)[0], schema)
            found = connection.execute(f"SELECT CAST({sql} AS VARCHAR) FROM t").fetchall()
            assert len(found) == len(FAR), text
            if text.startswith(reported):
                assert {row[0] for row in found} <= {None, "false"}, text


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/New_York"])
def test_a_time_with_a_zone_means_the_same_in_every_session(zone: str) -> None:
    schema = {"day": ColumnType(Kind.MOMENT, native="TIMESTAMP WITH TIME ZONE")}
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{zone}'")
        connection.execute("CREATE TABLE t AS SELECT TIMESTAMPTZ '2020-01-01 00:30:00+02' AS day")
        for text, expected in (
            ("year(day)", 2019.0),
            ("hour(day)", 22.0),
            ("CAST(day AS DATE)", datetime(2019, 12, 31)),
            ("CAST(day AS VARCHAR)", "2019-12-31 22:30:00"),
            ("date_diff('day', day, TIMESTAMP '2020-01-01 00:00:00')", 1.0),
            ("day + INTERVAL '2 hours'", datetime(2020, 1, 1, 0, 30)),
        ):
            node = checked_kind(parse(text), schema, text)[0]
            assert connection.execute(f"SELECT {to_sql(node, schema)} FROM t").fetchall() == [(expected,)], (
                text
            )


def test_texts_that_are_put_together_stay_below_a_length() -> None:
    node = read("job || job")
    for length, known in (
        (MAX_BYTES // 2, True),
        (MAX_BYTES // 2 + 1, False),
        (MAX_BYTES // 4 + 1, False),
    ):
        text = ("é" if length < MAX_BYTES // 3 else "a") * length
        value = evaluate(node, {"job": text})
        (found,) = duckdb.execute(f"SELECT {to_sql(node, SCHEMA)} FROM (SELECT ? AS job)", [text]).fetchall()
        assert (value is not None) is known
        assert found == (value,)


@pytest.mark.parametrize(
    "template",
    [
        "trim({})",
        "lower({} || job)",
        "substring({}, 2, length({}))",
        "coalesce({}, upper({}))",
        "nullif({}, name)",
    ],
)
def test_the_statement_grows_with_the_expression_however_it_nests(template: str) -> None:
    text = "job"
    while template.count("{}") * len(text) < 1_500 and text.count("(") < 25:
        text = template.replace("{}", text)
    node = read(text)
    sql = to_sql(node, SCHEMA)
    assert len(sql) < 400 * len(text)
    table = pyarrow.table({"job": ["a b", "É", None], "name": ["x", None, "y"]})
    found = asked(sql, table)
    expected = [evaluate(node, record) for record in table.to_pylist()]
    assert found == expected


def test_numbers_are_written_as_python_writes_them() -> None:
    chance = random.Random(3)
    numbers = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300) for _ in range(5_000)]
    numbers += [float(chance.randrange(-(10**17), 10**17)) for _ in range(2_000)]
    numbers += [round(chance.uniform(-1e6, 1e6), chance.randrange(8)) for _ in range(3_000)]
    table = pyarrow.table({"x": numbers})
    sql = to_sql(read("CAST(x AS VARCHAR)"), SCHEMA)
    found = asked(sql, table)
    assert found == [repr(number).removesuffix(".0") for number in numbers]
