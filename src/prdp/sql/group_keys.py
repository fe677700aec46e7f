"""The public keys of a GROUP BY: listed, or followed from the keys of columns; NULL where it is listed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from prdp.declare.columns import derived_rounding
from prdp.declare.key_search import KeySearch
from prdp.errors import Argument, InvalidRequest, Part
from prdp.expressions.evaluate import evaluate, value_of
from prdp.expressions.nodes import (
    Boolean,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    InList,
    IsNull,
    IsTrue,
    Literals,
    Moment,
    Node,
    Not,
    Null,
    Number,
    Text,
    columns,
    conjuncts,
)
from prdp.plan.planner import Planner
from prdp.release.table import ReleaseTable
from prdp.safety.plain_text import printable
from prdp.schema import Kind
from prdp.sql.catalog import Queryable
from prdp.sql.grouping import (
    MAX_FOUND,
    GroupItem,
    SearchedKeys,
    allowed_values,
    callers_keys,
    found_keys,
    kept_by_where,
    kept_together,
    kept_values,
    limits_of,
    search_of,
)
from prdp.sql.select_list import SelectReader
from prdp.sql.tied_keys import Tie, crossed, few_values, of_day, public_ties, ties_of

MAX_FOLLOWED = 10_000
"""Number of combinations of columns' keys from which those of an expression are followed."""

_MAX_DAYS = 40_000
_DATE_PART = re.compile(r"date_trunc\('\w+', (\w+)\)|(?:year|quarter|month|week|day)\((\w+)\)")


