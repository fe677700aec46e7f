"""Public domains of keys that nobody has listed, by patterns and ranges: classes, counted and numbered."""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, groupby, product
from typing import Any, Protocol

from prdp.declare.groups import Calendar, KeyValue, first_moment
from prdp.declare.keys import typed_key
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import is_writable
from prdp.schema import ColumnType, Kind

LARGEST_DOMAIN = 10**300
"""Largest number of keys of a class."""

_MAX_BLOCKS = 256
MAX_LETTERS = 1000
"""Longest text, in characters."""

_SPECIAL = frozenset(".*+^$()|\\")

Letters = tuple[str, ...]
"""A set of characters, in the order of their code points."""


@dataclass(frozen=True, slots=True)
class Block:
    """Texts of one length, with a set of characters for every position; they are numbered from 0.

    >>> plates = Block((("A", "B"), ("0", "1", "2")))
    >>> plates.size, plates.nth(4), "B1" in plates, "b1" in plates
    (6, 'B1', True, False)
    """

    sets: tuple[Letters, ...]

    @property
    def size(self) -> int:
        """Number of texts."""
        return math.prod(map(len, self.sets))

    def nth(self, rank: int) -> str:
        """Return the text of a number; the last position changes fastest."""
        letters = []
        for letters_here in reversed(self.sets):
            rank, place = divmod(rank, len(letters_here))
            letters.append(letters_here[place])
        return "".join(reversed(letters))

    def __contains__(self, text: str) -> bool:
        return len(text) == len(self.sets) and all(map(_holds, self.sets, text))


def _holds(letters: Letters, letter: str) -> bool:
    return letter in letters


@dataclass(frozen=True)
class TextClass:
    """Texts of several blocks, none of them in two; a key is the bytes of a text in UTF-8.

    >>> codes = TextClass.of_pattern("[0-9]{2}-?[a-z]")
    >>> codes.size, codes.nth(codes.size - 1), codes.holds(b"12-x"), codes.holds(b"12-x ")
    (5200, b'99-z', True, False)

    Attributes:
        blocks: The blocks. Two of equal length have a position at which no character is in both.
    """

    blocks: tuple[Block, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if self.size > LARGEST_DOMAIN:
            raise InvalidRequest(
                "there are more than 10^300 such keys: take fewer characters, or shorter texts."
            )

    @classmethod
    def of_pattern(cls, pattern: str) -> TextClass:
        """Return the texts of a pattern such as ``[A-Z]{2}[0-9]{3,5}-?x``, or refuse it."""
        items = _items(pattern)
        count = math.prod(most - least + 1 for _, least, most in items)
        if count > _MAX_BLOCKS:
            raise InvalidRequest(
                f"pattern={pattern!r} has {count:,} combinations of counts, and {_MAX_BLOCKS} are the most: "
                "write fixed counts, as in [0-9]{5}."
            )
        blocks = []
        for counts in product(*(range(least, most + 1) for _, least, most in items)):
            chosen = zip(items, counts, strict=True)
            blocks.append(Block(tuple(letters for (letters, _, _), times in chosen for _ in range(times))))
        _refuse_ambiguous(pattern, blocks)
        return cls(tuple(blocks))

    @classmethod
    def of_length(cls, alphabet: Letters, length: int) -> TextClass:
        """Return all texts of so many characters."""
        return cls((Block((alphabet,) * length),))

    @property
    def size(self) -> int:
        """Number of keys."""
        return sum(block.size for block in self.blocks)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(block.size for block in self.blocks))

    @cached_property
    def _by_length(self) -> dict[int, list[Block]]:
        found: dict[int, list[Block]] = {}
        for block in self.blocks:
            found.setdefault(len(block.sets), []).append(block)
        return found

    def nth(self, rank: int) -> bytes:
        """Return the key of a number from 0 on."""
        place = bisect_right(self._ends, rank)
        return self.blocks[place].nth(rank - self._ends[place] + self.blocks[place].size).encode()

    def holds(self, key: object) -> bool:
        """Return whether bytes are one of the keys; decided by their characters alone."""
        if not isinstance(key, bytes):
            return False
        try:
            text = key.decode()
        except UnicodeDecodeError:
            return False
        return any(text in block for block in self._by_length.get(len(text), ()))


def letters_of(characters: object, what: str) -> Letters:
    """Return a set of characters as it is numbered, or refuse what is none."""
    if not isinstance(characters, str) or not characters:
        raise InvalidRequest(f"{what} lists no characters: write a text of them, such as 'abc0123'.")
    if not is_writable(characters):
        raise InvalidRequest(f"{what} has a character that no text can hold (NUL, or half of one).")
    letters = tuple(sorted(set(characters)))
    if len(letters) < len(characters):
        raise InvalidRequest(f"{what} lists a character twice.")
    return letters


