"""Answer a statement, or say what it would cost: its questions, plans and charges are Python's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from prdp.declare.columns import derived_rounding
from prdp.declare.exact import Exact, exact, exact_share, short_repr
from prdp.declare.key_search import KeySearch
from prdp.errors import (
    Argument,
    Blank,
    BudgetExhausted,
    InvalidRequest,
    PlanRefusal,
    SqlError,
    offer,
    shown_part,
)
from prdp.expressions.evaluate import Value, evaluate, value_of
from prdp.expressions.nodes import Case, Column, Node, columns, walk
from prdp.plan.explain import ANSWERED_BEFORE, Explanation, Line
from prdp.plan.key_plan import never_found
from prdp.plan.plan import Plan
from prdp.plan.queries import Count, CountDistinct, Sum
from prdp.release import formatting
from prdp.release.derived import PARTS
from prdp.release.release import Release
from prdp.release.table import ReleaseTable
from prdp.schema import ColumnType, Kind
from prdp.sql.catalog import Catalog, Queryable, Questioned, read_public
from prdp.sql.estimates import ComputedAnswer
from prdp.sql.grouping import SearchedKeys, crossed
from prdp.sql.reading import span_of, sql_of
from prdp.sql.results import Cell, SqlAnswers
from prdp.sql.row_nodes import CheckedNode
from prdp.sql.statement import Compiled, Sorted, compiled

_NO_RECORD = "no record within the public bounds satisfies the filter"


def answered(
    text: object,
    queryable: Queryable,
    catalog: Catalog,
    *,
    share: Exact,
    shares: Mapping[str, Exact] | None = None,
    keys: Mapping[str, Any] | None = None,
    tables: Mapping[str, object] | None = None,
    redraw: bool = False,
) -> SqlAnswers:
    """Answer a statement: its aggregates are charged once, and all else is computed from releases."""
    asked = _compiled(text, queryable, catalog, keys, tables)
    if asked.limit == 0 or not asked.queries:
        return _without_charge(asked)
    parts = _shares(asked, share, shares)
    whole = rest = exact_share(share)
    if _is_empty(asked):
        return _of_no_record(asked, whole, parts)
    notes: tuple[str, ...] = ()
    if isinstance(asked.keys, SearchedKeys):
        asked, rest, notes = searched(asked, asked.keys, whole, parts, redraw=redraw)
        if not asked.keys:  # nothing was found: only the search is paid for
            return SqlAnswers(asked.statement.text, whole - rest, asked.names, (), None, notes)
    groups = _questioned(asked)
    table = groups.answer_plan(_plan(asked, groups, rest, parts), redraw=redraw)
    spent = whole if rest < whole else table.share
    return replace(_computed(asked, table), share=spent, remarks=(*notes, *asked.notes))


def explained(
    text: object,
    queryable: Queryable,
    catalog: Catalog,
    *,
    share: Exact,
    shares: Mapping[str, Exact] | None = None,
    keys: Mapping[str, Any] | None = None,
    tables: Mapping[str, object] | None = None,
) -> Explanation:
    """Return what a statement would cost and do, line by line; reads no record and charges nothing."""
    asked = _compiled(text, queryable, catalog, keys, tables)
    if asked.limit == 0 or not asked.queries:
        return Explanation((Line("costs", "nothing: no record is asked about"),))
    parts = _shares(asked, share, shares)
    if _is_empty(asked):
        _of_no_record(asked, exact_share(share), parts)  # which refuses what cannot be planned
        return Explanation((Line("costs", f"nothing: {_NO_RECORD}"),))
    if isinstance(asked.keys, SearchedKeys):
        return explained_search(asked, asked.keys, exact_share(share), parts)
    groups = _questioned(asked)
    plan = _plan(asked, groups, share, parts)
    left = groups.remaining
    after = left - plan.share
    leaves = shown_part(after) if after >= 0 else "nothing: it would be refused"
    fit = math.floor(left / plan.share)
    lines = [
        Line("costs", f"{plan.share} of the budgets of those it is about, who have {shown_part(left)} left"),
        Line("leaves", f"{leaves}; of such questions, {fit} fit into what is left now"),
    ]
    if asked.queryable is not None and asked.queryable.has_answer(plan):
        lines = [Line("costs", ANSWERED_BEFORE), Line("leaves", shown_part(left))]
    for query, source in zip(plan.queries, asked.sources, strict=True):
        asks = f"{sql_of(source)}: {query.query}, method {query.method}, share {query.share}"
        lines.append(Line("asks", asks))
    return Explanation((*lines, *groups.explanation(plan).lines))


def _compiled(
    text: object,
    queryable: Queryable,
    catalog: Catalog,
    keys: Mapping[str, Any] | None,
    tables: Mapping[str, object] | None,
) -> Compiled:
    return compiled(text, queryable, catalog, public=read_public(tables, catalog.tables), keys=keys)


def _questioned(asked: Compiled) -> Questioned:
    """Return what answers the queries: the table or join, or its groups."""
    queryable = asked.queryable
    assert queryable is not None  # noqa: S101  (there are queries)
    if not asked.groups:
        return queryable
    entry = asked.groups[0].checked.source
    try:
        return queryable.group_by(*(item.key for item in asked.groups), keys=asked.keys)
    except InvalidRequest as wrong:
        raise SqlError(asked.statement.text, span_of(entry, asked.statement.text), wrong.parts) from None


def _plan(asked: Compiled, groups: Questioned, share: Exact, parts: Sequence[Exact] | None) -> Plan:
    """Return the plan of a statement, or refuse it with the aggregate underlined that alone is at fault."""
    try:
        return groups.plan(*asked.queries, share=share, shares=parts)
    except InvalidRequest as whole:
        text = asked.statement.text
        if isinstance(whole, PlanRefusal) and whole.cause == "groups":
            raise SqlError(text, span_of(asked.groups[0].checked.source, text), whole.parts) from None
        for query, source in zip(asked.queries, asked.sources, strict=True):
            try:
                groups.plan(query, share=1)
            except InvalidRequest as wrong:
                advice = _IN_SQL[wrong.cause] if isinstance(wrong, PlanRefusal) else ""
                raise SqlError(text, span_of(source, text), wrong.parts, advice) from None
        raise whole from None


_IN_SQL = {
    "range": "In SQL, write least(greatest(x, 0), 1000) in place of x.",
    "groups": "",
}
"""SQL words for what a refusal asks Python's callers to write."""


