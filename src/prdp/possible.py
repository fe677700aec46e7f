"""Which ratios of a value to its record's budget the policy and the public bounds allow.

Found by interval arithmetic over the bounds; no record takes part. A mechanism's promise never depends on it:
clipping points that no possible record needs are left away, that is all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from prdp.expressions.evaluate import as_double
from prdp.expressions.intervals import Interval, bound
from prdp.geometry import PER_OCTAVE
from prdp.levels import Levels
from prdp.query import Measure, Reading
from prdp.schema import Bounds
from prdp.summary import Ratios, Span, magnitudes

_STEP = 2 ** (1 / PER_OCTAVE)
_CELL = _STEP**2
_SHORT = 2**0.5
_MOST_PIECES = 4096
_SLACK = Fraction(2**28 + 1, 2**28)
_DOUBLE_SLACK = 2.0**-30


def possible_ratios(reading: Reading) -> Ratios | None:
    """Return the ratios that records within the bounds can have; None where that is not worked out."""
    values: list[Span] = []
    records: list[Span] = []
    for piece, budgets in _pieces(reading, _cut_column(reading), _ranges(reading.bounds)):
        least, most = _quanta(reading.levels, budgets)
        records.append((Fraction(1, most), Fraction(1, least)))
        near, far = _sizes(reading.measure, piece)
        values.append((Fraction(near, most), Fraction(far, least)))
        if len(values) > _MOST_PIECES:
            return None
    return Ratios(_joined(values), _joined(records)) if values else None


def _cut_column(reading: Reading) -> str | None:
    """Return the column to cut into pieces: what is added up, or else what the policy reads."""
    if reading.measure is not None:
        return reading.measure.column
    return min(reading.policy.columns & reading.bounds.keys(), default=None)


def _ranges(bounds: Bounds) -> dict[str, Interval]:
    ends = {name: (as_double(low), as_double(high)) for name, (low, high) in bounds.items()}
    return {
        name: Interval(low, high)
        for name, (low, high) in ends.items()
        if low is not None and high is not None
    }


def _pieces(
    reading: Reading, column: str | None, ranges: Mapping[str, Interval]
) -> Iterator[tuple[Interval, Interval]]:
    """Yield pieces of a column's range, with the budgets in each: both short on a logarithmic scale.

    Where the budget jumps, a piece is halved until its ends are neighbours. The magnitude cells come after:
    an engine may give all records of one the least budget in it (Lemma 7).
    """
    if column is None:
        budgets = _budgets(reading, ranges)
        if budgets is not None:
            yield Interval(1.0, 1.0), budgets
        return
    unit = float(reading.measure.unit) if reading.measure else 0.0
    todo = list(_signed(ranges[column]))
    while todo:
        piece = todo.pop()
        budgets = _budgets(reading, {**ranges, column: piece})
        if budgets is None:
            continue
        start = _budgets(reading, {**ranges, column: Interval(piece.low, piece.low)}) or budgets
        middle = (piece.low + piece.high) / 2
        if piece.point is not None or (_has_short(budgets, start) and _is_short(piece, unit)):
            yield piece, budgets
        elif middle in (piece.low, piece.high):
            todo += [Interval(piece.low, piece.low), Interval(piece.high, piece.high)]
        else:
            todo += [Interval(piece.low, middle), Interval(middle, piece.high)]
    if reading.policy.columns == {column}:
        ends = ranges[column]
        for _, first, last in magnitudes(math.ceil(ends.low), math.floor(ends.high)):
            cell = Interval(float(first), float(last))
            budgets = _budgets(reading, {column: cell})
            if budgets is not None and budgets.high <= budgets.low * _CELL:
                yield cell, budgets


def _signed(ends: Interval) -> Iterable[Interval]:
    """Return the parts of a range on either side of zero."""
    if ends.low < 0 < ends.high:
        return (Interval(ends.low, 0.0), Interval(0.0, ends.high))
    return (ends,)


def _budgets(reading: Reading, ranges: Mapping[str, Interval]) -> Interval | None:
    """Return the budgets of the records in these ranges that take part, if any can."""
    levels = reading.levels
    found = bound(reading.policy.expression, ranges).meet(Interval(levels.least, math.inf))
    if found.empty:
        return None
    most = float(levels.at_most)
    return Interval(min(found.low, most), min(found.high, most))


def _has_short(budgets: Interval, start: Interval) -> bool:
    """Say whether the budgets of a piece hardly differ, but for what other columns do to them."""
    return budgets.high * start.low <= budgets.low * start.high * _SHORT


def _is_short(piece: Interval, unit: float) -> bool:
    """Say whether values hardly differ or are below a unit; 0 is the unit where nothing is added up."""
    near, far = sorted((abs(piece.low), abs(piece.high)))
    return unit == 0 or far <= max(near * _SHORT, unit)


def _quanta(levels: Levels, budgets: Interval) -> tuple[int, int]:
    """Return the least and the greatest budget that cells of such records can have, in quanta."""
    level = levels.index(max(budgets.low * (1 - _DOUBLE_SLACK), levels.least))
    return levels.quanta(level or 0), max(1, levels.quanta_below(budgets.high * (1 + _DOUBLE_SLACK)) + 1)


def _sizes(measure: Measure | None, piece: Interval) -> tuple[int, int]:
    """Return between which ends, in steps, the upper end of a cell with such values lies."""
    if measure is None:
        return 1, 1
    near, far = sorted(Fraction(abs(end)) / measure.unit for end in (piece.low, piece.high))
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
