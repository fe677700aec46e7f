"""GROUP BY: what groups are distinguished by, and their public keys. No key is ever read from the records.

Keys are found, in this order: as the caller lists them; in WHERE, as an IN list, an equality or a range; in
a public table; in the expression itself, where it can give few values only; between the public bounds of a
number. Those that WHERE leaves out by the key alone are no groups of the statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from itertools import chain, combinations
from typing import Any, get_args

from prdp.declare.columns import WHOLE, derived_rounding
from prdp.declare.exact import short_repr
from prdp.declare.groups import Calendar, GroupKey, date_trunc, first_moment
from prdp.declare.key_search import PRIVATE, SEARCHED_BY
from prdp.declare.keys import refuse_queries, typed_key
from prdp.errors import InvalidRequest
from prdp.expressions.datetimes import added
from prdp.expressions.evaluate import evaluate
from prdp.expressions.intervals import Ranges, bound, narrowed
from prdp.expressions.nodes import (
    MIRRORED,
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    InList,
    IsNull,
    Literals,
    Moment,
    Negate,
    Node,
    Not,
    Null,
    Number,
    Or,
    columns,
    conjuncts,
    walk,
)
from prdp.plan.planner import Planner
from prdp.policy import ranges_of, whole_part
from prdp.release.consistency import Margin
from prdp.release.table import ReleaseTable
from prdp.schema import Kind
from prdp.sql.catalog import Place
from prdp.sql.refused import unread
from prdp.sql.row_nodes import CheckedNode

MAX_FOUND = 1_000
"""Number of keys that are made from a range; more have to be listed."""

_MAX_TRIED = 2_000
"""Number of a column's values for each of which an expression is computed."""


@dataclass(frozen=True, slots=True)
class GroupItem:
    """One grouping key, from an entry of GROUP BY.

    Attributes:
        checked: The expression; of date_trunc, the moment that is cut.
        part: What a moment is cut to; empty where nothing is cut.
        names: What the caller's ``keys`` may call it.
        listed: The values of a public table's column, if it is one.
        origin: The table and the column there, of a plain column of a join.
    """

    checked: CheckedNode
    part: str = ""
    names: tuple[str, ...] = ()
    listed: tuple[Any, ...] | None = None
    origin: Place | None = None

    @property
    def key(self) -> Node | GroupKey:
        """Argument of ``group_by``."""
        node = self.checked.node
        return replace(date_trunc(self.part, self.checked.text), expression=node) if self.part else node

    @property
    def text(self) -> str:
        """The entry in the row language."""
        return f"date_trunc('{self.part}', {self.checked.text})" if self.part else self.checked.text


def found_keys(item: GroupItem, where: Node | None, planner: Planner) -> list[Any] | None:
    """Return the public keys of an entry of GROUP BY; None where they do not follow from what is public."""
    conditions = conjuncts(where)
    if item.part:
        return _moments(item, conditions)
    listed = allowed_values(item.checked.node, conditions)
    if listed is not None:
        return listed
    if (years := _years(item.checked.node, conditions)) is not None:
        return years
    if item.listed is not None:
        return list(item.listed)
    if item.checked.kind is Kind.BOOLEAN:
        return [False, True]
    found = _constants(item.checked.node)
    found = _numbers(item, where, planner) if found is None else found
    denied = _denied(item.checked.node, conditions)
    return None if found is None else [value for value in found if value not in denied]


@dataclass(frozen=True, slots=True)
class SearchedKeys:
    """Keys of which some are to be found first: for each entry a list, or what its search takes."""

    lists: tuple[list[Any] | Mapping[str, Any], ...]


def search_of(listed: Any) -> Mapping[str, Any] | None:
    """Return what ``find_keys`` takes where a caller wants keys found: "private", or a dict for it."""
    if isinstance(listed, Mapping):
        unknown = [name for name in listed if name not in (PRIVATE, *SEARCHED_BY)]
        if unknown:
            known = ", ".join(SEARCHED_BY)
            raise InvalidRequest(f"keys are searched by {known}, and not by {short_repr(unknown[0])}.")
        return {name: value for name, value in listed.items() if name != PRIVATE}
    return {} if isinstance(listed, str) and listed == PRIVATE else None


def callers_keys(item: GroupItem, keys: Mapping[str, Any]) -> Any | None:
    """Return what a caller lists for an entry of GROUP BY, or what was found; capitals do not matter."""
    wanted = {name.lower() for name in (*item.names, item.text)}
    if not item.part and not isinstance(item.checked.node, Column):  # coalesce(job, 'none') AS job is not job
        wanted -= {name.lower() for name in columns(item.checked.node)}
    listed = next((listed for name, listed in keys.items() if str(name).lower() in wanted), None)
    refuse_queries(listed, "keys", f" for {item.text!r}")
    return [key for (key,) in listed.keys] if isinstance(listed, ReleaseTable) else listed


