"""The same questions with seeded noise, many times over: for experiments, never for publication."""

from __future__ import annotations

from prdp.errors import InvalidRequest
from prdp.exact import Exact, exact_share
from prdp.query import Query
from prdp.release import Release
from prdp.table import Table
from prdp.testing.seeded import Seeded


def simulate(
    table: Table,
    query: Query,
    *,
    share: Exact = "1",
    method: str | None = None,
    beta: Exact | None = None,
    graded: bool | None = None,
    runs: int,
    seed: int,
) -> list[Release]:
    """Answer a query ``runs`` times with noise from a seed, charging nothing.

    Every release is marked ``simulated``: together they reveal the truth, and with the seed each
    one does. A table that has a durable ledger holds somebody's data, so it is refused.
    """
    if not isinstance(table, Table) or not isinstance(query, Query):
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
    part = exact_share(share)
    mechanism = table._mechanism(query, part, method, beta, graded)  # noqa: SLF001  (its back door)
    return table._releases(  # noqa: SLF001
        query, mechanism, part, Seeded(seed), runs=runs, simulated=True
    )
