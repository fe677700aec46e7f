"""The same questions with seeded noise, many times over: for experiments, never for publication."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard, overload

from prdp.asking import Plan
from prdp.errors import InvalidRequest
from prdp.exact import Exact, exact_share
from prdp.joins.graph import Graph, GraphQuery
from prdp.joins.join import Join
from prdp.joins.links import Links
from prdp.order import Order, order_of
from prdp.query import Count, Options, Query, Sum
from prdp.release import Release
from prdp.release_table import Released, ReleaseTable
from prdp.table import Groups, Table
from prdp.testing.seeded import Seeded


@overload
def simulate(  # type: ignore[overload-overlap]
    table: Table,
    query: Query,
    *,
    share: Exact = "1",
    method: str | None = None,
    beta: Exact | None = None,
    graded: bool | None = None,
    split: Exact | None = None,
    runs: int,
    seed: int,
) -> list[Release]: ...


@overload
def simulate(
    table: Table | Groups,
    query: Query | Sequence[Query],
    *,
    share: Exact = "1",
    method: str | None = None,
    beta: Exact | None = None,
    graded: bool | None = None,
    split: Exact | None = None,
    runs: int,
    seed: int,
) -> list[ReleaseTable]: ...


@overload
def simulate(
    table: Join | Links | Graph,
    query: Query | GraphQuery,
    *,
    share: Exact = "1",
    method: str | None = None,
    unit: Exact | None = None,
    runs: int,
    seed: int,
) -> list[Release]: ...


def simulate(
    table: Table | Groups | Join | Links | Graph,
    query: Query | Sequence[Query] | GraphQuery,
    *,
    share: Exact = "1",
    method: str | None = None,
    beta: Exact | None = None,
    graded: bool | None = None,
    split: Exact | None = None,
    unit: Exact | None = None,
    runs: int,
    seed: int,
) -> Sequence[Released]:
    """Answer a query ``runs`` times with noise from a seed, charging nothing.

    For a table's groups, or for several queries (which share equally), each answer is a ``ReleaseTable``.
    Every release is marked ``simulated``: together they reveal the truth, and with the seed each
    one does. A table that has a durable ledger holds somebody's data, so it is refused. ``unit`` is for sums
    over a join.
    """
    source = table.table if isinstance(table, Groups) else table
    if isinstance(source, Join | Links | Graph):
        _refuse_unless_made_up(source, runs, seed)
        return _plan(source, query, share, method, unit).releases(Seeded(seed), runs=runs, simulated=True)
    if not isinstance(source, Table) or not (isinstance(query, Query) or _are_queries(query)):
        raise InvalidRequest(
            "simulate takes an open table and a query object, such as simulate(accounts, prdp.Count(), ...)."
        )
    _refuse_unless_made_up(source, runs, seed)
    options = Options(method, beta, graded, split)
    groups = table.grouping if isinstance(table, Groups) else None
    if isinstance(query, Query):
        recipe = source.facts.recipe(query, exact_share(share), options)
        single = groups is None and len(recipe.labels) == 1
        order = Order((recipe,), recipe.asked.share, groups, single=single)
    else:
        assert _are_queries(query)
        order = order_of(source.facts, query, share, groups, options=options)
    return source._released(order, Seeded(seed), runs=runs, simulated=True)  # noqa: SLF001  (its back door)


def _refuse_unless_made_up(source: Table | Join | Links | Graph, runs: int, seed: int) -> None:
    if source.ledger.durable:
        raise InvalidRequest(
            f"{source.name!r} has a durable ledger, so its records are real and simulating would give "
            "them away. Simulate on a public or made-up table that looks like it."
        )
    if not isinstance(runs, int) or runs < 1 or not isinstance(seed, int):
        raise InvalidRequest(f"runs={runs!r}, seed={seed!r}: both are whole numbers, and runs is 1 or more.")


def _plan(
    opened: Join | Links | Graph, query: object, share: Exact, method: str | None, unit: Exact | None
) -> Plan:
    if isinstance(opened, Graph) and isinstance(query, GraphQuery):
        return opened.plan(query, share, method)
    if isinstance(opened, Join) and isinstance(query, Count | Sum):
        return opened.plan(query, share, method, unit)
    if isinstance(opened, Links) and isinstance(query, Count):
        return opened.plan(query, share, method)
    raise InvalidRequest(f"{opened!r} does not answer {query!r}.")


def _are_queries(query: object) -> TypeGuard[Sequence[Query]]:
    return isinstance(query, Sequence) and all(isinstance(one, Query) for one in query)