def _shares(asked: Compiled, share: Exact, shares: Mapping[str, Exact] | None) -> list[Fraction] | None:
    """Return each query's share, from what the caller says of items; None for equal parts.

    An item with several aggregates shares equally among those that no earlier item has.
    """
    if shares is None:
        return None
    if not isinstance(shares, Mapping):
        raise InvalidRequest(
            f"shares={short_repr(shares)} is not a dict by column. Write shares={{'n': 0.02}}."
        )
    found: dict[int, Fraction] = {}
    known = {name.lower(): exact(part, "shares") for name, part in shares.items()}
    for item in asked.items:
        wanted = sorted(
            {int(name[1:].partition("_")[0]) for name in _needs(asked, item.checked)} - found.keys()
        )
        if wanted:
            part = known.pop(item.name.lower(), None)
            if part is None:
                raise InvalidRequest(
                    Argument("shares", shares), f" says nothing of {item.name!r}, which asks something."
                )
            found |= dict.fromkeys(wanted, part / len(wanted))
    if known:
        names = ", ".join(asked.names)
        raise InvalidRequest(f"shares= names {', '.join(known)}, but the columns that ask are among {names}.")
    if len(found) < len(asked.queries):
        raise InvalidRequest(
            "shares= cannot say what HAVING and ORDER BY ask beside: select it, and name it."
        )
    total = sum(found.values(), Fraction(0))
    if total > exact_share(share):
        raise InvalidRequest(
            Argument("shares", shares),
            f" add up to {total}, which is more than ",
            Argument("share", Blank(share)),
            ".",
        )
    return [found[place] for place in range(len(asked.queries))]


