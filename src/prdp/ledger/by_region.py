"""Spending by region: charges decided from public texts alone; proofs/accounting.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from prdp.declare.exact import short_repr
from prdp.errors import BudgetExhausted, InvalidRequest, offered_share, shown_part
from prdp.ledger.account import remaining_after
from prdp.plan.question_key import in_words
from prdp.regions.describe import region_words
from prdp.regions.max_overlap import overlapping, spent_in
from prdp.regions.region import EVERYBODY, Region
from prdp.regions.serialize import region_from_json

_NAMED = 5
"""How many earlier questions a refusal names."""


@dataclass(frozen=True, slots=True)
class Spent:
    """A charge, as far as it decides what is left.

    Attributes:
        number: Its place in the ledger.
        purpose: Its question.
        share: What it cost.
        region: Whom it was charged to.
        quota: Out of whose quota it was paid; None for nobody's.
    """

    number: int
    purpose: str
    share: Fraction
    region: Region
    quota: str | None = None


def charged_region(region: str | None, immutable: Sequence[str]) -> Region:
    """Return whom a text charges in a ledger with fixed columns; without any, everybody.

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
    offer = offered_share(remaining)
    remedy = (
        f"Ask for share={offer!r} or less, or narrow" if offer else "Nothing is left to spend there. Narrow"
    )
    narrower = f" the question by {', '.join(immutable)} to records that were asked about less."
    raise BudgetExhausted(
        share,
        remaining,
        f"this question asks for {share} of {about}, but {shown_part(remaining)} is left where it was asked "
        "about "
        "most. Charged before, and overlapping:\n" + "\n".join(lines) + f"\n{remedy}{narrower}",
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
        f"this question asks for {share}, but {name!r} has a quota of {quota}, of which "
        f"{shown_part(remaining)} "
        "is left for these records. Nothing was charged. Ask for less, or let the ledger's owner raise it: "
        f"prdp ledger FILE quota {name} SHARE.",
    )
