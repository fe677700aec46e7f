"""Statements that add up the budgets behind each value of a column, or behind each key of a search.

A key is what the statement groups by: the bytes of a text, a 64-bit integer, a double, microseconds. So one
key has one row, and what is a possible key is decided elsewhere, by whoever draws those that nobody has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from prdp.cells.columns import exact_column, kept, product
from prdp.cells.key_masses import KeyMasses
from prdp.cells.summary import CellColumns, KeyHolders, KeySummary, Summary, key_edges
from prdp.declare.groups import Grouping, GroupKey
from prdp.engines.duckdb.column_types import fits_64_bits, is_native_integer
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.statements.cells import (
    Arrays,
    by_group,
    computed,
    filled,
    grouped_records,
    halves,
    level_quanta,
    level_sql,
    wide,
)
from prdp.engines.statements.groups import key_sql
from prdp.engines.statements.unit_rows import WHOSE, id_sql, level_or_invalid, results_of_join, value_sql
from prdp.expressions.tokens import quoted
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, UnitRead
from prdp.schema import ColumnType, Kind, Schema


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
        edge, count, total = (kept(column[order]) for column in (edge, filled(found["n"], 0), total))
        ends = np.searchsorted(group[order], np.arange(1 + (len(groups.keys) if groups else 1))).tolist()
        return tuple(
            KeySummary(self.reading.levels, edge[first:last], count[first:last], total[first:last])
            for first, last in pairwise(ends)
        )


@dataclass(frozen=True, slots=True)
class HeldKeyStatement:
    """SQL that lists which units hold which values; its columns are grp, place, holder, level and n.

    Places and holders are numbers of values and of units; units that hold one value alone are counted.
    """

    sql: str
    reading: KeyRead

    def summaries(self, found: Arrays) -> tuple[KeySummary, ...]:
        """Return the values of each group, with the units that hold them."""
        levels, groups = self.reading.levels, self.reading.groups
        most = key_edges(levels)[-1]
        by_level = exact_column(min(levels.quanta(level), most) for level in range(levels.top + 1))
        quanta = product(by_level[filled(found["level"], 0)], filled(found["n"], 0))
        holder, place = filled(found["holder"], 0), filled(found["place"], 0)
        holder = np.where(holder == 0, -np.arange(1, len(holder) + 1), holder)
        group = filled(found["grp"], -1) if groups else np.zeros(len(place), dtype=np.int64)
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(1 + (len(groups.keys) if groups else 1))).tolist()
        return tuple(
            KeySummary.held(levels, KeyHolders.of(holder[rows], place[rows], quanta[rows]))
            for rows in (order[first:last] for first, last in pairwise(ends))
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
    return tops_of(reading, _leveled(reading, schema, records))


def tops_of(reading: KeyRead, leveled: str) -> TopStatement:
    """Write the same for values with their groups and levels."""
    group = "grp, " if reading.groups else ""
    tops = f"SELECT {group}value, max(level) AS level FROM ({leveled}) GROUP BY {group}value"
    return TopStatement(f"SELECT {group}level, count(*) AS n FROM ({tops}) GROUP BY {group}level", reading)


def _leveled(reading: KeyRead, schema: Schema, records: str) -> str:
    """Return the query for the group, value and level of the records that have all of them."""
    reading, schema, records = computed(reading, schema, records)
    condition = to_sql(reading.where, schema) if reading.where is not None else None
    items = [
        f"{to_sql(reading.policy.expression, schema)} AS budget",
        f"{value_sql(reading.column, schema)} AS value",
    ]
    return leveled_of(reading, grouped_records(items, records, condition, reading.groups, schema))


def leveled_of(reading: KeyRead, inner: str) -> str:
    """Return the same for the records of a FROM clause, whose columns are budget, value and grp."""
    group = "grp, " if reading.groups else ""
    levels = f"SELECT {group}value, {level_sql(reading.levels)} AS level FROM {inner}"
    return f"SELECT * FROM ({levels}) WHERE level IS NOT NULL AND value IS NOT NULL"


def key_statement(reading: KeyRead, schema: Schema, records: str) -> KeyStatement:
    """Write the statement: levels to quanta, quanta added up by value, values counted between the edges."""
    return keys_of(reading, _leveled(reading, schema, records))


def keys_of(reading: KeyRead, leveled: str) -> KeyStatement:
    """Write the same for values with their groups and levels."""
    edges = key_edges(reading.levels)
    group = "grp, " if reading.groups else ""
    quanta = [min(reading.levels.quanta(level), edges[-1]) for level in range(reading.levels.top + 1)]
    form = "BIGINT" if quanta[-1] < 2**62 else "HUGEINT"
    listed = ", ".join(f"CAST({number} AS {form})" for number in quanta)
    masses = f"SELECT {group}value, sum([{listed}][level + 1]) AS mass FROM ({leveled}) GROUP BY {group}value"
    placed = f"SELECT {group}{_edge_sql(edges, 0, len(edges))} AS edge, mass FROM ({masses})"
    summed = f"SELECT {group}edge, count(*) AS n, sum(mass) AS total FROM ({placed}) GROUP BY {group}edge"
    return KeyStatement(f"SELECT {group}edge, n, {halves('total')} FROM ({summed})", reading)


def held_keys_of(reading: KeyRead, inner: str) -> HeldKeyStatement:
    """Write the statement for parts of units, each a value of a unit in a group, with its part of the budget.

    Args:
        reading: The values, and the levels of parts.
        inner: A FROM clause of parts: id, value, budget and grp.
    """
    group = "grp, " if reading.groups else ""
    leveled = f"SELECT {group}id, value, {level_sql(reading.levels)} AS level FROM {inner}"
    held = (
        f"SELECT {group}id, value, level, count(*) OVER (PARTITION BY {group}id) AS held "
        f"FROM ({leveled}) WHERE level IS NOT NULL"
    )
    numbered = (
        f"SELECT {group}level, held, dense_rank() OVER (ORDER BY value) AS place, "
        f"dense_rank() OVER (ORDER BY id) AS holder FROM ({held})"
    )
    apart = (
        f"SELECT {group}level, place, CASE WHEN held > 1 THEN holder ELSE 0 END AS holder FROM ({numbered})"
    )
    keys = f"{group}place, holder, level"
    return HeldKeyStatement(f"SELECT {keys}, count(*) AS n FROM ({apart}) GROUP BY {keys}", reading)


def _edge_sql(edges: Sequence[int], low: int, high: int) -> str:
    """Return the place of the last edge that is at most ``mass``, by binary search; -1 where none is."""
    if low == high:
        return str(low - 1)
    middle = (low + high) // 2
    below, above = _edge_sql(edges, low, middle), _edge_sql(edges, middle + 1, high)
    return f"CASE WHEN mass < CAST({edges[middle]} AS HUGEINT) THEN {below} ELSE {above} END"


_LARGEST = 1 << 90
"""No record counts for more quanta: 2^37 of them still fit a HUGEINT."""


@dataclass(frozen=True, slots=True)
class MassStatement:
    """SQL that adds up budgets by key; its columns are key0, key1, ... and the halves of mass."""

    sql: str
    reading: KeyMassRead

    def masses(self, found: Arrays) -> KeyMasses:
        """Return the keys and their masses that the statement's columns describe."""
        columns = tuple(found[f"key{place}"] for place in range(len(self.reading.by)))
        return KeyMasses(self.reading.levels, columns, wide(found, "mass"))


