"""What is asked of a table, and what must be read of it to answer; knows no engine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from prdp.cells.grids import PER_OCTAVE
from prdp.declare.exact import Exact
from prdp.declare.groups import Grouping
from prdp.declare.schema import Bounds
from prdp.expressions.nodes import Node, canonical
from prdp.levels import Levels
from prdp.policy import Policy


@dataclass(frozen=True, slots=True)
class Count:
    """How many records there are."""

    def __str__(self) -> str:
        return "count"


@dataclass(frozen=True, slots=True)
class _OfColumn:
    """A question about one column."""

    column: str

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()} of {self.column}"


class Sum(_OfColumn):
    """What a column's values add up to; records without a value add nothing."""


class Max(_OfColumn):
    """The largest value of a column."""


class Min(_OfColumn):
    """The smallest value of a column."""


class Mean(_OfColumn):
    """The mean of a column's values; records without one take no part."""


class Variance(_OfColumn):
    """The mean squared distance of a column's values from their mean."""


class Std(_OfColumn):
    """The standard deviation of a column's values: the root of their variance."""


class Distinct(_OfColumn):
    """How many different values a column has; NULL is none of them."""

    def __str__(self) -> str:
        return f"distinct {self.column}"


@dataclass(frozen=True, slots=True)
class Quantile(_OfColumn):
    """The values below which given parts of a column's values lie: ``Quantile("balance", "1/2")``.

    Attributes:
        at: The parts, each between 0 and 1; one or several.
    """

    at: float | Exact | tuple[float | Exact, ...] = "1/2"

    def __str__(self) -> str:
        parts = self.at if isinstance(self.at, tuple) else (self.at,)
        if parts == (Fraction(1, 2),):
            return f"median of {self.column}"
        return f"{', '.join(map(shown_part, parts))} quantile{'s' * (len(parts) > 1)} of {self.column}"


def shown_part(part: object) -> str:
    """Return a part as a short decimal where that says it exactly, else as it is."""
    if isinstance(part, Fraction) and Fraction(f"{float(part):g}") == part:
        return f"{float(part):g}"
    return str(part)


Query = Count | Sum | Max | Min | Mean | Variance | Std | Quantile | Distinct


@dataclass(frozen=True, slots=True)
class Measure:
    """A column to add up, in whole units between public bounds.

    Attributes:
        column: Its name.
        unit: What one step of the lattice is worth.
        low: The least value, in units; smaller ones are moved to it.
        high: The greatest value, in units; larger ones are moved to it.
        per_octave: How many magnitude cells there are in a doubling.
        squares: Whether squares are added up too.
    """

    column: str
    unit: Fraction
    low: int
    high: int
    per_octave: int = PER_OCTAVE
    squares: bool = False

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
class Options:
    """How a caller wants a query answered; None where the query's own way will do.

    Attributes:
        method: Which mechanism answers.
        beta: For ``partition`` and ``framework``: the failure rate.
        graded: For ``partition``: thresholds that make bad failures rarer.
        split: For ``framework``: the part of the share that finds out where budgets become numerous.
    """

    method: str | None = None
    beta: Exact | None = None
    graded: bool | None = None
    split: Exact | None = None


DEFAULT = Options()


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with what decides its answer's distribution, but for the records and the filter."""

    query: Query
    measure: Measure | None
    share: Fraction
    method: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def what(self) -> dict[str, str]:
        """What is asked, for a ledger."""
        facts = {"ask": str(self.query)}
        if self.measure is not None:
            measure = self.measure
            facts["units"] = f"{measure.low} to {measure.high} of {measure.unit}"
        return facts

    @property
    def how(self) -> dict[str, str]:
        """How it is answered, for a ledger."""
        return {"method": self.method, "share": str(self.share), **dict(self.options)}


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that decides how an answer is distributed: what a ledger keeps."""

    asked: tuple[Asked, ...]
    where: Node | None
    share: Fraction
    groups: Grouping | None = None
    source: str = ""

    def __str__(self) -> str:
        """Return the question as one line of JSON: equal for equal questions, readable by people."""
        where = {"source": self.source} if self.source else {}
        where |= {} if self.where is None else {"where": canonical(self.where)}
        groups = {} if self.groups is None else self.groups.facts
        if len(self.asked) == 1:
            facts: dict[str, Any] = self.asked[0].what | where | groups | self.asked[0].how
        else:
            several = [asked.what | asked.how for asked in self.asked]
            facts = {"ask": several} | where | groups | {"share": str(self.share)}
        return json.dumps(facts, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class KeyReading:
    """What an engine must find out to count distinct values: how much budget stands behind each.

    Attributes:
        policy: The policy, as in ``Reading``.
        levels: The grid of budgets.
        column: The column whose values are told apart; records without one take no part.
        where: Which records take part; None for all.
        groups: The public groups to tell apart; None for one group of all records.
    """

    policy: Policy
    levels: Levels
    column: str
    where: Node | None
    groups: Grouping | None = None


@dataclass(frozen=True, slots=True)
class RowReading:
    """Which rows a caller's own mechanism is given, by the framework alone.

    Attributes:
        policy: The policy, as in ``Reading``.
        levels: The grid of budgets.
        columns: The columns that the mechanism sees.
        least: The lowest level of the rows that it sees.
        where: Which records take part; None for all.
    """

    policy: Policy
    levels: Levels
    columns: tuple[str, ...]
    least: int
    where: Node | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What an engine must find out: how many records, and what total, in every cell.

    Attributes:
        policy: The policy, checked against the table, with both ends of its range.
        levels: The grid of budgets.
        bounds: The public bounds of the table's columns.
        measure: What to add up; None to count only.
        where: Which records take part; None for all.
        groups: The public groups to tell apart; None for one group of all records.
        by_level: Whether each record's budget must be that of its level, with no shortcut.
    """

    policy: Policy
    levels: Levels
    bounds: Bounds = field(hash=False)
    measure: Measure | None
    where: Node | None
    groups: Grouping | None = None
    by_level: bool = False

    @property
    def smallest(self) -> int:
        """The least absolute value above zero of what is added up, in steps."""
        return self.measure.smallest if self.measure else 1

    @property
    def largest(self) -> int:
        """The greatest absolute value of what is added up, in steps."""
        return self.measure.largest if self.measure else 1
