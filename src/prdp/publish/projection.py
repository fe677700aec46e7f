"""Tables of whole numbers moved to the nearest ones that are not negative, with the same total."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

Groups = tuple[tuple[int, ...], ...]


def simplex(numbers: Sequence[int], total: int) -> list[int]:
    """Return whole numbers from 0 on with a total, as near to others as whole numbers can be.

    The nearest ones of all lower the largest ones by the same amount, and the others to 0. What is lost by
    rounding down goes to the first ones that are not 0, a unit each.

    >>> simplex([5, -2, 3], 6), simplex([4, 4, 4], 10), simplex([-1, -5], 0)
    ([4, 0, 2], [4, 3, 3], [0, 0])
    """
    ordered = sorted(numbers, reverse=True)
    many, above = 0, 0
    for place, number in enumerate(ordered, 1):
        above += number
        if number * place - (above - total) > 0:
            many, kept = place, above
    if not many:
        return [0] * len(numbers)
    excess = kept - total
    lowered = [max(0, (number * many - excess) // many) for number in numbers]
    missing = total - sum(lowered)
    for place, number in enumerate(numbers):
        if missing and number * many > excess:
            lowered[place] += 1
            missing -= 1
    return lowered


def projected(table: Any, levels: Sequence[Sequence[Groups]]) -> Any:
    """Return a table of whole numbers without negative ones: the total first, then group by group.

    Keys are divided axis by axis, the shortest axis first.

    Args:
        table: An array of whole numbers.
        levels: For each axis its groupings of places, the coarsest first; the first one is of all places.
    """
    found = np.zeros(table.shape, dtype=object)
    whole = [one[0][0] for one in levels]
    _divide(table, found, whole, max(0, int(table.sum())), [list(one[1:]) for one in levels])
    return found


def _divide(
    table: Any, found: Any, block: Sequence[tuple[int, ...]], total: int, levels: list[list[Groups]]
) -> None:
    """Divide a total among the parts of a block, and these among theirs."""
    if all(not one for one in levels):
        _divide_keys(table, found, block, total)
        return
    axes = [
        [group for group in one[0] if set(group) <= set(places)] if one else [places]
        for one, places in zip(levels, block, strict=True)
    ]
    parts = list(product(*axes))
    sums = [int(table[np.ix_(*part)].sum()) for part in parts]
    for part, share in zip(parts, simplex(sums, total), strict=True):
        _divide(table, found, part, share, [one[1:] for one in levels])


def _divide_keys(table: Any, found: Any, block: Sequence[tuple[int, ...]], total: int) -> None:
    """Divide a total among the keys of the shortest axis of a block, and so on: few sums err by less."""
    axis = min(
        (axis for axis, places in enumerate(block) if len(places) > 1), key=lambda k: len(block[k]), default=0
    )
    parts = [[*block[:axis], (place,), *block[axis + 1 :]] for place in block[axis]]
    sums = [int(table[np.ix_(*part)].sum()) for part in parts]
    for part, share in zip(parts, simplex(sums, total), strict=True):
        if all(len(places) == 1 for places in part):
            found[np.ix_(*part)] = share
        else:
            _divide_keys(table, found, part, share)
