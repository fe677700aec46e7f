"""Keys of a statement that are found first, with a part of its share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from prdp.declare.exact import Exact
from prdp.declare.key_search import KeySearch
from prdp.errors import Argument, Blank, BudgetExhausted, InvalidRequest, SqlError, offer, shown_part
from prdp.plan.explain import Explanation, Line
from prdp.plan.key_plan import never_found
from prdp.sql.grouping import SearchedKeys
from prdp.sql.reading import span_of, sql_of
from prdp.sql.statement import Compiled
from prdp.sql.tied_keys import crossed

KEYS_PART = Fraction(1, 4)
"""Default part of a statement's share for finding keys, where ``shares`` leaves no other."""


def searched(
    asked: Compiled, keys: SearchedKeys, share: Fraction, parts: Sequence[Exact] | None, *, redraw: bool
) -> tuple[Compiled, Fraction, tuple[str, ...]]:
    """Find the keys of all groups that are to be found; return the statement with them, and the share left.

    Beside these, notes on the groups: which of them are missing by design.

    What is found is a release of its own, charged and recorded before the aggregates are asked.

    Raises:
        BudgetExhausted: The searches and the aggregates do not both fit; nothing was charged.
    """
    each, rest = _split(keys, share, parts)
    _refuse_unless_both_fit(asked, keys, each, rest, redraw=redraw)
    lists: list[Any] = []
    notes: list[str] = []
    for item, listed in zip(asked.groups, keys.lists, strict=True):
        if isinstance(listed, Mapping):
            domain = _planned(asked, item, listed, each).query.domain
            note = (
                f"a share of {each} found the keys of {item.text}; rare ones and NULL are missing by design"
            )
            lists.append(sorted(key for (key,) in _found(asked, item, listed, each, redraw=redraw).keys))
            none = f"no key of {item.text} was found: list the keys, or use a larger share"
            notes += [note if lists[-1] else none, *never_found(domain.columns)]
        else:
            lists.append(listed)
    found = crossed(lists) if all(lists) else []
    assert asked.by is not None  # noqa: S101  (it has groups)
    return replace(asked, by=replace(asked.by, listed=found)), rest, tuple(dict.fromkeys(notes))


def _refuse_unless_both_fit(
    asked: Compiled, keys: SearchedKeys, each: Fraction, rest: Fraction, *, redraw: bool
) -> None:
    """Refuse a statement whose account pays for its searches, and not for what is asked of the keys then.

    Which keys are found, and so the charged region, is not known yet: everybody that the
    statement is about has to have enough left.
    """
    queryable: Any = asked.queryable
    searches = _searches(asked, keys, each)
    due = each * sum(redraw or not _is_paid(queryable.ledger, plan) for plan in searches)
    if not due:
        return
    region = queryable.planner.region()
    remaining = queryable.ledger.remaining_in(region)
    if due + rest > remaining:
        raise BudgetExhausted(
            due + rest,
            remaining,
            f"this statement asks for {due} to find keys and {rest} for what is asked of them, but "
            f"{shown_part(remaining)} is left. Nothing was charged. ",
            *offer(remaining),
        )
    if hasattr(queryable.ledger, "refuse_past_quota"):
        queryable.ledger.refuse_past_quota(due + rest, region)


def _searches(asked: Compiled, keys: SearchedKeys, each: Fraction) -> list[Any]:
    """Return what would be done to find the keys of all groups that are to be found."""
    return [
        _planned(asked, item, listed, each)
        for item, listed in zip(asked.groups, keys.lists, strict=True)
        if isinstance(listed, Mapping)
    ]


def _is_paid(ledger: Any, plan: Any) -> bool:
    """Return whether a search has its answer in the ledger, or a charge that still waits for one."""
    return plan.standing(ledger) is not None or any(
        entry.release is None and (entry.purpose, entry.share) == (plan.text, plan.share)
        for entry in ledger.entries
    )


def _planned(asked: Compiled, item: Any, search: Mapping[str, Any], share: Fraction) -> Any:
    """Return what would be done to find the keys of a group, or refuse it."""
    queryable: Any = asked.queryable
    notes = dict(search)
    known = {name: notes.pop(name) for name in ("max_keys",) if name in notes}
    try:
        return queryable.plan_keys(item.key, KeySearch(**notes), share=share, **known)
    except InvalidRequest as wrong:
        text = asked.statement.text
        raise SqlError(text, span_of(item.checked.source, text), wrong.parts) from None


def _found(asked: Compiled, item: Any, search: Mapping[str, Any], share: Fraction, *, redraw: bool) -> Any:
    queryable: Any = asked.queryable
    try:
        return queryable.find_keys(item.key, share=share, redraw=redraw, **search)
    except InvalidRequest as wrong:
        text = asked.statement.text
        raise SqlError(text, span_of(item.checked.source, text), wrong.parts) from None


def _split(keys: SearchedKeys, share: Fraction, parts: Sequence[Exact] | None) -> tuple[Fraction, Fraction]:
    """Return the share of each search, and what is left for the aggregates."""
    searches = sum(isinstance(listed, Mapping) for listed in keys.lists)
    rest = share * (1 - KEYS_PART) if parts is None else sum((Fraction(part) for part in parts), Fraction(0))
    if rest >= share:
        raise InvalidRequest(
            "shares= leaves nothing of ",
            Argument("share", Blank(share)),
            " to find keys with: lower one of them.",
        )
    return (share - rest) / searches, rest


def explained_search(
    asked: Compiled, keys: SearchedKeys, share: Fraction, parts: Sequence[Exact] | None
) -> Explanation:
    """Return what a statement with searches would cost and do; reads no record and charges nothing."""
    each, rest = _split(keys, share, parts)
    queryable: Any = asked.queryable
    remaining = queryable.remaining
    after = shown_part(remaining - share) if share <= remaining else "nothing: it would be refused"
    lines = [
        Line(
            "costs",
            f"{share} of every record's budget: {share - rest} to find keys, {rest} for what is asked",
        ),
        Line("leaves", f"{after}, of {shown_part(remaining)} that is left now"),
    ]
    if all(plan.standing(queryable.ledger) is not None for plan in _searches(asked, keys, each)):
        lines = [
            Line("costs", "nothing to find keys: they were found before"),
            Line("", f"at most {rest} for what is asked of them; nothing, if that was answered before"),
            Line("leaves", f"at least {after}, of {shown_part(remaining)} that is left now"),
        ]
    for item, listed in zip(asked.groups, keys.lists, strict=True):
        if isinstance(listed, Mapping):
            lines.append(Line("finds", f"keys of {item.text}, share {each}"))
            lines += queryable.explain_keys(item.key, share=each, **listed).lines
    lines += [Line("asks", f"{sql_of(source)}, for each key that is found") for source in asked.sources]
    return Explanation(tuple(lines))
