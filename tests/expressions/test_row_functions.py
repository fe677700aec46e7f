"""Texts, dates and casts of the row language: read, written, bounded and computed, whatever is given."""

from __future__ import annotations

import math
import re
from datetime import datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prdp.declare.columns import derived_rounding
from prdp.engines.row_sql.expressions import to_sql
from prdp.errors import ExpressionError, InvalidRequest
from prdp.expressions.check import check, checked_kind
from prdp.expressions.evaluate import Value, evaluate, value_of
from prdp.expressions.functions import CAST_TARGETS, FUNCTIONS, SIGNATURES
from prdp.expressions.intervals import Interval, bound, outcome
from prdp.expressions.nodes import Call, Cast, Column, canonical, walk
from prdp.expressions.parse import parse
from prdp.expressions.texts import Wildcard, fits, pieces_of
from prdp.expressions.to_json import from_json, to_json
from prdp.schema import ColumnType, Kind
from prdp.testing.engine_contract import ROW_EXPRESSIONS, ROW_RECORDS

SCHEMA = {
    "job": ColumnType(Kind.TEXT, native="VARCHAR"),
    "x": ColumnType(Kind.NUMBER, native="DOUBLE"),
    "v": ColumnType(Kind.NUMBER, integer=True, native="BIGINT"),
    "day": ColumnType(Kind.MOMENT, native="TIMESTAMP"),
    "ok": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
}
NUMBERS = [text for text in ROW_EXPRESSIONS if checked_kind(parse(text), SCHEMA, text)[1] is Kind.NUMBER]


def test_the_expressions_use_every_function_and_every_cast() -> None:
    nodes = [node for text in ROW_EXPRESSIONS for node in walk(parse(text))]
    older = {"least", "greatest", "abs", "ln", "log2", "log10", "exp", "power"}
    assert {node.name for node in nodes if isinstance(node, Call)} >= set(FUNCTIONS) - older
    assert {node.target for node in nodes if isinstance(node, Cast)} == set(CAST_TARGETS)


@pytest.mark.parametrize("text", ROW_EXPRESSIONS)
def test_what_is_written_reads_back_the_same(text: str) -> None:
    node = parse(text)
    assert parse(canonical(node)) == node
    assert from_json(to_json(node)) == node
    assert canonical(parse(canonical(node))) == canonical(node)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("EXTRACT(Year FROM d)", "year(d)"),
        ("date_part('month', d)", "month(d)"),
        ("Substr(a, 2)", "substring(a, 2)"),
        ("substring(a FROM 2 FOR 3)", "substring(a, 2, 3)"),
        ("left(a, 2)", "substring(a, 1, 2)"),
        ("right(a, 2)", "substring(a, -2)"),
        ("TRY_CAST(a AS text)", "CAST(a AS VARCHAR)"),
        ("cast(a as double precision)", "CAST(a AS DOUBLE)"),
        ("mod(a, b + 1)", "a % (b + 1)"),
        ("a || (b || c)", "a || b || c"),
        ("a || b + c = d", "a || b + c = d"),
        ("(a = b) || c", "(a = b) || c"),
        ("a not ilike 'x'", "a NOT ILIKE 'x'"),
        ("NOT (a LIKE 'x' AND b)", "NOT (a LIKE 'x' AND b)"),
        ("a is not false", "a IS NOT FALSE"),
        ("(NOT a) IS TRUE", "a IS FALSE"),
        ("d - interval '90' day", "d - INTERVAL '90 day'"),
        ("d + INTERVAL 3 months - INTERVAL '1 day'", "d + INTERVAL '3 month' - INTERVAL '1 day'"),
        ("d - INTERVAL '-3 days'", "d + INTERVAL '3 day'"),
        ("ifnull(a, b)", "coalesce(a, b)"),
        ("a % b * c", "a % b * c"),
        ("a % (b * c)", "a % (b * c)"),
        ("year + day(d)", "year + day(d)"),
        ('"left" + "like"', 'left + "like"'),
    ],
)
def test_several_ways_to_write_it_are_one_expression(text: str, written: str) -> None:
    assert canonical(parse(text)) == written
    assert parse(written) == parse(text)


