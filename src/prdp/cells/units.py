"""Privacy units as cells: all rows of a unit as one record, as an engine finds them.

A unit's budget is the least over all its rows, and what its rows contribute is folded into one contribution
before anything else happens. In full: proofs/privacy_units.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isqrt
from typing import Literal

from prdp.cells.summary import Summary

Fold = Literal["sum", "max", "min"]

PerUnit = Literal["sum", "count", "max", "min"]
"""Kinds of results into which a unit's rows are folded before the units are asked about."""

LONGEST = 1 << 47
"""The largest sum of contributions of which a Euclidean norm is taken: roots of floats will do there."""


def euclidean_norm(added: Sequence[int]) -> int:
    """Return the Euclidean norm of a unit's contributions, rounded up; a sum beyond ``LONGEST`` as it is.

    >>> euclidean_norm([1, -1, 1]), euclidean_norm([3, 4]), euclidean_norm([LONGEST, 1]) - LONGEST
    (2, 5, 1)
    """
    size = sum(map(abs, added))
    return size if size > LONGEST else isqrt(max(0, sum(one * one for one in added) - 1)) + (size > 0)


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a unit of each level may count, over all groups together.

    Attributes:
        by_level: The caps, in steps of the finer lattice.
        bits: The lattice is 2^bits times as fine as the values.
    """

    by_level: tuple[int, ...]
    bits: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """A second look at units that is wanted: how far each may count, and what of its rows counts.

    Attributes:
        caps: The caps of units.
        count_rows: Whether rows are added up instead of values.
        place: Of reads that are made together, which one it is about.
    """

    caps: Caps
    count_rows: bool
    place: int = 0


def _ignore(_: Caps) -> None:
    """Take no notice of what will be wanted."""


@dataclass(frozen=True, slots=True)
class UnitGroups:
    """Units whose rows may lie in several groups: what each adds to all of them, and a second look.

    Attributes:
        summary: The cells of the units by the sizes of their contributions to all groups: their absolute
            values added up, or their Euclidean norm.
        clipped: From caps to each group's total, every unit's contributions scaled down to its cap together.
        bits: The summary's lattice is 2^bits times as fine as the values.
        groups: The number of groups; 0 if unknown.
        wanted: Receives the caps that ``clipped`` will be called with, so that several passes become one.
        euclidean: Whether sizes are Euclidean norms, which Gaussian noise alone may go by.
    """

    summary: Summary
    clipped: Callable[[Caps], tuple[int, ...]] = field(repr=False)
    bits: int = 0
    groups: int = 0
    wanted: Callable[[Caps], None] = field(default=_ignore, repr=False)
    euclidean: bool = False

    def refined(self, bits: int) -> UnitGroups:
        """Return the same on a lattice 2^bits times as fine."""
        return replace(self, summary=self.summary.refined(bits), bits=self.bits + bits)

    def unclipped(self) -> tuple[int, ...]:
        """Return each group's total when no unit is clipped but those beyond the public bounds."""
        levels = self.summary.levels
        return self.clipped(Caps((self.summary.largest,) * (levels.top + 1), self.bits))


def _none(centers: Mapping[int, int]) -> Sequence[UnitCells]:
    """Refuse squared distances where they cannot be read."""
    raise TypeError(f"no squared distances from {len(centers)} centers are known of these units")


@dataclass(frozen=True, slots=True)
class UnitCells:
    """The cells of units: by what each contributes, and by its number of rows.

    Attributes:
        totals: What units contribute.
        rows: How many rows with a value they contribute; for a count of rows, the same.
        around: From centers by the place of their groups to the cells of each group, of squared distances.
        place: The place of its group among those that are distinguished.
        coarser: The number of bits by which squared distances are coarser than squares of steps of centers.
    """

    totals: Summary | UnitGroups
    rows: Summary | UnitGroups
    around: Callable[[Mapping[int, int]], Sequence[UnitCells]] = field(
        default=_none, repr=False, compare=False
    )
    place: int = 0
    coarser: int = 0
