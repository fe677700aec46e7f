"""The ratios of a value to its record's budget, and the least budgets, that policy and public bounds allow.

Found by interval arithmetic over the bounds; no record takes part. Only prunes clipping points; privacy never
depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from prdp.cells.interval_columns import Boxes, Intervals, Marks, bound_each
from prdp.cells.measure import Measure
from prdp.cells.summary import Ratios, Span, magnitudes
from prdp.expressions.evaluate import evaluate
from prdp.expressions.intervals import Interval
from prdp.expressions.nodes import Case, Node, columns, walk
from prdp.levels import PER_OCTAVE, Levels
from prdp.policy import Policy, ranges_of
from prdp.schema import Bounds

_STEP = 2 ** (1 / PER_OCTAVE)
_CELL = _STEP**2  # budgets this close lie on one level or on two neighbours: halving tells no more
_SHORT = 2**0.5  # half an octave, the distance of two clipping points: a finer piece would prune none
_GENERATIONS = 4  # halved before anybody looks whether they must be: one evaluation for all of them
_MAX_HALVINGS = 4096
_MAX_NODES = 40_000
_LARGEST_POLICY = 150
"""Limits on halvings, nodes visited and nodes of a policy: beyond them the search is not worth its time."""
_WIDENED = Fraction(_STEP) * Fraction(2**28 + 1, 2**28)
"""A step, and above what rounding adds to a ratio of doubles."""
_DOUBLE_SLACK = 2.0**-30  # covers the last places of an engine's logarithm: proofs/lemmas.md


Ends = tuple[tuple[str, tuple[Fraction, Fraction]], ...]
Pieces = tuple[Intervals, Intervals]
"""Values of a column, and the budgets that records with them can have; of several pieces."""

_ROOTED = 2.0**-30
_ONE = Interval(1.0, 1.0)
_NONE: Pieces = (Intervals.of(()), Intervals.of(()))


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
        pieces = _apart(policy.expression, pieces, float(levels.at_most))
    values, budgets = pieces
    if not values.low.size:
        return None
    ends = zip(_sizes(measure, values), _quanta(levels, budgets), strict=True)
    spans = _joined([(Fraction(near, most), Fraction(far, least)) for (near, far), (least, most) in ends])
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
    """Return the ranges of columns: their bounds, and as far beyond as budgets reach below."""
    times = 2**reading.levels.below - 1
    ranges = {}
    for name, ends in ranges_of(reading.bounds).items():
        room = times * max(abs(ends.low), abs(ends.high), 1.0)
        ranges[name] = Interval(ends.low - room, ends.high + room) if times else ends
    return ranges


def _whole(reading: _Public) -> Pieces:
    """Return the one piece of a count whose budgets depend on no column with bounds."""
    return _taking_part(Intervals.all(_ONE, 1), _budgets(reading, _boxes(reading, _ranges(reading), 1), 1))


def _apart(policy: Node, pieces: Pieces, most: float) -> Pieces:
    """Return the pieces of a count under a CASE of constants, one a budget, whatever its conditions read.

    A constant root is a little above the largest budget, which is rounded down.
    """
    constants = _constants(policy)
    if constants is None:
        return pieces
    budgets = pieces[1]
    constants = {most if most < one <= most * (1 + _ROOTED) else one for one in constants}
    found = [one for one in sorted(constants) if ((budgets.low <= one) & (one <= budgets.high)).any()]
    return Intervals.all(_ONE, len(found)), Intervals.of(Interval(one, one) for one in found)


def _constants(node: Node) -> set[float] | None:
    """Return the numbers that an expression can be, if its branches are constants; else None."""
    if isinstance(node, Case):
        parts = [_constants(value) for value in (*(value for _, value in node.branches), node.default)]
        return None if None in parts else set().union(*filter(None, parts))
    if columns(node):
        return None
    value = evaluate(node, {})
    return {value} if isinstance(value, float) else set()


def _computed(reading: _Public, measure: Measure) -> Pieces:
    """Return the pieces of a computed column: any value between its ends, with any budget."""
    ends = Interval(float(measure.low * measure.round_to), float(measure.high * measure.round_to))
    values = Intervals.of(_signed(ends))
    boxes = _boxes(reading, ranges_of(reading.bounds), values.low.size)
    return _taking_part(values, _budgets(reading, boxes, values.low.size))


def _pieces(reading: _Public, column: str) -> Pieces:
    """Return pieces of a column's range, with the budgets in each: both short on a logarithmic scale.

    Where the budget jumps, a piece is halved until its ends are neighbours. Where it takes too many, none.
    """
    ranges = _ranges(reading)
    size = sum(1 for _ in walk(reading.policy.expression))
    if ranges[column].infinite or size > _LARGEST_POLICY:
        return _NONE
    found: list[Pieces] = []
    looks = min(_MAX_HALVINGS, _MAX_NODES // size)
    todo = Intervals.of(_signed(ranges[column]))
    while todo.low.size:
        generations = [todo]
        for _ in range(_GENERATIONS):
            generations.append(_halves(generations[-1]))
        looked_at = np.ones(todo.low.size, dtype=bool)
        budgets_of = _budgets_of(reading, ranges, column, generations[:-1])
        for pieces, (budgets, starts) in zip(generations, budgets_of, strict=False):
            looks -= int(looked_at.sum())
            if looks <= 0:
                return _NONE
            short = (pieces.low == pieces.high) | (
                _are_short(pieces, reading.measure) & _have_short(budgets, starts)
            )
            done = looked_at & budgets.filled & short
            found.append((pieces.at(done), budgets.at(done)))
            looked_at = np.tile(looked_at & budgets.filled & ~short, 2)
        todo = generations[-1].at(looked_at)
    return _together([*found, _cells(reading, column, ranges[column])])


def _budgets_of(
    reading: _Public, ranges: Mapping[str, Interval], column: str, generations: Sequence[Intervals]
) -> Iterator[tuple[Intervals, Intervals]]:
    """Yield the budgets in the pieces of each generation, and where these start."""
    low, high = (np.concatenate([getattr(one, end) for one in generations]) for end in ("low", "high"))
    number = low.size
    boxes = _boxes(reading, ranges, 2 * number) | {
        column: Intervals(np.concatenate([low, low]), np.concatenate([high, low]))
    }
    found = _budgets(reading, boxes, 2 * number)
    whole, starts = found.at(slice(number)), found.at(slice(number, None))
    starts = starts.where(starts.filled, whole)
    first = 0
    for one in generations:
        part = slice(first, first := first + one.low.size)
        yield whole.at(part), starts.at(part)


def _halves(pieces: Intervals) -> Intervals:
    """Return both halves of each piece; of neighbours, each as a piece of its own."""
    low, high = pieces.low, pieces.high
    middle = low + (high - low) / 2
    neighbours = (middle == low) | (middle == high)
    ends, starts = np.where(neighbours, low, middle), np.where(neighbours, high, middle)
    return Intervals(np.concatenate([low, starts]), np.concatenate([ends, high]))


def _cells(reading: _Public, column: str, ends: Interval) -> Pieces:
    """Return the magnitude cells of a policy's only column: their records may all have its least budget.

    Lemma 7 of the proofs says where. Interval arithmetic over a cell may find less than over pieces of it.
    """
    if reading.policy.columns != {column} or max(abs(ends.low), abs(ends.high)) >= 2**63:
        return _NONE
    inside = magnitudes(math.ceil(ends.low), math.floor(ends.high))
    cells = Intervals.of([Interval(float(first), float(last)) for _, first, last in inside])
    budgets = _budgets(reading, {column: cells}, cells.low.size)
    alike = budgets.high <= budgets.low * _CELL
    return _taking_part(cells.at(alike), budgets.at(alike))


def _taking_part(values: Intervals, budgets: Intervals) -> Pieces:
    """Return the pieces with records that take part."""
    return values.at(budgets.filled), budgets.at(budgets.filled)


def _together(pieces: Sequence[Pieces]) -> Pieces:
    values, budgets = (
        Intervals(
            np.concatenate([each.low for each in column]), np.concatenate([each.high for each in column])
        )
        for column in zip(*pieces, strict=True)
    )
    return values, budgets


def _signed(ends: Interval) -> Iterable[Interval]:
    """Return the parts of a range on either side of zero."""
    if ends.low < 0 < ends.high:
        return (Interval(ends.low, 0.0), Interval(0.0, ends.high))
    return (ends,)


def _boxes(reading: _Public, ranges: Mapping[str, Interval], number: int) -> dict[str, Intervals]:
    """Return the same ranges of the policy's columns for each of some boxes."""
    read = reading.policy.columns
    return {name: Intervals.all(ends, number) for name, ends in ranges.items() if name in read}