@dataclass(frozen=True, slots=True)
class GroupKeys:
    """What groups are made by.

    Attributes:
        by: The arguments of ``group_by``.
        listed: Their keys, as ``group_by`` takes them.
        shown: For each entry, the keys that stand for others in what is asked.
        notes: Which rows are in no group.
        lists: The keys of each entry; none where combinations of them are listed.
        ties: Which combinations of them occur, where not all do.
    """

    by: tuple[Any, ...]
    listed: Any
    shown: tuple[Mapping[Any, Any], ...] = ()
    notes: tuple[str, ...] = ()
    lists: tuple[Sequence[Any], ...] = field(default=())
    ties: tuple[Tie, ...] = ()

    def key(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """Return a group's key as it is shown."""
        named = self.shown or ({},) * len(row)
        return tuple(_shown(one.get(_plain(value), value)) for one, value in zip(named, row, strict=True))


def _shown(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | bool) else float(value) if isinstance(value, int) else value


def group_keys(
    reader: SelectReader, keys: Mapping[str, Any], where: Node | None, queryable: Queryable
) -> GroupKeys:
    """Return the public keys of all groups, or refuse an entry whose keys nothing public says."""
    planner = queryable.planner
    by = tuple(item.key for item in reader.groups)
    together = keys.get(",".join(item.names[0] for item in reader.groups)) if len(reader.groups) > 1 else None
    if together is not None:
        pairs = list(together.keys) if isinstance(together, ReleaseTable) else together
        notes = tuple(_excluded(item, (), where, planner, exhaustive=False) for item in reader.groups)
        listed = kept_together(reader.groups, pairs, where, planner)
        return GroupKeys(by, listed, notes=tuple(filter(None, notes)))
    lists: list[Any] = []
    stated: list[str] = []
    for item in reader.groups:
        listed = callers_keys(item, keys)
        search = search_of(listed)
        if search is not None:
            lists.append(search)
            continue
        found, exhaustive = _listed(reader, item, listed, keys, where, planner)
        if found is None and listed is not None:
            reader.refuse(item.checked.source, f"the list of keys of {item.text} is empty")
        if found is None:
            _refuse_unless_found(reader, item, queryable)
            lists.append({})
            continue
        lists.append(found)
        stated.append(_excluded(item, found, where, planner, exhaustive=exhaustive))
    if any(isinstance(listed, Mapping) for listed in lists):
        return GroupKeys(by, SearchedKeys(tuple(lists)))
    replaced = [_with_null(reader, item, listed) for item, listed in zip(reader.groups, lists, strict=True)]
    asked = [listed for _, listed, _ in replaced]
    ties = (
        *ties_of(reader.groups, lists, where, planner, partial(_days, conditions=conjuncts(where))),
        *public_ties(reader.groups, lists, reader.names.catalog),
    )
    return GroupKeys(
        tuple(key for key, _, _ in replaced),
        crossed(asked, ties),
        tuple(shown for _, _, shown in replaced) if any(shown for _, _, shown in replaced) else (),
        tuple(filter(None, stated)),
        tuple(asked),
        ties,
    )


def _listed(  # noqa: PLR0917  (all that is public of an entry)
    reader: SelectReader,
    item: GroupItem,
    listed: Any,
    keys: Mapping[str, Any],
    where: Node | None,
    planner: Planner,
) -> tuple[list[Any] | None, bool]:
    """Return the keys of one entry that follow from what is public, and whether they are all that it can be.

    None of an entry whose keys nothing public says.
    """
    node, exhaustive = item.checked.node, listed is None
    kinds = {planner.schema[name].kind for name in columns(node)}
    if listed is not None:
        found: list[Any] | None = _with_null_of_where(item, list(listed), where)
    elif kinds == {Kind.MOMENT} and not isinstance(node, Column) and not item.part:
        found = _followed(node, keys, where, planner) or found_keys(item, where, planner)
    else:
        found = found_keys(item, where, planner)
    if not found and not item.part:
        found = _followed(node, keys, where, planner)
        exhaustive = kinds <= {Kind.MOMENT, Kind.BOOLEAN}
    kept = kept_by_where(item, found or [], where, planner)
    if found and not kept:
        reader.refuse(item.checked.source, f"WHERE leaves none of the listed keys of {item.text}")
    return (kept if found else None), exhaustive


def _with_null_of_where(item: GroupItem, listed: list[Any], where: Node | None) -> list[Any]:
    """Return the keys that a caller lists, and NULL where WHERE lists it among the values that it allows."""
    allowed = [] if item.part else allowed_values(item.checked.node, conjuncts(where)) or []
    return [*listed, None] if listed and None in allowed and None not in listed else listed


def _refuse_unless_found(reader: SelectReader, item: GroupItem, queryable: Queryable) -> None:
    """Refuse an entry whose keys are not public, and cannot be found by a part of the share."""
    if _can_be_searched(item, queryable):
        return
    unit, node = queryable.planner.unit, item.checked.node
    if unit is not None and isinstance(node, Column) and node.name in unit.ids and not item.part:
        totals = f"(SELECT {item.text}, SUM(x) AS total FROM ... GROUP BY {item.text})"
        reader.refuse(
            item.checked.source,
            f"each group of {item.text} would be about {unit.noun}",
            f"Group by what many share, or ask about their totals: SELECT MEDIAN(total) FROM {totals}.",
        )
    reader.refuse(
        item.checked.source,
        f"the keys of {item.text} are not declared, and keys of this kind cannot be discovered",
        (
            *_advice(item.text, item.names[0], item.checked.kind),
            *_missing_bounds(item, queryable.planner),
            *_one_row_each(item, queryable.planner),
        ),
    )


def _one_row_each(item: GroupItem, planner: Planner) -> tuple[Part, ...]:
    """Return advice for a subquery that has a row for each person."""
    above = item.checked.source.parent
    while above is not None and type(above).__name__ not in {"Subquery", "CTE"}:
        above = above.parent
    if above is None or planner.unit is not None or not isinstance(item.checked.node, Column):
        return ()
    unit = Argument("privacy_unit", item.checked.node.name, of="prdp.open")
    return (" For a subquery with one row a person, open the table with ", unit, ".")


def _missing_bounds(item: GroupItem, planner: Planner) -> tuple[Part, ...]:
    """Return advice to declare the bounds of columns by which numbers are grouped."""
    numbers = {name for name in columns(item.checked.node) if planner.schema[name].kind is Kind.NUMBER}
    missing = sorted(numbers - planner.bounds.keys())
    if not missing:
        return ()
    return (" Or declare ", Argument("bounds", dict.fromkeys(missing, (0, 10**6))), ".")


def _can_be_searched(item: GroupItem, queryable: Queryable) -> bool:
    """Return whether all keys of an entry are among those that a search can find: of numbers, whole ones."""
    planner = queryable.planner
    step = derived_rounding(item.checked.node, planner.schema, planner.round_to)
    if item.checked.kind is Kind.NUMBER and (step is None or step.denominator != 1):
        return False
    try:
        queryable.plan_keys(item.key, KeySearch(), share=Fraction(1, 10))
    except InvalidRequest:
        return False
    return True


def _advice(text: str, name: str, kind: Kind | None) -> tuple[Part, ...]:
    """Return where the keys of a group may be listed, in SQL, in a project file and in Python."""
    dates = _DATE_PART.search(text)
    where = (
        f"WHERE {dates[1] or dates[2]} BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'"
        if dates
        else f"WHERE {text} IN (...)"
    )
    if kind is Kind.MOMENT and not dates:
        where = (
            f"GROUP BY CAST({text} AS DATE) with WHERE {text} BETWEEN DATE '2024-01-01' AND DATE '2024-03-31'"
        )
    return (
        f"List them: {where}, ",
        Argument("keys", {name: [...]}, of="Python, [tables.NAME.keys] in prdp.toml"),
        ", or JOIN a public table that has them.",
    )


def _followed(node: Node, keys: Mapping[str, Any], where: Node | None, planner: Planner) -> list[Any] | None:
    """Return the values that an expression has for the public keys of its columns, and for NULL."""
    known: dict[str, list[Any]] = {}
    listed: set[str] = set()
    for name in sorted(columns(node)):
        found = _values_of(name, node, keys, where, planner)
        if found is None:
            return None
        known[name] = kept_values(name, list(dict.fromkeys([*found, None])), where, planner)
        listed |= {name} if None in found else set()
    count = 1
    for values in known.values():
        count *= len(values)
    if not known or count > max(MAX_FOLLOWED, _MAX_DAYS + 1):
        return None
    rows = [dict(zip(known, row, strict=True)) for row in product(*known.values())]
    results = [(evaluate(node, row), {name for name in row if row[name] is None}) for row in rows]
    followed = dict.fromkeys(_as_key(value) for value, _ in results if value is not None)
    null = [None] if any(value is None and nulls and nulls <= listed for value, nulls in results) else []
    plain = all(isinstance(one, int | float) for one in followed)
    return [*(sorted(followed) if plain else followed), *null]


def _as_key(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _values_of(
    name: str, node: Node, keys: Mapping[str, Any], where: Node | None, planner: Planner
) -> list[Any] | None:
    """Return the public values of a column: listed, in WHERE, truth values, or the days of a range."""
    listed = next((one for called, one in keys.items() if str(called).lower() == name.lower()), None)
    if isinstance(listed, ReleaseTable):
        return [value_of(key) for (key,) in listed.keys]
    if isinstance(listed, list | tuple):
        return [value_of(key) for key in listed]
    allowed = allowed_values(Column(name), conjuncts(where))
    if allowed is not None:
        return allowed
    kind = planner.schema[name].kind if name in planner.schema else None
    if kind is Kind.BOOLEAN:
        return [False, True]
    if kind is Kind.MOMENT and of_day(node, name, planner.schema):
        days = _days(Column(name), conjuncts(where))
        counted = isinstance(node, Column | Cast) and len(days or ()) > MAX_FOUND
        return None if counted else days
    return None


def _days(column: Column, conditions: Sequence[Node]) -> list[Any] | None:
    """Return the days that WHERE allows."""
    limits = limits_of(column, conditions)
    lows, highs = [*limits[">"], *limits[">="]], [*limits["<"], *limits["<="]]
    moments = all(isinstance(end, datetime) for end in (*lows, *highs))
    if not lows or not highs or not moments:
        return None
    low, high = max(lows), min(highs)
    first = low.replace(hour=0, minute=0, second=0, microsecond=0)
    days = (high - first).days + 1
    open_end = high in limits["<"]
    if not 0 < days <= _MAX_DAYS:
        return None
    found = (first + timedelta(days=number) for number in range(days))
    return [day for day in found if day < high or (day == high and not open_end)]


def _with_null(
    reader: SelectReader, item: GroupItem, listed: list[Any]
) -> tuple[Any, list[Any], Mapping[Any, Any]]:
    """Return what is grouped by, its keys and what these stand for, where NULL is one of the keys.

    A constant that no other key is represents NULL; a row that has it is in no group, as with any value that
    is not listed.
    """
    if None not in listed:
        return item.key, listed, {}
    if item.part:
        reader.refuse(
            item.checked.source, "a month, week or day that is NULL is no group", "Add IS NOT NULL."
        )
    node, others = item.checked.node, [key for key in listed if key is not None]
    if item.checked.kind is Kind.BOOLEAN:
        shown: dict[Any, Any] = {"NULL": None, "true": True, "false": False}
        branches = ((IsNull(node), Text("NULL")), (IsTrue(node), Text("true")))
        key = Case(branches, Text("false"))
        return key, ["NULL" if one is None else str(bool(one)).lower() for one in listed], shown
    missing = _constant_beside(others, item.checked.kind)
    stand_in = missing.value
    key = Case(((IsNull(node), missing), (Compare("=", node, missing), Null())), node)
    return key, [stand_in if one is None else one for one in listed], {stand_in: None}


def _constant_beside(keys: Sequence[Any], kind: Kind | None) -> Text | Number | Moment:
    """Return a constant of a kind that none of the keys is."""
    if kind is Kind.TEXT:
        name = "NULL"
        while name in keys:
            name += "_"
        return Text(name)
    if kind is Kind.MOMENT:
        day = datetime(1, 1, 1)
        while day in {value_of(key) for key in keys}:
            day += timedelta(days=1)
        return Moment(day)
    numbers = {value_of(key) for key in keys}
    number = -1.0
    while number in numbers:
        number -= 1
    return Number(number)


def _excluded(
    item: GroupItem, listed: Sequence[Any], where: Node | None, planner: Planner, *, exhaustive: bool
) -> str:
    """Return a note on the rows that are in no group of an entry; empty where WHERE leaves none."""
    node, conditions = item.checked.node, conjuncts(where)
    allowed = allowed_values(node, conditions)
    if allowed is not None and isinstance(node, Column):
        allowed = kept_values(node.name, allowed, where, planner)
    if allowed is not None and (not listed or set(allowed) <= {value_of(key) for key in listed}):
        return ""
    values = few_values(item, planner)
    may_be_null = None not in listed and not _never_null(node) and not _denied_null(node, conditions)
    if values is not None:
        may_be_null, exhaustive = may_be_null and None in values, values - {None} <= set(listed)
    words = [*(["NULL"] if may_be_null else []), *([] if exhaustive else ["not one of the keys"])]
    called = min(item.text, item.names[-1], key=len)  # a lookup is written out as a CASE
    return f"rows whose {printable(called)} is {' or '.join(words)} are in no group" if words else ""


def _denied_null(node: Node, conditions: Sequence[Node]) -> bool:
    """Return whether WHERE compares all columns of an expression, which it cannot where they are NULL."""
    compared: set[str] = set()
    for condition in conditions:
        match condition:
            case Compare(left=Column() as column) | Compare(right=Column() as column):
                compared.add(column.name)
            case InList(operand=Column() as column) | Not(operand=IsNull(operand=Column() as column)):
                compared.add(column.name)
    return bool(columns(node)) and columns(node) <= compared


def _never_null(node: Node) -> bool:
    match node:
        case Column():
            return node.required
        case IsNull() | IsTrue():
            return True
        case Call(name="coalesce"):
            return any(map(_never_null, node.args))
        case Case():
            held = all(isinstance(one, IsNull | IsTrue | Boolean) for one, _ in node.branches)
            return held and all(map(_never_null, (*(then for _, then in node.branches), node.default)))
        case _:
            return isinstance(node, Literals)
