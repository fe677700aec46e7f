"""ROLLUP, CUBE and GROUPING SETS: margins as queries of their own, by a public division of the share.

Which margins are asked, and which follow from finer ones, is decided by public facts alone. Counts and sums
that nothing but noise moved are made to add up by least squares: proofs/consistency.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from prdp.expressions.nodes import Call, InList, IsNull, IsTrue, Node, Not, Text, conjunction
from prdp.plan.queries import Asked, Count, Query, Sum
from prdp.release.consistency import Margin, consistent, from_zero, margins_to_ask
from prdp.release.release import Release
from prdp.schema import Bounds, Kind
from prdp.sql.grouping import GroupItem
from prdp.sql.membership import literal
from prdp.sql.statement import Compiled
from prdp.sql.tied_keys import combined, crossed


class _Absent:
    """A column that a margin is not by."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


def asked_margins(asked: Compiled) -> dict[Margin, tuple[Compiled, Fraction]]:
    """Return the SELECTs that are asked for the margins of one, each with its part of the share."""
    assert asked.by is not None  # noqa: S101  (it has groups)
    assert asked.queryable is not None  # noqa: S101  (it has groups)
    planner = asked.queryable.planner
    unclipped = planner.unit is None and planner.policy.levels.top == 0
    sizes = tuple(map(len, asked.by.lists))
    alone = unclipped and not asked.by.ties and all(type(query) is Count for query in asked.queries)
    concentrated = planner.policy.stated is not None
    wanted = asked.margins
    equal = dict.fromkeys(wanted, Fraction(1, len(wanted)))
    parts = margins_to_ask(sizes, wanted, concentrated=concentrated) if alone else equal
    return {margin: (_of_margin(asked, margin), part) for margin, part in parts.items()}


def _adds_up(query: Query) -> bool:
    """Return whether a query's answers for groups add up to that for all of them."""
    return type(query) in {Count, Sum}


def least_of(query: Asked, bounds: Bounds) -> Fraction | None:
    """Return what no answer can be below, by public facts: counts, and sums of what is not negative."""
    low = bounds.get(query.column, (-1,))[0] if isinstance(query, Sum) else -1
    return Fraction(0) if isinstance(query, Count) or low >= 0 else None


def _of_margin(asked: Compiled, margin: Margin) -> Compiled:
    """Return a SELECT by some of the columns alone, about the rows that are in some group of all of them."""
    by = asked.by
    assert by is not None  # noqa: S101  (it has groups)
    assert asked.queryable is not None  # noqa: S101  (it has groups)
    others = [place for place in range(len(asked.groups)) if place not in margin]
    held = [_is_listed(asked.groups[place], by.by[place], by.lists[place]) for place in others]
    queryable = (
        asked.queryable.filtered(held[0] if len(held) == 1 else conjunction(held))
        if held
        else asked.queryable
    )
    groups = tuple(asked.groups[place] for place in margin)
    listed = crossed(by.lists, by.ties, margin) if margin else None
    part = replace(
        by,
        by=tuple(by.by[place] for place in margin),
        listed=listed,
        shown=(),
        lists=tuple(by.lists[place] for place in margin),
    )
    return replace(asked, queryable=queryable, groups=groups, by=part if margin else None, margins=())


def _is_listed(item: GroupItem, key: Any, listed: Sequence[Any]) -> Node:
    """Return the condition that a row has one of an entry's keys."""
    node = Call("date_trunc", (Text(item.part), item.checked.node)) if item.part else key
    if item.checked.kind is Kind.BOOLEAN and set(listed) <= {True, False}:
        if len(set(listed)) == 2:
            return Not(IsNull(node))
        return IsTrue(node) if listed[0] else IsTrue(Not(node))
    return InList(node, tuple(map(literal, listed)))


def rows_of_margins(
    asked: Compiled, tables: Mapping[Margin, Sequence[Sequence[Release]]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Release, ...]], str]:
    """Return the keys and the releases of all margins that are wanted, and a note on whether they add up."""
    assert asked.by is not None  # noqa: S101  (it has groups)
    assert asked.queryable is not None  # noqa: S101  (it has groups)
    sizes, note = tuple(map(len, asked.by.lists)), _APART
    columns: list[Mapping[Margin, Sequence[Release]]] = []
    for place, query in enumerate(asked.queries):
        released: dict[Margin, Sequence[Release]]
        released = {margin: [row[place] for row in rows] for margin, rows in tables.items()}
        crosses = not asked.by.ties  # least squares are over all combinations of keys
        add_up = crosses and needs_consistency(query, released)
        if add_up or set(asked.margins) - released.keys():
            released |= consistent(sizes, released, list(dict.fromkeys((*asked.margins, *released))))
            note = _ADD_UP
        if asked.nonnegative and least_of(query, asked.queryable.planner.bounds) is not None:
            if add_up and tuple(range(len(sizes))) not in released:
                note += _BUT_NEGATIVE
            released = from_zero(sizes, released, add_up=add_up)
        columns.append(released)
    keys: list[tuple[Any, ...]] = []
    rows: list[tuple[Release, ...]] = []
    for margin in asked.margins:
        keys += margin_keys(asked, margin)
        rows += list(zip(*(column[margin] for column in columns), strict=True))
    return keys, rows, f"margins are of the listed keys alone; {note}"


_ADD_UP = "numbers that nothing but noise moved add up, by least squares"
_BUT_NEGATIVE = ", before each negative one is moved to 0"
_APART = "each is an answer of its own, so that they need not add up"


def needs_consistency(query: Query, released: Mapping[Margin, Sequence[Release]]) -> bool:
    """Return whether answers are made to add up: counts and sums that nothing but noise has moved.

    Where values were clipped, each margin has its own threshold and its own bias, which least squares would
    carry from one to the other.
    """
    return _adds_up(query) and all(one.even for cells in released.values() for one in cells)


def margin_keys(asked: Compiled, margin: Margin) -> list[tuple[Any, ...]]:
    """Return the keys of a margin, with ABSENT for each column that it is not by."""
    assert asked.by is not None  # noqa: S101  (it has groups)
    by, places = asked.by, range(len(asked.groups))
    return [
        tuple(row[margin.index(place)] if place in margin else ABSENT for place in places)
        for row in combined(by.lists, by.ties, margin)
    ]
