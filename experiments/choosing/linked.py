"""Means and variances whose count and squares follow the sum's clipping point, drawn from the library.

``python -m experiments.choosing.linked``: the synthetic sets and groups, or with ``--data FOLDER`` the real
ones.
*Alone*, each part chooses its own point. Errors are 20 % trimmed means over the truth, at most 1: lost;
*covered* is the part of the runs whose 95 % interval holds the truth, and widths are medians.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow.parquet

import prdp
from experiments.choosing import centres
from experiments.choosing.cases import SHARES, opened, sets
from experiments.datasets import DataSet
from experiments.options import options
from experiments.yardsticks import Floats, trimmed
from prdp.plan.queries import Query
from prdp.release.table import ReleaseTable
from prdp.testing import simulate

POLICIES = ("inverse", "log", "sqrt")
QUERIES: dict[str, Query] = {"mean": prdp.mean("v"), "variance": prdp.variance("v")}


def each_alone() -> AbstractContextManager[object]:
    """Have every part choose its own point, as where policy and bounds do not tell which follows."""
    return patch("prdp.plan.planner.part_mechanism", lambda _, row, terms: row.build(terms))


@dataclass(frozen=True, slots=True)
class Found:
    """What a question came to: its error, how often its interval held the truth, and how wide that was."""

    error: float
    covered: float
    width: float


def truth(word: str, values: Floats) -> float:
    return float({"mean": values.mean(), "variance": values.var(), "std": values.std()}[word])


def asked(table: prdp.Table, word: str, share: Fraction, true: float, *, runs: int, seed: int) -> Found:
    releases = simulate(table, QUERIES[word], share=share, runs=runs, seed=seed)
    errors = np.array([abs(float(one.exact) - true) for one in releases])
    ends = np.array([one.interval() for one in releases])
    covered = float(np.mean((ends[:, 0] <= true) & (true <= ends[:, 1])))
    error = min(1.0, trimmed(errors)[0] / true) if true else 0.0
    return Found(error, covered, float(np.median(ends[:, 1] - ends[:, 0])))


def tables(folder: Path | None) -> Iterator[DataSet]:
    """Yield the sets, and where they are made up, groups of a few hundred to a few thousand records."""
    yield from sets(folder)
    if folder is None:
        for number, values in enumerate(centres.groups(0)):
            yield DataSet(f"group {number}", np.maximum(100, np.rint(values)).astype(np.int64))


def by_job(path: Path, share: Fraction, runs: int, seed: int) -> None:
    """Print errors by job, as ``experiments.questions`` has them: the mean over the groups, in percent."""
    read = pyarrow.parquet.read_table(path, columns=["balance", "job"])
    balance, job = read["balance"].to_numpy().astype(float), read["job"].to_numpy()
    jobs = sorted(set(job))
    table = prdp.open(
        path,
        policy=prdp.Policy("10000 / balance", at_most=100),
        bounds={"balance": (0, 10**12)},
        round_to={"balance": "1"},
        synthetic=True,
    )
    groups = table.filter("balance >= 100").group_by("job", keys=jobs)
    for query in (prdp.mean("balance"), prdp.variance("balance"), prdp.std("balance")):
        kept = [balance[(balance >= 100) & (job == name)] for name in jobs]
        true = np.array([truth(query.word, values) for values in kept])
        found = simulate(groups, query, share=share, runs=runs, seed=seed)
        rows = [
            [float(one.value) for (one,) in run.releases] for run in found if isinstance(run, ReleaseTable)
        ]
        ends = np.array(
            [[one.interval() for (one,) in run.releases] for run in found if isinstance(run, ReleaseTable)]
        )
        error, off = trimmed(100 * np.mean(np.abs(np.array(rows) - true) / true, axis=1))
        covered = np.mean((ends[..., 0] <= true) & (true <= ends[..., 1]))
        width = np.median((ends[..., 1] - ends[..., 0]) / true)
        print(
            f"  Bank by job, {query.word:9} share {share!s:6} {error:6.2f} ± {off:.2f} %, "
            f"covered {covered:.3f}, width {width:.2f}",
            flush=True,
        )


def compared(data: list[DataSet], word: str, share: Fraction, runs: int, seed: int) -> None:
    """Print one line: led over alone."""
    pairs = []
    for one in data:
        for policy in POLICIES:
            table, true = opened(one, policy), truth(word, one.values.astype(float))
            linked = asked(table, word, share, true, runs=runs, seed=seed)
            with each_alone():
                pairs.append((asked(opened(one, policy), word, share, true, runs=runs, seed=seed), linked))
    logs = np.log([linked.error / alone.error for alone, linked in pairs if linked.error and alone.error])
    widths = [
        linked.width / alone.width for alone, linked in pairs if np.isfinite(linked.width + alone.width)
    ]
    covered = [np.mean([pair[way].covered for pair in pairs]) for way in (0, 1)]
    ends = [sum(np.isfinite(pair[way].width) for pair in pairs) for way in (0, 1)]
    print(
        f"{word:9} share {share!s:6} {len(logs):3} cases: {np.exp(logs.mean()):.3f} ± "
        f"{logs.std() / np.sqrt(logs.size):.3f} (worst {np.exp(logs.max()):.2f}); "
        f"covered {covered[0]:.3f} -> {covered[1]:.3f}; width {np.median(widths) if widths else np.nan:.2f}, "
        f"with both ends {ends[0]} -> {ends[1]}",
        flush=True,
    )


def main() -> None:
    arguments = options(__doc__, runs=100)
    print(
        f"{arguments.runs} runs, seed {arguments.seed}; errors, led over alone: geometric mean and its error"
    )
    data = list(tables(arguments.data))
    kinds = {"sets": [one for one in data if not one.name.startswith("group")]}
    kinds["groups"] = [one for one in data if one.name.startswith("group")]
    for kind, some in kinds.items():
        for word in QUERIES if some else ():
            for share in SHARES:
                print(f"{kind:7}", end="")
                compared(some, word, share, arguments.runs, arguments.seed)
    if arguments.data is not None:
        for share in SHARES[:2]:
            with each_alone():
                print("alone:")
                by_job(arguments.data / "bank.parquet", share, arguments.runs, arguments.seed)
            print("led:")
            by_job(arguments.data / "bank.parquet", share, arguments.runs, arguments.seed)


if __name__ == "__main__":
    main()
