"""Owners folded row by row in plain Python: what every engine's folding is held to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from prdp.cells.cell import Cell, magnitude_key
from prdp.cells.measure import Measure
from prdp.cells.owners import Caps, Fold
from prdp.cells.summary import Summary
from prdp.expressions.evaluate import evaluate
from prdp.plan.reads import OwnerRead
from prdp.testing.reference import Record, in_groups, magnitude_code, whole_value


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner that takes part.

    Attributes:
        level: The least level of its rows.
        values: The values that it contributes to each group.
    """

    level: int
    values: tuple[tuple[int, ...], ...]


def reference_owners(records: Sequence[Record], reading: OwnerRead) -> tuple[Summary, Summary]:
    """Return the cells of what owners contribute, and of how many rows they contribute."""
    owners = list(_owners(records, reading))
    rows = _summary(owners, reading.counted, [sum(map(len, owner.values)) for owner in owners], reading)
    if reading.measure is None:
        return rows, rows
    if reading.groups is None:
        added = [_folded(owner.values[0], reading.fold) for owner in owners]
    else:
        added = [sum(map(abs, _contributions(owner, reading, count_rows=False))) for owner in owners]
    return _summary(owners, reading.folded, added, reading), rows


def reference_scaled(
    records: Sequence[Record], reading: OwnerRead, caps: Caps, *, count_rows: bool
) -> tuple[int, ...]:
    """Return each group's total, every owner's contributions scaled down to its cap together."""
    totals = [0] * (len(reading.groups.keys) if reading.groups else 1)
    for owner in _owners(records, reading):
        added = [value << caps.bits for value in _contributions(owner, reading, count_rows=count_rows)]
        size, cap = sum(map(abs, added)), caps.by_level[owner.level]
        for place, value in enumerate(added):
            scaled = abs(value) if size <= cap else abs(value) * cap // size
            totals[place] += scaled if value > 0 else -scaled
    return tuple(totals)


def _owners(records: Sequence[Record], reading: OwnerRead) -> Iterable[Owner]:
    """Yield the owners that take part: every row has a valid budget, and some row contributes."""
    rows: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        whose = record[reading.protect]
        if whose is not None and whose == whose:  # noqa: PLR0124  (NaN alone differs from itself)
            rows[whose].append(record)
    for own in rows.values():
        budgets = [evaluate(reading.policy.expression, record) for record in own]
        levels = [reading.levels.index(b if isinstance(b, float) else None) for b in budgets]
        valid = [level for level in levels if level is not None]
        values = tuple(_values(group, reading) for group in in_groups(own, reading.groups))
        if len(valid) == len(own) and any(values):
            yield Owner(min(valid), values)


def _values(rows: Iterable[Record], reading: OwnerRead) -> tuple[int, ...]:
    """Return what each row contributes; nothing where the filter is not true or there is no value."""
    taken = (row for row in rows if reading.where is None or evaluate(reading.where, row) is True)
    measure = reading.measure
    if measure is None:
        return tuple(1 for _ in taken)
    values = (whole_value(row[measure.column], measure) for row in taken)
    return tuple(value for value in values if value is not None)


def _contributions(owner: Owner, reading: OwnerRead, *, count_rows: bool) -> list[int]:
    """Return what an owner adds to each group, moved into its public bounds."""
    measure = reading.counted if count_rows else reading.folded
    added = [len(values) if count_rows else sum(values) for values in owner.values]
    return [max(-measure.high, min(measure.high, value)) for value in added]


def _folded(values: tuple[int, ...], fold: Fold) -> int:
    if fold == "sum":
        return sum(values)
    return max(values) if fold == "max" else min(values)


def _summary(owners: Sequence[Owner], measure: Measure, added: Sequence[int], reading: OwnerRead) -> Summary:
    moved = [max(measure.low, min(measure.high, value)) for value in added]
    keys = (
        magnitude_key(reading.levels.quanta(owner.level), magnitude_code(value), measure.largest)
        for owner, value in zip(owners, moved, strict=True)
    )
    cells = [Cell(key, 1, value) for key, value in zip(keys, moved, strict=True)]
    return Summary.of(reading.levels, measure.smallest, measure.largest, cells)
