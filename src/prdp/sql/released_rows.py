"""Rows of released values: every value is an expression over releases, evaluated and bounded when looked at.

Whatever SQL computes from answers (windows, shares of a total, grouped results of grouped results) puts such
expressions together, and costs nothing: post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from prdp.declare.columns import derived_rounding
from prdp.expressions.evaluate import Value, evaluate, value_of
from prdp.expressions.nodes import (
    And,
    Arithmetic,
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
    Negate,
    Node,
    Not,
    Null,
    Number,
    Or,
    Text,
    columns,
)
from prdp.release import formatting
from prdp.release.derived import PARTS
from prdp.release.release import Release
from prdp.release.totals import total_of
from prdp.schema import ColumnType, Kind
from prdp.sql.days import days_between, ordinal_of
from prdp.sql.estimates import ComputedAnswer, is_of_nothing
from prdp.sql.results import Cell
from prdp.sql.row_nodes import CheckedNode


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the answers: its name, and how it is computed."""

    name: str
    checked: CheckedNode


@dataclass(frozen=True, slots=True)
class Sorted:
    """One entry of ORDER BY."""

    checked: CheckedNode
    descending: bool
    nulls_first: bool


class Releases:
    """All numbers that were released for a statement, by names of which there is one each.

    ``s0g3a1`` is the answer to the second query about the fourth group of the first SELECT, ``s0g3a1_0`` the
    first part of it, and ``t0`` a total of several.
    """

    def __init__(self) -> None:
        self.parts: dict[str, Release] = {}
        self._shares: dict[str, Fraction] = {}
        self._columns: dict[str, frozenset[tuple[str, str]]] = {}
        self._totals: dict[frozenset[str], str] = {}
        self._values: dict[str, float | None] = {}
        self.has_empty = False

    def add(self, select: str, row: int, releases: Sequence[Release], share: Fraction) -> dict[str, Node]:
        """Take the answers about one group, and return what their names in the statement stand for."""
        nodes: dict[str, Node] = {}
        self._shares[select] = share
        for place, release in enumerate(releases):
            name = f"{select}g{row}a{place}"
            self.parts[name] = release
            nodes[f"a{place}"] = Column(name)
            for number, part in enumerate(release.parts):
                self.parts[f"{name}_{number}"] = part.selected(release.among)
                nodes[f"a{place}_{number}"] = Column(f"{name}_{number}")
        return nodes

    def value(self, name: str) -> float | None:
        """Return a released number as it is computed with; None of a mean of no values, as SQL says."""
        if name not in self._values:
            empty = self.is_empty(name)
            self._values[name] = None if empty else float(formatting.value_of(self.parts[name]))
        return self._values[name]

    def is_empty(self, name: str) -> bool:
        """Return whether a released number is a mean of no values."""
        empty = is_of_nothing(self.parts[name])
        self.has_empty = self.has_empty or empty
        return empty

    def may_be_empty(self, name: str) -> bool:
        """Return whether a released number is a mean of no values, or the noise hides whether it is."""
        return self.is_empty(name) or (self.parts[name].rule in PARTS and self.parts[name].perhaps_of_nothing)

    def total(self, names: Sequence[str]) -> Node | None:
        """Return the total of answers to one query about different groups; None of any others."""
        if len(names) == 1:
            return Column(names[0])
        known = set(names)
        apart = len(known) == len(names) and all("_" not in name and name[0] == "s" for name in names)
        if not apart or len(set().union(*map(self._columns_of, names))) > 1:
            return None
        terms = [self.parts[name] for name in names]
        if any(term.parts or term.chosen is not None or term.ends is not None for term in terms):
            return None
        called = self._totals.setdefault(frozenset(known), f"t{len(self._totals)}")
        if called not in self.parts:
            self.parts[called] = total_of(terms)
            self._columns[called] = self._columns_of(names[0])
        return Column(called)

    def _columns_of(self, name: str) -> frozenset[tuple[str, str]]:
        """Return of which SELECT, and of which of its queries, a number is the answer."""
        if name in self._columns:
            return self._columns[name]
        select, _, answer = name.partition("g")
        return frozenset({(select, answer.partition("_")[0].partition("a")[2])})

    def share(self, names: Iterable[str]) -> Fraction:
        """Return the part of every budget that answers used: of groups of one query, that of one."""
        used: dict[str, dict[str, Fraction]] = {}
        for name in names:
            share = self.parts[name.partition("_")[0]].share
            for select, place in self._columns_of(name):
                used.setdefault(select, {})[place] = share
        # What was drawn once for several answers of a SELECT is in each of their shares.
        zero = Fraction(0)
        return sum(
            (min(sum(shares.values(), zero), self._shares[select]) for select, shares in used.items()), zero
        )


