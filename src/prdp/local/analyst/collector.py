"""Gather reports: each one once, and only of the form that the campaign asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

from prdp.errors import InvalidRequest
from prdp.local.client.campaign import Campaign
from prdp.local.client.report import Report, unpacked
from prdp.local.protocols.protocol import Tally


class Collector:
    """Gathers the reports of one campaign.

    The number of reports is public, and the analyst's thresholds rest on it. A client that is asked again
    sends the same bytes, and they count once.

    >>> from prdp.local.client.client import Client
    >>> from prdp.local.protocols.counting import DomainCount
    >>> from prdp.policy import Policy
    >>> campaign = Campaign("members", Policy.constant(1), "1/2", DomainCount())
    >>> collector, report = Collector(campaign), Client().report(campaign, {})
    >>> collector.receive(report), collector.receive(report), len(collector)
    (True, False, 1)
    """

    def __init__(self, campaign: Campaign | str | bytes) -> None:
        """Begin with no reports.

        Args:
            campaign: The campaign, or its JSON; one with a protocol of your own is read by
                ``Campaign.from_json``.
        """
        self.campaign = campaign if isinstance(campaign, Campaign) else Campaign.from_json(campaign)
        self._reports: dict[bytes, tuple[int, ...]] = {}
        self._mark = uuid4().hex

    def receive(self, report: Report | bytes) -> bool:
        """Take a report in; return False for one that is there already.

        Raises:
            InvalidRequest: The bytes are no report, answer another campaign, do not have its form, or say
                something else than a report of the same token did: somebody changed one of the two.
        """
        read = report if isinstance(report, Report) else Report.from_bytes(report)
        if read.campaign != self.campaign.digest:
            raise InvalidRequest("this report answers another campaign, or other terms of this one.")
        outcomes = unpacked(read.payload, self.campaign.fields)
        known = self._reports.setdefault(read.token, outcomes)
        if known != outcomes:
            raise InvalidRequest(
                "a report with this token is here already and says something else: one of the two was "
                "changed on its way. The first one stays."
            )
        return known is outcomes

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def tally(self) -> Tally:
        """The totals of all reports, bound to the campaign."""
        gathered = self.campaign.protocol.tally(self.campaign.terms, self._reports.values())
        return replace(gathered, campaign=self.campaign.digest, collectors=frozenset({self._mark}))

    def estimate(self, **options: Any) -> Any:
        """Return what the protocol makes of the tally; options are the protocol's own, such as ``beta``."""
        return self.campaign.protocol.estimate(self.campaign.terms, self.tally, **options)
