"""Exact totals per cell: all that a mechanism ever sees of the records.

A cell holds the records of one budget and one range of magnitudes. Its ends contain its records'
values, and its budget is at most what any of them is owed; the proofs use these two facts alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from prdp.cells.grids import PER_OCTAVE, largest_until, quarter_octaves, smallest_from
from prdp.levels import Levels

_HEAVIEST_KEY = 1024
_EDGE_BITS = 90
_ROOT_BITS = 20


class CellKey(NamedTuple):
    """What the records of a cell have in common: public by construction.

    Attributes:
        quanta: The cell's budget in quanta, at most the budget of each of its records.
        low: The smallest absolute value that the cell can hold, in steps.
        high: The largest one.
        sign: -1, 0 or 1.
        missing: Whether the records have no value; they add nothing, as if it were 0.
    """

    quanta: int
    low: int
    high: int
    sign: int
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's records, counted and added up exactly; its repr shows no number of theirs."""

    key: CellKey
    count: int = field(repr=False)
    total: int = field(repr=False)
    squares: int = field(default=0, repr=False)

    def clipped(self, cap: int) -> int:
        """Return the records' total when none may count for more than ``cap`` steps.

        Where the cell's upper end is within the cap the total is exact; else each record counts for
        the cap or the cell's lower end, whichever is less.
        """
        if self.key.high <= cap:
            return self.total
        return self.key.sign * self.count * min(self.key.low, cap)


Span = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Ratios:
    """Which ratios of a cell's upper end to its budget can be, in steps a quantum: public.

    Spans are ascending and at least two octaves apart.

    Attributes:
        values: Those of the values.
        records: Those where every record counts 1; None where nothing is known of them.
    """

    values: tuple[Span, ...]
    records: tuple[Span, ...] | None

    def refined(self, bits: int) -> Ratios:
        """Return the ratios of values on a lattice 2^bits times as fine."""
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
    cells: tuple[Cell, ...] = field(repr=False)
    ratios: Ratios | None = field(default=None, repr=False)

    @classmethod
    def of(cls, levels: Levels, smallest: int, largest: int, cells: Iterable[Cell]) -> Summary:
        """Add up cells that share a key."""
        merged: dict[CellKey, tuple[int, int, int]] = {}
        for cell in cells:
            count, total, squares = merged.get(cell.key, (0, 0, 0))
            merged[cell.key] = count + cell.count, total + cell.total, squares + cell.squares
        return cls(levels, smallest, largest, tuple(Cell(key, *merged[key]) for key in sorted(merged)))

    def merged(self, other: Summary) -> Summary:
        """Return the summary of both tables' records together."""
        if (self.levels, self.smallest, self.largest) != (
            other.levels,
            other.smallest,
            other.largest,
        ):
            raise ValueError("summaries merge only over the same levels and bounds")
        cells = (*self.cells, *other.cells)
        both = Summary.of(self.levels, self.smallest, self.largest, cells)
        return replace(both, ratios=self.ratios if self.ratios == other.ratios else None)

    def counted(self) -> Summary:
        """Return the summary in which every record has the value 1."""
        cells = (Cell(CellKey(cell.key.quanta, 1, 1, 1), cell.count, cell.count) for cell in self.cells)
        records = self.ratios.records if self.ratios else None
        ratios = Ratios(records, records) if records else None
        return replace(Summary.of(self.levels, 1, 1, cells), ratios=ratios)

    def valued(self) -> Summary:
        """Return the summary of those records alone that have a value."""
        return replace(self, cells=tuple(cell for cell in self.cells if not cell.key.missing))

    def squared_around(self, center: int) -> Summary:
        """Return the summary in which every value is its squared distance from a public center, in steps.

        Squares must have been added up: Σ (v - c)² = Σ v² - 2c Σ v + c² n is exact.
        """
        cells = []
        for cell in self.cells:
            ends = (cell.key.sign * cell.key.low - center, cell.key.sign * cell.key.high - center)
            nearest = 0 if min(ends) <= 0 <= max(ends) else min(map(abs, ends))
            key = CellKey(cell.key.quanta, nearest**2, max(map(abs, ends)) ** 2, 1)
            total = cell.squares - 2 * center * cell.total + center**2 * cell.count
            cells.append(Cell(key, cell.count, total))
        return Summary.of(self.levels, 1, (self.largest + abs(center)) ** 2, cells)

    def refined(self, bits: int) -> Summary:
        """Return the same values on a lattice 2^bits times as fine."""
        cells = tuple(
            Cell(
                cell.key._replace(low=cell.key.low << bits, high=cell.key.high << bits),
                cell.count,
                cell.total << bits,
            )
            for cell in self.cells
        )
        ratios = self.ratios and self.ratios.refined(bits)
        return Summary(self.levels, self.smallest << bits, self.largest << bits, cells, ratios)


