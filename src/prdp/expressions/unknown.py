"""Find which unknown columns can make an expression unknown: by its form alone, whatever the records hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from prdp.expressions.nodes import (
    And,
    Boolean,
    Call,
    Case,
    Column,
    IsNull,
    IsTrue,
    Literals,
    Node,
    Not,
    Null,
    Or,
    children,
    walk,
)

_MAX_TRIED = 6
"""Of so many columns all sets are tried; of more, single columns and pairs."""

_States = frozenset[bool | None]
"""What a node can be: unknown (None), or known; of a condition, false or true."""

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
"""What columns can be; all others have values."""


def _states(node: Node, unknown: _Columns) -> _States:  # noqa: C901, PLR0911  (one return a class)
    """Return what a node can be where columns can be so."""
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
            return _joined([_states(part, unknown) for part in node.parts], decisive=isinstance(node, Or))
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
    """Return what AND (``decisive`` is false) or OR (true) of parts can be."""
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
