"""Tables nearest to what was released that have no negative number: by least squares, and with a total."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

Groups = tuple[tuple[int, ...], ...]

Term = tuple[Any, Any]
"""The numbers of a margin, and their weights."""

_MOST_ROUNDS = 10
_MOST_TURNS = 1000
_EXACT = 1e-8
_UNKNOWN = 1e-6
"""Weight of a key of which nothing is known, as a part of the least one in its block."""


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


def projected(table: Any, levels: Sequence[Sequence[Groups]], total: int | None = None) -> Any:
    """Return a table of whole numbers without negative ones: the total first, then group by group.

    Keys are divided axis by axis, the shortest axis first.

    Args:
        table: An array of whole numbers.
        levels: For each axis its groupings of places, the coarsest first; the first one is of all places.
        total: What they add up to, where it is not negative; by default, what the table does.
    """
    found = np.zeros(table.shape, dtype=object)
    whole = [one[0][0] for one in levels]
    total = int(table.sum()) if total is None else total
    _divide(table, found, whole, max(0, total), [list(one[1:]) for one in levels])
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


def least_squares_from_zero(terms: Sequence[Term]) -> Any:
    """Return the nearest table in which few numbers are negative: those that come out so are zero.

    >>> keys, total = np.array([10.0, 20.0, -9.0]), np.array([27.0])
    >>> terms = [(keys, np.array([1.0, 1.0, 0.0])), (total, np.array([1.0]))]
    >>> [float(number) for number in least_squares_from_zero(terms).round(9)]
    [9.0, 19.0, 0.0]
    """
    zero = np.zeros(terms[0][0].shape, dtype=bool)
    for _ in range(_MOST_ROUNDS):
        table = least_squares(terms, zero)
        if not (table < 0).any():
            break
        zero |= table < 0
    return table


def least_squares(terms: Sequence[Term], zero: Any = False) -> Any:
    """Return the table whose sums are nearest to the numbers of its margins, by conjugate gradients.

    >>> keys, total = np.array([10.0, 20.0]), np.array([33.0])
    >>> found = least_squares([(keys, np.array([1.0, 1.0])), (total, np.array([1.0]))])
    >>> [float(number) for number in found.round(9)]
    [11.0, 21.0]

    Args:
        terms: For each margin its numbers and their weights, the keys first; summed axes have the length 1.
        zero: Which keys are zero.
    """
    keys, weights = terms[0]
    known = np.concatenate([np.ravel(weight[weight > 0]) for _, weight in terms])
    least = known.min() * _UNKNOWN if len(known) else 1.0
    weighted = [(number, weight / least) for number, weight in terms]
    weighted[0] = (keys, np.where(weights > 0, weights / least, 1.0))

    def backward(parts: Sequence[Any]) -> Any:
        return np.where(zero, 0.0, sum(np.broadcast_to(part, keys.shape) for part in parts))

    def image(table: Any) -> Any:
        return backward([weight * _sums(table, number.shape) for number, weight in weighted])

    table = np.where(zero, 0.0, keys)
    scale = 1 / sum(np.broadcast_to(weight, keys.shape) for _, weight in weighted)
    rest = backward([weight * (number - _sums(table, number.shape)) for number, weight in weighted])
    moved = scale * rest
    size = first = float((rest * moved).sum())
    for _ in range(_MOST_TURNS):
        if size <= _EXACT**2 * first:
            break
        turned = image(moved)
        step = size / float((moved * turned).sum())
        table, rest = table + step * moved, rest - step * turned
        before, size = size, float((rest * scale * rest).sum())
        moved = scale * rest + size / before * moved
    return table


def _sums(table: Any, shape: Sequence[int]) -> Any:
    """Return the sums of a table along the axes that have the length 1 in a margin."""
    axes = tuple(axis for axis, (size, own) in enumerate(zip(table.shape, shape, strict=True)) if own < size)
    return table.sum(axis=axes, keepdims=True)
