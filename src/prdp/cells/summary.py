"""Exact totals per cell: all that a mechanism ever sees of the records.

A cell holds the records of one budget and one range of magnitudes. Its ends contain its records'
values, and its budget is at most what any of them is owed; the proofs use these two facts alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np

from prdp.cells.cell_columns import Cell, CellColumns
from prdp.cells.columns import (
    Column,
    Places,
    exact_column,
    kept,
    plus,
    product,
    same,
    shifted,
    squared,
    total,
    totals_at,
)
from prdp.levels import Levels, quarter_octaves

_HEAVIEST_KEY = 1024
_EDGE_BITS = 90
_LEAST_EDGE = 64
_ROOT_BITS = 20

CENTER_BITS = 8
"""Squared distances are taken from a center that is this many bits finer than the values."""


Span = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Ratios:
    """The possible ratios of a cell's upper end to its budget, in steps a quantum: public.

    Spans are ascending and at least two octaves apart.

    Attributes:
        values: Those of the values.
        records: Those where every record counts 1; None where nothing is known of them.
    """

    values: tuple[Span, ...]
    records: tuple[Span, ...] | None

    def refined(self, bits: int) -> Ratios:
        """Return the ratios of values on a lattice 2^bits times as fine.

        >>> Ratios(((Fraction(1), Fraction(3)),), None).refined(2).values
        ((Fraction(4, 1), Fraction(12, 1)),)
        """
        return Ratios(tuple((low * 2**bits, high * 2**bits) for low, high in self.values), self.records)


@dataclass(frozen=True, slots=True)
class Summary:
    """All cells of a table, with the public facts that the mechanisms need.

    Attributes:
        levels: The grid of budgets.
        smallest: The least absolute value above zero that the public bounds allow, in steps.
        largest: The greatest one.
        cells: The cells that hold records.
        ratios: Which ratios of value to budget the public facts allow; None where nothing is known.
    """

    levels: Levels
    smallest: int
    largest: int
    cells: CellColumns = field(repr=False)
    ratios: Ratios | None = field(default=None, repr=False)

    @classmethod
    def of(cls, levels: Levels, smallest: int, largest: int, cells: Iterable[Cell]) -> Summary:
        """Add up cells that share a key."""
        return cls(levels, smallest, largest, CellColumns.of(cells))

    @classmethod
    def together(cls, summaries: Sequence[Summary]) -> Summary:
        """Return the summary of several tables' records together; there is at least one."""
        first = summaries[0]
        facts = first.levels, first.smallest, first.largest
        if any((other.levels, other.smallest, other.largest) != facts for other in summaries):
            raise ValueError("summaries merge only over the same levels and bounds")
        known = all(other.ratios == first.ratios for other in summaries)
        cells = CellColumns.together([summary.cells for summary in summaries])
        return cls(*facts, cells, first.ratios if known else None)

    def merged(self, other: Summary) -> Summary:
        """Return the summary of both tables' records together.

        >>> from prdp.cells.cell_columns import CellKey
        >>> three = Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
        >>> summary = Summary.of(Levels(Fraction(1), Fraction(2)), 1, 9, [three])
        >>> summary.merged(summary).records
        6
        """
        return Summary.together((self, other))

    def counted(self) -> Summary:
        """Return the summary in which every record has the value 1.

        >>> from prdp.cells.cell_columns import CellKey
        >>> three = Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
        >>> summary = Summary.of(Levels(Fraction(1), Fraction(2)), 1, 9, [three])
        >>> summary.clipped_total(9), summary.counted().clipped_total(9)
        (13, 3)
        """
        records = self.ratios.records if self.ratios else None
        return Summary(self.levels, 1, 1, self.cells.counted(), Ratios(records, records) if records else None)

    def valued(self) -> Summary:
        """Return the summary of those records alone that have a value."""
        return replace(self, cells=self.cells.where(~self.cells.missing))

    def from_budget(self, quanta: int) -> Summary:
        """Return the summary of those records alone that have at least such a budget.

        >>> from prdp.cells.cell_columns import CellKey
        >>> cells = [Cell(CellKey(quanta, 1, 1, 1), count=1, total=1) for quanta in (100, 200, 300)]
        >>> Summary.of(Levels(Fraction(1), Fraction(2)), 1, 1, cells).from_budget(200).records
        2
        """
        return replace(self, cells=self.cells.where(self.cells.quanta >= exact_column([quanta])))

    def squared_around(self, center: int, bits: int = 0) -> Summary:
        """Return the summary in which every value is its squared distance from a public center.

        Squares must have been added up: Σ (v - c)² = Σ v² - 2c Σ v + c² n is exact.

        Args:
            center: In steps that are ``bits`` bits finer than those of the values.
            bits: How much finer; squares are counted in the squares of such steps.
        """
        cells = self.cells
        one, other = (
            plus(product(cells.sign, shifted(end, bits)), exact_column([-center]))
            for end in (cells.low, cells.high)
        )
        far, near = np.maximum(abs(one), abs(other)), np.minimum(abs(one), abs(other))
        near = np.where((np.minimum(one, other) <= 0) & (np.maximum(one, other) >= 0), 0, near)
        moved = product(shifted(cells.total, bits), exact_column([-2 * center]))
        squares = shifted(cells.squares, 2 * bits)
        around = plus(plus(squares, moved), product(cells.count, exact_column([center**2])))
        fine = replace(
            cells,
            low=squared(near),
            high=squared(far),
            sign=np.ones_like(cells.sign),
            missing=np.zeros_like(cells.missing),
            total=around,
            squares=np.zeros_like(cells.count),
        )
        largest = ((self.largest << bits) + abs(center)) ** 2
        return Summary(self.levels, 1 << 2 * bits, largest, fine.added_up())

    def refined(self, bits: int) -> Summary:
        """Return the same values on a lattice 2^bits times as fine."""
        ratios = self.ratios and self.ratios.refined(bits)
        return Summary(
            self.levels, self.smallest << bits, self.largest << bits, self.cells.refined(bits), ratios
        )

    @property
    def records(self) -> int:
        """The number of records."""
        return total(self.cells.count)

    def clipped_total(self, caps: Column | int) -> int:
        """Return the total when no record of a cell may count for more than its cap, or than one of all."""
        return total(self.cells.clipped(exact_column([caps]) if isinstance(caps, int) else caps))

    def clipped_totals(self, places: Places, number: int, caps: Column) -> list[int]:
        """Return the clipped total of each place; ``places`` says where a cell belongs, of so many."""
        return totals_at(places, self.cells.clipped(caps), number)


