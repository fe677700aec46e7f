"""SELECT over released rows: grouped results in FROM, UNION ALL, subqueries as values, at no cost.

A SELECT is over released rows where FROM names one that aggregates; every other SELECT asks about records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NoReturn

from prdp.errors import Words
from prdp.expressions.nodes import Case, Column, Node, columns, walk
from prdp.schema import ColumnType, Kind, Schema
from prdp.sql.constants import whole_in
from prdp.sql.days import Day, is_odd_use
from prdp.sql.reading import SqlStatement, sql_of
from prdp.sql.refused import refuse_construct, unread
from prdp.sql.released_rows import Item, Sorted
from prdp.sql.row_nodes import CheckedNode, NodeReader
from prdp.sql.scope import Scope, Source, conjuncts
from prdp.sql.windows import FOLDS, Window, read_window


@dataclass(frozen=True, slots=True)
class End:
    """An end of an answer's interval."""

    checked: CheckedNode
    end: int


@dataclass(frozen=True, slots=True)
class Value:
    """A subquery that is one value."""

    relation: Any
    source: Any


Extra = Window | End | Value | Day
"""What an expression over released values has beside them, by its placeholder name."""

ENDS = {"low": 0, "high": 1}
"""The functions that give an end of an interval, and which."""


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate over released rows."""

    function: str
    argument: CheckedNode | None
    held: CheckedNode | None = None


@dataclass(frozen=True, slots=True)
class OutputClauses:
    """The clauses that a SELECT ends with, over released values.

    Attributes:
        items: The columns.
        having: What is true of a row that is kept; None where all are.
        extras: Windows, ends of intervals and subqueries, in the order in which they were read.
        qualify: As ``having``, of windows too.
        order: What rows are sorted by.
        offset: How many rows are left out first.
        limit: How many are kept then; None for all.
        distinct: Whether rows that are alike are one.
    """

    items: tuple[Item, ...]
    having: CheckedNode | None = None
    extras: Mapping[str, Extra] = field(default_factory=dict)
    qualify: CheckedNode | None = None
    order: tuple[Sorted, ...] = ()
    offset: int = 0
    limit: int | None = None
    distinct: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(item.name for item in self.items)

    @property
    def selecting(self) -> Iterator[CheckedNode]:
        """Yield the expressions by whose values rows are selected or sorted, or values shown."""
        yield from (entry.checked for entry in self.order)
        yield from (one for one in (self.having, self.qualify) if one is not None)
        yield from (
            one for extra in self.extras.values() if isinstance(extra, Window) for one in extra.selects
        )
        yield from (item.checked for item in self.items if self.distinct)
        for item in self.items:
            cases = (part for part in walk(item.checked.node) if isinstance(part, Case))
            yield from (replace(item.checked, node=held) for case in cases for held, _ in case.branches)

    def depends(self, node: Node, released: Callable[[str], bool]) -> bool:
        """Return whether an expression depends on released values, by way of windows and ends too."""
        return any(self._is_released(name, released) for name in columns(node))

    def _is_released(self, name: str, released: Callable[[str], bool]) -> bool:
        match self.extras.get(name):
            case None:
                return released(name)
            case End() | Day():
                return True
            case Value() as value:
                return bool(value.relation.column_depends(0))
            case Window() as window:
                used = (one for one in (window.argument, window.default) if one is not None)
                return any(self.depends(one.node, released) for one in (*used, *window.selects))

    def selects(self, released: Callable[[str], bool]) -> bool:
        """Return whether rows are selected or sorted by released values, not by keys alone."""
        return any(self.depends(one.node, released) for one in self.selecting)

    @property
    def relations(self) -> list[Any]:
        """Subqueries that are values."""
        return [extra.relation for extra in self.extras.values() if isinstance(extra, Value)]


@dataclass(frozen=True, slots=True)
class Joined:
    """An entry of FROM beside those before it."""

    relation: Any
    on: tuple[CheckedNode, ...] = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ReleasedSelect:
    """A SELECT over released rows; ``s0c1`` is the second column of the first entry of FROM.

    Attributes:
        statement: The statement.
        sources: FROM.
        where: What is true of a row that is read.
        by: GROUP BY; None where rows are not aggregated.
        folds: The aggregates, by name.
        tail: All else.
    """

    statement: SqlStatement
    sources: tuple[Joined, ...]
    where: CheckedNode | None
    by: tuple[CheckedNode, ...] | None
    folds: Mapping[str, Fold]
    tail: OutputClauses

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.tail.names

    @property
    def kinds(self) -> tuple[Kind | None, ...]:
        """What its columns hold."""
        return tuple(item.checked.kind for item in self.tail.items)

    @property
    def relations(self) -> list[Any]:
        """All that it is computed from."""
        return [*(source.relation for source in self.sources), *self.tail.relations]

    def column_depends(self, place: int) -> bool:
        """Return whether a column depends on released values, not on keys alone."""
        return self.tail.depends(self.tail.items[place].checked.node, self._released)

    def _released(self, name: str) -> bool:
        if name[0] == "f":
            return True
        if name[0] == "k":
            assert self.by is not None  # noqa: S101  (it has keys)
            return any(map(self._released, columns(self.by[int(name[1:])].node)))
        source, _, place = name[1:].partition("c")
        return bool(self.sources[int(source)].relation.column_depends(int(place)))

    @property
    def is_one_row(self) -> bool:
        """True if there is one row at most."""
        return self.by == () or self.tail.limit == 1

    @property
    def selects(self) -> bool:
        """True if rows are selected, sorted or distinguished by released values."""
        used = [*(self.by or ()), *(held for source in self.sources for held in source.on)]
        used += [] if self.where is None else [self.where]
        used += [fold.held for fold in self.folds.values() if fold.held is not None]
        own = any(self._released(name) for one in used for name in columns(one.node))
        return own or self.tail.selects(self._released)


@dataclass(frozen=True, slots=True)
class Union:
    """Rows of two relations, one after the other."""

    statement: SqlStatement
    left: Any
    right: Any
    tail: OutputClauses

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the left one's columns."""
        return self.tail.names

    @property
    def kinds(self) -> tuple[Kind | None, ...]:
        """What its columns hold."""
        return tuple(item.checked.kind for item in self.tail.items)

    @property
    def relations(self) -> list[Any]:
        """Both."""
        return [self.left, self.right, *self.tail.relations]

    def column_depends(self, place: int) -> bool:
        """Return whether a column depends on released values."""
        return bool(self.left.column_depends(place) or self.right.column_depends(place))

    @property
    def is_one_row(self) -> bool:
        """True if there is one row at most."""
        return self.tail.limit == 1

    @property
    def selects(self) -> bool:
        """True if rows are selected or sorted by released values."""
        return self.tail.selects(lambda name: self.column_depends(int(name[1:])))


