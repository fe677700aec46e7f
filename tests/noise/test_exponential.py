"""Outward-rounded exp and logistic against Arb, and the coins that show them."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import flint
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prdp.noise.exponential import bernoulli, exp_bounds, expansion, logistic_bounds
from prdp.testing.seeded import Seeded

if TYPE_CHECKING:
    from collections.abc import Iterator

exponents = st.one_of(
    st.fractions(min_value=0, max_value=300),
    st.builds(Fraction, st.integers(1, 10**60), st.integers(1, 10**60)),
    st.builds(lambda power: Fraction(1, 10**power), st.integers(0, 60)),
)
precisions = st.integers(0, 300)


class Script:
    """Entropy that reads a fixed string."""

    def __init__(self, text: bytes) -> None:
        self.rest = text

    def bytes(self, count: int) -> bytes:
        assert count <= len(self.rest), "the script is over"
        text, self.rest = self.rest[:count], self.rest[count:]
        return text


@pytest.fixture(autouse=True)
def _arb_precision() -> Iterator[None]:
    with flint.ctx.workprec(2000):
        yield


def arb(x: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def scaled(value: flint.arb, bits: int) -> flint.arb:
    return value * flint.arb(2) ** bits


@given(x=exponents, bits=precisions)
@example(x=Fraction(1, 10**30), bits=64)
@example(x=Fraction(63), bits=64)
@example(x=Fraction(10**40), bits=64)
@example(x=Fraction(10**500 + 1, 10**500 + 3), bits=128)
@example(x=Fraction(5, 7), bits=1500)
def test_exp_lies_between_its_bounds_and_they_are_close(x: Fraction, bits: int) -> None:
    lo, hi = exp_bounds(x, bits)
    truth = scaled((-arb(x)).exp(), bits)
    assert flint.arb(lo) <= truth <= flint.arb(hi) or (x == 0 and lo == hi == 2**bits)
    assert hi - lo <= 2


@given(x=exponents, bits=precisions)
@example(x=Fraction(1, 10**30), bits=64)
@example(x=Fraction(10**40), bits=64)
def test_the_logistic_lies_between_its_bounds_and_they_are_close(x: Fraction, bits: int) -> None:
    lo, hi = logistic_bounds(x, bits)
    truth = scaled(1 / (1 + arb(x).exp()), bits)
    assert flint.arb(lo) <= truth <= flint.arb(hi) or (x == 0 and lo + hi == 2**bits)
    assert hi - lo <= 2


def test_bounds_of_an_exponent_of_zero_meet() -> None:
    assert exp_bounds(Fraction(0), 50) == (2**50, 2**50)
    assert logistic_bounds(Fraction(0), 50) == (2**49, 2**49)


def test_a_growing_exponential_is_refused() -> None:
    with pytest.raises(ValueError, match="x >= 0"):
        exp_bounds(Fraction(-1, 2), 10)


@given(x=exponents.filter(lambda x: 0 < x < 150), places=st.integers(1, 24))
@example(x=Fraction(1, 10**30), places=24)
def test_the_expansion_is_the_number_cut_off(x: Fraction, places: int) -> None:
    for bounds, value in [
        (partial(exp_bounds, x), (-arb(x)).exp()),
        (partial(logistic_bounds, x), 1 / (1 + arb(x).exp())),
    ]:
        digits = int.from_bytes(expansion(bounds, places), "big")
        assert flint.arb(digits) <= scaled(value, 8 * places) <= flint.arb(digits + 1)


def test_precision_grows_when_a_long_run_of_equal_bits_hides_the_next_byte() -> None:
    just_below_half = partial(logistic_bounds, Fraction(1, 10**60))
    assert expansion(just_below_half, 1) == b"\x7f"
    assert expansion(just_below_half, 20) == b"\x7f" + b"\xff" * 19


def test_a_coin_of_probability_one_never_fails() -> None:
    certain = partial(exp_bounds, Fraction(0))
    source = Seeded(1)
    assert all(bernoulli(certain, source) for _ in range(1000))
    assert bernoulli(certain, Script(b"\xff\xff\xff\xfe"))


@given(ties=st.integers(0, 40), x=st.fractions(min_value=Fraction(1, 1000), max_value=20))
def test_a_coin_is_settled_by_the_first_byte_that_differs(ties: int, x: Fraction) -> None:
    probability = partial(exp_bounds, x)
    written = expansion(probability, ties + 1)
    same, last = written[:ties], written[ties]
    if last > 0:
        assert bernoulli(probability, Script(same + bytes([last - 1])))
    if last < 255:
        assert not bernoulli(probability, Script(same + bytes([last + 1])))
