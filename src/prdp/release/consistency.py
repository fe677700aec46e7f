"""Margins that add up: tables of counts or sums over the same records, made consistent by least squares.

Every table is released for itself, with noise of a known variance. The estimates are linear in the releases,
so that nothing is charged; how they are combined follows from public facts: proofs/consistency.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np

from prdp.noise.discrete_gaussian import GaussianScale
from prdp.noise.spread import weighted_spread
from prdp.release import formatting
from prdp.release.formatting import LEVEL
from prdp.release.interval import ENDLESS, PUBLIC_NOISE, Ends, as_float
from prdp.release.projection import Term, least_squares_from_zero, projected
from prdp.release.release import Release
from prdp.release.totals import total_of

Margin = tuple[int, ...]
"""Columns that a table is by, in ascending order; none for the total."""


class Noises(tuple[tuple[int, Fraction, Fraction], ...]):
    """How many releases have a weight in an estimate, the weight, and the scale of their noise.

    Its hash is computed once: all cells of a margin have the same noises.
    """

    _hash: int | None = None

    def __hash__(self) -> int:
        """Return the hash of the tuple."""
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash


NO_NOISES = Noises()

Scaled = tuple[Fraction, Fraction]
"""The scale of a noise, in steps of its lattice, and the value of such a step."""

Cells = Any
"""An array of exact fractions, one axis a column."""


def subsets(margin: Margin) -> list[Margin]:
    """Return all margins of a margin, the total first.

    >>> subsets((0, 2))
    [(), (0,), (2,), (0, 2)]
    """
    return [part for size in range(len(margin) + 1) for part in combinations(margin, size)]


@dataclass(frozen=True, slots=True)
class Lattice:
    """Margins of one table, and how much each of those that are asked errs.

    Attributes:
        sizes: How many keys each column has.
        variances: The variance of a cell of each margin that is asked.
    """

    sizes: tuple[int, ...]
    variances: Mapping[Margin, Fraction]

    def cells(self, margin: Margin) -> int:
        """Return how many cells a margin has."""
        return math.prod(self.sizes[column] for column in margin)

    def _summed(self, margin: Margin) -> int:
        """Return how many cells of the finest table one of a margin holds."""
        return self.cells(tuple(column for column in range(len(self.sizes)) if column not in margin))

    def weights(self, effect: Margin) -> dict[Margin, Fraction]:
        """Return how the margins that hold an effect are weighted in its estimate, adding up to 1.

        An effect of columns U in a margin S, as a part of the finest table's cells, errs by the variance of a
        cell of S, divided by the cells that it is a mean of and by the square of the cells that are summed.
        """
        found = {
            margin: Fraction(self.cells(margin), self.cells(effect))
            * Fraction(self._summed(margin)) ** 2
            / variance
            for margin, variance in self.variances.items()
            if set(effect) <= set(margin)
        }
        whole = sum(found.values(), Fraction(0))
        return {margin: Fraction(weight) / whole for margin, weight in found.items()} if whole else {}

    def variance(self, margin: Margin) -> Fraction | None:
        """Return the variance of an estimate of a margin's cell; None where nothing asked tells it."""
        found = Fraction(0)
        for effect in subsets(margin):
            weights = self.weights(effect)
            if not weights:
                return None
            free = math.prod((1 - Fraction(1, self.sizes[column]) for column in effect), start=Fraction(1))
            for other, weight in weights.items():
                each = self.variances[other] * self.cells(effect) / self.cells(other)
                found += weight**2 * free * each / Fraction(self._summed(other)) ** 2
        return found * Fraction(self._summed(margin)) ** 2

    def estimates(self, tables: Mapping[Margin, Cells], wanted: Sequence[Margin]) -> dict[Margin, Cells]:
        """Return the cells of margins by least squares; finer ones add up to coarser ones.

        >>> lattice = Lattice((2,), {(0,): Fraction(2), (): Fraction(2)})
        >>> tables = {(0,): np.array([Fraction(10), Fraction(20)]), (): np.array(Fraction(33))}
        >>> found = lattice.estimates(tables, [(0,), ()])
        >>> [str(cell) for cell in found[0,]], str(found[()])
        (['11', '21'], '32')
        """
        effects: dict[Margin, Cells] = {}
        for margin in wanted:
            for effect in subsets(margin):
                if effect not in effects:
                    effects[effect] = sum(
                        self._effect(tables[other], other, effect) * (weight / self._summed(other))
                        for other, weight in self.weights(effect).items()
                    )
        return {
            margin: self._summed(margin)
            * sum(self._spread(effects[effect], effect, margin) for effect in subsets(margin))
            for margin in wanted
        }

    def _effect(self, cells: Cells, margin: Margin, effect: Margin) -> Cells:
        """Return the part of a table that columns have together, and none of them alone."""
        found = cells
        for axis, column in reversed(list(enumerate(margin))):
            mean = np.sum(found, axis=axis, keepdims=True) * Fraction(1, self.sizes[column])
            found = found - mean if column in effect else np.squeeze(mean, axis=axis)
        return found

    def _spread(self, cells: Cells, effect: Margin, margin: Margin) -> Cells:
        """Return an effect as an array that has an axis for each column of a margin."""
        shape = [self.sizes[column] if column in effect else 1 for column in margin]
        whole = [self.sizes[column] for column in margin]
        return np.broadcast_to(np.reshape(np.asarray(cells, dtype=object), shape), whole)

    def noises(self, margin: Margin, scales: Mapping[Margin, Scaled]) -> Noises:
        """Return the weights that all releases have in the estimate of a margin's cell, with their scales.

        Releases of a margin whose keys agree with the cell's in the same columns have the same weight.
        ``scales`` hold the scale of each margin's noise, and the value of a step of it.
        """
        found: list[tuple[int, Fraction, Fraction]] = []
        for other, (scale, step) in scales.items():
            common = tuple(column for column in margin if column in other)
            for agreed in subsets(common):
                count = math.prod(self.sizes[column] - 1 for column in common if column not in agreed)
                count *= math.prod(self.sizes[column] for column in other if column not in common)
                factor = sum(
                    (self._weight(effect, other, agreed) for effect in subsets(common)), Fraction(0)
                ) * Fraction(self._summed(margin), self._summed(other))
                found += [(count, factor * step, scale)] if count and factor else []
        return Noises(found)

    def _weight(self, effect: Margin, other: Margin, agreed: Margin) -> Fraction:
        weight = self.weights(effect).get(other, Fraction(0))
        for column in other:
            part = Fraction(1, self.sizes[column])
            weight *= (int(column in agreed) - part) if column in effect else part
        return weight


