"""Sums of thousands of weights in columns, for a choice among as many candidates; exact, in 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from prdp.noise.choice import FITS, PER_UNIT, weights

_HALF = 32


def wide_sums(excess: Sequence[int], unit: Fraction) -> WideSums:
    """Return the sums of the weights with which candidates are proposed, by how much worse than the best.

    >>> wide_sums([0, 0, 10**9], Fraction(1)).total - 2 * weights()[0]  # the last one's weight is the least
    1
    """
    return WideSums.of(np.searchsorted(_sixteenths(unit), np.array(excess, dtype=np.int64), "right"))


@dataclass(frozen=True, slots=True)
class WideSums:
    """Sums of weights in two columns: their upper parts, and their lower 32 bits."""

    high: NDArray[np.int64]
    low: NDArray[np.int64]

    @classmethod
    def of(cls, sixteenths: NDArray[np.int64]) -> WideSums:
        """Return the sums of the weights of penalties that were rounded down to a sixteenth."""
        high, low = (np.cumsum(part[sixteenths]) for part in _parts())
        return cls(high + (low >> _HALF), low & ((1 << _HALF) - 1))

    @property
    def total(self) -> int:
        """The sum of all weights."""
        return (int(self.high[-1]) << _HALF) + int(self.low[-1])

    def place(self, word: int) -> int:
        """Return the first candidate with a sum above a number."""
        high, low = divmod(word, 1 << _HALF)
        first, last = (int(np.searchsorted(self.high, high, side)) for side in ("left", "right"))
        return first + int(np.searchsorted(self.low[first:last], low, "right"))


@lru_cache(maxsize=64)
def _sixteenths(unit: Fraction) -> NDArray[np.int64]:
    """Return the least whole penalty that costs 1/16, the least that costs 2/16, and so on; 2^62 is all."""
    costs = range(1, len(weights()))
    least = (-(-cost * unit.denominator // (PER_UNIT * unit.numerator)) for cost in costs)
    return np.array([min(penalty, FITS) for penalty in least], dtype=np.int64)


@cache
def _parts() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the upper and the lower 32 bits of all weights, of which 2^29 can be added up."""
    high = np.array([weight >> _HALF for weight in weights()], dtype=np.int64)
    return high, np.array([weight & ((1 << _HALF) - 1) for weight in weights()], dtype=np.int64)
