"""Window functions and aggregates over released rows, each an expression over releases: they cost nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from prdp.expressions.nodes import (
    Arithmetic,
    Call,
    Case,
    Column,
    Compare,
    CompareOp,
    FunctionName,
    IsNull,
    Node,
    Null,
    Number,
    columns,
    walk,
)
from prdp.schema import Kind
from prdp.sql.constants import whole_in
from prdp.sql.reading import SqlStatement
from prdp.sql.refused import unread
from prdp.sql.released_rows import ReleasedRow, Releases, Sorted, constant, is_constant, sorted_rows
from prdp.sql.row_nodes import CheckedNode

FOLDS = {"Sum": "sum", "Count": "count", "Avg": "avg", "Min": "min", "Max": "max", "CountIf": "count_if"}
"""Aggregates over released rows."""

_PARTS = {"PercentRank": "percent_rank", "CumeDist": "cume_dist"}
_RANKS = {"Rank": "rank", "DenseRank": "dense_rank", "RowNumber": "row_number", **_PARTS}
_PLACES = {"Lag": "lag", "Lead": "lead", "FirstValue": "first_value", "LastValue": "last_value"}
WINDOWS = {**FOLDS, **_RANKS, **_PLACES, "Ntile": "ntile"}
"""Functions that are read before OVER."""

_MOST_REPLACED = 50
"""Values that a mean may have in its place, where each may be of no values."""

_MOST_RANKED = 200
"""Ranks among more rows have no interval: each is compared with all others."""

Frame = tuple[int | None, int | None]
"""From how many rows before a row to how many after it; None for all."""


@dataclass(frozen=True, slots=True)
class Window:
    """A function over the rows around each row.

    Attributes:
        function: Its name.
        argument: What it is over; None where it is over rows.
        by: PARTITION BY.
        order: ORDER BY.
        offset: Of LAG, LEAD and NTILE, the number.
        default: Of LAG and LEAD, the value where there is no row.
        frame: The rows that are looked at; None for those up to the row and all that are sorted alike.
    """

    function: str
    argument: CheckedNode | None = None
    by: tuple[CheckedNode, ...] = ()
    order: tuple[Sorted, ...] = ()
    offset: int = 1
    default: CheckedNode | None = None
    frame: Frame | None = None

    @property
    def selects(self) -> tuple[CheckedNode, ...]:
        """Expressions by whose values rows are distinguished and sorted."""
        return (*self.by, *(entry.checked for entry in self.order))

    def nodes(self, rows: Sequence[ReleasedRow]) -> list[Node]:
        """Return what the function is in each row."""
        parts: dict[tuple[Any, ...], list[int]] = {}
        for place, row in enumerate(rows):
            parts.setdefault(tuple(row.value(by.node) for by in self.by), []).append(place)
        found: dict[int, Node] = {}
        for places in parts.values():
            within = [rows[place] for place in places]
            at = {id(row): place for row, place in zip(within, places, strict=True)}
            ordered = sorted_rows(within, self.order)
            found |= {at[id(row)]: node for row, node in zip(ordered, self._within(ordered), strict=True)}
        return [found[place] for place in range(len(rows))]

    def _within(self, rows: list[ReleasedRow]) -> list[Node]:
        """Return what the function is in each row of a part, in its order."""
        if self.function in _RANKS.values():
            return self._ranks(rows)
        if self.function == "ntile":
            return [Number(float(_tile(place, len(rows), self.offset))) for place in range(len(rows))]
        if self.function in {"lag", "lead"}:
            assert self.argument is not None  # noqa: S101  (read so)
            ahead = self.offset if self.function == "lead" else -self.offset
            return [self._beside(rows, place, place + ahead) for place in range(len(rows))]
        frames = [self._frame(rows, place) for place in range(len(rows))]
        if self.function in {"first_value", "last_value"}:
            at = 0 if self.function == "first_value" else -1
            return [self._argument(frame[at]) if frame else Null() for frame in frames]
        known: dict[tuple[int, int], Node] = {}
        for frame in frames:
            if _ends(frame) not in known:
                known[_ends(frame)] = folded(self.function, frame, self.argument)
        return [known[_ends(frame)] for frame in frames]

    def _argument(self, row: ReleasedRow) -> Node:
        assert self.argument is not None  # noqa: S101  (read so)
        return row.node(self.argument.node)

    def _beside(self, rows: list[ReleasedRow], place: int, other: int) -> Node:
        if 0 <= other < len(rows):
            return self._argument(rows[other])
        return Null() if self.default is None else rows[place].node(self.default.node)

    def _frame(self, rows: list[ReleasedRow], place: int) -> list[ReleasedRow]:
        if self.frame is not None:
            before, after = self.frame
            first = 0 if before is None else max(0, place - before)
            return rows[first:] if after is None else rows[first : max(first, place + after + 1)]
        if not self.order:
            return rows
        alike = self._sorted_as(rows[place])
        last = place
        while last + 1 < len(rows) and self._sorted_as(rows[last + 1]) == alike:
            last += 1
        return rows[: last + 1]

    def _sorted_as(self, row: ReleasedRow) -> tuple[Any, ...]:
        return tuple(row.value(entry.checked.node) for entry in self.order)

    def _ranks(self, rows: list[ReleasedRow]) -> list[Node]:
        alike = [self._sorted_as(row) for row in rows]
        ranks: list[int] = []
        dense: list[int] = []
        for place, values in enumerate(alike):
            tied = place > 0 and alike[place - 1] == values
            ranks.append(ranks[-1] if tied else place + 1)
            dense.append(dense[-1] if tied else dense[-1] + 1 if dense else 1)
        if self.function == "percent_rank":
            others = float(max(1, len(rows) - 1))
            return [_part(self._rank(rows, place, rank), 1.0, others) for place, rank in enumerate(ranks)]
        if self.function == "cume_dist":
            last = [bisect_right(ranks, rank) for rank in ranks]
            return [_part(self._rank(rows, place, rank), 0.0, len(rows)) for place, rank in enumerate(last)]
        if self.function == "dense_rank" and dense != ranks:
            return [Number(float(rank)) for rank in dense]
        wanted = list(range(1, len(rows) + 1)) if self.function == "row_number" else ranks
        return [self._rank(rows, place, number) for place, number in enumerate(wanted)]

    def _rank(self, rows: list[ReleasedRow], place: int, rank: int) -> Node:
        """Return a rank as a number of rows that come before, so that it has an interval."""
        first = self.order[0] if self.order else None
        if first is None or len(rows) > _MOST_RANKED:
            return Number(float(rank))
        truth = first.checked.kind is Kind.BOOLEAN
        sorted_by = [_number_of(row.node(first.checked.node), truth=truth) for row in rows]
        own = sorted_by[place]
        if not columns(own):
            return Number(float(rank))
        op: CompareOp = ">" if first.descending else "<"
        others = [node for other, node in enumerate(sorted_by) if other != place]
        before = [
            Case(((Compare(op, other, own), Number(1.0)),), Number(0.0)) for other in others if other != own
        ]
        value = rows[place].value_of(_added([Number(1.0), *before]))
        tied = rank - (value if isinstance(value, float) else rank)
        return _added([Number(1.0 + tied), *before])


def _number_of(node: Node, *, truth: bool) -> Node:
    """Return what rows are sorted by as it is compared: a truth value as 1 or 0."""
    return Case(((node, Number(1.0)),), Number(0.0)) if truth else node


def _part(rank: Node, first: float, of: float) -> Node:
    """Return a rank as a part of all ranks."""
    if isinstance(rank, Number):
        return Number((rank.value - first) / of)
    return Arithmetic("/", Arithmetic("-", rank, Number(first)), Number(float(of)))


def _ends(frame: list[ReleasedRow]) -> tuple[int, int]:
    return (id(frame[0]), id(frame[-1])) if frame else (0, 0)


def _tile(place: int, rows: int, tiles: int) -> int:
    """Return which of so many tiles a row is in; the first ones have one more where they do not divide."""
    large, more = divmod(rows, tiles)
    if place < more * (large + 1):
        return place // (large + 1) + 1
    return more + (place - more * (large + 1)) // max(1, large) + 1


def folded(
    function: str, rows: Sequence[ReleasedRow], argument: CheckedNode | None, held: CheckedNode | None = None
) -> Node:
    """Return an aggregate of released rows as an expression; ``held`` is its FILTER.

    A value that may be NULL for other true values counts as 0 then, so that the interval holds it.
    """
    releases = rows[0].releases if rows else Releases()
    if argument is None:
        nodes: list[Node] = [Number(1.0) for _ in rows]
    else:
        nodes = [row.node(argument.node) for row in rows]
    if held is not None:
        conditions = [row.node(held.node) for row in rows]
        nodes = [
            Case(((condition, node),), Null()) for condition, node in zip(conditions, nodes, strict=True)
        ]
    if function == "count_if":
        return _sum([Case(((node, Number(1.0)),), Number(0.0)) for node in nodes], releases)
    if function == "count":
        return _sum([_one_unless_null(node, releases) for node in nodes], releases)
    there = [node for node, row in zip(nodes, rows, strict=True) if row.value_of(node) is not None]
    if not there:
        return Null()
    if function in {"min", "max"}:
        return _extreme(function, _all_perhaps(nodes, there, releases), rows[0], argument)
    total = _sum(nodes, releases)
    if function == "sum":
        return total
    return Arithmetic("/", total, _sum([_one_unless_null(node, releases) for node in nodes], releases))


def _all_perhaps(nodes: Sequence[Node], there: Sequence[Node], releases: Releases) -> list[Node]:
    """Return values of which some are there, so that intervals hold the others too.

    One that is there may be NULL in truth, and one that is NULL may be there: others stand in for it.
    """
    sure = [node for node in there if is_constant(node) or _is_sure(node, releases)]
    others = tuple(sure[:1] or there[:_MOST_REPLACED])
    perhaps = [node for node in nodes if not is_constant(node) and not _is_sure(node, releases)]
    return [*sure, *(Call("coalesce", (node, *others)) for node in perhaps)]


def _is_sure(node: Node, releases: Releases) -> bool:
    """Return whether no part of an expression is a mean that may be of no values, or a CASE."""
    return not any(
        isinstance(part, Case | Null) or (isinstance(part, Column) and releases.may_be_empty(part.name))
        for part in walk(node)
    )


def _one_unless_null(node: Node, releases: Releases) -> Node:
    match node:
        case Null():
            return Number(0.0)
        case Case(branches=((condition, Number()),), default=Null()):
            return Case(((condition, Number(1.0)),), Number(0.0))
        case _ if is_constant(node) or _is_there(node, releases):
            return Number(1.0)
        case _:
            return Case(((IsNull(node), Number(0.0)),), Number(1.0))


def _is_there(node: Node, releases: Releases) -> bool:
    """Return whether an expression over releases always has a value: sums, differences and products have."""
    return all(
        isinstance(part, Number)
        or (isinstance(part, Column) and not releases.may_be_empty(part.name))
        or (isinstance(part, Arithmetic) and part.op in "+-*")
        for part in walk(node)
    )


def _sum(nodes: list[Node], releases: Releases) -> Node:
    names = [node.name for node in nodes if isinstance(node, Column)]
    total = releases.total(names) if nodes and len(names) == len(nodes) else None
    if total is not None:
        return total
    if all(isinstance(node, Number | Null) for node in nodes):
        return Number(sum(node.value for node in nodes if isinstance(node, Number)) + 0.0)
    terms = [
        node if _is_there(node, releases) else Call("coalesce", (node, Number(0.0)))
        for node in nodes
        if not isinstance(node, Null)
    ]
    return _added(terms) if terms else Null()


def _added(terms: Sequence[Node]) -> Node:
    """Return a sum as a tree of few levels."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return Arithmetic("+", _added(terms[:half]), _added(terms[half:]))


