"""Units' budgets divided among what counts of them, in plain Python: what every engine is held to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prdp.cells.columns import exact_column
from prdp.cells.summary import (
    Cell,
    CellKey,
    KeyHolders,
    KeySummary,
    Summary,
    TopSummary,
    key_edges,
    magnitude_key,
)
from prdp.declare.columns import column_of
from prdp.expressions.evaluate import evaluate
from prdp.plan.divided import DividedRead, DividedRowRead
from prdp.plan.reads import CellRead, KeyRead
from prdp.testing.reference import (
    Record,
    Rows,
    Source,
    in_groups,
    magnitude_code,
    own_rows_by_unit,
    results,
    whole_value,
)


@dataclass(frozen=True, slots=True)
class UnitPartFound:
    """A part of a unit: its group, its value, its part of the unit's budget, and which unit it is."""

    group: int
    value: Any
    budget: float
    unit: int


def divided_parts(source: Source, reading: DividedRead) -> Iterator[UnitPartFound]:
    """Yield the parts of every unit that takes part."""
    for unit, (rows, budget) in enumerate(_units(source, reading)):
        parts = list(_parts(rows, reading))
        for group, value in parts:
            yield UnitPartFound(group, value, min(budget, float(reading.levels.at_most)) / len(parts), unit)


def reference_divided(source: Source, reading: DividedRead) -> tuple[Any, ...]:
    """Return what a read of divided budgets finds: cells or keys of each group."""
    parts = list(divided_parts(source, reading))
    groups = len(reading.groups.keys) if reading.groups is not None else 1
    return tuple(
        _found([part for part in parts if part.group == place], reading.read) for place in range(groups)
    )


def reference_divided_rows(source: Source, reading: DividedRowRead) -> list[tuple[Record, int]]:
    """Return the rows that are handed out, with the asked columns alone, and the levels of their parts."""
    found: list[tuple[Record, int]] = []
    for rows, budget in _units(source, reading):
        where = reading.read.where
        kept = [row for row in rows if where is None or evaluate(where, row) is True]
        for row in kept:
            level = reading.read.levels.index(min(budget, float(reading.levels.at_most)) / len(kept))
            if level is not None and level >= reading.read.least:
                found.append(({column: row[column] for column in reading.read.columns}, level))
    return found


def _units(source: Source, reading: DividedRead | DividedRowRead) -> Iterator[tuple[Rows, float]]:
    """Yield the rows of units whose own rows all have a valid budget, and the least of these."""
    policy = (reading.rows if isinstance(reading, DividedRead) else reading.read).policy
    for own, tables in own_rows_by_unit(source, reading.unit):
        budgets = [evaluate(policy.expression, record) for record in own]
        numbers = [budget for budget in budgets if isinstance(budget, float)]
        if len(numbers) == len(own) and all(reading.levels.index(number) is not None for number in numbers):
            join = reading.unit.join
            yield own if join is None else list(results(own, tables, join)), min(numbers)


def _parts(rows: Rows, reading: DividedRead) -> Iterator[tuple[int, Any]]:
    """Yield the group and the value of each part of a unit's rows."""
    where = reading.rows.where
    kept = [row for row in rows if where is None or evaluate(where, row) is True]
    for place, group in enumerate(in_groups(kept, reading.groups)):
        values = [value for row in group if (value := _value(row, reading)) is not None]
        match reading.part:
            case "group":
                yield from ((place, _total(values, reading)) for _ in values[:1])
            case "key":
                yield from ((place, value) for value in set(values))
            case _:
                yield from ((place, value) for value in values)


def _total(values: Sequence[int], reading: DividedRead) -> int:
    """Return what is made of a unit's values in a group."""
    if reading.fold != "sum":
        return (max if reading.fold == "max" else min)(values)
    assert isinstance(reading.read, CellRead)
    assert reading.read.measure is not None
    return max(reading.read.measure.low, min(reading.read.measure.high, sum(values)))


def _value(row: Record, reading: DividedRead) -> Any:
    measure = reading.rows.measure
    if measure is None:
        return 1
    value = column_of(row, measure.column, measure.expression)
    if reading.part != "key":
        return whole_value(value, measure)
    return None if value is None or value != value else value  # noqa: PLR0124  (NaN alone differs from itself)


def _found(parts: Sequence[UnitPartFound], read: Any) -> Summary | KeySummary | TopSummary:
    match read:
        case CellRead():
            return _cells(parts, read)
        case KeyRead():
            return KeySummary.held(read.levels, _holders(parts, read))
        case _:
            return TopSummary(_cells(parts, read.records), _tops(parts, read.keys))


def _holders(parts: Sequence[UnitPartFound], read: KeyRead) -> KeyHolders:
    """Return the units that hold the same keys as one, the fewest keys first, then in the order of keys."""
    most, held = key_edges(read.levels)[-1], defaultdict[int, list[UnitPartFound]](list)
    for part in parts:
        held[part.unit].append(part)
    rows: dict[tuple[Any, ...], int] = defaultdict(int)
    for own in held.values():
        level = read.levels.index(own[0].budget)
        if level is not None:
            rows[tuple(sorted(part.value for part in own))] += min(read.levels.quanta(level), most)
    listed = sorted(rows, key=lambda keys: (len(keys), keys))
    numbers = {
        value: place for place, value in enumerate(sorted({value for keys in listed for value in keys}))
    }
    return KeyHolders(
        exact_column(map(len, listed)),
        exact_column(numbers[value] for keys in listed for value in keys),
        exact_column(rows[keys] for keys in listed),
    )


def _cells(parts: Sequence[UnitPartFound], read: CellRead) -> Summary:
    cells = []
    for part in parts:
        level, measure = read.levels.index(part.budget), read.measure
        if level is None:
            continue
        quanta, value = read.levels.quanta(level), 1 if measure is None else part.value
        key = CellKey(quanta, 1, 1, 1)
        if measure is not None:
            fineness = measure.per_octave
            key = magnitude_key(quanta, magnitude_code(value, fineness), read.largest, fineness)
        cells.append(Cell(key, 1, value))
    return Summary.of(read.levels, read.smallest, read.largest, cells)


def _tops(parts: Sequence[UnitPartFound], read: KeyRead) -> Summary:
    tops: dict[Hashable, int] = {}
    for part in parts:
        level = read.levels.index(part.budget)
        if level is not None:
            tops[part.value] = max(level, tops.get(part.value, level))
    keys = (CellKey(read.levels.quanta(level), 1, 1, 1) for level in tops.values())
    return Summary.of(read.levels, 1, 1, [Cell(key, 1, 1) for key in keys])
