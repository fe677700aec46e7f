"""Cells computed record by record in plain Python: slow, plain, and what every engine is held to."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from prdp.cells.cell import Cell, CellKey, magnitude_key
from prdp.cells.measure import Measure
from prdp.cells.summary import KeySummary, Summary, key_edges
from prdp.declare.computed import column_of
from prdp.declare.groups import Bin, Grouping, GroupKey, KeyValue, Truncated, first_moment
from prdp.expressions.evaluate import evaluate
from prdp.expressions.nodes import Node
from prdp.grids import PER_OCTAVE, SLACK
from prdp.plan.reads import CellRead, KeyRead, RowRead

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
    """Return how many keys a column has, by what the budgets of their records add up to."""
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
        squares = (value or 0) ** 2 if reading.measure.squares else 0
        yield Cell(magnitude_key(quanta, code, reading.largest, fineness), 1, value or 0, squares)


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
