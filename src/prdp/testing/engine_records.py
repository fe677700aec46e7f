"""Records that engines get wrong: odd budgets, ends of 64 bits, NaN, both zeros, and both ends of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from prdp.testing.reference import Record

_Item = TypeVar("_Item")


class Brevity:
    """A base of contracts.

    Attributes:
        brief: Whether to ask a part of the questions where there are many of a kind.
    """

    brief = False

    def some(self, given: Sequence[_Item], step: int) -> Sequence[_Item]:
        """Return everything; or, to be brief, the last and every so many before it."""
        return given[::-1][::step] if self.brief else given

    def part(self, given: Sequence[_Item], number: int, parts: int) -> Sequence[_Item]:
        """Return everything; or, to be brief, one of several parts that together are everything."""
        return given[number % parts :: parts] if self.brief else given


NAN, INFINITY = float("nan"), float("inf")

BUDGETS = [
    None,
    NAN,
    INFINITY,
    -INFINITY,
    -1.0,
    -0.0,
    0.0,
    5e-324,
    0.0999,
    0.1,
    0.2,
    0.4,
    1.0,
    9.9,
    1e300,
]
WHOLES = [None, 0, 1, -1, 7, 8, 9, 1023, 1024, 1025, 2**40 + 50, 2**53 + 1, 2**63 - 1, -(2**63)]
FRACTIONS = [None, NAN, INFINITY, -INFINITY, -0.0, 0.005, 0.015, 2.5, -2.5, 123.456, 1e18, -1e18]

DAYS = [datetime(2025, 1, 31, 23, 59), datetime(1, 1, 1), datetime(9999, 12, 31)]


def record_of(
    eps: float | None = None,
    v: int | None = None,
    x: float | None = None,
    job: str | None = None,
    day: datetime | None = None,
) -> Record:
    """Return a record of the contract's table, NULL in every column that is not given."""
    return {"eps": eps, "v": v, "x": x, "job": job, "day": day}


UNITS = [
    record_of(eps=budget, v=v, x=x, job=job, day=day)
    for job, day, x, rows in (
        ("clerk", DAYS[0], 0.0, [(0.2, 7), (9.9, 2**63 - 1), (1.0, 2**63 - 1), (0.2, None)]),
        ("chef", DAYS[1], -0.0, [(0.1, 8), (1e300, -1), (INFINITY, 1025)]),
        ("Chef", DAYS[1], 2.5, [(1.0, -(2**63)), (1.0, -(2**63) + 1), (0.4, 9)]),
        ("null", DAYS[2], INFINITY, [(1.0, 50), (None, 3)]),
        ("nan", None, NAN, [(1.0, 50), (NAN, None)]),
        ("zero", DAYS[0], 7.0, [(0.0, 1), (1.0, 9)]),
        ("below", None, 8.0, [(1.0, 10), (0.0999, 10)]),
        ("lowest", None, 9.0, [(-INFINITY, 10), (1.0, 10)]),
        ("", None, 10.0, [(1.0, None), (2.0, None)]),
        (None, DAYS[2], None, [(1.0, 12), (9.9, 7)]),
        ("cancels", None, 11.0, [(0.4, 6), (0.4, -6)]),
        ("several", None, 0.0, [(0.4, 6)]),
        ("several", None, 2.5, [(0.2, 600), (0.3, -5)]),
        ("several", None, 7.0, [(0.9, 5000)]),
        ("clerk", DAYS[0], 2.5, [(5.0, 11), (5.0, 2**40)]),
    )
    for budget, v in rows
]
"""Rows of units, distinguished by job, day or x; several of them have an odd row."""

ONE_ROW_PER_UNIT = [
    record_of(eps=eps, v=v, x=20.0 + place, job=f"one {place}", day=datetime(2025, 2, 1 + place))
    for place, (eps, v) in enumerate([(0.2, 7), (9.9, 2**41), (1.0, None), (None, 9), (0.0999, 9), (0.4, -3)])
]
"""Rows whose job, day and x no other row has; one has no value, and two have no budget."""
