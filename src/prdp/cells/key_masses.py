"""The budget mass behind every key that some record has: what is read to find keys that nobody listed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, exact_column
from prdp.levels import Levels

_FEW = 16
"""Number of keys that are looked up one after the other, each in all rows at once."""

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class KeyMasses:
    """All keys of records with a valid budget, each once, and the sum of their records' budgets in quanta.

    A key without a row here is one that nobody has, as far as a search is concerned.

    Attributes:
        levels: The grid of budgets.
        columns: The keys, one array for each column that they are made of.
        mass: The sums.
    """

    levels: Levels
    columns: tuple[NDArray[Any], ...] = field(repr=False)
    mass: Column = field(repr=False)

    @classmethod
    def of(cls, levels: Levels, masses: Mapping[Row, int]) -> KeyMasses:
        """Return the masses of keys, none of which can occur twice.

        >>> from fractions import Fraction
        >>> found = KeyMasses.of(Levels(Fraction(1), Fraction(2)), {(b"chef",): 3, (b"clerk",): 5})
        >>> found.key(1), found.holding([(b"clerk",), (b"cook",)])
        ((b'clerk',), {(b'clerk',)})
        """
        columns = []
        for place in range(len(next(iter(masses), ()))):
            column = np.empty(len(masses), dtype=object)
            column[:] = [key[place] for key in masses]
            columns.append(column)
        return cls(levels, tuple(columns), exact_column(masses.values()))

    def key(self, place: int) -> Row:
        """Return the key of a row."""
        return tuple(_plain(column[place]) for column in self.columns)

    def holding(self, keys: Collection[Row]) -> set[Row]:
        """Return those of some keys that have a row."""
        if not len(self.mass):
            return set()
        if len(keys) > _FEW:
            return set(keys).intersection(map(self.key, range(len(self.mass))))
        return {key for key in keys if self._has(key)}

    def _has(self, key: Row) -> bool:
        same = np.ones(len(self.mass), dtype=bool)
        for column, part in zip(self.columns, key, strict=True):
            wanted = np.empty((), dtype=object)
            wanted[()] = part  # bytes as they are: NumPy's own would lose a NUL at the end
            same &= np.asarray(column == wanted, dtype=bool)
        return bool(same.any())


def _plain(value: Any) -> Any:
    """Return a scalar of NumPy's as Python's own; bytes however an engine keeps them."""
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return value.item() if isinstance(value, np.generic) else value
