"""A whole statement: from its text to queries, groups and filter, and to what is made of the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NoReturn

from prdp.declare.exact import short_repr
from prdp.declare.keys import MAX_KEYS
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Column, Node, Null, columns, conjunction
from prdp.expressions.nodes import conjuncts as conjuncts_of
from prdp.plan.queries import Query
from prdp.schema import Kind
from prdp.sql.aggregates import AGGREGATE_RULES
from prdp.sql.catalog import Catalog, PublicTable, Queryable
from prdp.sql.constants import whole_in
from prdp.sql.from_clause import first_names, grouped_entry, rows_of, with_queries
from prdp.sql.group_keys import GroupKeys, group_keys
from prdp.sql.grouping import GroupItem, MarginReader
from prdp.sql.membership import row_leaf
from prdp.sql.plausible import PublicFacts
from prdp.sql.reading import SqlStatement, read_statement, sql_of
from prdp.sql.refused import LISTED, refuse_construct, unread
from prdp.sql.released_rows import Item, with_nodes
from prdp.sql.released_select import (
    OutputClauses,
    PublicRows,
    aggregates,
    name_of,
    read_output,
    released_select,
    union_of,
    whole_number,
)
from prdp.sql.row_nodes import CheckedNode, NodeReader, nothing_special
from prdp.sql.scope import Names, RowRelation
from prdp.sql.select_list import SelectReader, unit_of
from prdp.sql.windows import Window, name_windows

_SELECT = (
    *("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_"),
    *("qualify", "distinct"),
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Compiled SELECT about records: its queries, and the output computed from them.

    Attributes:
        statement: The statement.
        tail: What is made of the answers: columns, HAVING, ORDER BY, LIMIT.
        queries: What is asked; none where the statement is about no table, or wants no row.
        sources: For each query, the part of the statement that asks it first.
        queryable: The table or join that is asked, filtered.
        groups: What groups are distinguished by.
        by: What groups are made by, with their public keys; None for one group of all records.
        margins: The grouping sets, each by places of ``groups``; none for a plain GROUP BY.
        notes: Notes on how aggregates were read.
        nonnegative: Whether margins are to have no negative number that cannot be one.
    """

    statement: SqlStatement
    tail: OutputClauses
    queries: tuple[Query, ...] = ()
    sources: tuple[Any, ...] = ()
    queryable: Queryable | None = None
    groups: tuple[GroupItem, ...] = ()
    by: GroupKeys | None = None
    margins: tuple[tuple[int, ...], ...] = ()
    notes: tuple[str, ...] = ()
    nonnegative: bool = False

    @property
    def keys(self) -> Any:
        """Public keys of groups, as ``group_by`` takes them; None for one group of all records."""
        return None if self.by is None else self.by.listed

    @property
    def items(self) -> tuple[Item, ...]:
        """The columns of the answers."""
        return self.tail.items

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the answers."""
        return self.tail.names

    @property
    def kinds(self) -> tuple[Kind | None, ...]:
        """What its columns hold."""
        return tuple(item.checked.kind for item in self.items)

    @property
    def relations(self) -> list[Any]:
        """Subqueries that are values."""
        return self.tail.relations

    @property
    def is_one_row(self) -> bool:
        """True if there is one row at most."""
        return not self.groups or self.tail.limit == 1

    def column_depends(self, place: int) -> bool:
        """Return whether a column depends on answers, not on keys alone."""
        return self.tail.depends(self.items[place].checked.node, _is_answer)

    @property
    def selects(self) -> bool:
        """True if rows are selected or sorted by answers, not by listed keys alone.

        A CASE with a condition on answers selects too: it may show an answer where that is large, and else
        NULL.
        """
        return self.tail.selects(_is_answer)


def _is_answer(name: str) -> bool:
    return name.startswith("a")


def compiled(
    text: object,
    queryable: Queryable,
    catalog: Catalog,
    *,
    public: Mapping[str, PublicTable],
    keys: Mapping[str, Any] | None = None,
) -> Any:
    """Return what a statement asks, or refuse it; reads and charges nothing.

    It is a ``Compiled`` SELECT about records, or a ``ReleasedSelect`` or ``Union`` of such.
    """
    statement = read_statement(text)
    if keys is not None and not isinstance(keys, Mapping):
        raise InvalidRequest(
            f"keys={short_repr(keys)} is not a dict by column. Write keys={{'job': ['clerk', 'chef']}}."
        )
    names = first_names(statement, catalog=catalog, public=public)
    return _Composer(statement, queryable, keys or {}).relation(statement.tree, names, {})


Results = Mapping[str, Callable[[], Any]]
"""CTEs whose rows are released ones, by their names in small letters."""


@dataclass(frozen=True, slots=True)
class _Composer:
    """Reads a statement whose parts may be over released rows."""

    statement: SqlStatement
    queryable: Queryable
    keys: Mapping[str, Any]

    def relation(self, tree: Any, names: Names, results: Results) -> Any:
        """Return what a SELECT, or a UNION of such, asks and computes."""
        if type(tree).__name__ == "Subquery" and unread(tree, ("this",)) is None:
            return self.relation(tree.this, names, results)
        if type(tree).__name__ == "Union":
            return self._union(tree, names, results)
        name_windows(self.statement, tree)
        _refuse_odd_clauses(self.statement, tree)
        names, results = self._with(tree, names, results)
        if self._is_over_results(tree, names, results):
            entry = partial(self._entry, names=names, results=results)
            inner = partial(self.relation, names=names, results=results)
            return released_select(self.statement, tree, entry, inner)
        if tree.args.get("from_") is None:
            return _constants(
                self.statement, tree, names, partial(self.relation, names=names, results=results)
            )
        if tree.args.get("distinct") is not None:
            if tree.args.get("group") is not None:
                self.statement.refuse(
                    tree.args["distinct"],
                    "groups are different already",
                    "Leave DISTINCT out, or write SELECT DISTINCT ... FROM (SELECT ... GROUP BY ...) AS t.",
                )
            refuse_construct(self.statement, tree.args["distinct"])
        if whole_number(self.statement, tree, "limit") == 0 and all(map(_is_raw, tree.expressions)):
            return _nothing(tree, names)
        inner = partial(self.relation, names=names, results=results)
        relation, names = rows_of(tree, names)
        catalog = names.catalog
        asked = self.queryable if catalog.over is None else catalog.over(*relation.tables)
        reader = SelectReader(names, relation, asked.planner.schema)
        reader.extra.relation = inner
        return _about_rows(tree, reader, asked, self.keys)

    def _union(self, tree: Any, names: Names, results: Results) -> Any:
        odd = unread(tree, ("this", "expression", "distinct", "order", "limit", "offset", "with_"))
        if odd is not None:
            refuse_construct(self.statement, tree)
        names, results = self._with(tree, names, results)
        left, right = (self.relation(part, names, results) for part in (tree.this, tree.expression))
        return union_of(self.statement, tree, left, right)

    def _with(self, tree: Any, names: Names, results: Results) -> tuple[Names, Results]:
        """Return the names with those of WITH: of CTEs over records and of those that are results."""
        clause = tree.args.get("with_")
        if clause is None:
            return names, results
        found = dict(results)
        for query in clause.expressions:
            if self._is_result(query.this, names, found):
                alias = query.args.get("alias")
                if unread(query, ("this", "alias")) is not None or unread(alias, ("this",)) is not None:
                    self.statement.refuse(query, "a CTE is read as name AS (SELECT ...)")
                earlier = with_queries(tree, replace(names, results=_from(clause, query)))
                found[query.alias.lower()] = cache(
                    partial(
                        self.relation, query.this, replace(earlier, results=frozenset(found)), dict(found)
                    )
                )
        names = with_queries(tree, replace(names, results=frozenset(found)))
        tree.set("with_", None)  # it is read once
        return names, found

    def _is_over_results(self, select: Any, names: Names, results: Results) -> bool:
        """Return whether FROM names rows that were released, or public tables alone."""
        clause = select.args.get("from_")
        if clause is None:
            return False
        joins = [*(clause.this.args.get("joins") or ()), *(select.args.get("joins") or ())]
        entries = [clause.this, *(join.this for join in joins)]
        return all(_is_public(entry, names) for entry in entries) or any(
            self._is_result(entry.this, names, results)
            if type(entry).__name__ == "Subquery"
            else entry.name.lower() in results
            for entry in entries
        )

    def _is_result(self, tree: Any, names: Names, results: Results) -> bool:
        """Return whether the rows of a subquery or CTE are released ones, not rows of records."""
        kind = type(tree).__name__
        if kind == "Subquery":
            return self._is_result(tree.this, names, results)
        if kind == "Union":
            return all(self._is_result(part, names, results) for part in (tree.this, tree.expression))
        if kind != "Select":
            return False
        own = tree.args.get("with_")
        for query in own.expressions if own is not None else ():
            if self._is_result(query.this, names, results):
                results = {**results, query.alias.lower(): tuple}
            else:
                names = replace(
                    names, queries={**names.queries, query.alias: partial(names.subquery, query.this, names)}
                )
        if tree.args.get("from_") is None or self._is_over_results(tree, names, results):
            return True
        return aggregates(tree) and not self._is_per_unit(tree, names)

    def _is_per_unit(self, select: Any, names: Names) -> bool:
        """Return whether a SELECT is grouped by whoever is protected, so that each has a row."""
        clause, unit = select.args.get("group"), names.catalog.unit
        by = clause.expressions if clause is not None else []
        if unit is None or len(by) != 1:
            return False
        entry = grouped_entry(by[0], select, names.catalog)
        return type(entry).__name__ == "Column" and bool(
            entry.name.lower() == unit.id.rpartition(".")[2].lower()
        )

    def _entry(self, node: Any, names: Names, results: Results) -> tuple[str, Any]:
        """Return one entry of FROM over released rows: a CTE, a subquery, or a public table."""
        statement = self.statement
        if type(node).__name__ == "Subquery":
            if unread(node, ("this", "alias")) is not None:
                statement.refuse(node, "a subquery in FROM has a name and nothing else", "Write (...) AS t.")
            return node.alias, self.relation(node.this, names, results)
        name = node.name.lower()
        if name in results:
            return node.alias or node.name, results[name]()
        public = next((table for known, table in names.public.items() if known.lower() == name), None)
        if public is None:
            statement.refuse(
                node,
                f"{node.name or sql_of(node)} is joined to results, and is neither a result nor public",
                "Aggregate its records in a CTE of their own, and join that.",
            )
        kinds = tuple(kind.kind for kind in public.schema.values())
        rows = tuple(tuple(row.values()) for row in public.rows)
        return node.alias or node.name, PublicRows(tuple(public.columns), kinds, rows)


def _is_public(entry: Any, names: Names) -> bool:
    """Return whether an entry of FROM is a public table that comes with the statement."""
    name = entry.name.lower()
    known = names.catalog.known(entry.name) is not None or name in map(str.lower, names.queries)
    return type(entry).__name__ == "Table" and not known and name in map(str.lower, names.public)


def _from(clause: Any, query: Any) -> frozenset[str]:
    """Return the names of a CTE and of all after it, which it does not see."""
    names = [each.alias.lower() for each in clause.expressions]
    return frozenset(names[clause.expressions.index(query) :])


def _about_rows(select: Any, reader: SelectReader, queryable: Queryable, keys: Mapping[str, Any]) -> Compiled:
    """Return what a statement asks about rows that are known: clause by clause, in SQL's own order."""
    public = _public_values(reader.relation)
    reader.facts = PublicFacts(tuple(reader.schema), queryable.planner.bounds, keys, public)
    reader.hoisted = _common_filter(select, reader)
    queryable, where = _filtered(queryable, reader.relation, reader)
    reader.where = where
    groups, margins = group_items(select, reader)
    reader.groups, reader.has_margins = tuple(groups), bool(margins)
    tail = read_output(reader, select, reader.extra)
    if not reader.queries and tail.limit != 0:
        _refuse_no_aggregate(reader.statement, select)
    _check_having(reader, tail)
    found = group_keys(reader, keys, where, queryable) if reader.groups else None
    if margins and (found is None or not found.lists):
        reader.refuse(
            select.args["group"],
            "margins need the keys of each column, listed or public",
            "List them: WHERE job IN (...), or keys of each column by itself.",
        )
    return Compiled(
        reader.statement,
        tail,
        tuple(reader.queries),
        tuple(reader.sources),
        queryable,
        reader.groups,
        found,
        margins=margins,
        notes=tuple(dict.fromkeys((*reader.notes, *_notes_on_groups(found, tail)))),
    )


