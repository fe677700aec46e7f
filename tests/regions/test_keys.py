"""The region of listed groups holds every record that the engine puts into one of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow
import pytest

import prdp
from prdp.declare.groups import bins, date_trunc, read_grouping
from prdp.engines.duckdb.engine import open_source
from prdp.expressions.evaluate import value_of
from prdp.policy import Policy
from prdp.regions.points import PointSet, around
from prdp.regions.query_region import keys_region
from prdp.regions.region import EVERYBODY
from prdp.schema import ColumnType, Kind

BIG = 2**53
MOMENT = {"m": ColumnType(Kind.MOMENT, native="TIMESTAMP")}


def holds(points: PointSet | None, value: Any) -> bool:
    if points is None:
        return True
    known = value_of(value)
    if known is None:
        return points.null
    span = around(points.kind, known)
    assert span is not None
    return any(low <= span[0] < end for low, end in points.spans)


@pytest.mark.parametrize(
    ("kind", "values", "by", "keys"),
    [
        (pyarrow.int64(), [None, 1, 2, 3, BIG, BIG + 1, BIG + 2], "c", [1, BIG + 1]),
        (pyarrow.float64(), [None, float("nan"), 0.0, -0.0, 0.1, float("inf")], "c", [0, 0.1]),
        (pyarrow.float32(), [None, 0.1, 0.25, 3.5], "c", [0.1, 0.25]),
        (pyarrow.string(), [None, "", "a", "A", "ab"], "c", ["a", ""]),
        (pyarrow.bool_(), [None, True, False], "c", [True]),
        (pyarrow.int64(), [None, *range(-3, 30), BIG + 1, 2**63 - 1], bins("c", [0, "4.5", 9, 20]), None),
        (
            pyarrow.float64(),
            [None, -1.0, 0.0, 4.5, 8.999, 9.0, 20.0, 20.5],
            bins("c", [0, "4.5", 9, 20]),
            None,
        ),
        (
            pyarrow.decimal128(9, 2),
            ["0.10", "4.49", "4.50", "9.00", "9.01"],
            bins("c", ["0.1", "4.5", 9]),
            None,
        ),
        (
            pyarrow.timestamp("us"),
            [
                None,
                datetime(2026, 2, 28, 23, 59, 59, 999999),
                datetime(2026, 3, 1),
                datetime(9999, 12, 31, 5),
            ],
            date_trunc("month", "c"),
            ["2026-02-01", "9999-12-01"],
        ),
    ],
)
def test_a_record_is_in_the_region_just_when_the_engine_finds_its_group(
    kind: Any, values: list[Any], by: Any, keys: Any
) -> None:
    if pyarrow.types.is_decimal(kind):
        from decimal import Decimal  # noqa: PLC0415

        values = [Decimal(value) for value in values]
    table = pyarrow.table({"c": pyarrow.array(values, kind, from_pandas=False), "one": [1] * len(values)})
    engine = open_source(table, None)
    grouping = read_grouping([by], keys, engine.schema)
    region = keys_region(grouping, engine.schema, ["c"])
    assert keys_region(grouping, engine.schema, ["one"]) == EVERYBODY
    policy = Policy.constant(1).within(engine.schema, {})
    for value, held in zip(values, table["c"].to_pylist(), strict=True):
        alone = open_source(table.filter(pyarrow.array([other is value for other in values])), None)
        opened = prdp.open(engine=alone, policy=policy, synthetic=True)
        (planned,) = opened.group_by(by, keys=keys).plan(prdp.count(), share=1).queries
        found = planned.read.find(opened._reader)
        listed = any(len(summary.cells) for summary in found)
        inside = any(holds(box.side("c"), held) for box in region.boxes)
        assert inside >= listed
        if value not in {BIG, BIG + 2}:  # one point with a listed key
            assert inside == listed, value


def test_the_next_first_moment_ends_a_calendar_key() -> None:
    for part, first, end in [
        ("year", "2024-01-01", datetime(2025, 1, 1)),
        ("quarter", "2026-10-01", datetime(2027, 1, 1)),
        ("month", "2026-02-01", datetime(2026, 3, 1)),
        ("week", "2026-11-16", datetime(2026, 11, 23)),
        ("day", "2026-12-31", datetime(2027, 1, 1)),
        ("hour", "2026-12-31 23:00", datetime(2027, 1, 1)),
    ]:
        grouping = read_grouping([date_trunc(part, "m")], [first], MOMENT)
        (box,) = keys_region(grouping, MOMENT, ["m"]).boxes
        ((_, points),) = box.sides
        near = around("moment", end)
        assert near is not None
        assert points.spans[0][1] == near[0]


def test_all_combinations_of_keys_are_one_box_and_columns_that_change_are_left_out() -> None:
    schema = {name: ColumnType(Kind.NUMBER, integer=True, native="BIGINT") for name in ("a", "b")}
    rows = [(a, b) for a in range(30) for b in range(40)]
    grouping = read_grouping(["a", "b"], rows, schema)
    (box,) = keys_region(grouping, schema, ["a", "b"]).boxes
    assert [points.spans for _, points in box.sides] == [((0, 30),), ((0, 40),)]
    (alone,) = keys_region(grouping, schema, ["b"]).boxes
    assert [name for name, _ in alone.sides] == ["b"]
    several = read_grouping(["a", "b"], [(k, k) for k in range(3)], schema)
    assert len(keys_region(several, schema, ["a", "b"]).boxes) == 3
    assert np.array_equal([len(keys_region(grouping, schema, []).boxes[0].sides)], [0])
