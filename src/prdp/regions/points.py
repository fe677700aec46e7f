"""Sets of points of one column: what the engine compares, and NULL.

Points of every kind are kept by keys that are totally ordered, and sets as half-open spans of keys. Numbers
are kept by the places of their doubles, so that there is nothing between two neighbours; the text that
follows a text is the same with a NUL behind it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from prdp.expressions.nodes import CompareOp
from prdp.schema import ColumnType, Kind

PointKind = Literal["whole", "number", "text", "moment", "truth"]
Span = tuple[Any, Any]
"""A first key, and the first key that is not in it."""

MAX_SPANS = 1_000
"""How many spans a set is kept with; of more, neighbours are joined, which makes the set larger."""

_BEYOND = 2**1024  # where a whole number that no double reaches is put
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def ordinal(number: float) -> int:
    """Return a double's place among all doubles; minus zero has that of zero.

    >>> ordinal(0.0), ordinal(-0.0), ordinal(5e-324), ordinal(-5e-324)
    (0, 0, 1, -1)
    """
    bits: int
    (bits,) = struct.unpack(">q", struct.pack(">d", number + 0.0))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def double_at(place: int) -> float:
    """Return the double at a place.

    >>> double_at(ordinal(-46.5))
    -46.5
    """
    size: float
    (size,) = struct.unpack(">d", struct.pack(">q", abs(place)))
    return -size if place < 0 else size


def microseconds(moment: datetime) -> int:
    """Return a moment in microseconds since 1970.

    >>> microseconds(datetime(1970, 1, 2)), microseconds(datetime(1969, 12, 31, 23, 59, 59))
    (86400000000, -1000000)
    """
    return (moment - _EPOCH) // _MICROSECOND


WHOLE: dict[PointKind, Span] = {
    "whole": (-_BEYOND, _BEYOND + 1),
    "number": (ordinal(-math.inf), ordinal(math.inf) + 1),
    "text": ((0, ""), (1, "")),
    "moment": (-(2**63), 2**63),
    "truth": (0, 2),
}
"""All keys of a kind."""


def kind_of(column: ColumnType) -> PointKind | None:
    """Return what a column's points are; None for one that expressions do not read.

    >>> kind_of(ColumnType(Kind.NUMBER, integer=True)), kind_of(ColumnType(Kind.TEXT))
    ('whole', 'text')
    """
    if column.kind is Kind.NUMBER:
        return "whole" if column.integer else "number"
    kinds: dict[Kind, PointKind] = {Kind.TEXT: "text", Kind.MOMENT: "moment", Kind.BOOLEAN: "truth"}
    return kinds.get(column.kind)


def around(kind: PointKind, value: object) -> Span | None:  # noqa: PLR0911  (one return a kind)
    """Return the first key at or after a value, and the first after it; None for a value of another kind.

    >>> around("whole", 46.0), around("whole", 46.5), around("truth", 1.0)
    ((46, 47), (47, 47), None)
    """
    match kind, value:
        case ("whole", float()):
            if math.isinf(value):
                place = _BEYOND if value > 0 else -_BEYOND
                return place, place + 1
            return math.ceil(value), math.floor(value) + 1
        case ("number", float()):
            return ordinal(value), ordinal(value) + 1
        case ("text", str()):
            return (0, value), (0, value + "\0")
        case ("moment", datetime()):
            return microseconds(value), microseconds(value) + 1
        case ("truth", bool()):
            return int(value), int(value) + 1
        case _:
            return None


@dataclass(frozen=True, slots=True)
class PointSet:
    """A set of points of one column.

    Attributes:
        kind: What the points are.
        spans: Half-open, ascending, and apart from each other.
        null: Whether NULL is in it.
    """

    kind: PointKind
    spans: tuple[Span, ...]
    null: bool = False

    @classmethod
    def of(cls, kind: PointKind, spans: Iterable[Span], *, null: bool = False) -> PointSet:
        """Return the points of some spans, in any order.

        >>> PointSet.of("whole", [(3, 5), (1, 2), (4, 7), (9, 9)])
        PointSet(kind='whole', spans=((1, 2), (3, 7)), null=False)
        """
        joined: list[Span] = []
        for low, end in sorted(span for span in spans if span[0] < span[1]):
            if joined and low <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            else:
                joined.append((low, end))
        return cls(kind, _at_most(joined), null)

    @classmethod
    def compared(cls, kind: PointKind, op: CompareOp, value: object) -> PointSet | None:
        """Return the points for which a comparison with a constant holds; None if it cannot be told.

        >>> PointSet.compared("whole", "<", 46.5).spans[0][1]
        47
        """
        near = around(kind, value)
        if near is None:
            return None
        (low, end), (at, after) = WHOLE[kind], near
        spans: dict[CompareOp, list[Span]] = {
            "<": [(low, at)],
            "<=": [(low, after)],
            ">": [(after, end)],
            ">=": [(at, end)],
            "=": [(at, after)],
            "<>": [(low, at), (after, end)],
        }
        return cls.of(kind, spans[op])

    @property
    def empty(self) -> bool:
        """Whether nothing is in it."""
        return not self.spans and not self.null

    @property
    def everything(self) -> bool:
        """Whether all points and NULL are in it."""
        return self.null and self.spans == (WHOLE[self.kind],)

    def others(self) -> PointSet:
        """Return the points, NULL not among them, that are not in an *exact* set; of no other set."""
        low, end = WHOLE[self.kind]
        firsts = [low, *(high for _, high in self.spans)]
        ends = [*(first for first, _ in self.spans), end]
        return PointSet.of(self.kind, zip(firsts, ends, strict=True))

    def join(self, other: PointSet) -> PointSet:
        """Return what is in one of two sets."""
        return PointSet.of(self.kind, (*self.spans, *other.spans), null=self.null or other.null)

    def meet(self, other: PointSet) -> PointSet:
        """Return what is in both of two sets."""
        if self.beside(other):
            return PointSet(self.kind, (), self.null and other.null)
        found: list[Span] = []
        mine, theirs = iter(self.spans), iter(other.spans)
        one, two = next(mine, None), next(theirs, None)
        while one is not None and two is not None:
            low, end = max(one[0], two[0]), min(one[1], two[1])
            if low < end:
                found.append((low, end))
            if one[1] < two[1]:
                one = next(mine, None)
            else:
                two = next(theirs, None)
        return PointSet(self.kind, _at_most(found), self.null and other.null)

    def beside(self, other: PointSet) -> bool:
        """Say whether all points of one set, NULL aside, come before all of another; looks at ends alone."""
        mine, theirs = self.spans, other.spans
        return not mine or not theirs or mine[-1][1] <= theirs[0][0] or theirs[-1][1] <= mine[0][0]

    def holds(self, other: PointSet) -> bool:
        """Say whether all of another set is in this one."""
        return self.meet(other) == other


def _at_most(spans: list[Span]) -> tuple[Span, ...]:
    """Return ascending spans, neighbours joined until they are few enough."""
    if len(spans) <= MAX_SPANS:
        return tuple(spans)
    step = -(-len(spans) // MAX_SPANS)
    parts = (spans[start : start + step] for start in range(0, len(spans), step))
    return tuple((part[0][0], part[-1][1]) for part in parts)
