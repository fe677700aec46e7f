"""MIN and MAX of dates: days from a limit that WHERE sets, put on the calendar once they are released."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from prdp.expressions.nodes import Arithmetic, Call, Column, Moment, Negate, Node, Number, Text, children
from prdp.plan.queries import Max, Min, Query
from prdp.sql.grouping import limits_of

_DAY = timedelta(days=1)
_YEARS = range(1, 10_000)


@dataclass(frozen=True, slots=True)
class Day:
    """A day that an answer is away from a public one.

    Attributes:
        answer: The placeholder of the number of days.
        start: The public day.
        before: Whether the day lies before it, not after.
        most: How many days there are to the other public limit; None where there is none.
    """

    answer: Column
    start: datetime
    before: bool
    most: int | None = None

    @property
    def node(self) -> Node:
        """The day, as an expression over answers; its interval ends where WHERE does."""
        number: Node = within(self.answer, self.most)
        number = Negate(number) if self.before else number
        return Call("date_add", (Text("day"), number, Moment(self.start)))


@dataclass(frozen=True, slots=True)
class DayLimits:
    """The first and the last day that WHERE allows a date; None where it does not say."""

    first: datetime | None
    last: datetime | None

    @classmethod
    def of(cls, node: Node, conditions: Sequence[Node]) -> DayLimits:
        """Read the limits of an expression, or of its year.

        >>> from prdp.expressions.nodes import conjuncts
        >>> from prdp.expressions.parse import parse
        >>> held = conjuncts(parse("d >= DATE '2024-02-01' AND d < DATE '2024-03-01'"))
        >>> found = DayLimits.of(Column("d"), held)
        >>> print(found.first, found.last)
        2024-02-01 00:00:00 2024-02-29 00:00:00
        """
        limits = limits_of(node, conditions)
        lows = [_midnight(end) for op in (">", ">=", "=") for end in limits[op] if isinstance(end, datetime)]
        highs = [_midnight(end) for op in ("<=", "=") for end in limits[op] if isinstance(end, datetime)]
        highs += [
            _midnight(end - timedelta(microseconds=1))
            for end in limits["<"]
            if isinstance(end, datetime) and end > datetime.min
        ]
        years = limits_of(Call("year", (node,)), conditions)
        lows += [datetime(int(year), 1, 1) for op in (">=", "=") for year in years[op] if _is_year(year)]
        highs += [datetime(int(year), 12, 31) for op in ("<=", "=") for year in years[op] if _is_year(year)]
        return cls(max(lows, default=None), min(highs, default=None))

    def asked(self, row: Node, *, latest: bool) -> tuple[Query, Callable[[Column], Day]] | None:
        """Return what is asked for the first or the last day, and what the answer is.

        It is asked from the nearer limit, since small numbers are answered more precisely.
        None where WHERE gives no limit.
        """
        near, far = (self.last, self.first) if latest else (self.first, self.last)
        start = far if near is None else near
        if start is None:
            return None
        before = latest if near is not None else not latest
        ends = (row, Moment(start)) if before else (Moment(start), row)
        most = None if near is None or far is None else abs((near - far).days)
        days = within(Call("date_diff", (Text("day"), *ends)), most)
        query = Max.of_node(days) if near is None else Min.of_node(days)
        return query, partial(Day, start=start, before=before, most=most)


def within(days: Node, most: int | None) -> Node:
    """Return a number of days as one that is not negative, nor above the most that there can be."""
    found: Node = Call("greatest", (days, Number(0.0)))
    return found if most is None else Call("least", (found, Number(float(most))))


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _is_year(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer() and int(value) in _YEARS


def ordinal_of(node: Node) -> Node | None:
    """Return the number of a day since the year 1, of a day that was released or is written; None of others.

    >>> from prdp.expressions.evaluate import evaluate
    >>> day = Day(Column("a0"), datetime(2024, 3, 1), before=True)
    >>> found = ordinal_of(day.node)
    >>> print(datetime.fromordinal(int(evaluate(found, {"a0": 1.0}))))
    2024-02-29 00:00:00
    """
    match node:
        case Call(name="date_add", args=(Text(value="day"), number, Moment(value=start))):
            return Arithmetic("+", Number(float(start.toordinal())), number)
        case Moment(value=start) if start == _midnight(start):
            return Number(float(start.toordinal()))
        case _:
            return None


def days_between(node: Node) -> Node:
    """Return an expression with the days between two days that were released as a difference of numbers."""
    match node:
        case Call(name="date_diff", args=(Text(value="day"), start, end)):
            first, last = ordinal_of(start), ordinal_of(end)
            return node if first is None or last is None else Arithmetic("-", last, first)
        case _:
            return node


def is_odd_use(node: Node, days: frozenset[str]) -> bool:
    """Return whether something is computed from a day that was released, but the days between two."""
    match node:
        case Call(name="date_diff", args=(Text(value="day"), Column() | Moment(), Column() | Moment())):
            return False
        case Column(name=name):
            return name in days
        case _:
            return any(is_odd_use(child, days) for child in children(node))