def _extreme(function: str, nodes: list[Node], row: ReleasedRow, argument: CheckedNode | None) -> Node:
    if argument is None or argument.kind is not Kind.NUMBER:
        pick: Callable[[Any], Any] = min if function == "min" else max
        return constant(pick(row.value_of(node) for node in nodes))
    name: FunctionName = "least" if function == "min" else "greatest"
    return nodes[0] if len(nodes) == 1 else Call(name, tuple(nodes))


class WindowReader(Protocol):
    """Reads the parts of a window."""

    def read(self, node: Any) -> CheckedNode:
        """Return an expression over the rows, checked."""

    def read_order(self, clause: Any) -> tuple[Sorted, ...]:
        """Return the entries of ORDER BY."""

    def refuse(self, node: Any, reason: str, advice: str = "") -> Any:
        """Refuse a part of the statement, underlined."""


def read_window(reader: WindowReader, node: Any) -> Window:
    """Read a function with OVER: over released rows, of which each is a group."""
    call, name = node.this, type(node.this).__name__
    if unread(node, ("this", "partition_by", "order", "spec", "over")) is not None:
        reader.refuse(
            node, "this window has a part that is not read", "Write OVER (PARTITION BY a ORDER BY b)."
        )
    if name not in WINDOWS:
        reader.refuse(call, "this function is not read before OVER", _READ)
    reads = {"Lag": ("this", "offset", "default"), "Lead": ("this", "offset", "default")}.get(name, ("this",))
    if unread(call, (*reads, "big_int")) is not None:
        reader.refuse(call, "this function has a part that is not read before OVER", _READ)
    order = reader.read_order(node.args.get("order"))
    if name in {*_RANKS, "Lag", "Lead", "Ntile"} and not order:
        reader.refuse(node, f"{call.sql_name()} needs an order", "Write OVER (ORDER BY COUNT(*) DESC).")
    default = call.args.get("default")
    return Window(
        WINDOWS[name],
        _argument(reader, call, name),
        tuple(map(reader.read, node.args.get("partition_by") or [])),
        order,
        _offset(reader, call, name),
        None if default is None else reader.read(default),
        _frame(reader, node.args.get("spec"), ordered=bool(order)),
    )


