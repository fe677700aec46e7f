"""Find the share that a question needs, by simulation on a public or made-up synthetic table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from prdp.declare.exact import Exact, exact
from prdp.errors import InvalidRequest
from prdp.methods import Chosen
from prdp.plan.methods import Options
from prdp.plan.queries import Query
from prdp.release.release import Release
from prdp.release.table import Released, ReleaseTable
from prdp.tables.groups import Groups
from prdp.tables.join import Join
from prdp.tables.table import Table
from prdp.testing.simulate import refuse_unless_repeatable, refuse_unless_synthetic, simulate
from prdp.testing.truth import everybody, true_answers

SHARES = tuple(
    Fraction(1, part)
    for part in (1000, 700, 500, 300, 200, 150, 100, 70, 50, 30, 20, 15, 10, 7, 5, 4, 3, 2, 1)
)
"""The shares that are tried, ascending."""


@dataclass(frozen=True, slots=True)
class ShareFound:
    """The smallest share that was found to do, and what was measured on the way.

    Attributes:
        query: What is to be asked.
        share: The share; None where even the whole budget does not reach the aim.
        aim: The relative error that was aimed at.
        confidence: The part of the answers that is to stay within it.
        measured: For each share that was tried, the relative error that this part of the answers kept.
        runs: How many answers were simulated for each share.
        seed: The seed of their noise.
        left_out: Which records no answer is about, whatever the share; empty where that is nobody.
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
        """Return what was found on one line."""
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
    """Find how large a share a query needs for an error, on a stand-in that looks like the real table.

    The error includes what clipping pulls and what choosing misses, since the stand-in's truth is known: that
    of all its records, those to which the policy gives no budget too. For groups it is over all of them
    together.

    Args:
        query: What is to be asked, such as ``prdp.sum("balance")``.
        error: The relative error to stay within, such as ``"1%"``.
        like: A table opened with ``synthetic=True``, or its groups: public or made-up records like yours.
        confidence: The part of the answers that is to stay within it.
        method: Which mechanism answers; by default, the query's own.
        runs: How many answers to simulate for each share that is tried.
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
            truth.extend(true_answers(everybody(like) if left_out else like, query, method))
        measured[share] = _error(releases, truth, level)
        return measured[share] <= aim

    truth: list[Fraction] = []
    left_out = _left_out(like, query, method)
    low, high = -1, len(SHARES) - 1
    if not reaches(SHARES[high]):
        return ShareFound(query, None, aim, level, tuple(measured.items()), runs, seed, left_out)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(SHARES[middle]) else (middle, high)
    return ShareFound(query, SHARES[high], aim, level, tuple(sorted(measured.items())), runs, seed, left_out)


def _left_out(like: Table | Join | Groups, query: Query, method: Chosen | None) -> str:
    """Return which records of a synthetic table no answer is about, in words."""
    table, groups = (like.table, like.grouping) if isinstance(like, Groups) else (like, None)
    (plan,) = table.planner.plan([query], 1, groups, options=Options.of(method)).queries
    return plan.steps[0].labels[0].left_out


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
    """Return a part of the whole, also from a text such as ``"1%"``."""
    if isinstance(given, str) and given.strip().endswith("%"):
        part = exact(given.strip()[:-1], what) / 100
    else:
        part = exact(given, what)
    if part <= 0:
        raise InvalidRequest(f"{what}={given!r} is not above 0: write '1%'.")
    return part


def _percent(part: Fraction | float) -> str:
    return f"{100 * float(part):.3g} %"
