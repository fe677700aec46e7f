"""Sums, differences and ratios of answers: exact, free of charge, with an interval that holds the truth."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prdp
from prdp.errors import InvalidRequest
from prdp.release.arithmetic import ComputedRelease
from prdp.release.bias import Clipping
from prdp.release.interval import ENDLESS
from prdp.release.raw_answer import Caveat
from prdp.release.release import Release

SHARE = Fraction(1, 10)
CHANCE = Fraction(19, 20)


def noisy(value: int, scale: int = 10, name: str = "count", **more: Any) -> Release:
    return Release(name, value, Fraction(1), (Fraction(scale),), SHARE, "clip", whole=True, **more)


def blind(value: int) -> Release:
    """Return an answer whose upper end is missing."""
    clipping = Clipping(Fraction(5), Fraction(500), Fraction(1, 2), Fraction(2), stride=2, blind=True)
    caveat = Caveat("clipped records", "toward zero")
    return noisy(value, bias=caveat, clipping=clipping)


A, B = noisy(400, name="count of a"), noisy(100, 5, name="count of b")


def test_values_are_exact() -> None:
    assert (A + B).exact == 500
    assert (A - B).exact == 300
    assert (A / B).exact == 4
    assert (A / 3 - 2 * B + 1).exact == Fraction(400, 3) - 199
    assert (1 / A).exact == Fraction(1, 400)
    assert sum([A, B, A]).exact == 900  # type: ignore[union-attr]
    assert prdp.ratio(A, B).exact == (A / B).exact
    assert prdp.ratio(A, 8).exact == 50
    assert ((A - B) / (A + B)).exact == Fraction(3, 5)
    assert (-(A - B)).exact == -300


def test_the_interval_holds_all_parts_at_once() -> None:
    each = 1 - (1 - CHANCE) / 2
    (low, high), (least, most) = A.between(each), B.between(each)
    assert (A + B).between(CHANCE) == (low + least, high + most)
    assert (A - B).between(CHANCE) == (low - most, high - least)
    assert (A / B).between(CHANCE) == (low / most, high / least)
    assert (B - A).between(CHANCE) == (least - high, most - low)
    assert (A / -B).between(CHANCE) == (-high / least, -low / most)


def test_three_parts_have_a_third_of_the_failure_each() -> None:
    c = noisy(50, 2)
    ends = [part.between(1 - (1 - CHANCE) / 3) for part in (A, B, c)]
    assert (A + B + c).between(CHANCE) == (sum(low for low, _ in ends), sum(high for _, high in ends))


def test_an_answer_that_occurs_twice_is_one_number() -> None:
    assert (A + B - A).between(CHANCE) == B.between(CHANCE)
    assert (A - A).between(CHANCE) == (0, 0)
    low, high = A.between(CHANCE)
    assert (A + A).between(CHANCE) == (2 * low, 2 * high)
    assert (A / 2 + A / 2).between(CHANCE) == (low, high)
    assert len((A / (A + B)).parts) == 2


def test_equal_answers_of_two_tables_are_two() -> None:
    here, there = noisy(400), noisy(400)
    assert here == there
    assert len((here - there).parts) == 2
    low, high = (here - there).interval()
    assert low < 0 < high


@pytest.mark.parametrize("divisor", [noisy(5), noisy(-5), noisy(1, 1)])
def test_a_divisor_that_may_be_0_leaves_no_ends(divisor: Release) -> None:
    assert (A / divisor).interval() == (-math.inf, math.inf)
    assert (A / divisor).std_error is None or divisor.exact == 1
    assert "no limits" in str(A / divisor)


def test_by_an_answer_of_0_nothing_is_divided() -> None:
    with pytest.raises(ZeroDivisionError, match="was released as 0"):
        A / noisy(0)
    with pytest.raises(ZeroDivisionError):
        A / (B - B)
    with pytest.raises(InvalidRequest):
        prdp.ratio(A, "many")


def test_a_missing_end_stays_missing() -> None:
    open_above = blind(90)
    assert open_above.interval()[1] == math.inf
    assert (A + open_above).interval()[1] == math.inf
    assert math.isfinite((A + open_above).low) == math.isfinite(open_above.low)
    assert (A - open_above).interval()[0] == -math.inf
    assert (open_above - open_above).between(CHANCE) == (0, 0)
    assert (open_above * 0 + A).between(CHANCE)[1] < ENDLESS / 2
    low, high = (A / noisy(1000) * 1 + open_above).interval()
    assert (math.isfinite(low), high) == (math.isfinite(open_above.low), math.inf)


def test_by_a_divisor_without_an_upper_end_a_ratio_may_be_0() -> None:
    divisor, each = blind(900), 1 - (1 - CHANCE) / 2
    least, most = divisor.shown_between(each)
    assert least > 0
    assert most == ENDLESS
    assert (A / divisor).between(CHANCE) == (0, A.between(each)[1] / least)
    assert (-A / divisor).between(CHANCE) == (-A.between(each)[1] / least, 0)


WHOLE = st.integers(-50, 50)


@given(st.lists(st.tuples(WHOLE, st.integers(1, 9)), min_size=4, max_size=4), st.data())
def test_every_truth_within_the_parts_is_within_the_whole(made: Any, data: Any) -> None:
    """Interval arithmetic against brute force: any values between the ends of the parts."""
    a, b, c, d = (noisy(value, scale) for value, scale in made)
    shapes: list[Any] = [
        lambda a, b, c, d: a + b - c / 3,
        lambda a, b, c, d: (a - b) / (c + 200) + d,
        lambda a, b, c, d: (a - 2 * b + 7) / (d - 500),
        lambda a, b, c, d: a / (b + 300) - c / (a + 400),
    ]
    shape = data.draw(st.sampled_from(shapes))
    computed = shape(a, b, c, d)
    assert isinstance(computed, ComputedRelease)
    assert computed.exact == shape(*(part.exact for part in (a, b, c, d)))
    each = 1 - (1 - CHANCE) / len(computed.parts)
    low, high = computed.between(CHANCE)
    for truths in product(*((*part.between(each), part.exact) for part in (a, b, c, d))):
        assert low <= shape(*truths) <= high


def test_it_is_marked_as_computed_and_free() -> None:
    table = prdp.open({"age": np.arange(900) % 90}, policy=20, bounds={"age": (0, 120)})
    old, everybody = table.filter("age >= 60").count(share="1/8"), table.count(share="1/8")
    left = table.remaining
    part = old / everybody
    assert table.remaining == left
    assert part.value == pytest.approx(1 / 3, abs=0.05)
    assert part.low < part.value < part.high
    assert (part.share, part.method) == (0, "computed")
    assert str(part).startswith("count where age >= 60 / count: 0.3")
    assert "no cost, computed" in str(part)
    assert part.to_dict()["method"] == "computed"
    assert part.parts == (old, everybody)
    assert (old - everybody).whole
    assert isinstance((old - everybody).value, int)
    assert not part.whole


def test_brackets_say_what_belongs_together() -> None:
    assert (A - (B - A)).question == "count of a - (count of b - count of a)"
    assert ((A - B) / (A + B)).question == "(count of a - count of b) / (count of a + count of b)"
    assert ((A + B) / 2).question == "(count of a + count of b) / 2"


def test_what_is_stated_of_parts_is_stated_of_the_whole() -> None:
    assert "clipped records" in str(A + blind(90))
    assert (A + noisy(3, simulated=True)).simulated
    assert (A - noisy(401)).flag == "unreliable"
    assert (A.selected(40) + B).among == 40
    assert "simultaneous over 40 groups" in str(A.selected(40) + B)
    low, high = (A.selected(40) + B).interval()
    assert low < (A + B).low
    assert high > (A + B).high


def test_answers_of_a_statement_are_combined_too() -> None:
    table = prdp.open({"age": np.arange(900) % 90}, policy=20, bounds={"age": (0, 120)}, name="people")
    answers = table.sql("SELECT COUNT(*) AS n, SUM(age) / COUNT(*) AS m FROM people", share="1/4")
    count, mean = cast("tuple[Any, Any]", answers.rows[0])
    both = count + mean
    assert both.low < both.value < both.high
    assert len(both.parts) == 2


def test_as_many_intervals_hold_the_truth_as_they_say() -> None:
    """Coverage with drawn noise, of a difference and of a ratio, at a level where misses are seen."""
    table = prdp.open({"age": np.arange(4000) % 100}, policy=1, bounds={"age": (0, 120)}, synthetic=True)
    old, young = (
        prdp.testing.simulate(table.filter(text), prdp.count(), share="1/4", runs=400, seed=seed)
        for seed, text in enumerate(("age >= 70", "age < 70"))
    )
    for truth, computed in (
        (1600, [one - other for one, other in zip(young, old, strict=True)]),
        (1200 / 2800, [one / other for one, other in zip(old, young, strict=True)]),
    ):
        ends = [one.interval("0.8") for one in computed]
        missed = sum(not low <= truth <= high for low, high in ends)
        assert missed <= 80 + 4 * math.sqrt(400 * 0.16)
        narrow = [one.ends({id(part): (part.exact, part.exact) for part in one.parts}) for one in computed]
        assert sum(low <= truth <= high for low, high in narrow) < 40  # the twin without noise misses