@dataclass(frozen=True, slots=True)
class PublicRows:
    """The rows of a public table, beside grouped results."""

    names: tuple[str, ...]
    kinds: tuple[Kind | None, ...]
    rows: tuple[tuple[Any, ...], ...]

    relations: ClassVar[list[Any]] = []
    selects: ClassVar = False
    is_one_row: ClassVar = False

    def column_depends(self, _place: int) -> bool:
        """Return that no column depends on released values."""
        return False


Compile = Callable[[Any], Any]
"""Reads a subquery as a relation of released rows."""


@dataclass(slots=True)
class ExtraReader:
    """Reads windows, ends of intervals and subqueries of one SELECT; a reader of expressions owns it.

    Attributes:
        statement: The statement.
        relation: Reads a subquery as a relation of released rows; None where there are none.
        extras: What was read so far.
    """

    statement: SqlStatement
    relation: Compile | None = None
    extras: dict[str, Extra] = field(default_factory=dict)

    def read(self, node: Any, reader: Any) -> Node | None:
        """Return the placeholder of a window, an end or a subquery; None of anything else."""
        kind = type(node).__name__
        if kind == "Window":
            return self.named("w", read_window(reader, node))
        if kind == "Anonymous" and node.name.lower() in ENDS:
            if len(node.expressions) != 1:
                self.statement.refuse(node, f"{node.name} takes one answer", f"Write {node.name}(COUNT(*)).")
            return self.named("e", End(reader.read(node.expressions[0]), ENDS[node.name.lower()]))
        if kind == "Subquery" and self.relation is not None and unread(node, ("this",)) is None:
            return self._value(node)
        return None

    def _value(self, node: Any) -> Node:
        assert self.relation is not None  # noqa: S101  (asked by `read`)
        relation = self.relation(node.this)
        if len(relation.names) != 1 or not relation.is_one_row:
            self.statement.refuse(
                node,
                "a subquery as a value has one row of one column",
                "For example: (SELECT COUNT(*) FROM t).",
            )
        return self.named("v", Value(relation, node))

    def named(self, letter: str, extra: Extra) -> Node:
        """Return the placeholder of what was read; the same has one name."""
        name = next((name for name, known in self.extras.items() if known == extra), "")
        name = name or f"{letter}{len(self.extras)}"
        self.extras[name] = extra
        return Column(name)

    @property
    def days(self) -> frozenset[str]:
        """The names of days that are released."""
        return frozenset(
            name
            for name, extra in self.extras.items()
            if isinstance(extra, Day) or (isinstance(extra, Value) and 0 in days_of(extra.relation))
        )

    @property
    def schema(self) -> Schema:
        """The types of what was read."""
        kinds = {name: _kind_of(extra) for name, extra in self.extras.items()}
        return {name: ColumnType(kind) for name, kind in kinds.items()}


