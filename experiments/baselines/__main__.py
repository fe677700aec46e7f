"""The errors of each baseline beside the paper's figures, and the seconds of the row twins.

``python -m experiments.baselines --data FOLDER``: inverse policy, share 1, relative errors in percent (for a
maximum, the part of the records above the answer), 20 % trimmed each side. ``--time`` times one query of
each row twin on 200,000 rows, and the library's default in the same run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments.baselines import BASELINES, ROW_TWINS
from experiments.datasets import DataSet, all_sets, normal
from experiments.problem import Problem
from experiments.yardsticks import trimmed
from prdp.testing import simulate

PAPER = {
    "count": {"Normal(50k)": 2.27, "Normal(500k)": 13.69, "Bank": 1.34, "SF": 3.29},
    "sum": {"Normal(50k)": 10.68, "Normal(500k)": 48.80, "Bank": 21.25, "SF": 14.92},
}
"""What the paper's Table 3 says of personalised truncation."""


def errors(sets: Sequence[DataSet], runs: int, seed: int) -> Iterator[str]:
    """Yield a row for each baseline, question and set."""
    yield f"inverse policy, {runs} runs, seed {seed}: error in %, 20 % trimmed each side"
    heads = ("error", "± s.e.", "p99", "paper")
    yield f"{'set':14}{'query':7}{'method':34}" + "".join(f"{head:>12}" for head in heads)
    for data in sets:
        for question in ("count", "sum", "max"):
            problem = Problem(data, question=question)
            for method in BASELINES:
                if question not in method.questions:
                    continue
                found = problem.errors(method.answers(problem, runs, seed))
                published = method.name == "personalised truncation"
                paper = PAPER[question].get(data.name, np.nan) if published else np.nan
                figures = (*trimmed(found), float(np.quantile(found, 0.99)), paper)
                row = "".join(f"{figure:12.5g}" for figure in figures)
                yield f"{data.name:14}{question:7}{method.name:34}{row}"


def times(size: int, runs: int, seed: int) -> Iterator[str]:
    """Yield the seconds of one query for each row twin, and those of the library's default."""
    data = normal("Normal(50k)", 50_000, size)
    yield f"seconds a query, {size:,} rows, inverse policy, least of {runs}; the library reads the rows anew"
    for question in ("count", "sum", "max"):
        took = {}
        for method in ROW_TWINS:
            if question in method.questions:
                problem = Problem(data, question=question)
                took[method.name] = min(_seconds(lambda: method.answers(problem, 1, seed)) for _ in range(runs))  # noqa: B023
        ours = min(_seconds(lambda: _ask(Problem(data, question=question), seed)) for _ in range(runs + 2))  # noqa: B023
        for name, seconds in took.items():
            yield f"{question:7}{name:36}{seconds:9.3f} s   {seconds / ours:8.0f}x the library's {ours:.4f} s"


def _ask(problem: Problem, seed: int) -> None:
    simulate(problem.table, problem.query, runs=1, seed=seed)


def _seconds(work: object) -> float:
    start = time.perf_counter()
    assert callable(work)  # noqa: S101
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=2000, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--time", action="store_true", help="time the row twins instead")
    asked = parser.parse_args()
    lines = times(200_000, 3, asked.seed) if asked.time else errors(list(all_sets(asked.data)), asked.runs, asked.seed)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