def _budgets(reading: _Public, boxes: Boxes, number: int) -> Intervals:
    """Return the budgets of the records in each box that take part; empty where none can."""
    levels, found = reading.levels, bound_each(reading.policy.expression, boxes, number)
    most = float(levels.at_most)
    return Intervals(np.minimum(np.maximum(found.low, levels.least), most), np.minimum(found.high, most))


def quanta_within(
    policy: Policy, levels: Levels, column: str, pieces: Sequence[Interval]
) -> list[tuple[int, int] | None]:
    """Return between which budgets, in quanta, cells of records in each piece of a column lie.

    None where none can take part.
    """
    reading = _Public(policy, levels, {}, None)
    budgets = _budgets(reading, {column: Intervals.of(pieces)}, len(pieces))
    quanta = iter(_quanta(levels, budgets.at(budgets.filled)))
    return [next(quanta) if some else None for some in budgets.filled.tolist()]


def _have_short(budgets: Intervals, starts: Intervals) -> Marks:
    """Return whether the budgets of pieces hardly differ, but for what other columns do to them."""
    return budgets.high * starts.low <= budgets.low * starts.high * _SHORT


def _are_short(pieces: Intervals, measure: Measure | None) -> Marks:
    """Return whether values hardly differ or are below a rounding step; all do where nothing is added up."""
    low, high = abs(pieces.low), abs(pieces.high)
    if measure is None:
        return np.ones(low.size, dtype=bool)
    return np.maximum(low, high) <= np.maximum(np.minimum(low, high) * _SHORT, float(measure.round_to))


