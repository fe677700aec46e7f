"""The statement that hands rows out: to a caller's own mechanism, from a level of budgets on."""

from __future__ import annotations

from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.statements.cells import level_sql
from prdp.expressions.tokens import quoted
from prdp.plan.reads import RowRead
from prdp.schema import Kind, Schema

LEVEL = "prdp_level"


def rows_statement(reading: RowRead, schema: Schema, records: str) -> str:
    """Write the statement: the columns, and last the level of each row."""
    names = [f"column{place}" for place in range(len(reading.columns))]
    named = list(zip(reading.columns, names, strict=True))
    items = [f"{_item(column, schema)} AS {name}" for column, name in named]
    condition = f" WHERE {to_sql(reading.where, schema)}" if reading.where is not None else ""
    budget = to_sql(reading.policy.expression, schema)
    inner = f"SELECT {', '.join([*items, f'{budget} AS budget'])} FROM {records}{condition}"
    leveled = f"SELECT {', '.join([*names, f'{level_sql(reading.levels)} AS level'])} FROM ({inner})"
    shown = [f"{name} AS {quoted(column)}" for column, name in named]
    return (
        f"SELECT {', '.join([*shown, f'level AS {LEVEL}'])} FROM ({leveled}) WHERE level >= {reading.least}"
    )


def _item(column: str, schema: Schema) -> str:
    """Return a column as it is handed out: an ENUM as text, since its list may name values of other rows."""
    plain = schema[column].kind is not Kind.TEXT or schema[column].native == "VARCHAR"
    return quoted(column) if plain else f"CAST({quoted(column)} AS VARCHAR)"