RANGES = {"x": Interval(-3.0, 2.5), "v": Interval(0.0, 2.0**62)}


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_lie_within_their_interval_and_are_there_where_that_is_stated(text: str) -> None:
    node = parse(text)
    found = outcome(node, RANGES)
    for record in ROW_RECORDS:
        x = record["x"]
        if x is None or math.isnan(x) or -3.0 <= x <= 2.5:
            value = evaluate(node, record)
            assert value is None or bound(node, RANGES).contains(float(value)), (record, value)  # type: ignore[arg-type]
            known = {name: given for name, given in record.items() if value_of(given) is not None}
            if found.total and all(part.name in known for part in walk(node) if isinstance(part, Column)):
                assert value is not None, record


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("x % 2", -2.0, 2.0),
        ("abs(x) % 10", 0.0, 3.0),
        ("round(x)", -3.0, 3.0),
        ("round(x, 1)", -3.0, 2.5),
        ("floor(x)", -3.0, 2.0),
        ("ceil(x)", -3.0, 3.0),
        ("sign(x)", -1.0, 1.0),
        ("year(day)", 1.0, 9999.0),
        ("coalesce(x, 7)", -3.0, 7.0),
        ("coalesce(x, 7, 99)", -3.0, 7.0),
        ("nullif(x, 0)", -3.0, 2.5),
        ("CAST(x AS INTEGER)", -3.0, 2.0),
        ("CAST(job AS DOUBLE)", -math.inf, math.inf),
        ("date_diff('day', day, day)", -3652058.0, 3652058.0),
        ("CASE WHEN job LIKE '%a%' THEN 1 ELSE 2 END", 1.0, 2.0),
        ("CASE WHEN (x > 1) IS TRUE THEN x ELSE 2 END", math.nextafter(1.0, 2.0), 2.5),
        ("CASE WHEN (x > 1) IS NOT TRUE THEN x ELSE 2 END", -3.0, 2.0),
        ("CASE WHEN (x > 5) IS TRUE THEN 1 ELSE 2 END", 2.0, 2.0),
        ("CASE WHEN (x < 5) IS TRUE THEN 1 ELSE 2 END", 1.0, 2.0),  # 2 for a record without x
    ],
)
def test_ends_are_as_tight_as_promised(text: str, low: float, high: float) -> None:
    assert bound(parse(text), RANGES) == Interval(low, high)


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("CASE WHEN job LIKE '%a%' THEN 1 ELSE 2 END", True),
        ("CASE WHEN lower(job) = 'a' THEN 1 ELSE 2 END", True),
        ("CASE WHEN upper(job) IN ('A', 'B') THEN 1 ELSE 2 END", True),
        ("length(trim(job))", True),
        ("year(date_trunc('month', day))", True),
        ("coalesce(CAST(job AS DOUBLE), 1)", True),
        ("CASE WHEN substring(job, x) = 'a' THEN 1 ELSE 2 END", False),
        ("CAST(job AS DOUBLE)", False),
        ("CAST(CASE WHEN ok THEN job END AS DOUBLE)", False),
        ("x % 0", False),
        ("nullif(x, 1)", False),
        ("CAST(x AS INTEGER)", True),
        ("CAST(v * 4 AS BIGINT)", False),
    ],
)
def test_what_may_be_unknown_is_known(text: str, total: bool) -> None:
    assert outcome(parse(text), RANGES).total is total


@pytest.mark.parametrize(
    "template",
    [
        *("1 + ({} % 7)", "round({} - 1, 2)", "coalesce({}, 1)", "nullif({}, 1)", "sign(least({}, 1))"),
        *("CAST(CAST({} AS VARCHAR) AS DOUBLE)", "length(lower(CAST({} AS VARCHAR)))"),
        "CASE WHEN {} > 1 THEN 1 END",
    ],
)
def test_every_part_is_looked_at_once_however_deep_it_is(template: str) -> None:
    """At twice a level, none of these would end."""
    text = "x"
    while text.count("(") + text.count("CASE") < 28:
        text = template.replace("{}", text)
    node = check(parse(text), SCHEMA, Kind.NUMBER, text)
    assert to_sql(node, SCHEMA)
    assert bound(node, RANGES)
    assert evaluate(node, {"x": 1.0}) is not False
    derived_rounding(node, SCHEMA, {})


_pattern = st.text(st.sampled_from("ab%_!"), max_size=7)


