"""DuckDB gives for every record what the reference gives, whatever its settings."""

from __future__ import annotations

import math
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prdp.engines.row_sql.expressions import quoted, to_sql
from prdp.expressions.check import check
from prdp.expressions.evaluate import Value, evaluate
from prdp.expressions.nodes import Node, Number, canonical
from prdp.expressions.parse import parse
from prdp.schema import ColumnType, Kind
from tests.expressions.expression_trees import SCHEMA, conditions, library_numbers, numbers, records

RECORDS = records(extra=80)
quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.fixture(scope="module", params=["true", "false"], ids=["ieee", "not-ieee"])
def engine(request: pytest.FixtureRequest) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"SET ieee_floating_point_ops = {request.param}")
    types = ", ".join(f"{quoted(name)} {column.native}" for name, column in SCHEMA.items())
    connection.execute(f"CREATE TABLE t (place INTEGER, {types})")
    marks = ", ".join("?" * (len(SCHEMA) + 1))
    rows = [(place, *record.values()) for place, record in enumerate(RECORDS)]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    # Some settings of a session change what text comparisons and casts of times mean.
    connection.execute("SET default_collation = 'nocase'")
    yield connection
    connection.close()


def answers(engine: duckdb.DuckDBPyConnection, *expressions: str) -> list[tuple[object, ...]]:
    listed = ", ".join(expressions)
    return engine.execute(f"SELECT {listed} FROM t ORDER BY place").fetchall()


def same(found: object, expected: Value, doubles_apart: int = 0) -> bool:
    if found is None or expected is None:
        return found is expected
    if isinstance(expected, float) and isinstance(found, float) and doubles_apart:
        return math.isclose(found, expected, rel_tol=doubles_apart * 2.0**-52, abs_tol=5e-323)
    return type(found) is type(expected) and found == expected


def assert_agree(engine: duckdb.DuckDBPyConnection, nodes: list[Node], doubles_apart: int = 0) -> None:
    rows = answers(engine, *(to_sql(node, SCHEMA) for node in nodes))
    for record, row in zip(RECORDS, rows, strict=True):
        for node, found in zip(nodes, row, strict=True):
            expected = evaluate(node, record)
            assert same(found, expected, doubles_apart), (canonical(node), record, found, expected)


@pytest.mark.slow
@quick
@given(nodes=st.lists(numbers(), min_size=3, max_size=8))
def test_numbers_are_the_very_same_doubles(engine: duckdb.DuckDBPyConnection, nodes: list[Node]) -> None:
    assert_agree(engine, nodes)


@quick
@given(nodes=st.lists(conditions(), min_size=3, max_size=8))
def test_conditions_are_true_false_or_unknown_alike(
    engine: duckdb.DuckDBPyConnection, nodes: list[Node]
) -> None:
    assert_agree(engine, nodes)


@quick
@given(nodes=st.lists(library_numbers(), min_size=3, max_size=8))
def test_library_functions_agree_within_a_few_doubles(
    engine: duckdb.DuckDBPyConnection, nodes: list[Node]
) -> None:
    assert_agree(engine, nodes, doubles_apart=8)


def sql_of(text: str, expected: Kind = Kind.NUMBER) -> str:
    return to_sql(check(parse(text), SCHEMA, expected, text), SCHEMA)


# What one might write without care: each is wrong for some record, and must be found out.
CARELESS = {
    "least(real, 100)": 'least("real", 100e0)',
    "greatest(real, 1)": 'greatest("real", 1e0)',
    "CASE WHEN real > 0 THEN 1 ELSE 2 END": 'CASE WHEN "real" > 0 THEN 1e0 ELSE 2e0 END',
    "1 / (0 - small / 1e308 / 1e308)": '1e0 / nullif(0 - "small" / 1e308 / 1e308, 0)',
    "power(real, 0)": 'power("real", 0e0)',
    "real - real": '"real" - "real"',
    "big / 3": '"big" // 3',
    "Huge + 0": 'CAST("Huge" AS DOUBLE) + 0e0',
}


