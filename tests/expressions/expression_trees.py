"""Random expressions over a table with one column of each type, and records made to trip them."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from itertools import zip_longest

from hypothesis import strategies as st

from prdp.expressions.nodes import (
    ARITHMETIC,
    COMPARISONS,
    Arithmetic,
    Boolean,
    Call,
    Case,
    Column,
    Compare,
    FunctionName,
    InList,
    IsNull,
    Moment,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Text,
    conjunction,
    disjunction,
)
from prdp.schema import ColumnType, Kind

SCHEMA = {
    "small": ColumnType(Kind.NUMBER, integer=True, native="INTEGER"),
    "big": ColumnType(Kind.NUMBER, integer=True, native="BIGINT"),
    "Huge": ColumnType(Kind.NUMBER, integer=True, native="HUGEINT"),
    "real": ColumnType(Kind.NUMBER, native="DOUBLE"),
    'an "odd" real': ColumnType(Kind.NUMBER, native="DOUBLE"),
    "single": ColumnType(Kind.NUMBER, native="FLOAT"),
    "money": ColumnType(Kind.NUMBER, native="DECIMAL(9,2)"),
    "wealth": ColumnType(Kind.NUMBER, native="DECIMAL(38,4)"),
    "job": ColumnType(Kind.TEXT, native="VARCHAR"),
    "grade": ColumnType(Kind.TEXT, native="ENUM('A', 'b')"),
    "ok": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
    "day": ColumnType(Kind.MOMENT, native="DATE"),
    "time": ColumnType(Kind.MOMENT, native="TIMESTAMP"),
}

_INF, _NAN = float("inf"), float("nan")
_DOUBLES = [
    0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 100.0, 1e4, 1e-8, _INF, -_INF, _NAN, 5e-324, -5e-324,
    2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 1e160, -1e160,
    2.0**53, 2.0**53 + 2, 0.1, 1 / 3,
]  # fmt: skip
_POOLS: dict[str, list[object]] = {
    "small": [0, 1, -1, 2, 3, 7, 100, -40_000, 2**31 - 1, -(2**31)],
    "big": [0, 1, -1, 5, 10_000, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)],
    "Huge": [0, 1, -3, 2**53 + 1, 2**64 + 2**11 + 1, 2**127 - 1, -(2**127), -9_425_820_551_354_270],
    "real": list(_DOUBLES),
    'an "odd" real': list(_DOUBLES),
    "single": [0.0, -0.0, 1.5, -3.0, _INF, -_INF, _NAN, 2.0**100, 2.0**-149, 0.10000000149011612],
    "money": [Decimal("0.00"), Decimal("0.01"), Decimal("-9999999.99"), Decimal("12.34")],
    "wealth": [
        Decimal("0.0000"), Decimal("-0.0001"), Decimal("9007199254740993.0000"),
        Decimal("1234567890123456789012345678901234.5678"), Decimal("900719925474.0993"),
    ],
    "job": ["", "student", "Student", "retired", "it's", "é", "z\u0301", "\U0001f600", "~"],
    "grade": ["A", "b"],
    "ok": [True, False],
    "day": [date(1, 1, 1), date(1970, 1, 1), date(2020, 1, 31), date(9999, 12, 31)],
    "time": [datetime(2020, 1, 31), datetime(2020, 1, 31, 10, 0, 0, 1), datetime(1960, 5, 5, 5)],
}  # fmt: skip


def records(extra: int, seed: int = 20261115) -> list[dict[str, object]]:
    """Return records that show every special value, an empty one, and random mixtures of them."""
    shown = [
        dict(zip(_POOLS, values, strict=True)) for values in zip_longest(*_POOLS.values(), fillvalue=None)
    ]
    chance = random.Random(seed)
    mixed = [
        {name: chance.choice([None, *pool, *pool, *pool]) for name, pool in _POOLS.items()}
        for _ in range(extra)
    ]
    return [*shown, dict.fromkeys(_POOLS), *mixed]


NUMBER_COLUMNS = [name for name, column in SCHEMA.items() if column.kind is Kind.NUMBER]

constants = st.one_of(
    st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5, 100.0, 1e4, 1e-8, 3.0, 2.0**53, 1e308, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value or 0.0),
).map(Number)
_number_columns = st.sampled_from(NUMBER_COLUMNS).map(Column)
_leaves = st.one_of(_number_columns, _number_columns, constants)
_jobs = st.sampled_from(["", "student", "retired", "it's", "é", "A", "zz"]).map(Text)
_texts = st.one_of(st.sampled_from(["job", "grade"]).map(Column), _jobs)
_moments = st.one_of(
    st.sampled_from(["day", "time"]).map(Column),
    st.datetimes(datetime(1950, 1, 1), datetime(2050, 1, 1)).map(Moment),
    st.sampled_from([datetime(2020, 1, 31), datetime(1970, 1, 1)]).map(Moment),
)
_comparisons = st.sampled_from(COMPARISONS)
_simple_conditions: st.SearchStrategy[Node] = st.one_of(
    st.builds(Compare, _comparisons, _number_columns, constants),
    st.builds(Compare, _comparisons, constants, _number_columns),
    st.builds(Compare, _comparisons, _texts, _texts),
    st.builds(Compare, _comparisons, _moments, _moments),
    st.builds(InList, _texts, st.lists(_jobs, min_size=1, max_size=3).map(tuple)),
    st.builds(IsNull, st.one_of(_number_columns, _texts, _moments)),
    st.sampled_from([Column("ok"), Boolean(value=True), Null()]),
)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> Node:  # noqa: PLR0911
    """Draw a condition; numbers in it are exact."""
    if not depth:
        return draw(_simple_conditions)
    inner = conditions(depth - 1)
    match draw(st.integers(0, 7)):
        case 0:
            return Not(draw(inner))
        case 1:
            return conjunction(draw(st.lists(inner, min_size=2, max_size=3)))
        case 2:
            return disjunction(draw(st.lists(inner, min_size=2, max_size=3)))
        case 3:
            return Compare(draw(st.sampled_from(["=", "<>"])), draw(inner), draw(inner))
        case 4:
            return Compare(draw(_comparisons), draw(numbers(depth - 1)), draw(numbers(depth - 1)))
        case 5:
            items = draw(st.lists(constants, min_size=1, max_size=3))
            return InList(draw(numbers(depth - 1)), tuple(items))
        case 6:
            return IsNull(draw(numbers(depth - 1)))
        case _:
            return draw(_simple_conditions)


@st.composite
def numbers(draw: st.DrawFn, depth: int = 4) -> Node:  # noqa: PLR0911
    """Draw a number made by operations that every machine rounds alike."""
    if not depth:
        return draw(_leaves)
    inner = numbers(depth - 1)
    match draw(st.integers(0, 7)):
        case 0 | 1:
            return Arithmetic(draw(st.sampled_from(ARITHMETIC)), draw(inner), draw(inner))
        case 2:
            return Arithmetic("/", draw(inner), draw(inner))
        case 3:
            return Call(draw(st.sampled_from(["abs", "sqrt"])), (draw(inner),))
        case 4:
            args = draw(st.lists(inner, min_size=2, max_size=3))
            return Call(draw(st.sampled_from(["least", "greatest"])), tuple(args))
        case 5:
            value = st.one_of(inner, inner, st.just(Null()))
            branch = st.tuples(conditions(depth - 1), value)
            branches = draw(st.lists(branch, min_size=1, max_size=3))
            return Case(tuple(branches), draw(value))
        case 6:
            operand = draw(inner)
            return operand if isinstance(operand, Number) else Negate(operand)
        case _:
            return draw(_leaves)


@st.composite
def library_numbers(draw: st.DrawFn) -> Node:
    """Draw a number with one function on top that libraries round differently at the end."""
    names: list[FunctionName] = ["ln", "log2", "log10", "exp", "power", "power"]
    name = draw(st.sampled_from(names))
    if name != "power":
        return Call(name, (draw(numbers(2)),))
    return Call(name, (draw(numbers(2)), draw(st.one_of(numbers(1), constants))))