_WINDOW_PARTS = ("partition_by", "order", "spec")


def name_windows(statement: SqlStatement, select: Any) -> None:
    """Put the windows that WINDOW names in place of their names; refuse parts that are there twice."""
    named = select.args.get("windows") or []
    known = {window.name.lower(): window for window in named}
    if not known or len(known) < len(named) or any(window.args.get("alias") for window in named):
        return  # what is left of it is refused
    for item in (*select.expressions, *filter(None, map(select.args.get, ("qualify", "order")))):
        for over in [part for part in item.walk() if type(part).__name__ == "Window"]:
            window = known.get(over.alias.lower())
            if window is None or over.parent_select is not select:
                continue
            if any(over.args.get(part) and window.args.get(part) for part in _WINDOW_PARTS):
                statement.refuse(over, "this window says again what its name says", "Write it out.")
            for part in _WINDOW_PARTS:
                over.set(part, over.args.get(part) or _copied(window.args.get(part)))
            over.set("alias", None)
    select.set("windows", None)


def _copied(part: Any) -> Any:
    return [each.copy() for each in part] if isinstance(part, list) else part and part.copy()


_READ = (
    "SUM, COUNT, AVG, MIN, MAX, RANK, DENSE_RANK, ROW_NUMBER, PERCENT_RANK, CUME_DIST, NTILE, LAG, LEAD, "
    "FIRST_VALUE and LAST_VALUE are."
)