def _kind_of(extra: Extra) -> Kind:
    match extra:
        case Window(
            function="min" | "max" | "lag" | "lead" | "first_value" | "last_value", argument=argument
        ):
            assert argument is not None  # noqa: S101  (read so)
            return argument.kind or Kind.NUMBER
        case Value(relation=relation):
            return relation.kinds[0] or Kind.NUMBER
        case End():
            return extra.checked.kind or Kind.NUMBER
        case Day():
            return Kind.MOMENT
        case _:
            return Kind.NUMBER


def days_of(relation: Any) -> frozenset[int]:
    """Return which columns of a relation are days that were released, not keys."""
    moments = (place for place, kind in enumerate(relation.kinds) if kind is Kind.MOMENT)
    return frozenset(filter(relation.column_depends, moments))


def _refuse_odd_days(reader: Any, tail: OutputClauses) -> None:
    """Refuse what is computed from days that were released: they are selected, sorted by and compared."""
    days: frozenset[str] = reader.days
    ends = [extra.checked for extra in tail.extras.values() if isinstance(extra, End)]
    plain = [item.checked for item in tail.items] + ends
    windows = [extra for extra in tail.extras.values() if isinstance(extra, Window)]
    within = [
        one
        for window in windows
        for one in (window.argument, window.default, *window.selects)
        if one is not None
    ]
    odd = [one for one in plain if not isinstance(one.node, Column) and is_odd_use(one.node, days)]
    odd += [one for one in within if columns(one.node) & days]
    if odd:
        reader.refuse(
            odd[0].source,
            "nothing is computed from the MIN or MAX of a date",
            "Select it alone, sort by it, compare it in HAVING, or write date_diff('day', MIN(d), MAX(d)).",
        )


