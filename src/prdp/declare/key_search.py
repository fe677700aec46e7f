"""The domain of keys that a caller describes: patterns, ranges, lists, alphabets, or likely texts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

from prdp.declare.exact import Exact, exact, is_integer, short_repr
from prdp.declare.groups import Binned, GroupKey, Truncated, first_moment, group_key, key_type
from prdp.declare.key_domains import (
    MAX_LETTERS,
    ColumnKeys,
    KeyClass,
    KeyDomain,
    ListedKeys,
    MomentRange,
    RawKey,
    TextClass,
    WholeNumbers,
    letters_of,
    listed_facts,
    microseconds_of,
)
from prdp.declare.keys import Plain, rows_of, typed_key
from prdp.errors import Argument, InvalidRequest
from prdp.expressions.intervals import Interval, bound
from prdp.expressions.nodes import Node
from prdp.schema import Bounds, ColumnType, Kind, Schema

LETTERS = "".join(map(chr, range(32, 127)))
"""The printable characters of ASCII."""

END = "end"

_ROWS = {
    "start": """
        81 94 94 94 94 94 94 94 94 94 94 94 94 94 94 94 81 81 81 81 81 81 81 81 81 81 94 94 94 94 94 94 94
        33 36 32 39 42 42 42 42 45 57 53 43 37 46 43 32 64 39 29 36 37 51 47 77 65 64 94 94 94 94 94 94 50
        52 48 54 57 58 58 58 61 72 69 59 53 62 59 48 80 55 45 52 53 66 63 88 81 78 94 94 94 94 94
    """,
    "upper": """
        45 110 110 110 110 110 110 110 110 110 110 110 58 58 110 58 96 96 96 96 96 96 96 96 96 96 110 110
        110 110 110 110 110 33 54 44 45 30 60 50 48 33 85 58 38 47 36 36 49 82 35 40 37 43 61 62 71 48 69
        110 110 110 110 110 110 38 75 62 73 39 83 80 53 44 102 82 52 65 45 40 60 83 45 66 60 45 69 76 73
        59 92 110 110 110 110 35
    """,
    "vowel": """
        44 110 110 110 110 110 110 110 110 110 110 110 56 56 110 56 96 96 96 96 96 96 96 96 96 96 110 110
        110 110 110 110 110 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115 115
        115 115 115 115 115 115 115 110 110 110 110 110 110 39 45 34 35 44 52 44 65 46 79 53 30 37 24 45
        42 78 25 29 30 46 51 54 59 59 57 110 110 110 110 35
    """,
    "consonant": """
        37 114 114 114 114 114 114 114 114 114 114 114 50 50 114 50 100 100 100 100 100 100 100 100 100
        100 114 114 114 114 114 114 114 119 119 119 119 119 119 119 119 119 119 119 119 119 119 119 119
        119 119 119 119 119 119 119 119 119 119 114 114 114 114 114 114 27 55 48 48 22 58 47 40 25 82 54
        38 49 52 29 50 84 42 44 36 40 69 62 95 40 78 114 114 114 114 29
    """,
    "digit": """
        70 84 84 84 84 84 84 84 84 84 84 84 84 84 84 84 31 31 31 31 31 31 31 31 31 31 84 84 84 84 84 84 84
        89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 84 84 84 84 84 84 89
        89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 89 84 84 84 84 17
    """,
    "blank": """
        74 88 88 88 88 88 88 88 88 88 88 88 88 88 88 88 74 50 49 49 50 49 49 49 49 50 88 88 88 88 88 88 88
        36 38 34 41 44 44 44 44 47 58 54 46 39 49 45 34 67 41 31 38 39 53 49 77 68 67 88 88 88 88 88 88 50
        52 49 55 58 58 58 58 61 72 66 59 53 62 59 48 78 56 45 52 53 66 63 84 78 77 88 88 88 88 88
    """,
    "other": """
        14 85 85 85 85 85 85 85 85 85 85 85 85 85 85 85 71 52 53 53 53 53 53 53 53 53 85 85 85 85 85 85 85
        40 43 39 45 49 49 49 48 52 62 59 50 44 54 50 38 69 46 35 43 43 57 53 79 71 71 85 85 85 85 85 85 54
        57 54 59 63 64 64 63 66 74 71 64 58 67 64 53 82 60 50 57 57 71 66 85 80 79 85 85 85 85 85
    """,
}

COSTS = {kind: tuple(map(int, row.split())) for kind, row in _ROWS.items()}
"""After each kind of character: the cost of every character, and of the end."""


VERSION = 1
"""Version of the costs: a ledger keeps it, since other costs make another query."""

MAX_BITS = 256
"""Texts that cost more are not looked for: they would need some 180 over the share."""

_PER_BIT = 8
KINDS = ("start", "upper", "vowel", "consonant", "digit", "blank", "other")
"""Context of a character: the start of the text, or the kind of the character before it."""


def kind_of(letter: str) -> str:
    """Return what the costs of the next character depend on.

    >>> [kind_of(letter) for letter in ("A", "a", "b", "7", " ", "-")]
    ['upper', 'vowel', 'consonant', 'digit', 'blank', 'other']
    """
    if letter.isdigit():
        return "digit"
    if letter == " ":
        return "blank"
    if not letter.isalpha():
        return "other"
    return "upper" if letter.isupper() else "vowel" if letter in "aeiou" else "consonant"


_KIND = {letter: kind_of(letter) for letter in LETTERS}
_COST = {kind: dict(zip((*LETTERS, END), COSTS[kind], strict=True)) for kind in KINDS}


@lru_cache(maxsize=1)  # all classes are asked of one key in turn; keys of records are not to stay
def bits_of(key: bytes) -> int | None:
    """Return what a text costs in whole bits, rounded up; None for one that no class has.

    >>> bits_of(b"Nurse") < bits_of(b"nUrSe") < bits_of(b"n]r~e"), bits_of("Köchin".encode())
    (True, None)
    """
    try:
        text = key.decode("ascii")
    except UnicodeDecodeError:
        return None
    cost, kind = 0, "start"
    for letter in text:
        if letter not in _KIND:
            return None
        cost += _COST[kind][letter]
        kind = _KIND[letter]
    bits = -(-(cost + _COST[kind][END]) // _PER_BIT)
    return bits if bits <= MAX_BITS else None


@lru_cache(maxsize=1)
def _endings() -> dict[str, list[int]]:
    """Return, for what a text may go on after, how many endings there are of each cost."""
    counts: dict[str, list[int]] = {kind: [] for kind in KINDS}
    steps: dict[str, dict[tuple[str, int], int]] = {kind: {} for kind in KINDS}
    for kind in KINDS:
        for letter in LETTERS:
            step = (_KIND[letter], _COST[kind][letter])
            steps[kind][step] = steps[kind].get(step, 0) + 1
    for cost in range(MAX_BITS * _PER_BIT + 1):
        for kind in KINDS:
            longer = sum(
                times * counts[after][cost - spent]
                for (after, spent), times in steps[kind].items()
                if spent <= cost
            )
            counts[kind].append(longer + (cost == _COST[kind][END]))
    return counts


@dataclass(frozen=True, slots=True)
class LikelyTexts:
    """All texts that cost so many bits, rounded up to a multiple of a step.

    >>> likely = LikelyTexts(20)
    >>> likely.holds(likely.nth(likely.size - 1)), likely.holds(b"")
    (True, False)
    """

    bits: int
    step: int = 1

    @property
    def size(self) -> int:
        """Number of keys."""
        return sum(self._of_cost())

    @property
    def weight(self) -> Fraction:
        """The weight of all of them together."""
        return Fraction(self.size, 1 << self.bits)

    def nth(self, rank: int) -> bytes:
        """Return the key of a number: by its exact cost, and then letter by letter."""
        ends = list(accumulate(self._of_cost()))
        place = bisect_right(ends, rank)
        rank -= ends[place - 1] if place else 0
        cost, kind, text, counts = self._first + place, "start", "", _endings()
        while True:
            if cost == _COST[kind][END]:
                if rank == 0:
                    return text.encode()
                rank -= 1
            for letter in LETTERS:
                left = cost - _COST[kind][letter]
                number = counts[_KIND[letter]][left] if left >= 0 else 0
                if rank < number:
                    break
                rank -= number
            cost, kind, text = left, _KIND[letter], text + letter

    def holds(self, key: object) -> bool:
        """Return whether bytes are one of the keys."""
        bits = bits_of(key) if isinstance(key, bytes) else None
        return bits is not None and self.bits - self.step < bits <= self.bits

    @property
    def _first(self) -> int:
        return _PER_BIT * (self.bits - self.step) + 1

    def _of_cost(self) -> list[int]:
        return _endings()["start"][self._first : self._first + _PER_BIT * self.step]


def likely_classes(step: int = 1) -> list[tuple[LikelyTexts, Fraction]]:
    """Return all classes that have a text, with weights that add up to 1."""
    every = [LikelyTexts(bits, step) for bits in range(step, MAX_BITS + 1, step)]
    total = sum((one.weight for one in every), start=Fraction(0))
    return [(one, one.weight / total) for one in every if one.size]


PRINTABLE = "".join(map(chr, range(32, 127)))
"""The alphabet where a length is given alone: the 95 printable characters of ASCII."""

LONGEST = 40
"""The length of the longest text where an alphabet is given alone."""

_COARSE = 8
"""The step of costs of texts, in bits, where keys are made of several columns: every pair is a class."""

FALSE_KEYS = Fraction(1, 100)
"""The default number of false keys to expect."""

_MAX_FALSE_KEYS = 100
_MAX_COLUMNS = 4
_LISTED_PART = Fraction(9, 10)
"""Weight of a listed key where other keys are searched for too."""

_WHOLE_DOUBLES, _WHOLE_FLOATS = 2**53, 2**24
_Weighted = list[tuple[KeyClass, Fraction]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySearch:
    """Caller's options of a key search; for several columns, a dict by column.

    Attributes:
        pattern: The form of texts, such as ``"[0-9]{5}"``.
        among: A list of possible keys; with one of the others, keys beside the list are looked for as well.
        between: The least and the greatest whole number, or the first and the last day.
        alphabet: The characters that texts are made of.
        longest: The greatest number of characters of a text.
        false_keys: How many keys that nobody has may be expected to be shown.
    """

    pattern: object = None
    among: object = None
    between: object = None
    alphabet: object = None
    longest: object = None
    false_keys: Exact = FALSE_KEYS

    def domain(self, by: Sequence[GroupKey], schema: Schema, bounds: Bounds) -> KeyDomain:
        """Return the possible keys, or refuse wrong options."""
        names = [key.column for key in by]
        for what in ("pattern", "among", "between", "alphabet", "longest"):
            _refuse_unknown(what, getattr(self, what), names)
        columns = tuple(_Column(self, key, names, schema, bounds).keys() for key in by)
        return KeyDomain(columns, _false_keys(self.false_keys))

    def of(self, what: str, names: Sequence[str], name: str) -> Any:
        """Return the facts of one column."""
        stated = getattr(self, what)
        if isinstance(stated, Mapping):
            return next((value for key, value in stated.items() if str(key).lower() == name.lower()), None)
        if stated is not None and len(names) > 1:
            raise InvalidRequest(
                f"of several columns, write {what}={{{name!r}: ...}}, for each that needs it."
            )
        return stated


PRIVATE = "private"
"""Marker in place of a list of keys: a query finds them and pays for it."""

SEARCHED_BY = tuple(field.name for field in fields(KeySearch))
"""Options of a key search that a dict in place of a list of keys may hold, beside ``PRIVATE``."""


def read_keys(columns: object, schema: Schema) -> tuple[GroupKey, ...]:
    """Return what keys are looked for by, or refuse it."""
    listed = list(columns) if isinstance(columns, list | tuple) else [columns]
    if not 0 < len(listed) <= _MAX_COLUMNS:
        raise InvalidRequest(f"keys of {len(listed)} columns cannot be looked for: name 1 to {_MAX_COLUMNS}.")
    by = tuple(group_key(key, schema) for key in listed)
    for key in by:
        if isinstance(key, Binned):
            raise InvalidRequest("bins are public keys, and need not be looked for: group_by takes them.")
    if len({key.column for key in by}) < len(by):
        raise InvalidRequest("a column is named twice.")
    return by


@dataclass(frozen=True, slots=True)
class _Column:
    """Options of one column's key search."""

    search: KeySearch
    key: GroupKey
    names: Sequence[str]
    schema: Schema
    bounds: Bounds

    def keys(self) -> ColumnKeys:
        """Return the column's classes with their weights."""
        kind = key_type(self.key, self.schema)
        facts: dict[str, Any] = {"of": self.key.facts}
        classes: _Weighted = []
        listed = self._stated("among")
        if listed is not None:
            keys = _listed(listed, self.key, kind)
            facts["among"] = listed_facts(keys)
            classes.append((ListedKeys(tuple(map(_raw, keys))), Fraction(1)))
        others = self._others(kind, facts, alone=listed is None)
        if listed is not None and others:
            classes = [(classes[0][0], _LISTED_PART)]
            others = [(keys, weight * (1 - _LISTED_PART)) for keys, weight in others]
        return ColumnKeys(self.key.column, kind, (*classes, *others), facts)

    def _others(self, kind: ColumnType, facts: dict[str, Any], *, alone: bool) -> _Weighted:
        """Return the classes beside a list; none where nothing is declared of them and a list is given."""
        takes = {Kind.TEXT: {"pattern", "alphabet", "longest"}, Kind.NUMBER: {"between"}}
        takes[Kind.MOMENT] = {"between"}
        stated = {
            what for what in ("pattern", "between", "alphabet", "longest") if self._stated(what) is not None
        }
        wrong = stated - takes.get(kind.kind, set())
        if wrong:
            fitting = ", ".join(f"{what}=" for what in sorted(takes.get(kind.kind, set()))) or "among="
            raise InvalidRequest(
                f"{self.key.column!r} holds {kind.kind.value}, of which {min(wrong)}= says nothing. What "
                f"does: {fitting}."
            )
        if not stated and not alone:
            return []
        match kind.kind:
            case Kind.TEXT:
                return self._texts(facts)
            case Kind.NUMBER:
                return self._numbers(kind, facts)
            case Kind.MOMENT:
                return self._moments(kind, facts)
            case _:
                facts["truth"] = True
                return [(ListedKeys((0, 1)), Fraction(1))]

    def _texts(self, facts: dict[str, Any]) -> _Weighted:
        pattern, alphabet, longest = map(self._stated, ("pattern", "alphabet", "longest"))
        if pattern is not None:
            if alphabet is not None or longest is not None:
                raise InvalidRequest("pattern= says all of the texts: leave alphabet= and longest= out.")
            facts["pattern"] = pattern
            return [(TextClass.of_pattern(pattern), Fraction(1))]
        if alphabet is None and longest is None:
            facts["likely"] = VERSION
            return [*likely_classes(1 if len(self.names) == 1 else _COARSE)]
        letters = letters_of(PRINTABLE if alphabet is None else alphabet, "alphabet=")
        most = LONGEST if longest is None else longest
        if not is_integer(most) or most < 0:
            raise InvalidRequest(f"longest={short_repr(most)} is not a number of characters.")
        if most > MAX_LETTERS or most * math.log10(len(letters)) > 300:
            raise InvalidRequest(
                f"longest={short_repr(most)}: a text has {MAX_LETTERS:,} characters at most, and there may "
                "be "
                "10^300 texts of a length. Write less."
            )
        facts |= {"alphabet": "".join(letters), "longest": most}
        lengths = range(most + 1)
        return [(TextClass.of_length(letters, length), Fraction(1, 2 ** (length + 1))) for length in lengths]

    def _numbers(self, kind: ColumnType, facts: dict[str, Any]) -> _Weighted:
        name = self.key.column
        between = self._stated("between")
        if between is None:
            expression = self.key.expression
            between = self.bounds.get(name) if expression is None else self._ends_of(expression)
        if between is None:
            raise InvalidRequest(
                f"which whole numbers can {name!r} be? Write ",
                Argument("between", (1, 99)),
                ", or bounds when the table is opened; or list them: among=[...].",
            )
        low, high = _ends(between, name)
        whole = math.ceil(exact(low, "between")), math.floor(exact(high, "between"))
        reach = 2**63 - 1 if kind.integer else _WHOLE_FLOATS if kind.native == "FLOAT" else _WHOLE_DOUBLES
        if not -reach <= whole[0] <= whole[1] <= reach:
            raise InvalidRequest(
                f"between={short_repr(between)} for {name!r}: no whole number lies there, or one beyond "
                f"{reach:,}."
            )
        for end in whole:
            typed_key(end, name, kind)  # refuses what a column of decimals cannot hold
        facts["between"] = list(map(str, whole))
        return [(WholeNumbers(*whole), Fraction(1))]

    def _ends_of(self, expression: Node) -> tuple[int, int] | None:
        """Return the whole ends of what an expression can give: year(opened) lies between 1 and 9999."""
        held = {name: Interval(float(low), float(high)) for name, (low, high) in self.bounds.items()}
        ends = bound(expression, held)
        if ends.empty or not math.isfinite(ends.low) or not math.isfinite(ends.high):
            return None
        return math.ceil(ends.low), math.floor(ends.high)

    def _moments(self, kind: ColumnType, facts: dict[str, Any]) -> _Weighted:
        name = self.key.column
        if not isinstance(self.key, Truncated) and kind.native.upper() not in {"DATE", "DATE32"}:
            raise InvalidRequest(
                f"{name!r} holds times, and nearly every one is a key of its own. Write "
                f"prdp.date_trunc('day', {name!r})."
            )
        part = self.key.part if isinstance(self.key, Truncated) else "day"
        between = self._stated("between")
        if between is None:
            raise InvalidRequest(
                f"which days can {name!r} be? Write ",
                Argument("between", ("2026-01-01", "2026-12-31")),
                ".",
            )
        low, high = (typed_key(end, name, kind) for end in _ends(between, name))
        if not isinstance(low, datetime) or not isinstance(high, datetime) or low > high:
            raise InvalidRequest(f"between={short_repr(between)} for {name!r}: the first day comes first.")
        found = MomentRange(part, first_moment(low, part), first_moment(high, part))
        facts["between"] = [found.low.isoformat(), found.high.isoformat()]
        return [(found, Fraction(1))]

    def _stated(self, what: str) -> Any:
        return self.search.of(what, self.names, self.key.column)