@settings(max_examples=400)
@given(pattern=_pattern, text=st.text(st.sampled_from("ab%\n"), max_size=9))
def test_a_pattern_fits_what_its_regular_expression_fits(pattern: str, text: str) -> None:
    pieces = pieces_of(pattern, "!")
    if pieces is None:
        assert re.fullmatch("([^!]|!.)*!", pattern, flags=re.DOTALL)
        return
    meant = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
    regular = "".join(re.escape(piece) if isinstance(piece, str) else meant[piece] for piece in pieces)
    assert fits(text, pieces) == bool(re.fullmatch(regular, text, flags=re.DOTALL))


_anything: st.SearchStrategy[Value] = st.one_of(
    st.none(), st.floats(allow_nan=False), st.text(max_size=5), st.booleans(), st.datetimes(),
    st.sampled_from([datetime.min, datetime.max, "5", "2020-01-31", 2.0**63, -1.0]),
)  # fmt: skip


@settings(max_examples=500)
@given(
    values=st.lists(_anything, min_size=1, max_size=3),
    name=st.sampled_from(FUNCTIONS),
    target=st.sampled_from(CAST_TARGETS),
)
def test_nothing_that_a_function_is_given_makes_it_fail(values: list[Value], name: Any, target: Any) -> None:
    """A tree from elsewhere may not have been checked against the columns."""
    record = {f"c{place}": value for place, value in enumerate(values)}
    args: list[Any] = [["column", column] for column in record]
    constants = {0: ["text", "day"], 1: ["number", 2] if name in ("round", "date_add") else ["text", "a%"]}
    for place in SIGNATURES[name].constant & {0, 1}:
        args[place : place + 1] = [constants[place]]
    try:
        node = from_json(["call", name, *args])
    except InvalidRequest:
        return
    assert isinstance(evaluate(node, record), float | str | bool | datetime | None)
    assert isinstance(evaluate(Cast(target, Column("c0")), record), float | str | datetime | None)
    assert isinstance(evaluate(parse("c0 - c0"), record), float | None)


@pytest.mark.parametrize(
    ("text", "place", "why", "instead"),
    [
        ("job + 1", "job", "this is a text", "CAST(job AS DOUBLE)"),
        ("lower(x)", "x", "this is a number", "CAST(x AS VARCHAR)"),
        ("x LIKE '1%'", "x", "this is a number", "CAST(x AS VARCHAR)"),
        ("job || x", "x", "this is a number", "CAST(x AS VARCHAR)"),
        ("year(job)", "job", "this is a text", "CAST(job AS DATE)"),
        ("day + 1", "1", "needs a unit", "INTERVAL '1 day'"),
        ("day * 2", "day", "this is a date or time", "year(day)"),
        ("coalesce(x, 'none')", "'none'", "this is a text, but", "one kind"),
        ("nullif(job, 1)", "1", "this is a number, but", "one kind"),
        ("CAST(x AS DATE)", "x", "CAST makes no DATE", ""),
        ("CAST(day AS DOUBLE)", "day", "CAST makes no DOUBLE", "date_diff('day'"),
        ("x IS TRUE", "x", "this is a number", ""),
        ("day - 'x'", "'x'", "this is a text", "CAST('x' AS DATE)"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(text: str, place: str, why: str, instead: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        check(parse(text), SCHEMA, Kind.NUMBER, text)
    start, end = refused.value.span
    assert text[start:end] == place
    assert why in refused.value.reason
    assert instead in refused.value.advice


@pytest.mark.parametrize(
    ("text", "round_to"),
    [
        ("length(job)", "1"),
        ("floor(x)", "1"),
        ("round(x, 2)", "1/100"),
        ("round(x, -3)", "1000"),
        ("year(day)", "1"),
        ("CAST(job AS BIGINT)", "1"),
        ("CAST(ok AS DOUBLE)", "1"),
        ("coalesce(v, 5)", "1"),
        ("nullif(v, 5)", "1"),
        ("v % 6 + 0.5", "1/2"),
        ("CAST(job AS DOUBLE)", None),
        ("x % 2", None),
    ],
)
def test_the_rounding_step_of_what_is_computed_follows(text: str, round_to: str | None) -> None:
    node = checked_kind(parse(text), SCHEMA, text)[0]
    assert derived_rounding(node, SCHEMA, {}) == (None if round_to is None else Fraction(round_to))