@lru_cache(maxsize=64)
def key_edges(levels: Levels) -> tuple[int, ...]:
    """Return the public edges between sums of a key's budgets, in quanta.

    They are even and a quarter of an octave apart, and every fourth one is exactly the double. The fifth is
    at most the least budget or 256 quanta, the last at most 1024 times the largest one, and none is above
    2^90.
    """
    first = max(levels.quanta(0) // 4, _LEAST_EDGE if levels.below else 1)
    octave = [2 * (first * quarter_octaves(quarter, _ROOT_BITS) >> _ROOT_BITS) for quarter in range(4)]
    most = min(int(_HEAVIEST_KEY * levels.at_most / levels.quantum), 1 << _EDGE_BITS)
    edges: list[int] = []
    while (edge := octave[len(edges) % 4] << len(edges) // 4) <= most:
        edges.append(edge)
    return tuple(edges)


@dataclass(frozen=True, slots=True, eq=False)
class KeySummary:
    """All keys of a table, by what the budgets of each one's records add up to; in columns.

    A record counts with its level's quanta, lowered to the last edge. Two tables' summaries say nothing
    about the two together, since a key may be in both: there is no way to merge them. A row holds the keys
    whose budgets add up to between two edges.

    Attributes:
        levels: The grid of budgets.
        edge: The place of the last edge that is not above the sums; -1 below the first. Ascending.
        count: How many keys there are.
        total: The exact total of their sums, in quanta.
    """

    levels: Levels
    edge: Column = field(repr=False)
    count: Column = field(repr=False)
    total: Column = field(repr=False)

    def __post_init__(self) -> None:
        for column in self._columns:
            kept(column)

    @classmethod
    def of(cls, levels: Levels, sums: Iterable[int]) -> KeySummary:
        """Return the summary of keys with these sums of quanta.

        >>> levels = Levels(Fraction(1), Fraction(2))
        >>> found = KeySummary.of(levels, [levels.quanta(0), 3 * levels.quanta(0)])
        >>> found.keys, found.mass == 4 * levels.quanta(0)
        (2, True)
        """
        quanta = exact_column(sums)
        places = np.searchsorted(exact_column(key_edges(levels)), quanta, side="right")
        edges, which, counts = np.unique(places, return_inverse=True, return_counts=True)
        totals = exact_column(totals_at(which, quanta, len(edges)))
        return cls(levels, edges.astype(np.int64) - 1, counts.astype(np.int64), totals)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeySummary):
            return NotImplemented
        return self.levels == other.levels and same(self._columns, other._columns)

    __hash__ = None  # type: ignore[assignment]

    @property
    def _columns(self) -> tuple[Column, Column, Column]:
        return self.edge, self.count, self.total

    @property
    def keys(self) -> int:
        """The number of keys."""
        return total(self.count)

    @property
    def mass(self) -> int:
        """The budgets of all records, in quanta."""
        return total(self.total)

    def clipped(self) -> tuple[int, ...]:
        """Return, for each edge, the total of the keys' sums when none may count for more than the edge."""
        edges = key_edges(self.levels)
        counts, totals = (
            accumulate(totals_at(self.edge + 1, column, len(edges) + 1)) for column in self._columns[1:]
        )
        keys = self.keys
        return tuple(
            below + edge * (keys - passed) for edge, below, passed in zip(edges, totals, counts, strict=False)
        )


@dataclass(frozen=True, slots=True)
class TopSummary:
    """A table's records, and the different values of a column, each at the highest level of its records.

    Attributes:
        records: The records, each counting 1.
        values: The values, each counting 1.
    """

    records: Summary = field(repr=False)
    values: Summary = field(repr=False)
