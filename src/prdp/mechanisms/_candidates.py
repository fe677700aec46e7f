"""The public clipping points of records that count up to a multiple of their own budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np

from prdp.cells.columns import Column, Places, exact_column, product
from prdp.cells.summary import Span, Summary
from prdp.grids import quarter_octaves
from prdp.levels import Levels

_GRID_BITS = 20  # points are a quarter of an octave apart to one in a million, which no error shows
_ENDS = 2


@dataclass(frozen=True, slots=True)
class Points:
    """The public clipping points of records that count up to a multiple of their own budget.

    Point j lets a record of one quantum count up to ``numerators[j] / denominator`` steps. It is
    ``heights[j]`` quarters of an octave above the first one, rounded down. Those beyond the first ``usual``
    ones are for records whose values lie beyond the public bounds, and their budgets below what those allow.
    """

    numerators: tuple[int, ...]
    denominator: int
    heights: tuple[int, ...]
    usual: int

    @classmethod
    def spanning(cls, summary: Summary, stride: int) -> Points:
        """Return points from where every record may be clipped to where none that is possible can be."""
        levels = summary.levels
        most = Fraction(summary.largest, levels.quanta(levels.usual))
        if summary.ratios is not None:
            return _within(summary.ratios.values, most, stride)
        return _spanning(levels, summary.smallest, summary.largest, stride)

    def cap(self, point: int, quanta: int) -> int:
        """Return how far a record with this budget may count at a point, in whole steps."""
        return quanta * self.numerators[point] // self.denominator

    def caps(self, points: Places, quanta: Column) -> Column:
        """Return how far records with these budgets may count, each at a point of its own."""
        return product(quanta, exact_column(self.numerators)[points]).astype(object) // self.denominator

    def per_quantum(self, point: int) -> Fraction:
        """Return how many steps a quantum of budget may count for at a point."""
        return Fraction(self.numerators[point], self.denominator)

    def first_reaching(self, values: Column, quanta: Column) -> Places:
        """Return the first point at which records with these budgets may count up to these values."""
        needed = -(-values.astype(object) * self.denominator // quanta)
        return np.searchsorted(np.array(self.numerators, dtype=object), needed)


@lru_cache(maxsize=64)
def _spanning(levels: Levels, smallest: int, largest: int, stride: int) -> Points:
    first = Fraction(smallest) / levels.at_most * levels.quantum
    most, last = (Fraction(largest, levels.quanta(level)) for level in (levels.usual, 0))
    denominator = first.denominator << _GRID_BITS
    numerators: list[int] = []
    while not numerators or Fraction(numerators[-1], denominator) < last:
        numerators.append(first.numerator * quarter_octaves(stride * len(numerators), _GRID_BITS))
    heights = tuple(range(0, stride * len(numerators), stride))
    return Points(tuple(numerators), denominator, heights, _usual(numerators, denominator, most))


def _usual(numerators: Sequence[int], denominator: int, most: Fraction) -> int:
    """Return how many points there are up to the first one that reaches a ratio."""
    return min(bisect_left(numerators, ceil(most * denominator)) + 1, len(numerators))


@lru_cache(maxsize=64)
def _within(spans: tuple[Span, ...], most: Fraction, stride: int) -> Points:
    """Return points from the foot of each span up to its top; the top alone where that is nearer than a step.

    Spans are two octaves or more apart, so that points of two of them are no nearer than a step.
    """
    foot = spans[0][0]
    denominator = (foot.denominator // foot.numerator + 1) << _GRID_BITS
    numerators: list[int] = []
    heights: list[int] = []
    for low, high in spans:
        points = [low]
        while points[-1] < high:
            points.append(low * quarter_octaves(stride * len(points), _GRID_BITS) / (1 << _GRID_BITS))
        up = [-(-point.numerator * denominator // point.denominator) for point in points]
        if len(up) == _ENDS:
            up = [-(-high.numerator * denominator // high.denominator)]
        first = heights[-1] + _quarters(numerators[-1], up[0]) if heights else 0
        heights += range(first, first + stride * len(up), stride)
        numerators += up
    return Points(tuple(numerators), denominator, tuple(heights), _usual(numerators, denominator, most))


def _quarters(low: int, high: int) -> int:
    """Return how many whole quarters of an octave a number is above a lower one."""
    steps = 0
    while low * quarter_octaves(steps + 1, _GRID_BITS) <= high << _GRID_BITS:
        steps += 1
    return steps
