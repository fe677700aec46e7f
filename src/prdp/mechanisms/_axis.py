"""The public axis of values: magnitude steps between the bounds, ascending, and the octaves they make up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Places, totals_at
from prdp.cells.summary import CellColumns, CellKey, Summary, magnitude_key, magnitudes
from prdp.levels import largest_until, smallest_from

_EIGHTHS = 8


@dataclass(frozen=True, slots=True)
class Ranges:
    """The ranges of values between the public bounds, ascending; each can hold a value.

    Attributes:
        ends: The least and the greatest value of each, in steps.
        places: Where the cells with given ends and sign belong.
        octaves: The first range of each octave, and after the last one the number of ranges. An octave holds
            the values of one sign with the same number of binary digits; zero is an octave of its own.
        upper: For cells whose upper ends, with their signs, tell all of them apart: those, ascending, their
            lower ends, and where they belong. None where they do not, or do not fit 64 bits.
    """

    ends: tuple[tuple[int, int], ...]
    places: Mapping[tuple[int, int, int], int] = field(repr=False)
    octaves: tuple[int, ...]
    upper: tuple[NDArray[np.int64], NDArray[np.int64], Places] | None = field(
        default=None, repr=False, compare=False
    )

    def masses(self, summary: Summary) -> list[int]:
        """Return the budget mass in each octave, in quanta; of the records that have a value."""
        cells = summary.valued().cells
        octave_of = np.repeat(np.arange(len(self.octaves) - 1), np.diff(self.octaves))
        return totals_at(octave_of[self.of(cells)], cells.masses(1), len(self.octaves) - 1)

    def of(self, cells: CellColumns) -> Places:
        """Return the range of each cell."""
        if self.upper is not None and cells.high.dtype != object:
            ends, lows, places = self.upper
            at = np.minimum(np.searchsorted(ends, cells.sign * cells.high), len(ends) - 1)
            if np.array_equal(ends[at], cells.sign * cells.high) and np.array_equal(lows[at], cells.low):
                return places[at]
        return cells.by_magnitude(self.places.__getitem__)


def _upper_ends(
    places: Mapping[tuple[int, int, int], int],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Places] | None:
    """Return ``Ranges.upper``."""
    found = sorted((sign * high, low, place) for (low, high, sign), place in places.items())
    ends, lows, at = zip(*found, strict=True)
    if len(set(ends)) < len(ends) or max(map(abs, ends)) >= 1 << 63:
        return None
    return np.array(ends, np.int64), np.array(lows, np.int64), np.array(at, np.intp)


@lru_cache(maxsize=16)
def ranges_between(low: int, high: int, largest: int, per_octave: int) -> Ranges:
    """Return the ranges between two values, for cells cut at ``largest``."""
    ends: dict[CellKey, tuple[int, int]] = {}
    octave_of: dict[CellKey, int] = {}
    for code, first, last in magnitudes(low, high, per_octave):
        key = magnitude_key(0, code, largest, per_octave)
        ends.setdefault(key, (first, last))
        octave_of.setdefault(key, octave(code, per_octave))
    keys = sorted(ends, key=lambda key: sum(ends[key]))
    starts = [next(places) for _, places in groupby(range(len(keys)), lambda place: octave_of[keys[place]])]
    places = {(key.low, key.high, key.sign): place for place, key in enumerate(keys)}
    return Ranges(
        ends=tuple(ends[key] for key in keys),
        places=places,
        octaves=(*starts, len(keys)),
        upper=_upper_ends(places),
    )


def octave(code: int, per_octave: int) -> int:
    """Return the octave of a magnitude code: 0 for zero, ±1 for values below 2, ±2 for those below 4, ...

    >>> [octave(code, 8) for code in (-10, 0, 1, 2, 9, 10)]
    [-2, 0, 1, 1, 1, 2]
    """
    if code == 0:
        return 0
    size = max(0, abs(code) - 2) // per_octave + 1
    return size if code > 0 else -size


@dataclass(frozen=True, slots=True)
class Steps:
    """All magnitude steps between the public bounds, outward: also those that no whole number falls into.

    Attributes:
        codes: Their codes; descending where the smallest value is looked for.
        octaves: The first step of each octave, and after the last one the number of steps.
        eighths: The same for eighths of octaves.
        places: Where the cells with given ends and sign belong.
        limits: The public bounds.
        per_octave: The number of steps that an octave has.
        lowest: Whether outward is downward.
    """

    codes: Sequence[int] = field(repr=False)
    octaves: tuple[int, ...]
    eighths: tuple[int, ...] = field(repr=False)
    places: Mapping[tuple[int, int, int], int] = field(repr=False)
    limits: tuple[int, int]
    per_octave: int
    lowest: bool

    def far_end(self, place: int) -> int:
        """Return the outermost value that a step can hold."""
        return self._end(place, outward=True)

    def near_end(self, place: int) -> int:
        """Return the innermost value that a step can hold."""
        return self._end(place, outward=False)

    def _end(self, place: int, *, outward: bool) -> int:
        code = self.codes[place]
        if code == 0:
            return 0
        step, away = abs(code) - 2, (code < 0) == self.lowest
        larger = away == outward or step < 0
        size = largest_until(step + 1, self.per_octave) if larger else smallest_from(step, self.per_octave)
        low, high = self.limits
        return min(max(size if code > 0 else -size, low), high)


@lru_cache(maxsize=64)
def steps_between(low: int, high: int, largest: int, per_octave: int, *, lowest: bool) -> Steps:
    """Return the steps between two values, outward: ascending for a maximum, descending for a minimum."""
    found = [code for code, _, _ in magnitudes(low, high, per_octave)]
    codes = range(min(found), max(found) + 1)
    if lowest:
        codes = codes[::-1]
    places: dict[tuple[int, int, int], int] = {}
    for place, code in enumerate(codes):
        key = magnitude_key(0, code, largest, per_octave)
        places.setdefault((key.low, key.high, key.sign), place)
    octaves, eighths = (_starts(codes, per_octave // parts) for parts in (1, _EIGHTHS))
    return Steps(codes, octaves, eighths, places, (low, high), per_octave, lowest)


def _starts(codes: Sequence[int], per_part: int) -> tuple[int, ...]:
    """Return the places where parts of so many steps begin, and the number of steps."""
    parts = groupby(range(len(codes)), lambda place: octave(codes[place], per_part))
    return *(next(steps) for _, steps in parts), len(codes)