def margins_to_ask(
    sizes: tuple[int, ...], wanted: Sequence[Margin], *, concentrated: bool = False
) -> dict[Margin, Fraction]:
    """Return which margins are asked, with their parts of the share; the others follow from them.

    By public facts alone: those for which the product of the variances of all that is wanted is least. The
    finest table may be asked although it is not wanted. Under a concentrated policy a variance goes as one
    over the part, and parts are the best ones; else as one over its square, and parts are equal.

    >>> list(margins_to_ask((3, 2), [(0, 1), (0,), ()])), len(margins_to_ask((60, 40), [(0, 1), (0,), ()]))
    ([(0, 1)], 3)
    >>> parts = margins_to_ask((3, 2), [(0, 1), (0,), ()], concentrated=True)
    >>> {margin: round(float(part), 2) for margin, part in parts.items()}
    {(0, 1): 0.49, (0,): 0.28, (): 0.23}
    """
    finest = tuple(range(len(sizes)))
    candidates = list(dict.fromkeys([*([] if finest in wanted else [finest]), *wanted]))
    if concentrated:
        return dict(_best_parts(sizes, tuple(wanted), tuple(candidates)))
    if len(candidates) > _MOST_TRIED:
        tried = [tuple(wanted), (finest,)]
    else:
        tried = [kept for size in range(1, len(candidates) + 1) for kept in combinations(candidates, size)]
    best = min(tried, key=lambda asked: _score(sizes, wanted, asked))
    return {margin: Fraction(1, len(best)) for margin in candidates if margin in best}


_MOST_TRIED = 8


def _score(sizes: tuple[int, ...], wanted: Sequence[Margin], asked: Sequence[Margin]) -> float:
    lattice = Lattice(sizes, dict.fromkeys(asked, Fraction(len(asked)) ** 2))
    variances = [lattice.variance(margin) for margin in wanted]
    if any(variance is None for variance in variances):
        return math.inf
    return sum(math.log(variance) for variance in variances if variance is not None) + 1e-9 * len(asked)


