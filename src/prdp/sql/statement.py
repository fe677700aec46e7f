"""A whole statement: from its text to queries, groups and filter, and to what is made of the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from prdp.declare.exact import short_repr
from prdp.errors import Argument, InvalidRequest, Words
from prdp.expressions.nodes import Node, Null, conjunction
from prdp.plan.queries import Query
from prdp.release.table import ReleaseTable
from prdp.schema import Kind
from prdp.sql.aggregates import AGGREGATE_RULES
from prdp.sql.catalog import Catalog, PublicTable, Queryable
from prdp.sql.constants import whole_in
from prdp.sql.from_clause import first_names, rows_of
from prdp.sql.grouping import (
    GroupItem,
    SearchedKeys,
    callers_keys,
    crossed,
    found_keys,
    kept_by_where,
    kept_together,
    search_of,
)
from prdp.sql.membership import row_leaf
from prdp.sql.reading import SqlStatement, read_statement, sql_of
from prdp.sql.refused import LISTED, refuse_construct, unread
from prdp.sql.row_nodes import CheckedNode, NodeReader, nothing_special
from prdp.sql.scope import Names, RowRelation
from prdp.sql.select_list import SelectReader, unit_of

_SELECT = ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_")

_DATE_PART = re.compile(r"date_trunc\('\w+', (\w+)\)")


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the answers: its name, and how it is computed."""

    name: str
    checked: CheckedNode


@dataclass(frozen=True, slots=True)
class Sorted:
    """One entry of ORDER BY."""

    checked: CheckedNode
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Compiled:
    """Compiled statement: its queries, and the output computed from them.

    Attributes:
        statement: The statement.
        items: The columns of the answers.
        queries: What is asked; none where the statement is about no table, or wants no row.
        sources: For each query, the part of the statement that asks it first.
        queryable: The table or join that is asked, filtered.
        groups: What groups are distinguished by.
        keys: Their public keys, as ``group_by`` takes them.
        ends: The ends of intervals that are used, by name.
        having: What is true of a row that is kept; None where all are.
        order: What rows are sorted by.
        offset: How many rows are left out first.
        limit: How many are kept then; None for all.
        notes: Notes on how aggregates were read.
    """

    statement: SqlStatement
    items: tuple[Item, ...]
    queries: tuple[Query, ...] = ()
    sources: tuple[Any, ...] = ()
    queryable: Queryable | None = None
    groups: tuple[GroupItem, ...] = ()
    keys: Any = None
    ends: Mapping[str, tuple[CheckedNode, int]] = field(default_factory=dict)
    having: CheckedNode | None = None
    order: tuple[Sorted, ...] = ()
    offset: int = 0
    limit: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the answers."""
        return tuple(item.name for item in self.items)


def compiled(
    text: object,
    queryable: Queryable,
    catalog: Catalog,
    *,
    public: Mapping[str, PublicTable],
    keys: Mapping[str, Any] | None = None,
) -> Compiled:
    """Return what a statement asks, or refuse it; reads and charges nothing."""
    statement = read_statement(text)
    select = statement.tree
    if keys is not None and not isinstance(keys, Mapping):
        raise InvalidRequest(
            f"keys={short_repr(keys)} is not a dict by column. Write keys={{'job': ['clerk', 'chef']}}."
        )
    _refuse_odd_clauses(statement, select)
    names = first_names(statement, catalog=catalog, public=public)
    if select.args.get("from_") is None:
        return _constants(statement, select, names)
    if whole_number(statement, select, "limit") == 0 and all(map(_is_raw, select.expressions)):
        return _nothing(select, names)
    relation, names = rows_of(select, names)
    asked = queryable if catalog.over is None else catalog.over(*relation.tables)
    return _about_rows(select, SelectReader(names, relation, asked.planner.schema), asked, keys or {})


def _about_rows(select: Any, reader: SelectReader, queryable: Queryable, keys: Mapping[str, Any]) -> Compiled:
    """Return what a statement asks about rows that are known: clause by clause, in SQL's own order."""
    statement = reader.names.statement
    limit, offset = (whole_number(statement, select, clause) for clause in ("limit", "offset"))
    reader.hoisted = _common_filter(select, reader)
    queryable, where = _filtered(queryable, reader.relation, reader)
    reader.groups = tuple(group_items(select, reader))
    items = tuple(read_items(select, reader))
    having = select.args.get("having")
    kept = None if having is None else read_condition(reader, having.this)
    order = tuple(read_order(select, reader))
    if not reader.queries and limit != 0:
        _refuse_no_aggregate(statement, select)
    return Compiled(
        statement,
        items,
        tuple(reader.queries),
        tuple(reader.sources),
        queryable,
        reader.groups,
        _keys(reader, keys, where, queryable) if reader.groups else None,
        dict(reader.ends),
        kept,
        order,
        offset or 0,
        limit,
        tuple(dict.fromkeys(reader.notes)),
    )


