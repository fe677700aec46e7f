"""Rows of SELECT ... FROM ... WHERE, with CTEs, subqueries, and EXISTS over rows that belong to a record.

Joins are held to the declared references: a result belongs to one private record, or is refused.

A subquery is row by row, or grouped by whom its rows belong to. A column of it is its expression over the
table's own columns: nothing that is known of a column survives its redefinition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from prdp.declare.references import Reference, Tree
from prdp.expressions.nodes import Column, Node, Null
from prdp.sql.catalog import Place
from prdp.sql.construct import unread
from prdp.sql.from_clause import FromClause
from prdp.sql.membership import inner_select, inner_table, refuse_functions, row_leaf
from prdp.sql.reading import SqlStatement
from prdp.sql.refused import refuse_construct
from prdp.sql.relation import Names, RowRelation, conjuncts
from prdp.sql.row_nodes import NodeReader
from prdp.sql.scope import Scope, Source

_ROW_BY_ROW = ("expressions", "from_", "joins", "where", "with_")
_AGGREGATES = frozenset({"Sum", "Count"})


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

    A reference may be said by way of others: a = b AND b = c says a = c.
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


def per_unit(select: Any, names: Names) -> RowRelation:
    """Return the rows of a subquery that is grouped by whom they belong to, one a unit."""
    statement, unit = names.statement, names.catalog.unit
    relation, names = rows_of(select, names)
    group = select.args["group"]
    if relation.has_rows:
        statement.refuse(
            group, "EXISTS and sums over each record are not answered together", "Ask two statements."
        )
    scope = relation.scope(statement)
    by = group.expressions
    known = unit is not None and len(by) == 1 and type(by[0]).__name__ == "Column"
    if unit is None or not known or scope.column(by[0]) != Column(unit.id):
        advice = (
            f"GROUP BY {unit.id}" if unit else "privacy_unit='customer' in prdp.open, and GROUP BY customer"
        )
        statement.refuse(
            group,
            "a grouped subquery is read where it has one row for each protected record",
            f"Write {advice}.",
        )
    if unread(select, (*_ROW_BY_ROW, "group")) is not None or unread(group, ("expressions",)) is not None:
        statement.refuse(group, "this subquery has SELECT, FROM, WHERE and GROUP BY alone")
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
            statement.refuse(item, "per record, SUM(x) AS name and COUNT(*) AS name are read")
    names_only: dict[str, Callable[[], Node]] = dict.fromkeys(columns, Null)
    return replace(relation, sources=(Source("", names_only),), per_unit=columns, inner=relation)


def first_names(statement: SqlStatement, **known: Any) -> Names:
    """Return the names that a whole statement begins with."""
    return Names(statement, subquery=rows_of_subquery, **known)
