"""Read the SELECT list: aggregates become queries, and expressions over them are over their answers.

Names of answers are made here: ``a0`` is the first query's answer, ``a0_1`` the second part of it, ``k0`` the
first key, ``e0`` an end of an interval. They are in no statement, since columns are found before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

from prdp.errors import SqlError, Words
from prdp.expressions.nodes import (
    Arithmetic,
    Case,
    Column,
    IsNull,
    Node,
    Null,
    Number,
    columns,
    conjuncts,
    ones,
    ones_unless,
)
from prdp.plan.queries import Count, CountDistinct, OfUnits, Query, Sum
from prdp.schema import ColumnType, Kind, Schema
from prdp.sql.aggregates import AGGREGATE_RULES
from prdp.sql.days import DayLimits
from prdp.sql.grouping import GroupItem
from prdp.sql.membership import row_leaf
from prdp.sql.plausible import PublicFacts
from prdp.sql.reading import SqlStatement, sql_of
from prdp.sql.refused import refuse_construct, unread
from prdp.sql.released_rows import Sorted, with_nodes
from prdp.sql.released_select import ExtraReader, read_sorted
from prdp.sql.row_nodes import CheckedNode, NodeReader
from prdp.sql.scope import Names, RowRelation

MAX_AGGREGATES = 50
"""Each reads the records and is planned beside all others; more share a budget that is too thin for them."""


@dataclass(slots=True)
class SelectReader:
    """Reads what is selected, one expression after the other.

    Attributes:
        names: What FROM may name.
        relation: The rows that are asked about.
        schema: The columns of the tables that are asked.
        groups: What groups are distinguished by.
        has_margins: Whether some rows are margins, of which GROUPING(x) says by what they are not.
        hoisted: A FILTER that all aggregates have, and that is part of WHERE instead.
        where: The condition of WHERE, once it is read.
        aliases: What earlier items are called, and what they are.
        queries: What is asked so far, each once.
        sources: For each query, the first part of the statement that asks it.
        facts: What is public of the columns.
        extra: Reads windows, ends of intervals and subqueries as values.
        notes: Notes on how aggregates were read, where SQL would read them otherwise.
    """

    names: Names
    relation: RowRelation
    schema: Schema
    groups: tuple[GroupItem, ...] = ()
    has_margins: bool = False
    hoisted: Node | None = None
    where: Node | None = None
    aliases: dict[str, Node] = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)
    sources: list[Any] = field(default_factory=list)
    extra: ExtraReader = field(init=False)
    facts: PublicFacts = field(default_factory=lambda: PublicFacts((), {}))
    notes: list[str] = field(default_factory=list)
    _filter: Node | None = None

    def __post_init__(self) -> None:
        """Begin without windows, ends and subqueries."""
        self.extra = ExtraReader(self.names.statement)

    @property
    def statement(self) -> SqlStatement:
        """The statement."""
        return self.names.statement

    def read_order(self, clause: Any, items: Sequence[Any] = ()) -> tuple[Sorted, ...]:
        """Return the entries of ORDER BY; a whole number is the place of an item."""
        return read_sorted(self, clause, items)

    def read(self, node: Any) -> CheckedNode:
        """Return an expression over answers and keys, checked; aggregates in it are asked."""
        reader = NodeReader(self.names.statement, self._leaf)
        return reader.check(reader.read(node), node, self.answer_schema)

    @property
    def answer_schema(self) -> Schema:
        """The names that expressions over answers have, and what they hold."""
        kinds = {f"k{place}": item.checked.kind or Kind.NUMBER for place, item in enumerate(self.groups)}
        known = {name: ColumnType(kind) for name, kind in kinds.items()}
        numbers = [f"a{place}" for place in range(len(self.queries))]
        numbers += [f"a{place}_1" for place in range(len(self.queries))]
        numbers += [f"g{place}" for place in range(len(self.groups) * self.has_margins)]
        return known | dict.fromkeys(numbers, ColumnType(Kind.NUMBER)) | dict(self.extra.schema)

    def name(self, alias: str, checked: CheckedNode) -> None:
        """Let later parts of the statement call an item by its name."""
        self.aliases[alias.lower()] = checked.node

    # Parts that only answers have.

    def _leaf(self, node: Any) -> Node | None:
        kind = type(node).__name__
        if kind in AGGREGATE_RULES or kind == "Filter":
            return self._aggregate(node)
        if kind == "Grouping" and self.has_margins:
            return self.grouping(node)
        if kind == "Window":
            self._refuse_window_over_rows(node)
        found = self.extra.read(node, self)
        if found is not None:
            return found
        key = self._key(node)
        if key is not None:
            return key
        if kind == "Column":
            return self._alias(node)
        if kind == "In" and node.args.get("query") is not None:
            refuse_construct(self.names.statement, node.args["query"])
        return None

    def _aggregate(self, node: Any) -> Node:
        inner = node
        if type(node).__name__ == "Filter":
            inner = node.this
            self._filter = self.filter_of(node)
            self._filter = None if self._filter == self.hoisted else self._filter
        rule = AGGREGATE_RULES.get(type(inner).__name__)
        if rule is None or rule.rule is None:
            refuse_construct(self.names.statement, inner)
        if unread(inner, rule.reads) is not None:
            self.refuse(inner, "this has a part that is not read")
        if inner.args.get("this") is None:
            self.refuse(inner, "this aggregate is over nothing", "Write COUNT(*), or SUM(x).")
        if self.relation.per_unit is not None:
            return self._per_unit(inner, self.relation.per_unit)
        if self.relation.has_rows and type(inner.this).__name__ != "Star":
            self.refuse(inner, "of records that have a row, COUNT(*) is answered alone", "Write COUNT(*).")
        found: Node = rule.rule(self, inner)
        self._filter = None
        return found

    def filter_of(self, node: Any) -> Node:
        """Return the condition of a FILTER."""
        if unread(node, ("this", "expression")) is not None:
            self.refuse(node, "this FILTER has a part that is not read")
        held = self._row(node.expression.this, Kind.BOOLEAN)
        for part in conjuncts(held):
            self.notes += self.facts.check(part, partial(self.refuse, node.expression))
        return held

    def grouping(self, node: Any) -> Node:
        """Return 1 where a margin is not by a column, and 0 where it is; of several columns, as bits."""
        found: Node | None = None
        for part in node.expressions:
            key = self._key(part)
            if not isinstance(key, Column):
                self.refuse(part, "GROUPING takes what is grouped by", "For example: GROUPING(job).")
            bit = Column(f"g{key.name[1:]}")
            found = bit if found is None else Arithmetic("+", Arithmetic("*", Number(2.0), found), bit)
        if found is None:
            self.refuse(node, "GROUPING takes what is grouped by", "For example: GROUPING(job).")
        return found

    def _refuse_window_over_rows(self, node: Any) -> None:
        """Refuse a window over what is neither aggregated nor grouped by."""
        parts = [part for part in node.this.iter_expressions() if type(part).__name__ != "Star"]
        bare = [
            part
            for part in parts
            if any(type(each).__name__ == "Column" for each in part.walk())
            and not any(type(each).__name__ in AGGREGATE_RULES for each in part.walk())
            and not (type(part).__name__ == "Column" and part.name.lower() in self.aliases)
            and self._key(part) is None
        ]
        if bare:
            refuse_construct(self.names.statement, node)

    def _key(self, node: Any) -> Node | None:
        """Return the placeholder of a key, where an expression is one that is grouped by."""
        if not self.groups or type(node).__name__ == "Literal":
            return None
        try:
            part, row = self._cut(node)
        except SqlError:  # it is no expression over rows
            return None
        for place, item in enumerate(self.groups):
            if (part, row) == (item.part, item.checked.node):
                return Column(f"k{place}")
        return None

    def _cut(self, node: Any) -> tuple[str, Node]:
        """Return what a moment is cut to, if it is, and the expression over rows."""
        if type(node).__name__ in {"TimestampTrunc", "DateTrunc"}:
            return unit_of(node), self._row(node.this)
        return "", self._row(node)

    def _alias(self, node: Any) -> Node:
        """Return what an earlier item is; a column that is neither that nor grouped by never gets through."""
        known = None if node.table else self.aliases.get(node.name.lower())
        if known is None:
            self.names_column(node)
            refuse_construct(self.names.statement, node)
        return known

    def names_column(self, node: Any) -> None:
        """Refuse a name that is not a column either, and say what is."""
        if type(node.this).__name__ != "Star":
            self.relation.scope(self.names.statement).find(node)

    def _per_unit(self, node: Any, columns: Mapping[str, tuple[str, Any]]) -> Node:
        """Return an aggregate over what the rows of each protected record add up to."""
        privacy_unit, inner = self.names.catalog.unit, self.relation.inner
        assert privacy_unit is not None  # noqa: S101  (such a relation has units)
        assert inner is not None  # noqa: S101
        kind, of = type(node).__name__, node.this
        if kind in _OF_TOTALS:
            if self._filter is not None:
                self.refuse(node, "FILTER is not read over what a record's rows add up to")
            read: Any = AGGREGATE_RULES[kind].rule
            found: Node = read(Totals(self, columns, inner), node)
            return found
        of = of.expressions[0] if kind == "Count" and type(of).__name__ == "Distinct" else of
        what, source = ("id", None)
        if type(of).__name__ == "Column":
            known = {name.lower(): column for name, column in columns.items()}
            if of.name.lower() not in known:
                self.refuse(of, f"there is no column {of.name}", f"The columns are {', '.join(columns)}.")
            what, source = known[of.name.lower()]
        if self._filter is not None or (type(of).__name__ not in {"Column", "Star"}):
            self.refuse(node, _ANSWERED)
        if kind == "Count" and what == "id":
            return self.ask(CountDistinct(privacy_unit.id), node)
        if kind not in {"Sum", "Avg"} or what not in {"sum", "count"}:
            made = "add up to" if what in {"sum", "count"} else "have"
            self.refuse(
                node, f"{node.key.upper()} of what a record's rows {made} is not answered yet", _OF_SUMS
            )
        total = self.ask(self._unit_total(what, source, inner), node)
        if kind == "Sum":
            return total
        if what == "sum":
            self.notes.append(
                f"{sql_of(node)}: {privacy_unit.id} whose values are all NULL count, with a sum of 0"
            )
        return Arithmetic("/", total, self.ask(CountDistinct(privacy_unit.id), node))

    def _unit_total(self, what: str, source: Any, inner: RowRelation) -> Query:
        """Return the query that adds up what all rows of all records add up to."""
        if what == "count" and type(source).__name__ == "Star":
            return Count()
        scope = inner.scope(self.names.statement)
        reader = NodeReader(self.names.statement, row_leaf(scope, self.names))
        row = reader.checked(source, self.schema).node
        return Sum.of_node(ones_unless(IsNull(row)) if what == "count" else row)

    # What aggregates are read with.

    def _row(self, node: Any, expected: Kind | None = None) -> Node:
        scope = self.relation.scope(self.names.statement)
        reader = NodeReader(self.names.statement, row_leaf(scope, self.names))
        return reader.checked(node, self.schema, expected).node

    def row(self, node: Any, expected: Kind | None = None) -> Node:
        """Return what an aggregate is over, within its FILTER."""
        row = self._row(node, expected)
        self.notes += self.facts.notes(row)
        return row if self._filter is None else Case(((self._filter, row),), Null())

    def kind(self, node: Any) -> Kind | None:
        """Return what an expression over rows gives; None where that is NULL alone."""
        scope = self.relation.scope(self.names.statement)
        reader = NodeReader(self.names.statement, row_leaf(scope, self.names))
        return reader.checked(node, self.schema).kind

    def of_keys(self, node: Any) -> Node | None:
        """Return what follows from the keys of a group, in their placeholders; None of anything else.

        All rows of a group have its keys, and what a public table says of them: its least, largest and mean
        are the same public value.
        """
        if self.has_margins or self._filter is not None:
            return None
        keys = {
            item.checked.node.name: Column(f"k{place}")
            for place, item in enumerate(self.groups)
            if not item.part and isinstance(item.checked.node, Column)
        }
        row = self._row(node)
        return with_nodes(row, keys) if columns(row) and columns(row) <= keys.keys() else None

    def day(self, node: Any, source: Any, *, latest: bool) -> Node | None:
        """Return the placeholder of the first or last day; None where WHERE does not limit it."""
        held = [one for part in (self.where, self.hoisted, self._filter) for one in conjuncts(part)]
        asked = DayLimits.of(self._row(node), held).asked(self.row(node), latest=latest)
        if asked is None:
            return None
        query, day = asked
        return self.extra.named("d", day(self.ask(query, source)))

    @property
    def days(self) -> frozenset[str]:
        """The names of days that are released."""
        return self.extra.days

    def rows(self, source: Any) -> Node:
        """Return the placeholder of the number of rows, or of records that have one."""
        if self.relation.has_rows:
            privacy_unit = self.names.catalog.unit
            assert privacy_unit is not None  # noqa: S101  (EXISTS over their rows is read for a join alone)
            if self._filter is not None:
                self.refuse(source, "FILTER is not read beside EXISTS", "Put the condition in WHERE.")
            return self.ask(CountDistinct(privacy_unit.id), source)
        if self._filter is not None:
            return self.ask(Sum.of_node(ones(self._filter)), source)
        return self.ask(Count(), source)

    def ask(self, query: Query, source: Any, part: int | None = None) -> Column:
        """Return the placeholder of a query's answer, or for a part of it; the same query is asked once."""
        if query not in self.queries and len(self.queries) >= MAX_AGGREGATES:
            self.refuse(
                source,
                f"a statement has at most {MAX_AGGREGATES} different aggregates",
                "Ask several statements.",
            )
        if query not in self.queries:
            self.queries.append(query)
            self.sources.append(source)
        place = self.queries.index(query)
        return Column(f"a{place}" if part is None else f"a{place}_{part}")

    def refuse(self, node: Any, reason: Words, advice: Words = "") -> NoReturn:
        """Refuse a part of the statement, underlined."""
        self.names.statement.refuse(node, reason, advice)


