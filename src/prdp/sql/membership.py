"""Public tables beside a statement: lookups by a key, and IN and EXISTS as conditions on the row.

A lookup is a CASE over the public keys. It is an expression of the record alone then, and all that is proved
of computed columns holds: proofs/computed.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Any

from prdp.errors import Argument, InvalidRequest
from prdp.expressions.evaluate import evaluate
from prdp.expressions.nodes import (
    MAX_CONSTANTS,
    Boolean,
    Case,
    Column,
    InList,
    IsNull,
    Literals,
    Moment,
    Node,
    Not,
    Null,
    Number,
    Text,
    conjunction,
)
from prdp.expressions.tokens import is_writable
from prdp.schema import Kind
from prdp.sql.catalog import PublicTable
from prdp.sql.refused import NO_SUCH_ROWS, NO_SUCH_ROWS_INSTEAD, unread
from prdp.sql.row_nodes import NodeReader
from prdp.sql.scope import Names, Scope, Source, conjuncts


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
        InvalidRequest: The key appears in several rows, or the table is too long to be looked up in.
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
            f"the public table {table.name!r} has too many rows to be looked up in a statement. Join it: ",
            Argument("public", [table.name], of="prdp.open_join"),
            ".",
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


def row_leaf(scope: Scope, names: Names) -> Callable[[Any], Node | None]:
    """Return what reads the columns of rows, and their membership in public tables."""

    def leaf(node: Any) -> Node | None:
        kind = type(node).__name__
        if kind == "Column":
            return scope.column(node)
        if kind == "In" and node.args.get("query") is not None:
            return in_public(node, scope, names)
        return exists_in_public(node, scope, names) if kind == "Exists" else None

    return leaf


def inner_select(node: Any) -> Any:
    """Return the SELECT of an IN or EXISTS."""
    inner = node.args.get("query") if type(node).__name__ == "In" else node.this
    return inner.this if type(inner).__name__ == "Subquery" else inner


def inner_table(node: Any) -> Any | None:
    """Return the one table that an IN or EXISTS reads; None where it reads anything else."""
    select = inner_select(node)
    clause = select.args.get("from_") if type(select).__name__ == "Select" else None
    known = clause is not None and type(clause.this).__name__ == "Table" and not select.args.get("joins")
    return clause.this if known and clause is not None else None


def refuse_functions(select: Any, names: Names) -> None:
    """Refuse a function that EXISTS selects: of an aggregate there is a row, even of no rows."""
    for part in (part for item in select.expressions for part in item.walk()):
        if hasattr(part, "sql_names"):
            names.statement.refuse(part, "EXISTS asks whether there is a row", "Write EXISTS (SELECT 1 ...).")


def _public(node: Any, names: Names) -> tuple[PublicTable, Source, Any]:
    """Return the public table that an IN or EXISTS is over, or refuse it."""
    select, entry = inner_select(node), inner_table(node)
    table = next(
        (t for n, t in names.public.items() if entry is not None and n.lower() == entry.name.lower()), None
    )
    if table is None or entry is None:
        names.statement.refuse(node, NO_SUCH_ROWS, NO_SUCH_ROWS_INSTEAD)
    if unread(select, ("expressions", "from_", "where")) is not None:
        names.statement.refuse(select, "this subquery has SELECT, FROM and WHERE alone")
    alias = entry.alias or entry.name
    return table, Source(alias, {c: partial(Column, c) for c in table.columns}), select


def in_public(node: Any, scope: Scope, names: Names) -> Node:
    """Read IN over a public table as membership in its values."""
    table, source, select = _public(node, names)
    if len(select.expressions) != 1 or unread(node, ("this", "query")) is not None:
        names.statement.refuse(node, "IN takes a subquery of one column")
    inner = Scope(names.statement, (source,))
    reader = NodeReader(names.statement, row_leaf(inner, names))
    value = reader.checked(select.expressions[0].unalias(), table.schema)
    rows = _rows(table, conjuncts(_where(select)), inner, names)
    values = [evaluate(value.node, row) for row in rows]
    if any(found is None for found in values):
        names.statement.refuse(
            select.expressions[0],
            "the public column has rows without a value, and IN is unknown there",
            "Add WHERE x IS NOT NULL to the subquery.",
        )
    return among(NodeReader(names.statement, row_leaf(scope, names)).read(node.this), values)


def exists_in_public(node: Any, scope: Scope, names: Names) -> Node:
    """Read EXISTS over a public table as membership of what one equality compares with the row."""
    table, source, select = _public(node, names)
    refuse_functions(select, names)
    inner = Scope(names.statement, (source,))
    own: list[Any] = []
    links: list[tuple[Any, Any]] = []
    for part in conjuncts(_where(select)):
        sides = [part.this, part.expression] if type(part).__name__ == "EQ" else []
        public = [_is_of(side, source) for side in sides]
        other = sides[public.index(False)] if len(public) == 2 and public[0] != public[1] else None
        if other is not None and any(type(each).__name__ == "Column" for each in other.walk()):
            links.append((sides[public.index(True)], other))
        else:
            own.append(part)
    if len(links) != 1:
        names.statement.refuse(
            node,
            "EXISTS over a public table compares one column of it with the row",
            "Write EXISTS (SELECT 1 FROM jobs j WHERE j.job = a.job AND ...).",
        )
    value = NodeReader(names.statement, row_leaf(inner, names)).checked(links[0][0], table.schema)
    found = [evaluate(value.node, row) for row in _rows(table, own, inner, names)]
    operand = NodeReader(names.statement, row_leaf(scope, names)).read(links[0][1])
    member = among(operand, [each for each in found if each is not None])
    return conjunction((member, Not(IsNull(operand))))


def _is_of(node: Any, source: Source) -> bool:
    """Return whether a side of an equality is a column of the public table; names with a table say so."""
    if type(node).__name__ != "Column":
        return False
    if node.table:
        return bool(node.table.lower() == source.alias.lower())
    return any(name.lower() == node.name.lower() for name in source.columns)


def _where(select: Any) -> Any:
    clause = select.args.get("where")
    return None if clause is None else clause.this


def filtered(table: PublicTable, parts: list[Any], source: Source, names: Names) -> PublicTable:
    """Return the rows of a public table for which conditions on its own columns hold."""
    if not parts:
        return table
    rows = _rows(table, parts, Scope(names.statement, (source,)), names)
    return PublicTable(table.name, {name: tuple(row[name] for row in rows) for name in table.columns})


def _rows(table: PublicTable, parts: list[Any], scope: Scope, names: Names) -> list[dict[str, Any]]:
    """Return the public rows for which conditions hold."""
    leaf = row_leaf(scope, names)
    readers = [NodeReader(names.statement, leaf) for _ in parts]
    checked = [
        reader.checked(part, table.schema, Kind.BOOLEAN).node
        for reader, part in zip(readers, parts, strict=True)
    ]
    return [row for row in table.rows if all(evaluate(node, row) is True for node in checked)]