@dataclass(slots=True)
class ReleasedReader:
    """Reads the expressions of a SELECT over released rows, one after the other."""

    statement: SqlStatement
    scope: Scope
    kinds: Schema
    extra: ExtraReader
    groups: tuple[CheckedNode, ...] | None = None
    aliases: dict[str, Node] = field(default_factory=dict)
    folds: dict[str, Fold] = field(default_factory=dict)
    moments: frozenset[str] = frozenset()

    @property
    def days(self) -> frozenset[str]:
        """The names of days that were released."""
        return self.moments | self.extra.days

    def read(self, node: Any) -> CheckedNode:
        """Return an expression, checked."""
        reader = NodeReader(self.statement, self._leaf)
        return reader.check(reader.read(node), node, self.schema)

    @property
    def schema(self) -> Schema:
        """The names that expressions have, and what they hold."""
        keys = {f"k{place}": one.kind or Kind.NUMBER for place, one in enumerate(self.groups or ())}
        known = {name: ColumnType(kind) for name, kind in keys.items()}
        folds = {name: ColumnType(_fold_kind(fold)) for name, fold in self.folds.items()}
        return {**self.kinds, **known, **folds, **self.extra.schema}

    def row(self, node: Any, expected: Kind | None = None) -> CheckedNode:
        """Return an expression over one row before it is aggregated."""
        reader = NodeReader(self.statement, self._row_leaf)
        return reader.check(reader.read(node), node, {**self.kinds, **self.extra.schema}, expected)

    def _row_leaf(self, node: Any) -> Node | None:
        if type(node).__name__ == "Column":
            return self.scope.column(node)
        return self.extra.read(node, self) if type(node).__name__ == "Subquery" else None

    def _leaf(self, node: Any) -> Node | None:
        kind = type(node).__name__
        found = self.extra.read(node, self)
        if found is not None:
            return found
        if self.groups is not None:
            if kind in FOLDS or kind == "Filter":
                return self._fold(node)
            if any(base.__name__ == "AggFunc" for base in type(node).__mro__):
                self.refuse(
                    node,
                    "grouped results are aggregated by SUM, COUNT, AVG, MIN and MAX alone",
                    "Ask for the results themselves, and compute it from them.",
                )
            key = self._key(node)
            if key is not None:
                return key
        if kind == "Column":
            return self._column(node)
        return None

    def _column(self, node: Any) -> Node:
        known = None if node.table else self.aliases.get(node.name.lower())
        here = any(node.name.lower() == name.lower() for one in self.scope.sources for name in one.columns)
        if known is not None and (self.groups is not None or not here):
            return known
        found = self.scope.column(node)
        if self.groups is not None:
            self.statement.refuse(
                node, f"{sql_of(node)} is not grouped by", "GROUP BY it, or aggregate it: SUM(x), MAX(x)."
            )
        return found

    def _key(self, node: Any) -> Node | None:
        assert self.groups is not None  # noqa: S101  (asked by `_leaf`)
        if type(node).__name__ == "Literal":
            return None
        for place, group in enumerate(self.groups):
            if group.source == node or (
                type(node).__name__ == "Column"
                and self._is_here(node)
                and group.node == self.scope.column(node)
            ):
                return Column(f"k{place}")
        return None

    def _is_here(self, node: Any) -> bool:
        return any(node.name.lower() == name.lower() for one in self.scope.sources for name in one.columns)

    def _fold(self, node: Any) -> Node:
        held = None
        if type(node).__name__ == "Filter":
            held, node = self.row(node.expression.this, Kind.BOOLEAN), node.this
        name = type(node).__name__
        if name not in FOLDS or unread(node, ("this", "big_int")) is not None:
            refuse_construct(self.statement, node)
        inner = node.this
        if type(inner).__name__ == "Distinct":
            self.statement.refuse(node, "DISTINCT is not read over grouped results", "Leave it out.")
        expected = {"Sum": Kind.NUMBER, "Avg": Kind.NUMBER, "CountIf": Kind.BOOLEAN}.get(name)
        argument = None if type(inner).__name__ == "Star" else self.row(inner, expected)
        if argument is not None and columns(argument.node) & self.days:
            self.statement.refuse(node, "grouped results are not aggregated by the MIN or MAX of a date")
        fold = Fold(FOLDS[name], argument, held)
        called = next((name for name, known in self.folds.items() if known == fold), f"f{len(self.folds)}")
        self.folds[called] = fold
        return Column(called)

    def name(self, alias: str, checked: CheckedNode) -> None:
        """Let later parts of the statement call an item by its name."""
        self.aliases[alias.lower()] = checked.node

    def read_order(self, clause: Any, items: tuple[Any, ...] = ()) -> tuple[Sorted, ...]:
        """Return the entries of ORDER BY; a whole number is the place of an item."""
        return read_sorted(self, clause, items)

    def refuse(self, node: Any, reason: Words, advice: Words = "") -> NoReturn:
        """Refuse a part of the statement, underlined."""
        self.statement.refuse(node, reason, advice)