def _refuse_odd_clauses(statement: SqlStatement, select: Any) -> None:
    """Refuse what is no SELECT, selects nothing, or has a clause that is not read."""
    if type(select).__name__ != "Select":
        refuse_construct(statement, select)
    if not select.expressions:
        statement.refuse(select, "nothing is selected", "For example: SELECT COUNT(*) FROM accounts.")
    distinct = select.args.get("distinct")
    if distinct is not None:
        refuse_construct(statement, distinct)
    odd = unread(select, _SELECT)
    if odd is not None:
        name = next(
            name
            for name, part in select.args.items()
            if part is odd or (isinstance(part, list) and odd in part)
        )
        place = odd if hasattr(odd, "walk") else select
        statement.refuse(place, f"{name.strip('_').upper()} is not read here", LISTED)


def _refuse_no_aggregate(statement: SqlStatement, select: Any) -> NoReturn:
    statement.refuse(
        select.expressions[0],
        "this asks for no aggregate, and which values occur may give a record away",
        "Select COUNT(*), SUM(x) or AVG(x) beside what you group by.",
    )


def _constants(statement: SqlStatement, select: Any, names: Names) -> Compiled:
    """Return a statement about no table, such as SELECT 1: it is answered and never charged."""
    if unread(select, ("expressions", "limit")) is not None:
        statement.refuse(select, "a statement without FROM has SELECT alone")
    reader = SelectReader(names, RowRelation(()), {})
    items = tuple(read_items(select, reader))
    if reader.queries:
        statement.refuse(reader.sources[0], "this aggregate has no FROM", "Write FROM accounts.")
    return Compiled(statement, items, limit=whole_number(statement, select, "limit"))


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
    return Compiled(names.statement, tuple(Item(name, null) for name in columns), limit=0)


def whole_number(statement: SqlStatement, select: Any, clause: str) -> int | None:
    """Return the number of LIMIT or OFFSET."""
    node = select.args.get(clause)
    if node is None:
        return None
    number = whole_in(node.expression)
    if unread(node, ("expression",)) is not None or number is None:
        statement.refuse(node, f"{clause.upper()} takes a whole number", f"Write {clause.upper()} 10.")
    return number


def _common_filter(select: Any, reader: SelectReader) -> Node | None:
    """Return the FILTER that all aggregates of a statement have; None where there is none."""
    nodes = [part for clause in _computed(select) for part in clause.walk()]
    filters = [node for node in nodes if type(node).__name__ == "Filter"]
    inside = {id(part) for node in filters for part in node.this.walk()}
    bare = [node for node in nodes if type(node).__name__ in AGGREGATE_RULES and id(node) not in inside]
    found = {reader.filter_of(node) for node in filters} if filters and not bare else set()
    return found.pop() if len(found) == 1 else None


def _computed(select: Any) -> list[Any]:
    return [*select.expressions, *filter(None, (select.args.get("having"), select.args.get("order")))]


def _filtered(
    queryable: Queryable, relation: RowRelation, reader: SelectReader
) -> tuple[Queryable, Node | None]:
    """Return the table or join with all conditions of the statement, and these as one."""
    nodes = [
        NodeReader(reader.names.statement, nothing_special)
        .check(node, part, reader.schema, Kind.BOOLEAN)
        .node
        for node, part in relation.conditions
    ]
    held = [*nodes, *([] if reader.hoisted is None else [reader.hoisted])]
    if held:
        queryable = queryable.filtered(held[0] if len(held) == 1 else conjunction(held))
    return queryable, conjunction(nodes) if nodes else None


