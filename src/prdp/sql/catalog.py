"""Tables that a statement may name: those of an entry point, and public ones that come with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, Self

from prdp.declare.columns import UNNAMED
from prdp.declare.exact import Exact, short_repr
from prdp.declare.keys import is_missing, plain_value, refuse_queries, table_columns
from prdp.declare.references import Tree
from prdp.declare.units import PrivacyUnit
from prdp.errors import InvalidRequest
from prdp.expressions.evaluate import value_of
from prdp.expressions.nodes import Node
from prdp.plan.explain import Explanation
from prdp.plan.plan import Plan
from prdp.plan.planner import Planner
from prdp.plan.queries import Query
from prdp.plan.shares import Shares
from prdp.release.table import ReleaseTable
from prdp.schema import ColumnType, Kind, Schema


class Questioned(Protocol):
    """Interface that answers queries: a table, a join, or groups of either."""

    @property
    def remaining(self) -> Fraction:
        """The part of their budgets that the records have left."""

    def plan(self, *queries: Query, share: Exact, shares: Shares | None = None) -> Plan:
        """Return what would be done to answer queries, or refuse."""

    def answer_plan(self, plan: Plan, *, redraw: bool = False) -> ReleaseTable:
        """Answer all queries of a plan from one charge."""

    def explanation(self, plan: Plan) -> Explanation:
        """Return what would be charged, read and drawn."""


class Queryable(Questioned, Protocol):
    """A table or a join."""

    @property
    def planner(self) -> Planner:
        """Planner, with the public facts."""

    def has_answer(self, plan: Plan) -> bool:
        """Return whether a plan has been answered before."""

    def filtered(self, condition: Node) -> Self:
        """Return those rows alone for which a checked condition holds."""

    def plan_keys(self, columns: Any, search: Any, *, share: Exact) -> Any:
        """Return what would be done to find keys, or refuse."""

    def group_by(self, *columns: Any, keys: object = None) -> Questioned:
        """Group records by public keys."""


Place = tuple[str, str]
"""A table and a column of it."""

_MAX_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tables that an entry point answers about; all of it public.

    Attributes:
        tables: For each table its columns, and what each is called in questions.
        private: The table whose records are protected.
        tree: How other tables belong to it; None where there is one table only.
        unit: Who is protected with all their rows; None where a row is a record.
        values: Lists the values of a public table's column, of which it is given both names.
        rows: Lists the different rows of some columns of a public table.
        over: Returns the join of the private table with others.
    """

    tables: Mapping[str, Mapping[str, str]]
    private: str
    tree: Tree | None = None
    unit: PrivacyUnit | None = None
    values: Callable[[str, str], Sequence[object]] | None = field(default=None, compare=False)
    rows: Callable[[str, Sequence[str]], Sequence[tuple[object, ...]]] | None = field(
        default=None, compare=False
    )
    over: Callable[..., Queryable] | None = field(default=None, compare=False)

    def known(self, name: str) -> str | None:
        """Return a table's name as it was declared; ``self`` is the one that is asked, where there is one."""
        same = [table for table in self.tables if table.lower() == name.lower()]
        if not same and name.lower() == "self" and self.tree is None:
            return self.private
        return same[0] if len(same) == 1 else None

    @property
    def is_unnamed(self) -> bool:
        """Whether there is one table alone, a frame that has no name of its own."""
        return self.tree is None and self.private == UNNAMED

    def is_public(self, table: str) -> bool:
        """Return whether a table of a join holds nothing to protect."""
        return self.tree is not None and table in self.tree.public


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table that holds nothing to protect, given beside a statement.

    Attributes:
        name: Its name.
        columns: Its columns, as plain values; None where there is none.
    """

    name: str
    columns: Mapping[str, tuple[Any, ...]]

    @property
    def schema(self) -> Schema:
        """Column types, by their values."""
        return {name: ColumnType(_kind(name, values, self.name)) for name, values in self.columns.items()}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Its rows, each by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]


def read_public(tables: Mapping[str, object] | None, taken: Iterable[str]) -> dict[str, PublicTable]:
    """Return the public tables that a caller gives, or refuse them.

    >>> read_public({"jobs": {"job": ["clerk"], "level": [2]}}, []).keys()
    dict_keys(['jobs'])
    """
    if tables is not None and not isinstance(tables, Mapping):
        raise InvalidRequest(
            f"tables={short_repr(tables)} is not a dict by name. Write tables={{'jobs': frame}}."
        )
    lower = {name.lower() for name in taken}
    found: dict[str, PublicTable] = {}
    for name, given in (tables or {}).items():
        if name.lower() in lower:
            raise InvalidRequest(f"tables= names {name!r}, which is a table that is asked. Rename it.")
        refuse_queries(given, "tables", f"{{{name!r}: ...}}")
        columns = dict(given) if isinstance(given, Mapping) else table_columns(given)
        if not columns:
            raise InvalidRequest(
                f"tables={{{name!r}: ...}} takes a public table in memory: a dict of lists, or a pandas, "
                f"Polars or Arrow table, not {short_repr(given)}."
            )
        plain = {str(column): tuple(map(_plain, values)) for column, values in columns.items()}
        lengths = {len(values) for values in plain.values()}
        if len(lengths) != 1 or max(lengths) > _MAX_ROWS:
            raise InvalidRequest(
                f"tables={{{name!r}: ...}} has columns of {sorted(lengths)} rows: they need the same number, "
                f"of at most {_MAX_ROWS:,}."
            )
        found[name] = PublicTable(name, plain)
    return found


def _plain(value: object) -> Any:
    plain = plain_value(value)
    return None if is_missing(plain) else value_of(plain)


def _kind(column: str, values: Sequence[Any], table: str) -> Kind:
    kinds = {_KINDS.get(type(value).__name__, Kind.OTHER) for value in values if value is not None}
    if len(kinds) > 1:
        raise InvalidRequest(f"the column {column!r} of the public table {table!r} holds several kinds.")
    return next(iter(kinds), Kind.NUMBER)


_KINDS = {"float": Kind.NUMBER, "int": Kind.NUMBER, "str": Kind.TEXT, "bool": Kind.BOOLEAN}
_KINDS["datetime"] = Kind.MOMENT
