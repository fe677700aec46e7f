"""What a store holds, as frozen rows: the study, its rounds, and nothing of who sent what, or when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredRound:
    """One round.

    Attributes:
        number: Which one, from 1.
        campaign: Its campaign, as JSON.
        digest: The campaign's content hash.
        reports: How many reports have been counted.
        closes_at: When it closes, in seconds since 1970; None for never by itself.
        closed: Whether it takes no more reports.
        tally: What its reports add up to, as JSON, once it is closed and added up.
    """

    number: int
    campaign: str
    digest: bytes
    reports: int
    closes_at: int | None
    closed: bool
    tally: str | None


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """All that a store knows but for the reports themselves.

    Attributes:
        plan: The study's plan, as JSON.
        operator: The hash of the operator's token.
        rounds: The rounds so far, in order.
        result: The result, as JSON, once there is one.
    """

    plan: str
    operator: bytes
    rounds: tuple[StoredRound, ...]
    result: str | None

    @property
    def last(self) -> StoredRound:
        """The round that is open, or was the last to be."""
        return self.rounds[-1]