def kept_by_where(item: GroupItem, keys: Sequence[Any], where: Node | None, planner: Planner) -> list[Any]:
    """Return the keys that WHERE leaves a group for, as far as the key alone decides: both are public."""
    node = item.checked.node
    if not isinstance(node, Column) or item.part:
        return _within(item, keys, where, planner)
    return kept_values(node.name, keys, where, planner)


def kept_values(name: str, values: Sequence[Any], where: Node | None, planner: Planner) -> list[Any]:
    """Return those values of a column that conditions of WHERE on it alone leave."""
    kind = planner.schema[name]
    decisive = [condition for condition in conjuncts(where) if columns(condition) == {name}]

    def may_be(key: Any) -> bool:
        try:
            typed = None if key is None else typed_key(key, name, kind)
        except InvalidRequest:  # which whoever makes the groups says
            return True
        return all(evaluate(condition, {name: typed}) is True for condition in decisive)

    return [key for key in values if may_be(key)]


def _within(item: GroupItem, keys: Sequence[Any], where: Node | None, planner: Planner) -> list[Any]:
    """Return the numbers that an expression can give, as far as WHERE says which its columns hold."""
    node, held = item.checked.node, _held(where, {}, planner)
    if item.part or item.checked.kind is not Kind.NUMBER or not columns(node) & held.keys():
        return list(keys)
    ends = bound(node, held)
    return [key for key in keys if not isinstance(key, int | float) or ends.low <= key <= ends.high]


def _held(where: Node | None, declared: Ranges, planner: Planner) -> Ranges:
    """Return which numbers columns hold where WHERE is true; what is declared, if there are none."""
    left = narrowed(where, declared, holds=True) if where is not None else None
    schema = planner.schema
    found = {name: whole_part(ends) if schema[name].integer else ends for name, ends in (left or {}).items()}
    return declared if left is None or any(ends.empty for ends in found.values()) else found


def kept_together(items: Sequence[GroupItem], keys: Any, where: Node | None, planner: Planner) -> Any:
    """Return the listed combinations that WHERE leaves a group for; what is not a list of such as it is."""
    listed = isinstance(keys, list) and all(isinstance(k, tuple) and len(k) == len(items) for k in keys)
    if not listed or not keys:
        return keys
    kept = [
        set(kept_by_where(item, column, where, planner))
        for item, column in zip(items, zip(*keys, strict=True), strict=True)
    ]
    return [key for key in keys if all(part in allowed for part, allowed in zip(key, kept, strict=True))]


def allowed_values(node: Node, conditions: Sequence[Node]) -> list[Any] | None:
    """Return the values that all conditions allow, as far as they list any."""
    found: list[Any] | None = None
    for condition in conditions:
        values = _allowed(condition, node)
        if values is not None:
            found = values if found is None else [value for value in found if value in values]
    return found


def _allowed(condition: Node, node: Node) -> list[Any] | None:
    """Return the values that a condition allows: of an IN list, an equality, or several joined by OR."""
    match condition:
        case IsNull() if condition.operand == node:
            return [None]
        case InList() if condition.operand == node:
            return list(dict.fromkeys(item.value for item in condition.items))
        case Compare(op="=") if isinstance(condition.right, Literals) and condition.left == node:
            return [condition.right.value]
        case Compare(op="=") if isinstance(condition.left, Literals) and condition.right == node:
            return [condition.left.value]
        case Or():
            parts = [_allowed(part, node) for part in condition.parts]
            listed = [value for part in parts if part is not None for value in part]
            return None if None in parts else list(dict.fromkeys(listed))
        case _:
            return None


def _denied(node: Node, conditions: Sequence[Node]) -> list[Any]:
    """Return the values that conditions deny: of <> and NOT IN."""
    found: list[Any] = []
    for condition in conditions:
        match condition:
            case Compare(op="<>") if isinstance(condition.right, Literals) and condition.left == node:
                found.append(condition.right.value)
            case Not(operand=InList() as inner) if inner.operand == node:
                found += [item.value for item in inner.items]
    return found


def limits_of(node: Node, conditions: Sequence[Node]) -> dict[str, list[Any]]:
    """Return the constants that an expression is compared with, by the comparison."""
    found: dict[str, list[Any]] = {"<": [], "<=": [], ">": [], ">=": [], "=": []}
    for condition in conditions:
        if not isinstance(condition, Compare):
            continue
        sides = (
            (condition.op, condition.left, condition.right),
            (MIRRORED[condition.op], condition.right, condition.left),
        )
        for op, left, right in sides:
            if op in found and isinstance(right, Number | Moment) and left == node:
                found[op].append(right.value)
    return found


