"""The same questions with seeded noise, many times over: on synthetic tables, never for publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeGuard, overload

from prdp.declare.exact import Exact, exact_part, is_integer
from prdp.errors import InvalidRequest
from prdp.graphs.graph import Graph, GraphQuery
from prdp.graphs.links import Links
from prdp.methods import Chosen
from prdp.plan.methods import Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Count, Query
from prdp.release.release import Release
from prdp.release.rows import left_out
from prdp.release.table import Released, ReleaseTable
from prdp.tables.groups import Groups
from prdp.tables.join import Join
from prdp.tables.queryable import reader_of
from prdp.tables.table import Table
from prdp.testing.seeded import Seeded
from prdp.testing.truth import everybody, refuse_unless_synthetic, true_answers

MAX_RUNS = 10**9
RUNS = 50
"""Answers that are simulated where no number is given."""

_SEED_BITS = 256
_TAKES = "simulate takes a query and an open table: simulate(prdp.count(), like=accounts, share=0.1)."


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


@overload
def simulate(
    table: Query | Sequence[Query],
    *,
    like: Table | Join | Groups,
    share: Exact = "1",
    method: Chosen | None = None,
    runs: int = RUNS,
    seed: int = 0,
) -> list[Any]: ...


def simulate(
    table: Any,
    query: Any = None,
    *,
    like: Table | Join | Groups | None = None,
    share: Exact = "1",
    method: Chosen | None = None,
    runs: int = RUNS,
    seed: int = 0,
) -> Sequence[Released]:
    """Answer a query about a synthetic table ``runs`` times with noise from a seed, charging nothing.

    ``simulate(query, like=table)`` is ``simulate(table, query)``.

    For a table's groups, or for several queries (which share equally), each answer is a ``ReleaseTable``.
    Every release is marked ``simulated``: together they reveal the truth, and with the seed each one does. So
    only what was opened with ``synthetic=True`` is taken: public or made-up records.

    >>> import numpy
    >>> import prdp
    >>> people = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1), synthetic=True)
    >>> [release.simulated for release in simulate(people, prdp.count(), share="1/4", runs=2, seed=7)]
    [True, True]
    """
    if like is not None and query is None:
        table, query = like, table
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


def refuse_unless_repeatable(runs: int, seed: int) -> None:
    """Refuse what is not a number of runs, or no seed; a truth value is neither."""
    if not is_integer(runs) or not 1 <= runs <= MAX_RUNS:
        raise InvalidRequest(f"runs={_shown(runs)} is not a number of runs: a whole number, 1 to 10^9.")
    if not is_integer(seed) or seed.bit_length() > _SEED_BITS:
        raise InvalidRequest(f"seed={_shown(seed)} is no seed: a whole number, of at most {_SEED_BITS} bits.")


def _shown(value: object) -> str:
    """Return a value in words; Python does not write out very large numbers."""
    huge = isinstance(value, int) and value.bit_length() > _SEED_BITS
    return "(a number of many digits)" if huge else repr(value)


def _plan(opened: Links | Graph, query: object, share: Exact, method: Chosen | None) -> Plan:
    if isinstance(opened, Graph) and isinstance(query, GraphQuery):
        return opened.plan(query, share, method)
    if isinstance(opened, Links) and isinstance(query, Count):
        return opened.plan(query, share, method)
    raise InvalidRequest(f"{opened!r} does not answer {query!r}.")


def _are_queries(query: object) -> TypeGuard[Sequence[Query]]:
    return isinstance(query, Sequence) and len(query) > 0 and all(isinstance(one, Query) for one in query)


SHARES = tuple(
    Fraction(1, part)
    for part in (1000, 700, 500, 300, 200, 150, 100, 70, 50, 30, 20, 15, 10, 7, 5, 4, 3, 2, 1)
)
"""The shares that are tried, ascending."""


@dataclass(frozen=True, slots=True)
class ShareFound:
    """The smallest share that was found to do, and what was measured on the way.

    Attributes:
        query: The query.
        share: The share; None where even the whole budget does not reach the aim.
        aim: The relative error that was aimed at.
        confidence: The part of the answers that is to stay within it.
        measured: For each share that was tried, the relative error that this part of the answers kept.
        runs: The number of simulated answers for each share.
        seed: The seed of their noise.
        left_out: The records that answers exclude, whatever the share; empty if none.
    """

    query: Query
    share: Fraction | None
    aim: Fraction
    confidence: Fraction
    measured: tuple[tuple[Fraction, float], ...]
    runs: int
    seed: int
    left_out: str = ""

    def __str__(self) -> str:
        """Return the result on one line."""
        wanted = f"{self.query} within {_percent(self.aim)} in {_percent(self.confidence)} of the answers"
        tried = dict(self.measured)
        simulated = f"{self.runs} simulated answers a share, seed {self.seed}"
        simulated += f"; every answer {self.left_out}" if self.left_out else ""
        if self.share is None:
            reached = f"even share 1 stays within {_percent(tried[Fraction(1)])} only"
            return f"{wanted}: not reached, {reached} ({simulated})"
        return (
            f"{wanted}: share {self.share}, which stayed within {_percent(tried[self.share])} ({simulated})"
        )


def share_for(
    query: Query,
    *,
    error: Exact,
    like: Table | Join | Groups,
    confidence: Exact = "95%",
    method: Chosen | None = None,
    runs: int = 400,
    seed: int = 0,
) -> ShareFound:
    """Find the share that a query needs for an error, on synthetic data like the real table.

    The error includes those of clipping and of choosing, since the synthetic data's truth is known: that
    of all its records, those to which the policy gives no budget too. For groups it is over all of them
    together.

    Args:
        query: The query, such as ``prdp.sum("balance")``.
        error: The relative error to stay within, such as ``"1%"``.
        like: A table opened with ``synthetic=True``, or its groups: public or made-up records like yours.
        confidence: The part of the answers that is to stay within it.
        method: The mechanism; by default, the query's own.
        runs: The number of answers to simulate for each share that is tried.
        seed: The seed of their noise.
    """
    if not isinstance(like, Table | Join | Groups) or not isinstance(query, Query):
        raise InvalidRequest(
            "share_for takes a query and an open table or its groups: "
            "share_for(prdp.count(), error='1%', like=table)."
        )
    refuse_unless_synthetic(like.table if isinstance(like, Groups) else like, "share_for")
    refuse_unless_repeatable(runs, seed)
    aim, level = _part(error, "error"), _part(confidence, "confidence")
    if aim > 1:
        raise InvalidRequest(f"error={error!r} is a part of the truth, and more than all of it: write '1%'.")
    if level >= 1:
        raise InvalidRequest(f"confidence={confidence!r} is not below 1: write '95%'.")
    measured: dict[Fraction, float] = {}

    def reaches(share: Fraction) -> bool:
        releases = simulate(like, query, share=share, method=method, runs=runs, seed=seed)
        if not measured:
            truth.extend(true_answers(everybody(like) if records else like, query, method))
        measured[share] = _error(releases, truth, level)
        return measured[share] <= aim

    truth: list[Fraction] = []
    records = left_out(_omitted(like, query, method))
    low, high = -1, len(SHARES) - 1
    if not reaches(SHARES[high]):
        return ShareFound(query, None, aim, level, tuple(measured.items()), runs, seed, records)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(SHARES[middle]) else (middle, high)
    return ShareFound(query, SHARES[high], aim, level, tuple(sorted(measured.items())), runs, seed, records)


def _omitted(like: Table | Join | Groups, query: Query, method: Chosen | None) -> str:
    """Describe the records of a synthetic table that answers exclude."""
    table, groups = (like.table, like.grouping) if isinstance(like, Groups) else (like, None)
    (plan,) = table.planner.plan([query], 1, groups, options=Options.of(method)).queries
    return plan.steps[0].labels[0].omitted


def _error(releases: Sequence[Released], truth: Sequence[Fraction], level: Fraction) -> float:
    """Return the relative error that the part ``level`` of all answers stays within."""
    errors: list[float] = []
    for released in releases:
        rows = released.releases if isinstance(released, ReleaseTable) else ((released,),)
        values = [release.exact for row in rows for release in row if isinstance(release, Release)]
        pairs = zip(values, truth, strict=True)
        errors += [float(abs(value - true) / (abs(true) or 1)) for value, true in pairs]
    errors.sort()
    return errors[min(len(errors) - 1, int(level * len(errors)))]


def _part(given: Exact, what: str) -> Fraction:
    """Return a part of the whole that is above 0."""
    part = exact_part(given, what)
    if part <= 0:
        raise InvalidRequest(f"{what}={given!r} is not above 0: write '1%'.")
    return part


def _percent(part: Fraction | float) -> str:
    return f"{100 * float(part):.3g} %"