def _public_values(relation: RowRelation) -> Callable[[str], list[Any] | None]:
    """Return what lists the values of columns of a join's public tables, by their names in questions."""
    lists = {}
    for source in relation.sources:
        for name in source.keys.keys() & source.origins.keys():
            column = source.columns[name]()
            if isinstance(column, Column):
                lists[column.name] = source.keys[name]

    def values(name: str) -> list[Any] | None:
        found = lists[name]() if name in lists else []
        return found if 0 < len(found) <= MAX_KEYS else None  # a longer list is cut off

    return values


def _check_having(reader: SelectReader, tail: OutputClauses) -> None:
    """Refuse a HAVING that no declared key meets, as WHERE is; note what some of it cannot mean."""
    if tail.having is None:
        return
    keys = {f"k{place}": item.checked.node for place, item in enumerate(reader.groups) if not item.part}
    for part in conjuncts_of(tail.having.node):
        if columns(part) and columns(part) <= keys.keys():
            refuse = partial(reader.refuse, tail.having.source)
            reader.notes += reader.facts.check(with_nodes(part, keys), refuse)


def _notes_on_groups(found: GroupKeys | None, tail: OutputClauses) -> tuple[str, ...]:
    """Return notes on rows that are in no group, and so in no total that a window adds up."""
    if found is None or not found.notes:
        return ()
    windows = (extra for extra in tail.extras.values() if isinstance(extra, Window))
    totals = any(window.function in {"sum", "count", "avg"} for window in windows)
    return (
        *found.notes,
        *(("totals over groups, and shares of them, are without these rows",) if totals else ()),
    )


