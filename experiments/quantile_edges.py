"""Widths of the intervals of quantiles, beside their errors, on made-up sets and on real ones.

Run ``python -m experiments.quantile_edges``; ``--data FOLDER`` for the real sets. The truth is the quantile
of the records as they were weighed at the clipping point that was drawn. *width* is the median half width
of a 95 % interval over the 95 % quantile of the error, *covered* how often it holds that truth, *open* how
often an end is missing. Errors count as half a rounding step at least. Edges, parts of the share and what is
believed of rough weights were chosen on the made-up sets, seed 0, and then frozen.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

import prdp
from experiments.yardsticks import Floats
from prdp.engines.duckdb.engine import open_source
from prdp.mechanisms.rank import WEIGHT_BITS, Rank
from prdp.testing import Seeded

INVERSE, CONSTANT = "10000 / greatest(abs(v), 100)", "1"
SHARES = ("1", "1/10", "1/100")
QUESTIONS = (("1/2",), ("1/4",), ("9/10",), ("1/4", "1/2", "3/4"))


@dataclass(frozen=True, slots=True)
class MadeUp:
    """A column with its public bounds and policy."""

    values: Floats
    low: int
    high: int
    policy: str


def made_up(seed: int) -> Mapping[str, MadeUp]:
    """Return the sets on which parameters are chosen."""
    rng = np.random.default_rng(seed)
    normal = rng.lognormal(9, 1, 100_000)
    two = np.append(rng.normal(2000, 100, 30_000), rng.normal(60_000, 3000, 30_000))
    return {
        "log-normal": MadeUp(normal, 0, 10**7, INVERSE),
        "log-normal, one budget": MadeUp(normal, 0, 10**7, CONSTANT),
        "2,000 log-normal": MadeUp(normal[:2000], 0, 10**7, INVERSE),
        "wide log-normal": MadeUp(rng.lognormal(7, 2, 50_000), -(10**9), 10**9, INVERSE),
        "Pareto": MadeUp(100 * rng.pareto(1.5, 50_000) + 100, 0, 10**9, INVERSE),
        "thousands": MadeUp(np.round(normal, -3), 0, 10**7, INVERSE),
        "ages": MadeUp(rng.integers(0, 90, 20_000).astype(float), 0, 120, CONSTANT),
        "two humps": MadeUp(two, 0, 10**7, INVERSE),
        "half zeros": MadeUp(
            np.where(rng.random(50_000) < 0.45, 0, rng.lognormal(8, 1, 50_000)), 0, 10**7, INVERSE
        ),
        "both signs": MadeUp(rng.normal(0, 5000, 50_000), -(10**7), 10**7, INVERSE),
    }


def real(folder: Path) -> Mapping[str, MadeUp]:
    """Return the real sets."""

    def column(file: str, name: str) -> Floats:
        values: Floats = (
            pyarrow.parquet.read_table(folder / file, columns=[name])[name].to_numpy().astype(float)
        )
        return values[~np.isnan(values)]

    pay, balance = column("sf_salary.parquet", "total_pay"), column("bank.parquet", "balance")
    return {
        "SF pay": MadeUp(pay, -1000, 10**7, INVERSE),
        "SF pay, one budget": MadeUp(pay, -1000, 10**7, "1/10"),
        "Bank balance": MadeUp(balance, -(10**6), 10**6, INVERSE),
        "Bank balance, one budget": MadeUp(balance, -(10**6), 10**6, "1"),
    }


def drawn(
    made: MadeUp, parts: tuple[str, ...], share: Fraction, *, runs: int, seed: int, changes: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """Return answers of the mechanism, with changes of its parameters."""
    column = {"v": np.rint(made.values).astype(np.int64)}
    table = prdp.open(column, policy=made.policy, bounds={"v": (made.low, made.high)}, synthetic=True)
    plan = table.plan(prdp.quantile("v", list(parts)), share=share)
    rank = plan.queries[0].steps[0].mechanism
    if not isinstance(rank, Rank):
        raise TypeError(rank)
    read: Any = plan.queries[0].read
    summary = open_source(pyarrow.table(column), None).summarise(read)[0]
    return replace(rank, **changes).answers(summary, share, Seeded(seed), runs)


def measured(made: MadeUp, answers: list[tuple[Any, ...]]) -> tuple[float, float, float, float]:
    """Return the 95 % quantile of the error, the median half width, the coverage, the part of open ends."""
    ordered = np.sort(np.rint(made.values))
    budgets = np.ones(ordered.size) if made.policy != INVERSE else 10_000 / np.maximum(np.abs(ordered), 100)
    sums: dict[Any, Floats] = {}
    off, wide, held, open_ends = [], [], [], []
    for answer in (one for run in answers for one in run):
        ranked = answer.chosen
        at = 0.0 if ranked.clipping is None else float(ranked.clipping.at) / (1 << WEIGHT_BITS)
        if at not in sums:
            sums[at] = np.cumsum(np.minimum(1, budgets * at) if at else budgets)
        below = sums[at]
        truth = ordered[
            min(int(np.searchsorted(below, float(ranked.quantile) * below[-1])), ordered.size - 1)
        ]
        low, high = ranked.between(Fraction(1, 20))
        off.append(abs(answer.steps - truth))
        held.append((low is None or low <= truth) and (high is None or truth <= high))
        open_ends.append(low is None or high is None)
        low, high = made.low if low is None else low, made.high if high is None else high
        wide.append((high - low) / 2)
    return (
        float(np.quantile(off, 0.95)),
        float(np.median(wide)),
        float(np.mean(held)),
        float(np.mean(open_ends)),
    )


def lines(
    sets: Mapping[str, MadeUp], runs: int, seed: int, changes: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{runs} runs, seed {seed}; for each share: error (95 %), width, covered, open"
    for name, made in sets.items():
        for parts in QUESTIONS:
            line = f"{name:26}{', '.join(parts):18}"
            for share in SHARES:
                answers = drawn(made, parts, Fraction(share), runs=runs, seed=seed, changes=changes or {})
                error, wide, covered, open_ends = measured(made, answers)
                line += f" |{error:10,.1f}{wide / max(error, 0.5):6.1f}{covered:7.3f}{open_ends:6.2f}"
            yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=200, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise, and of the made-up sets")
    arguments = parser.parse_args()
    sets = real(arguments.data) if arguments.data else made_up(arguments.seed)
    for line in lines(sets, arguments.runs, arguments.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
