"""Divide each unit's budget equally among what counts of it: its rows, its groups or its different keys.

What counts and how many there are come from one read, by a window. A statement that joins rows with their
units' numbers would read the source twice, and what was written in between could make a part too large.
No row can make the statements fail: proofs/divided.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.statements.cells import LEVEL, CellStatement, cells_of, item_sql, level_sql, measured
from prdp.engines.statements.keys import (
    KeyStatement,
    TopStatement,
    keys_of,
    leveled_of,
    tops_of,
)
from prdp.engines.statements.unit_rows import distinguished, id_sql, rows_of_join, rows_of_table
from prdp.expressions.tokens import quoted
from prdp.plan.divided import DividedRead, DividedRowRead
from prdp.plan.reads import CellRead, KeyRead, TopRead
from prdp.schema import Schema

_OVER = "OVER (PARTITION BY id)"


def divided_rows(reading: DividedRead, schemas: Mapping[str, Schema], views: Mapping[str, str]) -> str:
    """Return the query for the rows of units: id, budget, value, and for groups grp."""
    value = measured if reading.part != "key" else distinguished
    if reading.unit.join is not None:
        return rows_of_join(reading.rows, schemas, views, value, with_budget=True)
    ((schema, records),) = zip(schemas.values(), views.values(), strict=True)
    return rows_of_table(reading.rows, schema, records, value)


def divided_statements(reading: DividedRead, rows: str) -> list[CellStatement | KeyStatement | TopStatement]:
    """Write the statements of a read, as of records whose budgets are the parts of their units' budgets.

    Args:
        reading: What is divided, and what is made of the parts.
        rows: The query for the rows of units.
    """
    inner = f"({_divided(reading, rows)})"
    match reading.read:
        case CellRead():
            return [cells_of(reading.read, inner)]
        case KeyRead():
            return [keys_of(reading.read, leveled_of(reading.read, inner))]
        case TopRead(keys, records):
            return [cells_of(records, inner), tops_of(keys, leveled_of(keys, inner))]


def _divided(reading: DividedRead, rows: str) -> str:
    """Return the query for what counts of units, each with its part of its unit's budget."""
    grouped = reading.groups is not None
    group = ["grp"] if grouped else []
    there = " AND ".join(f"{name} IS NOT NULL" for name in ("value", *group))
    alone = reading.unit.one_row_is_all
    source, own = f"({rows})", "count(*)"
    if reading.part != "row":
        value = "value" if reading.part == "key" else f"{reading.fold}(value) AS value"
        keys = ["id", *group, *(["value"] if reading.part == "key" else [])]
        items = ["id", *group, value, "min(budget) AS budget", *(["count(*) AS own"] if alone else [])]
        source = f"(SELECT {', '.join(items)} FROM {source} GROUP BY {', '.join(keys)})"
        own = "sum(own)"
    numbers = [
        f"min(budget) {_OVER} AS whole",
        f"count(CASE WHEN {there} THEN 1 END) {_OVER} AS number",
        *([f"{own} {_OVER} AS own_rows"] if alone else []),
    ]
    listed = ", ".join([*group, "value"])
    numbered = f"SELECT {listed}, {', '.join(numbers)} FROM {source}"
    kept = f"{there} AND own_rows = 1" if alone else there
    return f"SELECT {listed}, {_part(reading)} AS budget FROM ({numbered}) WHERE {kept}"


def _part(reading: DividedRead | DividedRowRead) -> str:
    """Return the part of a budget: that of the unit, lowered to the largest one, by how many there are."""
    most = f"{float(reading.levels.at_most):.17e}"
    return f"least(whole, {most}) / CAST(greatest(number, 1) AS DOUBLE)"


def divided_rows_statement(reading: DividedRowRead, schema: Schema, records: str) -> str:
    """Write the statement that hands out rows: the columns, and last the level of each row's part."""
    whose, rows = reading.unit.id, reading.read
    names = [f"column{place}" for place in range(len(rows.columns))]
    items = [
        f"{item_sql(column, schema)} AS {name}" for column, name in zip(rows.columns, names, strict=True)
    ]
    there = f"CASE WHEN {to_sql(rows.where, schema)} THEN 1 END" if rows.where is not None else "1"
    items += [
        f"{id_sql(quoted(whose), whose, schema)} AS id",
        f"{to_sql(rows.policy.expression, schema)} AS budget",
        f"{there} AS there",
    ]
    least = reading.levels.least
    valid = f"CASE WHEN isnan(budget) THEN 0e0 WHEN budget >= {least!r} THEN budget ELSE 0e0 END"
    listed = ", ".join(names)
    own = f"SELECT {listed}, id, there, {valid} AS budget FROM (SELECT {', '.join(items)} FROM {records})"
    numbers = f"min(budget) {_OVER} AS whole, count(there) {_OVER} AS number, count(*) {_OVER} AS own_rows"
    numbered = f"SELECT {listed}, there, {numbers} FROM ({own} WHERE id IS NOT NULL)"
    kept = "there = 1" + (" AND own_rows = 1" if reading.unit.one_row_is_all else "")
    parts = f"SELECT {listed}, {_part(reading)} AS budget FROM ({numbered}) WHERE {kept}"
    leveled = f"SELECT {listed}, {level_sql(rows.levels)} AS level FROM ({parts})"
    shown = [f"{name} AS {quoted(column)}" for column, name in zip(rows.columns, names, strict=True)]
    return f"SELECT {', '.join([*shown, f'level AS {LEVEL}'])} FROM ({leveled}) WHERE level >= {rows.least}"
