"""Rows of a statement from what was released: windows, grouped results, unions; all at no cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from prdp.errors import InvalidRequest
from prdp.expressions.evaluate import Value as Plain
from prdp.expressions.nodes import Column, Node, Null, Number, columns
from prdp.release import formatting
from prdp.release.release import Release
from prdp.release.table import ReleaseTable
from prdp.sql.days import Day
from prdp.sql.estimates import ComputedAnswer
from prdp.sql.margins import ABSENT
from prdp.sql.released_rows import ReleasedRow, Releases, constant, sorted_rows
from prdp.sql.released_select import (
    End,
    Extra,
    Joined,
    OutputClauses,
    PublicRows,
    ReleasedSelect,
    Union,
    Value,
)
from prdp.sql.statement import Compiled
from prdp.sql.windows import Window, folded

MAX_JOINED = 1_000_000
"""Largest number of pairs of rows that a join of grouped results looks at."""


_ABSENT, _PRESENT = Number(1.0), Number(0.0)
"""What GROUPING says of a key."""

_OF_NOTHING = "NULL where the released count is below 1: there may be no such values"


class Drawn(Protocol):
    """The answers to one SELECT about records."""

    @property
    def keys(self) -> Sequence[Sequence[Any]]:
        """The keys of its groups."""

    @property
    def rows(self) -> Sequence[Sequence[Release]]:
        """The releases of each."""

    @property
    def table(self) -> ReleaseTable | None:
        """The releases as the ledger keeps them."""

    @property
    def spent(self) -> Fraction:
        """The share that was used."""

    @property
    def known(self) -> Mapping[str, Plain]:
        """What is known of answers that were not asked for."""


class Evaluation:
    """Computes the rows of a statement's relations, each once."""

    def __init__(self, among: int) -> None:
        self._among = among
        self._releases = Releases()
        self._asked: dict[int, list[ReleasedRow]] = {}
        self._found: dict[int, list[ReleasedRow]] = {}
        self._named: dict[int, str] = {}

    def take(self, asked: Compiled, name: str, drawn: Drawn) -> None:
        """Take the answers to a SELECT about records."""
        if drawn.table is not None:  # the same question, asked twice, has the same answers
            name = self._named.setdefault(id(drawn.table), name)
        share = Fraction(0) if drawn.table is None else drawn.spent if asked.margins else drawn.table.share
        others: dict[str, Node] = {called: constant(value) for called, value in drawn.known.items()}
        rows = []
        for row, (listed, releases) in enumerate(zip(drawn.keys, drawn.rows, strict=True)):
            absent = [value is ABSENT for value in listed]
            key = _without(absent, listed) if any(absent) else listed
            if asked.by is not None:
                key = asked.by.key(key)
                key = _without(absent, key) if any(absent) else key
            one = [release.selected(self._among) for release in releases]
            nodes = {**others, **self._releases.add(name, row, one, share)}
            shown = {}
            for place, (value, missing) in enumerate(zip(key, absent, strict=True)):
                nodes[f"g{place}"] = _ABSENT if missing else _PRESENT
                nodes[f"k{place}"] = constant(value)
                shown[f"k{place}"] = value
            rows.append(ReleasedRow(self._releases, nodes, shown))
        self._asked[id(asked)] = rows

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on values that are NULL."""
        return (_OF_NOTHING,) if self._releases.has_empty else ()

    def rows(self, relation: Any) -> list[ReleasedRow]:
        """Return the rows of a relation; ``c0`` is its first column."""
        if id(relation) not in self._found:
            self._found[id(relation)] = self._rows(relation)
        return self._found[id(relation)]

    def _rows(self, relation: Any) -> list[ReleasedRow]:
        match relation:
            case Compiled():
                return self._ended(self._of_records(relation), relation.tail)
            case ReleasedSelect():
                return self._ended(self._of_results(relation), relation.tail)
            case Union():
                return self._ended([*self.rows(relation.left), *self.rows(relation.right)], relation.tail)
            case PublicRows():
                return [self._public(row) for row in relation.rows]
            case _:
                raise TypeError(f"{type(relation).__name__} has no rows")

    def _public(self, values: Sequence[Any]) -> ReleasedRow:
        nodes = {f"c{place}": constant(value) for place, value in enumerate(values)}
        return ReleasedRow(self._releases, nodes, {f"c{place}": value for place, value in enumerate(values)})

    def _of_records(self, asked: Compiled) -> list[ReleasedRow]:
        if asked.tail.limit == 0:
            return []
        return self._asked[id(asked)] if asked.queries else [ReleasedRow(self._releases, {})]

    def _of_results(self, select: ReleasedSelect) -> list[ReleasedRow]:
        rows = [ReleasedRow(self._releases, {})]
        for place, source in enumerate(select.sources):
            rows = self._joined(rows, source, place)
        if select.where is not None:
            rows = [row for row in rows if row.value(select.where.node) is True]
        return rows if select.by is None else self._grouped(select, rows)

    def _joined(self, rows: list[ReleasedRow], source: Joined, place: int) -> list[ReleasedRow]:
        others = self.rows(source.relation)
        if len(rows) * len(others) > MAX_JOINED:
            raise InvalidRequest(
                f"a join of grouped results looks at {len(rows) * len(others):,} pairs of rows, more than "
                f"{MAX_JOINED:,}. Join fewer groups."
            )
        found = []
        for row in rows:
            pairs = [_beside(row, other, place) for other in others]
            kept = [pair for pair in pairs if all(pair.value(held.node) is True for held in source.on)]
            if not kept and source.optional:
                missing: dict[str, Node] = {
                    f"s{place}c{k}": Null() for k in range(len(source.relation.names))
                }
                kept = [ReleasedRow(self._releases, {**row.nodes, **missing}, row.keys)]
            found += kept
        return found

    def _grouped(self, select: ReleasedSelect, rows: list[ReleasedRow]) -> list[ReleasedRow]:
        assert select.by is not None  # noqa: S101  (asked by `_of_results`)
        parts: dict[tuple[Plain, ...], list[ReleasedRow]] = {} if select.by else {(): []}
        for row in rows:
            parts.setdefault(tuple(row.value(one.node) for one in select.by), []).append(row)
        found = []
        for key, within in parts.items():
            nodes = {f"k{place}": constant(value) for place, value in enumerate(key)}
            shown = {
                f"k{place}": within[0].keys[one.node.name]
                for place, one in enumerate(select.by)
                if isinstance(one.node, Column) and one.node.name in within[0].keys
            }
            nodes |= {
                name: folded(fold.function, within, fold.argument, fold.held)
                for name, fold in select.folds.items()
            }
            found.append(ReleasedRow(self._releases, nodes, shown))
        return found

    def _ended(self, rows: list[ReleasedRow], tail: OutputClauses) -> list[ReleasedRow]:
        """Return what HAVING, windows, QUALIFY, ORDER BY and LIMIT leave of rows, as the selected columns."""
        rows = [ReleasedRow(self._releases, dict(row.nodes), row.keys) for row in rows]
        later = _later(tail.extras)
        self._extend(rows, {name: extra for name, extra in tail.extras.items() if name not in later})
        if tail.having is not None:
            rows = [row for row in rows if row.value(tail.having.node) is True]
        self._extend(rows, {name: extra for name, extra in tail.extras.items() if name in later})
        if tail.qualify is not None:
            rows = [row for row in rows if row.value(tail.qualify.node) is True]
        rows = sorted_rows(rows, tail.order)
        items = [(f"c{place}", item.checked.node) for place, item in enumerate(tail.items)]
        found = [row.projected(items) for row in rows]
        if tail.distinct:
            found = _distinct(found, len(tail.items))
        return found[tail.offset :] if tail.limit is None else found[tail.offset : tail.offset + tail.limit]

    def _extend(self, rows: list[ReleasedRow], extras: Mapping[str, Extra]) -> None:
        for name, extra in extras.items():
            match extra:
                case Window():
                    nodes = extra.nodes(rows)
                case End():
                    nodes = [constant(_end_of(row, extra)) for row in rows]
                case Day():
                    nodes = [row.node(extra.node) for row in rows]
                case Value():
                    nodes = [self._value(extra)] * len(rows)
            for row, node in zip(rows, nodes, strict=True):
                row.nodes[name] = node

    def _value(self, extra: Value) -> Node:
        found = self.rows(extra.relation)
        return found[0].nodes["c0"] if found else Null()


def _without(absent: Sequence[bool], key: Sequence[Any]) -> list[Any]:
    """Return a key with NULL in place of what it lacks."""
    return [None if missing else value for value, missing in zip(key, absent, strict=True)]


def _beside(row: ReleasedRow, other: ReleasedRow, place: int) -> ReleasedRow:
    """Return one row with another's columns beside its own."""
    own = {f"s{place}{name}": node for name, node in other.nodes.items()}
    keys = {f"s{place}{name}": cell for name, cell in other.keys.items()}
    return ReleasedRow(row.releases, {**row.nodes, **own}, {**row.keys, **keys})


def _distinct(rows: list[ReleasedRow], width: int) -> list[ReleasedRow]:
    found: dict[tuple[Plain, ...], ReleasedRow] = {}
    for row in rows:
        found.setdefault(tuple(row.value(Column(f"c{place}")) for place in range(width)), row)
    return list(found.values())


def _later(extras: Mapping[str, Extra]) -> set[str]:
    """Return which extras wait for HAVING: windows, and what is made of them."""
    found: set[str] = set()
    for name, extra in extras.items():
        if isinstance(extra, Window) or (isinstance(extra, End) and columns(extra.checked.node) & found):
            found.add(name)
    return found


def _end_of(row: ReleasedRow, extra: End) -> Plain:
    """Return an end of the interval of what a row shows; of a plain number, the number."""
    cell = row.cell("", extra.checked.node)
    if not isinstance(cell, Release | ComputedAnswer):
        return cell if isinstance(cell, float) else None
    found = float(cell.interval()[extra.end])
    if not math.isfinite(found):
        return None
    if isinstance(cell, ComputedAnswer) and cell.day:
        return formatting.day_of(found)
    outward: Callable[[float], int] = math.ceil if extra.end else math.floor
    return found if not cell.whole else float(outward(found))
