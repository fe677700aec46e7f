"""The errors of each baseline beside the paper's figures, and the seconds of the row twins.

``python -m experiments.baselines --data FOLDER``: inverse policy, share 1, relative errors in percent (for a
maximum, the part of the records above the answer), 20 % trimmed each side. ``--time`` times one query of
each row twin on 200,000 rows, and the library's default in the same run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments.baselines import BASELINES, ROW_TWINS
from experiments.baselines.personalised_truncation import PUBLISHED, SAMPLED
from experiments.datasets import DataSet, all_sets, normal
from experiments.problem import QUERIES, Problem, Question
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
    yield f"{'set':14}{'query':7}{'method':39}" + "".join(f"{head:>12}" for head in heads)
    for data in sets:
        for question in QUERIES:
            problem = Problem(data, question=question)
            for method in BASELINES:
                if question not in method.questions:
                    continue
                found = problem.errors(method.answers(problem, runs, seed))
                published = method in (PUBLISHED, SAMPLED)
                paper = PAPER[question].get(data.name, np.nan) if published else np.nan
                figures = (*trimmed(found), float(np.quantile(found, 0.99)), paper)
                row = "".join(f"{figure:12.5g}" for figure in figures)
                yield f"{data.name:14}{question:7}{method.name:39}{row}"


def times(size: int, repeats: int, seed: int) -> Iterator[str]:
    """Yield the seconds of one query for each row twin, and those of the library's default."""
    data = normal("Normal(50k)", 50_000, size)
    yield f"processor seconds a query, {size:,} rows read anew, inverse policy, least of {repeats}"
    for question in QUERIES:
        ours = min(_seconds(_library, data, question, seed) for _ in range(repeats))
        for method in ROW_TWINS:
            if question in method.questions:
                problem = Problem(data, question=question)
                took = min(_seconds(method.answers, problem, 1, seed) for _ in range(repeats))
                ratio = f"{took / ours:6.0f} times the library's {ours:.4f} s"
                yield f"{question:7}{method.name:36}{took:9.3f} s {ratio}"


def _library(data: DataSet, question: Question, seed: int) -> None:
    problem = Problem(data, question=question)
    simulate(problem.table, problem.query, runs=1, seed=seed)


def _seconds(work: Callable[..., object], *given: object) -> float:
    """Return processor seconds, which do not depend on what else the machine does.

    Those of the library's engine are added up over its threads.
    """
    start = time.process_time()
    work(*given)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=2000, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--time", action="store_true", help="time the row twins instead")
    asked = parser.parse_args()
    sets = [] if asked.time else list(all_sets(asked.data))
    for line in times(200_000, 3, asked.seed) if asked.time else errors(sets, asked.runs, asked.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
