"""Who gathers reports: each one once, and only of the form that the campaign asks for."""

from __future__ import annotations

from typing import Any

from prdp.errors import InvalidRequest
from prdp.local.campaign import Campaign
from prdp.local.protocol import Tally
from prdp.local.report import Report, unpacked


class Collector:
    """Gathers the reports of one campaign.

    The number of reports is public, and the analyst's thresholds rest on it. A client that is asked again
    sends the same bytes, and they count once.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._reports: dict[bytes, tuple[int, ...]] = {}

    def receive(self, report: Report | bytes) -> bool:
        """Take a report in; return False for one that is there already.

        Raises:
            InvalidRequest: The bytes are no report, answer another campaign or do not have its form.
        """
        read = report if isinstance(report, Report) else Report.from_bytes(report)
        if read.campaign != self.campaign.digest:
            raise InvalidRequest("this report answers another campaign, or other terms of this one.")
        outcomes = unpacked(read.payload, self.campaign.fields)
        if read.token in self._reports:
            return False
        self._reports[read.token] = outcomes
        return True

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def tally(self) -> Tally:
        """What all reports together say."""
        return self.campaign.protocol.tally(self.campaign.terms, self._reports.values())

    def estimate(self, **options: Any) -> Any:
        """Return what the protocol makes of the tally; options are the protocol's own, such as ``beta``."""
        return self.campaign.protocol.estimate(self.campaign.terms, self.tally, **options)
