"""The protocol of ledgers: charges by region, the releases that they paid for, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import Protocol

from prdp.declare.exact import MAX_BITS, MAX_DENOMINATOR, short_repr
from prdp.declare.strict_json import strict_json
from prdp.errors import Argument, BudgetExhausted, InvalidRequest, offered_share, shown_part
from prdp.expressions.tokens import is_writable
from prdp.ledger.binding import Binding
from prdp.plan.question_key import in_words
from prdp.regions.max_overlap import overlapping, spent_in
from prdp.regions.region import EVERYBODY, Region, region_from_json, region_words
from prdp.release.formatting import html_table
from prdp.release.table import Released

_SHOWN = 10


def account_html(called: str, remaining: Fraction, entries: Sequence[Entry]) -> str:
    """Return an account as HTML.

    >>> account_html("t.ledger", Fraction(1), [])  # doctest: +ELLIPSIS
    '<table><caption ...>t.ledger: all of every budget is left</caption>...'
    """
    rows = [
        [str(entry.number), entry.at, entry.who, str(entry.share), in_words(entry.purpose)]
        for entry in entries[-_SHOWN:]
    ]
    older = len(entries) - len(rows)
    notes = [f"... and {older} older"] if older else []
    remaining_text = "all" if remaining == 1 else shown_part(remaining)
    return html_table(
        f"{called}: {remaining_text} of every budget is left",
        ["", "when", "who", "share", "question"],
        rows,
        notes,
    )


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes beside a charge's question: kept with the charge, and never what a question is found by.

    Attributes:
        region: The charged region, as JSON; None for everybody. A ledger without immutable
            columns counts it as charged to everybody, which is never too little.
        snapshot: The snapshot of the data; the question's own text says so as well.
        warm_start: Where an earlier release's exact place is used, that place and where it is from.
        quota: Out of whose quota it is paid, by name; None for nobody's.
        source: Public facts of the source when it was charged, as JSON; a recorded answer compares them.
    """

    region: str | None = None
    snapshot: str | None = None
    warm_start: str | None = None
    quota: str | None = None
    source: str | None = None


NO_NOTES = Notes()

