"""Names inside one SELECT: sources, their columns, and the row language's node of each.

A column of a subquery is its expression over the table's own columns, and nothing else: bounds, rounding
steps and keys are found for that expression anew, whatever the name meant before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from prdp.expressions.nodes import Node
from prdp.expressions.tokens import shown_name
from prdp.sql.catalog import Catalog, Place, PublicTable
from prdp.sql.reading import SqlStatement
from prdp.sql.refused import unread


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of FROM.

    Attributes:
        alias: What the statement calls it.
        columns: For each column, a function that gives its node.
        origins: For columns of a table of a join, their table and name there.
        keys: For columns of public tables, a function that lists their values.
        merged: Columns that USING made one with an earlier source's: without a table, that one is meant.
    """

    alias: str
    columns: Mapping[str, Callable[[], Node]]
    origins: Mapping[str, Place] = field(default_factory=dict)
    keys: Mapping[str, Callable[[], list[Any]]] = field(default_factory=dict)
    merged: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources of one SELECT, those of the statement around it last."""

    statement: SqlStatement
    sources: tuple[Source, ...]

    def find(self, node: Any) -> tuple[Source, str]:
        """Return the source of a column and its name there, or refuse it; capitals do not matter."""
        name, table = node.name, node.table
        if unread(node, ("this", "table")) is not None:
            self.statement.refuse(node, "a column has its table before it, and nothing else", "Write a.x.")
        if not self.sources:
            self.statement.refuse(node, "this column has no FROM", "Write FROM accounts.")
        named = [source for source in self.sources if not table or source.alias.lower() == table.lower()]
        if not named:
            known = ", ".join(source.alias for source in self.sources)
            self.statement.refuse(node, f"there is no table {table} here", f"The tables are {known}.")
        found = [
            (source, column)
            for source in named
            for column in source.columns
            if column.lower() == name.lower() and (table or column not in source.merged)
        ]
        exactly = [pair for pair in found if pair[1] == name]
        found = exactly if len(exactly) == 1 else found
        if len(found) > 1:
            both = " or ".join(f"{source.alias}.{column}" for source, column in found)
            self.statement.refuse(node, f"{name} could be {both}", "Write which one.")
        if not found:
            self._refuse(node, name, named)
        return found[0]

    def column(self, node: Any) -> Node:
        """Return what a column is in the row language."""
        source, name = self.find(node)
        return source.columns[name]()

    def origin(self, node: Any) -> Place | None:
        """Return the table and the name of a join's plain column; None of anything else."""
        if type(node).__name__ != "Column":
            return None
        source, name = self.find(node)
        return source.origins.get(name)

    def public_keys(self, node: Any) -> list[Any] | None:
        """Return the values that a public table lists for a column; None of any other."""
        if type(node).__name__ != "Column":
            return None
        source, name = self.find(node)
        return source.keys[name]() if name in source.keys else None

    def _refuse(self, node: Any, name: str, sources: list[Source]) -> None:
        columns = {column.lower(): column for source in sources for column in source.columns}
        close = get_close_matches(name.lower(), columns, n=1)
        known = f"The columns are {', '.join(map(shown_name, columns.values()))}."
        advice = f"Did you mean {shown_name(columns[close[0]])}? {known}" if close else known
        if node.this.args.get("quoted") and not close:
            advice = f"Texts are written in single quotes: '{name}'. {known}"
        self.statement.refuse(node, f"there is no column {shown_name(name)}", advice)


@dataclass(frozen=True, slots=True)
class RowRelation:
    """Rows that belong to private records.

    Attributes:
        sources: What the names of columns mean.
        tables: The tables of a join that the rows are results of.
        conditions: What holds of every row, in the row language, each with the part of the statement that
            says so.
        has_rows: Whether a record is there once if some row of it is (EXISTS), however many are.
        per_unit: For a subquery grouped by the unit of a row, what each of its columns aggregates.
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
    """Names that FROM may use at one place of a statement.

    Attributes:
        statement: The statement.
        catalog: The tables that are asked.
        public: The public tables that came with the statement.
        subquery: What reads a subquery.
        queries: The CTEs so far, each read when it is first named.
        results: The names of CTEs whose rows are released ones, in small letters.
    """

    statement: SqlStatement
    catalog: Catalog
    public: Mapping[str, PublicTable]
    subquery: Callable[[Any, Names], RowRelation]
    queries: Mapping[str, Callable[[], RowRelation]] = field(default_factory=dict)
    results: frozenset[str] = frozenset()


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
