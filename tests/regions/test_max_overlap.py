"""What a region has spent: the most that any of its contents was charged, never less, and bounded in work."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from prdp.expressions.nodes import Node
from prdp.regions import max_overlap as depth_module
from prdp.regions.max_overlap import MAX_COMPARED, MAX_WORK, overlapping, spent_in
from prdp.regions.query_region import filter_region
from prdp.regions.region import EVERYBODY, NOBODY, WHOLE, Box, PointSet, Region, double_at, union
from tests.regions.worlds import FIXED, SCHEMA, condition, every_record, holds, is_true, meets, read, records

Charges = list[tuple[Region, Fraction]]


def box(**sides: tuple[int, int]) -> Region:
    """Return the contents whose whole numbers lie between some, both included."""
    return Region(
        (
            Box(
                tuple(
                    (name, PointSet("whole", ((low, high + 1),)))
                    for name, (low, high) in sorted(sides.items())
                )
            ),
        )
    )


def deepest(region: Region, charges: Charges, side: int, names: str) -> Fraction:
    """Return the largest sum at a place, by trying every place."""
    found = Fraction(0)
    for place in product(range(side), repeat=len(names)):
        here = box(**{name: (at, at) for name, at in zip(names, place, strict=True)})
        if meets(here, region):
            found = max(found, sum((share for other, share in charges if meets(other, here)), Fraction(0)))
    return found


def some_charges(random: Random, names: str, side: int, count: int) -> Charges:
    charges = []
    for _ in range(count):
        boxes = []
        for _ in range(random.choice([1, 1, 2])):
            ends = {name: tuple(sorted(random.choices(range(side), k=2))) for name in names}
            for name in names:
                if random.random() < 0.3 and len(ends) > 1:
                    del ends[name]
            boxes.append(box(**ends))  # type: ignore[arg-type]
        charges.append((union(boxes), Fraction(1, random.randint(1, 12))))
    return charges


def test_what_is_spent_is_the_deepest_place_of_boxes() -> None:
    random = Random(5)
    for case in range(400):
        names = "abc"[: 1 + case % 3]
        charges = some_charges(random, names, 5, random.randint(0, 12))
        region = random.choice([EVERYBODY, some_charges(random, names, 5, 1)[0][0]])
        assert spent_in(region, charges) == deepest(region, charges, 5, names)


def test_past_the_work_it_is_never_below_and_never_above_the_sum_of_all_that_overlap() -> None:
    random = Random(6)
    for case in range(300):
        names = "abc"[: 2 + case % 2]
        charges = some_charges(random, names, 5, 12)
        region = some_charges(random, names, 5, 1)[0][0]
        found = spent_in(region, charges, most_work=random.choice([0, 20, 60]))
        most = sum((charges[place][1] for place in overlapping(region, charges)), Fraction(0))
        assert deepest(region, charges, 5, names) <= found <= most


def test_past_what_may_be_compared_it_is_never_below_either(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(10)
    for case in range(300):
        names = "abc"[: 1 + case % 3]
        charges = some_charges(random, names, 5, 12)
        region = some_charges(random, names, 5, 1)[0][0]
        monkeypatch.setattr(depth_module, "MAX_COMPARED", random.choice([0, 30, 100]))
        found = spent_in(region, charges)
        most = sum((share for other, share in charges if not other.is_beside(region)), Fraction(0))
        assert deepest(region, charges, 5, names) <= found <= most


def test_regions_that_meet_are_never_taken_for_apart() -> None:
    random = Random(11)
    apart = 0
    for case in range(2_000):
        one, two = (filter_region(read(condition(random, 1 + case % 4)), SCHEMA, FIXED) for _ in range(2))
        assert not (one.is_beside(two) and meets(one, two))
        apart += one.is_beside(two)
    assert apart > 50
    null, above = (filter_region(read(text), SCHEMA, FIXED) for text in ("a IS NULL", "a > 3 OR a IS NULL"))
    assert not null.is_beside(above)


def test_shares_without_a_short_common_denominator_are_rounded_up_by_next_to_nothing() -> None:
    """Two that add up to 1 leave no trace in the sum of all shares, so that nothing else refuses them."""
    odd = [10**12 - k for k in range(1, 4_000, 2)]
    charges = [
        (box(a=(k, k)), share) for k, n in enumerate(odd) for share in (Fraction(1, n), Fraction(n - 1, n))
    ]
    found = spent_in(EVERYBODY, charges)
    assert 1 <= found <= 1 + Fraction(1, 2**100)
    assert spent_in(box(a=(5, 5)), charges) == 1  # few shares have a common denominator


def test_no_content_was_charged_more_than_its_region_is_stated_to_have_spent() -> None:
    random = Random(7)
    for _ in range(300):
        texts = [condition(random, random.randint(1, 4)) for _ in range(6)]
        nodes = [read(text) for text in texts]
        charges = [(filter_region(node, SCHEMA, FIXED), Fraction(1, k + 2)) for k, node in enumerate(nodes)]
        spent = spent_in(EVERYBODY, charges)
        for record in records(random, 100):
            loss = sum(
                (share for node, (_, share) in zip(nodes, charges, strict=True) if is_true(node, record))
            )
            assert loss <= spent


def test_where_all_filters_are_boxes_it_is_what_the_worst_record_was_charged() -> None:
    random = Random(8)
    grid = every_record("a", "v")
    for _ in range(60):
        conditions: list[tuple[Node, Region]] = []
        while len(conditions) < 5:
            text = condition(random, random.randint(1, 3), plain=True)
            node = read(text)
            region = filter_region(node, SCHEMA, FIXED)
            if region.columns <= {"a", "v"} and all(word not in text for word in ("1e308", "BETWEEN")):
                conditions.append((node, region))
        charges = [(region, Fraction(1, k + 2)) for k, (_, region) in enumerate(conditions)]
        worst = max(
            sum(
                (
                    share
                    for (node, _), (_, share) in zip(conditions, charges, strict=True)
                    if is_true(node, record)
                )
            )
            for record in grid
        )
        assert spent_in(EVERYBODY, charges) >= worst
        assert holds_at_a_place_of_the_grid(charges) == worst


def values_between(column: str, charges: Charges) -> list[Any]:
    """Return a value of a column for NULL and for every cell that the ends of all spans cut out."""
    sides = [
        points for region, _ in charges for box in region.boxes for points in [box.side(column)] if points
    ]
    if not sides:
        return [None]
    kind = sides[0].kind
    ends = {key for points in sides for span in points.spans for key in span} - {*WHOLE[kind]}
    if kind == "text":
        return [None, "", *(text for _, text in ends)]
    before = {min(ends) - 1} if ends else {0}
    return [
        None,
        *(_value(kind, key) for key in sorted(ends | before) if WHOLE[kind][0] <= key < WHOLE[kind][1]),
    ]


def _value(kind: str, key: int) -> Any:
    match kind:
        case "whole":  # the first point from there on: whole numbers are compared as doubles
            near = float(key)
            return int(near if near >= key else math.nextafter(near, math.inf))
        case "number":
            return double_at(key)
        case "moment":
            return datetime(1970, 1, 1) + timedelta(microseconds=key)
        case _:
            return bool(key)


def test_where_all_filters_are_boxes_it_is_just_what_some_record_was_charged() -> None:
    """The record is one of those at every cell's beginning, told by ``evaluate`` alone."""
    random = Random(13)
    for _ in range(250):
        pair = random.sample(FIXED, 2)
        nodes: list[Node] = []
        charges: Charges = []
        while len(nodes) < 6:
            text = condition(random, random.randint(1, 2), plain=True)
            region = filter_region(read(text), SCHEMA, FIXED)
            if region.columns <= {*pair} and "0001-01-01" not in text:  # before which Python knows no moment
                nodes.append(read(text))
                charges.append((region, Fraction(1, len(nodes) + 1)))
        others = dict.fromkeys(SCHEMA)
        places = product(*(values_between(column, charges) for column in pair))
        worst = max(
            sum(
                (share for node, (_, share) in zip(nodes, charges, strict=True) if is_true(node, record)),
                Fraction(0),
            )
            for record in ({**others, **dict(zip(pair, place, strict=True))} for place in places)
        )
        assert spent_in(EVERYBODY, charges) == worst


