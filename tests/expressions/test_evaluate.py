"""The meaning of the language, record by record."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prdp.expressions.evaluate import Value, evaluate
from prdp.expressions.nodes import Node
from prdp.expressions.parse import parse
from tests.expressions.expression_trees import conditions, library_numbers, numbers, records

INF, NAN = math.inf, math.nan
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def value(text: str, **record: object) -> Value:
    return evaluate(parse(text), record)


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("10000 / x", 40_000, 0.25),
        ("1 / x", 0, INF),
        ("1 / x", -0.0, INF),
        ("-1 / x", -0.0, -INF),
        ("x / 0", 0, None),
        ("x / x", INF, None),
        ("x - x", INF, None),
        ("0 * x", INF, None),
        ("x + x", 1.7e308, INF),
        ("-x * 2", 1.7e308, -INF),
        ("1 / x", INF, 0.0),
        ("x", NAN, None),
        ("x + 1", None, None),
        ("sqrt(x)", -1, None),
        ("sqrt(x)", -0.0, 0.0),
        ("ln(x)", 0, -INF),
        ("log2(x)", 8, 3.0),
        ("log10(x)", -5, None),
        ("ln(x)", INF, INF),
        ("exp(x)", 1_000, INF),
        ("exp(x)", -INF, 0.0),
        ("power(x, -1)", -0.0, INF),
        ("power(x, 0)", INF, 1.0),
        ("power(x, 0)", 0, 1.0),
        ("power(x, 0.5)", -4, None),
        ("power(x, 3)", -1e200, -INF),
        ("power(x, 2)", -1e200, INF),
        ("power(-2, x)", INF, None),
        ("power(-2, x)", 3, -8.0),
        ("power(x, 0.5)", -INF, None),
        ("power(1, x)", NAN, None),
        ("least(x, 100)", None, None),
        ("least(x, 100)", NAN, None),
        ("greatest(1, x, 2)", 5, 5.0),
        ("abs(x)", -3, 3.0),
    ],
)
def test_numbers_follow_the_strict_table(text: str, x: object, expected: Value) -> None:
    found = value(text, x=x)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("x > 1", None, None),
        ("x > 1", NAN, None),
        ("x IS NULL", NAN, True),
        ("x IS NOT NULL", 0, True),
        ("x + 1 IS NULL", None, True),
        ("x IN (1, 2)", 2, True),
        ("x NOT IN (1, 2)", None, None),
        ("x = -0", 0.0, True),
        ("x BETWEEN 1 AND 2", 1.5, True),
        ("x NOT BETWEEN 1 AND 2", None, None),
        ("x > 1 AND FALSE", None, False),
        ("x > 1 AND TRUE", None, None),
        ("x > 1 OR TRUE", None, True),
        ("x > 1 OR FALSE", None, None),
        ("NOT x > 1", None, None),
        ("x <> 1", 1, False),
    ],
)
def test_conditions_are_true_false_or_unknown(text: str, x: object, expected: Value) -> None:
    assert value(text, x=x) is expected


@pytest.mark.parametrize(("x", "expected"), [(5, 1.0), (-5, 2.0), (0, 3.0), (None, None), (NAN, None)])
def test_an_unknown_condition_never_falls_to_the_default(x: object, expected: Value) -> None:
    assert value("CASE WHEN x > 0 THEN 1 WHEN x < 0 THEN 2 ELSE 3 END", x=x) == expected


def test_a_case_without_default_is_unknown_where_nothing_holds() -> None:
    assert value("CASE x WHEN 1 THEN 10 END", x=2) is None
    assert value("CASE x WHEN 1 THEN 10 END", x=1) == 10.0


@pytest.mark.parametrize(
    ("given_value", "double"),
    [
        (2**53 + 1, 2.0**53),
        (10**400, INF),
        pytest.param(-(10**5_000), -INF, id="five thousand digits"),
        (Fraction(10**400, 3), INF),
        (Fraction(1, 3), 1 / 3),
        (Decimal("0.1"), 0.1),
        (Decimal("1e400"), INF),
        (Decimal("NaN"), None),
        (Decimal("sNaN"), None),
        (Decimal("-Infinity"), -INF),
    ],
)
def test_numbers_of_any_python_type_become_the_nearest_double(given_value: object, double: Value) -> None:
    assert value("x", x=given_value) == double


def test_texts_compare_by_code_point() -> None:
    assert value("x < 'a'", x="Z") is True
    assert value("x < '\U0001f600'", x="\uffff") is True
    assert value("x = ''", x="") is True


def test_a_date_is_its_midnight_and_a_zone_is_moved_to_utc() -> None:
    assert value("x = TIMESTAMP '2020-01-31 00:00:00'", x=date(2020, 1, 31)) is True
    east = timezone(timedelta(hours=2))
    assert value("x", x=datetime(2020, 1, 31, 1, tzinfo=east)) == datetime(2020, 1, 30, 23)
    assert value("x", x=datetime(1, 1, 1, tzinfo=east)) == datetime(1, 1, 1)
    assert value("x", x=datetime(2020, 1, 31, tzinfo=UTC)) == datetime(2020, 1, 31)


def test_a_value_of_a_foreign_type_is_a_mistake_of_the_programmer() -> None:
    with pytest.raises(TypeError):
        value("x", x=[1])
    with pytest.raises(KeyError):
        value("x")


@quick
@given(node=st.one_of(numbers(), library_numbers(), conditions()))
def test_no_record_raises_and_none_gives_nan(node: Node) -> None:
    for record in records(extra=30):
        found = evaluate(node, record)
        assert found is None or isinstance(found, bool) or not math.isnan(found)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["(TRUE + TRUE) * 2", "2 * job", "-job", "least(job, 1)", "job < 1", "job = 1", "abs(TRUE)"]
)
def test_an_expression_that_was_never_checked_is_unknown_where_it_mixes_kinds(text: str) -> None:
    """A text times a number is a longer text in Python: the record would decide how long."""
    assert evaluate(parse(text), {"job": "x" * 10}) is None


class Job(str, Enum):  # noqa: UP042  (not the class whose ``str`` is the text)
    """A text of a class of somebody's own, whose ``str`` says something else."""

    STUDENT = "a"


