"""Filters at random, and the grid of contents that they are tried on: between all ends, and beyond them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import pyarrow

from prdp.expressions.check import check
from prdp.expressions.evaluate import evaluate, value_of
from prdp.expressions.nodes import Node
from prdp.expressions.parse import parse
from prdp.regions.region import PointSet, Region, around
from prdp.schema import ColumnType, Kind, Schema

Record = Mapping[str, Any]

SCHEMA: Schema = {
    "a": ColumnType(Kind.NUMBER, integer=True, native="BIGINT"),
    "v": ColumnType(Kind.NUMBER, native="DOUBLE"),
    "t": ColumnType(Kind.TEXT, native="VARCHAR"),
    "m": ColumnType(Kind.MOMENT, native="TIMESTAMP"),
    "b": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
}
FIXED = tuple(SCHEMA)
BIG = 2**53
DAY = datetime(2026, 11, 16)
GRID: dict[str, list[Any]] = {
    "a": [None, -(2**63), -1, 0, 1, 2, 3, 4, 5, 6, BIG - 1, BIG, BIG + 1, BIG + 2, 2**63 - 1],
    "v": [
        *(None, math.nan, -math.inf, math.inf, 0.0, -0.0, 5e-324, 1e308),
        *(-1.0, 0.5, 1.0, math.nextafter(2.0, 0), 2.0, math.nextafter(2.0, 3), 3.5, 100.5, 1000.0),
    ],
    "t": [None, "", "a", "a ", "ab", "b", "ba", "c", "é", "\U0001f600"],
    "m": [
        *(None, datetime.min, datetime.max, DAY),
        *(DAY + timedelta(microseconds=k) for k in (-1, 1)),
        DAY + timedelta(days=1),
    ],
    "b": [None, True, False],
}
BOXES = {
    "a": ["a {op} {a}", "{a} {op} a", "a IN ({a}, {a2})", "a NOT IN ({a}, {a2})"],
    "v": ["v {op} {v}", "v BETWEEN {v} AND {v2}", "v IN ({v}, {v2})", "v >= -0.0"],
    "t": ["t {op} {t}", "t IN ({t}, {t2})", "t NOT IN ({t}, 'zz')"],
    "m": ["m {op} {m}"],
    "b": ["b", "b = TRUE", "b <> TRUE"],
}
NULLS = ["{c} IS NULL", "{c} IS NOT NULL"]
ODD = [
    *("a + v > 3", "a < v", "abs(a) > 2", "CASE WHEN a > 2 THEN b ELSE NOT b END", "(a < 3) IS NULL"),
    *("(a < 3) IS TRUE", "(a < 3) IS NOT TRUE", "b IS FALSE", "(t > 'a') IS NOT FALSE", "NOT (b IS TRUE)"),
    *("t LIKE 'a%'", "lower(t) = 'a'", "a % 2 = 1", "coalesce(a, 3) = 3", "nullif(a, 3) IS NULL"),
    *("year(m) = 2026", "m = CAST('2026-11-16' AS DATE)", "a = CAST('3' AS DOUBLE)", "t = upper('a')"),
    *("CAST(a AS VARCHAR) = '3'", "m > DATE '2026-11-17' - INTERVAL '1 day'", "round(v) <= 2"),
    *("(a < 3) = FALSE", "a / 0 > 1", "a > 1 / 0", "v < sqrt(-1)", "TRUE", "FALSE", "b = (a > 1)"),
]


def atom(random: Random, *, plain: bool) -> str:
    """Return a condition; a plain one is on one column and constants."""
    draw = random.random()
    if not plain and draw < 0.25:
        return random.choice(ODD)
    column = random.choice(FIXED)
    if draw < 0.4:
        return random.choice(NULLS).format(c=column)
    op = random.choice(["=", "<>", "<", "<=", ">", ">="])
    numbers = ["-1", "0", "1", "2", "3", "3.5", "9007199254740992", "9007199254740993", "1e308"]
    texts = ["''", "'a'", "'ab'", "'b'", "'é'"]
    moments = ["DATE '2026-11-16'", "DATE '2026-11-17'", "DATE '0001-01-01'", "DATE '9999-12-31'"]
    return random.choice(BOXES[column]).format(
        op=op,
        a=random.choice(numbers),
        a2=random.choice(numbers),
        v=random.choice([*numbers, "-1e308"]),
        v2=random.choice(numbers),
        t=random.choice(texts),
        t2=random.choice(texts),
        m=random.choice(moments),
    )


def condition(random: Random, size: int, *, plain: bool = False) -> str:
    """Return a filter of so many conditions."""
    if size == 1:
        return atom(random, plain=plain)
    cut = random.randint(1, size - 1)
    left, right = condition(random, cut, plain=plain), condition(random, size - cut, plain=plain)
    word = random.choice(["AND", "OR"])
    both = f"({left}) {word} ({right})"
    return f"NOT ({both})" if random.random() < 0.3 else both


def read(text: str) -> Node:
    return check(parse(text), SCHEMA, Kind.BOOLEAN, text)


def records(random: Random, count: int) -> list[Record]:
    """Return contents of the grid, at random."""
    return [{column: random.choice(values) for column, values in GRID.items()} for _ in range(count)]


def every_record(*columns: str) -> list[Record]:
    """Return all contents of some columns, the others being NULL."""
    rest = dict.fromkeys(GRID)
    values = product(*(GRID[column] for column in columns))
    return [{**rest, **dict(zip(columns, row, strict=True))} for row in values]


def is_in(points: PointSet, value: object) -> bool:
    known = value_of(value)
    if known is None:
        return points.null
    span = around(points.kind, known)
    assert span is not None
    return any(low <= span[0] < end for low, end in points.spans)


def holds(region: Region, record: Record) -> bool:
    """Return whether a record's content is in a region."""
    return any(all(is_in(points, record[column]) for column, points in box.sides) for box in region.boxes)


def meets(one: Region, other: Region) -> bool:
    """Return whether two regions have a content in common."""
    return any(mine.meet(yours) is not None for mine in one.boxes for yours in other.boxes)


def is_true(node: Node, record: Record) -> bool:
    return evaluate(node, record) is True


def arrow_of(rows: list[Record]) -> pyarrow.Table:
    """Return records as a table whose columns have the types of the schema."""
    types = {
        "a": pyarrow.int64(),
        "v": pyarrow.float64(),
        "t": pyarrow.string(),
        "m": pyarrow.timestamp("us"),
        "b": pyarrow.bool_(),
    }
    return pyarrow.table(
        {
            column: pyarrow.array([row[column] for row in rows], kind, from_pandas=False)
            for column, kind in types.items()
        }
    )
