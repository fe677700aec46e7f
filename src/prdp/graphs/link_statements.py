"""Records of several private tables, and the rows that name them; DuckDB's SQL, total as everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.cells.edges import Integers, places_among
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import level_sql
from prdp.engines.statements.groups import by_code_point
from prdp.expressions.nodes import Node
from prdp.expressions.tokens import quoted
from prdp.levels import Levels
from prdp.policy import Policy
from prdp.schema import Schema


@dataclass(frozen=True, slots=True)
class KeyedRecords:
    """A read of a private table: its keys, and the budget level of each.

    Rows that share a key are one record, with the least of their levels; it is left out if one has none.
    """

    key: str
    policy: Policy

    def statement(self, records: str, schema: Schema) -> str:
        """Write the statement whose rows are (key, level)."""
        budget = to_sql(self.policy.expression, schema)
        rows = f"SELECT {name_sql(self.key, schema)} AS id, {budget} AS budget FROM {records}"
        levels = f"SELECT id, {level_sql(self.policy.levels)} AS level FROM ({rows}) WHERE id IS NOT NULL"
        return f"SELECT id, min(level) AS level FROM ({levels}) GROUP BY id HAVING count(level) = count(*)"


@dataclass(frozen=True, slots=True)
class LinkRows:
    """A read of a table whose rows name private records: which of them are named together."""

    columns: tuple[str, ...]
    where: Node | None

    def statement(self, records: str, schema: Schema) -> str:
        """Write the statement whose rows are the names in each row."""
        picked = ", ".join(f"{name_sql(name, schema)} AS c{place}" for place, name in enumerate(self.columns))
        kept = "" if self.where is None else f" WHERE {to_sql(self.where, schema)}"
        every = " AND ".join(f"c{place} IS NOT NULL" for place in range(len(self.columns)))
        return f"SELECT * FROM (SELECT {picked} FROM {records}{kept}) WHERE {every}"


def name_sql(column: str, schema: Schema) -> str:
    """Return a record's name: a whole number, or the bytes of a text.

    A collation of the caller's connection or column would take different texts for one.
    """
    if schema[column].integer:
        return f"TRY_CAST({quoted(column)} AS BIGINT)"
    return by_code_point(f"TRY_CAST({quoted(column)} AS VARCHAR)")


def names_of(found: NDArray[Any]) -> NDArray[Any]:
    """Return the names that a statement gave: numbers, or Python's bytes."""
    values: NDArray[Any] = np.ma.getdata(found)
    if values.dtype.kind != "O":
        return values
    names = np.empty(len(values), dtype=object)
    names[:] = [bytes(value) for value in values]
    return names


def read_links(
    rows: SqlEngine,
    reading: LinkRows,
    tables: Sequence[tuple[SqlEngine, KeyedRecords]],
    table_of: Mapping[str, int],
    levels: Levels,
) -> tuple[Integers, Integers]:
    """Return the results, a row of different records each (-1 for none), and each record's level.

    Args:
        rows: Who reads the rows that name records.
        reading: What to read there.
        tables: The private tables, each with who reads it.
        table_of: For each column of the rows, the table whose keys it holds.
        levels: The grid of budgets that all tables share.
    """
    names, levels_of, offsets = [], [], [0]
    for engine, of_table in tables:
        found = engine.arrays(of_table.statement)
        names.append(names_of(found["id"]))
        shared = _shared_levels(of_table.policy.levels, levels)
        levels_of.append(shared[np.asarray(found["level"], dtype=np.int64)])
        offsets.append(offsets[-1] + len(names[-1]))
    linked = rows.arrays(reading.statement)
    columns = []
    for place, column in enumerate(reading.columns):
        table = table_of[column]
        found_at = places_among(names[table], names_of(linked[f"c{place}"]))
        columns.append(np.where(found_at >= 0, found_at + offsets[table], -1))
    results = np.sort(np.array(columns, dtype=np.int64).T.reshape(-1, len(columns)), axis=1)
    results = results[(results >= 0).all(axis=1)]
    results[:, 1:][results[:, 1:] == results[:, :-1]] = -1  # one record that is named twice is used once
    return results, np.concatenate(levels_of)


def _shared_levels(own: Levels, shared: Levels) -> Integers:
    """Return, for each level of a table's own grid, the highest of the shared grid that is not above it."""
    levels = []
    for level in range(own.top + 1):
        quanta = own.quanta(level) * own.quantum / shared.quantum
        below = [step for step in range(shared.top + 1) if shared.quanta(step) <= quanta]
        levels.append(below[-1] if below else 0)
    return np.array(levels, dtype=np.int64)
