"""The statements that fold the rows of each owner into one contribution; no row can make them fail.

The budget of an owner is taken over all its rows: a filter and a list of keys decide what a row contributes,
never whether its budget counts. A row without a valid budget has the level -1, below all others: SQL's min()
would skip a NULL.
"""

from __future__ import annotations

from dataclasses import dataclass

from prdp.cells.cell_columns import NO_VALUE, CellColumns
from prdp.cells.measure import Measure
from prdp.cells.owners import Caps
from prdp.cells.summary import Summary
from prdp.engines._cells import Arrays, code_sql, filled, halves, level_quanta, level_sql, measured, wide
from prdp.engines._column_types import column_sql
from prdp.engines._expressions import to_sql
from prdp.engines._groups import joined, key_columns
from prdp.engines._keys import value_sql
from prdp.plan.reads import OwnerRead
from prdp.schema import Kind, Schema

_TOTALS, _ROWS = 0, 1


@dataclass(frozen=True, slots=True)
class OwnerStatement:
    """SQL that groups owners into cells; columns: part, level, code (of the magnitude), n and total."""

    sql: str
    reading: OwnerRead

    def summaries(self, found: Arrays) -> tuple[Summary, Summary]:
        """Return the cells of what owners contribute, and of how many rows they contribute."""
        levels = self.reading.levels
        quanta, _ = level_quanta(levels, found["level"])
        columns = quanta, filled(found["code"], NO_VALUE), filled(found["n"], 0), wide(found, "total")
        summaries = []
        for part, measure in zip((_TOTALS, _ROWS), _parts(self.reading), strict=True):
            budgets, code, *sums = (column[found["part"] == part] for column in columns)
            cells = CellColumns.coded(
                budgets, code, sums, largest=measure.largest, per_octave=measure.per_octave
            )
            summaries.append(Summary(levels, measure.smallest, measure.largest, cells.added_up()))
        totals, counts = summaries
        return (counts if self.reading.measure is None else totals), counts


def owner_statement(reading: OwnerRead, schema: Schema, records: str) -> OwnerStatement:
    """Write the statement: rows to owners, what an owner adds moved into public bounds, owners to cells."""
    parts = list(zip((_TOTALS, _ROWS), ("total", "counted"), _parts(reading), strict=True))
    placed = " UNION ALL ".join(
        f"SELECT {part} AS part, level, {code_sql(measure, 'added')} AS code, added "
        f"FROM (SELECT level, {_moved(column, measure.low, measure.high)} AS added FROM owners)"
        for part, column, measure in (parts if reading.measure else parts[_ROWS:])
    )
    summed = "SELECT part, level, code, count(*) AS n, sum(added) AS total"
    cells = (
        f"SELECT part, level, code, n, {halves('total')} "
        f"FROM ({summed} FROM ({placed}) GROUP BY part, level, code)"
    )
    return OwnerStatement(f"{_owners(reading, schema, records)} {cells}", reading)


def scaled_statement(
    reading: OwnerRead, schema: Schema, records: str, caps: Caps, *, count_rows: bool
) -> str:
    """Write the statement that adds up each group, with all that an owner adds scaled down to its cap.

    Its rows are (group, total). All products are below 2^126: contributions are below 2^63, caps too.
    """
    column = "counted" if count_rows else "total"
    listed = ", ".join(f"CAST({cap} AS HUGEINT)" for cap in caps.by_level)
    shared = (
        f"SELECT grp, parts.{column} AS added, owners.{column} AS size, [{listed}][owners.level + 1] AS cap "
        f"FROM parts JOIN owners USING (id) WHERE grp IS NOT NULL AND parts.{column} IS NOT NULL"
    )
    fine = f"CAST({1 << caps.bits} AS HUGEINT)"
    scaled = (
        f"CASE WHEN size * {fine} <= cap THEN added * {fine} "
        "WHEN added < 0 THEN -(-added * cap // size) ELSE added * cap // size END"
    )
    return f"{_owners(reading, schema, records)} SELECT grp, sum({scaled}) FROM ({shared}) GROUP BY grp"


def _parts(reading: OwnerRead) -> tuple[Measure, Measure]:
    return reading.folded, reading.counted


def _owners(reading: OwnerRead, schema: Schema, records: str) -> str:
    """Return the beginning of a statement: a table ``owners``, for groups made from a table ``parts``.

    An owner with an invalid row, or with no row that contributes, is not in it.
    """
    rows = _rows(reading, schema, records)
    if reading.groups is None:
        folded = f"min(level) AS level, {reading.fold}(value) AS total, count(value) AS counted"
        taking_part = "min(level) >= 0 AND count(value) > 0"
        return (
            f"WITH owners AS MATERIALIZED (SELECT {folded} FROM ({rows}) WHERE id IS NOT NULL "
            f"GROUP BY id HAVING {taking_part})"
        )
    most, most_rows = (measure.high for measure in _parts(reading))
    total, counted = _moved("sum(value)", -most, most), _moved("count(value)", 0, most_rows)
    by_group = (
        f"SELECT id, grp, min(level) AS level, {total} AS total, {counted} AS counted "
        f"FROM ({rows}) WHERE id IS NOT NULL GROUP BY id, grp"
    )
    listed = "FILTER (WHERE grp IS NOT NULL)"
    folded = f"min(level) AS level, sum(abs(total)) {listed} AS total, sum(counted) {listed} AS counted"
    return (
        f"WITH parts AS MATERIALIZED ({by_group}), owners AS MATERIALIZED (SELECT id, {folded} FROM parts "
        f"GROUP BY id HAVING min(level) >= 0 AND sum(counted) {listed} > 0)"
    )


def _rows(reading: OwnerRead, schema: Schema, records: str) -> str:
    """Return every row's owner, level and contribution, and for groups its group or NULL."""
    value = measured(reading.measure, schema) if reading.measure else "1"
    if reading.where is not None:
        value = f"CASE WHEN {to_sql(reading.where, schema)} THEN {value} END"
    items = [
        f"{_id_sql(reading.protect, schema)} AS id",
        f"{to_sql(reading.policy.expression, schema)} AS budget",
        f"{value} AS value",
        *(key_columns(reading.groups, schema) if reading.groups else ()),
    ]
    chosen = f"(SELECT {', '.join(items)} FROM {records})"
    columns = f"id, coalesce({level_sql(reading.levels)}, -1) AS level, value"
    if reading.groups is None:
        return f"SELECT {columns} FROM {chosen}"
    return f"SELECT {columns}, grp FROM {joined(chosen, reading.groups, schema, every_row=True)}"


def _id_sql(column: str, schema: Schema) -> str:
    """Return what owners are told apart by: for a text its bytes, whatever the caller's session collates."""
    kind = schema[column]
    return f"encode({column_sql(column, kind)})" if kind.kind is Kind.TEXT else value_sql(column, schema)


def _moved(whole: str, low: int, high: int) -> str:
    """Return a whole number moved into public bounds; NULL for NULL."""
    wide = f"CAST({whole} AS HUGEINT)"
    return (
        f"CASE WHEN {wide} < CAST({low} AS HUGEINT) THEN CAST({low} AS HUGEINT) "
        f"WHEN {wide} > CAST({high} AS HUGEINT) THEN CAST({high} AS HUGEINT) ELSE {wide} END"
    )
