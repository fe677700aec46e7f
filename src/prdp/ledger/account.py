"""The protocol of ledgers: charges, the releases they paid for, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import Protocol

from prdp.declare.exact import MAX_BITS, MAX_DENOMINATOR, short_repr
from prdp.errors import BudgetExhausted, InvalidRequest
from prdp.expressions.spelling import is_writable
from prdp.ledger.binding import Binding
from prdp.ledger.strict_json import strict_json
from prdp.release.table import Released


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes beside a charge's question: kept with the charge, and never what a question is found by.

    Attributes:
        region: Whom it is charged to, as JSON; None for everybody. A ledger that was begun without fixed
            columns counts it as charged to everybody, which is never too little.
        snapshot: Which snapshot of the data was asked; the question's own text says so as well.
        warm_start: Where an earlier release's exact place is used, that place and where it is from.
        quota: Out of whose quota it is paid, by name; None for nobody's.
    """

    region: str | None = None
    snapshot: str | None = None
    warm_start: str | None = None
    quota: str | None = None


NO_NOTES = Notes()

LATEST = 1000
"""How many answered charges are looked through for what a question may start from."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge that awaits its release.

    Attributes:
        number: Its place in the ledger, from 0.
        purpose: What it is for.
        token: A random word of its own: a ledger that was replaced meanwhile does not know it.
        notes: What stands beside it since it was made, so that whoever takes it up draws from the same law.
    """

    number: int
    purpose: str
    token: str = ""
    notes: Notes = field(default=NO_NOTES, repr=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge as it is read back, with the release that it paid for once there is one.

    Attributes:
        number: Its place in the ledger, from 0.
        purpose: The question, as ``question_text`` writes it, or free words.
        share: The part of every record's budget that was charged.
        who: Who asked.
        at: When, in UTC, as the clock of the asking machine had it; ISO 8601.
        release: What was answered; None while the charge is unanswered.
        notes: What stands beside the question.
    """

    number: int
    purpose: str
    share: Fraction
    who: str = ""
    at: str = ""
    release: Released | None = None
    notes: Notes = NO_NOTES


class Ledger(Protocol):
    """Keeps the account of one table.

    The order that every caller keeps: ``charge``, read the records, draw, ``record``, show what
    ``record`` returned. A charge without a release (a crash, an engine that failed) is taken up by
    the next charge for the same purpose, because nobody has seen its answer. For the same reason the
    first release that is recorded for a charge stands, and every caller shows that one.
    """

    @property
    def remaining(self) -> Fraction:
        """The part of every record's budget that is not spent."""

    @property
    def immutable(self) -> tuple[str, ...]:
        """The columns that narrow whom a question is charged to; none where all is charged to everybody."""

    def remaining_in(self, region: str | None) -> Fraction:
        """Return the part of their budgets that all records of a region have left; None is everybody."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""

    def attach(self, binding: Binding) -> None:
        """Take a table's public facts in; called once by whoever opens the table.

        Raises:
            LedgerError: The ledger keeps the account of another table.
        """

    def standing(self, purpose: str, share: Fraction) -> Released | None:
        """Return the release that a purpose has had for a share; None if it has none. Charges nothing."""

    def answered(self, wanted: Callable[[str], bool]) -> tuple[Entry, ...]:
        """Return the charges with a release whose purpose passes a test, of the ``LATEST``, newest first."""

    def charge(
        self, purpose: str, share: Fraction, *, redraw: bool = False, notes: Notes = NO_NOTES
    ) -> Charge | Released:
        """Return the standing release for a purpose, or else a charge that awaits one; in one step.

        The charge is an unanswered one that is taken up, or else a new one.

        Args:
            purpose: The question.
            share: What it costs.
            redraw: Whether to pass over a standing release and pay again.
            notes: What is kept beside a new charge; nothing is found by it.

        Raises:
            BudgetExhausted: Less than ``share`` is left; nothing was written.
        """

    def record(self, charge: Charge, release: Released) -> Released:
        """Attach a release to a charge; return the release that stands."""


def refuse_unless_a_charge(purpose: str, share: Fraction, notes: Notes = NO_NOTES) -> None:
    """Refuse what no ledger can keep, before anything is charged.

    >>> refuse_unless_a_charge("count", Fraction(1, 4))
    >>> refuse_unless_a_charge("count", 0.25)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: 0.25 is no share: a Fraction above 0 and at most 1, ...
    """
    refuse_unless_a_share(share)
    if not isinstance(purpose, str) or not is_writable(purpose):
        raise InvalidRequest(
            f"the question {purpose!r} cannot be written: it is no text, or holds NUL or half of a "
            "character, perhaps in a name. Nothing was charged."
        )
    for text in (notes.region, notes.snapshot, notes.warm_start, notes.quota):
        if text is not None and not (isinstance(text, str) and is_writable(text)):
            raise InvalidRequest(f"{text!r} cannot be written beside a charge. Nothing was charged.")
    try:
        strict_json("{}" if notes.region is None else notes.region)
    except (ValueError, RecursionError):
        shown = short_repr(notes.region)
        raise InvalidRequest(f"{shown} is no region: it is not JSON. Nothing was charged.") from None


def remaining_after(spent: Fraction) -> Fraction:
    """Return what is left of everybody's budget; charges by region may add up to more than the whole.

    >>> remaining_after(Fraction(3, 4)), remaining_after(Fraction(5, 4))
    (Fraction(1, 4), Fraction(0, 1))
    """
    return max(Fraction(0), 1 - spent)


def sum_with(spent: Fraction, share: Fraction) -> Fraction:
    """Return what is spent with one more share, if that is no more than the whole and can be kept.

    >>> sum_with(Fraction(1, 2), Fraction(1, 4))
    Fraction(3, 4)
    >>> sum_with(Fraction(1, 2), Fraction(3, 4))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.BudgetExhausted: this question asks for 3/4 of every record's budget, but 1/2 is left. ...
    """
    if spent + share > 1:
        raise BudgetExhausted(asked=share, remaining=remaining_after(spent))
    return total_with(spent, share)


def total_with(spent: Fraction, share: Fraction) -> Fraction:
    """Return the sum of all shares with one more, whomever they are charged to, if it can be kept."""
    total = spent + share
    odd = total.denominator // gcd(total.denominator, MAX_DENOMINATOR)  # decimals are always round enough
    if odd.bit_length() > MAX_BITS:
        raise InvalidRequest(
            f"share={str(share)!r} makes the sum of all shares unwieldy. Nothing was charged; ask for a "
            "rounder share, such as '0.01'."
        )
    return total


def refuse_unless_a_share(share: Fraction) -> None:
    """Refuse what is no part of a budget: the sum of shares is the whole account."""
    if not isinstance(share, Fraction) or not 0 < share <= 1 or share.denominator > MAX_DENOMINATOR:
        raise InvalidRequest(
            f"{share!r} is no share: a Fraction above 0 and at most 1, whose denominator is at most 10^12. "
            "Write Fraction('0.1') or Fraction(1, 10)."
        )
