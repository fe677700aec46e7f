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


READERS: dict[str, Callable[[Any], object]] = {
    "beta": lambda number: opened().sum("v", share="1/2", method=prdp.methods.Partition(number)),
    "q": lambda number: opened().quantile("v", number, share="1/2"),
    "shares": lambda number: opened().agg(
        prdp.count(), prdp.sum("v"), share=1, shares=[number, Fraction(1, 2)]
    ),
    "split": lambda number: opened().sum("v", share="1/2", method=prdp.methods.Framework(split=number)),
    "constant policy": prdp.Policy.constant,
    "at_least": lambda number: prdp.Policy("1 / v", at_least=number),
    "at_most": lambda number: prdp.Policy("1 / v", at_most=number),
    "share": lambda number: opened().count(share=number),
    "round_to": lambda number: opened(round_to={"v": number}),
    "bounds": lambda number: opened(bounds={"v": (0, number)}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("place", range(len(LONG)))
def test_a_number_of_too_many_digits_is_refused_in_few_words(reader: str, place: int) -> None:
    with pytest.raises(InvalidRequest) as refused:
        READERS[reader](LONG[place])
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_number_and_cannot_be_shown_is_refused(reader: str) -> None:
    with pytest.raises(InvalidRequest):
        READERS[reader]([HUGE])


@pytest.mark.parametrize("number", [10**350, -(10**350)])
def test_a_part_that_no_double_holds_is_refused_as_no_part(number: int) -> None:
    with pytest.raises(InvalidRequest, match="is not between 0 and 1"):
        opened().quantile("v", number, share="1/2")


def test_numbers_of_400_digits_are_read_exactly() -> None:
    assert exact(Fraction(10**400, 10**400 - 1), "x") == Fraction(10**400, 10**400 - 1)
    assert exact("1e-400", "x") == Fraction(1, 10**400)


@pytest.mark.parametrize(
    "round_to",
    [Fraction(10**18 + 1, 10**18), Fraction(10**18 - 1, 10**18 + 1), Fraction(10**99 + 1, 10**100)],
)
def test_a_rounding_step_is_a_fraction_of_numbers_of_at_most_18_digits(round_to: Fraction) -> None:
    with pytest.raises(InvalidRequest, match="whole numbers of at most 1e18"):
        opened(round_to={"v": round_to})


@pytest.mark.parametrize("round_to", ["0.01", "1/3", "1e-18", "1e18", Fraction(10**18 - 1, 10**18)])
def test_rounding_steps_of_fewer_digits_are_kept(round_to: Any) -> None:
    assert opened(round_to={"v": round_to}).ledger.remaining == 1


FLOATS = {0.1: "1/10", 0.25: "1/4", 0.3: "3/10", 1e-3: "1/1000", 0.999999999999: "999999999999/1000000000000"}


@pytest.mark.parametrize(("number", "stated"), FLOATS.items())
def test_a_float_of_few_decimals_is_what_it_prints_as(number: float, stated: str) -> None:
    assert exact(number, "x") == Fraction(stated) == exact(np.float64(number), "x")


NUMPY: list[Any] = [kind("0.25") for kind in (np.float16, np.float32, np.float64, np.longdouble)]


@pytest.mark.parametrize("number", [0.25, *NUMPY], ids=lambda number: type(number).__name__)
def test_a_quarter_is_a_quarter_in_every_precision(number: Any) -> None:
    assert exact(number, "x") == Fraction(1, 4)


@pytest.mark.parametrize(
    ("number", "stated"), [(np.float32(0.1), "1/10"), (np.float16(0.1), "1/10"), (np.int8(3), "3")]
)
def test_numpy_s_numbers_are_what_they_print_as_in_their_own_precision(number: Any, stated: str) -> None:
    assert exact(number, "x") == Fraction(stated)


PROPOSALS = {
    1 / 3: "'1/3'",
    2 / 3: "'2/3'",
    1 / 365: "'1/365'",
    0.1 + 0.2: "'0.3'",
    1e-13: "'1e-13'",
    22.0 / 7: "'22/7'",
    float(np.pi): "'3.14159265359'",
}


@pytest.mark.parametrize(("number", "proposed"), PROPOSALS.items())
def test_a_longer_float_is_refused_with_what_was_probably_meant(number: float, proposed: str) -> None:
    with pytest.raises(InvalidRequest, match=f"more than 12 decimals.*Write x={proposed}"):
        exact(number, "x")
    written = eval(proposed)  # noqa: S307  (what the message says to write)
    assert float(exact(written, "x")) == pytest.approx(number, rel=1e-11)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -np.inf, np.float32("nan"), True, np.True_])
def test_what_is_no_finite_number_is_refused(number: Any) -> None:
    with pytest.raises(InvalidRequest, match="is not a number"):
        exact(number, "x")


@pytest.mark.parametrize("reader", READERS)
def test_every_number_that_is_asked_for_may_be_a_short_float_and_no_long_one(reader: str) -> None:
    READERS[reader](0.5)
    with pytest.raises(InvalidRequest, match=r"Write .*='1/3'"):
        READERS[reader](1 / 3)


def test_a_share_written_as_a_float_is_the_same_question() -> None:
    table, single = opened(), np.float32(0.1)
    assert table.count(share=0.1) == table.count(share="1/10") == table.count(share=single)  # type: ignore[arg-type]
    assert table.ledger.remaining == Fraction(9, 10)
