"""How accurate counts and sums are, beside the paper's figures and the oracle clip.

Run ``python -m experiments.accuracy --data FOLDER``. Parameters are the defaults of the library, fixed
before any of these sets was looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow

import prdp
from experiments.datasets import CUT, LARGEST, DataSet, all_sets
from experiments.options import options
from experiments.yardsticks import oracle_clip, trimmed
from prdp.testing import simulate

POLICIES = {
    "inverse": "10000 / v",
    "log": "500 / power(ln(v), 4)",
    "sqrt": "8 / sqrt(v)",
}
SHARES = ("1", "1/10", "1/100")
QUERIES: dict[str, prdp.Count | prdp.Sum] = {"count": prdp.Count(), "sum": prdp.Sum("v")}

AIMS = {
    ("clip", "count"): {"Normal(50k)": 0.019, "Normal(500k)": 0.18, "Bank": 0.037, "SF": 0.028},
    ("clip", "sum"): {"Normal(50k)": 0.073, "Normal(500k)": 0.56, "Bank": 2.1, "SF": 0.165},
}
PAPER = {
    "count": {"Normal(50k)": 0.0138, "Normal(500k)": 0.279, "Bank": 0.0357, "SF": 0.0390},
    "sum": {"Normal(50k)": 0.0358, "Normal(500k)": 0.967, "Bank": 3.54, "SF": 0.984},
}


@dataclass(frozen=True, slots=True)
class Result:
    """The errors of one mechanism on one question."""

    data: str
    policy: str
    query: str
    method: str
    share: str
    trimmed: float
    standard_error: float
    p99: float
    mean: float
    oracle: float

    @property
    def multiple(self) -> float:
        """The trimmed error in oracle clips at the same share."""
        return self.trimmed / self.oracle


def opened(data: DataSet, policy: str) -> prdp.Table:
    return prdp.open(
        pyarrow.table({"v": data.values}),
        policy=prdp.Policy(policy, at_most=100),
        bounds={"v": (CUT, LARGEST)},
        name=data.name,
    )


def measured(
    data: DataSet, policy: str, query: str, *, method: str, share: str, runs: int, seed: int
) -> Result:
    """Simulate one question; errors are in percent of the truth."""
    table = opened(data, POLICIES[policy])
    values = data.values.astype(float) if query == "sum" else np.ones(data.values.size)
    truth = float(values.sum())
    releases = simulate(table, QUERIES[query], share=share, method=method, runs=runs, seed=seed)
    answers = np.array([float(release.exact) for release in releases])
    errors = 100 * np.abs(answers - truth) / truth
    middle, standard_error = trimmed(errors)
    budgets = np.array([table.policy.budget({"v": int(v)}) for v in np.unique(data.values)], float)
    each = budgets[np.searchsorted(np.unique(data.values), data.values)]
    oracle = 100 * oracle_clip(values, each, float(Fraction(share))) / truth
    p99 = float(np.quantile(errors, 0.99))
    return Result(
        data.name,
        policy,
        query,
        method,
        share,
        middle,
        standard_error,
        p99,
        float(errors.mean()),
        oracle,
    )


def headline(sets: list[DataSet], runs: int, seed: int) -> Iterator[str]:
    """Yield the table beside the paper: inverse policy, share 1."""
    yield f"inverse policy, share 1, {runs} runs, seed {seed}: relative error in %, 20 % trimmed each side"
    columns = {"error": 10, "± s.e.": 10, "aim": 9, "paper": 9, "p99": 12, "met": 5}
    heads = "".join(f"{name:>{width}}" for name, width in columns.items())
    yield f"{'set':14}{'query':7}{'method':11}{heads}"
    for data in sets:
        for query in QUERIES:
            for method in ("clip", "partition"):
                result = measured(data, "inverse", query, method=method, share="1", runs=runs, seed=seed)
                paper = PAPER[query].get(data.name)
                aim = AIMS.get((method, query), {}).get(data.name)
                if method == "partition" and paper is not None:
                    aim = 1.4 * paper
                met = "" if aim is None else _yes(result.trimmed <= aim + 2 * result.standard_error)
                yield (
                    f"{data.name:14}{query:7}{method:11}{result.trimmed:10.4f}{result.standard_error:10.4f}"
                    f"{_or_dash(aim)}{_or_dash(paper)}{result.p99:12.4g}{met:>5}"
                )


def against_oracle(sets: list[DataSet], runs: int, seed: int) -> Iterator[str]:
    """Yield the errors of ``clip`` in oracle clips, for three policies and three shares."""
    yield f"clip in oracle clips at the same share, {runs} runs, seed {seed}"
    yield (
        f"{'set':14}{'policy':9}{'query':7}"
        + "".join(f"{'share ' + share:>23}" for share in SHARES)
        + "   growth"
    )
    yield " " * 30 + "".join(f"{'trimmed':>8}{'p99':>6}{'mean':>9}" for _ in SHARES)
    worst_p99 = worst_growth = 0.0
    for data in sets:
        for policy in POLICIES:
            for query in QUERIES:
                row = [
                    measured(data, policy, query, method="clip", share=share, runs=runs, seed=seed)
                    for share in SHARES
                ]
                cells = "".join(
                    f"{r.multiple:8.2f}{r.p99 / r.oracle:6.1f}{r.mean / r.oracle:9.3g}" for r in row
                )
                growth = max(r.multiple for r in row) / row[0].multiple
                worst_growth = max(worst_growth, growth)
                worst_p99 = max(worst_p99, row[0].p99 / row[0].oracle)
                yield f"{data.name:14}{policy:9}{query:7}{cells}{growth:9.2f}"
    yield f"worst p99 at share 1: {worst_p99:.1f} oracle clips; worst growth over shares: {worst_growth:.2f}"


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def _or_dash(number: float | None) -> str:
    return f"{'-':>9}" if number is None else f"{number:9.4f}"


def main() -> None:
    arguments = options(__doc__)
    sets = list(all_sets(arguments.data))
    for line in headline(sets, arguments.runs, arguments.seed):
        print(line, flush=True)
    print()
    for line in against_oracle(sets, arguments.runs, arguments.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
