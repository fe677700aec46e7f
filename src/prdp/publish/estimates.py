"""Figures of a table: margins that add up, counts that are not negative, intervals that hold.

Everything here is a function of releases and public facts: proofs/publication.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from prdp.plan.queries import Mean
from prdp.publish.clipped_margins import steps_of_keys, with_failures
from prdp.publish.declaration import Statistic
from prdp.publish.dimension import Dimension, DimensionPart
from prdp.publish.draws import Asked
from prdp.release.arithmetic import ratio
from prdp.release.consistency import NO_NOISES, ConsistentRelease, Noises, bounded, consistent, moved_to
from prdp.release.projection import projected
from prdp.release.release import Release
from prdp.release.totals import total_of

Figure = Any
"""A released number, or one that is computed from such; None where nothing is known."""

Place = tuple[int, ...]
Leaves = tuple[tuple[int, ...], ...]
"""For each dimension, the keys that a cell holds."""


def figures(
    statistic: Statistic,
    dimensions: Sequence[Dimension],
    released: Mapping[Asked, Sequence[Release]],
    cells: Sequence[tuple[DimensionPart, ...]],
    *,
    least: Fraction | None,
) -> list[Figure]:
    """Return a column of a table.

    Args:
        statistic: The column.
        dimensions: The table's dimensions.
        released: For each margin that was asked, its answers in the order of the product of its keys.
        cells: The cells that are wanted: a part of each dimension.
        least: What no figure can be below; None where there is nothing, or figures are left as they are.
    """
    released = with_failures(dimensions, released)
    if isinstance(statistic.query, Mean):
        apart = AskedMargins(dimensions, released)
        return [_mean(cell, apart) for cell in cells]
    even = all(one.even for answers in released.values() for one in answers)
    several = len(released) > 1
    table = (ConsistentMargins if even and several else AskedMargins)(dimensions, released)
    found = [table.figure(cell) for cell in cells]
    step, keys = found[0].step, None
    if several and not even:
        step = _step(released)
        keys = steps_of_keys(dimensions, released, step, nonnegative=least is not None)
    elif several and least is not None and {one.step for one in found} == {step}:
        keys = _steps_of_keys(found, dimensions, cells)
    if keys is None:
        return found if least is None else [bounded(one, least, max(least, one.exact)) for one in found]
    if least is not None:
        keys = projected(keys, [[level.groups for level in one.levels[:0:-1]] for one in dimensions])
    numbers = (int(keys[np.ix_(*(part.leaves for part in cell))].sum()) * step for cell in cells)
    return [bounded(one, least, number, step) for one, number in zip(found, numbers, strict=True)]


def _step(released: Mapping[Asked, Sequence[Release]]) -> Fraction:
    """Return the step of which figures are multiples: whole ones of whole answers."""
    answers = [one for margin in released.values() for one in margin]
    step = min(one.step for one in answers)
    return max(step, Fraction(1)) if all(one.whole for one in answers) else step


class AskedMargins:
    """Margins as they were released; what was not asked is a sum of the cells that were.

    So is a cell whose own budget was insufficient, where that of its parts was not.
    """

    def __init__(self, dimensions: Sequence[Dimension], released: Mapping[Asked, Sequence[Release]]) -> None:
        self.dimensions = dimensions
        self.released = {
            asked: dict(zip(_places(dimensions, asked), answers, strict=True))
            for asked, answers in released.items()
        }

        self._inside: dict[tuple[int, tuple[Any, ...]], list[int]] = {}
        self._found: dict[tuple[Asked, Place], list[Release]] = {}

    def figure(self, cell: tuple[DimensionPart, ...]) -> Release:
        """Return a cell's figure."""
        return total_of(self.answers(cell))

    def answers(self, cell: tuple[DimensionPart, ...]) -> list[Release]:
        """Return the answers of which a cell's figure is the sum."""
        return [one for asked, place in self.within(cell) for one in self._answers(asked, place)]

    def _answers(self, asked: Asked, place: Place) -> list[Release]:
        """Return the answer to an asked cell, or those to its parts where its budget was insufficient."""
        if (asked, place) not in self._found:
            own = [self.released[asked][place]]
            choices = (self._parts(asked, place, axis) for axis, level in enumerate(asked) if level)
            known = (one for one in (own, *choices) if not any(part.insufficient_budget for part in one))
            self._found[asked, place] = next(known, own)
        return self._found[asked, place]

    def _parts(self, asked: Asked, place: Place, axis: int) -> list[Release]:
        """Return the answers to the keys of an asked cell along an axis."""
        finer = (*asked[:axis], 0, *asked[axis + 1 :])
        keys = self.dimensions[axis].coarse.groups[place[axis]]
        return [one for key in keys for one in self._answers(finer, (*place[:axis], key, *place[axis + 1 :]))]

    def within(self, cell: tuple[DimensionPart, ...]) -> list[tuple[Asked, Place]]:
        """Return the asked cells that a cell consists of."""
        asked = tuple(min(part.level, 1) for part in cell)
        axes = [self._places_in(axis, part) for axis, part in enumerate(cell)]
        return [(asked, place) for place in product(*axes)]

    def _places_in(self, axis: int, part: DimensionPart) -> list[int]:
        """Return the places of a part's keys, or of its groups, along an axis."""
        known = (axis, part.labels)
        if known not in self._inside:
            inside = set(part.leaves)
            groups = self.dimensions[axis].levels[min(part.level, 1)].groups
            self._inside[known] = [place for place, leaves in enumerate(groups) if inside.issuperset(leaves)]
        return self._inside[known]