def _fold_kind(fold: Fold) -> Kind:
    extreme = fold.function in {"min", "max"} and fold.argument is not None
    return (fold.argument.kind or Kind.NUMBER) if extreme and fold.argument is not None else Kind.NUMBER


def read_sorted(reader: Any, clause: Any, items: Iterable[Any] = ()) -> tuple[Sorted, ...]:
    """Return the entries of ORDER BY; a whole number is the place of one of the items."""
    found, listed = [], list(items)
    entries = clause.expressions if clause is not None else []
    if len(entries) == 1 and type(entries[0].this).__name__ == "Var" and entries[0].name.upper() == "ALL":
        entries = [_like(entries[0], item) for item in listed]
    for entry in entries:
        if unread(entry, ("this", "desc", "nulls_first")) is not None:
            reader.refuse(entry, "ORDER BY takes what is selected, ASC or DESC")
        node = entry.this
        if type(node).__name__ == "Literal" and not node.is_string:
            place = whole_in(node) or 0
            if not 1 <= place <= len(listed):
                reader.refuse(node, f"SELECT has no item {node.this}")
            node = listed[place - 1].unalias()
        found.append(
            Sorted(reader.read(node), bool(entry.args.get("desc")), bool(entry.args.get("nulls_first")))
        )
    return tuple(found)


def _like(entry: Any, item: Any) -> Any:
    """Return an entry of ORDER BY with an item in place of ALL."""
    one = entry.copy()
    one.set("this", item.unalias().copy())
    return one


_SELECT = (
    *("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_"),
    *("qualify", "distinct"),
)


def aggregates(select: Any) -> bool:
    """Return whether a SELECT aggregates its rows, apart from windows over them."""
    if select.args.get("group") is not None or select.args.get("having") is not None:
        return True
    return any(_aggregated(item) for item in select.expressions)


def _aggregated(node: Any) -> bool:
    kind = type(node).__name__
    if kind == "Subquery":
        return False
    if kind != "Window" and any(base.__name__ == "AggFunc" for base in type(node).__mro__):
        return True
    parts = list(node.this.iter_expressions()) if kind == "Window" else []
    parts += [part for part in node.iter_expressions() if kind != "Window" or part is not node.this]
    return any(map(_aggregated, parts))


def released_select(
    statement: SqlStatement, select: Any, entry: Callable[[Any], tuple[str, Any]], relation: Compile
) -> ReleasedSelect:
    """Return a SELECT over released rows, checked; ``entry`` reads one entry of FROM."""
    odd = unread(select, _SELECT)
    if odd is not None:
        statement.refuse(odd if hasattr(odd, "walk") else select, "this is not read over grouped results")
    sources: list[Source] = []
    joined: list[Joined] = []
    kinds: dict[str, ColumnType] = {}
    extra = ExtraReader(statement, relation)

    def add(node: Any) -> None:
        alias, found = entry(node)
        place = len(joined)
        if any(source.alias.lower() == alias.lower() for source in sources):
            statement.refuse(node, f"{alias} appears twice in FROM", "Name it with AS.")
        names = [f"s{place}c{k}" for k in range(len(found.names))]
        kinds.update(
            {name: ColumnType(kind or Kind.NUMBER) for name, kind in zip(names, found.kinds, strict=True)}
        )
        merged: dict[str, Callable[[], Node]] = {}
        for name, called in zip(found.names, names, strict=True):
            merged.setdefault(name, partial(Column, called))
        sources.append(Source(alias, merged))
        joined.append(Joined(found))

    add(select.args["from_"].this)
    for join in (*(select.args["from_"].this.args.get("joins") or ()), *(select.args.get("joins") or ())):
        _join(statement, join, add, sources, joined, kinds, extra)
    scope = Scope(statement, tuple(sources))
    moments = frozenset(
        f"s{place}c{k}" for place, source in enumerate(joined) for k in days_of(source.relation)
    )
    reader = ReleasedReader(statement, scope, kinds, extra, moments=moments)
    where = select.args.get("where")
    held = None if where is None else reader.row(where.this, Kind.BOOLEAN)
    reader.groups = _groups(reader, select)
    tail = read_output(reader, select, extra, partial(_starred, scope))
    return ReleasedSelect(statement, tuple(joined), held, reader.groups, dict(reader.folds), tail)