def _needs(asked: Compiled, checked: CheckedNode) -> set[str]:
    """Return the names of answers that an expression is computed from."""
    found: set[str] = set()
    for name in columns(checked.node):
        if name in asked.ends:
            found |= _needs(asked, asked.ends[name][0])
        elif name.startswith("a"):
            found.add(name)
    return found


def _without_charge(asked: Compiled) -> SqlAnswers:
    """Return the answers to a statement that asks about no record."""
    rows: tuple[tuple[Cell, ...], ...] = ()
    if asked.limit != 0:
        rows = (tuple(evaluate(item.checked.node, {}) for item in asked.items),)
    return SqlAnswers(asked.statement.text, Fraction(0), asked.names, rows, None)


def _is_empty(asked: Compiled) -> bool:
    """Return whether no record can satisfy the filter, by constants, types and public bounds alone."""
    return asked.queryable is not None and asked.queryable.planner.is_empty


def _of_no_record(asked: Compiled, share: Fraction, parts: Sequence[Fraction] | None) -> SqlAnswers:
    """Return the answers where the filter is publicly empty: counts and sums are 0, all else is NULL.

    They follow from public facts, so that nothing is read or charged. Keys that would be searched for are
    not found; listed ones each have a row, as always.
    """
    keys: Sequence[Sequence[Any]] = ((),)
    if isinstance(asked.keys, SearchedKeys):
        keys = ()
    else:
        groups = _questioned(asked)
        found = _plan(asked, groups, share, parts).groups
        keys = keys if found is None else found.keys
    known: dict[str, Value] = {}
    for place, query in enumerate(asked.queries):
        zero = isinstance(query, Count | CountDistinct | Sum)
        known[f"a{place}"] = 0.0 if zero else None
        known |= {f"a{place}_{part}": None for part, _ in enumerate(PARTS.get(query.rule, ()))}
    rows = [AnswerRow(asked, key, (), Fraction(0), known) for key in keys]
    remarks = (f"{_NO_RECORD}: nothing was read or charged", *asked.notes)
    return SqlAnswers(asked.statement.text, Fraction(0), asked.names, _cells(asked, rows), None, remarks)


def _computed(asked: Compiled, table: ReleaseTable) -> SqlAnswers:
    """Return the rows of a statement from what was released: HAVING, ORDER BY and LIMIT cost nothing.

    Where answers select or sort the rows, the intervals of all groups hold at once (proofs/computed.md).
    """
    among = len(table) if _selects(asked) else 1
    rows = [
        AnswerRow(asked, key, [one.selected(among) for one in releases], table.share)
        for key, releases in table
    ]
    return SqlAnswers(asked.statement.text, table.share, asked.names, _cells(asked, rows), table)


def _cells(asked: Compiled, rows: list[AnswerRow]) -> tuple[tuple[Cell, ...], ...]:
    """Return what HAVING, ORDER BY and LIMIT leave of the rows, as the selected columns."""
    if asked.having is not None:
        rows = [row for row in rows if row.value(asked.having) is True]
    for entry in reversed(asked.order):
        rows = _sorted(rows, entry)
    rows = rows[asked.offset :] if asked.limit is None else rows[asked.offset : asked.offset + asked.limit]
    return tuple(tuple(row.cell(item.name, item.checked) for item in asked.items) for row in rows)


def _selects(asked: Compiled) -> bool:
    """Return whether rows are selected or sorted by answers, not by listed keys alone.

    A CASE with a condition on answers selects too: it may show an answer where that is large, and else NULL.
    """
    rules = [entry.checked for entry in asked.order]
    rules += [asked.having] if asked.having is not None else []
    cases = (part for item in asked.items for part in walk(item.checked.node) if isinstance(part, Case))
    conditions = (condition for case in cases for condition, _ in case.branches)
    return any(_needs(asked, rule) for rule in rules) or any(
        name in asked.ends or name.startswith("a") for condition in conditions for name in columns(condition)
    )