def _items(pattern: object) -> list[tuple[Letters, int, int]]:
    """Return a pattern's sets of characters, each with its least and greatest count."""
    if not isinstance(pattern, str) or not pattern or not is_writable(pattern):
        raise InvalidRequest(f"pattern={pattern!r} is no pattern: write a text such as '[0-9]{{5}}'.")
    items: list[tuple[Letters, int, int]] = []
    place = 0
    while place < len(pattern):
        if pattern[place] == "[":
            letters, place = _set(pattern, place)
        else:
            letter, place = _letter(pattern, place, _SPECIAL | set("{}]?"))
            letters = (letter,)
        least, most, place = _counts(pattern, place)
        items.append((letters, least, most))
    if sum(most for _, _, most in items) > MAX_LETTERS:
        raise InvalidRequest(f"pattern={pattern!r} spells more than {MAX_LETTERS} characters.")
    return items


def _letter(pattern: str, place: int, special: frozenset[str] | set[str]) -> tuple[str, int]:
    """Return one character, which a backslash may precede, and the place after it."""
    letter = pattern[place]
    if letter == "\\" and place + 1 < len(pattern) and not pattern[place + 1].isalnum():
        return pattern[place + 1], place + 2
    if letter in special:
        raise _refused(pattern, place, f"{letter!r} is not understood here")
    return letter, place + 1


def _set(pattern: str, start: int) -> tuple[Letters, int]:
    """Return the characters of ``[...]``, and the place after it."""
    place, found = start + 1, set[str]()
    while place < len(pattern) and pattern[place] != "]":
        low, place = _letter(pattern, place, {"[", "^"} if place == start + 1 else {"["})
        high = low
        if pattern[place : place + 1] == "-" and pattern[place + 1 : place + 2] not in {"", "]"}:
            high, place = _letter(pattern, place + 1, {"["})
        letters = [chr(code) for code in range(ord(low), ord(high) + 1)]
        if not letters or not found.isdisjoint(letters) or not is_writable("".join(letters)):
            raise _refused(pattern, start, "a range is empty, or a character is listed twice")
        found.update(letters)
    if place >= len(pattern) or not found:
        raise _refused(pattern, start, "the set is empty or not closed")
    return tuple(sorted(found)), place + 1


def _counts(pattern: str, place: int) -> tuple[int, int, int]:
    """Return the least and the greatest count that are at a place, and the place after them."""
    if pattern[place : place + 1] == "?":
        return 0, 1, place + 1
    if pattern[place : place + 1] != "{":
        return 1, 1, place
    end = pattern.find("}", place)
    parts = pattern[place + 1 : end].split(",") if end > 0 else []
    if len(parts) not in {1, 2} or not all(_is_count(part) for part in parts):
        raise _refused(pattern, place, "counts are written {5} or {2,4}")
    least, most = int(parts[0]), int(parts[-1])
    if not least <= most or most == 0:
        raise _refused(pattern, place, "counts ascend, and are not 0 alone")
    return least, most, end + 1


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(MAX_LETTERS))


def _refused(pattern: str, place: int, why: str) -> InvalidRequest:
    return InvalidRequest(
        f"pattern={pattern!r}: at character {place + 1}, {why}. A pattern is made of characters, sets such "
        "as [A-Z0-9] and counts such as {5}, {2,4} or ?, and of nothing else that regular expressions have."
    )


def _refuse_ambiguous(pattern: str, blocks: Sequence[Block]) -> None:
    """Refuse a pattern that may spell a key in two ways: it would be counted twice."""

    def length(block: Block) -> int:
        return len(block.sets)

    for _, same in groupby(sorted(blocks, key=length), key=length):
        for one, other in combinations(same, 2):
            if not any(map(_disjoint, one.sets, other.sets)):
                raise InvalidRequest(
                    f"pattern={pattern!r} may spell a key in two ways: nothing tells where one part ends and "
                    "the next begins. Write fixed counts, or a sign between the parts that neither has."
                )


def _disjoint(one: Letters, other: Letters) -> bool:
    return set(one).isdisjoint(other)


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
        """Number of keys."""

    def nth(self, rank: int, /) -> RawKey:
        """Return the key of a number."""

    def holds(self, key: RawKey, /) -> bool:
        """Return whether something is one of the keys."""


@dataclass(frozen=True)
class ListedKeys:
    """Keys that a caller lists.

    >>> ListedKeys((b"chef", b"clerk")).holds(b"Chef")
    False
    """

    keys: tuple[RawKey, ...] = field(repr=False)

    @property
    def size(self) -> int:
        """Number of keys."""
        return len(self.keys)

    @cached_property
    def _places(self) -> frozenset[RawKey]:
        return frozenset(self.keys)

    def nth(self, rank: int) -> RawKey:
        """Return the key of a number."""
        return self.keys[rank]

    def holds(self, key: RawKey) -> bool:
        """Return whether a key is listed."""
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
        """Number of keys."""
        return self.high - self.low + 1

    def nth(self, rank: int) -> RawKey:
        """Return the key of a number."""
        return self.low + rank

    def holds(self, key: RawKey) -> bool:
        """Return whether a key is a whole number of the range."""
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
        """Number of keys."""
        return _number(self.high, self.part) - _number(self.low, self.part) + 1

    def nth(self, rank: int) -> int:
        """Return the key of a number."""
        return microseconds_of(_moment(_number(self.low, self.part) + rank, self.part))

    def holds(self, key: RawKey) -> bool:
        """Return whether a key is a first moment of the range."""
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
        """Number of keys."""
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

    >>> from prdp.declare.key_domains import TextClass
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
        """Number of keys; one that several classes hold counts in each."""
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
