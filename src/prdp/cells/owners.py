"""Privacy units: a customer with all of that customer's rows as one record; what is read, and what is found.

A unit's budget is the least over all its rows, and what its rows contribute is folded into one contribution
before anything else happens. In full: proofs/units.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from prdp.cells.summary import Summary
from prdp.declare.groups import Grouping
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node
from prdp.levels import Levels
from prdp.plan.queries import Count, Distinct, Max, Mean, Measure, Min, Quantile, Query, Std, Sum, Variance
from prdp.policy import Policy

MOST_ROWS = 1 << 20
"""A unit adds at most so many times what one row can add; what is more is cut off."""

_MOST_SHARED_OUT = 1 << 63
"""What a unit adds to several groups is below this, so that the product of two such numbers is a HUGEINT."""

Fold = Literal["sum", "max", "min"]


@dataclass(frozen=True, slots=True)
class PerUnit:
    """What must be read of units.

    Attributes:
        measure: The measure of a row; None to count rows.
        fold: What is made of a unit's values.
    """

    measure: Measure | None
    fold: Fold = "sum"


@dataclass(frozen=True, slots=True)
class UnitReading:
    """What an engine must find out of units: how many there are, and what they add, in every cell.

    Attributes:
        policy: The policy of a row, as in ``Reading``.
        levels: The grid of budgets.
        protect: The column whose value says which unit a row belongs to; rows without one are left out.
        measure: What to fold of a row; None to count rows.
        fold: What is made of a unit's values.
        where: Which rows contribute; None for all. The budget is over all rows whatever stands here.
        groups: The public groups to tell apart; None for one group of all rows.
    """

    policy: Policy
    levels: Levels
    protect: str
    measure: Measure | None
    fold: Fold
    where: Node | None
    groups: Grouping | None = None

    @property
    def counted(self) -> Measure:
        """How many rows a unit can contribute: from 1 on, since one with none is not there at all."""
        return Measure("", Fraction(1), 1, MOST_ROWS)

    @property
    def folded(self) -> Measure:
        """What a unit can contribute; to several groups, its absolute contributions added up."""
        measure = self.measure
        if measure is None:
            return self.counted
        if self.groups is not None:
            return replace(measure, low=_least_size(measure), high=measure.largest * MOST_ROWS)
        if self.fold != "sum":
            return measure
        low, high = (end * MOST_ROWS for end in (measure.low, measure.high))
        return replace(measure, low=min(low, measure.low), high=max(high, measure.high))


def _least_size(measure: Measure) -> int:
    """Return the least absolute value within the bounds."""
    return 0 if measure.low <= 0 <= measure.high else measure.smallest


@dataclass(frozen=True, slots=True)
class Caps:
    """How far a unit of each level may count, over all groups together.

    Attributes:
        by_level: The caps, in steps of the finer lattice.
        bits: The lattice is 2^bits times as fine as the values.
    """

    by_level: tuple[int, ...]
    bits: int = 0


@dataclass(frozen=True, slots=True)
class UnitGroups:
    """Units whose rows may lie in several groups: what each adds to all of them, and a second look.

    Attributes:
        summary: The cells of the units by their absolute contributions to all groups, added up.
        clipped: From caps to each group's total, every unit's contributions scaled down to its cap together.
        bits: The summary's lattice is 2^bits times as fine as the values.
    """

    summary: Summary
    clipped: Callable[[Caps], tuple[int, ...]] = field(repr=False)
    bits: int = 0

    def refined(self, bits: int) -> UnitGroups:
        """Return the same on a lattice 2^bits times as fine."""
        return UnitGroups(self.summary.refined(bits), self.clipped, self.bits + bits)

    def unclipped(self) -> tuple[int, ...]:
        """Return each group's total when no unit is clipped but those beyond the public bounds."""
        levels = self.summary.levels
        return self.clipped(Caps((self.summary.largest,) * (levels.top + 1), self.bits))


@dataclass(frozen=True, slots=True)
class UnitCells:
    """What an engine finds of units.

    Attributes:
        totals: What units contribute.
        rows: How many rows with a value they contribute; for a count of rows, the same.
    """

    totals: Summary | UnitGroups
    rows: Summary | UnitGroups


_METHODS: dict[type, tuple[str, ...]] = {
    Count: ("clip", "naive"),
    Sum: ("clip", "naive"),
    Mean: ("clip", "naive"),
    Max: ("choice",),
    Min: ("choice",),
}
"""What is proved for units; for groups of their rows, ``clip`` alone."""

_WHY_NOT: dict[type, str] = {
    Quantile: "a unit's rows stand at several ranks, and that they stay within one budget together",
    Distinct: "a unit's rows may hold several values, and that they stay within one budget together",
    Variance: "squared distances from the mean need a second pass, and that it stays within one budget",
    Std: "squared distances from the mean need a second pass, and that it stays within one budget",
}


def counts_units(query: Query, protect: str | None) -> bool:
    """Say whether a query asks how many units there are: how many values the protected column has."""
    return protect is not None and isinstance(query, Distinct) and query.column == protect


def refuse_unless_proved(query: Query, method: str, protect: str, *, grouped: bool = False) -> None:
    """Refuse, by public facts, a question for which there is no proof for units yet."""
    if counts_units(query, protect) and method == "distinct" and not grouped:
        return
    if method in _METHODS.get(type(query), ()) and (method == "clip" or not grouped):
        return
    by_group = " by group" if grouped else ""
    why = _WHY_NOT.get(
        type(query), f"that method={method!r} keeps all rows of a unit{by_group} within one budget"
    )
    raise InvalidRequest(
        f"{query}{by_group} is not answered for a table opened with protect={protect!r}: {why} is not "
        "proved yet. What is: count, sum and mean by method='clip', for groups too, or 'naive'; max, min and "
        f"distinct({protect!r}) without groups."
    )


def refuse_unless_shared_out(measure: Measure | None) -> None:
    """Refuse bounds so wide that a unit's contributions to groups could not be scaled down exactly."""
    if measure is not None and measure.largest * MOST_ROWS >= _MOST_SHARED_OUT:
        raise InvalidRequest(
            f"the bounds of {measure.column!r} hold 2^43 units of {measure.unit} or more: too many to share "
            "out a unit's contributions among groups. Take a larger unit or narrower bounds."
        )
