"""Public tables beside a statement: looked up by a key, so that a column of theirs is a function of the row.

A lookup is written out as a CASE over the public keys. It is an expression of the record alone then, and
all that is proved of computed columns holds: proofs/computed.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from prdp.errors import InvalidRequest
from prdp.expressions.parse import MOST_CHARACTERS
from prdp.expressions.spelling import moment_literal, number_text, text_literal
from prdp.sql.catalog import PublicTable
from prdp.sql.scope import Source
from prdp.sql.written import COMPARE, SUM, Written, joined


def literal(value: Any) -> str:
    """Return a plain value in the row language.

    >>> literal(3.0), literal("O'Neill"), literal(True)
    ('3', "'O''Neill'", 'TRUE')
    """
    match value:
        case bool():
            return str(value).upper()
        case str():
            return text_literal(value)
        case datetime():
            return moment_literal(value)
        case _:
            return number_text(float(value))


def among(operand: Written, values: Iterable[Any]) -> Written:
    """Return the condition that a value is one of public ones; never true where there is none."""
    listed = ", ".join(dict.fromkeys(map(literal, values)))
    if not listed:
        return Written("FALSE")
    return joined([operand.within(SUM), f" IN ({listed})"], COMPARE)


def looked_up(
    alias: str, table: PublicTable, key: str, operand: Written, *, optional: bool
) -> tuple[Source, Written]:
    """Return a public table as a source whose rows are found by a key, and the condition that one is.

    Where the row is ``optional``, a record without one has no key either.

    Raises:
        InvalidRequest: The key stands in several rows, or the table is too long to be written out.
    """
    keys = [value for value in table.columns[key] if value is not None]
    if len(set(keys)) < len(keys):
        raise InvalidRequest(
            f"the public table {table.name!r} has several rows for one {key!r}, so that a join would "
            f"multiply private records. Make {key!r} unique there."
        )
    condition = among(operand, keys)
    if len(condition.text) > MOST_CHARACTERS:
        raise InvalidRequest(
            f"the public table {table.name!r} has too many rows to be looked up in a statement. Name it in "
            "prdp.open_join(..., public=[...])."
        )
    columns = {
        name: partial(_column, operand, tuple(table.columns[key]), values)
        for name, values in table.columns.items()
    }
    found = joined(["CASE WHEN ", condition, " THEN ", operand, " END"])
    columns[key] = partial(_itself, found if optional else operand)
    listed = {name: partial(_values, values) for name, values in table.columns.items()}
    return Source(alias, columns, keys=listed), condition


def _values(values: tuple[Any, ...]) -> list[Any]:
    return list(dict.fromkeys(value for value in values if value is not None))


def _itself(key: Written) -> Written:
    return key


def _column(operand: Written, keys: tuple[Any, ...], values: tuple[Any, ...]) -> Written:
    """Return a column of a public table, by the keys of the rows that have each value."""
    rows: dict[Any, list[Any]] = {}
    for key, value in zip(keys, values, strict=True):
        if key is not None and value is not None:
            rows.setdefault(value, []).append(key)
    pieces: list[str | Written] = ["CASE"]
    for value, found in rows.items():
        pieces += [" WHEN ", among(operand, found), f" THEN {literal(value)}"]
    return joined([*pieces, " END"]) if rows else Written("NULL")
