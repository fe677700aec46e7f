"""The statement that adds up the budgets behind each different value of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from prdp.cells.cell_columns import CellColumns
from prdp.cells.columns import kept
from prdp.cells.summary import KeySummary, Summary, key_edges
from prdp.engines.duckdb.column_types import column_sql, has_nan
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.statements.cells import (
    Arrays,
    by_group,
    filled,
    grouped_records,
    halves,
    level_quanta,
    level_sql,
    wide,
)
from prdp.engines.statements.computed_columns import computed
from prdp.engines.statements.groups import by_code_point
from prdp.expressions.spelling import quoted
from prdp.plan.reads import KeyRead
from prdp.schema import Kind, Schema


@dataclass(frozen=True, slots=True)
class KeyStatement:
    """SQL that groups values by the budget behind them; its columns are grp, edge, n, total."""

    sql: str
    reading: KeyRead

    def summaries(self, found: Arrays) -> tuple[KeySummary, ...]:
        """Return the values of each group that the statement's columns describe; they share arrays."""
        groups = self.reading.groups
        edge, total = filled(found["edge"], -1), wide(found, "total")
        group = filled(found["grp"], -1) if groups else np.zeros(len(edge), dtype=np.int64)
        order = np.lexsort((edge, group))
        columns = [kept(column[order]) for column in (edge, filled(found["n"], 0), total)]
        ends = np.searchsorted(group[order], np.arange(1 + (len(groups.keys) if groups else 1))).tolist()
        return tuple(
            KeySummary(self.reading.levels, *(column[first:last] for column in columns))
            for first, last in pairwise(ends)
        )


@dataclass(frozen=True, slots=True)
class TopStatement:
    """SQL that finds each value's highest level; its columns are grp, level and n."""

    sql: str
    reading: KeyRead

    def summaries(self, found: Arrays) -> tuple[Summary, ...]:
        """Return the values of each group as cells of their highest levels."""
        levels = self.reading.levels
        quanta, valid = level_quanta(levels, found["level"])
        cells = CellColumns.counting(quanta, filled(found["n"], 0))
        groups = by_group(cells, found, valid, self.reading.groups)
        return tuple(Summary(levels, 1, 1, group) for group in groups)


def top_statement(reading: KeyRead, schema: Schema, records: str) -> TopStatement:
    """Write the statement that finds each value's highest level."""
    group = "grp, " if reading.groups else ""
    leveled = _leveled(reading, schema, records)
    tops = f"SELECT {group}value, max(level) AS level FROM ({leveled}) GROUP BY {group}value"
    return TopStatement(f"SELECT {group}level, count(*) AS n FROM ({tops}) GROUP BY {group}level", reading)


def _leveled(reading: KeyRead, schema: Schema, records: str) -> str:
    """Return the query for the group, value and level of the records that have all of them."""
    reading, schema, records = computed(reading, schema, records)
    group = "grp, " if reading.groups else ""
    condition = to_sql(reading.where, schema) if reading.where is not None else None
    items = [
        f"{to_sql(reading.policy.expression, schema)} AS budget",
        f"{value_sql(reading.column, schema)} AS value",
    ]
    inner = grouped_records(items, records, condition, reading.groups, schema)
    levels = f"SELECT {group}value, {level_sql(reading.levels)} AS level FROM {inner}"
    return f"SELECT * FROM ({levels}) WHERE level IS NOT NULL AND value IS NOT NULL"


def key_statement(reading: KeyRead, schema: Schema, records: str) -> KeyStatement:
    """Write the statement: levels to quanta, quanta added up by value, values counted between the edges."""
    edges = key_edges(reading.levels)
    group = "grp, " if reading.groups else ""
    quanta = [min(reading.levels.quanta(level), edges[-1]) for level in range(reading.levels.top + 1)]
    form = "BIGINT" if quanta[-1] < 2**62 else "HUGEINT"
    listed = ", ".join(f"CAST({number} AS {form})" for number in quanta)
    masses = (
        f"SELECT {group}value, sum([{listed}][level + 1]) AS mass "
        f"FROM ({_leveled(reading, schema, records)}) GROUP BY {group}value"
    )
    placed = f"SELECT {group}{_edge_sql(edges, 0, len(edges))} AS edge, mass FROM ({masses})"
    summed = f"SELECT {group}edge, count(*) AS n, sum(mass) AS total FROM ({placed}) GROUP BY {group}edge"
    return KeyStatement(f"SELECT {group}edge, n, {halves('total')} FROM ({summed})", reading)


def value_sql(column: str, schema: Schema) -> str:
    """Return a value as it is distinguished: NaN is none, and minus zero is zero."""
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