_OF_TOTALS = frozenset(
    {"Max", "Min", "Median", "PercentileCont", "PercentileDisc", "Quantile", "WithinGroup"}
)
_ANSWERED = (
    "over records, COUNT(*), SUM(x), AVG(x), MEDIAN(x), MIN(x) and MAX(x) of plain columns are answered"
)
_OF_SUMS = "COUNT(*), MEDIAN(x), MIN(x) and MAX(x) are, and of sums and counts SUM(x) and AVG(x)."


@dataclass(slots=True)
class Totals:
    """Context of a quantile or an extreme over what the rows of each protected record make.

    Attributes:
        select: The list of items that it is in.
        columns: The subquery's columns: what each makes of rows, and of what.
        inner: The rows of the subquery.
        fold: What the column that was read makes of a record's rows.
    """

    select: SelectReader
    columns: Mapping[str, tuple[str, Any]]
    inner: RowRelation
    fold: Any = None

    def row(self, node: Any, expected: Kind | None = None) -> Node:  # noqa: ARG002  (numbers alone are made)
        """Return what of a row is folded; of rows that are counted, ones."""
        known = {name.lower(): column for name, column in self.columns.items()}
        if type(node).__name__ != "Column":
            self.refuse(node, _ANSWERED)
        if node.name.lower() not in known:
            self.refuse(
                node, f"there is no column {node.name}", f"The columns are {', '.join(self.columns)}."
            )
        self.fold, source = known[node.name.lower()]
        names, unit = self.select.names, self.select.names.catalog.unit
        assert unit is not None  # noqa: S101  (such a relation has units)
        if self.fold == "id":
            self.refuse(node, f"{node.name} names protected records", "Ask about what their rows add up to.")
        if type(source).__name__ == "Star":
            return Column(unit.id)  # every row of a record has it
        reader = NodeReader(names.statement, row_leaf(self.inner.scope(names.statement), names))
        return reader.checked(source, self.select.schema).node

    def kind(self, node: Any) -> Kind | None:  # noqa: ARG002
        """Return the kind of numbers: whether rows have them is found when the query is planned."""
        return Kind.NUMBER

    def of_keys(self, node: Any) -> Node | None:  # noqa: ARG002
        """Return None: there are no groups."""
        return None

    def ask(self, query: Query, source: Any, part: int | None = None) -> Column:
        """Return the placeholder of the answer about records."""
        assert isinstance(query, OfUnits)  # noqa: S101  (quantiles and extremes alone)
        query = replace(query, per_unit=self.fold)
        if self.fold == "count" and query.expression is not None:
            query = replace(query, expression=ones_unless(IsNull(query.expression)))
        return self.select.ask(query, source, part)

    def refuse(self, node: Any, reason: Words, advice: Words = "") -> NoReturn:
        """Refuse a part of the statement, underlined."""
        self.select.refuse(node, reason, advice)


def unit_of(node: Any) -> str:
    """Return what date_trunc cuts to."""
    unit = node.args.get("unit")
    return str(unit.name if unit is not None else "").lower()
