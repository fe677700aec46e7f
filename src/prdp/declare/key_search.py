"""The domain of keys that a caller describes: patterns, ranges, alphabets and lists, read by public facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from fractions import Fraction
from typing import Any

from prdp.declare.exact import Exact, exact, short_repr
from prdp.declare.groups import Binned, GroupKey, Truncated, first_moment, group_key, key_type
from prdp.declare.key_domains import (
    ColumnKeys,
    KeyClass,
    KeyDomain,
    ListedKeys,
    MomentRange,
    RawKey,
    WholeNumbers,
    listed_facts,
    microseconds_of,
)
from prdp.declare.keys import Plain, rows_of, typed_key
from prdp.declare.patterns import MAX_LETTERS, TextClass, letters_of
from prdp.declare.text_model import VERSION, likely_classes
from prdp.errors import InvalidRequest
from prdp.schema import Bounds, ColumnType, Kind, Schema

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
"""What a list has of the weight where other keys are looked for too."""

_WHOLE_DOUBLES, _WHOLE_FLOATS = 2**53, 2**24
_Weighted = list[tuple[KeyClass, Fraction]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySearch:
    """What a caller says of the keys; of several columns, each in a dict by column.

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
        """Return the possible keys, or refuse what is said of them."""
        names = [key.column for key in by]
        for what in ("pattern", "among", "between", "alphabet", "longest"):
            _refuse_unknown(what, getattr(self, what), names)
        columns = tuple(_Column(self, key, names, schema, bounds).keys() for key in by)
        return KeyDomain(columns, _false_keys(self.false_keys))

    def of(self, what: str, names: Sequence[str], name: str) -> Any:
        """Return what is said of one column."""
        stated = getattr(self, what)
        if isinstance(stated, Mapping):
            return next((value for key, value in stated.items() if str(key).lower() == name.lower()), None)
        if stated is not None and len(names) > 1:
            raise InvalidRequest(
                f"of several columns, write {what}={{{name!r}: ...}}, for each that needs it."
            )
        return stated


PRIVATE = "private"
"""What stands in place of a list of keys where nobody has one: a question finds them, and pays for it."""

SEARCHED_BY = tuple(field.name for field in fields(KeySearch))
"""What a dict in place of a list of keys may hold, beside ``PRIVATE``."""


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
    """What is said of one column's keys."""

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
        """Return the classes beside a list; none where nothing is said of them and a list is given."""
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
        if not isinstance(most, int) or isinstance(most, bool) or not most >= 0:
            raise InvalidRequest(f"longest={short_repr(most)} is no number of characters.")
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
        if between is None and self.key.expression is None:
            between = self.bounds.get(name)
        if between is None:
            raise InvalidRequest(
                f"which whole numbers can {name!r} be? Write between=(1, 99), or bounds when the table is "
                "opened; or list them: among=[...]."
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
            raise InvalidRequest(f"which days can {name!r} be? Write between=('2026-01-01', '2026-12-31').")
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
        raise InvalidRequest(f"between={short_repr(between)} for {name!r} is no pair: write between=(1, 99).")
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
            f"false_keys={short_repr(number)} is no number of false keys to expect: write 0.01, between "
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
