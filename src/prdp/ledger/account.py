"""What a ledger is: charges, the releases they paid for, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from prdp.ledger.binding import Binding
from prdp.release import Release


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge, and the release that it paid for once there is one.

    Attributes:
        number: Its place in the ledger, from 0.
        purpose: The question, as ``Question`` writes it.
        share: The part of every record's budget that was charged.
        who: Who asked.
        at: When, in UTC, as the clock of the asking machine had it; ISO 8601.
        release: What was answered; None while the charge is unanswered.
        answered: When; None while the charge is unanswered.
    """

    number: int
    purpose: str
    share: Fraction
    who: str = ""
    at: str = ""
    release: Release | None = None
    answered: str | None = None


class Ledger(Protocol):
    """Keeps the account of one table.

    The order that every caller keeps: ``charge``, read the records, draw, ``record``, show what
    ``record`` returned. A charge without a release (a crash, an engine that failed) is taken up by
    the next charge for the same purpose, because nobody has seen its answer. For the same reason the
    first release that is recorded for a charge stands, and every caller shows that one.
    """

    @property
    def durable(self) -> bool:
        """Whether the account outlives the process."""

    @property
    def left(self) -> Fraction:
        """The part of every record's budget that is not spent."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""

    def attach(self, binding: Binding) -> None:
        """Take a table's public facts in; called once by whoever opens the table.

        Raises:
            LedgerError: The ledger keeps the account of another table.
        """

    def charge(self, purpose: str, share: Fraction) -> int:
        """Write a charge down, or take up an unanswered one for the same purpose; return its number.

        Raises:
            BudgetExhausted: Less than ``share`` is left; nothing was written.
        """

    def record(self, number: int, release: Release) -> Release:
        """Attach a release to a charge; return the release that stands."""

    def recorded(self, purpose: str) -> Release | None:
        """Return the latest release for a purpose, if there is one: showing it again is free."""
