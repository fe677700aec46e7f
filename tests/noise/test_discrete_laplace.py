"""The discrete Laplace distribution: its stated loss and spread, and every branch of a draw."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import flint
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prdp.noise import DiscreteLaplace, SystemEntropy
from prdp.noise.discrete_laplace import (
    _integers,
    _thresholds,
    _toss,
    draw_chunk,
)
from prdp.noise.exponential import coin_probabilities, digit_count, exp_bounds, expansion, written_coins
from prdp.testing.seeded import Seeded

if TYPE_CHECKING:
    from numpy.typing import NDArray

TINY, SMALL, LARGE, HUGE = Fraction(1, 1000), Fraction(7, 2), Fraction(2) ** 40, Fraction(10) ** 30
EDGE = Fraction(2) ** 55  # 62 digits, the most that are put together in one machine word
MANY_DIGITS = Fraction(10**40 + 1, 3**70)

scales = st.builds(Fraction, st.integers(1, 10**12), st.integers(1, 10**6))


class Ties:
    """Entropy that repeats every coin's own bytes ``ties`` times, then turns aside from them."""

    def __init__(self, thresholds: NDArray[np.uint8], count: int, ties: int) -> None:
        self.thresholds, self.count, self.ties = thresholds, count, ties
        self.place = 0

    def bytes(self, count: int) -> bytes:
        words = np.repeat(self.thresholds[self.place], self.count)
        assert words.size == count
        if self.place == self.ties:
            words = np.where(words > 0, words - 1, words + 1).astype(np.uint8)
        self.place += 1
        return words.tobytes()