def _moments(item: GroupItem, conditions: Sequence[Node]) -> list[Any] | None:
    """Return the first moments of all months, weeks, ... that WHERE allows, from its two ends."""
    limits = limits_of(item.checked.node, conditions)
    lows, highs = [*limits[">"], *limits[">="]], [*limits["<"], *limits["<="]]
    if not lows or not highs or item.part not in get_args(Calendar):
        return None
    low, high = max(lows), min(highs)
    open_end = high in limits["<"]
    found: list[Any] = []
    moment: datetime | None = first_moment(low, item.part)  # type: ignore[arg-type]
    while moment is not None and (moment < high or (moment == high and not open_end)):
        found.append(moment)
        moment = _next(moment, item.part)
        if len(found) > MAX_FOUND:
            return None
    return found or None


def _years(node: Node, conditions: Sequence[Node]) -> list[Any] | None:
    """Return the years that WHERE allows for year(x), from its two ends for x."""
    if not isinstance(node, Call) or node.name != "year":
        return None
    limits = limits_of(node.args[0], conditions)
    lows = [end for op in (">", ">=", "=") for end in limits[op]]
    highs = [end for op in ("<", "<=", "=") for end in limits[op]]
    if not all(isinstance(end, datetime) for end in (*lows, *highs)) or not lows or not highs:
        return None
    first, last = max(lows), min(highs)
    if last in limits["<"] and last == datetime(last.year, 1, 1):
        last = datetime(last.year - 1, 1, 1) if last.year > 1 else last
    years = range(first.year, last.year + 1)
    return list(years) if 0 < len(years) <= MAX_FOUND else None


def _next(moment: datetime, part: str) -> datetime | None:
    """Return the first moment of the next hour, day or whatever; None behind the year 9999."""
    unit = {"quarter": ("month", 3.0)}.get(part, (part, 1.0))
    return added(*unit, moment)


def _constants(node: Node) -> list[Any] | None:
    """Return what a CASE or COALESCE of constants can give; None of any other expression."""
    match node:
        case Case():
            results = [*(then for _, then in node.branches), node.default]
        case Call(name="coalesce", args=args):
            results = list(args)
        case _:
            return None
    found: dict[Any, None] = {}
    for result in results:
        inner = [result.value] if isinstance(result, Literals) else _constants(result)
        if inner is None and not isinstance(result, Null):
            return None
        found |= dict.fromkeys(inner or [])
    return list(found)


def _numbers(item: GroupItem, where: Node | None, planner: Planner) -> list[Any] | None:
    """Return all multiples of an expression's rounding step between its ends, by bounds and by WHERE."""
    if item.checked.kind is not Kind.NUMBER:
        return None
    node = item.checked.node
    round_to = derived_rounding(node, planner.schema, planner.round_to)
    ends = bound(node, _held(where, ranges_of(planner.bounds), planner))
    limits = limits_of(item.checked.node, conjuncts(where))
    low = max([ends.low, *limits[">"], *limits[">="]])
    high = min([ends.high, *limits["<"], *limits["<="]])
    if _is_of_years(node) and (low == ends.low or high == ends.high):
        return None  # all years that a calendar has are no bounds of anybody's
    if not round_to or not _is_nearest(node, planner) or not math.isfinite(low) or not math.isfinite(high):
        return None
    first, last = math.ceil(Fraction(low) / round_to), math.floor(Fraction(high) / round_to)
    if last - first >= MAX_FOUND:
        return None
    steps = [step * round_to for step in range(first, last + 1)]
    steps = [step for step in steps if step not in limits[">"] and step not in limits["<"]]
    possible = _whole_values(node, where, planner)
    steps = [step for step in steps if possible is None or step in possible]
    return [int(step) if step.denominator == 1 else float(step) for step in steps]


def _is_of_years(node: Node) -> bool:
    """Return whether an expression is computed from the year of a date."""
    return any(isinstance(part, Call) and part.name == "year" for part in walk(node))


def _whole_values(node: Node, where: Node | None, planner: Planner) -> set[Any] | None:
    """Return the whole numbers that an expression of one column gives; None of any other, or of too many."""
    names = columns(node)
    name = next(iter(names), "")
    if len(names) != 1 or isinstance(node, Column) or not planner.schema[name].integer:
        return None
    ends = _held(where, ranges_of(planner.bounds), planner).get(name)
    if ends is None or not ends.high - ends.low < _MAX_TRIED:
        return None
    possible: list[float | None] = [float(value) for value in range(int(ends.low), int(ends.high) + 1)]
    alone = [condition for condition in conjuncts(where) if columns(condition) == {name}]
    if all(evaluate(condition, {name: None}) is True for condition in alone):
        possible.append(None)  # as in coalesce(age, -1)
    values = {evaluate(node, {name: value}) for value in possible}
    found = {value for value in values if isinstance(value, float) and value.is_integer()}
    return found if values <= {*found, None} else None


