"""The statements that DuckDB would run for a read, for people; nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from prdp.cells.units import Caps, Look
from prdp.engines.statements.cells import statement
from prdp.engines.statements.distinct_keys import key_statement, top_statement
from prdp.engines.statements.rows import rows_statement
from prdp.engines.statements.unit_totals import scaled_statement, scaled_together
from prdp.plan.reads import CellRead, KeyRead, RowRead, TopRead, UnitRead
from prdp.schema import Schema

_DRAWN: Any = ":b"
"""Stands for a number that is drawn before a statement can be written."""


def statements(read: Any, schema: Schema, records: str, *, own_column: bool) -> tuple[str, ...]:
    """Return the statements of a read of one table's records, in order."""
    match read:
        case CellRead():
            return (statement(read, schema, records, own_column=own_column).sql,)
        case KeyRead():
            return (key_statement(read, schema, records).sql,)
        case TopRead():
            counted = statement(read.records, schema, records, own_column=own_column).sql
            return counted, top_statement(read.keys, schema, records).sql
        case RowRead():
            return (rows_statement(replace(read, least=_DRAWN), schema, records),)
        case _:
            return (read.statement(records, schema),)


def later_statement(read: UnitRead, rows: str, *, count_rows: bool) -> str:
    """Return the statement that follows once a clipping point is drawn; ``:b`` stands for the point."""
    return scaled_statement(read, rows, Caps((_DRAWN,)), count_rows=count_rows)


def later_together(
    read: UnitRead, rows: str, looks: Sequence[tuple[int, bool]], held: str | None = None
) -> str:
    """Return the statement of several looks: which read each is about, and whether it counts rows."""
    wanted = [Look(Caps((_DRAWN,)), count_rows, place) for place, count_rows in looks]
    return scaled_together(read, rows, wanted, held)