def mass_statement(reading: KeyMassRead, schema: Schema, records: str) -> MassStatement:
    """Write the statement for one table, in which rows are records or name their units."""
    if reading.unit is not None:
        return _of_units(reading, _rows_of_table(reading, schema, records))
    plain = CellRead(reading.policy, reading.levels, {}, None, reading.where, Grouping(reading.by, ()))
    plain, schema, records = computed(plain, schema, records)
    assert plain.groups is not None  # noqa: S101  (for the type checker; it was given)
    items = [f"{to_sql(plain.policy.expression, schema)} AS budget", *_raw_keys(plain.groups.by, schema)]
    where = f" WHERE {to_sql(plain.where, schema)}" if plain.where is not None else ""
    names = _names(reading)
    leveled = (
        f"SELECT {', '.join(names)}, {level_sql(reading.levels)} AS level "
        f"FROM (SELECT {', '.join(items)} FROM {records}{where})"
    )
    valid = " AND ".join(f"{name} IS NOT NULL" for name in ("level", *names))
    summed = f"SELECT {', '.join(names)}, sum({_quanta(reading)}) AS mass FROM ({leveled}) WHERE {valid}"
    return MassStatement(_by_key(names, summed), reading)


def joined_mass_statement(
    reading: KeyMassRead, schemas: Mapping[str, Schema], views: Mapping[str, str]
) -> MassStatement:
    """Write the statement for the results of a join, whose units are in its private table."""
    results, plain, schema = results_of_join(_unit_read(reading), schemas, views)
    assert plain.groups is not None  # noqa: S101
    items = [*WHOSE, *_raw_keys(plain.groups.by, schema)]
    where = f" WHERE {to_sql(plain.where, schema)}" if plain.where is not None else ""
    return _of_units(reading, f"SELECT {', '.join(items)} FROM {results}{where}")