def _refuse_odd_clauses(statement: SqlStatement, select: Any) -> None:
    """Refuse what is no SELECT, selects nothing, or has a clause that is not read."""
    if type(select).__name__ != "Select":
        refuse_construct(statement, select)
    if not select.expressions:
        statement.refuse(select, "nothing is selected", "For example: SELECT COUNT(*) FROM accounts.")
    odd = unread(select, _SELECT)
    if odd is not None:
        name = next(
            name
            for name, part in select.args.items()
            if part is odd or (isinstance(part, list) and odd in part)
        )
        place = odd if hasattr(odd, "walk") else select
        statement.refuse(place, f"{name.strip('_').upper()} is not supported", LISTED)


def _refuse_no_aggregate(statement: SqlStatement, select: Any) -> NoReturn:
    statement.refuse(
        select.expressions[0],
        "this asks for no aggregate, and which values occur may give a record away",
        "Select COUNT(*), SUM(x) or AVG(x) beside what you group by.",
    )


def _constants(
    statement: SqlStatement, select: Any, names: Names, relation: Callable[[Any], Any]
) -> Compiled:
    """Return a statement about no table, such as SELECT 1: it is answered and never charged."""
    if unread(select, ("expressions", "limit")) is not None:
        statement.refuse(select, "a statement without FROM has SELECT alone")
    reader = SelectReader(names, RowRelation(()), {})
    reader.extra.relation = relation
    tail = read_output(reader, select, reader.extra)
    if reader.queries:
        statement.refuse(reader.sources[0], "this aggregate has no FROM", "Write FROM accounts.")
    return Compiled(statement, tail)


