"""A filter's region holds every content for which the filter is TRUE, by ``evaluate`` and the engine."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from random import Random
from typing import Any

import duckdb
import pytest

from prdp.engines.row_sql.expressions import to_sql
from prdp.expressions.nodes import And, Column, InList, IsNull, Node, Not, Or, walk
from prdp.regions import region as region_module
from prdp.regions.query_region import ANY, Sides, filter_region, sides
from prdp.regions.region import (
    NOBODY,
    WHOLE,
    Box,
    PointSet,
    Region,
    intersection,
    region_from_json,
    region_to_json,
    union,
)
from prdp.schema import Schema
from tests.regions.worlds import (
    BIG,
    FIXED,
    SCHEMA,
    arrow_of,
    condition,
    every_record,
    holds,
    is_true,
    meets,
    read,
    records,
)

Reading = Callable[[Node, Schema, Collection[str]], Sides]


def test_a_region_holds_every_record_that_the_filter_lets_through() -> None:
    random = Random(18)
    for case in range(3_000):
        text = condition(random, 1 + case % 6)
        node = read(text)
        both = sides(node, SCHEMA, FIXED)
        for record in records(random, 40):
            if is_true(node, record):
                assert holds(both.true, record), (text, record)
            if is_true(Not(node), record):
                assert holds(both.false, record), (text, record)


def test_a_region_of_plain_conditions_on_one_column_is_exact() -> None:
    random = Random(19)
    for _ in range(1_000):
        text = condition(random, 1, plain=True)
        node = read(text)
        (column,) = {part for part in FIXED if part in {c.name for c in _columns(node)}}
        region = filter_region(node, SCHEMA, FIXED)
        for record in every_record(column):
            assert holds(region, record) == is_true(node, record), (text, record)


def test_a_region_of_plain_conditions_joined_by_and_or_and_not_is_exact() -> None:
    random = Random(20)
    for case in range(1_500):
        text = condition(random, 1 + case % 5, plain=True)
        node = read(text)
        region = filter_region(node, SCHEMA, FIXED)
        for record in records(random, 40):
            assert holds(region, record) == is_true(node, record), (text, record)


def test_a_region_holds_every_record_that_the_engine_lets_through() -> None:
    random = Random(21)
    rows = [*records(random, 300), *every_record("a"), *every_record("v"), *every_record("m")]
    table = arrow_of(rows)
    with duckdb.connect() as database:
        database.register("grid", table)
        for case in range(400):
            plain = case % 2 == 0
            node = read(condition(random, 1 + case % 5, plain=plain))
            found = database.sql(f"SELECT {to_sql(node, SCHEMA)} IS TRUE FROM grid").fetchall()
            region = filter_region(node, SCHEMA, FIXED)
            for record, (true,) in zip(rows, found, strict=True):
                assert holds(region, record) >= true
                assert not plain or holds(region, record) == true


def test_moments_that_python_does_not_know_are_in_regions_too() -> None:
    """The engine has infinities, BC and years past 9999: a region without them would be free there."""
    with duckdb.connect() as database:
        for text in ("infinity", "-infinity", "0044-03-15 (BC)", "20000-01-01"):
            for op in ("<", ">"):
                node = read(f"m {op} DATE '2026-11-16'")
                sql = f"SELECT {to_sql(node, SCHEMA)}, epoch_us(m) FROM (SELECT TIMESTAMP '{text}' AS m)"
                if "infinity" in text:
                    sql = sql.replace("epoch_us(m)", str((2**63 - 1) * (-1 if "-" in text else 1)))
                ((true, place),) = database.sql(sql).fetchall()
                (box,) = filter_region(node, SCHEMA, FIXED).boxes
                (span,) = box.sides[0][1].spans
                assert (span[0] <= place < span[1]) == true


def test_whole_numbers_beyond_2_to_the_53_are_the_points_of_their_doubles() -> None:
    node = read("a = 9007199254740993")  # read as the double 2^53
    region = filter_region(node, SCHEMA, FIXED)
    for whole in (BIG - 1, BIG, BIG + 1, BIG + 2):
        record = {**dict.fromkeys(SCHEMA), "a": whole}
        assert holds(region, record) == is_true(node, record) == (whole in {BIG, BIG + 1})


def test_declared_bounds_do_not_matter_and_types_do() -> None:
    above, far = (filter_region(read(text), SCHEMA, FIXED) for text in ("v > 100", "v >= 1000"))
    assert above != NOBODY
    assert far != NOBODY
    assert meets(above, far)
    assert not filter_region(read("a > 46 AND a < 47"), SCHEMA, FIXED).boxes  # no whole number lies between


def test_columns_that_are_not_fixed_narrow_nothing() -> None:
    region = filter_region(read("a = 3 AND t = 'open'"), SCHEMA, ["a"])
    assert region == filter_region(read("a = 3"), SCHEMA, ["a"])
    opened, closed = (filter_region(read(f"t = '{word}'"), SCHEMA, ["a"]) for word in ("open", "closed"))
    assert meets(opened, closed)  # a row that moves from one to the other has paid for both


def test_the_text_of_a_region_reads_back_as_the_same_region() -> None:
    random = Random(22)
    for case in range(1_000):
        region = filter_region(read(condition(random, 1 + case % 5)), SCHEMA, FIXED)
        text = region_to_json(region)
        assert region_from_json(text) == region
        assert "\0" not in text


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "3", "[3]", '[{"a": 3}]', '[{"a": {"whole": [[5, 4]]}}]', '[{"a": {"whole": []}}]'),
        *('[{"a": {"whole": [1, 2]}}]', '[{"a": {"whole": [3, 1]}}]', '[{"a": {"odd": [1]}}]'),
        *('[{"v": {"number": [NaN]}}]', '[{"a": {"whole":[1]}}]', '[{"a": {"whole": [1], "a": [2]}}]'),
        *('[{"b": {"truth": [2]}}]', '[{"a": {"whole": [[null, null]], "null": true}}]'),
    ],
)
def test_what_nobody_writes_is_no_region(text: str) -> None:
    with pytest.raises(ValueError, match="no region"):
        region_from_json(text)


@pytest.mark.slow
def test_many_conditions_are_widened_and_never_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_module, "MAX_BOXES", 2)
    monkeypatch.setattr(region_module, "MAX_SPANS", 3)
    test_a_region_holds_every_record_that_the_filter_lets_through()


def test_the_longest_filter_is_read_quickly() -> None:
    many = " OR ".join(f"(a = {k} AND v = {k})" for k in range(390))
    region = filter_region(read(many), SCHEMA, FIXED)
    assert len(region.boxes) == 1
    assert holds(region, {**dict.fromkeys(SCHEMA), "a": 389, "v": 389.0})


# What broke in earlier designs, and must be seen to break.


def misses(reading: Reading, texts: list[str]) -> int:
    """Return how many records a filter lets through although its region does not hold them."""
    missed = 0
    for text in texts:
        node = read(text)
        region = reading(node, SCHEMA, FIXED).true
        missed += sum(
            is_true(node, record) and not holds(region, record)
            for record in [
                *every_record("a", "v"),
                *every_record("t"),
                *every_record("m"),
                *every_record("b"),
            ]
        )
    return missed


def rebuilt(node: Node, reading: Callable[[Node], Sides]) -> Sides:
    """Return the sides of AND and OR from those of their parts."""
    if isinstance(node, And | Or):
        parts = [reading(part) for part in node.parts]
        true, false = [part.true for part in parts], [part.false for part in parts]
        if isinstance(node, And):
            return Sides(intersection(true), union(false))
        return Sides(union(true), intersection(false))
    return sides(node, SCHEMA, FIXED)


def complement(region: Region) -> Region:
    """Return all contents that are not in a region, NULLs too."""
    parts = [
        union(
            Region.where(column, PointSet(points.kind, points.others().spans, null=not points.null))
            for column, points in box.sides
        )
        if box.sides
        else NOBODY
        for box in region.boxes
    ]
    return intersection(parts)


def complementing(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    """Widen a condition, and then complement it for NOT."""
    if isinstance(node, Not):
        inner = complementing(node.operand, schema, immutable)
        return Sides(complement(inner.true), inner.true)
    return rebuilt(node, lambda part: complementing(part, schema, immutable))


def null_is_in_no_set(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    if isinstance(node, IsNull):
        return Sides(NOBODY, sides(node, schema, immutable).false)
    return rebuilt(node, lambda part: null_is_in_no_set(part, schema, immutable))


def within_bounds(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    """Take the declared bounds, 0 to 50, for all that there is."""
    bounded = Region.where(
        "v", PointSet.of("number", [(region_module.ordinal(0.0), region_module.ordinal(50.0))], null=True)
    )
    right = sides(node, schema, immutable)
    return Sides(intersection([right.true, bounded]), intersection([right.false, bounded]))


def hull_of_the_list(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    """Shorten a list to what lies between its ends, and take for FALSE what is outside."""
    if isinstance(node, Not):
        inner = hull_of_the_list(node.operand, schema, immutable)
        return Sides(inner.false, inner.true)
    right = sides(node, schema, immutable)
    if isinstance(node, InList) and isinstance(node.operand, Column):
        (box,) = right.true.boxes
        ((column, listed),) = box.sides
        hull = PointSet(listed.kind, ((listed.spans[0][0], listed.spans[-1][1]),))
        return Sides(Region.where(column, hull), Region.where(column, hull.others()))
    return rebuilt(node, lambda part: hull_of_the_list(part, schema, immutable))


def cut_short(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    """Drop what is past a limit of boxes."""
    right = sides(node, schema, immutable)
    return Sides(Region(right.true.boxes[:1]), Region(right.false.boxes[:1]))


def exact_wholes(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    """Take a constant beyond 2^53 for the one whole number, although the engine compares doubles."""
    right = sides(node, schema, immutable)
    beyond = PointSet.of("whole", [(BIG + 1, BIG + 2)])
    return Sides(Region.where("a", beyond), right.false)


def years_of_python(node: Node, schema: Schema, immutable: Collection[str]) -> Sides:
    """Leave the last moment that Python knows out, as a half-open range of datetimes must."""
    first, last = (region_module.microseconds(end) for end in (datetime.min, datetime.max))
    known = Region.where("m", PointSet.of("moment", [(first, last)], null=True))
    right = sides(node, schema, immutable)
    return Sides(intersection([right.true, known]), intersection([right.false, known]))


TWINS: list[tuple[Reading, list[str]]] = [
    (complementing, ["NOT (a + v > 5)"]),
    (null_is_in_no_set, ["a IS NULL", "NOT (t IS NOT NULL)"]),
    (within_bounds, ["v > 100", "v >= 1000"]),
    (hull_of_the_list, ["NOT (a IN (1, 5))", "t NOT IN ('a', 'c')"]),
    (cut_short, ["(a = 1 AND v = 1) OR (a = 5 AND v = 0)"]),
    (exact_wholes, ["a = 9007199254740993"]),
    (years_of_python, ["m > DATE '2026-11-16'"]),
]


@pytest.mark.parametrize(("twin", "texts"), TWINS, ids=lambda part: getattr(part, "__name__", ""))
def test_every_reading_that_broke_the_promise_is_caught(twin: Any, texts: list[str]) -> None:
    assert misses(sides, texts) == 0
    assert misses(twin, texts) > 0


def test_a_condition_that_is_not_understood_can_be_true_and_false_anywhere() -> None:
    for text in ("a + v > 5", "(a < 5) = FALSE", "(a < 5) IS NULL", "a < v", "a > 1 / 0 * 0"):
        assert sides(read(text), SCHEMA, FIXED) == ANY
    assert sides(read("a IS NULL"), SCHEMA, FIXED) == Sides(
        Region((Box((("a", PointSet("whole", (), null=True)),)),)),
        Region((Box((("a", PointSet("whole", (WHOLE["whole"],))),)),)),
    )


def _columns(node: Node) -> list[Column]:
    return [part for part in walk(node) if isinstance(part, Column)]
