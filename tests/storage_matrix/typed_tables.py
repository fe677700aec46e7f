"""Tables with a column of each type of a type system, without and with one record of extreme values.

A type system lists its types itself (``pg_type``, ``system.data_type_families``, the subclasses of a
library's class), so that a new type is in the table, or fails the test, without anybody's thought. Of each
type there are three usual values and the extremes of what it is stored as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from prdp.declare.groups import bins, read_grouping
from prdp.declare.units import PrivacyUnit
from prdp.engines.engine import Engine
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.plan.reads import CellRead, KeyMassRead, RowRead, UnitRead
from prdp.policy import Policy
from prdp.schema import Kind, Schema
from prdp.testing.key_contract import rows_of_masses
from tests.storage_matrix.comparing import (
    EXTREME,
    RECORD,
    Query,
    Seen,
    compared,
    queries_of_column,
    queries_together,
    seen,
    statements_of,
)

OTHERS = 3
MANY = [Fraction(edge, 2) for edge in range(-20, 280)]
"""More bins than a CASE distinguishes."""

Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class TypedColumn:
    """A column of one type.

    Attributes:
        declared: The type, as its type system writes it.
        usual: The values of the other records, as the test writes values of this server.
        extremes: The values of the extreme record, one after the other.
    """

    declared: Any
    usual: Sequence[Any]
    extremes: Sequence[Any]


Columns = Mapping[str, TypedColumn]
Opener = Callable[[Columns, Rows], Engine]
"""Keeps rows, the record's number first, in a table of some columns, and opens it."""


@dataclass(frozen=True)
class Reading(Query):
    """One read beside those of ``comparing``; it gives what it finds of the other records alone.

    Attributes:
        column: The column that is read.
        way: How it is read.
    """

    column: str = ""
    way: str = ""
    keys: str | None = field(default="compared as it is")

    def __str__(self) -> str:
        return f"Reading({self.column!r}, {self.way})"

    def cells(self, engine: Engine, others: int) -> Any:  # noqa: ARG002
        """Return what the engine finds of the other records, in a form that can be compared."""
        policy = Policy("1", at_least="1/10", at_most="10").within(engine.schema, {})
        return _WAYS[self.way](engine, policy, self.column)


def _many_bins(engine: Engine, policy: Policy, column: str) -> Any:
    """Return how many of the others are in each of many bins."""
    only = check(parse(f"{RECORD} > {EXTREME}"), engine.schema, Kind.BOOLEAN, "")
    groups = read_grouping([bins(column, MANY)], None, engine.schema)
    found = engine.summarise(CellRead(policy, policy.levels, {}, None, only, groups))
    return [sum(cell.count for cell in one.cells) for one in found]


def _masses(engine: Engine, policy: Policy, column: str) -> Any:
    """Return the keys that the others have, as a search for keys finds them."""
    by = read_grouping([RECORD, column], [(1, _some_key(engine.schema[column].kind))], engine.schema).by
    found = engine.key_masses(KeyMassRead(policy, policy.levels, by, None))
    return sorted(repr((key, mass)) for key, mass in rows_of_masses(found) if key[0] != EXTREME)


def _units(engine: Engine, policy: Policy, column: str) -> Any:
    """Return the cells of the others where the column names the privacy unit."""
    groups = read_grouping([RECORD], list(range(OTHERS + 1)), engine.schema)
    read = UnitRead(policy, policy.levels, PrivacyUnit(column), None, "sum", None, groups, apart=True)
    found: Any = engine.fold_units(read)
    return [[str(cells) for cells in one] for one in found[1:]]


def _rows(engine: Engine, policy: Policy, *columns: str) -> Any:
    """Return the others' rows, as a caller's own mechanism sees them."""
    read = RowRead(policy, policy.levels, (RECORD, *columns), 0, None)
    found, _ = engine.rows(read)
    numbers = found.column(0).to_pylist()
    others = found.take([place for place, number in enumerate(numbers) if number != EXTREME])
    rows = zip(*(column.to_pylist() for column in others.columns), strict=True)
    return [str(found.schema.types), sorted(map(repr, rows))]


_WAYS: Mapping[str, Callable[[Engine, Policy, str], Any]] = {
    "many bins": _many_bins,
    "found keys": _masses,
    "privacy units": _units,
}


@dataclass(frozen=True)
class AllRows(Query):
    """The rows of the other records, with all columns that can be read."""

    columns: tuple[str, ...] = ()
    keys: str | None = field(default="compared as it is")

    def __str__(self) -> str:
        return f"AllRows({', '.join(self.columns)})"

    def cells(self, engine: Engine, others: int) -> Any:  # noqa: ARG002
        """Return the others' rows, in a form that can be compared."""
        policy = Policy("1", at_least="1/10", at_most="10").within(engine.schema, {})
        return _rows(engine, policy, *self.columns)


def _some_key(kind: Kind) -> object:
    return {Kind.NUMBER: 0, Kind.TEXT: "a", Kind.BOOLEAN: True, Kind.MOMENT: "2025-03-01"}[kind]