def _sorted(rows: list[AnswerRow], entry: Sorted) -> list[AnswerRow]:
    """Return rows sorted by one entry of ORDER BY; those that are equal stay as they are."""
    values: list[Any] = [row.value(entry.checked) for row in rows]
    there = [place for place, value in enumerate(values) if value is not None]
    there.sort(key=values.__getitem__, reverse=entry.descending)
    missing = [place for place, value in enumerate(values) if value is None]
    return [rows[place] for place in ([*missing, *there] if entry.nulls_first else [*there, *missing])]


class AnswerRow:
    """One group's answers, and what is computed from them."""

    def __init__(
        self,
        asked: Compiled,
        key: Sequence[Any],
        releases: Sequence[Release],
        whole: Fraction,
        public: Mapping[str, Value] = MappingProxyType({}),
    ) -> None:
        self._asked = asked
        self._whole = whole
        self._key = tuple(key)
        keys: dict[str, Value] = {f"k{place}": value_of(value) for place, value in enumerate(key)}
        self._known = {**keys, **public}
        self._parts: dict[str, Release] = {}
        for place, release in enumerate(releases):
            self._parts[f"a{place}"] = release
            parts = (part.selected(release.among) for part in release.parts)
            self._parts |= {f"a{place}_{k}": part for k, part in enumerate(parts)}
        for name, (checked, end) in asked.ends.items():
            self._known[name] = self._end(checked, end)

    def _end(self, checked: CheckedNode, end: int) -> Value:
        cell = self.cell("", checked)
        if not isinstance(cell, Release | ComputedAnswer):
            return cell if isinstance(cell, float) else None
        found = float(cell.interval()[end])
        if not math.isfinite(found):
            return None
        return found if not cell.whole else float(math.ceil(found) if end else math.floor(found))

    def value(self, checked: CheckedNode) -> Value:
        """Return what an expression gives for the released values; an infinity is no answer."""
        values = {name: float(formatting.value_of(part)) for name, part in self._parts.items()}
        value = evaluate(checked.node, {**self._known, **values})
        return None if isinstance(value, float) and math.isinf(value) else value

    def cell(self, name: str, checked: CheckedNode) -> Cell:
        """Return a column's cell: a release, a number computed from such, a key or another plain value."""
        node = checked.node
        if isinstance(node, Column):
            if node.name in self._parts:
                return self._parts[node.name]
            if node.name.startswith("k"):
                key: Cell = self._key[int(node.name[1:])]
                return key
        parts = {part: self._parts[part] for part in sorted(columns(node)) if part in self._parts}
        value = self.value(checked)
        if not parts or not isinstance(value, float) or isinstance(value, bool):
            return value
        used = {part.partition("_")[0] for part in parts}
        apart = sum((self._parts[part].share for part in used), Fraction(0))
        share = min(apart, self._whole)  # what was drawn once for several of them is in each of their shares
        return ComputedAnswer(name, node, parts, dict(self._known), share, whole=_is_whole(node, parts))


def _is_whole(node: Node, parts: Mapping[str, Release]) -> bool:
    """Return whether an expression of whole numbers is one."""
    schema = {name: ColumnType(Kind.NUMBER, integer=part.whole) for name, part in parts.items()}
    if columns(node) - schema.keys():
        return False
    round_to = derived_rounding(node, schema, {})
    return round_to is not None and round_to.denominator == 1


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
            notes += [f"keys of {item.text}: rarer ones are missing by design", *never_found(domain.columns)]
            lists.append([key for (key,) in _found(asked, item, listed, each, redraw=redraw).keys])
        else:
            lists.append(listed)
    found = crossed(asked.groups, lists) if all(lists) else []
    return replace(asked, keys=found), rest, tuple(dict.fromkeys(notes))


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
            f"{shown_part(remaining)} is left of the budgets of those it is about. Nothing was charged. ",
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
            lines += queryable.keys_explanation(item.key, share=each, **listed).lines
    lines += [Line("asks", f"{sql_of(source)}, for each key that is found") for source in asked.sources]
    return Explanation(tuple(lines))