def _is_raw(item: Any) -> bool:
    """Return whether an item is a column or a star, of which LIMIT 0 gives the names."""
    return type(item.unalias()).__name__ in {"Star", "Column"}


def _nothing(select: Any, names: Names) -> Compiled:
    """Return the columns of rows, and no row: what tools ask to see what there is."""
    relation, names = rows_of(select, names)
    scope = relation.scope(names.statement)
    columns: list[str] = []
    for item in select.expressions:
        inner = item.unalias()
        if type(inner).__name__ == "Star" or type(inner.this).__name__ == "Star":
            columns += [name for source in scope.sources for name in source.columns]
        else:
            scope.find(inner)
            columns.append(name_of(item))
    null = CheckedNode(Null(), None, select)
    return Compiled(names.statement, OutputClauses(tuple(Item(name, null) for name in columns), limit=0))


def _common_filter(select: Any, reader: SelectReader) -> Node | None:
    """Return the FILTER that all aggregates of a statement have; None where there is none."""
    nodes = [
        part
        for clause in _computed(select)
        for part in clause.walk(prune=lambda node: type(node).__name__ == "Subquery")
    ]
    filters = [node for node in nodes if type(node).__name__ == "Filter"]
    inside = {id(part) for node in filters for part in node.this.walk()}
    bare = [node for node in nodes if type(node).__name__ in AGGREGATE_RULES and id(node) not in inside]
    found = {reader.filter_of(node) for node in filters} if filters and not bare else set()
    return found.pop() if len(found) == 1 else None


