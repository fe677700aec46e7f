"""From a declared table to the plans that are charged for it: one for each margin that is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, product
from typing import Any

from prdp.errors import InvalidRequest
from prdp.expressions.check import check
from prdp.expressions.nodes import Node
from prdp.plan.plan import Plan
from prdp.publish.declaration import Publication, StatisticalTable
from prdp.publish.dimension import Dimension, dimension_of, refuse_same_names
from prdp.publish.shares import divided
from prdp.schema import Kind
from prdp.tables.join import Join
from prdp.tables.table import Table

Asked = tuple[int, ...]
"""The level of each dimension at which a margin is asked: 0 for its keys, 1 for what is above them."""


@dataclass(frozen=True)
class PrivateTable:
    """A table that is published from.

    Attributes:
        table: The open table.
        keys: The public keys of its columns.
    """

    table: Table | Join
    keys: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class TableDraws:
    """A declared table with the plans that are drawn for it.

    Attributes:
        declared: The declaration.
        private: Where its records are.
        dimensions: Its dimensions.
        plans: A plan for each margin that is asked.
    """

    declared: StatisticalTable
    private: PrivateTable
    dimensions: tuple[Dimension, ...]
    plans: Mapping[Asked, Plan]

    @property
    def share(self) -> Fraction:
        """The share that its margins use together."""
        return sum((plan.share for plan in self.plans.values()), Fraction(0))


def asked_of(declared: StatisticalTable, dimensions: Sequence[Dimension]) -> list[Asked]:
    """Return the margins of a table that are asked; others are sums of these."""
    levels = (0, 1) if declared.margins else (0,)
    return list(product(levels, repeat=len(dimensions)))


def cells_of(asked: Asked, dimensions: Sequence[Dimension]) -> int:
    """Return how many cells a margin has."""
    return math.prod(len(one.levels[level].labels) for one, level in zip(dimensions, asked, strict=True))


def draws_of(publication: Publication, tables: Mapping[str, PrivateTable]) -> list[TableDraws]:
    """Return the plans of all tables, or refuse; reads and charges nothing.

    Args:
        publication: The declaration.
        tables: The private tables by name.
    """
    privates = [_private(declared, tables) for declared in publication.tables]
    every = [
        tuple(dimension_of(name, private.keys, publication.hierarchies) for name in declared.by)
        for declared, private in zip(publication.tables, privates, strict=True)
    ]
    for declared, dimensions in zip(publication.tables, every, strict=True):
        refuse_same_names(dimensions, declared.columns)
    shares = shares_of(publication, every, privates)
    return [
        TableDraws(
            declared,
            private,
            dimensions,
            {asked: _plan(declared, private, dimensions, asked, share) for asked, share in parts.items()},
        )
        for declared, private, dimensions, parts in zip(
            publication.tables, privates, every, shares, strict=True
        )
    ]


def total_shares(every: Iterable[TableDraws]) -> dict[str, Fraction]:
    """Return the share that all tables use of each private table; a question of several of them once."""
    plans = {(one.private.table.name, plan.text): plan.share for one in every for plan in one.plans.values()}
    found: dict[str, Fraction] = {}
    for (name, _), share in plans.items():
        found[name] = found.get(name, Fraction(0)) + share
    return found


def shares_of(
    publication: Publication, every: Sequence[Sequence[Dimension]], privates: Sequence[PrivateTable]
) -> list[dict[Asked, Fraction]]:
    """Return the share of each margin of each table, by their numbers of cells and the tables' notions.

    Budgets of different private tables are different, so that each has the whole share.
    """
    pairs = list(zip(publication.tables, every, strict=True))
    margins = [asked_of(declared, dimensions) for declared, dimensions in pairs]
    cells = [
        [cells_of(asked, dimensions) for asked in found]
        for found, (_, dimensions) in zip(margins, pairs, strict=True)
    ]
    parts: dict[int, list[Fraction]] = {}
    for private in {id(one): one for one in privates}.values():
        mine = [place for place, one in enumerate(privates) if one is private]
        notion = private.table.policy.stated is not None
        others = []
        for place in mine:
            own = publication.tables[place].own_share
            if own is None:
                others.append(place)
            else:
                parts[place] = divided(own, cells[place], concentrated=notion)
        many = list(chain.from_iterable(cells[place] for place in others))
        if many:
            rest = publication.rest_of_share([publication.tables[place] for place in mine])
            found = iter(divided(rest, many, concentrated=notion))
            parts |= {place: [next(found) for _ in cells[place]] for place in others}
    return [dict(zip(found, parts[place], strict=True)) for place, found in enumerate(margins)]


def _private(declared: StatisticalTable, tables: Mapping[str, PrivateTable]) -> PrivateTable:
    name = declared.source or (next(iter(tables)) if len(tables) == 1 else None)
    if name is None or name not in tables:
        raise InvalidRequest(f"{declared.name}: from names none of the private tables {', '.join(tables)}.")
    return tables[name]


def _plan(
    declared: StatisticalTable,
    private: PrivateTable,
    dimensions: Sequence[Dimension],
    asked: Asked,
    share: Fraction,
) -> Plan:
    """Return the plan of a margin, about the records that have a key in every dimension."""
    rows: Any = private.table if declared.where is None else private.table.filter(declared.where)
    schema = private.table.planner.schema
    by: list[str | Node] = []
    keys: list[Sequence[Any]] = []
    for dimension, level in zip(dimensions, asked, strict=True):
        top = level == len(dimension.levels) - 1
        if top:
            rows = rows.filtered(check(dimension.listed, schema, Kind.BOOLEAN, dimension.column))
        else:
            by.append(dimension.grouping if level else dimension.column)
            keys.append([str(one) if level else one for one in dimension.levels[level].labels])
    queries = [one.query.alias(one.name) for one in declared.statistics]
    if by:
        listed = keys[0] if len(by) == 1 else list(product(*keys))
        rows = rows.group_by(by, keys=list(listed))
    plan: Plan = rows.plan(*queries, share=share)
    return plan
