"""Margins of clipped answers: which are of use, and figures that add up by least squares.

The reasons are in proofs/publication.md.

Everything here is a function of releases and public facts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from prdp.publish.dimension import Dimension
from prdp.publish.draws import Asked
from prdp.release.formatting import LEVEL, std_error_of
from prdp.release.interval import as_float
from prdp.release.projection import least_squares, least_squares_from_zero
from prdp.release.release import Release

_LOW = 64
"""So much lower than the clipping threshold of a part, that of a whole shows that its choice failed."""


@dataclass(frozen=True, slots=True, repr=False)
class OfInsufficientBudget(Release):
    """An answer of which other answers show that its budget was insufficient."""

    @property
    def insufficient_budget(self) -> bool:
        """Return True."""
        return True


def with_failures(
    dimensions: Sequence[Dimension], released: Mapping[Asked, Sequence[Release]]
) -> dict[Asked, Sequence[Release]]:
    """Return answers, those of insufficient budget with a clipping threshold far below that of a part."""
    largest: dict[Asked, Any] = {}
    found: dict[Asked, Sequence[Release]] = {}
    for asked in sorted(released, key=sum):
        shape = [len(one.levels[level].labels) for one, level in zip(dimensions, asked, strict=True)]
        own = np.array(list(map(_threshold, released[asked])), dtype=float).reshape(shape)
        inside = np.zeros(shape)
        for axis, (dimension, level) in enumerate(zip(dimensions, asked, strict=True)):
            if level:
                finer = largest[*asked[:axis], 0, *asked[axis + 1 :]]
                parts = [finer.take(group, axis).max(axis) for group in dimension.coarse.groups]
                inside = np.maximum(inside, np.stack(parts, axis))
        largest[asked] = np.maximum(np.where(np.isfinite(own), own, 0.0), inside)
        failed = np.ravel(inside > _LOW * own).tolist()
        pairs = zip(released[asked], failed, strict=True)
        found[asked] = [_insufficient(one) if lost else one for one, lost in pairs]
    return found


def _threshold(one: Release) -> float:
    """Return an answer's clipping threshold, of a mean that of its sum; infinite where nothing is clipped."""
    clipped = one.parts[0] if one.parts else one
    threshold = clipped.clip_threshold
    if one.insufficient_budget:
        return 0.0
    return math.inf if threshold is None else float(threshold)


def _insufficient(one: Release) -> Release:
    if one.insufficient_budget:
        return one
    return OfInsufficientBudget(**{each.name: getattr(one, each.name) for each in fields(Release)})


def steps_of_keys(
    dimensions: Sequence[Dimension],
    released: Mapping[Asked, Sequence[Release]],
    step: Fraction,
    *,
    nonnegative: bool,
) -> Any:
    """Return the keys' figures in whole steps, from which all margins follow, block by block."""
    margins = {}
    for asked, answers in released.items():
        levels = zip(dimensions, asked, strict=True)
        shape = [len(one.levels[level].labels) for one, level in levels]
        columns = zip(*map(_number_and_errors, answers), strict=True)
        margins[asked] = [np.array(column, dtype=float).reshape(shape) for column in columns]
    found = np.zeros([one.size for one in dimensions], dtype=object)
    for block in product(*(range(len(one.coarse.groups)) for one in dimensions)):
        keys = [one.coarse.groups[place] for one, place in zip(dimensions, block, strict=True)]
        terms = []
        for asked, parts in margins.items():
            axes = zip(asked, keys, block, strict=True)
            inside = np.ix_(*((place,) if level else places for level, places, place in axes))
            number, noise, bias = (part[inside] for part in parts)
            terms.append((number, 1 / (noise + bias * number.size)))
        solved = (least_squares_from_zero if nonnegative else least_squares)(terms)
        places = [round(Fraction(one) / step) for one in np.ravel(solved).tolist()]
        found[np.ix_(*keys)] = np.array(places, dtype=object).reshape(solved.shape)
    return found


def _number_and_errors(one: Release) -> tuple[float, float, float]:
    """Return an answer, the variance of its noise, and the square of its bias.

    The variance of one whose own budget was insufficient is infinite.
    """
    error = None if one.insufficient_budget else one.std_error
    if error is None:
        return float(one.exact), math.inf, 0.0
    noise = std_error_of(*map(as_float, one.between(LEVEL, Fraction(1)))) or 0.0
    noise = max(min(noise, error), float(one.step))
    return float(one.exact), noise**2, max(0.0, error**2 - noise**2)
