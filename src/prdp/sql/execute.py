"""Answer a statement, or say what it would cost: its questions, plans and charges are Python's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from prdp.declare.exact import Exact, exact, exact_share, short_repr
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
from prdp.expressions.evaluate import Value
from prdp.expressions.nodes import Column, Node, columns
from prdp.plan.explain import ANSWERED_BEFORE, Explanation, Line
from prdp.plan.plan import Plan
from prdp.plan.queries import Count, CountDistinct, Sum
from prdp.regions.region import NOBODY, intersection, region_from_json
from prdp.release.consistency import Margin
from prdp.release.derived import PARTS
from prdp.release.release import Release
from prdp.release.table import ReleaseTable
from prdp.sql.catalog import Catalog, Queryable, Questioned, read_public
from prdp.sql.evaluation import Evaluation
from prdp.sql.grouping import SearchedKeys
from prdp.sql.margins import asked_margins, margin_keys, rows_of_margins
from prdp.sql.reading import span_of, sql_of
from prdp.sql.released_select import End
from prdp.sql.results import SqlAnswers
from prdp.sql.searched import explained_search, searched
from prdp.sql.statement import Compiled, compiled
from prdp.sql.windows import Window

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
    nonnegative: bool = False,
) -> SqlAnswers:
    """Answer a statement: each SELECT about records is charged once, all else is computed from releases."""
    tree = _compiled(text, queryable, catalog, keys, tables)
    selects = selects_of(tree)
    drawn: dict[int, _Drawn] = {}
    if selects:
        parts = _shares(selects, share, shares)
        named = [(_question(asked, selects, share, parts), asked) for asked in selects]
        each = exact_share(share) / len({question for question, _ in named})
        if len(selects) > 1:
            _refuse_unless_all_fit(selects, each, redraw=redraw)
        found: dict[object, _Drawn] = {}
        for question, asked in named:
            if question not in found:
                select = replace(asked, nonnegative=nonnegative)
                found[question] = _drawn(select, each, parts, redraw=redraw)
            drawn[id(asked)] = found[question]
    return _results(tree, drawn)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The answers to one SELECT about records.

    Attributes:
        keys: The keys of its groups.
        rows: The releases of each; none where they follow from public facts.
        table: The releases as the ledger keeps them; None where nothing was asked.
        spent: The share that was used.
        notes: Notes on the keys.
        known: What is known of answers that were not asked for.
    """

    keys: Sequence[Sequence[Any]]
    rows: Sequence[Sequence[Release]]
    table: ReleaseTable | None
    spent: Fraction
    notes: tuple[str, ...] = ()
    known: Mapping[str, Value] = field(default_factory=dict)


def selects_of(tree: Any) -> list[Compiled]:
    """Return the SELECTs of a statement that ask about records, each once."""
    found: dict[int, Compiled] = {}
    for relation in relations_of(tree):
        if isinstance(relation, Compiled) and relation.queries and relation.tail.limit != 0:
            found[id(relation)] = relation
    return list(found.values())


def relations_of(tree: Any) -> Iterator[Any]:
    """Yield a relation and all that it is computed from."""
    yield tree
    for relation in tree.relations:
        yield from relations_of(relation)


def _question(
    asked: Compiled, selects: Sequence[Compiled], share: Exact, parts: Sequence[Fraction] | None
) -> object:
    """Return what is the same of SELECTs that ask the same question, which is answered once."""
    if len(selects) == 1 or isinstance(asked.keys, SearchedKeys) or _is_empty(asked):
        return id(asked)
    return _plan(asked, _questioned(asked), share, parts).text, asked.margins


def _apart(selects: Sequence[Compiled], share: Exact, parts: Sequence[Fraction] | None) -> list[Compiled]:
    """Return SELECTs that are answered apart: the same question, asked twice, is answered once."""
    found: dict[object, Compiled] = {}
    for asked in selects:
        found.setdefault(_question(asked, selects, share, parts), asked)
    return list(found.values())


def _drawn(asked: Compiled, share: Fraction, parts: Sequence[Fraction] | None, *, redraw: bool) -> _Drawn:
    """Return the answers to one SELECT, charged unless it was answered before."""
    if _is_empty(asked):
        return _of_no_record(asked, share, parts)
    if asked.margins:
        return _drawn_margins(asked, share, parts, redraw=redraw)
    rest = share
    notes: tuple[str, ...] = ()
    if isinstance(asked.keys, SearchedKeys):
        asked, rest, notes = searched(asked, asked.keys, share, parts, redraw=redraw)
        if not asked.keys:  # nothing was found: only the search is paid for
            return _Drawn((), (), None, share - rest, notes)
    groups = _questioned(asked)
    table = groups.answer_plan(_plan(asked, groups, rest, parts), redraw=redraw)
    return _Drawn(table.keys, table.releases, table, share if rest < share else table.share, notes)