def _is_nearest(node: Node, planner: Planner) -> bool:
    """Return whether an expression gives the doubles nearest to multiples of its step, and so its keys.

    3 * 0.1 is none of them: it is the next double after 0.3.
    """
    match node:
        case Column() | Call(name="round"):
            return True
        case Arithmetic(op="/"):
            return _is_exact(node.left, planner) and _is_exact(node.right, planner)
        case _:
            return _is_exact(node, planner)


def _is_exact(node: Node, planner: Planner) -> bool:  # noqa: PLR0911  (one return a class)
    """Return whether doubles hold every value of an expression as it is, and not the nearest to it."""
    match node:
        case Number():
            return Fraction(repr(node.value)) == Fraction(node.value)
        case Column():
            round_to = derived_rounding(node, planner.schema, planner.round_to)
            return round_to is not None and Fraction(float(round_to)) == round_to
        case Negate():
            return _is_exact(node.operand, planner)
        case Arithmetic():
            return node.op != "/" and _is_exact(node.left, planner) and _is_exact(node.right, planner)
        case Call(name="round"):
            return all(isinstance(digits, Number) and digits.value <= 0 for digits in node.args[1:])
        case Call(name="nullif"):
            return _is_exact(node.args[0], planner)
        case Call():
            return node.name in WHOLE or all(_is_exact(arg, planner) for arg in node.args)
        case Case():
            values = (*(then for _, then in node.branches), node.default)
            return all(_is_exact(value, planner) for value in values)
        case Cast():
            return node.target != "DOUBLE" or _is_exact(node.operand, planner)
        case _:
            return isinstance(node, Null)


MAX_SETS = 64
"""Largest number of grouping sets of a statement: CUBE of six columns."""


@dataclass(slots=True)
class MarginReader:
    """Reads the entries of a GROUP BY as grouping sets.

    Attributes:
        read: Reads one entry as a key.
        refuse: Refuses a part of the statement.
        items: The keys so far, each once.
    """

    read: Callable[[Any], GroupItem]
    refuse: Callable[..., Any]
    items: list[GroupItem] = field(default_factory=list)

    def margins(self, clause: Any) -> tuple[Margin, ...]:
        """Return the margins that are wanted; none for a plain GROUP BY, whose items are kept."""
        if unread(clause, ("expressions",)) is not None:
            self.refuse(clause, "GROUP BY takes columns, expressions, ROLLUP, CUBE and GROUPING SETS")
        wanted: list[Margin] = [()]
        for entry in clause.expressions:
            others = self._sets(entry)
            self._refuse_beyond(len(wanted) * len(others), clause)
            wanted = [tuple(sorted({*one, *other})) for one in wanted for other in others]
        several = any(type(entry).__name__ in _SEVERAL for entry in clause.expressions)
        return tuple(dict.fromkeys(wanted)) if several else ()

    def _refuse_beyond(self, sets: int, place: Any) -> None:
        """Refuse too many grouping sets by their number, before any is made: CUBE of 40 columns has 2^40."""
        if sets > MAX_SETS:
            self.refuse(place, f"this asks for more than {MAX_SETS} grouping sets", "Ask several times.")

    def _place(self, entry: Any) -> int:
        item = self.read(entry.this if type(entry).__name__ == "Paren" else entry)
        known = [number for number, one in enumerate(self.items) if one.key == item.key]
        if not known:
            self.items.append(item)
        return known[0] if known else len(self.items) - 1

    def _flat(self, entry: Any) -> Margin:
        inner = entry.expressions if type(entry).__name__ == "Tuple" else [entry]
        return tuple(dict.fromkeys(map(self._place, inner)))

    def _sets(self, entry: Any) -> list[Margin]:
        if type(entry).__name__ == "GroupingSets":
            return [one for inner in entry.expressions for one in self._sets(inner)]
        if type(entry).__name__ not in _SEVERAL:
            return [self._flat(entry)]
        rollup = type(entry).__name__ == "Rollup"
        columns = len(entry.expressions)
        self._refuse_beyond(columns + 1 if rollup else 1 << columns, entry)
        steps = [self._flat(one) for one in entry.expressions]
        sizes = range(columns, -1, -1)
        chosen = (
            (steps[:size] for size in sizes)
            if rollup
            else chain.from_iterable(combinations(steps, size) for size in sizes)
        )
        return [tuple(chain.from_iterable(kept)) for kept in chosen]


_SEVERAL = frozenset({"Rollup", "Cube", "GroupingSets"})