_ROUNDS, _LEAST_PART, _PARTS = 400, 1e-3, 10**6


@lru_cache(maxsize=64)
def _best_parts(
    sizes: tuple[int, ...], wanted: tuple[Margin, ...], candidates: tuple[Margin, ...]
) -> Mapping[Margin, Fraction]:
    """Return the parts of the share for which the product of the wanted margins' variances is least.

    An estimate's variance is a sum over its effects U of a public factor over the precision of U, to which
    each margin that holds U adds in proportion to its part (``Lattice.variance``). Parts are multiplied by
    how much a little more of them would gain, until that is alike for all: they keep adding up to 1.
    """
    lattice = Lattice(sizes, {})
    effects = list(dict.fromkeys(effect for margin in candidates for effect in subsets(margin)))
    holds = np.array([[set(effect) <= set(margin) for effect in effects] for margin in candidates], float)
    tells = holds / np.array([[lattice.cells(margin)] for margin in candidates])
    factors = [lattice.cells(one) * math.prod(1 - 1 / sizes[column] for column in one) for one in effects]
    erring = np.array([[set(one) <= set(margin) for one in effects] for margin in wanted]) * factors
    parts = np.full(len(candidates), 1 / len(candidates))
    for _ in range(_ROUNDS):
        precisions = parts @ tells
        variances = erring / precisions  # by effects; those of a margin add up to its own
        gains = (variances / variances.sum(axis=1, keepdims=True) / precisions).sum(axis=0)
        parts *= np.sqrt(tells @ gains / len(wanted))
        parts /= parts.sum()
    kept = {m: part for m, part in zip(candidates, parts.tolist(), strict=True) if part >= _LEAST_PART}
    whole = sum(kept.values())
    found = {margin: Fraction(int(_PARTS * part / whole), _PARTS) for margin, part in kept.items()}
    first = next(iter(found))
    return found | {first: found[first] + 1 - sum(found.values(), Fraction(0))}


@dataclass(frozen=True, slots=True, repr=False)
class ConsistentRelease(Release):
    """A released number moved so that margins add up; it charges nothing more.

    Where nothing but noise moved any of the releases, the interval is that of the estimate's noise. Else it
    is that of the number that was released for itself, widened where the estimate lies beside it.

    Attributes:
        own: What was released for this cell, or the total of what was.
        off: How far the estimate lies above the number, which is rounded so that numbers add up.
        noises: The noises in the estimate, in steps; none where something else moved a release.
        noise_part: Share of the failures for these noises, as anything else might have moved a release.
        least: What the truth cannot be below, by public facts; its interval ends there. None for nothing.
    """

    internals: ClassVar = Release.internals | {"own", "off", "noises", "noise_part", "least"}

    own: Release | None = None
    off: Fraction = Fraction(0)
    noises: Noises = NO_NOISES
    noise_part: Fraction = Fraction(1)
    least: Fraction | None = None

    @property
    def even(self) -> bool:
        """True if nothing but noise can have moved it, and it is the middle of its interval."""
        return bool(self.noises) and self.off == 0 and self.least is None

    @property
    def kind(self) -> str:
        """Kind of the interval."""
        return self._own.kind

    @property
    def _own(self) -> Release:
        assert self.own is not None  # noqa: S101  (made so)
        return self.own

    @property
    def excluded_text(self) -> str:
        """Exclusions of the interval."""
        return self._own.excluded_text

    @property
    def excluded_clause(self) -> str:
        """Exclusions of the interval, as a clause."""
        return self._own.excluded_clause

    @property
    def insufficient_budget(self) -> bool:
        """True if the clipped amount is unknown."""
        return self._own.insufficient_budget

    def shown_between(self, chance: Fraction) -> Ends:
        """Return the ends that are shown."""
        low, high = self._widened(self._own.shown_between(chance), chance)
        return (low if self.least is None else max(low, self.least)), high

    @property
    def std_error(self) -> float | None:
        """The standard error: that of the estimate, wherever the number was moved from it."""
        if not self.noises:
            return self._own.std_error
        ends = self._around(self._own.between(LEVEL), LEVEL)
        return formatting.std_error_of(*map(as_float, ends))

    def between(self, chance: Fraction, tail_factor: Fraction | None = Fraction(1)) -> Ends:
        """Return the ends of ``interval``, exactly; where there is none, ``ENDLESS`` away."""
        return self._widened(self._own.between(chance, tail_factor), chance)

    def _widened(self, own: Ends, chance: Fraction) -> Ends:
        low, high = self._around(own, chance)
        return min(low, self.exact), max(high, self.exact)

    def _around(self, own: Ends, chance: Fraction) -> Ends:
        """Return the ends around the estimate, or its own where they are narrower."""
        if self.noises:
            failure = self.noise_part * (1 - chance) / self.among
            far = Fraction(weighted_spread(self.noises, failure)) * self.step
            if 2 * far < own[1] - own[0] or own[1] - own[0] >= ENDLESS:
                middle = self.exact + self.off
                return middle - far, middle + far
        return own

    def selected(self, among: int) -> Release:
        """Return the number as one of so many that rows were selected from by what they are."""
        return replace(self, among=max(self.among, among), own=self._own.selected(among))


