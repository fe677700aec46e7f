"""The contract of protocols of the local model, as tests: subclass ``LocalContract``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from prdp.local.client.campaign import Campaign
from prdp.local.client.client import Client, laws_for
from prdp.local.client.report import payload_size
from prdp.local.protocols.protocol import Record
from prdp.local.protocols.randomisers import Bit, Hashed, Law, NoisyValue, Symbol
from prdp.testing.mechanism_contract import FACTOR, on_edges, with_budget

TOLERANCE = 1e-9
"""Tolerance of a measured loss over its bound: the rounding of logarithms, with room."""

_BITS = 256
_TINY_PRIME = 5

Laws = Callable[[Campaign, Record | None], Sequence[Law]]
"""From a campaign and a record, or None for the dummy, to what a report is drawn from."""


def largest_log_ratio(one: Sequence[Law], other: Sequence[Law]) -> float:
    """Return |ln(Pr₁[y] / Pr₂[y])| at the worst report y, rounded up; coordinates are independent.

    A hash function is drawn from a field of five numbers instead of 2^31, so that all can be tried.
    """
    if len(one) != len(other):
        return math.inf
    pairs = [(_small(left), _small(right)) for left, right in zip(one, other, strict=True)]
    up = sum(_log_ratio(left, right) for left, right in pairs)
    down = sum(_log_ratio(right, left) for left, right in pairs)
    return max(up, down)


def _small(law: Law) -> Law:
    return replace(law, prime=_TINY_PRIME) if isinstance(law, Hashed) else law


@lru_cache(maxsize=1 << 16)
def _log_ratio(left: Law, right: Law) -> float:
    """Return the largest ln(Pr₁[y] / Pr₂[y]) over the outcomes of one coordinate."""
    if left == right:
        return 0.0
    outcomes = {*left.outcomes(), *right.outcomes()}
    return max(_log_of(left.chance(outcome)(_BITS), right.chance(outcome)(_BITS)) for outcome in outcomes)


def _log_of(above: tuple[int, int], below: tuple[int, int]) -> float:
    """Return the logarithm of the largest quotient that two enclosures allow."""
    if not above[1]:
        return -math.inf
    return math.log(above[1]) - math.log(below[0]) if below[0] else math.inf


def less_local_noise(law: Law, factor: Fraction = FACTOR) -> Law:
    """Return a law whose coins, symbols and noise are made for a loss that is larger by 1 / factor."""
    if isinstance(law, Bit):
        return replace(law, lift=law.lift / factor, loss=law.loss / factor)
    if isinstance(law, Symbol | Hashed):
        return replace(law, loss=law.loss / factor)
    if isinstance(law, NoisyValue):
        return replace(law, scale=law.scale * factor)
    raise TypeError(f"{type(law).__name__} is no law of the library")


class LocalContract:
    """Tests that no report says more about a record than it may, on every two records of a universe.

    To the records of the universe the contract adds those on the lower edge of every level of the policy. A
    twin with noise 2 % too small must break the promise, unless ``loose`` says why it cannot.

    Attributes:
        campaigns: The protocol at several terms.
        records: The universe, odd records among it.
        loose: Why no record comes within 2 % of the promise; empty where one does.
        caught_by: By how much a wrong twin must break the promise.
    """

    campaigns: Sequence[Campaign] = ()
    records: Sequence[Record] = ()
    loose: str = ""
    caught_by: float = 0.001

    def twins(self) -> Mapping[str, Laws]:
        """Return laws that each break one step of the proof, by name."""
        raise NotImplementedError

    def promised(self, campaign: Campaign, record: Record) -> float:
        """Return the allowed loss of a record: 0 for one without a valid budget."""
        try:
            return float(campaign.share) * (campaign.policy.budget(record) or 0.0)
        except (KeyError, TypeError):
            return 0.0

    def excess(self, laws: Laws) -> float:
        """Return by how much the promise is broken at worst, against the dummy or between two records."""
        worst = -math.inf
        for campaign in self.campaigns:
            dummy = laws(campaign, None)
            each = [(laws(campaign, record), self.promised(campaign, record)) for record in self.records]
            for one, promise in each:
                worst = max(worst, largest_log_ratio(one, dummy) - promise)
                for other, also in each:
                    worst = max(worst, largest_log_ratio(one, other) - promise - also)
        return worst

    def tightness(self) -> tuple[float, float]:
        """Return the worst loss against the dummy over the promise: of the right laws, and of the twin."""

        def quiet(campaign: Campaign, record: Record | None) -> Sequence[Law]:
            return [less_local_noise(law) for law in laws_for(campaign, record)]

        return max(self._ratios(laws_for)), max(self._ratios(quiet))

    def _ratios(self, laws: Laws) -> Iterator[float]:
        for campaign in self.campaigns:

            def budget(record: Mapping[str, Any], campaign: Campaign = campaign) -> float:
                return self.promised(campaign, record) / float(campaign.share)

            def changed(record: Mapping[str, Any], to: float, budget: Any = budget) -> Any:
                return with_budget(record, to, budget)

            dummy = laws(campaign, None)
            edges = on_edges(self.records, campaign.policy.levels, budget, changed)
            for record in (*self.records, *edges):
                if promise := self.promised(campaign, record):
                    yield largest_log_ratio(laws(campaign, record), dummy) / promise

    def test_two_percent_too_little_noise_is_caught(self) -> None:
        """Measure right laws and quiet twin, with records on edges; ``pytest -rP`` prints both."""
        right, twin = self.tightness()
        print(f"{type(self).__qualname__}: {right:.4f} of the promise, with 2 % less noise {twin:.4f}")
        assert right <= 1 + TOLERANCE
        if self.loose:
            assert right < FACTOR, "it is tight: take loose away"
        else:
            assert twin > 1 + TOLERANCE, (
                f"noise 2 % too small shows nowhere: the right laws come to {right:.4f} of the promise at "
                "most. Add records or terms that come closer"
            )

    def test_no_record_loses_more_than_its_share_of_its_budget(self) -> None:
        """Compare every record with the dummy, and every two records."""
        assert self.excess(laws_for) <= TOLERANCE

    def test_every_wrong_twin_is_caught(self) -> None:
        """Measure the wrong ones just as the right one."""
        twins = self.twins()
        assert twins
        for name, laws in twins.items():
            assert self.excess(laws) > self.caught_by, name

    def test_the_form_of_a_report_is_the_campaign_s_whatever_the_record(self) -> None:
        """Send every record, and nothing."""
        for campaign in self.campaigns:
            sizes = {len(Client().report(campaign, record).payload) for record in (*self.records, None)}
            assert sizes == {payload_size(campaign.fields)}

    def test_a_campaign_survives_json(self) -> None:
        """Read back what was written."""
        for campaign in self.campaigns:
            own = campaign.protocol
            inner = getattr(own, "inner", None)
            read = Campaign.from_json(
                campaign.to_json(),
                protocols=() if inner else (type(own),),
                ldp_protocols=(type(inner),) if inner else (),
            )
            assert (read, read.digest) == (campaign, campaign.digest)