def holds_at_a_place_of_the_grid(charges: Charges) -> Fraction:
    """Return the largest sum over the regions themselves, at the contents of the grid."""
    return max(
        sum((share for region, share in charges if holds(region, record)), Fraction(0))
        for record in every_record("a", "v")
    )


def test_a_hostile_set_of_filters_is_bounded_and_safe() -> None:
    """Slabs at random in eight columns: cells without end, of which no two have the same charges."""
    random = Random(9)
    names = "abcdefgh"
    charges = []
    for _ in range(200):
        ends = {name: tuple(sorted(random.choices(range(10**6), k=2))) for name in names}
        charges.append((box(**ends), Fraction(1, 200)))  # type: ignore[arg-type]
    found = spent_in(EVERYBODY, charges, most_work=20_000)
    assert Fraction(1, 200) <= found <= 1
    for _ in range(200):
        here = {name: random.randrange(10**6) for name in names}
        point = box(**{name: (at, at) for name, at in here.items()})
        assert spent_in(point, charges) <= found


def slabs(random: Random, count: int, boxes: int, spans: int, names: str) -> Charges:
    """Return regions of many boxes, each of many spans of random places in all columns."""
    places = range(10**6)

    def side() -> PointSet:
        ends = [sorted(random.sample(places, 2)) for _ in range(spans)]
        return PointSet.of("whole", [(low, high) for low, high in ends])

    return [
        (
            Region(tuple(Box(tuple((name, side()) for name in names)) for _ in range(boxes))),
            Fraction(1, count),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(("count", "boxes", "spans"), [(400, 1, 1), (100, 16, 1), (40, 8, 8), (30, 1, 100)])
def test_what_is_looked_at_is_bounded_for_hostile_regions(
    count: int, boxes: int, spans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: Counter[str] = Counter()

    def counted(name: str, unit: Any) -> None:
        plain = getattr(unit, name)

        def look(*given: Any) -> Any:
            looks[name] += 1
            return plain(*given)

        monkeypatch.setattr(unit, name, look)

    charges = slabs(Random(12), count, boxes, spans, "abcdef")
    counted("meet", PointSet)
    counted("is_in", depth_module._Cell)
    for region in (EVERYBODY, charges[0][0]):
        looks.clear()
        found = spent_in(region, charges)
        assert Fraction(1, count) <= found <= 1
        assert looks["meet"] <= MAX_COMPARED
        assert looks["is_in"] <= MAX_WORK + 10 * count * boxes


def test_nobody_has_spent_nothing_and_everybody_the_most() -> None:
    charges = [(box(a=(1, 2)), Fraction(1, 2)), (EVERYBODY, Fraction(1, 3)), (NOBODY, Fraction(1))]
    assert spent_in(NOBODY, charges) == 0
    assert spent_in(box(a=(3, 3)), charges) == Fraction(1, 3)
    assert spent_in(EVERYBODY, charges) == Fraction(5, 6)
    null = Region.where("a", PointSet("whole", (), null=True))
    assert spent_in(null, charges) == Fraction(1, 3)


def test_charges_of_one_region_count_each_whether_or_not_they_share_its_object() -> None:
    random = Random(20261118)
    for _ in range(200):
        few = some_charges(random, "ab", 4, 3)
        repeated = random.choices(few, k=9)
        copies = [(Region(region.boxes), Fraction(str(share))) for region, share in repeated]
        asked = random.choice(few)[0]
        assert spent_in(asked, repeated) == spent_in(asked, copies) == deepest(asked, repeated, 4, "ab")
