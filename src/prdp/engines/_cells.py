"""The one statement that an engine runs, and how its rows become cells.

The statement is DuckDB's SQL. Each part is total: no row can make it fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prdp.engines._column_types import fits_64_bits
from prdp.engines._expressions import to_sql
from prdp.engines._own_column import OwnColumn
from prdp.expressions.spelling import quoted
from prdp.geometry import PER_OCTAVE, SLACK
from prdp.levels import Levels
from prdp.query import Measure, Reading
from prdp.schema import ColumnType, Schema
from prdp.summary import Cell, CellKey, Summary, magnitude_key


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL that groups records into cells, and the reading of its rows.

    The rows are (level, magnitude code, count, total), without the level where ``own`` derives the
    budget from the magnitude, and without magnitude and total where nothing is added up.
    """

    sql: str
    reading: Reading
    own: OwnColumn | None

    def summary(self, rows: Iterable[Sequence[Any]]) -> Summary:
        """Return the cells that the statement's rows describe."""
        cells = self._own_cells(rows) if self.own else self._level_cells(rows)
        reading = self.reading
        return Summary.of(reading.levels, reading.smallest, reading.largest, cells)

    def _level_cells(self, rows: Iterable[Sequence[Any]]) -> Iterator[Cell]:
        levels = self.reading.levels
        for level, *rest in rows:
            if level is None:
                continue
            quanta = levels.quanta(level)
            if self.reading.measure is None:
                (count,) = rest
                yield Cell(CellKey(quanta, 1, 1, 1), count, count)
            else:
                code, count, total = rest
                yield Cell(magnitude_key(quanta, code, self.reading.largest), count, total or 0)

    def _own_cells(self, rows: Iterable[Sequence[Any]]) -> Iterator[Cell]:
        assert self.own is not None  # noqa: S101  (told to the type checker; see summary)
        for code, count, *rest in rows:
            quanta = self.own.quanta.get(code or 0)
            if quanta is None:
                continue
            if self.reading.measure is None:
                yield Cell(CellKey(quanta, 1, 1, 1), count, count)
            else:
                key = magnitude_key(quanta, code, self.reading.largest)
                yield Cell(key, count, rest[0] or 0)


def statement(reading: Reading, schema: Schema, records: str, *, own_column: bool = True) -> Statement:
    """Write the statement for a reading: with one key where the policy allows it, else with two.

    Args:
        reading: What is to be found out.
        schema: The table's columns.
        records: The name under which the statement finds the table.
        own_column: Whether the form with one key may be used.
    """
    own = OwnColumn.of(reading, schema) if own_column else None
    sql = _one_key(reading, own, schema, records) if own else _two_keys(reading, schema, records)
    return Statement(sql, reading, own)


def _two_keys(reading: Reading, schema: Schema, records: str) -> str:
    budget = to_sql(reading.policy.expression, schema)
    level = f"{level_sql(reading.levels)} AS level"
    condition = f" WHERE {to_sql(reading.where, schema)}" if reading.where is not None else ""
    if reading.measure is None:
        inner = f"SELECT {budget} AS budget FROM {records}{condition}"
        return f"SELECT level, count(*) FROM (SELECT {level} FROM ({inner})) GROUP BY level"
    value = measured(reading.measure, schema)
    inner = f"SELECT {budget} AS budget, {value} AS value FROM {records}{condition}"
    keys = f"{level}, {code_sql(reading.measure, 'value')} AS code, value"
    return (
        f"SELECT level, code, count(*), sum(value) FROM (SELECT {keys} FROM ({inner})) GROUP BY level, code"
    )


def _one_key(reading: Reading, own: OwnColumn, schema: Schema, records: str) -> str:
    column = quoted(own.column)
    within = f"{column} BETWEEN {own.low} AND {own.high}"
    condition = f" AND ({to_sql(reading.where, schema)})" if reading.where is not None else ""
    total = f", sum({column})" if reading.measure else ""
    measure = Measure(own.column, own.unit, own.low, own.high)
    return (
        f"SELECT {code_sql(measure, column)} AS code, count(*){total} "
        f"FROM {records} WHERE {within}{condition} GROUP BY 1"  # a column of the table's may be called code
    )


def level_sql(levels: Levels) -> str:
    """Return the level of the column ``budget``, a number or NULL; NULL where the record is left out.

    A condition in the CASE, not in a WHERE: DuckDB would compute the budget once for each.
    """
    steps = f"floor({PER_OCTAVE} * log2(budget / {float(levels.at_least)!r}) - {SLACK!r})"
    return (
        "CASE WHEN isnan(budget) THEN NULL "
        f"WHEN budget >= {float(levels.at_most)!r} THEN CAST({levels.top} AS SMALLINT) "
        f"WHEN budget >= {levels.least!r} THEN CAST(greatest(0, {steps}) AS SMALLINT) END"
    )


def code_sql(measure: Measure, value: str) -> str:
    """Return the magnitude code of a whole number within the measure's bounds; NULL for NULL."""
    if measure.low > 0:
        return _step_code(value)
    zero_or_more = f"CASE WHEN {value} > 0 THEN {_step_code(value)}"
    if measure.low == 0:
        return f"{zero_or_more} WHEN {value} = 0 THEN 0 END"
    below = f"-{_step_code(f'-CAST({value} AS DOUBLE)')}"
    return f"{zero_or_more} WHEN {value} < 0 THEN {below} WHEN {value} = 0 THEN 0 END"


def _step_code(magnitude: str) -> str:
    return f"CAST(floor({PER_OCTAVE} * log2({magnitude}) - {SLACK!r}) + 2 AS SMALLINT)"


def measured(measure: Measure, schema: Schema) -> str:
    """Return a column's value in whole units, moved into its bounds; NULL where it has none."""
    column = schema[measure.column]
    name = quoted(measure.column)
    if column.integer and measure.unit == 1:
        return _whole(name, measure, column)
    factor = 1 / measure.unit
    scaled = f"(CAST({name} AS DOUBLE) * {float(factor.numerator)!r} / {float(factor.denominator)!r})"
    return (
        f"CASE WHEN {name} IS NULL OR isnan(CAST({name} AS DOUBLE)) THEN NULL "
        f"WHEN {scaled} <= {measure.low} THEN {measure.low} "
        f"WHEN {scaled} >= {measure.high} THEN {measure.high} "
        f"ELSE TRY_CAST(round_even({scaled}, 0) AS BIGINT) END"
    )


def _whole(name: str, measure: Measure, column: ColumnType) -> str:
    if fits_64_bits(column):
        return _moved_into_bounds(name, measure)
    narrow = f"TRY_CAST({name} AS BIGINT)"
    return (
        f"CASE WHEN {narrow} IS NOT NULL THEN {_moved_into_bounds(narrow, measure)} "
        f"WHEN {name} > 0 THEN {measure.high} WHEN {name} < 0 THEN {measure.low} END"
    )


def _moved_into_bounds(whole: str, measure: Measure) -> str:
    return (
        f"CASE WHEN {whole} < {measure.low} THEN {measure.low} "
        f"WHEN {whole} > {measure.high} THEN {measure.high} ELSE CAST({whole} AS BIGINT) END"
    )
