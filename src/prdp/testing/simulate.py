"""The same questions with seeded noise, many times over: for experiments, never for publication."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from prdp.errors import InvalidRequest
from prdp.exact import Exact, exact_share
from prdp.order import Order, order_of
from prdp.query import Options, Query
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
) -> Sequence[Released]:
    """Answer a query ``runs`` times with noise from a seed, charging nothing.

    For a table's groups, or for several queries (which share equally), each answer is a ``ReleaseTable``.
    Every release is marked ``simulated``: together they reveal the truth, and with the seed each
    one does. A table that has a durable ledger holds somebody's data, so it is refused.
    """
    source = table.table if isinstance(table, Groups) else table
    if not isinstance(source, Table) or not (isinstance(query, Query) or _are_queries(query)):
        raise InvalidRequest(
            "simulate takes an open table and a query object, such as simulate(accounts, prdp.Count(), ...)."
        )
    if source.ledger.durable:
        raise InvalidRequest(
            f"{source.name!r} has a durable ledger, so its records are real and simulating would give "
            "them away. Simulate on a public or made-up table that looks like it."
        )
    if not isinstance(runs, int) or runs < 1 or not isinstance(seed, int):
        raise InvalidRequest(f"runs={runs!r}, seed={seed!r}: both are whole numbers, and runs is 1 or more.")
    options = Options(method, beta, graded, split)
    groups = table.grouping if isinstance(table, Groups) else None
    if isinstance(query, Query):
        recipe = source.facts.recipe(query, exact_share(share), options)
        single = groups is None and len(recipe.labels) == 1
        order = Order((recipe,), recipe.asked.share, groups, single=single)
    else:
        order = order_of(source.facts, query, share, groups, options=options)
    return source._released(order, Seeded(seed), runs=runs, simulated=True)  # noqa: SLF001  (its back door)


def _are_queries(query: object) -> bool:
    return isinstance(query, Sequence) and all(isinstance(one, Query) for one in query)