LATEST = 1000
"""Number of answered charges that are searched for a warm start."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A charge that is wanted.

    Attributes:
        purpose: The question.
        share: Its share.
        notes: What is kept beside a new charge.
    """

    purpose: str
    share: Fraction
    notes: Notes = NO_NOTES


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge that awaits its release.

    Attributes:
        number: Its place in the ledger, from 0.
        purpose: Its question.
        token: A random word of its own: a ledger that was replaced meanwhile does not know it.
        notes: Its notes since it was made, so that whoever resumes it draws from the same law.
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
        release: The recorded release; None while the charge is unanswered.
        notes: Notes on the question.
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
    first release that is recorded for a charge is final, and every caller shows that one.
    """

    @property
    def remaining(self) -> Fraction:
        """The part of every record's budget that is not spent."""

    @property
    def immutable(self) -> tuple[str, ...]:
        """The columns that narrow the charged region; none where all is charged to everybody."""

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
            share: Its share.
            redraw: Whether to pass over a standing release and pay again.
            notes: What is kept beside a new charge; nothing is found by it.

        Raises:
            BudgetExhausted: Less than ``share`` is left; nothing was written.
        """

    def charge_together(self, wanted: Sequence[Wanted]) -> list[Charge | Released]:
        """Return for different questions what ``charge`` does, in one step: all are charged, or none is.

        Raises:
            BudgetExhausted: Less than all of them need is left; nothing was written.
        """

    def record(self, charge: Charge, release: Released) -> Released:
        """Attach a release to a charge, unless it has one; return the recorded release."""


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
            f"the question {purpose!r} cannot be written: it is not a text, or holds NUL or half of a "
            "character, perhaps in a name. Nothing was charged."
        )
    for text in (notes.region, notes.snapshot, notes.warm_start, notes.quota, notes.source):
        if text is not None and not (isinstance(text, str) and is_writable(text)):
            raise InvalidRequest(f"{text!r} cannot be written beside a charge. Nothing was charged.")
    try:
        strict_json("{}" if notes.region is None else notes.region)
    except (ValueError, RecursionError):
        shown = short_repr(notes.region)
        raise InvalidRequest(f"{shown} is no region: it is not JSON. Nothing was charged.") from None
    if not are_source_facts(notes.source):
        shown = short_repr(notes.source)
        raise InvalidRequest(f"{shown} says nothing of a source's columns. Nothing was charged.")


@lru_cache(maxsize=64)
def are_source_facts(source: str | None) -> bool:
    """Return whether a note on a source can be compared with a later one; there may be none.

    >>> are_source_facts('{"columns": ["age"], "files": 2}'), are_source_facts(None)
    (True, True)
    >>> are_source_facts('{"files": 2}'), are_source_facts("age")
    (False, False)
    """
    if source is None:
        return True
    try:
        facts = strict_json(source)
    except (ValueError, RecursionError):
        return False
    columns = facts.get("columns") if isinstance(facts, dict) else None
    known = isinstance(columns, list) and all(isinstance(column, str) for column in columns)
    return known and isinstance(facts.get("files", 0), int)


def remaining_after(spent: Fraction) -> Fraction:
    """Return the rest of everybody's budget; charges by region may add up to more than the whole.

    >>> remaining_after(Fraction(3, 4)), remaining_after(Fraction(5, 4))
    (Fraction(1, 4), Fraction(0, 1))
    """
    return max(Fraction(0), 1 - spent)


def sum_with(spent: Fraction, share: Fraction) -> Fraction:
    """Return the sum with one more share, if that is no more than the whole and can be kept.

    >>> sum_with(Fraction(1, 2), Fraction(1, 4))
    Fraction(3, 4)
    >>> sum_with(Fraction(1, 2), Fraction(3, 4))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.BudgetExhausted: the query asks for 3/4 of every record's budget, but 1/2 is left. ...
    """
    if spent + share > 1:
        raise BudgetExhausted(asked=share, remaining=remaining_after(spent))
    return total_with(spent, share)


def total_with(spent: Fraction, share: Fraction) -> Fraction:
    """Return the sum of all shares with one more, for any charged records, if it can be kept."""
    total = spent + share
    odd = total.denominator // gcd(total.denominator, MAX_DENOMINATOR)  # decimals are always round enough
    if odd.bit_length() > MAX_BITS:
        raise InvalidRequest(
            Argument("share", str(share)),
            " makes the sum of all shares unwieldy. Nothing was charged; ask for a "
            "rounder share, such as '0.01'.",
        )
    return total


def refuse_unless_a_share(share: Fraction) -> None:
    """Refuse what is no part of a budget: the sum of shares is the whole account."""
    if not isinstance(share, Fraction) or not 0 < share <= 1 or share.denominator > MAX_DENOMINATOR:
        raise InvalidRequest(
            f"{share!r} is no share: a Fraction above 0 and at most 1, whose denominator is at most 10^12. "
            "Write Fraction('0.1') or Fraction(1, 10)."
        )


_NAMED = 5
"""Number of earlier questions that a refusal names."""


@dataclass(frozen=True, slots=True)
class Spent:
    """A charge, as far as it decides what is left.

    Attributes:
        number: Its place in the ledger.
        purpose: Its question.
        share: Its share.
        region: The charged region.
        quota: Out of whose quota it was paid; None for nobody's.
    """

    number: int
    purpose: str
    share: Fraction
    region: Region
    quota: str | None = None


def charged_region(region: str | None, immutable: Sequence[str]) -> Region:
    """Return the region that a text charges in a ledger with immutable columns; without any, everybody.

    >>> charged_region('[{"week": {"whole": [46]}}]', []) == EVERYBODY
    True
    >>> charged_region('[{"week": {"whole": [46]}}]', ["week"]).columns
    frozenset({'week'})

    Raises:
        InvalidRequest: The text is no region, or one of columns that are not fixed.
    """
    if region is None or not immutable:
        return EVERYBODY
    try:
        found = region_from_json(region)
    except ValueError:
        raise InvalidRequest(f"{short_repr(region)} is no region. Nothing was charged.") from None
    loose = sorted(found.columns - set(immutable))
    if loose:
        raise InvalidRequest(
            f"a charge cannot be narrowed by {', '.join(loose)}: the ledger was begun with "
            f"immutable={list(immutable)!r}. Nothing was charged."
        )
    return found


def remaining_in(region: Region, charges: Iterable[Spent]) -> Fraction:
    """Return the part of their budgets that all records of a region have left."""
    return remaining_after(spent_in(region, [(one.region, one.share) for one in charges]))


def refuse_what_does_not_fit(
    share: Fraction, region: Region, charges: Sequence[Spent], immutable: Sequence[str]
) -> None:
    """Refuse a charge that some content of a region has not enough left for.

    Raises:
        BudgetExhausted: With the questions that overlap, and what would still fit.
    """
    remaining = remaining_in(region, charges)
    if share <= remaining:
        return
    overlap = [charges[place] for place in overlapping(region, [(one.region, one.share) for one in charges])]
    named = sorted(overlap, key=lambda one: (-one.share, one.number))[:_NAMED]
    lines = [f"  {one.number}, share {one.share}: {in_words(one.purpose)}" for one in named]
    lines += [f"  and {len(overlap) - len(named):,} more"] * (len(overlap) > len(named))
    about = "every record's budget" if region == EVERYBODY else f"the budget of {region_words(region)}"
    share_left = offered_share(remaining)
    remedy = (
        ("Ask for ", Argument("share", share_left), " or less, or narrow")
        if share_left
        else ("Nothing is left to spend there. Narrow",)
    )
    narrower = f" the question by {', '.join(immutable)} to records that were asked about less."
    raise BudgetExhausted(
        share,
        remaining,
        f"the query asks for {share} of {about}, but {shown_part(remaining)} is left where it was asked "
        "about "
        "most. Charged before, and overlapping:\n" + "\n".join(lines) + "\n",
        *remedy,
        narrower,
    )


def refuse_past_a_quota(
    name: str, quota: Fraction, share: Fraction, region: Region, charges: Iterable[Spent]
) -> None:
    """Refuse a charge that takes what one name spent of any record's budget past a limit."""
    spent = spent_in(region, [(one.region, one.share) for one in charges if one.quota == name])
    if spent + share <= quota:
        return
    remaining = max(Fraction(0), quota - spent)
    raise BudgetExhausted(
        share,
        remaining,
        f"the query asks for {share}, but {name!r} has a quota of {quota}, of which "
        f"{shown_part(remaining)} "
        "is left for these records. Nothing was charged. Ask for less, or have the quota raised: "
        f"prdp ledger FILE quota {name} SHARE.",
    )