def readings_of(schema: Schema, column: str) -> list[Query]:
    """Return the queries of a column that are not among those which read all columns together."""
    kind = schema[column].kind
    ways = [way for way in _WAYS if kind is not Kind.OTHER and (way != "many bins" or kind is Kind.NUMBER)]
    own = [one for one in queries_of_column(schema, column) if _reads_alone(one)]
    return [*own, *(Reading(column=column, way=way) for way in ways)]


def _reads_alone(query: Query) -> bool:
    """Return whether a query has keys, bins, months or lower case, which no query of all columns has."""
    return bool(query.keys or query.binned or query.truncated or "lower(" in (query.where or ""))


def readings_together(schema: Schema, columns: Sequence[str]) -> list[Query]:
    """Return few queries that read every column that can be read; with lower case, which not all have."""
    read = [name for name in columns if schema[name].kind is not Kind.OTHER]
    rows: list[Query] = [AllRows(columns=tuple(read))] if read else []
    return [Query(), Query(one_by_one=False), *queries_together(schema, read, lowered=False), *rows]


def named(columns: Iterable[TypedColumn]) -> dict[str, TypedColumn]:
    """Return columns under names that every server takes."""
    return {f"c{place}": column for place, column in enumerate(columns)}


def rows_of(columns: Columns, extremes: Iterable[int]) -> Rows:
    """Return rows, the record's number first: the usual ones and, by their numbers, extreme ones."""
    usual = [
        [place, *(one.usual[(place - 1) % len(one.usual)] for one in columns.values())]
        for place in range(1, OTHERS + 1)
    ]
    odd = [
        [EXTREME, *(one.extremes[place % len(one.extremes)] for one in columns.values())]
        for place in extremes
    ]
    return [*usual, *odd]


def faults(
    columns: Columns,
    opened: Opener,
    *,
    refused: Callable[[Query | str], bool] = lambda _: False,
    one_by_one: bool = True,
) -> list[str]:
    """Return what is not as it should be: queries that fail, and what extreme records change.

    A table of the usual records is compared with one that has all extremes, by the queries of each column,
    and with a table for each extreme, which the others cannot hide, by queries that read all columns.

    Args:
        columns: The table's columns, without that of the record's number.
        opened: Keeps rows and opens them.
        refused: The queries that this server may refuse, whatever the rows.
        one_by_one: Whether each column has its own queries; else all are read together.
    """
    names = list(columns)
    found = []
    for start in range(0, len(names), _AT_ONCE):
        some = {name: columns[name] for name in names[start : start + _AT_ONCE]}
        found += _faults(some, opened, refused, one_by_one=one_by_one)
    return found


_AT_ONCE = 6
"""How many columns a table has: translated statements are kept until the next table asks for the same."""


def _faults(
    columns: Columns, opened: Opener, refused: Callable[[Query | str], bool], *, one_by_one: bool
) -> list[str]:
    """Return what is not as it should be in tables of few columns."""
    tried = max(len(one.extremes) for one in columns.values())
    usual = _observed(opened, columns, (), one_by_one=one_by_one)
    outcomes = [(step, seen_.outcome) for step, seen_ in usual.items()]
    found = [f"{stated}: {step}" for step, stated in outcomes if stated != "answered" and not refused(step)]
    every = _observed(opened, columns, range(tried), one_by_one=one_by_one)
    found += [f"all extremes: {one}" for one in compared(usual, every, tried)]
    for place in range(tried):
        alone = _observed(opened, columns, [place], one_by_one=False)
        shared = {step: seen_ for step, seen_ in usual.items() if step in alone}
        found += [f"extreme {place}: {one}" for one in compared(shared, alone)]
    kinds = {name: str(column.declared) for name, column in columns.items()}
    return [f"{one[:900]} in {kinds}" for one in found]


def _observed(
    opened: Opener, columns: Columns, extremes: Iterable[int], *, one_by_one: bool
) -> dict[Query | str, Seen]:
    """Return what can be observed of a table with some of the extremes."""
    engines: list[Engine] = []
    first = seen(lambda: engines.append(opened(columns, rows_of(columns, extremes))), [])
    if not engines:
        return {"open": first}
    table = _Table.of(engines[0], first)
    schema = table.engine.schema
    own = [one for name in columns for one in readings_of(schema, name)]
    queries = [*readings_together(schema, list(columns)), *(own if one_by_one else ())]
    return {**table.opening, **table.steps(queries)}


@dataclass(frozen=True)
class _Table:
    """An opened table, and what could be observed of opening it."""

    engine: Engine
    sent: list[str]
    opening: dict[Query | str, Seen]

    @classmethod
    def of(cls, engine: Engine, first: Seen) -> _Table:
        sent = statements_of(engine)
        columns = Seen("answered", found={name: repr(kind) for name, kind in engine.schema.items()})
        there = seen(engine.ensure_there, sent)
        return cls(engine, sent, {"open": first, "columns": columns, "still there": there})

    def steps(self, queries: Sequence[Query]) -> dict[Query | str, Seen]:
        """Return what can be observed of some queries."""
        return {query: self._seen(query) for query in queries}

    def _seen(self, query: Query) -> Seen:
        """Return what can be observed of a query; the name of the records in statements is a random one."""
        found = seen(lambda: query.cells(self.engine, OTHERS), self.sent)
        name = str(getattr(self.engine, "_records", "prdp_records"))
        return replace(found, statements=tuple(sql.replace(name, "records") for sql in found.statements))
