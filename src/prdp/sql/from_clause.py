"""FROM and WHERE: which rows a statement is about, as tables to join and conditions on a row.

Every relation is row by row: a row of it is a function of one row of the table, or of one result of the
declared join. So a subquery or a CTE adds conditions and renames expressions, and can do nothing else.

Joins are held to the declared references: a result belongs to one private record, or is refused.

A subquery is row by row, or grouped by the unit of its rows. A column of it is its expression over the
table's own columns: nothing that is known of a column survives its redefinition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from prdp.declare.references import Reference, Tree
from prdp.errors import Argument, Blank, InvalidRequest
from prdp.expressions.nodes import Column, Node, Null
from prdp.expressions.tokens import shown_name
from prdp.sql.catalog import Catalog, Place, PublicTable
from prdp.sql.constants import whole_in
from prdp.sql.membership import filtered, inner_select, inner_table, looked_up, refuse_functions, row_leaf
from prdp.sql.reading import SqlStatement, sql_of
from prdp.sql.refused import refuse_construct, unread
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
            if unread(node, ("this", "alias")) is not None:
                statement.refuse(node, "a subquery in FROM has a name and nothing else", "Write (...) AS t.")
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
            statement.refuse(node, f"{alias} appears twice in FROM", "A record's row is there once.")
        self._add_named(node, alias)
        for joined in node.args.get("joins") or []:
            self.join(joined)

    def _add_named(self, node: Any, alias: str) -> None:
        if node.name.lower() in self.names.results:
            self.names.statement.refuse(
                node,
                f"{node.name} has results, and records are not joined to results",
                "Aggregate the records in a CTE of their own, and join the two.",
            )
        query = next((q for name, q in self.names.queries.items() if name.lower() == node.name.lower()), None)
        table = self.names.catalog.known(node.name)
        public = next((t for n, t in self.names.public.items() if n.lower() == node.name.lower()), None)
        if query is None and table is None and public is None and self._may_be_the_frame(node):
            table = self.names.catalog.private
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

    def _may_be_the_frame(self, node: Any) -> bool:
        """Return whether a plain name can only mean a frame that was opened without a name."""
        others = self.names.queries or self.names.public
        plain = type(node.this).__name__ == "Identifier" and not node.this.quoted
        return plain and not others and self.names.catalog.is_unnamed

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
                f"{table} appears twice in FROM",
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
        if side and before and not is_public:
            statement.refuse(
                node.this,
                "the table on the left of a LEFT JOIN is the one with records",
                f"Write FROM {node.this.name} LEFT JOIN {self.public[0][1].name} ON ...: each key that is "
                "listed has a row, with 0 records too.",
            )
        if side and not is_public:
            statement.refuse(
                node.this,
                "a LEFT JOIN is read to public tables beside the statement alone, not to those of a join",
                (
                    "Write JOIN: rows that have a partner. Or give the public table as ",
                    Argument("tables", {"jobs": Blank("frame")}),
                    ".",
                ),
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
        of_table = [part for part in on if len(on) > 1 and _is_about(part, bare, scope)]
        for equality in (part for part in on if part not in of_table):
            sides += _lookup_sides(equality, bare, scope, self.names)
        if len(sides) != 1 or len(on) - len(of_table) + len(using) > 1:
            statement.refuse(
                entry,
                f"the public table {table.name} is looked up by one key",
                f"Write JOIN {table.name} ON a.x = {alias}.key. Other conditions of ON are about "
                f"{alias} alone.",
            )
        table = filtered(table, of_table, bare, self.names)
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
            found.sort(key=partial(_is_about, bare=bare, scope=scope))
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


def _is_about(condition: Any, bare: Source, scope: Scope) -> bool:
    """Return whether a condition of ON has columns of the public table alone."""
    named = [part for part in condition.walk() if type(part).__name__ == "Column"]
    here = {name.lower() for source in scope.sources for name in source.columns}
    own = {name.lower() for name in bare.columns} - here
    return bool(named) and all(
        column.table.lower() == bare.alias.lower() if column.table else column.name.lower() in own
        for column in named
    )


def _of_public(source: Source, name: str) -> str | None:
    return next((column for column in source.columns if column.lower() == name.lower()), None)


def _as_column(identifier: Any) -> Any:
    from sqlglot import exp  # noqa: PLC0415  (an extra)

    return exp.Column(this=identifier.copy())


def _listed(values: Callable[[str, str], Any], table: str, column: str) -> list[Any]:
    return list(values(table, column))


_ROW_BY_ROW = ("expressions", "from_", "joins", "where", "with_")
_AGGREGATES = frozenset({"Sum", "Count", "Max", "Min"})


Part = tuple[Any, Scope]
"""A condition, and what names mean in it."""


def rows_of(select: Any, names: Names) -> tuple[RowRelation, Names]:
    """Return the rows that FROM and WHERE of a SELECT give, and the names that its CTEs add."""
    names = with_queries(select, names)
    clause = FromClause(names)
    clause.add(select.args["from_"].this)
    for join in select.args.get("joins") or []:
        clause.join(join)
    where = select.args.get("where")
    conditions = clause.look_up_the_rest(conjuncts(None if where is None else where.this))
    sources = tuple(clause.sources)  # what EXISTS names, it names alone
    scope = Scope(names.statement, sources)
    parts: list[Part] = [(part, scope) for part in (*clause.equalities, *conditions)]
    outer = list(clause.tables)
    parts = [found for part in parts for found in existing(part, clause, names)]
    has_rows = any(not names.catalog.is_public(table) for table in clause.tables[len(outer) :])
    if has_rows:
        _refuse_unless_one_row_per_unit(select, outer, names)
    if clause.whole is None:
        parts = without_references(names, clause.tables, parts, select.args["from_"].this)
    elif clause.whole.per_unit is not None and (parts or len(clause.sources) > 1):
        names.statement.refuse(
            parts[0][0] if parts else select,
            "conditions on what a record's rows add up to are not answered yet",
            "Put conditions on single rows into the subquery.",
        )
    read = [(NodeReader(names.statement, row_leaf(at, names)).read(part), part) for part, at in parts]
    relation = RowRelation(
        sources,
        tuple(clause.tables),
        (*clause.conditions, *read),
        has_rows=has_rows or (clause.whole is not None and clause.whole.has_rows),
        per_unit=None if clause.whole is None else clause.whole.per_unit,
        inner=None if clause.whole is None else clause.whole.inner,
    )
    return relation, names


def with_queries(select: Any, names: Names) -> Names:
    """Return the names with those of a WITH clause; each CTE sees the ones before it."""
    clause = select.args.get("with_")
    if clause is None:
        return names
    if unread(clause, ("expressions",)) is not None:
        names.statement.refuse(clause, "WITH RECURSIVE is not read", "A CTE is row by row.")
    for query in clause.expressions:
        if query.alias.lower() in names.results:
            continue
        alias = query.args.get("alias")
        if unread(query, ("this", "alias")) is not None or unread(alias, ("this",)) is not None:
            names.statement.refuse(
                query, "a CTE is read as name AS (SELECT ...)", "Name columns with AS inside."
            )
        if any(known.lower() == query.alias.lower() for known in names.queries):
            names.statement.refuse(alias, f"{query.alias} is defined twice", "Rename one of them.")
        read = cache(partial(names.subquery, query.this, names))
        names = replace(names, queries={**names.queries, query.alias: read})
    return names


def existing(part: Part, clause: FromClause, names: Names) -> list[Part]:
    """Return a condition, or what EXISTS or IN over rows that belong to the record asks of one of them."""
    node, scope = part
    kind = type(node).__name__
    if not (kind == "Exists" or (kind == "In" and node.args.get("query") is not None)):
        return [part]
    entry = inner_table(node)
    table = None if entry is None else names.catalog.known(entry.name)
    if entry is None or table is None or names.catalog.tree is None or clause.whole is not None:
        return [part]
    select = inner_select(node)
    if unread(select, ("expressions", "from_", "where")) is not None:
        names.statement.refuse(select, "this subquery has SELECT, FROM and WHERE alone")
    if kind == "Exists":
        refuse_functions(select, names)
    before = len(clause.sources)
    clause.add(entry)
    inner = Scope(names.statement, (*clause.sources[before:], *scope.sources))
    where = select.args.get("where")
    found: list[Part] = [(each, inner) for each in conjuncts(None if where is None else where.this)]
    if kind == "In":
        found.append((_equality(node.this, select.expressions[0].unalias()), inner))
    return found


def _equality(left: Any, right: Any) -> Any:
    from sqlglot import exp  # noqa: PLC0415  (an extra)

    return exp.EQ(this=left.copy(), expression=right.copy())


def _refuse_unless_one_row_per_unit(select: Any, outer: list[str], names: Names) -> None:
    catalog = names.catalog
    others = [table for table in outer if table != catalog.private and not catalog.is_public(table)]
    if others:
        names.statement.refuse(
            select.args["where"],
            f"EXISTS is about records of {catalog.private}, and FROM has rows of {others[0]} as well",
            f"Leave {others[0]} to EXISTS, or join the other table in FROM.",
        )


def without_references(names: Names, tables: list[str], parts: list[Part], entry: Any) -> list[Part]:
    """Return the conditions that are no declared reference, or refuse a join that does not follow them.

    A reference may follow from others: a = b AND b = c says a = c.
    """
    tree = names.catalog.tree
    if tree is None:
        return parts
    if tree.private not in tables:
        names.statement.refuse(
            entry,
            f"the records of {tree.private} are protected, and it is not in FROM",
            f"Join {tree.private}: rows of other tables belong to its records.",
        )
    pairs = [_equated(part, scope) for part, scope in parts]
    classes = _classes(pair for pair in pairs if pair is not None)
    joined_on: set[frozenset[Place]] = set()
    for table in tables:
        if table == tree.private:
            continue
        reference = tree.joined_by[table]
        ends = (reference.table, reference.column), (reference.to, reference.key)
        if not {reference.table, reference.to} <= set(tables) or not _are_equal(classes, *ends):
            names.statement.refuse(
                entry, f"{table} is not joined as it was declared", _how_to_join(reference, tree)
            )
        joined_on.add(frozenset(ends))
    return [
        part
        for part, pair in zip(parts, pairs, strict=True)
        if pair is None or frozenset(pair) not in joined_on
    ]


def _how_to_join(reference: Reference, tree: Tree) -> str:
    path = " and ".join(tree.path(reference.table if reference.to in tree.public else reference.to))
    joined_on = f"{reference.table}.{reference.column} = {reference.to}.{reference.key}"
    return f"Write ON {joined_on}, with {path} in FROM."


def _equated(node: Any, scope: Scope) -> tuple[Place, Place] | None:
    """Return the two plain columns that a condition says are equal."""
    if type(node).__name__ != "EQ":
        return None
    left, right = scope.origin(node.this), scope.origin(node.expression)
    return None if left is None or right is None else (left, right)


def _classes(pairs: Iterable[tuple[Place, Place]]) -> list[set[Place]]:
    """Return the columns that equalities make one, as sets."""
    classes: list[set[Place]] = []
    for pair in pairs:
        touched = [known for known in classes if known & set(pair)]
        classes = [known for known in classes if known not in touched]
        classes.append(set(pair).union(*touched))
    return classes


def _are_equal(classes: list[set[Place]], one: Place, other: Place) -> bool:
    return any(one in known and other in known for known in classes)


def rows_of_subquery(select: Any, names: Names) -> RowRelation:
    """Return the rows of a subquery or of a CTE, under its own names alone."""
    statement = names.statement
    if type(select).__name__ != "Select":
        refuse_construct(statement, select)
    if select.args.get("from_") is None:
        statement.refuse(select, "this subquery has no FROM")
    if select.args.get("group") is not None:
        return per_unit(select, names)
    if select.args.get("distinct") is not None:
        refuse_construct(statement, select.args["distinct"])
    odd = unread(select, _ROW_BY_ROW)
    if odd is not None or any(type(part).__name__ in _AGGREGATES for part in _projected(select)):
        statement.refuse(
            odd if hasattr(odd, "walk") else select.expressions[0],
            "a subquery is row by row: SELECT, FROM and WHERE alone",
            "Aggregate in the outer SELECT; HAVING, ORDER BY and LIMIT work there.",
        )
    relation, names = rows_of(select, names)
    if relation.per_unit is not None:
        return _all_of(select, relation, statement)
    scope = relation.scope(statement)
    columns: dict[str, Callable[[], Node]] = {}
    keys: dict[str, Callable[[], list[Any]]] = {}
    for item in select.expressions:
        for name, node, listed in _columns(item, scope, names):
            if name.lower() in {known.lower() for known in columns}:
                statement.refuse(
                    item, f"two columns of the subquery are called {name}", "Rename one of them."
                )
            columns[name] = node
            keys |= {name: listed} if listed is not None else {}
    return replace(relation, sources=(Source("", columns, keys=keys),))


def _all_of(select: Any, relation: RowRelation, statement: SqlStatement) -> RowRelation:
    """Return what each record's rows add up to as it is, or refuse what would be computed from it."""
    for item in select.expressions:
        if type(item).__name__ != "Star" or unread(item, ()) is not None:
            statement.refuse(
                item,
                "what is computed from the sums of a record's rows is not answered yet",
                "Write SELECT *, or ask in the outer SELECT.",
            )
    return relation


