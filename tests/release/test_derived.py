"""Means and variances follow from their parts, and their intervals from the parts' intervals."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.release.derived import PARTS, combined, combined_interval

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
    assert combined("std", [Fraction(0), Fraction(4), Fraction(-36)], POSITIVE) == 0


@given(
    rule=st.sampled_from(sorted(PARTS)),
    ends=st.lists(st.tuples(numbers, numbers).map(lambda pair: tuple(sorted(pair))), min_size=3, max_size=3),
    inside=st.lists(st.fractions(0, 1), min_size=3, max_size=3),
)
def test_whatever_lies_between_the_parts_ends_gives_an_answer_between_the_ends(
    rule: str, ends: list[tuple[Fraction, Fraction]], inside: list[Fraction]
) -> None:
    used = ends[: len(PARTS[rule])]
    values = [low + (high - low) * part for (low, high), part in zip(used, inside, strict=False)]
    limits = WIDE if rule == "mean" else POSITIVE
    low, high = combined_interval(rule, used, limits)
    assert low <= combined(rule, values, limits) <= high


@pytest.mark.parametrize("rule", sorted(PARTS))
def test_the_parts_use_the_whole_share(rule: str) -> None:
    assert sum(part for _, part in PARTS[rule]) == 1
