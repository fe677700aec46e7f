"""Public domains of keys that nobody has listed: classes of equally likely keys, counted and numbered."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Protocol

from prdp.declare.groups import Calendar, KeyValue, first_moment
from prdp.declare.keys import typed_key
from prdp.declare.patterns import LARGEST_DOMAIN
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind

EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_LISTED = 20
_MAX_CLASSES = 20_000

RawKey = bytes | int | float
"""A key of one column as an engine finds it: bytes of a text, a number, microseconds since 1970."""

RawRow = tuple[RawKey, ...]
"""A key of all columns."""


class KeyClass(Protocol):
    """Keys of one weight, numbered from 0."""

    @property
    def size(self) -> int:
        """How many keys there are."""

    def nth(self, rank: int, /) -> RawKey:
        """Return the key of a number."""

    def holds(self, key: RawKey, /) -> bool:
        """Say whether something is one of the keys."""


@dataclass(frozen=True)
class ListedKeys:
    """Keys that a caller lists.

    >>> ListedKeys((b"chef", b"clerk")).holds(b"Chef")
    False
    """

    keys: tuple[RawKey, ...] = field(repr=False)

    @property
    def size(self) -> int:
        """How many keys there are."""
        return len(self.keys)

    @cached_property
    def _places(self) -> frozenset[RawKey]:
        return frozenset(self.keys)

    def nth(self, rank: int) -> RawKey:
        """Return the key of a number."""
        return self.keys[rank]

    def holds(self, key: RawKey) -> bool:
        """Say whether a key is listed."""
        return key in self._places


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """The whole numbers of a range, both ends included; a double that is whole is one of them.

    >>> WholeNumbers(1, 12).holds(7.0), WholeNumbers(1, 12).holds(7.5), WholeNumbers(1, 12).nth(0)
    (True, False, 1)
    """

    low: int
    high: int

    @property
    def size(self) -> int:
        """How many keys there are."""
        return self.high - self.low + 1

    def nth(self, rank: int) -> RawKey:
        """Return the key of a number."""
        return self.low + rank

    def holds(self, key: RawKey) -> bool:
        """Say whether a key is a whole number of the range."""
        whole = isinstance(key, int) or (isinstance(key, float) and key.is_integer())
        return whole and self.low <= key <= self.high  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class MomentRange:
    """The first moments of the hours, days, ... of a range; a key is in microseconds since 1970.

    >>> year = MomentRange("month", datetime(2026, 1, 1), datetime(2026, 12, 1))
    >>> year.size, EPOCH + year.nth(11) * _MICROSECOND, year.holds(year.nth(3)), year.holds(year.nth(3) + 1)
    (12, datetime.datetime(2026, 12, 1, 0, 0), True, False)
    """

    part: Calendar
    low: datetime
    high: datetime

    @property
    def size(self) -> int:
        """How many keys there are."""
        return _number(self.high, self.part) - _number(self.low, self.part) + 1

    def nth(self, rank: int) -> int:
        """Return the key of a number."""
        return microseconds_of(_moment(_number(self.low, self.part) + rank, self.part))

    def holds(self, key: RawKey) -> bool:
        """Say whether a key is a first moment of the range."""
        if not isinstance(key, int) or not microseconds_of(self.low) <= key <= microseconds_of(self.high):
            return False
        moment = EPOCH + key * _MICROSECOND
        return first_moment(moment, self.part) == moment


def microseconds_of(moment: datetime) -> int:
    """Return a moment as a raw key."""
    return (moment - EPOCH) // _MICROSECOND


_MONTHS: dict[str, int] = {"month": 1, "quarter": 3, "year": 12}
_HOURS: dict[str, int] = {"hour": 1, "day": 24, "week": 7 * 24}


def _number(moment: datetime, part: Calendar) -> int:
    """Return which hour, day, ... of the calendar a first moment begins; the first Monday is week 0."""
    if part in _MONTHS:
        return (12 * moment.year + moment.month - 1) // _MONTHS[part]
    return (24 * (moment.toordinal() - 1) + moment.hour) // _HOURS[part]


def _moment(number: int, part: Calendar) -> datetime:
    """Return the first moment of a numbered hour, day, ..."""
    if part in _MONTHS:
        year, month = divmod(number * _MONTHS[part], 12)
        return datetime(year, month + 1, 1)
    days, hour = divmod(number * _HOURS[part], 24)
    return datetime.fromordinal(days + 1) + timedelta(hours=hour)


@dataclass(frozen=True)
class ColumnKeys:
    """The possible keys of one column: classes, each with its part of the weight.

    Attributes:
        name: The column.
        type: What it holds.
        classes: The classes with the weight of all their keys together; these add up to 1 at most. A key that
            several hold belongs to the first.
        facts: The classes as a ledger's question text has them.
    """

    name: str
    type: ColumnType
    classes: tuple[tuple[KeyClass, Fraction], ...] = field(repr=False)
    facts: dict[str, Any] = field(repr=False, hash=False)

    def class_of(self, key: RawKey) -> int | None:
        """Return which class a key belongs to; None if to none."""
        return next((place for place, (keys, _) in enumerate(self.classes) if keys.holds(key)), None)

    def shown(self, key: RawKey) -> KeyValue:
        """Return a key as a caller lists it for groups."""
        if self.type.kind is Kind.MOMENT:
            return EPOCH + int(key) * _MICROSECOND
        if self.type.kind is Kind.BOOLEAN:
            return bool(key)
        return key.decode() if isinstance(key, bytes) else typed_key(key, self.name, self.type)


@dataclass(frozen=True)
class ProductClass:
    """The combinations of one class of every column, numbered; the last column's change fastest.

    Attributes:
        parts: A class of each column.
        weight: The weight of each of the keys.
    """

    parts: tuple[KeyClass, ...] = field(repr=False)
    weight: Fraction

    @cached_property
    def size(self) -> int:
        """How many keys there are."""
        return math.prod(part.size for part in self.parts)

    def nth(self, rank: int) -> RawRow:
        """Return the key of a number."""
        found = []
        for part in reversed(self.parts):
            rank, place = divmod(rank, part.size)
            found.append(part.nth(place))
        return tuple(reversed(found))


@dataclass(frozen=True)
class KeyDomain:
    """The public set of keys that a search can find, each with its weight.

    A key that nobody has is shown with a probability of at most its weight; weights add up to ``false_keys``.

    >>> from prdp.declare.patterns import TextClass
    >>> digits = ColumnKeys("d", ColumnType(Kind.TEXT), ((TextClass.of_pattern("[0-9]"), Fraction(1)),), {})
    >>> domain = KeyDomain((digits, digits), Fraction(1, 100))
    >>> domain.size, domain.classes[0].weight, domain.class_of((b"1", b"2")), domain.class_of((b"1", b"x"))
    (100, Fraction(1, 10000), 0, None)

    Attributes:
        columns: The keys of each column.
        false_keys: The expected number of false keys.
    """

    columns: tuple[ColumnKeys, ...]
    false_keys: Fraction

    def __post_init__(self) -> None:
        count = math.prod(len(column.classes) for column in self.columns)
        if count > _MAX_CLASSES or self.size > LARGEST_DOMAIN:
            raise InvalidRequest(
                f"there are more than 10^300 possible keys, or more than {_MAX_CLASSES:,} lengths of texts "
                "together. Write pattern= where texts have a form, or a smaller longest=."
            )
        likeliest = max(one.weight for one in self.classes)
        if likeliest >= Fraction(1, 2):
            raise InvalidRequest(
                f"false_keys={self.false_keys} is too much for {self.size:,} possible keys: one that nobody "
                f"has would be shown with a chance of {float(likeliest):.3g}. Write less."
            )

    @cached_property
    def classes(self) -> tuple[ProductClass, ...]:
        """The classes of all columns together."""
        return tuple(
            ProductClass(
                tuple(keys for keys, _ in chosen),
                self.false_keys
                * math.prod((weight / keys.size for keys, weight in chosen), start=Fraction(1)),
            )
            for chosen in product(*(column.classes for column in self.columns))
        )

    @cached_property
    def size(self) -> int:
        """How many keys there are, one that several classes hold counted in each."""
        return math.prod(sum(keys.size for keys, _ in column.classes) for column in self.columns)

    def class_of(self, key: RawRow) -> int | None:
        """Return which class a key belongs to; None if it is not in the domain."""
        place = 0
        for column, part in zip(self.columns, key, strict=True):
            found = column.class_of(part)
            if found is None:
                return None
            place = place * len(column.classes) + found
        return place

    def shown(self, key: RawRow) -> tuple[KeyValue, ...]:
        """Return a key as a caller lists it for groups."""
        return tuple(column.shown(part) for column, part in zip(self.columns, key, strict=True))


def listed_facts(keys: Sequence[object]) -> object:
    """Return listed keys for a ledger's question text: all of them while they are few, else a digest."""
    plain = [key.isoformat() if isinstance(key, datetime) else key for key in keys]
    if len(plain) <= _LISTED:
        return plain
    return f"{len(plain)} keys, sha256 {hashlib.sha256(json.dumps(plain).encode()).hexdigest()}"
