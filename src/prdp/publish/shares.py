"""Divide a share among the margins of all tables, by public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from prdp.errors import InvalidRequest

_MILLION = 10**6


def divided(share: Fraction, cells: Sequence[int], *, concentrated: bool = False) -> list[Fraction]:
    """Return the parts of a share for tables of so many cells: in proportion to the cells to the power 2/3.

    Of n records, one of C cells holds n/C on average, and noise is as wide as 1/s for a part s. So a cell's
    relative error goes as C/s, and the sum of its squares over all tables is least for s in proportion to
    C^(2/3). Under a ``concentrated`` policy noise is as wide as 1/√s, and the sum is least for s in
    proportion to C. Parts are rounded down to millionths of the share, but for the largest, which has the
    rest.

    >>> [str(part) for part in divided(Fraction(1, 2), [1, 8, 27])]
    ['17857/500000', '142857/1000000', '321429/1000000']
    >>> [str(part) for part in divided(Fraction(1, 2), [1, 4, 5], concentrated=True)]
    ['1/20', '1/5', '1/4']
    """
    weights = [many ** (1 if concentrated else 2 / 3) for many in cells]
    parts = [share * Fraction(int(_MILLION * weight / sum(weights)), _MILLION) for weight in weights]
    largest = weights.index(max(weights))
    parts[largest] = share - (sum(parts, Fraction(0)) - parts[largest])
    if not all(parts):
        raise InvalidRequest(f"a share of {share} is too small to be divided among tables of so many cells.")
    return parts
