"""The number of tails is found by exact inversion: every word of a uniform number on its own side of F."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from prdp.noise.chances import TailBinomial
from prdp.testing import Seeded

CASES = [
    TailBinomial(1, Fraction(2), 1),
    TailBinomial(5, Fraction(3, 2), 2),
    TailBinomial(40, Fraction(7), 3),
    TailBinomial(10**30, Fraction(10), 690),
    TailBinomial(10**300, Fraction(1), 690),
    TailBinomial(10**6, Fraction(1, 3), 4),
]


def below(law: TailBinomial, most: int) -> list[Any]:
    """Return balls around F(0), F(1), ..."""
    a = (-arb(fmpq(law.scale.denominator, law.scale.numerator))).exp()
    p = a**law.least / (1 + a)
    q = ((-p).log1p() * law.coins).exp()
    total, term, found = arb(0), q, []
    for number in range(min(most, law.coins) + 1):
        total += term
        found.append(total)
        term = term * (law.coins - number) / (number + 1) * p / (1 - p)
    return found


@pytest.mark.parametrize("law", CASES, ids=str)
def test_words_on_either_side_of_the_distribution_function_are_distinguished(law: TailBinomial) -> None:
    with ctx.workprec(3000):
        for number, chance in enumerate(below(law, 6)[:-1]):
            word = int((chance * 2**64).floor().unique_fmpz())
            assert law._below(word - 1, 64, 64) == number
            assert law._below(word + 1, 64, 64) == number + 1
            assert law._below(word, 64, 64) is None  # F lies within the word: more bits must tell
            longer = int((chance * 2**128).floor().unique_fmpz())
            assert law._below(longer - 1, 128, 128) == number
            assert law._below(longer + 1, 128, 128) == number + 1


@pytest.mark.parametrize("law", CASES, ids=str)
def test_the_chance_of_one_lies_between_its_bounds(law: TailBinomial) -> None:
    with ctx.workprec(3000):
        a = (-arb(fmpq(law.scale.denominator, law.scale.numerator))).exp()
        p = a**law.least / (1 + a)
        for bits in (8, 64, 1200):
            low, high = law.chance(bits)
            assert low <= p * 2**bits <= high
            assert high - low <= 4


def test_no_coins_have_no_tails_and_all_numbers_are_possible() -> None:
    assert TailBinomial(0, Fraction(1), 1).draw(Seeded(1)) == 0
    assert {TailBinomial(3, Fraction(100), 1).draw(Seeded(seed)) for seed in range(60)} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("coins", "scale", "least"), [(-1, Fraction(1), 1), (1, Fraction(0), 1), (1, Fraction(1), 0)]
)
def test_what_are_no_tails_is_refused(coins: int, scale: Fraction, least: int) -> None:
    with pytest.raises(ValueError, match="no such tails"):
        TailBinomial(coins, scale, least)
