"""Categories told as one symbol, or as the symbol of a hash, in the local model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from prdp.local.client.campaign import Campaign
from prdp.local.client.client import laws_for
from prdp.local.protocols.categories import Bins, Categories, Frequencies
from prdp.local.protocols.protocol import FrameworkProtocol, Record
from prdp.local.protocols.randomisers import Hashed, Law, Symbol
from prdp.testing.enumerated import exact_distribution
from prdp.testing.local_contract import Laws, largest_log_ratio
from tests.exact.local_universe import OnThisUniverse, campaigns
from tests.exact.test_local_bit import nobody_is_a_dummy

JOBS = Categories("job", ("a", "b", "c"))
MANY_JOBS = Categories("job", ("a", "b", "c", *map(str, range(200))))


def with_budget(factor: Fraction) -> Laws:
    """Return laws that are made for another budget."""

    def laws(campaign: Campaign, record: Record | None) -> Sequence[Law]:
        (law,) = laws_for(campaign, record)
        assert isinstance(law, Symbol | Hashed)
        return [replace(law, loss=law.loss * factor)]

    return laws


def dummies_fall_silent(campaign: Campaign, record: Record | None) -> Sequence[Law]:
    right = laws_for(campaign, record)
    return () if right == laws_for(campaign, None) else right


class TestGeneralisedRandomisedResponse(OnThisUniverse):
    campaigns = campaigns(
        FrameworkProtocol(Frequencies(JOBS, "grr"), 2),
        FrameworkProtocol(Frequencies(MANY_JOBS, "grr"), 2),  # the more symbols, the closer to the promise
        FrameworkProtocol(Frequencies(Bins("v", (Fraction(0), Fraction(4), Fraction(9))), "grr"), 1),
    )

    def twins(self) -> Mapping[str, Laws]:
        return {
            "the upper end of a domain's budgets": with_budget(Fraction(2)),
            "nobody is a dummy": nobody_is_a_dummy,
            "dummies fall silent": dummies_fall_silent,
        }


class TestHashedResponse(OnThisUniverse):
    campaigns = campaigns(
        FrameworkProtocol(Frequencies(JOBS, "olh", 3), 2),
        FrameworkProtocol(Frequencies(JOBS, "olh", 100), 2),  # the more buckets, the closer to the promise
    )

    def twins(self) -> Mapping[str, Laws]:
        return {
            "four times the budget": with_budget(Fraction(4)),
            "nobody is a dummy": nobody_is_a_dummy,
            "dummies fall silent": dummies_fall_silent,
        }


@pytest.mark.parametrize("method", ["grr", "olh"])
def test_two_categories_are_no_further_apart_than_one_budget(method: str) -> None:
    """The textbook's promise, stronger than ours."""
    budget = Fraction(1, 2)
    protocol = Frequencies(JOBS, "grr") if method == "grr" else Frequencies(JOBS, "olh", 3)
    apart = largest_log_ratio(protocol.law_at(budget, 0), protocol.law_at(budget, 1))
    assert apart == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("own", [None, 0, 2])
def test_a_symbol_is_drawn_with_its_chance_on_every_string_of_two_bytes(own: int | None) -> None:
    law = Symbol(own, 3, Fraction(1))
    mass, undecided = exact_distribution(law.draw, depth=2)
    for symbol in law.outcomes():
        low, high = law.chance(symbol)(200)
        assert mass.get(symbol, 0) <= Fraction(high, 2**200)
        assert Fraction(low, 2**200) <= mass.get(symbol, 0) + undecided


def test_a_hash_s_chances_add_up_to_one_and_every_function_is_equally_likely() -> None:
    law = Hashed(1, 2, Fraction(1), prime=3)
    chances = [law.chance(outcome)(200)[0] / 2**200 for outcome in law.outcomes()]
    assert sum(chances) == pytest.approx(1)
    by_function = [sum(pair) for pair in zip(chances[::2], chances[1::2], strict=True)]
    assert by_function == pytest.approx([1 / 6] * 6)


def test_a_category_s_hash_is_uniform_and_independent_of_another_s() -> None:
    """What makes the estimates unbiased: over all functions, two categories meet as by chance."""
    prime, buckets = 7, 7
    pairs = {
        ((a * 1 + b) % prime % buckets, (a * 3 + b) % prime % buckets)
        for a in range(1, prime)
        for b in range(prime)
    }
    assert len(pairs) == (prime - 1) * prime
