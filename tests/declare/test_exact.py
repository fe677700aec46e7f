"""Numbers of absurdly many digits are refused by what they are, wherever a number is asked for."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.declare.exact import exact
from prdp.errors import InvalidRequest

HUGE = 10**100_000
LONG = [
    Fraction(HUGE // 10 + 1, HUGE),
    Fraction(HUGE, HUGE // 10 + 1),
    HUGE,
    -HUGE,
    "1/" + "3" * 5000,
    "0." + "3" * 5000,
    Decimal("0." + "3" * 5000),
    Decimal("1e-100000"),
    10**401,
    Fraction(1, 10**401),
]


def opened(**given: Any) -> prdp.Table:
    declared = {"policy": prdp.Policy.constant("1"), "bounds": {"v": (0, 3000)}, **given}
    return prdp.open({"v": np.arange(1, 101)}, **declared)


DOORS: dict[str, Callable[[Any], object]] = {
    "beta": lambda number: opened().sum("v", share="1/2", method="partition", beta=number),
    "q": lambda number: opened().quantile("v", number, share="1/2"),
    "split": lambda number: opened().agg(
        prdp.Count(), prdp.Sum("v"), share="1/2", split=[number, 1 - Fraction(1, 2)]
    ),
    "constant policy": prdp.Policy.constant,
    "at_least": lambda number: prdp.Policy("1 / v", at_least=number),
    "at_most": lambda number: prdp.Policy("1 / v", at_most=number),
    "share": lambda number: opened().count(share=number),
    "grain": lambda number: opened(grain={"v": number}),
    "bounds": lambda number: opened(bounds={"v": (0, number)}),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("place", range(len(LONG)))
def test_a_number_of_too_many_digits_is_refused_in_few_words(door: str, place: int) -> None:
    with pytest.raises(InvalidRequest) as refused:
        DOORS[door](LONG[place])
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_number_and_cannot_be_shown_is_refused(door: str) -> None:
    with pytest.raises(InvalidRequest):
        DOORS[door]([HUGE])


@pytest.mark.parametrize("number", [10**350, -(10**350)])
def test_a_part_that_no_double_holds_is_refused_as_no_part(number: int) -> None:
    with pytest.raises(InvalidRequest, match="is not between 0 and 1"):
        opened().quantile("v", number, share="1/2")


def test_numbers_of_400_digits_are_read_exactly() -> None:
    assert exact(Fraction(10**400, 10**400 - 1), "x") == Fraction(10**400, 10**400 - 1)
    assert exact("1e-400", "x") == Fraction(1, 10**400)


@pytest.mark.parametrize(
    "grain", [Fraction(10**18 + 1, 10**18), Fraction(10**18 - 1, 10**18 + 1), Fraction(10**99 + 1, 10**100)]
)
def test_a_grain_is_a_fraction_of_numbers_of_at_most_18_digits(grain: Fraction) -> None:
    with pytest.raises(InvalidRequest, match="whole numbers of at most 1e18"):
        opened(grain={"v": grain})


@pytest.mark.parametrize("grain", ["0.01", "1/3", "1e-18", "1e18", Fraction(10**18 - 1, 10**18)])
def test_grains_of_fewer_digits_are_kept(grain: Any) -> None:
    assert opened(grain={"v": grain}).ledger.left == 1
