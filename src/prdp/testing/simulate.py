"""The same questions with seeded noise, many times over: for experiments, never for publication."""

from __future__ import annotations

from prdp.errors import InvalidRequest
from prdp.exact import Exact, exact_share
from prdp.joins.asking import Plan
from prdp.joins.graph import Graph, GraphQuery
from prdp.joins.join import Join
from prdp.joins.links import Links
from prdp.query import Count, Query, Sum
from prdp.release import Release
from prdp.table import Table
from prdp.testing.seeded import Seeded


def simulate(
    table: Table | Join | Links | Graph,
    query: Query | GraphQuery,
    *,
    share: Exact = "1",
    method: str | None = None,
    beta: Exact | None = None,
    graded: bool | None = None,
    unit: Exact | None = None,
    runs: int,
    seed: int,
) -> list[Release]:
    """Answer a query ``runs`` times with noise from a seed, charging nothing.

    Every release is marked ``simulated``: together they reveal the truth, and with the seed each
    one does. A table that has a durable ledger holds somebody's data, so it is refused. ``unit`` is for sums
    over a join.
    """
    if not isinstance(table, Table | Join | Links | Graph) or not isinstance(query, Query | GraphQuery):
        raise InvalidRequest(
            "simulate takes an open table and a query object, such as simulate(accounts, prdp.Count(), ...)."
        )
    if table.ledger.durable:
        raise InvalidRequest(
            f"{table.name!r} has a durable ledger, so its records are real and simulating would give "
            "them away. Simulate on a public or made-up table that looks like it."
        )
    if not isinstance(runs, int) or runs < 1 or not isinstance(seed, int):
        raise InvalidRequest(f"runs={runs!r}, seed={seed!r}: both are whole numbers, and runs is 1 or more.")
    if isinstance(table, Join | Links | Graph):
        plan = _plan(table, query, share, method, unit)
        return plan.releases(Seeded(seed), runs=runs, simulated=True)
    if not isinstance(query, Query):
        raise InvalidRequest("a table answers counts, sums and the like; open_graph opens a graph.")
    part = exact_share(share)
    mechanism = table._mechanism(query, part, method, beta, graded)  # noqa: SLF001  (its back door)
    return table._releases(  # noqa: SLF001
        query, mechanism, part, Seeded(seed), runs=runs, simulated=True
    )


def _plan(
    opened: Join | Links | Graph,
    query: Query | GraphQuery,
    share: Exact,
    method: str | None,
    unit: Exact | None,
) -> Plan:
    if isinstance(opened, Graph) and isinstance(query, GraphQuery):
        return opened.plan(query, share, method)
    if isinstance(opened, Join) and isinstance(query, Count | Sum):
        return opened.plan(query, share, method, unit)
    if isinstance(opened, Links) and isinstance(query, Count):
        return opened.plan(query, share, method)
    raise InvalidRequest(f"{opened!r} does not answer {query!r}.")
