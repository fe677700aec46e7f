"""Public tables beside a statement: looked up by a key, so that a column of theirs is a function of the row.

A lookup is a CASE over the public keys. It is an expression of the record alone then, and all that is proved
of computed columns holds: proofs/computed.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from prdp.errors import InvalidRequest
from prdp.expressions.nodes import (
    MAX_CONSTANTS,
    Boolean,
    Case,
    InList,
    Literals,
    Moment,
    Node,
    Null,
    Number,
    Text,
)
from prdp.expressions.spelling import is_writable
from prdp.sql.catalog import PublicTable
from prdp.sql.scope import Source


def literal(value: Any) -> Literals:
    """Return a plain public value as a constant.

    >>> literal(3.0), literal("O'Neill"), literal(True)
    (Number(value=3.0), Text(value="O'Neill"), Boolean(value=True))

    Raises:
        InvalidRequest: The row language cannot say it: an infinity, or a text with half a character in it.
    """
    match value:
        case bool():
            return Boolean(value)
        case str() if is_writable(value):
            return Text(value)
        case datetime():
            return Moment(value)
        case int() | float() if math.isfinite(value):
            return Number(float(value) + 0.0)
        case _:
            raise InvalidRequest(
                "a public value is neither a finite number, a date nor a text that can be written."
            )


def among(operand: Node, values: Iterable[Any]) -> Node:
    """Return the condition that a value is one of public ones; never true where there is none."""
    listed = tuple(dict.fromkeys(map(literal, values)))
    return InList(operand, listed) if listed else Boolean(False)


def looked_up(
    alias: str, table: PublicTable, key: str, operand: Node, *, optional: bool
) -> tuple[Source, Node]:
    """Return a public table as a source whose rows are found by a key, and the condition that one is.

    Where the row is ``optional``, a record without one has no key either.

    Raises:
        InvalidRequest: The key stands in several rows, or the table is too long to be looked up in.
    """
    keys = [value for value in table.columns[key] if value is not None]
    if len(set(keys)) < len(keys):
        raise InvalidRequest(
            f"the public table {table.name!r} has several rows for one {key!r}, so that a join would "
            f"multiply private records. Make {key!r} unique there."
        )
    condition = among(operand, keys)
    if len(keys) > MAX_CONSTANTS:
        raise InvalidRequest(
            f"the public table {table.name!r} has too many rows to be looked up in a statement. Name it in "
            "prdp.open_join(..., public=[...])."
        )
    columns = {
        name: partial(_column, operand, tuple(table.columns[key]), values)
        for name, values in table.columns.items()
    }
    found = Case(((condition, operand),), Null())
    columns[key] = partial(_itself, found if optional else operand)
    listed = {name: partial(_values, values) for name, values in table.columns.items()}
    return Source(alias, columns, keys=listed), condition


def _values(values: tuple[Any, ...]) -> list[Any]:
    return list(dict.fromkeys(value for value in values if value is not None))


def _itself(key: Node) -> Node:
    return key


def _column(operand: Node, keys: tuple[Any, ...], values: tuple[Any, ...]) -> Node:
    """Return a column of a public table, by the keys of the rows that have each value."""
    rows: dict[Any, list[Any]] = {}
    for key, value in zip(keys, values, strict=True):
        if key is not None and value is not None:
            rows.setdefault(value, []).append(key)
    branches = tuple((among(operand, found), literal(value)) for value, found in rows.items())
    return Case(branches, Null()) if rows else Null()
