"""The fence below a clipping point: points that lie far above all records are told from those near them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from prdp.cells.columns import Column, exact_column, plus, product
from prdp.cells.segments import joined, limbs


@dataclass(frozen=True, slots=True)
class Fence:
    """What the point two octaves lower should clip, and what it costs a point if that clips less.

    A point that clips nothing may lie just above the records or far above them: what it clips does not say.
    What a lower one would clip does. In full: proofs/point.md.

    Attributes:
        below: How much lower that is, in quarters of an octave.
        mass: The budget mass, times the share, that should be clipped there.
        times: A unit of mass that lacks there costs a point as much as one of ``times`` parts of a unit that
            it clips itself.
    """

    below: int = 8
    mass: int = 40
    times: int = 4

    @property
    def sway(self) -> Fraction:
        """By what part of its own budget a new record can lower what a point is charged."""
        return Fraction(1, self.times)

    def spared(self, share: Fraction) -> Fraction:
        """Return the budget mass that clipping may cost no weight: as much as all that may lack."""
        return self.mass / (self.times * share)

    def charged(
        self, masses: Sequence[int], whole: int, heights: Sequence[int], worth: Fraction
    ) -> list[int]:
        """Return what points are charged for: what they clip, ``times`` over, and what lacks below them.

        >>> Fence(below=4, mass=10, times=2).charged([9, 3, 0, 0], 20, [0, 4, 8, 12], Fraction(1))
        [18, 7, 7, 10]

        Args:
            masses: What each point clips, in quanta.
            whole: The mass of all records: what a point below all of them would clip.
            heights: How high each point is, in quarters of an octave.
            worth: What a quantum of budget is worth: the share times the quantum.
        """
        lower = [whole, *masses]
        asked = self._asked(worth)
        return [
            self.times * mass + max(0, asked - lower[place])
            for mass, place in zip(masses, self._places(heights), strict=True)
        ]

    def charged_groups(
        self, masses: list[Column], whole: list[Column], heights: Sequence[int], worth: Fraction
    ) -> list[Column]:
        """Return the same for many groups, in limbs: a row for each group and a column for each point."""
        clipped, every = joined(masses), joined(whole)
        lower = np.concatenate((every[:, np.newaxis], clipped), axis=1)[:, self._places(heights)]
        lacking = np.maximum(plus(exact_column([self._asked(worth)]), -lower), 0)
        return limbs(plus(product(clipped, exact_column([self.times])), lacking), 1)

    def _places(self, heights: Sequence[int]) -> list[int]:
        """Return for each point the number of points that lie as much lower as the fence, or more."""
        return [bisect_right(heights, height - self.below) for height in heights]

    def _asked(self, worth: Fraction) -> int:
        """Return the mass that should be clipped, in quanta."""
        return int(self.mass / worth)
