"""One cell: what its records have in common, and the public magnitudes that values are cut into.

Tables of cells are columns (``CellColumns``); one by one, cells are written by references and tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from prdp.grids import PER_OCTAVE, largest_until, smallest_from, step_ends


class CellKey(NamedTuple):
    """The budget level and magnitude that the records of a cell have in common: public by construction.

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
    """A cell's records, counted and added up exactly; its repr shows no number of theirs.

    >>> Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
    Cell(key=CellKey(quanta=100, low=4, high=5, sign=1, missing=False))
    """

    key: CellKey
    count: int = field(repr=False)
    total: int = field(repr=False)
    squares: int = field(default=0, repr=False)

    def clipped(self, cap: int) -> int:
        """Return the records' total when none may count for more than ``cap`` steps.

        Where the cell's upper end is within the cap the total is exact; else each record counts for
        the cap or the cell's lower end, whichever is less.

        >>> cell = Cell(CellKey(quanta=100, low=4, high=5, sign=1), count=3, total=13)
        >>> cell.clipped(10), cell.clipped(2)  # the total; then 2 for each of the three
        (13, 6)
        """
        if self.key.high <= cap:
            return self.total
        return self.key.sign * self.count * min(self.key.low, cap)


@lru_cache(maxsize=1 << 16)
def magnitude_key(quanta: int, code: int | None, largest: int, per_octave: int = PER_OCTAVE) -> CellKey:
    """Return the key of an engine's magnitude code.

    None is a record without a value and 0 one with the value zero; ±(m + 2) is a value of that sign
    whose magnitude step is m, from -1 on: the slack puts the value 1 below the first edge.

    >>> magnitude_key(100, 0, 50), magnitude_key(100, None, 50).missing
    (CellKey(quanta=100, low=0, high=0, sign=0, missing=False), True)
    >>> magnitude_key(100, -(24 + 2), 50)  # step 24: from 2^3 on, and below 2^(25/8) = 8.7
    CellKey(quanta=100, low=8, high=8, sign=-1, missing=False)
    """
    if not code:
        return CellKey(quanta, 0, 0, 0, missing=code is None)
    step = abs(code) - 2
    high = min(largest_until(step + 1, per_octave), largest)
    return CellKey(quanta, smallest_from(step, per_octave), high, 1 if code > 0 else -1)


@lru_cache(maxsize=16)
def magnitudes(low: int, high: int, per_octave: int = PER_OCTAVE) -> tuple[tuple[int, int, int], ...]:
    """Return every magnitude code between two values, with the least and the greatest value it can have.

    >>> [(least, most) for _, least, most in magnitudes(0, 4, per_octave=1)]  # an edge may be on either side
    [(0, 0), (1, 1), (1, 2), (2, 4), (4, 4)]
    """
    found = [(0, 0, 0)] if low <= 0 <= high else []
    for sign, least, most in ((1, max(low, 1), high), (-1, max(-high, 1), -low)):
        for code, (smallest, largest) in enumerate(step_ends(most, per_octave), start=1):
            first, last = max(smallest, least), min(largest, most)
            if first <= last:
                found.append((code, first, last) if sign > 0 else (-code, -last, -first))
    return tuple(found)
