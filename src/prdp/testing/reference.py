"""Cells and privacy units computed record by record in plain Python: what every engine is held to."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from prdp.cells.measure import Measure
from prdp.cells.summary import CENTER_BITS, Cell, CellKey, KeySummary, Summary, key_edges, magnitude_key
from prdp.cells.units import Caps, Fold, euclidean_norm
from prdp.declare.columns import column_of
from prdp.declare.groups import Bin, Grouping, GroupKey, KeyValue, Truncated, first_moment
from prdp.declare.units import JoinedTables, PrivacyUnit
from prdp.expressions.evaluate import evaluate
from prdp.expressions.nodes import Node
from prdp.levels import PER_OCTAVE, SLACK
from prdp.plan.reads import CellRead, KeyRead, RowRead, UnitRead

Record = Mapping[str, Any]


def in_groups(records: Sequence[Record], groups: Grouping | None) -> list[list[Record]]:
    """Return the records of each public group, in the order of its keys."""
    if groups is None:
        return [list(records)]
    found: list[list[Record]] = [[] for _ in groups.keys]
    for record in records:
        places = [place for place, key in enumerate(groups.listed) if _in_group(record, groups.by, key)]
        for place in places or [len(groups.listed)] * groups.other:
            found[place].append(record)
    return found


def _in_group(record: Record, by: Sequence[GroupKey], key: Sequence[KeyValue]) -> bool:
    return all(_belongs(record, one, value) for one, value in zip(by, key, strict=True))


def _belongs(record: Record, by: GroupKey, key: KeyValue) -> bool:
    value = column_of(record, by.column, by.expression)
    if value is None or value != value:  # noqa: PLR0124  (NaN alone differs from itself)
        return False
    if isinstance(key, Bin):
        inside = math.isfinite(value) and key.low <= Fraction(value) <= key.high
        return inside and (key.last or Fraction(value) < key.high)
    return bool((first_moment(value, by.part) if isinstance(by, Truncated) else value) == key)


def reference_summary(records: Iterable[Record], reading: CellRead) -> Summary:
    """Return the cells of the records; the two-key form."""
    cells = list(_cells(records, reading))
    return Summary.of(reading.levels, reading.smallest, reading.largest, cells)


def reference_keys(
    records: Iterable[Record], reading: CellRead | KeyRead, column: str, expression: Node | None = None
) -> KeySummary:
    """Return the number of keys of a column, by the sums of their records' budgets."""
    most = key_edges(reading.levels)[-1]
    sums: dict[Any, int] = defaultdict(int)
    for record, level in _taking_part(records, reading):
        key = column_of(record, column, expression)
        if _is_there(key):
            sums[key] += min(reading.levels.quanta(level), most)
    return KeySummary.of(reading.levels, sums.values())


def reference_tops(records: Iterable[Record], reading: KeyRead) -> Summary:
    """Return a column's values, each once, at the highest level of its records."""
    tops: dict[Any, int] = {}
    for record, level in _taking_part(records, reading):
        value = column_of(record, reading.column, reading.expression)
        if _is_there(value):
            tops[value] = max(level, tops.get(value, level))
    keys = (CellKey(reading.levels.quanta(level), 1, 1, 1) for level in tops.values())
    return Summary.of(reading.levels, 1, 1, [Cell(key, 1, 1) for key in keys])


def reference_rows(records: Iterable[Record], reading: RowRead) -> list[tuple[Record, int]]:
    """Return the rows that are handed out, with the asked columns alone, and their levels."""
    return [
        ({column: record[column] for column in reading.columns}, level)
        for record, level in _taking_part(records, reading)
        if level >= reading.least
    ]


def _is_there(value: Any) -> bool:
    return value is not None and bool(value == value)  # noqa: PLR0124  (NaN alone differs from itself)


def _taking_part(
    records: Iterable[Record], reading: CellRead | KeyRead | RowRead
) -> Iterator[tuple[Record, int]]:
    """Yield the records that take part, with their level."""
    for record in records:
        if reading.where is not None and evaluate(reading.where, record) is not True:
            continue
        level = reading.levels.index(_number(evaluate(reading.policy.expression, record)))
        if level is not None:
            yield record, level


def _cells(records: Iterable[Record], reading: CellRead) -> Iterator[Cell]:
    for record, level in _taking_part(records, reading):
        quanta = reading.levels.quanta(level)
        if reading.measure is None:
            yield Cell(CellKey(quanta, 1, 1, 1), 1, 1)
            continue
        measure = reading.measure
        value = whole_value(column_of(record, measure.column, measure.expression), measure)
        fineness = measure.per_octave
        code = None if value is None else magnitude_code(value, fineness)
        total = (value or 0) * measure.totals
        squares = (value or 0) ** 2 * measure.squares
        yield Cell(magnitude_key(quanta, code, reading.largest, fineness), 1, total, squares)


