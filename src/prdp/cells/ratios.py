"""The ratios of a value to its record's budget that the policy and the public bounds allow.

Found by interval arithmetic over the bounds; no record takes part. Only prunes clipping points; privacy never
depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from prdp.cells.cell import magnitudes
from prdp.cells.measure import Measure
from prdp.cells.summary import Ratios, Span
from prdp.expressions.evaluate import evaluate
from prdp.expressions.intervals import Interval, bound
from prdp.expressions.nodes import Case, Node, columns, walk
from prdp.grids import PER_OCTAVE
from prdp.levels import Levels
from prdp.policy import Policy, ranges_of
from prdp.schema import Bounds

_STEP = 2 ** (1 / PER_OCTAVE)
_CELL = _STEP**2  # budgets this close lie on one level or on two neighbours: halving tells no more
_SHORT = 2**0.5  # half an octave, the distance of two clipping points: a finer piece would prune none
_MOST_HALVINGS = 4096
_MOST_NODES = 40_000
_LARGEST_POLICY = 150
"""Beyond so many halvings, nodes looked at, or nodes of a policy, it would take longer than it is worth."""
_SLACK = Fraction(2**28 + 1, 2**28)  # above what rounding adds to a ratio of doubles, far below a step
_DOUBLE_SLACK = 2.0**-30  # covers the last places of an engine's logarithm: proofs/lemmas.md


Ends = tuple[tuple[str, tuple[Fraction, Fraction]], ...]
Piece = tuple[Interval, Interval]
"""Values of a column, and the budgets that records with them can have."""


class Bounded(Protocol):
    """The public facts of the records that a read is about."""

    @property
    def policy(self) -> Policy:
        """The policy, checked against the table."""

    @property
    def levels(self) -> Levels:
        """The grid of budgets."""

    @property
    def bounds(self) -> Bounds:
        """The public bounds of columns."""

    @property
    def measure(self) -> Measure | None:
        """The column that is measured; None to count."""


@dataclass(frozen=True, slots=True)
class _Public:
    policy: Policy
    levels: Levels
    bounds: Bounds
    measure: Measure | None


def possible_ratios(reading: Bounded) -> Ratios | None:
    """Return the ratios that records within the bounds can have; None where that is not worked out."""
    return _found(reading.policy, reading.levels, tuple(reading.bounds.items()), reading.measure)


@lru_cache(maxsize=64)
def _found(policy: Policy, levels: Levels, bounds: Ends, measure: Measure | None) -> Ratios | None:
    """Return the ratios; kept, because every question about a table needs them again."""
    reading = _Public(policy, levels, dict(bounds), measure)
    if measure is not None and measure.expression is not None:
        pieces = _computed(reading, measure)
    else:
        column = _cut_column(reading)
        pieces = _pieces(reading, column) if column else _whole(reading)
    if measure is None:
        pieces = _apart(policy.expression, pieces)
    if not pieces:
        return None
    values: list[Span] = []
    for piece, budgets in pieces:
        least, most = _quanta(reading.levels, budgets)
        near, far = _sizes(reading.measure, piece)
        values.append((Fraction(near, most), Fraction(far, least)))
    spans = _joined(values)
    if measure is None:
        return Ratios(spans, spans)
    counted = _found(policy, levels, bounds, None)
    return Ratios(spans, counted.records if counted else None)


def _cut_column(reading: _Public) -> str | None:
    """Return the column to cut into pieces: what is added up, or else what the policy reads."""
    if reading.measure is not None:
        return reading.measure.column  # it has bounds: who adds it up has been asked for them
    return min(reading.policy.columns & reading.bounds.keys(), default=None)


def _ranges(reading: _Public) -> dict[str, Interval]:
    """Return where columns may have values: their bounds, and as far beyond as budgets reach below."""
    times = 2**reading.levels.below - 1
    ranges = {}
    for name, ends in ranges_of(reading.bounds).items():
        room = times * max(abs(ends.low), abs(ends.high), 1.0)
        ranges[name] = Interval(ends.low - room, ends.high + room) if times else ends
    return ranges


def _whole(reading: _Public) -> list[Piece]:
    """Return the one piece of a count whose budgets depend on no column with bounds."""
    budgets = _budgets(reading, _ranges(reading))
    return [(Interval(1.0, 1.0), budgets)] if budgets else []


def _apart(policy: Node, pieces: list[Piece]) -> list[Piece]:
    """Return the pieces of a count under a CASE of constants, one a budget, whatever its conditions read."""
    constants = _constants(policy)
    if constants is None:
        return pieces
    spans = [budgets for _, budgets in pieces]
    found = sorted(one for one in constants if any(span.contains(one) for span in spans))
    return [(Interval(1.0, 1.0), Interval(one, one)) for one in found]


def _constants(node: Node) -> set[float] | None:
    """Return the numbers that an expression can be, if its branches are constants; else None."""
    if isinstance(node, Case):
        parts = [_constants(value) for value in (*(value for _, value in node.branches), node.default)]
        return None if None in parts else set().union(*filter(None, parts))
    if columns(node):
        return None
    value = evaluate(node, {})
    return {value} if isinstance(value, float) else set()


def _computed(reading: _Public, measure: Measure) -> list[Piece]:
    """Return the one piece of a computed column: any value between its ends, with any budget."""
    budgets = _budgets(reading, ranges_of(reading.bounds))
    ends = Interval(float(measure.low * measure.grain), float(measure.high * measure.grain))
    return [(piece, budgets) for piece in _signed(ends)] if budgets else []


def _pieces(reading: _Public, column: str) -> list[Piece]:
    """Return pieces of a column's range, with the budgets in each: both short on a logarithmic scale.

    Where the budget jumps, a piece is halved until its ends are neighbours. Where it takes too many, none.
    """
    ranges = _ranges(reading)
    if ranges[column].infinite:
        return []
    grain = float(reading.measure.grain) if reading.measure else 0.0
    pieces: list[Piece] = []
    todo = list(_signed(ranges[column]))
    size = sum(1 for _ in walk(reading.policy.expression))
    if size > _LARGEST_POLICY:
        return []
    for _ in range(min(_MOST_HALVINGS, _MOST_NODES // size)):
        if not todo:
            return pieces + _cells(reading, column, ranges[column])
        piece = todo.pop()
        budgets = _budgets(reading, {**ranges, column: piece})
        if budgets is None:
            continue
        start = _budgets(reading, {**ranges, column: Interval(piece.low, piece.low)}) or budgets
        middle = piece.low + (piece.high - piece.low) / 2
        if piece.point is not None or (_has_short(budgets, start) and _is_short(piece, grain)):
            pieces.append((piece, budgets))
        elif middle in (piece.low, piece.high):
            todo += [Interval(piece.low, piece.low), Interval(piece.high, piece.high)]
        else:
            todo += [Interval(piece.low, middle), Interval(middle, piece.high)]
    return []


def _cells(reading: _Public, column: str, ends: Interval) -> list[Piece]:
    """Return the magnitude cells of a policy's only column: their records may all have its least budget.

    Lemma 7 of the proofs says where. Interval arithmetic over a cell may find less than over pieces of it.
    """
    if reading.policy.columns != {column} or max(abs(ends.low), abs(ends.high)) >= 2**63:
        return []
    cells = []
    for _, first, last in magnitudes(math.ceil(ends.low), math.floor(ends.high)):
        budgets = _budgets(reading, {column: Interval(float(first), float(last))})
        if budgets is not None and budgets.high <= budgets.low * _CELL:
            cells.append((Interval(float(first), float(last)), budgets))
    return cells


def _signed(ends: Interval) -> Iterable[Interval]:
    """Return the parts of a range on either side of zero."""
    if ends.low < 0 < ends.high:
        return (Interval(ends.low, 0.0), Interval(0.0, ends.high))
    return (ends,)


def _budgets(reading: _Public, ranges: Mapping[str, Interval]) -> Interval | None:
    """Return the budgets of the records in these ranges that take part, if any can."""
    levels = reading.levels
    found = bound(reading.policy.expression, ranges).meet(Interval(levels.least, math.inf))
    if found.empty:
        return None
    most = float(levels.at_most)
    return Interval(min(found.low, most), min(found.high, most))


def quanta_within(policy: Policy, levels: Levels, ranges: Mapping[str, Interval]) -> tuple[int, int] | None:
    """Return between which budgets, in quanta, cells of records in these ranges lie; None where none can."""
    budgets = _budgets(_Public(policy, levels, {}, None), ranges)
    return None if budgets is None else _quanta(levels, budgets)


def _has_short(budgets: Interval, start: Interval) -> bool:
    """Say whether the budgets of a piece hardly differ, but for what other columns do to them."""
    return budgets.high * start.low <= budgets.low * start.high * _SHORT


def _is_short(piece: Interval, grain: float) -> bool:
    """Say whether values hardly differ or are below a grain; 0 is the grain where nothing is added up."""
    near, far = sorted((abs(piece.low), abs(piece.high)))
    return grain == 0 or far <= max(near * _SHORT, grain)


def _quanta(levels: Levels, budgets: Interval) -> tuple[int, int]:
    """Return the least and the greatest budget that cells of such records can have, in quanta."""
    level = levels.index(max(budgets.low * (1 - _DOUBLE_SLACK), levels.least))
    return levels.quanta(level or 0), max(1, levels.quanta_below(budgets.high * (1 + _DOUBLE_SLACK)) + 1)


def _sizes(measure: Measure | None, piece: Interval) -> tuple[int, int]:
    """Return between which ends, in steps, the upper end of a cell with such values lies."""
    if measure is None:
        return 1, 1
    near, far = sorted(Fraction(abs(end)) / measure.grain for end in (piece.low, piece.high))
    least = max(measure.smallest, math.floor(near) - 1)
    most = math.ceil((math.ceil(far) + 1) * Fraction(_STEP) * _SLACK)
    return min(least, measure.largest), min(max(most, least), measure.largest)


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans, ascending, with those joined that are less than two octaves apart."""
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low < 4 * joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)
