"""A measured column: whole steps of a rounding step between public bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.expressions.nodes import Node
from prdp.levels import PER_OCTAVE


@dataclass(frozen=True, slots=True)
class Measure:
    """A column to add up, or what is computed from columns, in whole rounding steps between public bounds.

    >>> cents = Measure("price", Fraction(1, 100), low=0, high=500)
    >>> cents.high * cents.round_to
    Fraction(5, 1)

    Attributes:
        column: Its name; of what is computed, the canonical text.
        round_to: The value of one step of the lattice.
        low: The least value, in rounding steps; smaller ones are moved to it.
        high: The greatest value, in rounding steps; larger ones are moved to it.
        per_octave: The number of magnitude cells in a doubling.
        totals: Whether values are added up, or their cells counted alone; else all totals are 0.
        squares: Whether squares are added up too; only where values are.
        expression: What is computed; None for a column of the table.
    """

    column: str
    round_to: Fraction
    low: int
    high: int
    per_octave: int = PER_OCTAVE
    totals: bool = True
    squares: bool = False
    expression: Node | None = None

    @property
    def smallest(self) -> int:
        """The least absolute value above zero that the bounds allow, in rounding steps.

        >>> [Measure("v", Fraction(1), *ends).smallest for ends in ((3, 9), (0, 9), (-9, -3))]
        [3, 1, 3]
        """
        if self.low > 0:
            return self.low
        return max(1, -self.high)

    @property
    def largest(self) -> int:
        """The greatest absolute value that the bounds allow, in rounding steps, and at least 1.

        >>> [Measure("v", Fraction(1), *ends).largest for ends in ((3, 9), (-12, 9), (0, 0))]
        [9, 12, 1]
        """
        return max(1, abs(self.low), abs(self.high))

    def added_up(self, rows: int) -> Measure:
        """Return the measure of what up to so many rows of a privacy unit add up to.

        >>> of_unit = Measure("v", Fraction(1), 2, 5).added_up(rows=3)
        >>> of_unit.low, of_unit.high  # one row may be all that there is
        (2, 15)
        """
        low, high = self.low * rows, self.high * rows
        return replace(self, low=min(low, self.low), high=max(high, self.high))

    @property
    def signed(self) -> bool:
        """True if the bounds allow values of both signs.

        >>> Measure("v", Fraction(1), -1, 1).signed, Measure("v", Fraction(1), 0, 1).signed
        (True, False)
        """
        return self.low < 0 < self.high