class Stamp(datetime):
    """A time of a class of somebody's own, as pandas has one."""


VALUES = [
    None, True, False, 0, 1, 1.0, -0.0, NAN, INF, 2**53 + 1, 10**400,
    Fraction(1, 2), Decimal(1), Decimal("NaN"), "", "1", "a", Job.STUDENT,
    date(2020, 1, 31), datetime(2020, 1, 31), Stamp(2020, 1, 31),
    datetime(2020, 1, 31, 2, tzinfo=timezone(timedelta(hours=2))), datetime(2020, 1, 31, 1),
]  # fmt: skip
ITEMS = ["1", "0", "0.5", "9007199254740992", "TRUE", "FALSE", "'1'", "'a'", "DATE '2020-01-31'"]


@pytest.mark.parametrize("x", VALUES, ids=repr)
def test_in_is_what_equals_with_each_item_gives(x: object) -> None:
    for items in [*combinations(ITEMS, 1), *combinations(ITEMS, 2), ITEMS]:
        each = " OR ".join(f"x = {item}" for item in items)
        among = f"x IN ({', '.join(items)})"
        assert value(among, x=x) is value(each, x=x), among
        assert value(f"NOT {among}", x=x) is value(f"NOT ({each})", x=x), among


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("x IN (1)", True, None),
        ("x = 1", True, None),
        ("x IN (TRUE)", 1, None),
        ("x IN (1, 'a')", "a", True),
        ("x IN (1, 'a')", "b", None),
        ("x IN ('a', 'b')", Job.STUDENT, True),
        ("x = 'a'", Job.STUDENT, True),
        ("x = DATE '2020-01-31'", Stamp(2020, 1, 31), True),
        ("x IN (DATE '2020-01-31')", date(2020, 1, 31), True),
        ("x IN (DATE '2020-01-31')", "2020-01-31", None),
        ("x IN (0)", -0.0, True),
        ("x IN (1)", NAN, None),
        ("x IN (1)", Decimal("1.0"), True),
    ],
)  # fmt: skip
def test_values_of_two_kinds_are_neither_equal_nor_different(text: str, x: object, expected: Value) -> None:
    assert value(text, x=x) is expected


@pytest.mark.parametrize("x", [0, 1, 5.0, "", "text", date(2020, 1, 31)], ids=repr)
@pytest.mark.parametrize(
    "text", ["NOT x", "x AND TRUE", "x OR FALSE", "CASE WHEN x THEN 1 ELSE 2 END", "(x = x) < (x = x)"]
)
def test_what_is_no_truth_value_is_no_condition_and_truth_values_have_no_order(text: str, x: object) -> None:
    """Only an expression that was never checked against a table asks for it: there it is unknown."""
    assert value(text, x=x) is None
