"""Noisy sums of what lies beyond a clipping threshold, where a warm start measured them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

TAIL_FACTORS = (Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(8))
"""Tail factors up to which what lies beyond a clipping point is measured: the menu of sums, rounded up."""

OCTAVES = (Fraction(1), Fraction(3), Fraction(7))
"""Excess over its cap of a record's value, in caps, for those up to 2, 4 and 8 times as high."""

_MANY = 10
"""Number of noise scales that a mass further up exceeds once in 40,000 times."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A noisy bound on what clipping took from one side of an answer, in steps.

    Attributes:
        steps: What was measured.
        scales: The scales of the noises in it.
        room: What it may be short of, by the lattices that it was measured on.
    """

    steps: Fraction
    scales: tuple[Fraction, ...]
    room: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class ExcludedTail:
    """Noisy sums of the records beyond a clipping point; each record is in one of them.

    Attributes:
        octaves: For each band beyond the point, what values have there beyond what they were allowed, in
            steps; for values below and for those above zero, or for all where there is one sign only.
        further: The budget mass beyond all bands, on a lattice of its own; one for each of the same.
        scale: The noise of a band has this scale, in steps, times its number in ``times``.
        worth: How many steps the budget of one step of that lattice may count for.
        times: For each band, the largest excess over its cap of a record's value there, in caps.
    """

    octaves: tuple[tuple[int, ...], ...]
    further: tuple[int, ...]
    scale: Fraction
    worth: Fraction
    times: tuple[Fraction, ...] = OCTAVES

    def filled(self, values: tuple[int, ...]) -> ExcludedTail:
        """Return the same with what was drawn: for each side its octaves, and the mass further up.

        >>> beyond = ExcludedTail((), (), scale=Fraction(5), worth=Fraction(1, 8)).filled((40, 10, 0, 7))
        >>> beyond.octaves, beyond.further
        (((40, 10, 0),), (7,))
        """
        each = len(self.times) + 1
        octaves = tuple(values[first : first + each - 1] for first in range(0, len(values), each))
        return replace(self, octaves=octaves, further=values[each - 1 :: each])

    @property
    def many(self) -> bool:
        """True if so many records lie beyond all bands that the point says little of them."""
        return max(self.further) * self.worth > _MANY * self.scale

    def pulls(self, side: int, tail_factor: Fraction) -> list[Measured]:
        """Return bounds on the pull of records that reach up to so many times their cap, the last one wide.

        Those before it are of records that reach less far; none of them should be passed by.

        >>> beyond = ExcludedTail(((40, 10, 0),), (0,), scale=Fraction(5), worth=Fraction(1, 8))
        >>> [(int(one.steps), [int(scale) for scale in one.scales]) for one in beyond.pulls(0, Fraction(3))]
        [(40, [5]), (50, [5, 15])]

        Args:
            side: 0 for values below zero, 1 for those above.
            tail_factor: How many times its cap a record may count for.
        """
        sums = self.octaves[side if len(self.octaves) > 1 else 0]
        found: list[Measured] = []
        steps = Fraction(0)
        scales: tuple[Fraction, ...] = ()
        for times, here in zip(self.times, sums, strict=True):
            steps, scales = steps + here, (*scales, times * self.scale)
            found.append(Measured(steps, scales))
            if times + 1 >= tail_factor:
                break
        if tail_factor > self.times[-1] + 1:
            further = self.further[side if len(self.further) > 1 else 0]
            steps += (tail_factor - 1) * self.worth * further
            found.append(
                Measured(steps, (*scales, (tail_factor - 1) * self.scale), (tail_factor - 1) * self.worth + 1)
            )
        return found