@lru_cache(maxsize=1 << 16)
def magnitude_key(quanta: int, code: int | None, largest: int, per_octave: int = PER_OCTAVE) -> CellKey:
    """Return the key of an engine's magnitude code.

    None is a record without a value and 0 one with the value zero; ±(m + 2) is a value of that sign
    whose magnitude step is m, from -1 on: the slack puts the value 1 below the first edge.
    """
    if not code:
        return CellKey(quanta, 0, 0, 0, missing=code is None)
    step = abs(code) - 2
    high = min(largest_until(step + 1, per_octave), largest)
    return CellKey(quanta, smallest_from(step, per_octave), high, 1 if code > 0 else -1)


def magnitudes(low: int, high: int, per_octave: int = PER_OCTAVE) -> Iterator[tuple[int, int, int]]:
    """Yield every magnitude code between two values, with the least and the greatest value it can have."""
    if low <= 0 <= high:
        yield 0, 0, 0
    for sign, least, most in ((1, max(low, 1), high), (-1, max(-high, 1), -low)):
        step = -1
        while (first := max(smallest_from(step, per_octave), least)) <= most:
            last = min(largest_until(step + 1, per_octave), most)
            if first <= last:
                ends = sorted((sign * first, sign * last))
                yield sign * (step + 2), ends[0], ends[1]
            step += 1


@lru_cache(maxsize=64)
def key_edges(levels: Levels) -> tuple[int, ...]:
    """Return the public edges between sums of a key's budgets, in quanta.

    They are even and a quarter of an octave apart, and every fourth one is exactly the double. The fifth is
    at most the least budget, the last at most 1024 times the largest one, and none is above 2^90.
    """
    first = levels.quanta(0) // 4
    octave = [2 * (first * quarter_octaves(quarter, _ROOT_BITS) >> _ROOT_BITS) for quarter in range(4)]
    most = min(int(_HEAVIEST_KEY * levels.at_most / levels.quantum), 1 << _EDGE_BITS)
    edges: list[int] = []
    while (edge := octave[len(edges) % 4] << len(edges) // 4) <= most:
        edges.append(edge)
    return tuple(edges)


@dataclass(frozen=True, slots=True)
class KeyCell:
    """Keys whose budgets add up to between two edges; its repr shows no number of theirs.

    Attributes:
        edge: The place of the last edge that is not above the sums; -1 below the first.
        count: How many keys there are.
        total: The exact total of their sums, in quanta.
    """

    edge: int
    count: int = field(repr=False)
    total: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeySummary:
    """All keys of a table, by what the budgets of each one's records add up to.

    A record counts with its level's quanta, lowered to the last edge. Two tables' summaries say nothing
    about the two together, since a key may be in both: there is no way to merge them.

    Attributes:
        levels: The grid of budgets.
        cells: The cells that hold keys, ascending.
    """

    levels: Levels
    cells: tuple[KeyCell, ...] = field(repr=False)

    @classmethod
    def of(cls, levels: Levels, sums: Iterable[int]) -> KeySummary:
        """Return the summary of keys with these sums of quanta."""
        edges = key_edges(levels)
        counts: dict[int, int] = defaultdict(int)
        totals: dict[int, int] = defaultdict(int)
        for quanta in sums:
            edge = bisect_right(edges, quanta) - 1
            counts[edge] += 1
            totals[edge] += quanta
        return cls(levels, tuple(KeyCell(edge, counts[edge], totals[edge]) for edge in sorted(counts)))

    @property
    def mass(self) -> int:
        """The budgets of all records, in quanta."""
        return sum(cell.total for cell in self.cells)

    def clipped(self) -> tuple[int, ...]:
        """Return, for each edge, the total of the keys' sums when none may count for more than the edge."""
        below, beyond = 0, sum(cell.count for cell in self.cells)
        cells = {cell.edge: cell for cell in self.cells}
        clipped = []
        for place, edge in enumerate(key_edges(self.levels)):
            passed = cells.get(place - 1)
            if passed is not None:
                below += passed.total
                beyond -= passed.count
            clipped.append(below + edge * beyond)
        return tuple(clipped)


@dataclass(frozen=True, slots=True)
class TopSummary:
    """A table's records, and the different values of a column, each at the highest level of its records.

    Attributes:
        records: The records, each counting 1.
        values: The values, each counting 1.
    """

    records: Summary = field(repr=False)
    values: Summary = field(repr=False)
