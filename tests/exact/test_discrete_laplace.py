"""The sampler on every string of bytes and every pattern of coins: exact masses, no chance."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prdp.noise.discrete_laplace import _toss, draw_chunk
from prdp.noise.exponential import (
    Bounds,
    bernoulli,
    coin_probabilities,
    digit_count,
    exp_bounds,
    logistic_bounds,
)
from prdp.testing.enumerated import exact_distribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

BITS = 400
CLOSE = Fraction(1, 2**300)


def value(probability: Bounds) -> Fraction:
    """Return a probability to within 2**-399."""
    return Fraction(probability(BITS)[0], 2**BITS)


def exp_minus(x: Fraction) -> Fraction:
    return value(partial(exp_bounds, x))


def laplace_mass(scale: Fraction, k: int) -> Fraction:
    step = exp_minus(1 / scale)
    return (1 - step) / (1 + step) * exp_minus(abs(k) / scale)


@pytest.mark.parametrize("bounds", [exp_bounds, logistic_bounds])
@pytest.mark.parametrize("x", ["1/1000000000000000000000000000000", "1/3", "1", "5/2", "10", "100"])
def test_a_coin_has_its_probability_on_every_string_of_five_bytes(
    bounds: Callable[[Fraction, int], tuple[int, int]], x: str
) -> None:
    coin = partial(bounds, Fraction(x))
    mass, undecided = exact_distribution(lambda entropy: bernoulli(coin, entropy), depth=5)
    assert undecided == Fraction(1, 256**5)
    assert mass.get(True, 0) == Fraction(int(value(coin) * 256**5), 256**5)


def test_fair_and_certain_coins_are_so_on_every_string() -> None:
    fair, certain = partial(logistic_bounds, Fraction(0)), partial(exp_bounds, Fraction(0))
    half = Fraction(1, 2)
    mass, undecided = exact_distribution(lambda entropy: bernoulli(fair, entropy), depth=4)
    assert (mass[True], mass[False], undecided) == (half, half - undecided, Fraction(1, 256**4))
    mass, undecided = exact_distribution(lambda entropy: bernoulli(certain, entropy), depth=4)
    assert (mass[True], set(mass)) == (1 - undecided, {True})


class EveryTwoBytes:
    """Entropy that shows each coin all strings of two bytes, and settles what is left with 255."""

    def __init__(self, coins: int) -> None:
        self.coins = coins
        self.calls = 0

    def bytes(self, count: int) -> bytes:
        self.calls += 1
        if self.calls == 1:
            return bytes(byte for _ in range(self.coins) for byte in range(256) for _ in range(256))
        if self.calls == 2:
            return bytes(range(256)) * self.coins
        return b"\xff" * count


@pytest.mark.parametrize("scale", ["1", "7/2", "1000", "1/3"])
def test_coins_tossed_together_have_their_probabilities_on_every_string_of_two_bytes(
    scale: str,
) -> None:
    digits = digit_count(Fraction(scale))
    coins = coin_probabilities(Fraction(scale), digits)
    heads = _toss(Fraction(scale), digits, 65536, EveryTwoBytes(len(coins))).sum(axis=1)
    assert heads.tolist() == [int(value(coin) * 65536) for coin in coins]


@pytest.mark.parametrize("scale", ["1/100", "1/3", "1", "7/2", "1000000", "1e30"])
def test_digits_together_have_the_mass_of_the_geometric(scale: str) -> None:
    t = Fraction(scale)
    digits = digit_count(t)
    above, *ones = [value(coin) for coin in coin_probabilities(t, digits)[2:]]
    for g in sorted({0, 1, 2, 3, 10, 2**digits // 89, 2**digits // 3, 2**digits - 1}):
        if g >= 2**digits:
            continue
        spelled = prod(one if g >> place & 1 else 1 - one for place, one in enumerate(ones))
        geometric = (1 - exp_minus(1 / t)) * exp_minus(g / t)
        assert abs(spelled * (1 - above) - geometric) < CLOSE


class Pattern:
    """Entropy that makes the coins fall on given sides, and nothing lie above the first block.

    A zero byte is True at once or, where the probability is below 1/256, when it comes again.
    """

    def __init__(self, sides: NDArray[np.int64]) -> None:
        self.sides = sides
        self.calls = 0

    def bytes(self, count: int) -> bytes:
        self.calls += 1
        if self.calls == 1:
            return np.where(self.sides, 0, 255).astype(np.uint8).tobytes()
        return (b"\x00" if self.calls == 2 else b"\xff") * count


@pytest.mark.parametrize(("scale", "digits"), [("1", 3), ("1", 2), ("7/2", 5), ("2/3", 2)])
def test_every_pattern_of_coins_lands_where_discrete_laplace_puts_its_mass(scale: str, digits: int) -> None:
    t = Fraction(scale)
    chances = [value(coin) for coin in coin_probabilities(t, digits)]
    above, block = chances[2], 2**digits
    patterns = np.arange(2 ** len(chances))
    sides = (patterns >> np.arange(len(chances))[:, np.newaxis]) & 1
    outcomes = draw_chunk(t, digits, len(patterns), Pattern(sides))
    mass: dict[int, Fraction] = {}
    for outcome, pattern in zip(outcomes.tolist(), sides.T.tolist(), strict=True):
        chance = prod(p if side else 1 - p for p, side in zip(chances, pattern, strict=True))
        one_block_only = 1 - above if abs(outcome) > block else 1
        mass[outcome] = mass.get(outcome, Fraction(0)) + chance * one_block_only
    assert set(mass) == set(range(-2 * block, 2 * block + 1))
    for k, chance in mass.items():
        assert abs(chance - laplace_mass(t, k)) < CLOSE