def _projected(select: Any) -> list[Any]:
    return [part for item in select.expressions for part in item.walk()]


Listed = Callable[[], list[Any]]


def _columns(item: Any, scope: Scope, names: Names) -> list[tuple[str, Callable[[], Node], Listed | None]]:
    """Return the columns that an item of a subquery gives: one, or all of its sources for a star."""
    kind = type(item).__name__
    star = kind == "Star" or (kind == "Column" and type(item.this).__name__ == "Star")
    if star:
        table = "" if kind == "Star" else item.table
        if unread(item, ("this", "table")) is not None:
            scope.statement.refuse(item, "* is read without EXCLUDE and REPLACE")
        sources = [s for s in scope.sources if not table or s.alias.lower() == table.lower()]
        return [
            (name, node, s.keys.get(name))
            for s in sources
            for name, node in s.columns.items()
            if table or name not in s.merged
        ]
    inner, name = item.unalias(), item.alias or (item.name if kind == "Column" else "")
    if not name:
        scope.statement.refuse(item, "this column of the subquery needs a name", "Write ... AS name.")
    node = NodeReader(scope.statement, row_leaf(scope, names)).read(inner)
    source = scope.find(inner) if type(inner).__name__ == "Column" else None
    return [(name, partial(_same, node), source[0].keys.get(source[1]) if source else None)]