def consistent(
    sizes: tuple[int, ...],
    released: Mapping[Margin, Sequence[Release]],
    wanted: Sequence[Margin],
) -> dict[Margin, list[Release]]:
    """Return the cells of margins, made to add up, in the order of the product of all keys.

    Args:
        sizes: How many keys each column has.
        released: For each margin that was asked, its answers.
        wanted: The margins that are returned.
    """
    lattice = Lattice(sizes, {margin: _variance(cells) for margin, cells in released.items()})
    tables = {
        margin: np.array([one.exact for one in cells], dtype=object).reshape(
            [sizes[column] for column in margin]
        )
        for margin, cells in released.items()
    }
    finest = max(released, key=len)
    exact = lattice.estimates(tables, list(dict.fromkeys([*wanted, finest])))
    step = min(one.step for cells in released.values() for one in cells)
    if all(one.whole for cells in released.values() for one in cells):
        step = max(step, Fraction(1))  # which is how they are shown
    whole = finest == tuple(range(len(sizes)))
    pulls = [one.clipping for cells in released.values() for one in cells if one.clipping is not None]
    part = min((pull.noise_part for pull in pulls), default=Fraction(1))
    seen = any(pull.noise_seen for pull in pulls)
    base = _rounded(exact[finest], step)
    scales = {margin: _scale(cells, step) for margin, cells in released.items()}
    found: dict[Margin, list[Release]] = {}
    for margin in wanted:
        numbers = _summed(base, finest, margin) if whole else _rounded(exact[margin], step)
        known = all(scales.values()) and not seen
        noises = lattice.noises(margin, scales) if known else NO_NOISES  # type: ignore[arg-type]
        owns = _owns(sizes, released, margin, finest)
        pairs = zip(owns, np.ravel(numbers), np.ravel(exact[margin]), strict=True)
        found[margin] = [
            moved_to(own, number, step, off=estimate - number, noises=noises, noise_part=part)
            for own, number, estimate in pairs
        ]
    return found


def moved_to(own: Release, number: Fraction, step: Fraction, **estimate: Any) -> ConsistentRelease:
    """Return a release at another number, with the facts of its estimate."""
    fields = {name: getattr(own, name) for name in _KEPT}
    return ConsistentRelease(**fields, steps=int(number / step), step=step, own=own, **estimate)


def bounded(
    one: Release, least: Fraction | None, number: Fraction, step: Fraction | None = None
) -> ConsistentRelease:
    """Return a figure at another place, with the interval that it had, cut at its least number."""
    if not isinstance(one, ConsistentRelease):
        return moved_to(one, number, step or one.step, least=least)
    off = one.off + one.exact - number
    return replace(one, steps=int(number / one.step), off=off, least=least)