def _computed(select: Any) -> list[Any]:
    clauses = (select.args.get(name) for name in ("having", "qualify", "order"))
    return [*select.expressions, *filter(None, clauses)]


def _filtered(
    queryable: Queryable, relation: RowRelation, reader: SelectReader
) -> tuple[Queryable, Node | None]:
    """Return the table or join with all conditions of the statement, and these as one."""
    nodes = []
    for node, part in relation.conditions:
        checked = NodeReader(reader.names.statement, nothing_special).check(
            node, part, reader.schema, Kind.BOOLEAN
        )
        for one in conjuncts_of(checked.node):
            reader.notes += reader.facts.check(one, partial(reader.refuse, part))
        nodes.append(checked.node)
    held = [*nodes, *([] if reader.hoisted is None else [reader.hoisted])]
    if held:
        queryable = queryable.filtered(held[0] if len(held) == 1 else conjunction(held))
    return queryable, conjunction(nodes) if nodes else None


def group_items(select: Any, reader: SelectReader) -> tuple[list[GroupItem], tuple[tuple[int, ...], ...]]:
    """Return what GROUP BY tells groups apart by, and the grouping sets of ROLLUP, CUBE and GROUPING SETS."""
    clause = select.args.get("group")
    if clause is None:
        return [], ()
    if reader.relation.per_unit is not None:
        reader.refuse(
            clause,
            "groups by what a record's rows add up to are not available",
            "COUNT(*), SUM(x) and AVG(x) over all records are.",
        )
    if clause.args.get("all") is True and not clause.expressions:
        clause.set("all", None)
        clause.set("expressions", _not_computed(select))
    if not clause.expressions:
        reader.refuse(
            clause, "GROUP BY says nothing to group by", "Name what to group by, such as GROUP BY job."
        )
    margins = MarginReader(lambda entry: _group_item(entry, select, reader), reader.refuse)
    found = margins.margins(clause)
    return margins.items, found


def _not_computed(select: Any) -> list[Any]:
    """Return what GROUP BY ALL is by: items of SELECT that hold a column, and no aggregate, also by name."""
    computed: set[str] = set()
    found = []
    for item in select.expressions:
        kinds = {type(part).__name__ for part in item.walk()}
        named = {
            part.name.lower() for part in item.walk() if type(part).__name__ == "Column" and not part.table
        }
        if (
            kinds & (AGGREGATE_RULES.keys() | {"Window", "Subquery", "Grouping", "Anonymous"})
            or named & computed
        ):
            computed.add(item.alias.lower())
        elif "Column" in kinds:
            found.append(item.unalias().copy())
    return found


def _group_item(entry: Any, select: Any, reader: SelectReader) -> GroupItem:
    """Return one entry: a place, a column, an alias of SELECT, or an expression."""
    statement = reader.names.statement
    scope = reader.relation.scope(statement)
    node, names = entry, []
    if type(entry).__name__ == "Literal" and not entry.is_string:
        place = whole_in(entry) or 0
        if not 1 <= place <= len(select.expressions):
            statement.refuse(entry, f"SELECT has no item {entry.this}")
        node = select.expressions[place - 1]
    elif type(entry).__name__ == "Column" and not entry.table:
        here = any(entry.name.lower() == name.lower() for s in scope.sources for name in s.columns)
        same = [item for item in select.expressions if item.alias.lower() == entry.name.lower()]
        node = entry if here or not same else same[0]
    names += [part.alias for part in select.expressions if part.unalias() == node.unalias() and part.alias]
    names += [name_of(node), sql_of(node.unalias())]
    node = node.unalias()
    for part in node.walk():
        if type(part).__name__ in AGGREGATE_RULES:
            statement.refuse(entry, "groups are distinguished by rows, not by aggregates")
    truncated = type(node).__name__ in {"TimestampTrunc", "DateTrunc"}
    rows = NodeReader(statement, row_leaf(scope, reader.names))
    checked = rows.checked(node.this if truncated else node, reader.schema)
    reader.notes += reader.facts.notes(checked.node)
    listed = scope.public_keys(node)
    part = unit_of(node) if truncated else ""
    public = None if listed is None else tuple(listed)
    return GroupItem(checked, part, tuple(filter(None, names)), public, scope.origin(node))