@pytest.mark.parametrize("text", CARELESS)
def test_careless_sql_is_distinguished_from_the_reference(
    engine: duckdb.DuckDBPyConnection, text: str
) -> None:
    node = check(parse(text), SCHEMA, Kind.NUMBER, text)
    expected = [evaluate(node, record) for record in RECORDS]
    careful = [row[0] for row in answers(engine, to_sql(node, SCHEMA))]
    careless = [row[0] for row in answers(engine, CARELESS[text])]
    assert all(map(same, careful, expected))
    assert not all(map(same, careless, expected))


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("10000 / big", "(CASE WHEN big = 0 THEN {inf} ELSE (10000e0 / {big}) END)"),
        ("1 / big * 0.5", "((CASE WHEN big = 0 THEN {inf} ELSE (1e0 / {big}) END) * 0.5e0)"),
        ("10000 / 4", "2500e0"),
        ("small / 4", "({small} / 4e0)"),
        ("1 / (abs(small) + 1)", "(1e0 / (abs({small}) + 1e0))"),
        ("sqrt(abs(small))", "sqrt(abs({small}))"),
        ("power(small, 2)", "power({small}, 2e0)"),
        ("least(small, 5)", "(CASE WHEN {small} > 5e0 THEN 5e0 ELSE {small} END)"),
        (
            "CASE WHEN big > 0 THEN 10000 / big ELSE 100 END",
            "(CASE WHEN (big > 0) THEN (10000e0 / {big}) WHEN NOT (big > 0) THEN 100e0 END)",
        ),
        (
            "CASE WHEN real > 0 THEN 10000 / real ELSE 100 END",
            "(CASE WHEN {positive} THEN CAST(10000e0 / real AS DOUBLE) WHEN NOT {positive} THEN 100e0 END)",
        ),
    ],
)
def test_guards_that_types_and_constants_show_idle_are_left_out(text: str, sql: str) -> None:
    expected = sql.format(
        inf="CAST('Infinity' AS DOUBLE)",
        big="CAST(big AS DOUBLE)",
        small="CAST(small AS DOUBLE)",
        positive="(CASE WHEN isnan(real) THEN NULL ELSE real > 0e0 END)",
    )
    assert sql_of(text).replace('"', "") == expected


def nested(template: str, times: int) -> str:
    text = "real"
    for _ in range(times):
        text = template.replace("{}", text)
    return text


@pytest.mark.parametrize(
    "template",
    [
        "({}) % ({})",
        "round({} % 7, 2)",
        "sign({}) + floor({})",
        "3 / ({} - 1)",
        "(small - {}) / (2 - {})",
        "sqrt({} + 2)",
        "ln({} + 3)",
        "least({} * 2, small)",
        "greatest(real, {})",
        "power({}, small)",
        "power({}, -0.5)",
        "CASE WHEN {} > small THEN 1.5 WHEN real > 3 THEN 2 ELSE small END",
        "CASE WHEN {} IS NULL THEN 1 ELSE real + 1 END",
        "CASE WHEN {} IN (1, 2) THEN 1 ELSE real / small END",
    ],
)
def test_sql_grows_with_the_expression_and_not_with_the_power_of_its_depth(
    engine: duckdb.DuckDBPyConnection, template: str
) -> None:
    depth = 5 if template.count("{}") > 1 else 16
    text = nested(template, depth)
    sql = sql_of(text)
    assert len(sql) < 150 * len(text)
    node = check(parse(text), SCHEMA, Kind.NUMBER, text)
    found = [row[0] for row in answers(engine, sql)]
    library = "ln" in template or "power" in template
    for record, value in zip(RECORDS, found, strict=True):
        expected = evaluate(node, record)
        assert library or same(value, expected), (record, value, expected)


def test_long_chains_and_lists_are_planned(engine: duckdb.DuckDBPyConnection) -> None:
    chain = parse("real" + " / real" * 100)
    long_list = parse(f"small IN ({', '.join(map(str, range(500)))})")
    many = parse(" AND ".join(f"small <> {number}" for number in range(400)))
    assert_agree(engine, [chain, long_list, many])


def test_times_with_a_zone_are_compared_in_utc_whatever_the_session() -> None:
    schema = {"t": ColumnType(Kind.MOMENT, native="TIMESTAMP WITH TIME ZONE")}
    sql = to_sql(parse("t = TIMESTAMP '2020-01-31 22:00:00'"), schema)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        source = "(SELECT TIMESTAMPTZ '2020-02-01 00:00:00+02' AS t)"
        assert connection.execute(f"SELECT {sql} FROM {source}").fetchall() == [(True,)]


def test_a_column_of_any_name_is_read() -> None:
    schema = {name: ColumnType(Kind.NUMBER, native="DOUBLE") for name in ('a"b', "prdp_value", "select")}
    text = 'least(1 / ("a""b" + prdp_value), "select")' + ' + "a""b" * prdp_value' * 80
    sql = to_sql(check(parse(f"1 / ({text})"), schema, Kind.NUMBER, text), schema)
    assert "lambda prdp_value_:" in sql
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE t ("a""b" DOUBLE, prdp_value DOUBLE, "select" DOUBLE)')
        connection.execute("INSERT INTO t VALUES (1, 2, 3)")
        (found,) = connection.execute(f"SELECT {sql} FROM t").fetchall()[0]
    assert found == 1 / (1 / 3 + 160)


@pytest.mark.slow
@settings(deadline=None)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=50, max_size=100))
def test_a_constant_is_the_very_same_double_in_sql(values: list[float]) -> None:
    sql = ", ".join(to_sql(Number(value or 0.0), SCHEMA) for value in values)
    with duckdb.connect() as connection:
        assert list(connection.execute(f"SELECT {sql}").fetchall()[0]) == values
