"""The same questions with seeded noise, many times over: on synthetic tables, never for publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard, overload

from prdp.declare.exact import Exact
from prdp.errors import InvalidRequest
from prdp.graphs.graph import Graph, GraphQuery
from prdp.graphs.links import Links
from prdp.methods import Chosen
from prdp.plan.methods import Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Count, Query
from prdp.release.release import Release
from prdp.release.table import Released, ReleaseTable
from prdp.tables.base import reader_of
from prdp.tables.groups import Groups
from prdp.tables.join import Join
from prdp.tables.queryable import Queried
from prdp.tables.table import Table
from prdp.testing.seeded import Seeded

MAX_RUNS = 10**9
_SEED_BITS = 256
_TAKES = "simulate takes an open table and a query object, such as simulate(accounts, prdp.count(), ...)."


@overload
def simulate(  # type: ignore[overload-overlap]
    table: Table | Join,
    query: Query,
    *,
    share: Exact = "1",
    method: Chosen | None = None,
    runs: int,
    seed: int,
) -> list[Release]: ...


@overload
def simulate(
    table: Table | Join | Groups,
    query: Query | Sequence[Query],
    *,
    share: Exact = "1",
    method: Chosen | None = None,
    runs: int,
    seed: int,
) -> list[ReleaseTable]: ...


@overload
def simulate(
    table: Links | Graph,
    query: Query | GraphQuery,
    *,
    share: Exact = "1",
    method: Chosen | None = None,
    runs: int,
    seed: int,
) -> list[Release]: ...


def simulate(
    table: Table | Groups | Join | Links | Graph,
    query: Query | Sequence[Query] | GraphQuery,
    *,
    share: Exact = "1",
    method: Chosen | None = None,
    runs: int,
    seed: int,
) -> Sequence[Released]:
    """Answer a query about a synthetic table ``runs`` times with noise from a seed, charging nothing.

    For a table's groups, or for several queries (which share equally), each answer is a ``ReleaseTable``.
    Every release is marked ``simulated``: together they reveal the truth, and with the seed each one does. So
    only what was opened with ``synthetic=True`` is taken: public or made-up records.

    >>> import numpy
    >>> import prdp
    >>> people = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1), synthetic=True)
    >>> [release.simulated for release in simulate(people, prdp.count(), share="1/4", runs=2, seed=7)]
    [True, True]
    """
    source = table.table if isinstance(table, Groups) else table
    if not isinstance(source, Table | Join | Links | Graph):
        raise InvalidRequest(_TAKES)
    refuse_unless_synthetic(source, "simulate")
    refuse_unless_repeatable(runs, seed)
    if isinstance(source, Links | Graph):
        plan = _plan(source, query, share, method)
        return plan.draw(reader_of(source), Seeded(seed), runs)
    if not (isinstance(query, Query) or _are_queries(query)):
        raise InvalidRequest(_TAKES)
    options = Options.of(method)
    groups = table.grouping if isinstance(table, Groups) else None
    queries = (query,) if isinstance(query, Query) else query
    plan = source.planner.plan(queries, share, groups, options=options)
    if isinstance(query, Query) and groups is None and len(plan.labels) == 1:
        plan = replace(plan, single=True)
    return plan.draw(reader_of(source), Seeded(seed), runs)


def refuse_unless_synthetic(source: Queried | Links | Graph, asked: str) -> None:
    """Refuse real records: what is drawn of them again and again, for nothing, gives them away."""
    if source.synthetic:
        return
    openers = {Table: "open", Join: "open_join", Links: "graphs.open_links", Graph: "graphs.open"}
    (opener,) = (opener for kind, opener in openers.items() if isinstance(source, kind))
    raise InvalidRequest(
        f"{asked} takes a table opened with synthetic=True: public or made-up records like yours. "
        f"{source.name!r} was opened without it, so its records are taken to be real, and answers that cost "
        f"nothing would give them away. Open such a table with prdp.{opener}(..., synthetic=True)."
    )


def refuse_unless_repeatable(runs: int, seed: int) -> None:
    """Refuse what is no number of runs, or no seed; a truth value is neither."""
    if not _is_whole(runs) or not 1 <= runs <= MAX_RUNS:
        raise InvalidRequest(f"runs={_shown(runs)} is no number of runs: a whole number, 1 to 10^9.")
    if not _is_whole(seed) or seed.bit_length() > _SEED_BITS:
        raise InvalidRequest(f"seed={_shown(seed)} is no seed: a whole number, of at most {_SEED_BITS} bits.")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    """Return a value in words; Python does not write out very large numbers."""
    huge = isinstance(value, int) and value.bit_length() > _SEED_BITS
    return "(a number of many digits)" if huge else repr(value)


def _plan(opened: Links | Graph, query: object, share: Exact, method: Chosen | None) -> Plan:
    if isinstance(opened, Graph) and isinstance(query, GraphQuery):
        return opened.plan(query, share, method)
    if not (method is None or isinstance(method, str)):
        raise InvalidRequest(f"method={method!r} is for tables: of {opened!r} a method has no options.")
    if isinstance(opened, Links) and isinstance(query, Count):
        return opened.plan(query, share, method)
    raise InvalidRequest(f"{opened!r} does not answer {query!r}.")


def _are_queries(query: object) -> TypeGuard[Sequence[Query]]:
    return isinstance(query, Sequence) and len(query) > 0 and all(isinstance(one, Query) for one in query)