def from_zero(
    sizes: tuple[int, ...], released: Mapping[Margin, Sequence[Release]], *, add_up: bool
) -> dict[Margin, Sequence[Release]]:
    """Return the cells of margins without negative numbers: proofs/publication.md.

    Where they add up to the finest margin they still do; else each number is moved for itself.
    """
    finest = tuple(range(len(sizes)))
    keys = None
    if add_up and finest in released:
        keys = np.array([one.steps for one in released[finest]], dtype=object).reshape(sizes)
        total, step = int(keys.sum()), released[finest][0].step
        if (keys < 0).any():
            margins = sorted(released, key=len, reverse=True)
            terms = [_term(sizes, margin, released[margin]) for margin in margins]
            nearest = np.ravel(least_squares_from_zero(terms)).tolist()
            keys = np.array([round(Fraction(one) / step) for one in nearest], dtype=object).reshape(sizes)
        keys = projected(keys, [[(tuple(range(size)),)] for size in sizes], total)
    found: dict[Margin, Sequence[Release]] = {}
    for margin, cells in released.items():
        alone = [max(0, one.steps) for one in cells]
        numbers = alone if keys is None else np.ravel(_summed(keys, finest, margin)).tolist()
        found[margin] = [
            bounded(one, Fraction(0), number * one.step)
            if number > one.steps or isinstance(one, ConsistentRelease)
            else one  # its interval is from 0 on as it is
            for one, number in zip(cells, numbers, strict=True)
        ]
    return found


_KEPT = (
    *("question", "share", "method", "bias", "decisions", "simulated", "whole", "left_out", "among"),
    *("recorded_at", "noise_scales", "noise", "shape"),
)


def _term(sizes: tuple[int, ...], margin: Margin, cells: Sequence[Release]) -> Term:
    """Return the numbers of a margin, with an axis for each column, and their weights."""
    shape = [size if column in margin else 1 for column, size in enumerate(sizes)]
    numbers = np.array([float(one.exact) for one in cells]).reshape(shape)
    return numbers, np.full(shape, (cells[0].std_error or 1.0) ** -2)


def _variance(cells: Sequence[Release]) -> Fraction:
    """Return the mean variance of releases' noise, as a weight; 1 where there is none."""
    squares = [
        (scale.variance if isinstance(scale, GaussianScale) else 2 * scale**2) * one.step**2
        for one in cells
        for scale in one.noise_scales
    ]
    return sum(squares, Fraction(0)) / len(cells) or Fraction(1)


def _scale(cells: Sequence[Release], step: Fraction) -> Scaled | None:
    """Return the scale of all releases of a margin; None where something else than that noise moved one.

    That of Laplace noise is stated in the steps of estimates.
    """
    scales = {
        (scale, one.step / step)
        if isinstance(scale, GaussianScale)
        else (scale * one.step / step, Fraction(1))
        for one in cells
        for scale in one.noise_scales
    }
    even = all(
        one.even and one.noise in PUBLIC_NOISE and one.shape is None and len(one.noise_scales) == 1
        for one in cells
    )
    return scales.pop() if even and len(scales) == 1 else None


def _rounded(cells: Cells, step: Fraction) -> Cells:
    """Return cells rounded to whole steps so that sums from the first one on are rounded themselves."""
    sums = np.cumsum(np.ravel(cells)) if np.size(cells) else np.ravel(cells)
    places = [round(Fraction(one) / step) for one in sums]
    steps = [place - before for place, before in zip(places, [0, *places[:-1]], strict=True)]
    return np.array([number * step for number in steps], dtype=object).reshape(np.shape(cells))


def _summed(cells: Cells, finest: Margin, margin: Margin) -> Cells:
    axes = tuple(axis for axis, column in enumerate(finest) if column not in margin)
    return np.sum(cells, axis=axes) if axes else cells


def _owns(
    sizes: tuple[int, ...], released: Mapping[Margin, Sequence[Release]], margin: Margin, finest: Margin
) -> Sequence[Release]:
    """Return what was released for each cell of a margin, or the totals of the nearest finer one that was."""
    if margin in released:
        return released[margin]
    finer = [other for other in released if set(margin) <= set(other)]
    nearest = min(finer, key=lambda other: math.prod(sizes[column] for column in other), default=finest)
    terms: dict[tuple[int, ...], list[Release]] = {}
    for place, one in zip(
        product(*(range(sizes[column]) for column in nearest)), released[nearest], strict=True
    ):
        key = tuple(at for at, column in zip(place, nearest, strict=True) if column in margin)
        terms.setdefault(key, []).append(one)
    return [total_of(terms[key]) for key in product(*(range(sizes[column]) for column in margin))]
