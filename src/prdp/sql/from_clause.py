"""FROM and WHERE: which rows a statement is about, as tables to join and conditions on a row.

Every relation is row by row: a row of it is a function of one row of the table, or of one result of the
declared join. So a subquery or a CTE adds conditions and renames expressions, and can do nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from prdp.errors import Argument, Blank, InvalidRequest
from prdp.expressions.nodes import Column, Node
from prdp.expressions.tokens import shown_name
from prdp.sql.catalog import PublicTable
from prdp.sql.membership import looked_up, row_leaf
from prdp.sql.reading import sql_of
from prdp.sql.refused import unread
from prdp.sql.row_nodes import NodeReader
from prdp.sql.scope import Names, RowRelation, Scope, Source, conjuncts


@dataclass(slots=True)
class FromClause:
    """The entries of one FROM, while they are read."""

    names: Names
    sources: list[Source] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    conditions: list[tuple[Node, Any]] = field(default_factory=list)
    public: list[tuple[str, PublicTable, Any]] = field(default_factory=list)
    whole: RowRelation | None = None
    equalities: list[Any] = field(default_factory=list)

    def add(self, node: Any) -> None:
        """Read one entry: a table, a CTE or a subquery."""
        statement = self.names.statement
        alias = node.args.get("alias")
        if alias is not None and unread(alias, ("this",)) is not None:
            statement.refuse(node, "a table is renamed, and its columns are not", "Write AS in a subquery.")
        if type(node).__name__ == "Subquery":
            odd = unread(node, ("this", "alias"))
            if odd is not None or not node.alias:
                statement.refuse(
                    node, "a subquery in FROM needs a name and nothing else", "Write (...) AS t."
                )
            self._add_relation(node, node.alias, self.names.subquery(node.this, self.names))
            return
        if (
            type(node).__name__ != "Table"
            or unread(node, ("this", "alias", "joins", "db", "catalog")) is not None
        ):
            statement.refuse(node, "FROM takes tables, CTEs and subqueries", "Write FROM accounts AS a.")
        if node.args.get("db") or node.args.get("catalog"):
            statement.refuse(node, "tables have no schema here", "Write the table's name alone.")
        alias = node.alias or node.name
        if any(source.alias.lower() == alias.lower() for source in self.sources):
            statement.refuse(node, f"{alias} stands twice in FROM", "A record's row is there once.")
        self._add_named(node, alias)
        for joined in node.args.get("joins") or []:
            self.join(joined)

    def _add_named(self, node: Any, alias: str) -> None:
        query = next((q for name, q in self.names.queries.items() if name.lower() == node.name.lower()), None)
        table = self.names.catalog.known(node.name)
        public = next((t for n, t in self.names.public.items() if n.lower() == node.name.lower()), None)
        if query is not None:
            self._add_relation(node, alias, query())
        elif table is not None:
            self._add_table(node, alias, table)
        elif public is not None:
            self.public.append((alias, public, node))
        else:
            known = [*self.names.queries, *self.names.catalog.tables, *self.names.public]
            self.names.statement.refuse(
                node,
                f"there is no table {node.name or sql_of(node)}",
                (
                    f"The tables are {', '.join(map(shown_name, known))}. Public ones are given as ",
                    Argument("tables", {"jobs": Blank("frame")}),
                    ".",
                ),
            )

    def _add_relation(self, node: Any, alias: str, relation: RowRelation) -> None:
        if self.sources or self.tables:
            self.names.statement.refuse(
                node,
                "a subquery is not joined to private rows",
                "Join the tables in one FROM; public tables can be joined to a subquery.",
            )
        self.whole = relation
        self.tables += relation.tables
        self.conditions += relation.conditions
        self.sources.append(replace(relation.sources[0], alias=alias))

    def _add_table(self, node: Any, alias: str, table: str) -> None:
        catalog = self.names.catalog
        if self.whole is not None:
            self._add_relation(node, alias, self.whole)  # refuses: it is no longer alone
        if table in self.tables:
            self.names.statement.refuse(
                node,
                f"{table} stands twice in FROM",
                "A record's row is there once; a self-join has no proof.",
            )
        shown = catalog.tables[table]
        columns = {name: partial(Column, called) for name, called in shown.items()}
        origins = {name: (table, name) for name in shown}
        keys = {}
        if catalog.is_public(table) and catalog.values is not None:
            keys = {name: partial(_listed, catalog.values, table, name) for name in shown}
        self.tables.append(table)
        self.sources.append(Source(alias, columns, origins, keys))

    def join(self, node: Any) -> None:
        """Read a JOIN: an inner one, or a LEFT JOIN of a public table."""
        statement = self.names.statement
        side, kind = (node.args.get("side") or "").upper(), (node.args.get("kind") or "").upper()
        odd = unread(node, ("this", "on", "using", "side", "kind"))
        before = len(self.public)
        if odd is not None or kind not in {"", "INNER", "CROSS"} or side not in {"", "LEFT"}:
            statement.refuse(
                node.this,
                f"{' '.join(filter(None, (side, kind))) or 'this'} JOIN is not read",
                "JOIN ... ON is, and LEFT JOIN to a public table.",
            )
        self.add(node.this)
        is_public = len(self.public) > before
        if side and not is_public:
            statement.refuse(
                node.this,
                "a LEFT JOIN is read to public tables alone",
                "Write JOIN: rows that have a partner.",
            )
        on = conjuncts(node.args.get("on"))
        using = node.args.get("using") or []
        if is_public and not on and not using and not side:
            return  # joined by a comma: WHERE says by which key
        if is_public:
            alias, table, entry = self.public.pop()
            self._look_up(alias, table, entry, on, using, optional=bool(side))
        elif using:
            statement.refuse(node.this, "USING is read for public tables alone", "Write ON a.x = b.y.")
        else:
            self.equalities += on

    def _look_up(
        self, alias: str, table: PublicTable, entry: Any, on: list[Any], using: list[Any], *, optional: bool
    ) -> None:
        statement = self.names.statement
        scope = Scope(statement, tuple(self.sources))
        bare = Source(alias, {name: partial(Column, name) for name in table.columns})
        sides: list[tuple[str, Node, Any]] = []
        for name in using:
            column = _of_public(bare, name.name)
            if column is not None:
                sides.append((column, scope.column(_as_column(name)), name))
        for equality in on:
            sides += _lookup_sides(equality, bare, scope, self.names)
        if len(sides) != 1 or len(on) + len(using) > 1:
            statement.refuse(
                entry,
                f"the public table {table.name} is looked up by one key",
                f"Write JOIN {table.name} ON a.x = {alias}.key; other conditions go to WHERE.",
            )
        key, operand, place = sides[0]
        try:
            source, condition = looked_up(alias, table, key, operand, optional=optional)
        except InvalidRequest as wrong:
            statement.refuse(place, wrong.parts)
        self.sources.append(replace(source, merged=frozenset({key})) if using else source)
        if not optional:
            self.conditions.append((condition, place))

    def look_up_the_rest(self, parts: list[Any]) -> list[Any]:
        """Look up public tables that a comma joins, by equalities of WHERE; return the other conjuncts."""
        left = list(parts)
        waiting = list(self.public)
        self.public.clear()
        for alias, table, entry in waiting:
            bare = Source(alias, {name: partial(Column, name) for name in table.columns})
            scope = Scope(self.names.statement, tuple(self.sources))
            found = [part for part in left if _lookup_sides(part, bare, scope, self.names)]
            self._look_up(alias, table, entry, found[:1], [], optional=False)
            left = [part for part in left if not found or part is not found[0]]
        return left


def _lookup_sides(equality: Any, bare: Source, scope: Scope, names: Names) -> list[tuple[str, Node, Any]]:
    """Return the key of a public table that an equality names, and what it is equal to; or nothing."""
    if type(equality).__name__ != "EQ":
        return []
    for one, other in ((equality.this, equality.expression), (equality.expression, equality.this)):
        if type(one).__name__ != "Column" or (one.table and one.table.lower() != bare.alias.lower()):
            continue
        key = _of_public(bare, one.name)
        here = any(one.name.lower() == name.lower() for source in scope.sources for name in source.columns)
        if key is None or (here and not one.table):
            continue
        mentions = [part.table.lower() for part in other.find_all(type(one))]
        if bare.alias.lower() in mentions:
            continue
        return [(key, NodeReader(names.statement, row_leaf(scope, names)).read(other), equality)]
    return []


def _of_public(source: Source, name: str) -> str | None:
    return next((column for column in source.columns if column.lower() == name.lower()), None)


def _as_column(identifier: Any) -> Any:
    from sqlglot import exp  # noqa: PLC0415  (an extra)

    return exp.Column(this=identifier.copy())


def _listed(values: Callable[[str, str], Any], table: str, column: str) -> list[Any]:
    return list(values(table, column))
