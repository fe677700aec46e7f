"""The rows of units: whose each is, its unit's level, what it adds, and its group.

Two places to read them, one form: a table that holds units and rows alike, or the results of a join. The
budget of a unit is taken over all its own rows: a filter, a list of keys and a missing partner decide what
a row adds, never whether a budget counts. An own row without a valid budget has the level -1, below all
others: SQL's min() would skip a NULL. Every part is total: no row can make it fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from prdp.cells.measure import Measure
from prdp.cells.summary import CENTER_BITS
from prdp.declare.units import JoinedTables
from prdp.engines.duckdb.column_types import column_sql, has_nan
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.statements.cells import computed, level_sql, measured
from prdp.engines.statements.groups import by_code_point, joined, key_columns
from prdp.expressions.nodes import columns
from prdp.expressions.tokens import quoted
from prdp.plan.reads import UnitRead
from prdp.schema import ColumnType, Kind, Schema

_ID, _LEVEL, _BUDGET = "prdp id", "prdp level", "prdp budget"

_MOST = (1 << 63) - 1
"""The largest whole number that an engine returns."""

TAKEN = frozenset((_ID, _LEVEL, _BUDGET))
"""Names that no column of a join may have, in any capitals."""

WHOSE = (f"{quoted(_ID)} AS id", f"{quoted(_LEVEL)} AS level")
"""Select items for the unit of a join's result."""

WHOSE_BUDGET = (*WHOSE, f"{quoted(_BUDGET)} AS budget")
"""The same, and the unit's budget, which results have if asked for."""

Value = Callable[[Measure, Schema], str]
"""Writes a row's value: what is measured, or what is distinguished."""


def distinguished(measure: Measure, schema: Schema) -> str:
    """Return a column's value as it is distinguished from others."""
    return value_sql(measure.column, schema)


def rows_of_table(reading: UnitRead, schema: Schema, records: str, value: Value = measured) -> str:
    """Return the rows of a table that says of each row whose it is: (id, budget, value, and for groups grp).

    All rows are there, whatever the filter and the keys say: the least of the budgets is over all of them.
    One that is not valid is 0, below all others. Reads beside have columns of their own: value1, value2, ...
    """
    whose, plain = reading.unit.id, schema
    reading, schema, records = computed(reading, schema, records)
    items = [
        f"{id_sql(quoted(whose), whose, plain)} AS id",
        f"{to_sql(reading.policy.expression, plain)} AS budget",
        *_values(reading, schema, value),
        *(key_columns(reading.groups, schema) if reading.groups else ()),
    ]
    chosen = f"(SELECT {', '.join(items)} FROM {records})"
    least = reading.levels.least
    valid = f"CASE WHEN isnan(budget) THEN 0e0 WHEN budget >= {least!r} THEN budget ELSE 0e0 END"
    parts = f"id, {valid} AS budget, {', '.join(value_names(reading))}"
    if reading.groups is not None:
        parts, chosen = f"{parts}, grp", joined(chosen, reading.groups, schema, every_row=True)
    return f"SELECT {parts} FROM {chosen} WHERE id IS NOT NULL"


def one_in_each_group(reading: UnitRead, rows: str) -> str:
    """Return rows of which each unit has one at most in each group; its least budget is among them still."""
    least = "budget" if reading.unit.join is None else "level"
    return f"SELECT id, min({least}) AS {least}, grp, max(value) AS value FROM ({rows}) GROUP BY id, grp"


def squared_distances(reading: UnitRead, rows: str) -> str:
    """Return rows whose values are their squared distances from a center, rounded down to a public lattice.

    A product is below 2^112: values are below 2^47 steps, and centers lie between the same bounds.
    No row can make it fail: what would not fit counts as the largest number.
    """
    least, group = "budget" if reading.unit.join is None else "level", ""
    center = f"CAST({reading.centers[0]} AS HUGEINT)"
    if reading.groups is not None:
        listed = ", ".join(f"CAST({center} AS HUGEINT)" for center in reading.centers)
        group, center = ", grp", f"[{listed}][coalesce(grp, 0) + 1]"
    distance = f"CAST(value AS HUGEINT) * {1 << CENTER_BITS} - {center}"
    away = f"SELECT id, {least}, {distance} AS away{group} FROM ({rows})"
    lattice = f"CAST({1 << reading.coarser} AS HUGEINT)"
    squared = f"SELECT id, {least}, away * away // {lattice} AS squared{group} FROM ({away})"
    fits = f"CAST(CASE WHEN squared > {_MOST} THEN {_MOST} ELSE squared END AS BIGINT)"  # least() skips NULL
    return f"SELECT id, {least}, {fits} AS value{group} FROM ({squared})"