def _drawn_margins(
    asked: Compiled, share: Fraction, parts: Sequence[Fraction] | None, *, redraw: bool
) -> _Drawn:
    """Return all margins of a SELECT: some are asked, each with a part of the share."""
    _refuse_unless_all_fit([asked], share, redraw=redraw)
    tables: dict[Margin, ReleaseTable] = {}
    for margin, (one, part) in asked_margins(asked).items():
        groups = _questioned(one)
        divided = None if parts is None else [each * part for each in parts]
        tables[margin] = groups.answer_plan(_plan(one, groups, share * part, divided), redraw=redraw)
    keys, rows, note = rows_of_margins(asked, {margin: table.releases for margin, table in tables.items()})
    spent = sum((table.share for table in tables.values()), Fraction(0))
    return _Drawn(keys, rows, next(iter(tables.values())), spent, (note,))


def _with_margins(selects: Sequence[Compiled], each: Fraction) -> list[tuple[Compiled, Fraction]]:
    """Return the SELECTs that are asked with their shares: those of margins apart."""
    found: list[tuple[Compiled, Fraction]] = []
    for asked in selects:
        margins = (
            asked_margins(asked).values()
            if asked.margins and not _is_empty(asked)
            else [(asked, Fraction(1))]
        )
        found += [(one, each * part) for one, part in margins]
    return found


def _refuse_unless_all_fit(selects: Sequence[Compiled], each: Fraction, *, redraw: bool) -> None:
    """Refuse a statement of several SELECTs of which the account pays for some only; nothing is charged then.

    They may be about the same records, unless their regions are disjoint.
    """
    due = _due(selects, each, redraw=redraw)
    for queryable, region, _ in due if len(due) > 1 else ():
        ledger = queryable.ledger
        remaining = ledger.remaining_in(region)
        wanted = sum((part for _, other, part in due if _may_meet(region, other)), Fraction(0))
        if wanted > remaining:
            raise BudgetExhausted(
                wanted,
                remaining,
                f"the {len(due)} SELECTs of this statement ask for {wanted} together, but "
                f"{shown_part(remaining)} is left. Nothing was charged. ",
                *offer(remaining),
            )
        if hasattr(ledger, "refuse_past_quota"):
            ledger.refuse_past_quota(wanted, region)


def _due(
    selects: Sequence[Compiled], each: Fraction, *, redraw: bool
) -> list[tuple[Any, str | None, Fraction]]:
    """Return what SELECTs would be charged: of each who is asked, the region and the share."""
    due: list[tuple[Any, str | None, Fraction]] = []
    for asked, share in _with_margins(_apart(selects, each, None), each):
        if _is_empty(asked):
            continue
        queryable: Any = asked.queryable
        if isinstance(asked.keys, SearchedKeys):
            due.append((queryable, queryable.planner.region(), share))
            continue
        plan = _plan(asked, _questioned(asked), share, None)
        if redraw or queryable.synthetic or not queryable.has_answer(plan):
            due.append((queryable, plan.region, share))
    return due


def cost_of(
    text: object,
    queryable: Queryable,
    catalog: Catalog,
    *,
    share: Exact,
    keys: Mapping[str, Any] | None = None,
    tables: Mapping[str, object] | None = None,
) -> Fraction:
    """Return the most that a statement would be charged now; reads no record and charges nothing.

    What was answered before costs nothing. A search for keys may have been paid for, and counts in full.
    """
    selects = selects_of(_compiled(text, queryable, catalog, keys, tables))
    if not selects:
        return Fraction(0)
    each = exact_share(share) / len(_apart(selects, share, None))
    return sum((part for _, _, part in _due(selects, each, redraw=False)), Fraction(0))


def _may_meet(region: str | None, other: str | None) -> bool:
    """Return whether some record may be in both of two regions."""
    if region is None or other is None or region == other:
        return True
    return intersection([region_from_json(region), region_from_json(other)]) != NOBODY


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
    tree = _compiled(text, queryable, catalog, keys, tables)
    selects = selects_of(tree)
    if not selects:
        return Explanation((Line("costs", "nothing: no record is asked about"),))
    parts = _shares(selects, share, shares)
    apart = _apart(selects, share, parts)
    if len(apart) == 1:
        return _explained(apart[0], exact_share(share), parts)
    each = exact_share(share) / len(apart)
    lines = [Line("costs", f"{share} in {len(apart)} equal parts, one for each SELECT about records")]
    return Explanation((*lines, *(line for asked in apart for line in _explained(asked, each, None).lines)))