def group_items(select: Any, reader: SelectReader) -> list[GroupItem]:
    """Return what GROUP BY tells groups apart by."""
    clause = select.args.get("group")
    if clause is None:
        return []
    several = any(type(entry).__name__ in {"Rollup", "Cube", "GroupingSets"} for entry in clause.expressions)
    if several or unread(clause, ("expressions",)) is not None:
        reader.refuse(clause, "GROUP BY takes columns and expressions", "CUBE, ROLLUP and ALL are not read.")
    if not clause.expressions:
        reader.refuse(clause, "GROUP BY says nothing to group by", "Write GROUP BY job, or leave it away.")
    return [_group_item(entry, select, reader) for entry in clause.expressions]


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
    names += [name_of(node), sql_of(node)]
    node = node.unalias()
    for part in node.walk():
        if type(part).__name__ in AGGREGATE_RULES:
            statement.refuse(entry, "groups are distinguished by rows, not by aggregates")
    truncated = type(node).__name__ in {"TimestampTrunc", "DateTrunc"}
    rows = NodeReader(statement, row_leaf(scope, reader.names))
    checked = rows.checked(node.this if truncated else node, reader.schema)
    listed = scope.public_keys(node)
    part = unit_of(node) if truncated else ""
    return GroupItem(checked, part, tuple(filter(None, names)), None if listed is None else tuple(listed))


def read_items(select: Any, reader: SelectReader) -> list[Item]:
    """Return the columns of the answers."""
    items = []
    for node in select.expressions:
        checked = reader.read(node.unalias())
        if node.alias:
            reader.name(node.alias, checked)
        items.append(Item(name_of(node), checked))
    return items


def name_of(node: Any) -> str:
    """Return what a column of the answers is called: its alias, its column, or its SQL."""
    if node.alias or type(node).__name__ == "Column":
        return str(node.alias or node.name)
    return sql_of(node)


def read_condition(reader: SelectReader, node: Any) -> CheckedNode:
    """Return the condition of HAVING, over answers and keys."""
    checked = reader.read(node)
    if checked.kind not in {None, Kind.BOOLEAN}:
        reader.refuse(node, "HAVING needs a condition", "For example: HAVING COUNT(*) > 100.")
    return checked


def read_order(select: Any, reader: SelectReader) -> list[Sorted]:
    """Return what ORDER BY sorts rows by."""
    clause = select.args.get("order")
    found = []
    for entry in clause.expressions if clause is not None else []:
        if unread(entry, ("this", "desc", "nulls_first")) is not None:
            reader.refuse(entry, "ORDER BY takes what is selected, ASC or DESC")
        node = entry.this
        if type(node).__name__ == "Literal" and not node.is_string:
            place = whole_in(node) or 0
            if not 1 <= place <= len(select.expressions):
                reader.refuse(node, f"SELECT has no item {node.this}")
            node = select.expressions[place - 1].unalias()
        found.append(
            Sorted(reader.read(node), bool(entry.args.get("desc")), bool(entry.args.get("nulls_first")))
        )
    return found


def _advice(text: str, name: str) -> Words:
    """Return where the keys of a group may be listed, in SQL, in a project file and in Python."""
    dates = _DATE_PART.search(text)
    where = (
        f"WHERE {dates[1]} BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'"
        if dates
        else f"WHERE {text} IN (...)"
    )
    return (
        f"List them: {where}, ",
        Argument("keys", {name: [...]}, of="Python, [tables.NAME.keys] in prdp.toml"),
        ", or JOIN a public table that has them. Or let a part of the share find them: ",
        Argument("keys", {name: "private"}),
        ".",
    )


def _keys(reader: SelectReader, keys: Mapping[str, Any], where: Node | None, queryable: Queryable) -> Any:
    """Return the public keys of all groups, or refuse an entry whose keys nothing public says."""
    together = keys.get(",".join(item.names[0] for item in reader.groups)) if len(reader.groups) > 1 else None
    planner = queryable.planner
    if together is not None:
        pairs = list(together.keys) if isinstance(together, ReleaseTable) else together
        return kept_together(reader.groups, pairs, where, planner)
    lists: list[Any] = []
    for item in reader.groups:
        listed = callers_keys(item, keys)
        search = search_of(listed)
        if search is not None:
            lists.append(search)
            continue
        found = found_keys(item, where, planner) if listed is None else list(listed)
        kept = kept_by_where(item, found or [], where, planner)
        if found and not kept:
            reader.refuse(item.checked.source, f"WHERE leaves none of the listed keys of {item.text}")
        if not found:
            reader.refuse(
                item.checked.source,
                f"the keys of {item.text} are not known, and cannot be read from the records: which values "
                "occur may give one away",
                _advice(item.text, item.names[0]),
            )
        lists.append(kept)
    if any(isinstance(listed, Mapping) for listed in lists):
        return SearchedKeys(tuple(lists))
    return crossed(reader.groups, lists)