def value_names(reading: UnitRead) -> list[str]:
    """Return the names of the columns that a read and those beside it fold: value, value1, value2, ...

    They are numbered by ``each_read``.
    """
    return [f"value{number}" for number, _ in each_read(reading)]


def each_read(reading: UnitRead) -> list[tuple[str, UnitRead]]:
    """Return a read and those beside it, with what the names of their columns end with."""
    return [(str(place or ""), read) for place, read in enumerate((reading, *reading.beside))]


def _values(reading: UnitRead, schema: Schema, value: Value = measured) -> list[str]:
    """Return a row's contribution to each read, as select items; NULL where it adds nothing."""
    when, end = "", ""
    if reading.where is not None:
        when, end = f"CASE WHEN {to_sql(reading.where, schema)} THEN ", " END"
    return [
        f"{when}{value(read.measure, schema) if read.measure else '1'}{end} AS value{number}"
        for number, read in each_read(reading)
    ]


def rows_of_join(
    reading: UnitRead,
    schemas: Mapping[str, Schema],
    views: Mapping[str, str],
    value: Value = measured,
    *,
    with_budget: bool = False,
) -> str:
    """Return the results of a join in the same form; those that add nothing are left out.

    Args:
        reading: Which units, and what their rows add.
        schemas: Each table's columns.
        views: The name under which statements find each table.
        value: Writes a row's value.
        with_budget: Whether rows have the budget of their unit as well.
    """
    results, reading, schema = results_of_join(reading, schemas, views, with_budget=with_budget)
    whose, budget = (WHOSE_BUDGET, ", budget") if with_budget else (WHOSE, "")
    items = [*whose, *_values(replace(reading, where=None), schema, value)]
    where = f" WHERE {to_sql(reading.where, schema)}" if reading.where is not None else ""
    if reading.groups is None:
        return f"SELECT {', '.join(items)} FROM {results}{where}"
    items += key_columns(reading.groups, schema)
    chosen = f"(SELECT {', '.join(items)} FROM {results}{where})"
    names = ", ".join(value_names(reading))
    return f"SELECT id, level{budget}, {names}, grp FROM {joined(chosen, reading.groups, schema)}"


def results_of_join(
    reading: UnitRead, schemas: Mapping[str, Schema], views: Mapping[str, str], *, with_budget: bool = False
) -> tuple[str, UnitRead, Schema]:
    """Return the results of a join with id and level, and the read and the columns with nothing computed."""
    join = reading.unit.join
    assert join is not None  # noqa: S101  (for the type checker; see the engine)
    schema = join.schema(schemas)
    results = _results(reading, join, schemas, views, with_budget=with_budget)
    kept = (_ID, _LEVEL, *((_BUDGET,) if with_budget else ()), *read_columns(reading))
    reading, schema, results = computed(reading, schema, results, kept)
    return results, reading, schema


def _results(
    reading: UnitRead,
    join: JoinedTables,
    schemas: Mapping[str, Schema],
    views: Mapping[str, str],
    *,
    with_budget: bool,
) -> str:
    """Return the inner join of the units, one row each, with the other tables.

    Units are on the left: results then come unit by unit, which the engine folds faster.
    """
    place = {table: f"t{number}" for number, table in enumerate(join.tables)}
    own = _own_columns(reading, join)
    held = {(join.private, column): f"{place[join.private]}.own{n}" for n, column in enumerate(own)}
    unit = _unit(reading, join, schemas[join.private], views, own, with_budget=with_budget)
    joined_tables = f"{unit} AS {place[join.private]}"
    for table in join.tables[1:]:
        by = join.joined_by[table]
        left, right = (
            f"{place[join.private]}.id"
            if side == (join.private, join.key)
            else id_sql(held.get(side, f"{place[side[0]]}.{quoted(side[1])}"), side[1], schemas[side[0]])
            for side in ((by.table, by.column), (by.to, by.key))
        )
        joined_tables += f" JOIN {views[table]} AS {place[table]} ON {left} = {right}"
    picked = [f"{place[join.private]}.{name} AS {quoted(f'prdp {name}')}" for name in ("id", "level")]
    if with_budget:
        picked.append(f"{place[join.private]}.budget AS {quoted(_BUDGET)}")
    for name in sorted(read_columns(reading)):
        table, column = join.names[name]
        value = held.get((table, column), f"{place[table]}.{quoted(column)}")
        picked.append(f"{value} AS {quoted(name)}")
    return f"(SELECT {', '.join(picked)} FROM {joined_tables})"