def _explained(asked: Compiled, share: Fraction, parts: Sequence[Fraction] | None) -> Explanation:
    if _is_empty(asked):
        _of_no_record(asked, share, parts)  # which refuses what cannot be planned
        return Explanation((Line("costs", f"nothing: {_NO_RECORD}"),))
    if isinstance(asked.keys, SearchedKeys):
        return explained_search(asked, asked.keys, share, parts)
    if asked.margins:
        margins = list(asked_margins(asked).values())
        equal = "equal " if len({part for _, part in margins}) == 1 else ""
        lines = [Line("costs", f"{share} in {len(margins)} {equal}parts: margins that are not asked follow")]
        for one, part in margins:
            lines += _explained(one, share * part, None).lines
        return Explanation(tuple(lines))
    groups = _questioned(asked)
    plan = _plan(asked, groups, share, parts)
    left = groups.remaining
    after = left - plan.share
    leaves = shown_part(after) if after >= 0 else "nothing: it would be refused"
    fit = math.floor(left / plan.share)
    lines = [
        Line(
            "costs",
            f"{plan.share} of the budget of every record that it is about; {shown_part(left)} remains",
        ),
        Line("leaves", f"{leaves}; what remains now is enough for {fit} such queries"),
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
) -> Any:
    return compiled(text, queryable, catalog, public=read_public(tables, catalog.tables), keys=keys)


def _questioned(asked: Compiled) -> Questioned:
    """Return what answers the queries: the table or join, or its groups."""
    queryable = asked.queryable
    assert queryable is not None  # noqa: S101  (there are queries)
    if not asked.groups:
        return queryable
    entry = asked.groups[0].checked.source
    try:
        assert asked.by is not None  # noqa: S101  (it has groups)
        return queryable.group_by(*asked.by.by, keys=asked.keys)
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
                raise SqlError(text, span_of(source, text), wrong.parts) from None
        raise whole from None


def _shares(
    selects: Sequence[Compiled], share: Exact, shares: Mapping[str, Exact] | None
) -> list[Fraction] | None:
    """Return each query's share, from what the caller says of items; None for equal parts.

    An item with several aggregates shares equally among those that no earlier item has.
    """
    if shares is None:
        return None
    if not isinstance(shares, Mapping):
        raise InvalidRequest(
            f"shares={short_repr(shares)} is not a dict by column. Write shares={{'n': 0.02}}."
        )
    if len(selects) > 1:
        raise InvalidRequest(
            f"shares= divides the share of one SELECT, and this statement has {len(selects)} about records. "
            "Remove shares=, or ask several statements."
        )
    (asked,) = selects
    found: dict[int, Fraction] = {}
    known = {name.lower(): exact(part, "shares") for name, part in shares.items()}
    for item in asked.items:
        wanted = sorted(
            {int(name[1:].partition("_")[0]) for name in _needs(asked, item.checked.node)} - found.keys()
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


def _needs(asked: Compiled, node: Node) -> set[str]:
    """Return the names of answers that an expression is computed from."""
    found: set[str] = set()
    for name in columns(node):
        match asked.tail.extras.get(name):
            case End(checked=checked):
                found |= _needs(asked, checked.node)
            case Window() as window:
                used = [*window.selects, *filter(None, (window.argument, window.default))]
                found = found.union(*(_needs(asked, one.node) for one in used))
            case None if name.startswith("a"):
                found.add(name)
    return found


def _is_empty(asked: Compiled) -> bool:
    """Return whether no record can satisfy the filter, by constants, types and public bounds alone."""
    return asked.queryable is not None and asked.queryable.planner.is_empty


def _of_no_record(asked: Compiled, share: Fraction, parts: Sequence[Fraction] | None) -> _Drawn:
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
    if asked.margins:
        keys = [key for margin in asked.margins for key in margin_keys(asked, margin)]
    known: dict[str, Value] = {}
    for place, query in enumerate(asked.queries):
        zero = isinstance(query, Count | CountDistinct | Sum)
        known[f"a{place}"] = 0.0 if zero else None
        known |= {f"a{place}_{part}": None for part, _ in enumerate(PARTS.get(query.rule, ()))}
    notes = (f"{_NO_RECORD}: nothing was read or charged",)
    return _Drawn(keys, [() for _ in keys], None, Fraction(0), notes, known)


def _results(tree: Any, drawn: Mapping[int, _Drawn]) -> SqlAnswers:
    """Return the rows of a statement from what was released: all that is computed costs nothing.

    Where answers select or sort the rows, the intervals of all groups hold at once (proofs/computed.md).
    """
    selects = any(relation.selects for relation in relations_of(tree))
    among = max(1, sum(len(one.rows) for one in drawn.values())) if selects else 1
    evaluated = Evaluation(among)
    tables = list({id(one.table): one.table for one in drawn.values() if one.table is not None}.values())
    for number, asked in enumerate(selects_of(tree)):
        evaluated.take(asked, f"{'m' if asked.margins else 's'}{number}", drawn[id(asked)])
    columns = [(name, Column(f"c{place}")) for place, name in enumerate(tree.names)]
    cells = tuple(tuple(row.cell(name, column) for name, column in columns) for row in evaluated.rows(tree))
    notes = [note for one in drawn.values() for note in one.notes]
    notes += evaluated.notes
    notes += [note for relation in relations_of(tree) for note in getattr(relation, "notes", ())]
    spent = {id(one.table) if one.table is not None else id(one): one.spent for one in drawn.values()}
    return SqlAnswers(
        tree.statement.text,
        sum(spent.values(), Fraction(0)),
        tree.names,
        cells,
        tables[0] if tables else None,
        tuple(dict.fromkeys(notes)),
    )