class ReleasedRow:
    """One row of released values.

    Attributes:
        nodes: What each name is in this row: an expression over releases and constants.
        keys: Cells that are shown as they are, such as keys, by name.
    """

    def __init__(
        self, releases: Releases, nodes: dict[str, Node], keys: Mapping[str, Cell] | None = None
    ) -> None:
        self.releases = releases
        self.nodes = nodes
        self.keys = keys or {}

    def node(self, node: Node) -> Node:
        """Return an expression over this row's names as one over releases."""
        return with_nodes(node, self.nodes)

    def value(self, node: Node) -> Value:
        """Return what an expression gives for the released values; an infinity is no answer."""
        return self.value_of(self.node(node))

    def value_of(self, node: Node) -> Value:
        """Return the same of an expression over releases."""
        value = evaluate(node, {name: self.releases.value(name) for name in columns(node)})
        return None if isinstance(value, float) and math.isinf(value) else value

    def cell(self, name: str, node: Node) -> Cell:
        """Return a column's cell: a release, a number computed from such, a key or another plain value."""
        if isinstance(node, Column) and node.name in self.keys:
            return self.keys[node.name]
        found = self.node(node)
        parts = self.releases.parts
        if isinstance(found, Column):
            return None if self.releases.is_empty(found.name) else parts[found.name]
        used = {part: parts[part] for part in sorted(columns(found))}
        value = self.value_of(found)
        day = ordinal_of(found)
        if day is not None and used and isinstance(value, datetime):
            return ComputedAnswer(name, day, used, {}, self.releases.share(used), whole=True, day=True)
        if not used or not isinstance(value, float) or isinstance(value, bool):
            return value
        return ComputedAnswer(name, found, used, {}, self.releases.share(used), whole=_is_whole(found, used))

    def projected(self, items: Sequence[tuple[str, Node]]) -> ReleasedRow:
        """Return the row of what is selected, by the names of its columns."""
        nodes, keys = {}, {}
        for name, node in items:
            nodes[name] = self.node(node)
            if isinstance(node, Column) and node.name in self.keys:
                keys[name] = self.keys[node.name]
        return ReleasedRow(self.releases, nodes, keys)


def _is_whole(node: Node, parts: Mapping[str, Release]) -> bool:
    """Return whether an expression of whole numbers is one."""
    schema = {name: ColumnType(Kind.NUMBER, integer=part.whole) for name, part in parts.items()}
    round_to = derived_rounding(node, schema, {})
    return round_to is not None and round_to.denominator == 1


def constant(value: Any) -> Node:
    """Return a plain value as an expression; of a key, what it is compared with."""
    found = value_of(value)
    match found:
        case None:
            return Null()
        case bool():
            return Boolean(found)
        case float():
            return Number(found + 0.0) if math.isfinite(found) else Null()
        case str():
            return Text(found)
        case _:
            return Moment(found)


def with_nodes(node: Node, nodes: Mapping[str, Node]) -> Node:  # noqa: PLR0911  (one return a class)
    """Return an expression with others in place of its columns; a CASE that these decide is its branch.

    >>> with_nodes(Negate(Column("a0")), {"a0": Number(2.0)})
    Negate(operand=Number(value=2.0))
    """

    def inner(part: Node) -> Node:
        return with_nodes(part, nodes)

    match node:
        case Column():
            return nodes[node.name]
        case Negate() | Not() | IsNull() | IsTrue() | Cast():
            return replace(node, operand=inner(node.operand))
        case Arithmetic() | Compare():
            return replace(node, left=inner(node.left), right=inner(node.right))
        case Call():
            return days_between(replace(node, args=tuple(map(inner, node.args))))
        case And() | Or():
            return replace(node, parts=tuple(map(inner, node.parts)))
        case InList():
            return replace(node, operand=inner(node.operand))
        case Case():
            return _decided(
                ((inner(condition), inner(value)) for condition, value in node.branches), node, inner
            )
        case _:
            return node


def _decided(branches: Iterable[tuple[Node, Node]], node: Case, inner: Callable[[Node], Node]) -> Node:
    """Return a CASE without the branches that constants decide, such as a group's key does."""
    left: list[tuple[Node, Node]] = []
    for condition, value in branches:
        truth = None if columns(condition) else evaluate(condition, {})
        if truth is True:
            return replace(node, branches=tuple(left), default=value) if left else value
        if truth is not False:
            left.append((condition, value))
    default = inner(node.default)
    return replace(node, branches=tuple(left), default=default) if left else default


def sorted_rows(rows: Sequence[ReleasedRow], order: Sequence[Sorted]) -> list[ReleasedRow]:
    """Return rows sorted by all entries of ORDER BY; those that are equal stay as they are."""
    found = list(rows)
    for entry in reversed(order):
        found = _sorted(found, entry)
    return found


def _sorted(rows: list[ReleasedRow], entry: Sorted) -> list[ReleasedRow]:
    values: list[Any] = [row.value(entry.checked.node) for row in rows]
    there = [place for place, value in enumerate(values) if value is not None]
    there.sort(key=values.__getitem__, reverse=entry.descending)
    missing = [place for place, value in enumerate(values) if value is None]
    return [rows[place] for place in ([*missing, *there] if entry.nulls_first else [*there, *missing])]


def is_constant(node: Node) -> bool:
    """Return whether an expression is written out, so that it has no interval."""
    return isinstance(node, Literals | Null)