def read_columns(reading: UnitRead) -> frozenset[str]:
    """Return the columns that the value, the filter and the groups of a read are made of."""
    found: set[str] = set(columns(reading.where)) if reading.where is not None else set()
    measured_by = [read.measure for _, read in each_read(reading) if read.measure is not None]
    for part in (*measured_by, *(reading.groups.by if reading.groups is not None else ())):
        found |= columns(part.expression) if part.expression is not None else {part.column}
    return frozenset(found)


def _own_columns(reading: UnitRead, join: JoinedTables) -> list[str]:
    """Return the columns of the private table that are read, or that lead to public tables."""
    read = {
        column
        for table, column in map(join.names.__getitem__, read_columns(reading))
        if table == join.private
    }
    leading = (join.joined_by[table] for table in join.tables[1:])
    return sorted(read | {by.column for by in leading if by.table == join.private})


def _unit(
    reading: UnitRead,
    join: JoinedTables,
    schema: Schema,
    views: Mapping[str, str],
    own: list[str],
    *,
    with_budget: bool,
) -> str:
    """Return the units that take part, one row each: id, least level, and what their own rows agree on."""
    items = [
        f"{id_sql(quoted(join.key), join.key, schema)} AS id",
        f"{to_sql(reading.policy.expression, schema)} AS budget",
        *(f"{_held(column, schema)} AS held{place}" for place, column in enumerate(own)),
    ]
    rows = f"SELECT {', '.join(items)} FROM {views[join.private]}"
    leveled = f"SELECT *, {level_or_invalid(reading)} AS level FROM ({rows}) WHERE id IS NOT NULL"
    agreed = (f"{_agreed(f'held{place}', schema[name])} AS own{place}" for place, name in enumerate(own))
    budget = ["min(budget) AS budget"] if with_budget else []  # of those who take part, all are numbers
    folded = ", ".join(["id", "min(level) AS level", *budget, *agreed])
    taking_part = "min(level) >= 0" + (" AND count(*) = 1" if reading.unit.one_row else "")
    return f"(SELECT {folded} FROM ({leveled}) GROUP BY id HAVING {taking_part})"


def _held(column: str, schema: Schema) -> str:
    """Return an own row's value of a column; NaN is nothing, since ClickHouse's min() and max() skip it."""
    return value_sql(column, schema) if schema[column].kind is Kind.NUMBER else quoted(column)


def _agreed(value: str, kind: ColumnType) -> str:
    """Return the value that all own rows of a unit have in a column; NULL where they have no such."""
    if kind.kind is Kind.BOOLEAN:  # not every database has the least of truth values
        number = f"CAST({value} AS TINYINT)"
        same = f"count({value}) = count(*) AND min({number}) = max({number})"
        return f"CASE WHEN {same} THEN CAST(min({number}) AS BOOLEAN) END"
    compared = f"encode(CAST({value} AS VARCHAR))" if kind.kind is Kind.TEXT else value
    same = f"count({value}) = count(*) AND min({compared}) = max({compared})"
    return f"CASE WHEN {same} THEN min({value}) END"


def id_sql(name: str, column: str, schema: Schema) -> str:
    """Return the identity of units: of a text its bytes, whatever a session collates."""
    kind = schema[column]
    if kind.kind is Kind.TEXT:
        plain = kind.native == "VARCHAR"
        return f"encode({name})" if plain else f"encode(CAST({name} AS VARCHAR))"
    return value_sql(column, schema) if name == quoted(column) else name


def level_or_invalid(reading: UnitRead) -> str:
    """Return the level of the column ``budget``; -1, below all others, where there is no valid one."""
    return f"coalesce({level_sql(reading.levels)}, -1)"


def value_sql(column: str, schema: Schema) -> str:
    """Return a value as it is distinguished: NaN is none, and minus zero is zero."""
    name = quoted(column)
    if schema[column].kind is Kind.TEXT:
        return by_code_point(column_sql(column, schema[column]))
    if schema[column].kind is Kind.NUMBER and has_nan(schema[column]):
        return f"CASE WHEN NOT isnan({name}) THEN {name} + 0 END"
    return name
