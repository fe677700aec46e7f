"""Reads of units whose budgets are divided among what counts of them, each part a record of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from prdp.cells.measure import Measure
from prdp.cells.units import Fold
from prdp.declare.groups import Grouping
from prdp.declare.units import PrivacyUnit
from prdp.levels import MAX_BELOW, Levels, holds
from prdp.plan.reads import CellRead, KeyRead, PlanReader, Read, RowRead, TopRead, UnitRead, Whole

UnitPart = Literal["", "row", "group", "key"]
"""Parts that a unit's budget is divided among: rows, groups or different keys; nothing where it is folded."""


@dataclass(frozen=True, slots=True)
class DividedRead(Whole):
    """Read what counts of units as records of their own, each with an equal part of its unit's budget.

    Attributes:
        read: What is made of the parts; its levels are those of divided budgets.
        unit: Who is protected with all their rows.
        levels: The grid of undivided budgets: a unit with a row below takes no part.
        part: What a unit's budget is divided among, over all listed groups: its rows; its groups, each
            with one value; or its different keys, in each group anew.
        fold: What is made of a unit's values in a group, where groups are the parts.
        of_row: What is folded of a row, where the parts are sums of it and have wider ends; None where not.
    """

    read: CellRead | KeyRead | TopRead
    unit: PrivacyUnit
    levels: Levels
    part: UnitPart
    fold: Fold = "sum"
    of_row: Measure | None = None

    @property
    def groups(self) -> Grouping | None:
        """The public groups to tell apart; None for one group."""
        return (self.read.records if isinstance(self.read, TopRead) else self.read).groups

    @property
    def rows(self) -> UnitRead:
        """The read of the rows: whose each is, and what it is measured or distinguished by."""
        read = self.read.keys if isinstance(self.read, TopRead) else self.read
        measure = (
            self.of_row or read.measure
            if isinstance(read, CellRead)
            else Measure(read.column, Fraction(1), 0, 0, expression=read.expression)
        )
        return UnitRead(read.policy, self.levels, self.unit, measure, self.fold, read.where, read.groups)

    def find(self, reader: PlanReader) -> Any:
        """Return each group's parts, as cells or keys of records."""
        return reader.source.divided(self)


def divided(read: Read, unit: PrivacyUnit, levels: Levels, part: UnitPart, fold: Fold) -> DividedRead:
    """Return a read of records as one of parts of units, of which possible ratios are unknown."""
    match read:
        case CellRead():
            return DividedRead(replace(read, ratios=None), unit, levels, part, fold)
        case TopRead(keys, records):
            return DividedRead(TopRead(keys, replace(records, ratios=None)), unit, levels, part, fold)
        case KeyRead():
            return DividedRead(read, unit, levels, part, fold)
        case _:
            raise TypeError(f"{type(read).__name__} cannot be divided among parts of units")


@dataclass(frozen=True, slots=True)
class DividedRowRead(Whole):
    """Read rows of units for a caller's own mechanism, each with an equal part of its unit's budget.

    Attributes:
        read: The rows; its levels are those of divided budgets.
        unit: Who is protected with all their rows.
        levels: The grid of undivided budgets.
    """

    read: RowRead
    unit: PrivacyUnit
    levels: Levels

    def find(self, reader: PlanReader) -> Any:
        """Return the rows as an Arrow table, and the levels of their parts."""
        return reader.source.divided_rows(self)


def divided_levels(levels: Levels, below: int, max_rows: int, groups: int | None = None) -> Levels:
    """Return the grid of budgets that are divided among so many rows, and some more; or among groups.

    >>> one = Levels(Fraction(1), Fraction(1))
    >>> divided_levels(one, 0, max_rows=8).below, divided_levels(one, 0, max_rows=2**20).below
    (7, 16)
    >>> divided_levels(one, 0, max_rows=2**20, groups=5).below
    3

    Args:
        levels: The grid of undivided budgets, down to the least within the public bounds.
        below: How many octaves further down undivided budgets go.
        max_rows: How many rows a unit is declared to have at most; one with more may still take part.
        groups: Where the parts of units are their groups, how many there are: no unit has more.
    """
    more = (max_rows - 1).bit_length() + _MORE_ROWS if groups is None else (groups - 1).bit_length()
    octaves = min(MAX_BELOW, below + more)
    while octaves > below and not holds(levels.at_least / (1 << octaves), levels.at_most):
        octaves -= 1
    return Levels(levels.at_least * _LESS / (1 << octaves), levels.at_most, octaves)


_LESS = 1 - Fraction(1, 1 << 16)
"""Lowers the grid, so that halves of the largest and least budgets are on a level, not just below one."""

_MORE_ROWS = 4
"""Octaves of rows beyond ``max_rows`` that a unit may have before it is left out."""
