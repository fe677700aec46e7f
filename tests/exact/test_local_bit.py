"""Randomised bits in the local model: counts, masses, one-bit sums, and frequencies by bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from prdp.local.client.campaign import Campaign
from prdp.local.client.client import laws_for, own_of
from prdp.local.protocols.categories import Categories, Frequencies
from prdp.local.protocols.counting import DomainCount, ProportionalCount
from prdp.local.protocols.ldp_sums import ClippedSum, ValueOctaves
from prdp.local.protocols.protocol import FrameworkProtocol, Record
from prdp.local.protocols.randomisers import Bit, Law
from prdp.local.protocols.summing import RatioMass
from prdp.policy import Policy
from prdp.testing import Seeded
from prdp.testing.bit_strings import exact_distribution
from prdp.testing.local_contract import Laws, largest_log_ratio
from tests.exact.local_universe import MEASURE, POLICY, POSITIVE, RECORDS, OnThisUniverse, campaigns


def scaled(factor: Fraction) -> Laws:
    """Return laws whose coins are made for a larger loss, or a smaller one."""

    def laws(campaign: Campaign, record: Record | None) -> Sequence[Law]:
        return [
            replace(law, lift=law.lift * factor, loss=law.loss * factor) if isinstance(law, Bit) else law
            for law in laws_for(campaign, record)
        ]

    return laws


def quanta_of(record: Record | None) -> int | None:
    own = own_of(POLICY, POLICY.levels, record)
    return own.quanta if own else None


def made_for_the_own_budget(campaign: Campaign, record: Record | None) -> Sequence[Law]:
    """Toss all coins with the record's own budget, which gives the budget away."""
    quanta = quanta_of(record)
    right = laws_for(campaign, record)
    if quanta is None:
        return right
    loss = campaign.terms.loss(quanta)
    return [Bit.of(loss, part=law.part) for law in right if isinstance(law, Bit)]


def only_the_own_coordinate(campaign: Campaign, record: Record | None) -> Sequence[Law]:
    right = laws_for(campaign, record)
    reported = [law for law in right if isinstance(law, Bit) and law.part]
    return reported or right


def lifted_to_the_full(campaign: Campaign, record: Record | None) -> Sequence[Law]:
    """Forget that a record's budget may be below the coin's."""
    return [Bit.of(law.loss, part=law.part) for law in laws_for(campaign, record) if isinstance(law, Bit)]


def nobody_is_a_dummy(campaign: Campaign, record: Record | None) -> Sequence[Law]:
    """Let records below the threshold answer as they are."""
    assert isinstance(campaign.protocol, FrameworkProtocol)
    return campaign.protocol.inner.law(campaign.protocol.budget(campaign.terms), record)


class TestDomainCount(OnThisUniverse):
    campaigns = campaigns(DomainCount(), DomainCount(column="v"))

    def twins(self) -> Mapping[str, Laws]:
        return {
            "noise 15 % too small": scaled(Fraction(100, 85)),
            "the upper end of a domain's budgets": scaled(Fraction(2)),
            "made for the own budget": made_for_the_own_budget,
            "only the own coordinate": only_the_own_coordinate,
        }

    def test_a_record_at_a_domain_s_lower_end_loses_all_that_it_may(self) -> None:
        for campaign in self.campaigns:
            one, dummy = (laws_for(campaign, record) for record in (RECORDS[0], None))
            assert largest_log_ratio(one, dummy) == pytest.approx(0.125 * float(campaign.share), rel=1e-5)


class TestProportionalCount(OnThisUniverse):
    campaigns = campaigns(ProportionalCount(Fraction(1)), ProportionalCount(Fraction(5)))

    def twins(self) -> Mapping[str, Laws]:
        return {
            "noise 15 % too small": scaled(Fraction(100, 85)),
            "lifted to the full": lifted_to_the_full,
            "made for the own budget": made_for_the_own_budget,
        }


class TestRatioMass(OnThisUniverse):
    campaigns = campaigns(RatioMass(MEASURE))

    def twins(self) -> Mapping[str, Laws]:
        return {
            "noise 15 % too small": scaled(Fraction(100, 85)),
            "lifted to the full": lifted_to_the_full,
        }


class TestValueOctaves(OnThisUniverse):
    campaigns = campaigns(FrameworkProtocol(ValueOctaves(MEASURE), 3))

    def twins(self) -> Mapping[str, Laws]:
        return {
            "the upper end of a domain's budgets": scaled(Fraction(2)),
            "nobody is a dummy": nobody_is_a_dummy,
        }


