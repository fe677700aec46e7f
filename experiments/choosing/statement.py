"""What it brings that a sum beside a mean is the mean's own: errors of questions alone and in a statement.

``python -m experiments.choosing.statement``: the synthetic sets, or with ``--data FOLDER`` the real ones.
*Alone*, each question draws all of its parts itself, with its part of the statement's share; *together*, as
the library answers a statement, the richest question has all shares and the others take its parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

import prdp
from experiments.choosing.cases import opened, sets
from experiments.datasets import DataSet
from experiments.options import options
from prdp.plan.queries import Query
from prdp.release.release import Release
from prdp.release.table import ReleaseTable
from prdp.testing import simulate

STATEMENTS: Mapping[str, tuple[Query, ...]] = {
    "SUM, AVG": (prdp.sum("v"), prdp.mean("v")),
    "COUNT, SUM, AVG": (prdp.count(), prdp.sum("v"), prdp.mean("v")),
    "AVG, STDDEV": (prdp.mean("v"), prdp.std("v")),
}
POLICIES = ("inverse", "log", "sqrt")
SHARES = (Fraction(1), Fraction(1, 10))


def truth(query: Query, data: DataSet) -> float:
    """Return the true answer."""
    values = data.values.astype(float)
    of = {"count": values.size, "sum": values.sum(), "mean": values.mean(), "std": values.std()}
    return float(of[query.word])


def errors(
    data: DataSet, policy: str, queries: Sequence[Query], share: Fraction, *, runs: int, seed: int
) -> dict[str, tuple[float, float]]:
    """Return for each question the median of its relative errors, alone and together; at most 1: lost."""
    table = opened(data, policy)
    tables = simulate(table, queries, share=share, runs=runs, seed=seed)
    found = {}
    for place, query in enumerate(queries):
        own = simulate(table, query, share=share / len(queries), runs=runs, seed=seed + 1 + place)
        drawn = [one.releases[0][place] for one in tables if isinstance(one, ReleaseTable)]
        found[query.word] = _middle(own, truth(query, data)), _middle(drawn, truth(query, data))
    return found


def _middle(releases: Sequence[Release], true: float) -> float:
    """Return the median relative error of some answers; 1 where half of them or more are lost."""
    errors = [abs(float(one.exact) - true) for one in releases]
    return min(1.0, float(np.median(errors)) / true) if true else 0.0


def main() -> None:
    arguments = options(__doc__, runs=100)
    print(f"{arguments.runs} runs a case, seed {arguments.seed}; medians of errors, together over alone:")
    print("geometric mean over sets and policies, with its standard error")
    tables = list(sets(arguments.data))
    for name, queries in STATEMENTS.items():
        for share in SHARES:
            ratios: dict[str, list[float]] = {}
            for data in tables:
                for policy in POLICIES:
                    pairs = errors(data, policy, queries, share, runs=arguments.runs, seed=arguments.seed)
                    for word, (alone, together) in pairs.items():
                        if alone and together:  # all records alike: their deviation, 0, is found
                            ratios.setdefault(word, []).append(math.log(together / alone))
            cells = (
                f"{word} {math.exp(np.mean(logs)):.3f} ± {np.std(logs) / math.sqrt(len(logs)):.3f} "
                f"(worst {math.exp(max(logs)):.2f})"
                for word, logs in ratios.items()
            )
            print(
                f"{name:16} share {share!s:5} {len(tables) * len(POLICIES)} cases: {', '.join(cells)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