def _same(node: Node) -> Node:
    return node


def grouped_entry(entry: Any, select: Any, catalog: Catalog) -> Any:
    """Return an entry of GROUP BY; for a place or an alias that no column has, the item of SELECT."""
    kind = type(entry).__name__
    items = select.expressions
    if kind == "Literal" and not entry.is_string:
        place = whole_in(entry) or 0
        return items[place - 1].unalias() if 1 <= place <= len(items) else entry
    columns = {name.lower() for shown in catalog.tables.values() for name in shown}
    if kind != "Column" or entry.table or entry.name.lower() in columns:
        return entry
    return next((item.unalias() for item in items if item.alias.lower() == entry.name.lower()), entry)


def per_unit(select: Any, names: Names) -> RowRelation:
    """Return the rows of a subquery that is grouped by their unit, one a unit."""
    statement, unit = names.statement, names.catalog.unit
    relation, names = rows_of(select, names)
    group = select.args["group"]
    if relation.has_rows:
        statement.refuse(
            group, "EXISTS and sums over each record are not answered together", "Ask two statements."
        )
    scope = relation.scope(statement)
    by = [grouped_entry(entry, select, names.catalog) for entry in group.expressions]
    known = unit is not None and len(by) == 1 and type(by[0]).__name__ == "Column"
    if unit is None or not known or scope.column(by[0]) != Column(unit.id):
        protected = (Argument("privacy_unit", "customer", of="prdp.open"), ", and GROUP BY customer")
        advice = (f"GROUP BY {unit.id}",) if unit else protected
        statement.refuse(
            group,
            "a grouped subquery is read where it has one row for each protected record",
            ("Write ", *advice, "."),
        )
    if unread(select, (*_ROW_BY_ROW, "group")) is not None or unread(group, ("expressions",)) is not None:
        statement.refuse(
            group,
            "this subquery has SELECT, FROM, WHERE and GROUP BY alone",
            "Conditions on what a record's rows add up to, as HAVING COUNT(*) > 3, are not answered yet.",
        )
    columns = {}
    for item in select.expressions:
        inner, name = item.unalias(), item.alias or item.name
        if type(inner).__name__ == "Column":
            if scope.column(inner) != Column(unit.id):
                refuse_construct(statement, inner)
            columns[name] = ("id", None)
        elif type(inner).__name__ in _AGGREGATES and item.alias:
            columns[name] = (inner.key, inner.this)
        else:
            statement.refuse(
                item,
                "per record, SUM(x) AS name, COUNT(*) AS name, MAX(x) AS name and MIN(x) AS name are read",
            )
    names_only: dict[str, Callable[[], Node]] = dict.fromkeys(columns, Null)
    return replace(relation, sources=(Source("", names_only),), per_unit=columns, inner=relation)


def first_names(statement: SqlStatement, **known: Any) -> Names:
    """Return the names that a whole statement begins with."""
    return Names(statement, subquery=rows_of_subquery, **known)