class ConsistentMargins:
    """Margins by least squares in each block: the keys of one group in every dimension."""

    def __init__(self, dimensions: Sequence[Dimension], released: Mapping[Asked, Sequence[Release]]) -> None:
        self.dimensions = dimensions
        self.asked = AskedMargins(dimensions, released)
        self.own = self.asked.released
        self.cells: dict[tuple[Asked, Place], ConsistentRelease] = {}
        for block in product(*(range(len(one.coarse.groups)) for one in dimensions)):
            self._solve(block)

    def _solve(self, block: Place) -> None:
        groups = [one.coarse.groups[place] for one, place in zip(self.dimensions, block, strict=True)]
        inside = {
            asked: [
                tuple(
                    one if level == 0 else place for one, level, place in zip(leaf, asked, block, strict=True)
                )
                for leaf in product(
                    *(group if level == 0 else (0,) for group, level in zip(groups, asked, strict=True))
                )
            ]
            for asked in self.own
        }
        margins = {asked: tuple(d for d, level in enumerate(asked) if level == 0) for asked in self.own}
        released = {margins[asked]: [self.own[asked][place] for place in inside[asked]] for asked in self.own}
        found = consistent(tuple(map(len, groups)), released, list(margins.values()))
        for asked, places in inside.items():
            for place, one in zip(places, found[margins[asked]], strict=True):
                assert isinstance(one, ConsistentRelease)  # noqa: S101  (made so)
                self.cells[asked, place] = one

    def figure(self, cell: tuple[DimensionPart, ...]) -> ConsistentRelease:
        """Return a cell's figure."""
        return summed([self.cells[one] for one in self.asked.within(cell)])


def summed(parts: Sequence[ConsistentRelease]) -> ConsistentRelease:
    """Return the sum of estimates from disjoint blocks, whose noises are independent."""
    first = parts[0]
    if len(parts) == 1:
        return first
    noises: Counter[tuple[Fraction, Fraction]] = Counter()
    for one in parts:
        for count, factor, scale in one.noises:
            noises[factor, scale] += count
    known = all(one.noises and one.step == first.step for one in parts)
    number = sum((one.exact for one in parts), Fraction(0))
    total = total_of([one.own for one in parts if one.own is not None])
    return replace(
        moved_to(total, number, first.step),
        off=sum((one.off for one in parts), Fraction(0)),
        noises=Noises((count, *noise) for noise, count in sorted(noises.items())) if known else NO_NOISES,
        noise_part=min(one.noise_part for one in parts),
    )


def _places(dimensions: Sequence[Dimension], asked: Asked) -> list[Place]:
    """Return the places of a margin's cells, in the order in which they were asked."""
    levels = zip(dimensions, asked, strict=True)
    return list(product(*(range(len(one.levels[level].labels)) for one, level in levels)))


def _steps_of_keys(
    found: Sequence[Release], dimensions: Sequence[Dimension], cells: Sequence[tuple[DimensionPart, ...]]
) -> Any:
    """Return the numbers of the keys' figures, in steps."""
    numbers: dict[Leaves, Release] = {
        tuple(part.leaves for part in cell): one for cell, one in zip(cells, found, strict=True)
    }
    shape = tuple(one.size for one in dimensions)
    finest = [numbers[tuple((one,) for one in place)] for place in np.ndindex(shape)]
    return np.array([int(one.exact / one.step) for one in finest], dtype=object).reshape(shape)


def _mean(cell: tuple[DimensionPart, ...], table: AskedMargins) -> Figure:
    """Return a mean as it was released; of what was not asked, the sum of all sums by that of all counts."""
    found = table.answers(cell)
    if len(found) == 1:
        return found[0]
    sums, counts = (total_of([one.parts[place] for one in found]) for place in (0, 1))
    return ratio(sums, counts) if counts.exact > 0 else None
