"""The masses of keys added up record by record in plain Python: what every engine's are held to."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from prdp.cells.key_masses import KeyMasses
from prdp.declare.computed import column_of
from prdp.declare.groups import GroupKey, Truncated, first_moment
from prdp.declare.key_domains import microseconds_of
from prdp.expressions.evaluate import evaluate
from prdp.plan.reads import KeyMassRead
from prdp.testing.reference import Record

_LARGEST = 1 << 90


def reference_masses(records: Sequence[Record], reading: KeyMassRead) -> dict[tuple[Any, ...], int]:
    """Return the budget mass of each key that some record has.

    Which keys of an owner count, where not all do, is for each engine to say, by a fixed hash of its own.
    """
    masses: Counter[tuple[Any, ...]] = Counter()
    for rows in _owners(records, reading):
        levels = [_level(row, reading) for row in rows]
        keys = {key for row in rows if (key := _key(row, reading)) is not None}
        if keys and None not in levels:
            quanta = reading.levels.quanta(min(level for level in levels if level is not None))
            chosen = sorted(keys, key=lambda key: _order(rows[0], key, reading))[: reading.most_keys]
            for key in chosen:
                masses[key] += min(quanta, _LARGEST, reading.most or _LARGEST) // len(chosen)
    return dict(masses)


def rows_of_masses(masses: KeyMasses) -> list[tuple[tuple[Any, ...], int]]:
    """Return what an engine found, row by row."""
    return [(masses.key(place), int(mass)) for place, mass in enumerate(masses.mass)]


def _order(row: Record, key: tuple[Any, ...], reading: KeyMassRead) -> str:
    whose = None if reading.owners is None else row[reading.owners.id]
    return hashlib.sha256(repr((whose, key)).encode()).hexdigest()


def _owners(records: Sequence[Record], reading: KeyMassRead) -> Iterable[list[Record]]:
    if reading.owners is None:
        return [[record] for record in records]
    rows: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        whose = record[reading.owners.id]
        if whose is not None and whose == whose:  # noqa: PLR0124  (NaN alone differs from itself)
            rows[whose].append(record)
    alone = reading.owners.one_row_is_all
    return [own for own in rows.values() if len(own) == 1 or not alone]


def _level(record: Record, reading: KeyMassRead) -> int | None:
    budget = evaluate(reading.policy.expression, record)
    return reading.levels.index(budget if isinstance(budget, float) else None)


def _key(record: Record, reading: KeyMassRead) -> tuple[Any, ...] | None:
    """Return a record's key; None where the filter keeps it out, or where it has none."""
    if reading.where is not None and evaluate(reading.where, record) is not True:
        return None
    found = tuple(_part(record, key) for key in reading.by)
    return None if None in found else found


def _part(record: Record, key: GroupKey) -> Any:
    value = column_of(record, key.column, key.expression)
    match value:
        case str():
            return value.encode()
        case datetime():
            return microseconds_of(first_moment(value, key.part) if isinstance(key, Truncated) else value)
        case bool():
            return int(value)
        case float():
            return None if value != value else value + 0.0  # noqa: PLR0124
        case _:
            return value