def _unit_read(reading: KeyMassRead) -> UnitRead:
    assert reading.unit is not None  # noqa: S101
    groups = Grouping(reading.by, ())
    return UnitRead(
        reading.policy, reading.levels, reading.unit, None, "sum", reading.where, groups, apart=False
    )


def _rows_of_table(reading: KeyMassRead, schema: Schema, records: str) -> str:
    """Return all rows that are somebody's: id, level, and the keys where the filter lets them through."""
    owned, plain_schema = _unit_read(reading), schema
    whose = owned.unit.id
    plain, schema, records = computed(owned, schema, records)
    assert plain.groups is not None  # noqa: S101
    condition = None if plain.where is None else to_sql(plain.where, schema)
    items = [
        f"{id_sql(quoted(whose), whose, plain_schema)} AS id",
        f"{to_sql(plain.policy.expression, plain_schema)} AS budget",
        *_raw_keys(plain.groups.by, schema, condition),
    ]
    chosen = f"(SELECT {', '.join(items)} FROM {records})"
    level = level_or_invalid(owned)
    return f"SELECT id, {level} AS level, {', '.join(_names(reading))} FROM {chosen} WHERE id IS NOT NULL"


def _of_units(reading: KeyMassRead, rows: str) -> MassStatement:
    """Write the statement that divides each unit's budget among its keys.

    The level is the least over all rows of a unit; one without a valid budget takes no part. Where units
    have one row each, nor does one with several: all its rows are here, whatever the filter and the keys say
    of them. The keys that count are the first by a hash of the unit and the key: a function of the unit's
    own rows.
    """
    assert reading.unit is not None  # noqa: S101  (see mass_statement)
    taking_part = "min(level) >= 0" + (" AND count(*) = 1" if reading.unit.one_row_is_all else "")
    names = _names(reading)
    listed = ", ".join(names)
    there = " AND ".join(f"{name} IS NOT NULL" for name in names)
    hashed = ", ".join(f"CAST({name} AS VARCHAR)" for name in ("id", *names))
    order = f"md5(concat_ws('/', {hashed})), {listed}"
    sql = (
        f"WITH rows AS MATERIALIZED ({rows}), "
        f"levels AS (SELECT id, min(level) AS level FROM rows GROUP BY id HAVING {taking_part}), "
        f"held AS (SELECT DISTINCT id, {listed} FROM rows WHERE {there}), "
        f"ranked AS (SELECT *, row_number() OVER (PARTITION BY id ORDER BY {order}) AS place, "
        "count(*) OVER (PARTITION BY id) AS number FROM held) "
    )
    each = f"({_quanta(reading)}) // least(number, {reading.max_keys})"
    summed = (
        f"SELECT {listed}, sum({each}) AS mass FROM ranked JOIN levels USING (id) "
        f"WHERE place <= {reading.max_keys}"
    )
    return MassStatement(sql + _by_key(names, summed), reading)


def _by_key(names: Sequence[str], summed: str) -> str:
    listed = ", ".join(names)
    return f"SELECT {listed}, {halves('mass')} FROM ({summed} GROUP BY {listed})"


def _quanta(reading: KeyMassRead) -> str:
    """Return a record's contribution, by its level."""
    most = _LARGEST if reading.most is None else min(_LARGEST, reading.most)
    quanta = [min(reading.levels.quanta(level), most) for level in range(reading.levels.top + 1)]
    form = "BIGINT" if max(quanta) < 2**62 else "HUGEINT"
    return f"[{', '.join(f'CAST({number} AS {form})' for number in quanta)}][level + 1]"


def _names(reading: KeyMassRead) -> list[str]:
    return [f"key{place}" for place in range(len(reading.by))]


def _raw_keys(by: Sequence[GroupKey], schema: Schema, condition: str | None = None) -> list[str]:
    """Return the record's keys as select items; NULL where it has none, or where a condition is not met."""
    items = []
    for place, key in enumerate(by):
        raw = _raw(key_sql(key, schema), schema[key.column])
        raw = raw if condition is None else f"CASE WHEN {condition} THEN {raw} END"
        items.append(f"{raw} AS key{place}")
    return items


def _raw(key: str, column: ColumnType) -> str:
    """Return a key as it leaves the engine: bytes, a 64-bit integer, or a double that is no NaN."""
    match column.kind:
        case Kind.TEXT:
            return key
        case Kind.MOMENT:
            return f"CASE WHEN isfinite({key}) THEN epoch_us({key}) END"
        case Kind.BOOLEAN:
            return f"CAST({key} AS TINYINT)"
        case _ if fits_64_bits(column):
            return f"CAST({key} AS BIGINT)"
        case _ if is_native_integer(column):
            return f"TRY_CAST({key} AS BIGINT)"
        case _:
            return f"CASE WHEN NOT isnan({key}) THEN {key} END"
