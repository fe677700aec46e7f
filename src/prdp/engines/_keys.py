"""The statement that adds up the budgets behind each different value of a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from prdp.cells.summary import Cell, CellKey, KeyCell, KeySummary, Summary, key_edges
from prdp.declare.schema import Kind, Schema
from prdp.engines._cells import by_group, grouped_records, level_sql
from prdp.engines._column_types import column_sql, has_nan
from prdp.engines._expressions import to_sql
from prdp.engines._groups import by_code_point
from prdp.expressions.spelling import quoted
from prdp.plan.reads import KeyReading


@dataclass(frozen=True, slots=True)
class KeyStatement:
    """SQL that groups values by the budget behind them; its rows are (group, edge, count, total)."""

    sql: str
    reading: KeyReading

    def summaries(self, rows: Iterable[Sequence[Any]]) -> tuple[KeySummary, ...]:
        """Return the values of each group that the statement's rows describe."""
        groups = by_group(rows, self.reading.groups)
        return tuple(
            KeySummary(self.reading.levels, tuple(KeyCell(*row) for row in sorted(map(tuple, group))))
            for group in groups
        )


@dataclass(frozen=True, slots=True)
class TopStatement:
    """SQL that finds each value's highest level; its rows are (group, level, count)."""

    sql: str
    reading: KeyReading

    def summaries(self, rows: Iterable[Sequence[Any]]) -> tuple[Summary, ...]:
        """Return the values of each group as cells of their highest levels."""
        levels = self.reading.levels
        return tuple(
            Summary.of(
                levels,
                1,
                1,
                (Cell(CellKey(levels.quanta(top), 1, 1, 1), count, count) for top, count in group),
            )
            for group in by_group(rows, self.reading.groups)
        )


def top_statement(reading: KeyReading, schema: Schema, records: str) -> TopStatement:
    """Write the statement that finds each value's highest level."""
    group = "grp, " if reading.groups else ""
    leveled = _leveled(reading, schema, records)
    tops = f"SELECT {group}value, max(level) AS top FROM ({leveled}) GROUP BY {group}value"
    return TopStatement(f"SELECT {group}top, count(*) FROM ({tops}) GROUP BY {group}top", reading)


def _leveled(reading: KeyReading, schema: Schema, records: str) -> str:
    """Return the query for the group, value and level of the records that have all of them."""
    group = "grp, " if reading.groups else ""
    condition = to_sql(reading.where, schema) if reading.where is not None else None
    items = [
        f"{to_sql(reading.policy.expression, schema)} AS budget",
        f"{value_sql(reading.column, schema)} AS value",
    ]
    inner = grouped_records(items, records, condition, reading.groups, schema)
    levels = f"SELECT {group}value, {level_sql(reading.levels)} AS level FROM {inner}"
    return f"SELECT * FROM ({levels}) WHERE level IS NOT NULL AND value IS NOT NULL"


def key_statement(reading: KeyReading, schema: Schema, records: str) -> KeyStatement:
    """Write the statement: levels to quanta, quanta added up by value, values counted between the edges."""
    edges = key_edges(reading.levels)
    group = "grp, " if reading.groups else ""
    quanta = [min(reading.levels.quanta(level), edges[-1]) for level in range(reading.levels.top + 1)]
    wide = "BIGINT" if quanta[-1] < 2**62 else "HUGEINT"
    listed = ", ".join(f"CAST({number} AS {wide})" for number in quanta)
    masses = (
        f"SELECT {group}value, sum([{listed}][level + 1]) AS mass "
        f"FROM ({_leveled(reading, schema, records)}) GROUP BY {group}value"
    )
    placed = f"SELECT {group}{_edge_sql(edges, 0, len(edges))} AS edge, mass FROM ({masses})"
    sql = f"SELECT {group}edge, count(*), sum(mass) FROM ({placed}) GROUP BY {group}edge"
    return KeyStatement(sql, reading)


def value_sql(column: str, schema: Schema) -> str:
    """Return a value as it is told apart: NaN is none, and minus zero is zero."""
    name = quoted(column)
    if schema[column].kind is Kind.TEXT:
        return by_code_point(column_sql(column, schema[column]))
    if schema[column].kind is Kind.NUMBER and has_nan(schema[column]):
        return f"CASE WHEN NOT isnan({name}) THEN {name} + 0 END"
    return name


def _edge_sql(edges: Sequence[int], low: int, high: int) -> str:
    """Return the place of the last edge that is at most ``mass``, by binary search; -1 where none is."""
    if low == high:
        return str(low - 1)
    middle = (low + high) // 2
    below, above = _edge_sql(edges, low, middle), _edge_sql(edges, middle + 1, high)
    return f"CASE WHEN mass < CAST({edges[middle]} AS HUGEINT) THEN {below} ELSE {above} END"