def _argument(reader: WindowReader, call: Any, name: str) -> CheckedNode | None:
    inner = call.args.get("this")
    if name in _RANKS or name == "Ntile" or type(inner).__name__ in {"Star", "NoneType"}:
        if name not in {*_RANKS, "Ntile", "Count"}:
            reader.refuse(call, "this function is over nothing", "For example: SUM(COUNT(*)) OVER ().")
        return None
    if type(inner).__name__ == "Distinct":
        reader.refuse(call, "DISTINCT is not read before OVER", "Leave it out.")
    checked = reader.read(inner)
    if name in {"Sum", "Avg"} and checked.kind not in {None, Kind.NUMBER}:
        reader.refuse(inner, f"{call.key.upper()} adds up numbers", "For example: SUM(COUNT(*)) OVER ().")
    return checked


def _offset(reader: WindowReader, call: Any, name: str) -> int:
    part = call.args.get("this" if name == "Ntile" else "offset")
    number = 1 if part is None or name not in {"Ntile", "Lag", "Lead"} else whole_in(part)
    if number is None or (name == "Ntile" and number < 1):
        reader.refuse(part, "this takes a whole number", "For example: LAG(COUNT(*), 1).")
    return int(number or 0)


_SIDES: Mapping[str, int] = {"PRECEDING": -1, "FOLLOWING": 1}


def _frame(reader: WindowReader, spec: Any, *, ordered: bool) -> Frame | None:
    """Return the rows of a frame, in whole rows."""
    if spec is None:
        return None
    kind = str(spec.args.get("kind") or "").upper()
    ends = [
        _bound(reader, spec, spec.args.get(side) or "CURRENT ROW", spec.args.get(f"{side}_side"))
        for side in ("start", "end")
    ]
    if kind == "RANGE" and ends == [None, 0]:
        return None
    if kind == "RANGE" and ends != [None, None]:
        reader.refuse(spec, "RANGE is read from UNBOUNDED PRECEDING to CURRENT ROW alone", "Write ROWS.")
    if spec.args.get("exclude") or (not ordered and ends != [None, None]):
        reader.refuse(
            spec, "this frame is not read", "Write ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW."
        )
    low, high = ends
    return None if low is None else -low, high


def _bound(reader: WindowReader, spec: Any, end: Any, side: Any) -> int | None:
    if end == "UNBOUNDED":
        return None
    if end == "CURRENT ROW":
        return 0
    number = whole_in(end)
    if number is None:
        reader.refuse(spec, "a frame counts whole rows", "Write ROWS BETWEEN 1 PRECEDING AND CURRENT ROW.")
    return int(number or 0) * _SIDES.get(str(side).upper(), -1)
