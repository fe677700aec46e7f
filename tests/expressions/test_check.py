"""Columns are found whatever their case, and operations get what they can use."""

from __future__ import annotations

import pytest

from prdp.errors import ExpressionError
from prdp.expressions.check import check
from prdp.expressions.nodes import Node, canonical, columns
from prdp.expressions.parse import parse
from prdp.expressions.tokens import HOW_TO_WRITE_MOMENTS
from prdp.schema import ColumnType, Kind

SCHEMA = {
    "balance": ColumnType(Kind.NUMBER, integer=True, native="BIGINT"),
    "Age": ColumnType(Kind.NUMBER, native="DOUBLE"),
    "job": ColumnType(Kind.TEXT, native="VARCHAR"),
    "active": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
    "opened": ColumnType(Kind.MOMENT, native="DATE"),
    "tags": ColumnType(Kind.OTHER, native="VARCHAR[]"),
    "two": ColumnType(Kind.NUMBER),
    "TWO": ColumnType(Kind.NUMBER),
    "a b": ColumnType(Kind.NUMBER),
}


def checked(text: str, expected: Kind = Kind.NUMBER) -> Node:
    return check(parse(text), SCHEMA, expected, text)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("BALANCE + age", "balance + Age"),
        ('"Balance" + "A B"', 'balance + "a b"'),
        ("two + TWO", "two + TWO"),
        ("CASE WHEN JOB = 'x' THEN AGE ELSE NULL END", "CASE WHEN job = 'x' THEN Age END"),
        ("least(BALANCE, -AGE)", "least(balance, -Age)"),
    ],
)
def test_columns_are_spelled_as_the_table_spells_them(text: str, spelled: str) -> None:
    node = checked(text)
    assert canonical(node) == spelled
    assert columns(node) <= set(SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "active",
        "NOT ACTIVE AND opened >= DATE '2020-01-01'",
        "job IN ('a', 'b') OR job < 'c'",
        "active = (age > 3)",
        "active IN (TRUE)",
        "opened IS NULL OR job IS NOT NULL",
        "CASE WHEN active THEN job END = 'x'",
        "CASE WHEN active THEN opened ELSE NULL END = TIMESTAMP '2020-01-01 10:00:00'",
        "NULL",
    ],
)
def test_conditions_of_every_kind_of_column_are_accepted(text: str) -> None:
    checked(text, Kind.BOOLEAN)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("balence", "balence", "Did you mean balance?"),
        ("1 + xyz", "xyz", "The columns are balance, Age, job"),
        ("Two", "Two", "could be two and TWO"),
        ("tags", "tags", "VARCHAR[]"),
        ("job + 1", "job", "this is a text, and a number is needed here"),
        ("1 + -active", "active", "true or false"),
        ("sqrt(opened)", "opened", "date or time"),
        ("least(1, 'x')", "'x'", "a number is needed"),
        ("CASE WHEN balance THEN 1 END", "balance", "a true or false is needed"),
        ("CASE WHEN active THEN 1 ELSE 'x' END", "'x'", "another branch gives a number"),
        ("CASE WHEN job = 1 THEN 1 END", "1", "Write '1', in quotes."),
        ("CASE WHEN balance > '5' THEN 1 END", "'5'", "Write 5, without quotes"),
        ("CASE WHEN balance > 'five' THEN 1 END", "'five'", "'five' is not a number"),
        ("opened > '2025-02-30'", "'2025-02-30'", HOW_TO_WRITE_MOMENTS),
        ("opened > 'June'", "'June'", HOW_TO_WRITE_MOMENTS),
        ("CASE WHEN active < 1 THEN 1 END", "active < 1", "no order"),
        ("CASE WHEN active = balance THEN 1 END", "balance", "cannot be compared with a number"),
        ("CASE WHEN active = 2 THEN 1 END", "2", "Write a true or false in place of this number."),
        ("CASE WHEN balance = [1, 2] THEN 1 END", "[", "A list comes after IN: x IN (1, 2)."),
        ("CASE WHEN balance > @limit THEN 1 END", "@", "Write the value itself: f'x > {limit}'."),
        ("CASE WHEN count(*) > 5 THEN 1 END", "count", "Groups are filtered with HAVING in SQL."),
        ("CASE WHEN job IN ('a', 2) THEN 1 END", "2", "cannot be compared"),
        ("CASE WHEN balance = job THEN 1 END", "job", "a number cannot be compared with a text"),
        ("CASE WHEN balance = NULL THEN 1 END", "balance", "IS NULL"),
        ("CASE WHEN active < TRUE THEN 1 END", "active < TRUE", "no order"),
        ("CASE WHEN NOT balance THEN 1 END", "balance", "a true or false is needed"),
        ("balance > 1", "balance > 1", "a number is needed here"),
        ("job", "job", "this is a text"),
    ],
)
def test_a_misfit_is_refused_where_it_is(text: str, place: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        checked(text)
    start, end = caught.value.span
    assert text[start:end] == place
    assert message in str(caught.value)


def test_a_boolean_is_compared_with_0_and_1_as_in_sql() -> None:
    assert canonical(checked("active = 1", Kind.BOOLEAN)) == canonical(checked("active = TRUE", Kind.BOOLEAN))
    assert canonical(checked("0 <> active", Kind.BOOLEAN)) == canonical(
        checked("FALSE <> active", Kind.BOOLEAN)
    )
    assert canonical(checked("active IN (0, 1.0)", Kind.BOOLEAN)) == "active IN (FALSE, TRUE)"


def test_null_fits_wherever_a_value_does() -> None:
    assert canonical(checked("NULL + balance")) == "NULL + balance"
    assert canonical(checked("CASE WHEN NULL THEN 1 ELSE NULL END")) == "CASE WHEN NULL THEN 1 END"
