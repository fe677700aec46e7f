"""Bounds hold for every record in the ranges, and are as tight as promised where it matters."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prdp.cells.interval_columns import Intervals, bound_each
from prdp.expressions.check import check
from prdp.expressions.evaluate import evaluate
from prdp.expressions.intervals import EMPTY, UNBOUNDED, Interval, bound, outcome
from prdp.expressions.nodes import Node, canonical
from prdp.expressions.parse import parse
from prdp.expressions.to_json import from_json, to_json
from prdp.schema import ColumnType, Kind
from tests.expressions.expression_trees import NUMBER_COLUMNS, library_numbers, numbers, records

INF = math.inf
TINY = 5e-324
thorough = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    ("text", "x", "low", "high"),
    [
        ("10000 / x", (0.0, 1e12), 1e-8, INF),
        ("10000 / x", (-1e12, 1e12), -INF, INF),
        ("10000 / x", (1.0, 3.0), 10000 / 3, 10000.0),
        ("x + 1", (-1.0, 2.0), 0.0, 3.0),
        ("3 - x", (-1.0, 2.0), 1.0, 4.0),
        ("x * x", (-2.0, 3.0), -6.0, 9.0),
        ("-x", (0.0, 2.0), -2.0, 0.0),
        ("abs(x)", (-2.0, 1.0), 0.0, 2.0),
        ("least(x, 5)", (0.0, 9.0), 0.0, 5.0),
        ("greatest(x, 5)", (0.0, 9.0), 5.0, 9.0),
        ("sqrt(x)", (-4.0, 9.0), 0.0, 3.0),
        ("power(x, 2)", (0.0, 0.0), 0.0, 2e-323),
        ("CASE WHEN x > 0 THEN 10000 / x ELSE 100 END", (-1e12, 1e12), 1e-8, INF),
        ("CASE WHEN 0 < x THEN 1 / x ELSE 7 END", (-5.0, -1.0), 7.0, 7.0),
        ("CASE WHEN x >= 10 AND x <= 20 THEN x ELSE 15 END", (0.0, 100.0), 10.0, 20.0),
        ("CASE WHEN x BETWEEN 10 AND 20 THEN 1 ELSE x END", (10.0, 20.0), 1.0, 1.0),
        ("CASE WHEN x < 10 OR x > 20 THEN 15 ELSE x END", (0.0, 100.0), 10.0, 20.0),
        ("CASE WHEN NOT x > 5 THEN x ELSE 5 END", (0.0, 9.0), 0.0, 5.0),
        ("CASE WHEN x IN (2, 3) THEN x ELSE 2 END", (0.0, 9.0), 2.0, 3.0),
        ("CASE x WHEN 1 THEN x ELSE 1 END", (0.0, 9.0), 1.0, 1.0),
        ("CASE WHEN x <> 0 THEN x ELSE 1 END", (0.0, 9.0), TINY, 9.0),
        ("CASE WHEN x IS NULL THEN 1 ELSE x END", (2.0, 3.0), 1.0, 3.0),
        ("CASE WHEN job = 'a' THEN 1 ELSE 2 END", (0.0, 1.0), 1.0, 2.0),
        ("CASE WHEN x > 1 THEN 3 WHEN x > 2 THEN 4 ELSE 5 END", (0.0, 9.0), 3.0, 5.0),
    ],
)
def test_ends_are_the_doubles_that_evaluation_gives(
    text: str, x: tuple[float, float], low: float, high: float
) -> None:
    assert bound(parse(text), {"x": Interval(*x)}) == Interval(low, high)


@pytest.mark.parametrize(
    "text", ["NULL", "ln(-1 - abs(x))", "CASE WHEN x > 5 THEN 1 END", "CASE WHEN NULL THEN 1 ELSE 2 END"]
)
def test_what_never_has_a_value_is_empty(text: str) -> None:
    assert bound(parse(text), {"x": Interval(0.0, 1.0)}).empty
    assert EMPTY.empty
    assert not UNBOUNDED.empty


def test_a_column_without_a_range_may_be_anything() -> None:
    assert bound(parse("x"), {}) == UNBOUNDED
    assert bound(parse("1 / (1 + abs(x))"), {}) == Interval(0.0, 1.0)


@pytest.mark.parametrize("text", ["ln(x)", "log2(x)", "log10(x)", "exp(x)", "power(x, 1.5)", "power(2, x)"])
def test_library_functions_leave_room_for_other_libraries(text: str) -> None:
    found = bound(parse(text), {"x": Interval(2.5, 2.5)})
    exact = evaluate(parse(text), {"x": 2.5})
    assert isinstance(exact, float)
    assert found.low < exact < found.high
    assert found.high - found.low <= 16 * math.ulp(exact)


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("10000 / x", True),
        ("x / x", False),
        ("ln(x)", True),
        ("ln(x - 1)", False),
        ("CASE WHEN x > 5 THEN 1 END", False),
        ("CASE WHEN x >= 0 THEN 1 END", True),
        ("CASE WHEN x IS NULL THEN NULL ELSE 1 END", True),
        ("CASE WHEN job = 'a' THEN 1 ELSE 2 END", True),
        ("power(x - 1, 0.5)", False),
        ("power(x - 1, 2)", True),
    ],
)
def test_it_is_known_where_records_with_values_can_have_no_budget(text: str, total: bool) -> None:
    assert outcome(parse(text), {"x": Interval(0.0, 10.0)}).total is total


POOL = [-INF, -2.0, -1.0, -TINY, 0.0, 0.5, 1.0, 2.0, 1.7e308, INF]


def crowded(tree: Any) -> Any:
    """Return an expression in JSON form with two columns and few constants, so that they meet."""
    match tree:
        case ["number", value]:
            return ["number", POOL[1:-1][hash(value) % (len(POOL) - 2)]]
        case ["column", name] if name in NUMBER_COLUMNS:
            return ["column", "xy"[NUMBER_COLUMNS.index(name) % 2]]
        case list():
            return [crowded(part) for part in tree]
        case _:
            return tree


pool_ranges = st.tuples(st.sampled_from(POOL), st.sampled_from(POOL)).map(
    lambda pair: Interval(min(pair), max(pair))
)


@settings(thorough, max_examples=500)
@given(
    drawn=st.one_of(numbers(2), numbers(3), library_numbers()),
    x=pool_ranges,
    y=pool_ranges,
    other=st.sampled_from(records(extra=5)),
)
def test_bounds_hold_where_ends_zeros_and_infinities_meet(
    drawn: Node, x: Interval, y: Interval, other: dict[str, object]
) -> None:
    node = from_json(crowded(to_json(drawn)))
    found = outcome(node, {"x": x, "y": y})
    for values in product([None, *filter(x.contains, POOL)], [None, *filter(y.contains, POOL)]):
        record = {**other, "x": values[0], "y": values[1]}
        result = evaluate(node, record)
        assert result is None or found.values.contains(result), (canonical(node), record, found)  # type: ignore[arg-type]
        if found.total and None not in record.values():
            assert result is not None, (canonical(node), record)


ends = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 100.0, 1e12, -1e12, INF, -INF, 1e-8, 5e-324, 1e308]),
    st.floats(allow_nan=False),
)
ranges_of_columns = st.fixed_dictionaries(
    {name: st.tuples(ends, ends).map(lambda pair: Interval(min(pair), max(pair))) for name in NUMBER_COLUMNS}
)


@thorough
@given(
    node=st.one_of(numbers(), numbers(), library_numbers()),
    ranges=ranges_of_columns,
    places=st.lists(st.floats(0, 1), min_size=16, max_size=16),
)
def test_every_record_in_the_ranges_lies_within_the_bounds(
    node: Node, ranges: dict[str, Interval], places: list[float]
) -> None:
    found = outcome(node, ranges)
    for turn, base in enumerate(records(extra=12)):
        record = dict(base)
        for column, (name, interval) in enumerate(ranges.items()):
            record[name] = _inside(interval, places[(turn * 3 + column) % len(places)], turn + column)
        result = evaluate(node, record)
        assert result is None or found.values.contains(result), (  # type: ignore[arg-type]
            canonical(node), record, result, found,
        )  # fmt: skip
        if found.total and None not in record.values():
            assert result is not None, (canonical(node), record)


def _inside(interval: Interval, place: float, turn: int) -> float | None:
    """Return a number of an interval: often an end, sometimes zero, now and then nothing."""
    if turn % 11 == 7:
        return None
    if turn % 5 == 0 and interval.contains(0.0):
        return 0.0
    low, high = max(interval.low, -1.7e308), min(interval.high, 1.7e308)
    between = low * (1 - place) + high * place
    candidates = [interval.low, between, interval.high, math.copysign(abs(between) ** 0.5, between)]
    chosen = candidates[turn % 4]
    return chosen if interval.contains(chosen) else interval.low


pools = st.lists(st.tuples(pool_ranges, pool_ranges), min_size=1, max_size=8)


@settings(thorough, max_examples=600)
@given(drawn=st.one_of(numbers(2), numbers(3), numbers(4), library_numbers()), boxes=pools)
def test_many_boxes_at_once_have_the_bounds_of_each(
    drawn: Node, boxes: list[tuple[Interval, Interval]]
) -> None:
    node = from_json(crowded(to_json(drawn)))
    sides = dict(zip("xy", zip(*boxes, strict=True), strict=True))
    ranges = {
        name: Intervals(np.array([one.low for one in side]), np.array([one.high for one in side]))
        for name, side in sides.items()
    }
    for given_ranges in (ranges, {"x": ranges["x"]}):
        found = bound_each(node, given_ranges, len(boxes)).single()
        each = [bound(node, {name: box["xy".index(name)] for name in given_ranges}) for box in boxes]
        assert [None if one.empty else one for one in found] == [
            None if one.empty else one for one in each
        ], (canonical(node), boxes)


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN (x > 5) IS TRUE THEN 1 ELSE x END",
        "CASE WHEN (x > 5 OR x = 1) IS NOT TRUE THEN x ELSE 7 END",
        "CASE WHEN coalesce(x, 5) IN (1, 2) THEN x ELSE 2 END",
        "CASE WHEN x IN (1, 2) THEN x WHEN x <> 0 THEN 1 / x ELSE CAST(x AS BIGINT) END",
        "CASE WHEN x > NULL THEN 1 WHEN job LIKE 'a%' THEN x ELSE -x END",
        "x % 3 + nullif(x, 2) - length(job)",
    ],
)
def test_rules_of_rare_conditions_are_the_same_for_many_boxes(text: str) -> None:
    ends = [-1.0, 0.0, 1.0, 2.0, 5.0, 6.0, INF]
    boxes = [Interval(low, high) for low, high in product(ends, ends) if low <= high]
    found = bound_each(parse(text), {"x": Intervals.of(boxes)}, len(boxes))
    assert found.single() == [bound(parse(text), {"x": box}) for box in boxes]


def test_the_days_between_two_columns_of_dates_are_bounded_by_the_calendar() -> None:
    schema = {name: ColumnType(Kind.MOMENT) for name in ("came", "left")}
    stay = check(parse("left - came"), schema, Kind.NUMBER, "left - came")
    found = bound(stay, {})
    longest = evaluate(stay, {"left": datetime.max, "came": datetime.min})
    shortest = evaluate(stay, {"left": datetime.min, "came": datetime.max})
    assert isinstance(longest, int | float)
    assert isinstance(shortest, int | float)
    assert -INF < found.low <= shortest < longest <= found.high < INF
