"""Means and variances follow from their parts, and their intervals from the parts' intervals."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import pvariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prdp
from prdp.release.derived import PARTS, combined, combined_interval
from prdp.testing import simulate

WIDE = (Fraction(-(10**9)), Fraction(10**9))
POSITIVE = (Fraction(0), Fraction(10**9))
numbers = st.fractions(-1000, 1000, max_denominator=50)


def test_a_mean_is_the_sum_over_the_count() -> None:
    assert combined("mean", [Fraction(30), Fraction(4)], WIDE) == Fraction(30, 4)


def test_a_noisy_count_below_one_counts_as_one_and_limits_hold() -> None:
    assert combined("mean", [Fraction(30), Fraction(-2)], WIDE) == 30
    assert combined("mean", [Fraction(30), Fraction(-2)], (Fraction(0), Fraction(9))) == 9


def test_a_variance_is_the_mean_square_and_a_standard_deviation_its_root() -> None:
    parts = [Fraction(0), Fraction(4), Fraction(36)]
    assert combined("variance", parts, POSITIVE) == 9
    assert combined("std", parts, POSITIVE) == 3
    assert combined("variance", parts, POSITIVE, off=Fraction(2)) == 5
    assert combined("std", [Fraction(0), Fraction(4), Fraction(-36)], POSITIVE) == 0


@given(
    rule=st.sampled_from(sorted(PARTS)),
    ends=st.lists(st.tuples(numbers, numbers).map(lambda pair: tuple(sorted(pair))), min_size=3, max_size=3),
    inside=st.lists(st.fractions(0, 1), min_size=3, max_size=3),
    center=numbers,
)
def test_whatever_lies_between_the_parts_ends_gives_an_answer_between_the_ends(
    rule: str, ends: list[tuple[Fraction, Fraction]], inside: list[Fraction], center: Fraction
) -> None:
    used = ends[: len(PARTS[rule])]
    values = [low + (high - low) * part for (low, high), part in zip(used, inside, strict=False)]
    limits = WIDE if rule == "mean" else POSITIVE
    low, high = combined_interval(rule, used, limits, None if rule == "mean" else center)
    off = Fraction(0) if rule == "mean" else values[0] / max(values[1], Fraction(1)) - center
    assert low <= combined(rule, values, limits, off) <= high


@given(
    values=st.lists(numbers, min_size=1, max_size=6),
    center=numbers,
    below=st.lists(st.fractions(0, 5), min_size=3, max_size=3),
    above=st.lists(st.fractions(0, 5), min_size=3, max_size=3),
)
def test_a_true_variance_is_where_its_parts_allow_it_whatever_the_center_is(
    values: list[Fraction], center: Fraction, below: list[Fraction], above: list[Fraction]
) -> None:
    truth = pvariance(values)
    squares = sum(((value - center) ** 2 for value in values), Fraction(0))
    exact = sum(values, Fraction(0)), Fraction(len(values)), squares
    ends = [(one - down, one + up) for one, down, up in zip(exact, below, above, strict=True)]
    low, high = combined_interval("variance", ends, POSITIVE, center)
    assert low <= truth <= high
    off = exact[0] / exact[1] - center
    assert combined("variance", exact, POSITIVE, off) == truth
    exactly = [(one, one) for one in exact]
    assert combined_interval("variance", exactly, POSITIVE, center) == (truth, truth)


@given(value=st.fractions(0, 10**6, max_denominator=10**6), power=st.integers(-30, 30))
def test_a_deviation_is_as_exact_in_every_unit(value: Fraction, power: int) -> None:
    unit = Fraction(10) ** power
    squares = value * unit**2
    limits = Fraction(0), Fraction(10) ** 40
    ends = [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(1)), (squares, squares)]
    low, high = combined_interval("std", ends, limits, Fraction(0))
    assert low**2 <= squares <= high**2
    assert high - low <= high / 2**40
    assert low <= combined("std", [Fraction(0), Fraction(1), squares], limits) <= high


@pytest.mark.parametrize("round_to", [Fraction(1, 10**15), Fraction(1, 10**12), Fraction(1), Fraction(10**9)])
def test_deviations_of_tiny_units_are_those_of_whole_ones(round_to: Fraction) -> None:
    values = {"v": np.arange(2000) % 8 * float(round_to)}
    table = prdp.open(
        values, policy="100", bounds={"v": (0, 8 * round_to)}, round_to={"v": round_to}, synthetic=True
    )
    found = simulate(table, prdp.std("v"), share=1, runs=5, seed=4)
    truth = math.sqrt(5.25) * float(round_to)  # of 0, 1, ..., 7
    assert all(abs(float(one.exact) - truth) < truth / 20 for one in found)
    assert all(low < truth < high for low, high in (one.interval() for one in found))


def test_without_its_center_a_variance_may_be_anything_that_the_bounds_allow() -> None:
    ends = [(Fraction(number), Fraction(number)) for number in (2, 4, 2)]
    assert combined_interval("variance", ends, POSITIVE) == POSITIVE


@pytest.mark.parametrize("rule", sorted(PARTS))
def test_the_parts_use_the_whole_share(rule: str) -> None:
    assert sum(part for _, part in PARTS[rule]) == 1


def _mean_of(count: int) -> prdp.Release:
    """Return the mean of a noisy count of values between 50 and 60, as a plan makes it."""
    one, share = Fraction(1), Fraction(1, 10)
    total = prdp.Release("sum of v", 55 * count, one, (Fraction(100),), share, "clip")
    number = prdp.Release("count of v", count, one, (Fraction(10),), share, "clip")
    limits = Fraction(50), Fraction(60)
    return prdp.Release(
        "mean of v", 55, one, (), share, "clip", ends=limits, parts=(total, number), rule="mean"
    )


def test_a_mean_whose_count_cannot_be_reported_from_none_says_that_it_may_be_of_nothing() -> None:
    few, many = _mean_of(20), _mean_of(20_000)
    assert few.interval() == (50, 60)
    assert few.flag == "unreliable", "although the bounds are narrow"
    assert "there may be no such values" in few.excludes
    assert many.flag == ""
    assert "no such values" not in many.excludes