def _join(  # noqa: PLR0917  (the entries of FROM so far)
    statement: SqlStatement,
    join: Any,
    add: Callable[[Any], None],
    sources: list[Source],
    joined: list[Joined],
    kinds: Schema,
    extra: ExtraReader,
) -> None:
    side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
    odd = unread(join, ("this", "on", "using", "side", "kind"))
    if odd is not None or kind not in {"", "INNER", "CROSS", "OUTER"} or side not in {"", "LEFT"}:
        statement.refuse(join.this, "this join of grouped results is not read", "JOIN and LEFT JOIN are.")
    add(join.this)
    scope = Scope(statement, tuple(sources))
    reader = ReleasedReader(statement, scope, kinds, extra)
    on = [reader.row(part, Kind.BOOLEAN) for part in conjuncts(join.args.get("on"))]
    for name in join.args.get("using") or []:
        on.append(_used(reader, name, sources))
        sources[-1] = replace(sources[-1], merged=sources[-1].merged | _named(sources[-1], name))
    joined[-1] = replace(joined[-1], on=tuple(on), optional=side == "LEFT")


def _named(source: Source, name: Any) -> frozenset[str]:
    return frozenset(column for column in source.columns if column.lower() == name.name.lower())


def _used(reader: ReleasedReader, name: Any, sources: list[Source]) -> CheckedNode:
    from sqlglot import exp  # noqa: PLC0415  (an extra)

    left = next((one for one in sources[:-1] if _named(one, name)), sources[0])
    sides = [exp.Column(this=name.copy(), table=exp.to_identifier(one.alias)) for one in (left, sources[-1])]
    return reader.row(exp.EQ(this=sides[0], expression=sides[1]), Kind.BOOLEAN)


def _groups(reader: ReleasedReader, select: Any) -> tuple[CheckedNode, ...] | None:
    clause = select.args.get("group")
    if clause is None:
        return () if aggregates(select) else None
    if unread(clause, ("expressions",)) is not None:
        reader.refuse(clause, "over grouped results, GROUP BY takes columns and expressions")
    return tuple(reader.row(_entry(reader, entry, select)) for entry in clause.expressions)


def _entry(reader: ReleasedReader, entry: Any, select: Any) -> Any:
    """Return what an entry of GROUP BY means: a place, an alias of SELECT, or itself."""
    if type(entry).__name__ == "Literal" and not entry.is_string:
        place = whole_in(entry) or 0
        if not 1 <= place <= len(select.expressions):
            reader.refuse(entry, f"SELECT has no item {entry.this}")
        return select.expressions[place - 1].unalias()
    if type(entry).__name__ == "Column" and not entry.table:
        here = any(entry.name.lower() == name.lower() for one in reader.scope.sources for name in one.columns)
        same = [item for item in select.expressions if item.alias.lower() == entry.name.lower()]
        return same[0].unalias() if same and not here else entry
    return entry


def _starred(scope: Scope, node: Any) -> list[tuple[str, Node]]:
    """Return the columns of a star."""
    table = "" if type(node).__name__ == "Star" else node.table
    if unread(node, ("this", "table")) is not None:
        scope.statement.refuse(node, "* is read without EXCLUDE and REPLACE")
    return [
        (name, column())
        for source in scope.sources
        for name, column in source.columns.items()
        if (not table or source.alias.lower() == table.lower()) and (table or name not in source.merged)
    ]


