"""Discrete Laplace noise in the local model: Algorithm 3 as printed, the ratio partition, clipped sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from prdp.local.client.campaign import Campaign
from prdp.local.client.client import laws_for, own_of
from prdp.local.protocols.counting import DomainCount
from prdp.local.protocols.ldp_sums import ClippedSum
from prdp.local.protocols.protocol import FrameworkProtocol, Record, steps_of
from prdp.local.protocols.randomisers import Law, NoisyValue
from prdp.local.protocols.summing import ProportionalSum, RatioSum
from prdp.testing.local_contract import Laws, largest_log_ratio
from tests.exact.local_universe import MEASURE, POLICY, RECORDS, OnThisUniverse, campaigns
from tests.exact.test_local_bit import nobody_is_a_dummy


def scaled(factor: Fraction) -> Laws:
    """Return laws with noise that is scaled by a factor."""

    def laws(campaign: Campaign, record: Record | None) -> Sequence[Law]:
        right = laws_for(campaign, record)
        return [replace(law, scale=law.scale * factor) for law in right if isinstance(law, NoisyValue)]

    return laws


def made_for_the_own_budget(campaign: Campaign, record: Record | None) -> Sequence[Law]:
    right = laws_for(campaign, record)
    own = own_of(POLICY, POLICY.levels, record)
    if own is None:
        return right
    scale = 1 / campaign.terms.loss(own.quanta)
    return [replace(law, scale=scale) for law in right if isinstance(law, NoisyValue)]


def one_octave_too_low(campaign: Campaign, record: Record | None) -> Sequence[Law]:
    """Tell a value where the noise is half of what it needs."""
    right = [law for law in laws_for(campaign, record) if isinstance(law, NoisyValue)]
    values = [law.value for law in right]
    moved = [*values[1:], 0] if not values[0] else values
    return [replace(law, value=value) for law, value in zip(right, moved, strict=True)]


def not_cut(campaign: Campaign, record: Record | None) -> Sequence[Law]:
    (law,) = laws_for(campaign, record)
    assert isinstance(law, NoisyValue)
    own = own_of(POLICY, POLICY.levels, record)
    return [replace(law, value=steps_of(own.record, MEASURE))] if own else [law]


class TestDomainCount(OnThisUniverse):
    campaigns = campaigns(DomainCount("laplace"))

    def twins(self) -> Mapping[str, Laws]:
        return {
            "noise 15 % too small": scaled(Fraction(85, 100)),
            "the upper end of a domain's budgets": scaled(Fraction(1, 2)),
            "made for the own budget": made_for_the_own_budget,
        }

    def test_a_record_at_a_domain_s_lower_end_loses_all_that_it_may(self) -> None:
        for campaign in self.campaigns:
            one, dummy = (laws_for(campaign, record) for record in (RECORDS[0], None))
            assert largest_log_ratio(one, dummy) == pytest.approx(0.125 * float(campaign.share), rel=1e-5)


class TestRatioSum(OnThisUniverse):
    campaigns = campaigns(RatioSum(MEASURE), RatioSum(replace(MEASURE, low=-2000, high=2000)))
    records = (*RECORDS, *({"v": v, "eps": 2.0, "job": "a"} for v in (341, 682)))

    def twins(self) -> Mapping[str, Laws]:
        return {
            "half the noise": scaled(Fraction(1, 2)),
            "one octave too low": one_octave_too_low,
        }


class TestProportionalSum(OnThisUniverse):
    campaigns = campaigns(ProportionalSum(MEASURE, Fraction(8)), ProportionalSum(MEASURE, Fraction(40)))

    def twins(self) -> Mapping[str, Laws]:
        return {"noise 15 % too small": scaled(Fraction(85, 100)), "not cut": not_cut}


class TestClippedSum(OnThisUniverse):
    campaigns = campaigns(FrameworkProtocol(ClippedSum(MEASURE, 6, "laplace"), 3))

    def twins(self) -> Mapping[str, Laws]:
        return {
            "the upper end of a domain's budgets": scaled(Fraction(1, 2)),
            "nobody is a dummy": nobody_is_a_dummy,
            "not cut": not_cut,
        }
