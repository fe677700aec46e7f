"""Keys of several entries of GROUP BY that follow from one column: groups that no row is in are not asked.

Rows of a public table, months beside quarters and a column beside what is computed from it occur in few of
the combinations of their keys. Which ones follows from public facts: listed keys, constants and WHERE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, get_args

from prdp.declare.groups import Calendar
from prdp.declare.keys import MAX_KEYS, typed_key
from prdp.errors import InvalidRequest
from prdp.expressions.evaluate import evaluate, value_of
from prdp.expressions.nodes import (
    Call,
    Cast,
    Column,
    Compare,
    InList,
    IsNull,
    Literals,
    Node,
    Null,
    Text,
    children,
    columns,
    conjuncts,
)
from prdp.plan.planner import Planner
from prdp.schema import Kind, Schema
from prdp.sql.catalog import Catalog, Place
from prdp.sql.grouping import GroupItem

_OF_DAYS = frozenset({"year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear"})
_FRESH_TEXT = "another value"
_FRESH_NUMBER = 0.5


@dataclass(frozen=True, slots=True)
class Tie:
    """Entries of GROUP BY whose keys occur in some combinations only.

    Attributes:
        places: The entries.
        rows: The combinations, as places in their lists of keys.
    """

    places: tuple[int, ...]
    rows: frozenset[tuple[int, ...]]

    def among(self, places: Sequence[int]) -> tuple[list[int], set[tuple[int, ...]]]:
        """Return which of some entries are tied, by their places there, and in which combinations."""
        kept = [number for number, place in enumerate(self.places) if place in places]
        own = [places.index(self.places[number]) for number in kept]
        return own, {tuple(row[number] for number in kept) for row in self.rows}


def combined(
    lists: Sequence[Sequence[Any]], ties: Sequence[Tie], places: Sequence[int]
) -> list[tuple[Any, ...]]:
    """Return the combinations of the keys of some entries that occur; none if there are too many.

    >>> pairs = Tie((0, 1), frozenset({(0, 0), (1, 1)}))
    >>> combined([["Bonn", "Bern"], ["DE", "CH"], [1]], [pairs], (0, 1))
    [('Bonn', 'DE'), ('Bern', 'CH')]
    >>> combined([["Bonn", "Bern"], ["DE", "CH"], [1]], [pairs], (1, 2))
    [('DE', 1), ('CH', 1)]
    """
    found: list[tuple[int, ...]] = [()]
    bound = [tie.among(places) for tie in ties]
    for number, place in enumerate(places):
        due = [(own, rows) for own, rows in bound if own and max(own) == number]
        longer = ((*row, key) for row in found for key in range(len(lists[place])))
        found = []
        for row in longer:
            if all(tuple(row[k] for k in own) in rows for own, rows in due):
                found.append(row)
            if len(found) > MAX_KEYS:
                return []
    return [tuple(lists[place][key] for place, key in zip(places, row, strict=True)) for row in found]


def crossed(
    lists: Sequence[Sequence[Any]], ties: Sequence[Tie] = (), places: Sequence[int] = ()
) -> list[Any]:
    """Return the combinations of the keys of all entries, or of some, as ``group_by`` takes them."""
    chosen = tuple(places) or tuple(range(len(lists)))
    found = combined(lists, ties, chosen)
    return [key for (key,) in found] if len(chosen) == 1 else found


def ties_of(
    items: Sequence[GroupItem],
    lists: Sequence[Sequence[Any]],
    where: Node | None,
    planner: Planner,
    days: Callable[[Column], list[Any] | None],
) -> tuple[Tie, ...]:
    """Return which entries are tied by a column that all of them are computed from.

    Args:
        items: The entries.
        lists: Their keys.
        where: The condition that all rows meet.
        planner: The public facts.
        days: Returns all days that a column of moments can lie on; None where they are not public.
    """
    by_column: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        names = columns(item.checked.node)
        if len(names) == 1:
            by_column.setdefault(next(iter(names)), []).append(place)
    found = []
    for name, places in by_column.items():
        own = [items[place] for place in places]
        values = _values(name, own, [lists[place] for place in places], where, planner, days)
        rows = None if values is None else _rows(name, own, [lists[place] for place in places], values)
        if rows and len(rows) < prod(len(lists[place]) for place in places):
            found.append(Tie(tuple(places), frozenset(rows)))
    return tuple(found)


def public_ties(
    items: Sequence[GroupItem], lists: Sequence[Sequence[Any]], catalog: Catalog
) -> tuple[Tie, ...]:
    """Return which entries are tied as columns of public tables of a join that one reference leads to."""
    families: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if item.origin is not None and catalog.is_public(item.origin[0]):
            families.setdefault(_path(item.origin[0], catalog)[0], []).append(place)
    found = []
    for root, places in families.items():
        wanted = [items[place].origin for place in places]
        rows = _public_rows(root, wanted, catalog) if len(places) > 1 else None
        known = [_numbered(lists[place]) for place in places]
        numbered = [
            tuple(numbers.get(value_of(value)) for value, numbers in zip(row, known, strict=True))
            for row in rows or ()
        ]
        kept = frozenset(row for row in numbered if None not in row)
        if kept:
            found.append(Tie(tuple(places), kept))  # type: ignore[arg-type]
    return tuple(found)


def _path(table: str, catalog: Catalog) -> list[str]:
    """Return the public tables from the first one that is referenced to this one."""
    assert catalog.tree is not None  # noqa: S101  (a table of a join)
    return [one for one in catalog.tree.path(table) if catalog.is_public(one)]


def _public_rows(root: str, wanted: Sequence[Place | None], catalog: Catalog) -> list[tuple[Any, ...]] | None:
    """Return the rows of columns of public tables; None where a key is found in no row, or there are many."""
    assert catalog.tree is not None  # noqa: S101  (tables of a join)
    assert catalog.rows is not None  # noqa: S101
    tables = list(dict.fromkeys(t for place in wanted if place for t in _path(place[0], catalog)))
    columns = {table: [place[1] for place in wanted if place and place[0] == table] for table in tables}
    for table in tables[1:]:
        reference = catalog.tree.joined_by[table]
        columns[reference.table].append(reference.column)
        columns[table].append(reference.key)
    found: list[dict[Place, Any]] = [{}]
    for table in [root, *(table for table in tables if table != root)]:
        names = list(dict.fromkeys(columns[table]))
        rows = [
            dict(zip(((table, name) for name in names), map(_plain, row), strict=True))
            for row in catalog.rows(table, names)
        ]
        if len(rows) > MAX_KEYS:
            return None
        if table == root:
            found = rows
            continue
        reference = catalog.tree.joined_by[table]
        by_key = {row[table, reference.key]: row for row in rows}
        ends = [one[reference.table, reference.column] for one in found]
        if len(by_key) < len(rows) or any(end is not None and end not in by_key for end in ends):
            return None
        found = [one | by_key[end] for one, end in zip(found, ends, strict=True) if end is not None]
    return [tuple(one[place] for place in wanted if place) for one in found]


def _plain(value: Any) -> Any:
    return None if value is None else value_of(value)


def _numbered(listed: Sequence[Any]) -> dict[Any, int]:
    return {_plain(key): number for number, key in enumerate(listed)}


def of_day(node: Node, name: str, schema: Schema) -> bool:
    """Return whether an expression asks for no more of a moment than its day."""
    match node:
        case Column():
            return node.name != name or schema[name].native.upper() == "DATE"
        case Call(args=(Column(),)) if node.name in _OF_DAYS:
            return True
        case Call(name="date_trunc", args=(Text(value=part), Column())):
            return part in get_args(Calendar) and part != "hour"
        case Cast(target="DATE", operand=Column()):
            return True
        case _:
            return all(of_day(child, name, schema) for child in children(node))


def constants_compared(node: Node, name: str) -> set[Any] | None:
    """Return the constants that a column is compared with, if nothing else is made of it.

    >>> from prdp.expressions.parse import parse
    >>> sorted(constants_compared(parse("CASE WHEN job IN ('chef', 'cook') THEN 1 ELSE 2 END"), "job"))
    ['chef', 'cook']
    >>> constants_compared(parse("upper(job) = 'CHEF'"), "job") is None
    True
    """
    match node:
        case Column():
            return None if node.name == name else set()
        case InList(operand=Column(name=called)) if called == name:
            return {item.value for item in node.items}
        case IsNull(operand=Column(name=called)) if called == name:
            return set()
        case Compare(op="=" | "<>", left=Column(name=called)) if called == name:
            return {node.right.value} if isinstance(node.right, Literals) else None
        case _:
            found: set[Any] = set()
            for child in children(node):
                inner = constants_compared(child, name)
                if inner is None:
                    return None
                found |= inner
            return found


def values_that_differ(node: Node, name: str, kind: Kind, more: Iterable[Any] = ()) -> list[Any] | None:
    """Return values of a column that give all values of an expression: constants, NULL and some other one.

    None of an expression that does more than to compare the column with constants.
    """
    found = constants_compared(node, name)
    if found is None or kind not in {Kind.TEXT, Kind.NUMBER}:
        return None
    listed = {*found, *more}
    fresh: Any = _FRESH_TEXT if kind is Kind.TEXT else _FRESH_NUMBER
    while fresh in listed:
        fresh += fresh
    return [*sorted(listed), fresh, None]


def few_values(item: GroupItem, planner: Planner) -> set[Any] | None:
    """Return all values of an expression that only compares one column with constants; None of any other."""
    node, names = item.checked.node, sorted(columns(item.checked.node))
    if len(names) != 1 or item.part or isinstance(node, Column):
        return None
    values = values_that_differ(node, names[0], planner.schema[names[0]].kind)
    return None if values is None else {evaluate(node, {names[0]: value}) for value in values}


def _values(  # noqa: PLR0917  (all that is public of a column)
    name: str,
    items: Sequence[GroupItem],
    lists: Sequence[Sequence[Any]],
    where: Node | None,
    planner: Planner,
    days: Callable[[Column], list[Any] | None],
) -> list[Any] | None:
    """Return values of a column that give all groups that a row can be in; None where they are not public."""
    kind = planner.schema[name]
    for item, listed in zip(items, lists, strict=True):
        if len(items) > 1 and item.checked.node == Column(name) and not item.part:
            try:
                return [None if key is None else typed_key(key, name, kind) for key in listed]
            except InvalidRequest:  # which whoever makes the groups says
                return None
    nodes = [_whole(item) for item in items]
    if kind.kind is Kind.MOMENT:
        whole_days = len(items) > 1 and all(of_day(node, name, planner.schema) for node in nodes)
        return days(Column(name)) if whole_days else None
    decisive = [condition for condition in conjuncts(where) if columns(condition) == {name}]
    compared: set[Any] = set()
    for node in (*nodes, *decisive):
        compared |= constants_compared(node, name) or set()
    if any(constants_compared(node, name) is None for node in nodes):
        return None
    values = values_that_differ(Null(), name, kind.kind, compared)
    plain = [condition for condition in decisive if constants_compared(condition, name) is not None]
    return None if values is None else [v for v in values if _holds(plain, decisive, name, v, compared)]


def _holds(
    plain: Sequence[Node], decisive: Sequence[Node], name: str, value: Any, compared: set[Any]
) -> bool:
    """Return whether rows with a value may meet WHERE; a value that represents others decides less."""
    conditions = decisive if value in compared else plain
    return all(evaluate(condition, {name: value}) is True for condition in conditions)


def _rows(
    name: str, items: Sequence[GroupItem], lists: Sequence[Sequence[Any]], values: Sequence[Any]
) -> set[tuple[int, ...]] | None:
    """Return the combinations of keys that values give; None where a value may be a key that is rounded."""
    known = [_numbered(listed) for listed in lists]
    found: set[tuple[int, ...]] = set()
    for value in values:
        row = []
        for item, places in zip(items, known, strict=True):
            key = evaluate(_whole(item), {name: value})
            if isinstance(key, float) and key not in places and not key.is_integer():
                return None
            row.append(places.get(key))
        if None not in row:
            found.add(tuple(row))  # type: ignore[arg-type]
    return found


def _whole(item: GroupItem) -> Node:
    """Return an entry as one expression."""
    node = item.checked.node
    return Call("date_trunc", (Text(item.part), node)) if item.part else node