def _quanta(levels: Levels, budgets: Intervals) -> list[tuple[int, int]]:
    """Return the least and the greatest budget that cells of such records can have, in quanta."""
    low = np.maximum(budgets.low * (1 - _DOUBLE_SLACK), levels.least).tolist()
    high = (budgets.high * (1 + _DOUBLE_SLACK)).tolist()
    least, most = levels.quanta_each(low), levels.quanta_below_each(high)
    return [(fewest, max(1, below + 1)) for fewest, below in zip(least, most, strict=True)]


def _sizes(measure: Measure | None, pieces: Intervals) -> list[tuple[int, int]]:
    """Return between which ends, in steps, the upper end of a cell with such values lies."""
    if measure is None:
        return [(1, 1)] * pieces.low.size
    up, down = measure.round_to.denominator, measure.round_to.numerator
    smallest, largest = measure.smallest, measure.largest
    found = []
    for low, high in zip(abs(pieces.low).tolist(), abs(pieces.high).tolist(), strict=True):
        (near, of_near), (far, of_far) = min(low, high).as_integer_ratio(), max(low, high).as_integer_ratio()
        least = max(smallest, near * up // (of_near * down) - 1)
        widest = -(-far * up // (of_far * down)) + 1
        most = -(-widest * _WIDENED.numerator // _WIDENED.denominator)
        found.append((min(least, largest), min(max(most, least), largest)))
    return found


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans, ascending, with those joined that are less than two octaves apart."""
    joined: list[Span] = []
    for low, high in sorted(spans):
        if joined and low < 4 * joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


Least = tuple[tuple[int, int], ...]
"""Upper ends of magnitude cells, ascending, each with the least quanta of records that reach into its cell
or further; those do not fall."""


def least_budgets(
    policy: Policy, levels: Levels, bounds: Bounds, measure: Measure, *, rounded: bool = True
) -> Least:
    """Return the least budgets, in quanta, by what records within the bounds contribute.

    ``rounded`` says whether a value may be half a rounding step away from what is added up.

    >>> policy, ends = Policy("v / 4", at_least="1/4", at_most=2), {"v": (Fraction(1), Fraction(8))}
    >>> found = least_budgets(policy, policy.levels, ends, Measure("v", Fraction(1), 1, 8, per_octave=1),
    ...                       rounded=False)
    >>> [(end, quanta * float(policy.levels.quantum) > 0.24) for end, quanta in found]
    [(1, True), (2, True), (4, True), (8, True)]
    """
    return _least_budgets(policy, levels, tuple(bounds.items()), measure, rounded)


@lru_cache(maxsize=64)
def _least_budgets(policy: Policy, levels: Levels, bounds: Ends, measure: Measure, rounded: bool) -> Least:
    ranges = ranges_of(dict(bounds))
    half = float(measure.round_to) / 2 if rounded else 0.0
    cells = [cell for cell in magnitudes(measure.low, measure.high, measure.per_octave) if cell[0]]
    boxes = {name: Intervals.all(ends, len(cells)) for name, ends in ranges.items() if name in policy.columns}
    if measure.expression is None:
        edges = [
            (float(first * measure.round_to), float(last * measure.round_to)) for _, first, last in cells
        ]
        boxes[measure.column] = Intervals.of([Interval(low - half, high + half) for low, high in edges])
    budgets = bound_each(policy.expression, boxes, len(cells))
    low = np.maximum(budgets.low, levels.least)
    quanta = levels.quanta_each(np.maximum(low * (1 - _DOUBLE_SLACK), levels.least).tolist())
    of_end: dict[int, int] = {}
    for (_, first, last), least, some in zip(cells, quanta, (low <= budgets.high).tolist(), strict=True):
        if some:
            end = max(abs(first), abs(last))
            of_end[end] = min(least, of_end.get(end, least))
    found: list[tuple[int, int]] = []
    least = levels.quanta(levels.top)
    for end in sorted({*of_end, measure.largest}, reverse=True):
        least = min(least, of_end.get(end, least))
        found.append((end, least))
    return tuple(reversed(found))
