"""Find where a policy gives no valid budget: unknown values, ranges of a column, an example."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import combinations, islice, product
from typing import Any

from prdp.expressions.evaluate import Value, evaluate
from prdp.expressions.functions import SIGNATURES
from prdp.expressions.intervals import Interval, Outcome, outcome
from prdp.expressions.nodes import (
    And,
    Boolean,
    Call,
    Case,
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
    Or,
    Text,
    children,
    columns,
    walk,
)
from prdp.schema import Kind

_MAX_TRIED = 6
"""Number of columns of which all sets are tried; of more, single columns and pairs."""

_States = frozenset[bool | None]
"""Possible states of a node: unknown (None), or known; of a condition, false or true."""

_KNOWN: _States = frozenset((False, True))
_UNKNOWN: _States = frozenset((None,))


def unknown_by(node: Node, among: Sequence[Node] = ()) -> list[frozenset[str]]:
    """Return the smallest sets of columns that, unknown together, can make a checked expression unknown.

    A column that its table declares to have no NULL is in none. What a function of known values has no value
    for is not looked at. Only records come into question for which other expressions, ``among``, hold or have
    a value.

    >>> from prdp.expressions.parse import parse
    >>> unknown_by(parse("CASE WHEN cost > 5 THEN 1 ELSE 2 END"))
    [frozenset({'cost'})]
    >>> unknown_by(parse("10 / coalesce(cost, 1)"))
    []
    >>> [sorted(names) for names in unknown_by(parse("coalesce(cost, price)"))]
    [['cost', 'price']]
    >>> unknown_by(parse("10 / cost"), [parse("cost > 5")])
    []
    >>> unknown_by(parse("10 / cost"), [parse("price IS NULL")])  # of price nothing is known
    [frozenset({'cost'})]
    """
    names = _may_be_unknown(node)
    either = {name: _KNOWN | _UNKNOWN for other in among for name in _may_be_unknown(other)}
    most = len(names) if len(names) <= _MAX_TRIED else 2
    found: list[frozenset[str]] = []
    for size in range(1, most + 1):
        for chosen in map(frozenset, combinations(names, size)):
            unknown = {name: _UNKNOWN if name in chosen else _KNOWN for name in names}
            if any(smaller <= chosen for smaller in found) or None not in _states(node, unknown):
                continue
            if all(True in _states(other, either | unknown) for other in among):
                found.append(chosen)
    return found


def _may_be_unknown(node: Node) -> dict[str, None]:
    """Return the columns of an expression that may have no value, in the order of the text."""
    return dict.fromkeys(part.name for part in walk(node) if isinstance(part, Column) and not part.required)


_Columns = Mapping[str, _States]
"""Possible states of columns; all others have values."""


def _states(node: Node, unknown: _Columns) -> _States:  # noqa: C901, PLR0911  (one return a class)
    """Return the possible states of a node, given those of columns."""
    match node:
        case Null():
            return _UNKNOWN
        case Boolean():
            return frozenset((node.value,))
        case Column():
            return unknown.get(node.name, _KNOWN)
        case IsNull():
            return frozenset(state is None for state in _states(node.operand, unknown))
        case IsTrue():
            return frozenset(state is True for state in _states(node.operand, unknown))
        case Not():
            inner = _states(node.operand, unknown)
            return frozenset(None if state is None else not state for state in inner)
        case And() | Or():
            return _joined([_states(part, unknown) for part in node.parts], decisive=not node.every)
        case Case():
            return _chosen(node, unknown)
        case Call(name="coalesce"):
            parts = [_states(part, unknown) for part in node.args]
            return _KNOWN | (_UNKNOWN if all(None in part for part in parts) else frozenset())
        case Call(name="nullif"):
            return _states(node.args[0], unknown)
        case _:
            parts = [_states(part, unknown) for part in children(node) if not isinstance(part, Literals)]
            if _UNKNOWN in parts:
                return _UNKNOWN
            return _KNOWN | (_UNKNOWN if any(None in part for part in parts) else frozenset())


def _joined(parts: list[_States], *, decisive: bool) -> _States:
    """Return the possible states of AND (``decisive`` is false) or OR (true) of parts."""
    found: set[bool | None] = set()
    if any(decisive in part for part in parts):
        found.add(decisive)
    if all((not decisive) in part for part in parts):
        found.add(not decisive)
    open_still = all(part - {decisive} for part in parts)
    if open_still and any(None in part for part in parts):
        found.add(None)
    return frozenset(found)


def _chosen(node: Case, unknown: _Columns) -> _States:
    found: _States = frozenset()
    for condition, value in node.branches:
        holds = _states(condition, unknown)
        found |= holds & _UNKNOWN
        if True in holds:
            found |= _states(value, unknown)
        if False not in holds:
            return found
    return found | _states(node.default, unknown)


_MAX_PIECES = 4_000
_MAX_EXAMPLES = 5_000
_NARROW = 1e-9
_PLAUSIBLE = (1.0, 10.0, 100.0)
_TRIED: dict[Kind | None, tuple[Value, ...]] = {
    Kind.TEXT: ("a text",),
    Kind.MOMENT: (datetime(2020, 1, 31), datetime(1970, 1, 1)),
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """The set of valid budgets; whatever is larger than a valid one is valid too."""

    is_valid: Callable[[Value], bool]

    def everywhere(self, found: Outcome) -> bool:
        """Return whether all that an expression can give is valid."""
        return found.total and not found.values.empty and self.is_valid(found.values.low)

    def nowhere(self, found: Outcome) -> bool:
        """Return whether nothing that an expression can give is valid."""
        return found.values.empty or not self.is_valid(found.values.high)


def invalid_regions(
    node: Node, column: str, within: Interval, threshold: Threshold
) -> tuple[list[Interval], bool]:
    """Return values of its only column for which an expression gives no valid budget, and if it is complete.

    It is not where the expression is too intricate to be decided everywhere.
    """
    regions: list[Interval] = []
    for piece in _decided(_of_known_values(node), column, within, threshold):
        if piece is None:
            return regions, False
        last = regions[-1] if regions else None
        if last is not None and math.nextafter(last.high, math.inf) >= piece.low:
            regions[-1] = Interval(last.low, piece.high)
        else:
            regions.append(piece)
    return regions, True


def never_valid_without(
    node: Node, column: str, ranges: Mapping[str, Interval], threshold: Threshold
) -> bool:
    """Return whether records without a value in a column have no valid budget, as far as a grid shows."""
    samples = _samples(node, ranges) | {column: [None]}
    tried = (dict(zip(samples, values, strict=True)) for values in product(*samples.values()))
    return not any(threshold.is_valid(evaluate(node, record)) for record in islice(tried, _MAX_EXAMPLES))


def _of_known_values(node: Node) -> Node:
    """Return an expression that gives the same to every record whose columns all have values.

    >>> from prdp.expressions.nodes import canonical
    >>> from prdp.expressions.parse import parse
    >>> canonical(_of_known_values(parse("10 - coalesce(age, 0)")))
    '10 - age'
    """
    match node:
        case Call(name="coalesce", args=(Column() as first, *_)):
            return first
        case IsNull(operand=Column()):
            return Boolean(value=False, span=node.span)
        case _:
            parts = {part.name: getattr(node, part.name) for part in fields(node) if part.name != "span"}
            return replace(node, **{name: _each_of_known_values(part) for name, part in parts.items()})


def _each_of_known_values(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_each_of_known_values, part))
    return _of_known_values(part) if isinstance(part, Node) else part


def _decided(node: Node, column: str, within: Interval, threshold: Threshold) -> Iterator[Interval | None]:
    """Yield, from left to right, the pieces of a range where budgets are not valid; None for giving up."""
    waiting = list(reversed(_cut_at_constants(node, within)))
    for _ in range(_MAX_PIECES):
        if not waiting:
            return
        piece = waiting.pop()
        found = outcome(node, {column: piece})
        if threshold.everywhere(found):
            continue
        middle = _middle(piece)
        if threshold.nowhere(found):
            yield piece
        elif middle is None:
            yield from _without_valid_end(
                piece, lambda value: threshold.is_valid(evaluate(node, {column: value}))
            )
        else:
            waiting.append(Interval(math.nextafter(middle, math.inf), piece.high))
            waiting.append(Interval(piece.low, middle))
    yield None


def _without_valid_end(piece: Interval, is_valid: Callable[[float], bool]) -> Iterator[Interval]:
    """Yield a narrow piece without what is valid at one of its ends; nothing where both are."""
    low, high = piece.low, piece.high
    match is_valid(low), is_valid(high):
        case False, False:
            yield piece
        case True, False:
            yield Interval(_last(high, low, is_valid), high)
        case False, True:
            yield Interval(low, _last(low, high, is_valid))


def _last(invalid: float, valid: float, is_valid: Callable[[float], bool]) -> float:
    """Return the last number that is not valid on the way from one that is not to one that is."""
    while (middle := invalid / 2 + valid / 2) not in (invalid, valid):
        invalid, valid = (invalid, middle) if is_valid(middle) else (middle, valid)
    return invalid


def _cut_at_constants(node: Node, within: Interval) -> list[Interval]:
    """Cut a range at zero and at the numbers of the expression, which become pieces of their own."""
    numbers = {0.0, *(part.value for part in walk(node) if isinstance(part, Number))}
    pieces: list[Interval] = []
    low = within.low
    for cut in sorted(number for number in numbers if within.contains(number)):
        pieces += [Interval(low, math.nextafter(cut, -math.inf)), Interval(cut, cut)]
        low = math.nextafter(cut, math.inf)
    return [piece for piece in (*pieces, Interval(low, within.high)) if not piece.empty]


def _middle(piece: Interval) -> float | None:
    """Return the point to split at: by magnitude as long as the ends differ in it; None when narrow."""
    low, high = piece.low, piece.high
    size, largest = sorted((abs(low), abs(high)))
    if high - low <= _NARROW * largest:
        return None
    if size and largest > 4 * size and low * high > 0:
        return math.copysign(math.sqrt(size) * math.sqrt(min(largest, 1e308)), low)
    return low / 2 + high / 2 if math.isfinite(high - low) else math.copysign(1.0, low + high)


def invalid_example(
    node: Node, ranges: Mapping[str, Interval], threshold: Threshold
) -> dict[str, Value] | None:
    """Return a record within the ranges that has no valid budget, if a grid shows one."""
    samples = _samples(node, ranges)
    for values in islice(product(*samples.values()), _MAX_EXAMPLES):
        record = dict(zip(samples, values, strict=True))
        if not threshold.is_valid(evaluate(node, record)):
            return record
    return None


def _samples(node: Node, ranges: Mapping[str, Interval]) -> dict[str, list[Value]]:
    """Return values to try for each column: ends, powers of ten, and what the expression names."""
    named = _named_values(node)
    numbers = [part.value for part in walk(node) if isinstance(part, Number)]
    samples: dict[str, list[Value]] = {}
    for column in sorted(columns(node)):
        if column in named:
            samples[column] = [*named[column]]
        elif column in ranges:
            samples[column] = [*_grid(ranges[column], numbers)]
        else:
            samples[column] = [*_PLAUSIBLE]
    return samples


def _grid(within: Interval, numbers: list[float]) -> list[float]:
    powers = [sign * 10.0**exponent for exponent in range(-3, 16, 3) for sign in (1, -1)]
    near = [math.nextafter(number, side) for number in numbers for side in (-math.inf, math.inf)]
    inner = [x for x in (0.0, *numbers, *near, *powers) if within.low < x < within.high]
    return [*dict.fromkeys((within.high, within.low, *inner))]


def _named_values(node: Node) -> dict[str, list[Value]]:
    """Return, for columns that are not numbers, the values that the expression compares with.

    A text that is not named represents all others.
    """
    named: dict[str, list[Value]] = {}
    for part in walk(node):
        match part:
            case Compare():
                sides = [(part.left, part.right), (part.right, part.left)]
            case InList():
                sides = [(part.operand, item) for item in part.items]
            case _:
                sides = []
        for column, value in sides:
            if isinstance(column, Column) and isinstance(value, Text | Moment | Boolean):
                named.setdefault(column.name, []).append(value.value)
        for column, tried in _used_by_functions(part):
            named.setdefault(column.name, []).extend(tried)
        for column in _used_as_condition(part):
            named[column.name] = [True, False]
    return {name: [*values, *_others(values)] for name, values in named.items()}


def _used_by_functions(part: Node) -> Iterator[tuple[Column, tuple[Value, ...]]]:
    """Yield columns that a function reads as texts or moments, with some that they could be."""
    if isinstance(part, Call):
        kinds = SIGNATURES[part.name].kind
        for place, arg in enumerate(part.args):
            if isinstance(arg, Column) and kinds(place) in _TRIED:
                yield arg, _TRIED[kinds(place)]


def _used_as_condition(part: Node) -> list[Column]:
    match part:
        case And() | Or():
            inner = part.parts
        case Not():
            inner = (part.operand,)
        case Case():
            inner = tuple(condition for condition, _ in part.branches)
        case _:
            inner = ()
    return [condition for condition in inner if isinstance(condition, Column)]


def _others(values: list[Value]) -> list[Value]:
    if any(isinstance(value, str) for value in values):
        return ["" if "" not in values else "another text"]
    return [True, False] if any(isinstance(value, bool) for value in values) else []