class TestOneBitSum(OnThisUniverse):
    campaigns = campaigns(
        FrameworkProtocol(ClippedSum(POSITIVE, 12), 1),
        FrameworkProtocol(ClippedSum(POSITIVE, 8), 3),  # 4 of 8: a fair coin, whose chance is rational
    )

    def twins(self) -> Mapping[str, Laws]:
        return {
            "the upper end of a domain's budgets": scaled(Fraction(2)),
            "nobody is a dummy": nobody_is_a_dummy,
        }


class TestFrequenciesByBits(OnThisUniverse):
    campaigns = campaigns(FrameworkProtocol(Frequencies(Categories("job", ("a", "b", "c")), "bits"), 2))

    def twins(self) -> Mapping[str, Laws]:
        return {
            "the upper end of a domain's budgets": scaled(Fraction(2)),
            "nobody is a dummy": nobody_is_a_dummy,
        }


class TestOptimisedUnaryEncoding(OnThisUniverse):
    campaigns = (
        *campaigns(FrameworkProtocol(Frequencies(Categories("job", ("a", "b", "c")), "oue"), 2)),
        # a bit loses ln((e^L + 1) / 2) of L: only for a large L is that nearly all
        Campaign(
            "large budgets",
            Policy.column("eps", at_least="64", at_most="128"),
            Fraction(1),
            FrameworkProtocol(Frequencies(Categories("job", ("a", "b", "c")), "oue"), 1),
        ),
    )
    records = (*RECORDS, {"v": 1, "eps": 64.0, "job": "a"})

    def twins(self) -> Mapping[str, Laws]:
        return {
            "four times the budget": scaled(Fraction(4)),
            "nobody is a dummy": nobody_is_a_dummy,
        }

    def test_two_categories_are_no_further_apart_than_one_budget(self) -> None:
        """The textbook's promise, stronger than ours."""
        budget = Fraction(1, 2)
        protocol = Frequencies(Categories("job", ("a", "b", "c")), "oue")
        apart = largest_log_ratio(protocol.law_at(budget, 0), protocol.law_at(budget, 1))
        assert apart == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    "bit",
    [
        Bit.of(Fraction(1, 3), part=1),
        Bit.of(Fraction(1, 3)),
        Bit.of(Fraction(2), part=1, lift=Fraction(1, 7)),
        Bit.of(Fraction(2), part=Fraction(1, 3), lift=Fraction(1)),
        Bit.of(Fraction(2), part=Fraction(1, 2)),
        Bit.of(Fraction(1, 10**9), part=1),
        Bit.of(Fraction(90), part=1),
        Bit.of(Fraction(10**40), part=1),
    ],
    ids=str,
)
def test_a_bit_is_drawn_with_its_chance_on_every_string_of_four_bytes(bit: Bit) -> None:
    mass, undecided = exact_distribution(bit.draw, depth=4)
    assert undecided <= Fraction(1, 256**4)
    low, high = bit.heads(400)
    assert mass.get(1, 0) <= Fraction(high, 2**400)
    assert Fraction(low, 2**400) <= mass.get(1, 0) + undecided


def test_a_bit_says_e_to_the_lift_times_the_dummy_s_chance() -> None:
    lift, loss = Fraction(1, 4), Fraction(1)
    lifted, dummy = Bit.of(loss, part=1, lift=lift), Bit.of(loss)
    assert largest_log_ratio([lifted], [dummy]) == pytest.approx(0.25, rel=1e-12)


def test_a_bit_refuses_what_is_no_part_or_no_loss() -> None:
    for part, lift, loss in ((2, 0, 1), (-1, 0, 1), (1, 2, 1), (1, -1, 1), (0, 0, 0)):
        with pytest.raises(ValueError, match="a bit needs"):
            Bit(Fraction(part), Fraction(lift), Fraction(loss))


@pytest.mark.parametrize("part", [0, Fraction(3, 4), 1])
@pytest.mark.parametrize("lift", [1, 10**6])
def test_a_toss_reads_a_few_bytes_whatever_the_record_and_however_large_the_budget(
    part: int | Fraction, lift: int
) -> None:
    """A toss whose length told the record's budget would be an answer that nobody accounted for."""

    class Counting:
        read = 0

        def bytes(self, count: int) -> bytes:
            self.read += count
            return Seeded(self.read).bytes(count)

    entropy = Counting()
    for _ in range(20):
        Bit.of(Fraction(10**6), part=part, lift=Fraction(lift)).draw(entropy)
    assert entropy.read < 60