def read_output(
    reader: Any,
    select: Any,
    extra: ExtraReader,
    starred: Callable[[Any], list[tuple[str, Node]]] | None = None,
) -> OutputClauses:
    """Return the clauses over released values, read in SQL's own order."""
    items: list[Item] = []
    for node in select.expressions:
        star = type(node).__name__ == "Star" or type(node.this).__name__ == "Star"
        if star and starred is not None and type(node).__name__ in {"Star", "Column"}:
            kinds = reader.schema
            items += [
                Item(name, CheckedNode(found, kinds[found.name].kind, node))
                for name, found in starred(node)
                if isinstance(found, Column)
            ]
            continue
        checked = reader.read(node.unalias())
        if node.alias:
            reader.name(node.alias, checked)
        items.append(Item(name_of(node), checked))
    clause = select.args.get("having")
    before = set(extra.extras)
    kept = None if clause is None else read_condition(reader, clause.this)
    if any(isinstance(extra.extras[name], Window) for name in extra.extras.keys() - before):
        reader.refuse(clause, "windows are not read in HAVING", "Write QUALIFY.")
    qualify = select.args.get("qualify")
    tail = OutputClauses(
        tuple(items),
        kept,
        extra.extras,
        None if qualify is None else read_condition(reader, qualify.this),
        read_sorted(reader, select.args.get("order"), select.expressions),
        whole_number(reader.statement, select, "offset") or 0,
        whole_number(reader.statement, select, "limit"),
        distinct=select.args.get("distinct") is not None,
    )
    _refuse_odd_days(reader, tail)
    return tail


def read_condition(reader: Any, node: Any) -> CheckedNode:
    """Return the condition of HAVING or QUALIFY, over answers and keys."""
    checked: CheckedNode = reader.read(node)
    if checked.kind not in {None, Kind.BOOLEAN}:
        reader.refuse(node, "HAVING needs a condition", "For example: HAVING COUNT(*) > 100.")
    return checked


def name_of(node: Any) -> str:
    """Return what a column of the answers is called: its alias, its column, or its SQL."""
    if node.alias or type(node).__name__ == "Column":
        return str(node.alias or node.name)
    return sql_of(node)


def whole_number(statement: SqlStatement, select: Any, clause: str) -> int | None:
    """Return the number of LIMIT or OFFSET."""
    node = select.args.get(clause)
    if node is None:
        return None
    number = whole_in(node.expression)
    if unread(node, ("expression",)) is not None or number is None:
        statement.refuse(node, f"{clause.upper()} takes a whole number", f"Write {clause.upper()} 10.")
    return number


def union_of(statement: SqlStatement, tree: Any, left: Any, right: Any) -> Union:
    """Return the rows of two relations and what follows them, or refuse columns that differ."""
    if len(left.names) != len(right.names):
        statement.refuse(
            tree.expression, f"UNION has {len(left.names)} columns before it and {len(right.names)} after it"
        )
    for name, one, other in zip(left.names, left.kinds, right.kinds, strict=True):
        if one is not None and other is not None and one is not other:
            statement.refuse(
                tree.expression,
                f"the column {name} holds {one.value} before UNION, and {other.value} after it",
            )
    kinds = [one or other for one, other in zip(left.kinds, right.kinds, strict=True)]
    called = {name: f"c{place}" for place, name in reversed(list(enumerate(left.names)))}
    items = tuple(
        Item(name, CheckedNode(Column(f"c{place}"), kind, tree))
        for place, (name, kind) in enumerate(zip(left.names, kinds, strict=True))
    )
    source = Source("", {name: partial(Column, column) for name, column in called.items()})
    schema = {f"c{place}": ColumnType(kind or Kind.NUMBER) for place, kind in enumerate(kinds)}
    extra = ExtraReader(statement)
    reader = ReleasedReader(statement, Scope(statement, (source,)), schema, extra)
    order = tree.args.get("order")
    listed = [_place(name) for name in left.names]
    tail = OutputClauses(
        items,
        extras=extra.extras,
        order=read_sorted(reader, order, listed),
        offset=whole_number(statement, tree, "offset") or 0,
        limit=whole_number(statement, tree, "limit"),
        distinct=bool(tree.args.get("distinct")),
    )
    return Union(statement, left, right, tail)


def _place(name: str) -> Any:
    from sqlglot import exp  # noqa: PLC0415  (an extra)

    return exp.column(exp.to_identifier(name, quoted=True))
