"""The rows that a statement is about, and what FROM may name: what readers of clauses hand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prdp.expressions.nodes import Node
from prdp.sql.catalog import Catalog, PublicTable
from prdp.sql.reading import SqlStatement
from prdp.sql.scope import Scope, Source


@dataclass(frozen=True, slots=True)
class RowRelation:
    """Rows that belong to private records.

    Attributes:
        sources: What the names of columns mean.
        tables: The tables of a join that the rows are results of.
        conditions: What holds of every row, in the row language, each with the part of the statement that
            says so.
        has_rows: Whether a record is there once if some row of it is (EXISTS), however many are.
        per_unit: For a subquery grouped by whom a row belongs to, what each of its columns aggregates.
    """

    sources: tuple[Source, ...]
    tables: tuple[str, ...] = ()
    conditions: tuple[tuple[Node, Any], ...] = ()
    has_rows: bool = False
    per_unit: Mapping[str, tuple[str, Any]] | None = None
    inner: RowRelation | None = None

    def scope(self, statement: SqlStatement) -> Scope:
        """Return what names mean here."""
        return Scope(statement, self.sources)


@dataclass(frozen=True, slots=True)
class Names:
    """What FROM may name at one place of a statement.

    Attributes:
        statement: The statement.
        catalog: The tables that are asked.
        public: The public tables that came with the statement.
        subquery: What reads a subquery.
        queries: The CTEs so far, each read when it is first named.
    """

    statement: SqlStatement
    catalog: Catalog
    public: Mapping[str, PublicTable]
    subquery: Callable[[Any, Names], RowRelation]
    queries: Mapping[str, Callable[[], RowRelation]] = field(default_factory=dict)


def conjuncts(node: Any) -> list[Any]:
    """Return the conditions that all have to hold, in the order of the text."""
    found: list[Any] = []
    waiting = [node] if node is not None else []
    while waiting:
        current = waiting.pop()
        kind = type(current).__name__
        if kind == "And":
            waiting += [current.expression, current.this]
        elif kind == "Paren":
            waiting.append(current.this)
        else:
            found.append(current)
    return found