class Zeros:
    """Entropy of zeros, which makes every coin fall on True, for ``calls`` calls; then of 255s."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def bytes(self, count: int) -> bytes:
        self.calls -= 1
        return (b"\x00" if self.calls >= 0 else b"\xff") * count


def calls_for_true(scale: Fraction) -> int:
    """Count the zero bytes that it takes until the coin for "above the digits" falls on True."""
    probability = partial(exp_bounds, 2 ** digit_count(scale) / scale)
    written = expansion(probability, 64)
    return 64 - len(written.lstrip(b"\x00")) + 1


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1, 3)])
def test_a_scale_must_be_positive(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        DiscreteLaplace(scale)


@pytest.mark.parametrize("scale", [1, 1.5, "2"])
def test_a_scale_must_be_a_fraction(scale: object) -> None:
    with pytest.raises(TypeError, match="Write a Fraction"):
        DiscreteLaplace(scale)  # type: ignore[arg-type]


@given(scale=scales, shift=st.integers(-(10**30), 10**30))
def test_the_loss_of_a_shift_is_its_size_over_the_scale(scale: Fraction, shift: int) -> None:
    assert DiscreteLaplace(scale).loss(shift) == Fraction(abs(shift)) / scale


@given(scale=st.fractions(min_value=1, max_value=100), shift=st.integers(-5, 5))
def test_the_loss_bounds_every_ratio_of_probabilities(scale: Fraction, shift: int) -> None:
    noise = DiscreteLaplace(scale)
    for k in range(-20, 21):
        ratio = math.log(noise.probability(k) / noise.probability(k - shift))
        assert ratio <= float(noise.loss(shift)) + 1e-9


@pytest.mark.parametrize("scale", [TINY, Fraction(1, 3), Fraction(1), SMALL, Fraction(500)])
def test_probabilities_add_up_to_one(scale: Fraction) -> None:
    noise = DiscreteLaplace(scale)
    reach = int(40 * scale) + 2
    total = math.fsum(noise.probability(k) for k in range(-reach, reach + 1))
    assert total == pytest.approx(1, abs=1e-13)


def test_probabilities_are_accurate_at_extreme_scales() -> None:
    assert DiscreteLaplace(HUGE).probability(10**30) == pytest.approx(math.exp(-1) / 2e30, rel=1e-14)
    assert DiscreteLaplace(TINY).probability(0) == 1
    assert DiscreteLaplace(Fraction(1, 100)).probability(-1) == pytest.approx(math.exp(-100))
    assert DiscreteLaplace(Fraction(1, 10**400)).probability(1) == 0
    assert DiscreteLaplace(Fraction(10) ** 400).probability(0) == 0


def beyond(scale: Fraction, k: int) -> flint.arb:
    """Return P(|X| > k) as an Arb interval."""
    step = flint.arb(flint.fmpq(scale.denominator, scale.numerator))
    return 2 * (-(k + 1) * step).exp() / (1 + (-step).exp())


@given(
    scale=scales,
    level=st.fractions(min_value=0, max_value=Fraction(10**9 - 1, 10**9)),
)
@example(scale=HUGE, level=Fraction(95, 100))
@example(scale=TINY, level=1 - Fraction(1, 10**60))
@example(scale=MANY_DIGITS, level=1 - Fraction(1, 10**60))
def test_the_spread_is_the_smallest_interval_of_its_level(scale: Fraction, level: Fraction) -> None:
    spread = DiscreteLaplace(scale).spread(level)
    with flint.ctx.workprec(500):
        allowed = flint.arb(flint.fmpq((1 - level).numerator, (1 - level).denominator))
        assert beyond(scale, spread) <= allowed
        assert spread == 0 or beyond(scale, spread - 1) > allowed


@pytest.mark.parametrize("level", ["0", "1/2", "9/10", "99/100", "999/1000"])
def test_the_spread_agrees_with_a_plain_sum(level: str) -> None:
    noise = DiscreteLaplace(SMALL)
    spread, inside = 0, noise.probability(0)
    while inside < Fraction(level):
        spread += 1
        inside += 2 * noise.probability(spread)
    assert noise.spread(Fraction(level)) == spread


@pytest.mark.parametrize("level", [Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_no_spread_holds_every_draw(level: Fraction) -> None:
    with pytest.raises(ValueError, match="level"):
        DiscreteLaplace(SMALL).spread(level)


@given(scale=scales)
@example(scale=TINY)
@example(scale=HUGE)
def test_the_digits_are_the_fewest_that_nearly_always_suffice(scale: Fraction) -> None:
    digits = digit_count(scale)
    assert 2**digits >= 89 * scale
    assert digits == 0 or 2 ** (digits - 1) < 89 * scale


@pytest.mark.parametrize("scale", [TINY, Fraction(1), SMALL, Fraction(1000), LARGE])
def test_draws_that_fit_are_int64(scale: Fraction) -> None:
    draws = DiscreteLaplace(scale).draw_many(SystemEntropy(), 1000)
    assert draws.dtype == np.int64
    assert draws.shape == (1000,)


@pytest.mark.parametrize("scale", [Fraction(2) ** 80, HUGE, MANY_DIGITS * 10**20])
def test_draws_beyond_64_bits_are_python_integers(scale: Fraction) -> None:
    draws = DiscreteLaplace(scale).draw_many(SystemEntropy(), 1000)
    assert draws.dtype == object
    assert {type(value) for value in draws} == {int}
    assert float(np.median([abs(x) for x in draws]) / scale) == pytest.approx(math.log(2), rel=0.3)


def test_draws_of_many_digits_that_happen_to_fit_are_int64() -> None:
    assert digit_count(2 * EDGE) > 62
    assert DiscreteLaplace(2 * EDGE).draw_many(Seeded(3), 100).dtype == np.int64


def test_no_draws_at_all_make_an_empty_array() -> None:
    draws = DiscreteLaplace(SMALL).draw_many(SystemEntropy(), 0)
    assert draws.dtype == np.int64
    assert draws.shape == (0,)


def test_a_negative_number_of_draws_is_refused() -> None:
    with pytest.raises(ValueError, match="count=-1"):
        DiscreteLaplace(SMALL).draw_many(SystemEntropy(), -1)


def test_a_single_draw_is_the_first_of_many() -> None:
    noise = DiscreteLaplace(LARGE)
    one = noise.draw(Seeded(9))
    assert type(one) is int
    assert one == noise.draw_many(Seeded(9), 1)[0]


def test_a_tiny_scale_draws_zero() -> None:
    assert not DiscreteLaplace(TINY).draw_many(SystemEntropy(), 100_000).any()


def test_a_million_draws_need_little_memory() -> None:
    tracemalloc.start()
    DiscreteLaplace(LARGE).draw_many(SystemEntropy(), 1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 8_000_000 + 16_000_000


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("ties", [0, 1, 7, 8, 9, 20])
@pytest.mark.parametrize("scale", [Fraction(1), LARGE, HUGE])
def test_a_tie_goes_on_to_the_next_byte_however_long_it_lasts(scale: Fraction, ties: int, count: int) -> None:
    digits = digit_count(scale)
    thresholds = _thresholds(scale, digits, 32)
    coins = _toss(scale, digits, count, Ties(thresholds, count, ties))
    expected = np.repeat((thresholds[ties] > 0)[:, np.newaxis], count, axis=1)
    assert (coins == expected).all()


@pytest.mark.parametrize("height", [1, 2, 5])
@pytest.mark.parametrize("scale", [Fraction(1, 95), Fraction(1), LARGE, EDGE, 2 * EDGE, HUGE])
def test_what_lies_above_the_digits_is_drawn_too(scale: Fraction, height: int) -> None:
    block = 2 ** digit_count(scale)
    source = Zeros(calls=height * calls_for_true(scale))
    assert DiscreteLaplace(scale).draw(source) == -(block + height * block)


def test_a_value_above_the_digits_that_does_not_fit_turns_the_array_into_python_integers() -> None:
    draws = DiscreteLaplace(EDGE).draw_many(Zeros(calls=2 * calls_for_true(EDGE)), 1)
    assert draws.dtype == object
    assert draws[0] == -3 * 2**62


def test_rows_that_are_zero_stay_zero_whatever_lies_above() -> None:
    class ZeroAbove:
        calls = 0

        def bytes(self, count: int) -> bytes:
            self.calls += 1
            return b"\xff\xff\x00" if self.calls == 1 else b"\x00" * count if count > 1 else b"\xff"

    assert draw_chunk(Fraction(10), 0, 1, ZeroAbove())[0] == 0


@given(
    numbers=st.lists(st.integers(0, 2**130 - 1), max_size=5),
    digits=st.sampled_from([0, 1, 7, 8, 9, 61, 62, 63, 64, 124, 125, 130]),
)
@example(numbers=[2**130 - 1, 0], digits=62)
@example(numbers=[2**130 - 1, 0], digits=63)
def test_digits_are_read_back_as_the_integer_they_spell_with_room_for_one_more(
    numbers: list[int], digits: int
) -> None:
    numbers = [number % 2**digits for number in numbers]
    bits = [[bool(number >> place & 1) for number in numbers] for place in range(digits)]
    matrix = np.array(bits, dtype=bool).reshape(digits, len(numbers))
    assert (_integers(matrix) + 1).tolist() == [number + 1 for number in numbers]


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1), Fraction(2) ** 9, Fraction(7, 3) * 2**200])
@pytest.mark.parametrize("shift", [-1, 0, 1])
@pytest.mark.parametrize("places", [1, 2, 8])
def test_coins_that_are_written_without_bounds_are_those_with(
    scale: Fraction, shift: int, places: int
) -> None:
    near = scale * 2 ** (8 * places) if scale >= 1 else scale
    near += Fraction(shift, 10_000)
    digits = digit_count(near)
    expected = tuple(expansion(coin, places) for coin in coin_probabilities(near, digits))
    assert written_coins(near, digits, places) == expected


@pytest.mark.parametrize("count", [1, 200, 201, 3000])
@pytest.mark.parametrize("digits", [0, 1, 8, 37, 62, 63, 130])
def test_digits_of_few_and_of_many_numbers_are_read_alike(digits: int, count: int) -> None:
    tossed = np.random.default_rng(digits + count).random((digits, count)) < 0.5
    expected = [sum(1 << place for place in np.flatnonzero(column).tolist()) for column in tossed.T]
    assert _integers(tossed).tolist() == expected
