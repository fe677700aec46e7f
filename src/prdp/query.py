"""What is asked of a table, and what must be read of it to answer; knows no engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from prdp.expressions.nodes import Node, canonical
from prdp.levels import Levels
from prdp.policy import Policy

Bounds = Mapping[str, tuple[Fraction, Fraction]]
"""For each column that has them, the public least and greatest value."""

Units = Mapping[str, Fraction]
"""For each column that has one, the public grain of its values."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many records there are."""

    def __str__(self) -> str:
        return "count"


@dataclass(frozen=True, slots=True)
class Sum:
    """What a column's values add up to; records without a value add nothing."""

    column: str

    def __str__(self) -> str:
        return f"sum of {self.column}"


@dataclass(frozen=True, slots=True)
class Max:
    """The largest value of a column."""

    column: str

    def __str__(self) -> str:
        return f"max of {self.column}"


@dataclass(frozen=True, slots=True)
class Min:
    """The smallest value of a column."""

    column: str

    def __str__(self) -> str:
        return f"min of {self.column}"


Query = Count | Sum | Max | Min


@dataclass(frozen=True, slots=True)
class Measure:
    """A column to add up, in whole units between public bounds.

    Attributes:
        column: Its name.
        unit: What one step of the lattice is worth.
        low: The least value, in units; smaller ones are moved to it.
        high: The greatest value, in units; larger ones are moved to it.
    """

    column: str
    unit: Fraction
    low: int
    high: int

    @property
    def smallest(self) -> int:
        """The least absolute value above zero that the bounds allow, in units."""
        if self.low > 0:
            return self.low
        return max(1, -self.high)

    @property
    def largest(self) -> int:
        """The greatest absolute value that the bounds allow, in units, and at least 1."""
        return max(1, abs(self.low), abs(self.high))


@dataclass(frozen=True, slots=True)
class Question:
    """A query with everything that decides its answer's distribution: what a ledger keeps."""

    query: Query
    measure: Measure | None
    where: Node | None
    share: Fraction
    method: str
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Return the question as one line of JSON: equal for equal questions, readable by people."""
        asked: dict[str, str] = {"ask": str(self.query)}
        if self.measure is not None:
            measure = self.measure
            asked["units"] = f"{measure.low} to {measure.high} of {measure.unit}"
        if self.where is not None:
            asked["where"] = canonical(self.where)
        asked |= {"method": self.method, "share": str(self.share), **dict(self.options)}
        return json.dumps(asked, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an engine must find out: how many records, and what total, in every cell.

    Attributes:
        policy: The policy, checked against the table, with both ends of its range.
        levels: The grid of budgets.
        bounds: The public bounds of the table's columns.
        measure: What to add up; None to count only.
        where: Which records take part; None for all.
    """

    policy: Policy
    levels: Levels
    bounds: Bounds = field(hash=False)
    measure: Measure | None
    where: Node | None

    @property
    def smallest(self) -> int:
        """The least absolute value above zero of what is added up, in steps."""
        return self.measure.smallest if self.measure else 1

    @property
    def largest(self) -> int:
        """The greatest absolute value of what is added up, in steps."""
        return self.measure.largest if self.measure else 1