def _ends(between: Any, name: str) -> tuple[Any, Any]:
    pair = isinstance(between, tuple | list) and len(between) == 2
    if not pair:
        raise InvalidRequest(
            f"between={short_repr(between)} for {name!r} is not a pair: write ",
            Argument("between", (1, 99)),
            ".",
        )
    return between[0], between[1]


def _listed(listed: object, key: GroupKey, kind: ColumnType) -> list[Plain]:
    """Return the listed keys as the column's own kind, each once."""
    rows = rows_of(listed, [key.column])
    keys = [typed_key(row[0], key.column, kind) for row in rows]
    if not keys or len(set(keys)) < len(keys):
        raise InvalidRequest(f"among= for {key.column!r} lists nothing, or a key twice.")
    return keys


def _raw(key: Plain) -> RawKey:
    """Return a key as engines find it."""
    match key:
        case str():
            return key.encode()
        case datetime():
            return microseconds_of(key)
        case bool():
            return int(key)
        case _:
            return key


def _false_keys(number: Exact) -> Fraction:
    read = exact(number, "false_keys")
    if not 0 < read <= _MAX_FALSE_KEYS or read.denominator > 10**12:
        raise InvalidRequest(
            f"false_keys={short_repr(number)} is not a number of false keys to expect: write 0.01, between "
            "1e-12 and "
            f"{_MAX_FALSE_KEYS}."
        )
    return read


def _refuse_unknown(what: str, stated: object, names: Sequence[str]) -> None:
    known = {name.lower() for name in names}
    unknown = [key for key in stated if str(key).lower() not in known] if isinstance(stated, Mapping) else []
    if unknown:
        raise InvalidRequest(
            f"{what}= speaks of {short_repr(unknown[0])}, but keys are looked for by {names}."
        )
