"""Rows of units folded one by one in plain Python: what every engine's folding is held to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prdp.cells.cell import Cell, magnitude_key
from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.cells.units import Caps, Fold
from prdp.declare.computed import column_of
from prdp.declare.units import JoinedTables
from prdp.expressions.evaluate import evaluate
from prdp.plan.reads import UnitRead
from prdp.testing.reference import Record, in_groups, magnitude_code, whole_value

Rows = Sequence[Record]
Source = Rows | Mapping[str, Rows]
"""The rows of a table, or of each table of a join."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that takes part.

    Attributes:
        level: The least level of its own rows.
        values: The values that it contributes to each group.
    """

    level: int
    values: tuple[tuple[int, ...], ...]


def reference_units(source: Source, reading: UnitRead) -> tuple[tuple[Summary, Summary], ...]:
    """Return the cells of what units contribute and of how many rows: of all, or of each group."""
    unit = list(_unit(source, reading))
    if reading.groups is None or not reading.apart:
        return (_cells(unit, reading),)
    return tuple(
        _cells([Unit(one.level, (one.values[place],)) for one in unit if _only_in(one, place)], reading)
        for place in range(len(reading.groups.keys))
    )


def _only_in(unit: Unit, place: int) -> bool:
    """Say whether a group is the one that all contributing rows of a unit are in."""
    return all(bool(values) == (place == here) for here, values in enumerate(unit.values))


def _cells(unit: Sequence[Unit], reading: UnitRead) -> tuple[Summary, Summary]:
    rows = _summary(unit, reading.counted, [sum(map(len, one.values)) for one in unit], reading)
    if reading.measure is None:
        return rows, rows
    if reading.groups is None or reading.apart:
        added = [_folded(one.values[0], reading.fold) for one in unit]
    else:
        added = [sum(map(abs, _contributions(one, reading, count_rows=False))) for one in unit]
    return _summary(unit, reading.folded, added, reading), rows


def reference_scaled(source: Source, reading: UnitRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
    """Return each group's total, every unit's contributions scaled down to its cap together."""
    totals = [0] * (len(reading.groups.keys) if reading.groups else 1)
    for unit in _unit(source, reading):
        added = [value << caps.bits for value in _contributions(unit, reading, count_rows=count_rows)]
        size, cap = sum(map(abs, added)), caps.by_level[unit.level]
        for place, value in enumerate(added):
            scaled = abs(value) if size <= cap else abs(value) * cap // size
            totals[place] += scaled if value > 0 else -scaled
    return tuple(totals)


def _unit(source: Source, reading: UnitRead) -> Iterator[Unit]:
    """Yield the units that take part: every own row has a valid budget, and some row contributes.

    Where units have one row each, whoever has more own rows takes no part, whatever is in them.
    """
    join = reading.unit.join
    tables: Mapping[str, Rows] = source if isinstance(source, Mapping) else {"": source}
    own_rows = tables["" if join is None else join.private]
    by_id: dict[Any, list[Record]] = defaultdict(list)
    for record in own_rows:
        whose = record[reading.unit.id if join is None else join.key]
        if _is_there(whose):
            by_id[whose].append(record)
    for own in by_id.values():
        if reading.unit.one_row and len(own) > 1:
            continue
        budgets = [evaluate(reading.policy.expression, record) for record in own]
        levels = [reading.levels.index(b if isinstance(b, float) else None) for b in budgets]
        valid = [level for level in levels if level is not None]
        rows = own if join is None else list(results(own, tables, join))
        values = tuple(_values(group, reading) for group in in_groups(rows, reading.groups))
        if len(valid) == len(own) and any(values):
            yield Unit(min(valid), values)


def results(own: Rows, tables: Mapping[str, Rows], join: JoinedTables) -> Iterator[Record]:
    """Yield the results of a join that belong to one unit; columns are called as in the join."""
    found: list[dict[str, Record]] = [{join.private: agreed(own)}]
    for table in join.tables[1:]:
        by = join.joined_by[table]
        found = [
            {**result, table: row}
            for result in found
            for row in tables[table]
            if _refers({**result, table: row}, (by.table, by.column), (by.to, by.key))
        ]
    for result in found:
        yield {name: result[table][column] for name, (table, column) in join.names.items() if table in result}


def _refers(result: Mapping[str, Record], *ends: tuple[str, str]) -> bool:
    one, other = (result[table][column] for table, column in ends)
    return one is not None and one == other


def agreed(own: Rows) -> Record:
    """Return one record for a unit: in each column what all its own rows hold, or nothing."""
    return {
        name: value if all(_same(row[name], value) for row in own) else None for name, value in own[0].items()
    }


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or (one is not None and one != one and other != other)  # noqa: PLR0124  (NaN)


def _is_there(value: Any) -> bool:
    return value is not None and value == value  # noqa: PLR0124  (NaN alone differs from itself)


def _values(rows: Iterable[Record], reading: UnitRead) -> tuple[int, ...]:
    """Return what each row contributes; nothing where the filter is not true or there is no value."""
    taken = (row for row in rows if reading.where is None or evaluate(reading.where, row) is True)
    measure = reading.measure
    if measure is None:
        return tuple(1 for _ in taken)
    values = (whole_value(column_of(row, measure.column, measure.expression), measure) for row in taken)
    return tuple(value for value in values if value is not None)


def _contributions(unit: Unit, reading: UnitRead, *, count_rows: bool) -> list[int]:
    """Return what a unit adds to each group, moved into its public bounds."""
    measure = reading.counted if count_rows else reading.folded
    added = [len(values) if count_rows else sum(values) for values in unit.values]
    return [max(-measure.high, min(measure.high, value)) for value in added]


def _folded(values: tuple[int, ...], fold: Fold) -> int:
    if fold == "sum":
        return sum(values)
    return max(values) if fold == "max" else min(values)


def _summary(unit: Sequence[Unit], measure: Measure, added: Sequence[int], reading: UnitRead) -> Summary:
    moved = [max(measure.low, min(measure.high, value)) for value in added]
    fineness = measure.per_octave
    keys = (
        magnitude_key(
            reading.levels.quanta(unit.level), magnitude_code(value, fineness), measure.largest, fineness
        )
        for unit, value in zip(unit, moved, strict=True)
    )
    cells = [Cell(key, 1, value) for key, value in zip(keys, moved, strict=True)]
    return Summary.of(reading.levels, measure.smallest, measure.largest, cells)


def rising_caps(reading: UnitRead) -> list[Caps]:
    """Return caps that rise with the level, from nothing to all that there can be."""
    levels, most = reading.levels, reading.folded.high
    rising = [levels.quanta(level) for level in range(levels.top + 1)]
    fine = 20 if most < 2**40 else 0
    return [
        Caps((0,) * len(rising)),
        Caps(tuple(min(most, quanta >> 19) for quanta in rising)),
        Caps(tuple(min(most << fine, quanta << 3) for quanta in rising), fine),
        Caps((most,) * len(rising)),
    ]