def whole_value(value: float | Decimal | None, measure: Measure) -> int | None:
    """Return a value in whole rounding steps, moved into its bounds; None where there is none."""
    if value is None or value != value:  # noqa: PLR0124  (NaN alone differs from itself)
        return None
    if isinstance(value, int) and measure.round_to == 1:
        return max(measure.low, min(measure.high, value))
    factor = 1 / measure.round_to
    scaled = float(value) * factor.numerator / factor.denominator
    if scaled <= measure.low:
        return measure.low
    return measure.high if scaled >= measure.high else round(scaled)


def magnitude_code(value: int, per_octave: int = PER_OCTAVE) -> int:
    """Return the code of a whole value's magnitude, as ``magnitude_key`` reads it."""
    if value == 0:
        return 0
    code = math.floor(per_octave * math.log2(abs(value)) - SLACK) + 2
    return code if value > 0 else -code


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


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
        return (_unit_cells(unit, reading),)
    return tuple(
        _unit_cells([Unit(one.level, (one.values[place],)) for one in unit if _only_in(one, place)], reading)
        for place in range(len(reading.groups.keys))
    )


def _only_in(unit: Unit, place: int) -> bool:
    """Return whether a group is the one that all contributing rows of a unit are in."""
    return all(bool(values) == (place == here) for here, values in enumerate(unit.values))


def _unit_cells(unit: Sequence[Unit], reading: UnitRead) -> tuple[Summary, Summary]:
    several = reading.groups is not None and not reading.apart
    size = _size(reading)
    rows = _summary(
        unit, reading.counted, [size(_contributions(one, reading, count_rows=True)) for one in unit], reading
    )
    if reading.measure is None:
        return rows, rows
    if several:
        added = [size(_contributions(one, reading, count_rows=False)) for one in unit]
    else:
        added = [_folded(one.values[0], reading.fold) for one in unit]
    return _summary(unit, reading.folded, added, reading), rows


def reference_scaled(source: Source, reading: UnitRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
    """Return each group's total, every unit's contributions scaled down to its cap together."""
    totals = [0] * (len(reading.groups.keys) if reading.groups else 1)
    for unit in _unit(source, reading):
        whole = _contributions(unit, reading, count_rows=count_rows)
        added = [value << caps.bits for value in whole]
        size, cap = _size(reading)(whole) << caps.bits, caps.by_level[unit.level]
        for place, value in enumerate(added):
            scaled = abs(value) if size <= cap else abs(value) * cap // size
            totals[place] += scaled if value > 0 else -scaled
    return tuple(totals)


def _size(reading: UnitRead) -> Callable[[Sequence[int]], int]:
    """Return what measures a unit's contributions to all groups together."""
    return euclidean_norm if reading.euclidean else lambda added: sum(map(abs, added))


def _unit(source: Source, reading: UnitRead) -> Iterator[Unit]:
    """Yield the units that take part: every own row has a valid budget, and some row contributes.

    Where units have one row each, whoever has more own rows takes no part, whatever is in them.
    """
    join = reading.unit.join
    for own, tables in own_rows_by_unit(source, reading.unit):
        budgets = [evaluate(reading.policy.expression, record) for record in own]
        levels = [reading.levels.index(b if isinstance(b, float) else None) for b in budgets]
        valid = [level for level in levels if level is not None]
        rows = own if join is None else list(results(own, tables, join))
        values = tuple(_values(group, reading) for group in in_groups(rows, reading.groups))
        values = tuple(each[:1] for each in values) if reading.once else values
        if reading.centers:
            values = tuple(map(partial(_squared, reading), values, reading.centers))
        if len(valid) == len(own) and any(values):
            yield Unit(min(valid), values)


def _squared(reading: UnitRead, values: tuple[int, ...], center: int) -> tuple[int, ...]:
    """Return the squared distances of values from a center, rounded down to the public lattice."""
    return tuple(((value << CENTER_BITS) - center) ** 2 >> reading.coarser for value in values)


def own_rows_by_unit(source: Source, unit: PrivacyUnit) -> Iterator[tuple[Rows, Mapping[str, Rows]]]:
    """Yield the own rows of each unit, with all tables; where units have one row each, of those alone."""
    join = unit.join
    tables: Mapping[str, Rows] = source if isinstance(source, Mapping) else {"": source}
    by_id: dict[Any, list[Record]] = defaultdict(list)
    for record in tables["" if join is None else join.private]:
        whose = record[unit.id if join is None else join.key]
        if _is_there(whose):
            by_id[whose].append(record)
    for own in by_id.values():
        if not unit.one_row or len(own) == 1:
            yield own, tables


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


def _values(rows: Iterable[Record], reading: UnitRead) -> tuple[int, ...]:
    """Return each row's contribution; nothing where the filter is not true or there is no value."""
    taken = (row for row in rows if reading.where is None or evaluate(reading.where, row) is True)
    measure = reading.measure
    if measure is None:
        return tuple(1 for _ in taken)
    values = (whole_value(column_of(row, measure.column, measure.expression), measure) for row in taken)
    return tuple(value for value in values if value is not None)


def _contributions(unit: Unit, reading: UnitRead, *, count_rows: bool) -> list[int]:
    """Return a unit's contribution to each group, moved into its public bounds."""
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
