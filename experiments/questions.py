"""How good every other question is: quantiles, distinct counts, means, variances and histograms.

Run ``python -m experiments.questions --data FOLDER``. Policy 10000 / v with bounds 0 to 10^12, so that the
least budget is 10^-8; share 1. Errors are 20 % trimmed means over the runs, in percent: of the records for a
quantile (how many ranks the answer is off), else of the truth; for several groups, the mean over the groups.
*Ordinary* is the same question under ordinary differential privacy at the least budget. *Floor* is what every
method must err by, on this table or on it without a few records, where a bound is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet

import prdp
from experiments.options import options
from experiments.yardsticks import Floats, count_floor, trimmed
from prdp.plan import queries
from prdp.tables.groups import Groups
from prdp.testing import simulate

BOUNDS = (0, 10**12)
EDGES = np.linspace(0, 600_000, 51).astype(int).tolist()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a set.

    Attributes:
        name: What it is called in the table.
        ask: From the open table to what is simulated.
        query: The question.
        errors: From the answers (one row a run, one column a group) to errors in percent.
        floor: The least error, in percent; NaN where no bound is known.
    """

    name: str
    ask: Callable[[prdp.Table], prdp.Table | Groups]
    query: queries.Count | queries.Quantile | queries.CountDistinct | queries.Mean | queries.Variance
    errors: Callable[[Floats], Floats]
    floor: float = float("nan")


def of_ranks(values: Floats, part: float) -> Callable[[Floats], Floats]:
    """Return how many ranks answers are off, in percent; within ties an answer is off by none."""
    ordered = np.sort(values)

    def errors(answers: Floats) -> Floats:
        below = np.searchsorted(ordered, answers[:, 0], side="left") / ordered.size
        up_to = np.searchsorted(ordered, answers[:, 0], side="right") / ordered.size
        off: Floats = 100 * np.maximum(0, np.maximum(below - part, part - up_to))
        return off

    return errors


def of_truth(truth: Floats) -> Callable[[Floats], Floats]:
    """Return the mean relative error over the groups, in percent."""
    return lambda answers: np.asarray(100 * np.mean(np.abs(answers - truth) / truth, axis=1))


def of_whole(truth: Floats) -> Callable[[Floats], Floats]:
    """Return the mean error of a group, in percent of all groups together."""
    return lambda answers: np.asarray(100 * np.mean(np.abs(answers - truth), axis=1) / truth.sum())


def quantiles(column: str, values: Floats) -> list[Asked]:
    return [
        Asked(f"{part} quantile", lambda t: t, prdp.quantile(column, part), of_ranks(values, float(part)))
        for part in ("0.5", "0.99")
    ]


def salaries(path: Path) -> tuple[prdp.Table, prdp.Table, list[Asked]]:
    read = pyarrow.parquet.read_table(path, columns=["total_pay", "job_title"])
    pay = read["total_pay"].to_numpy()
    titles = read["job_title"].to_numpy()
    kept = pay >= 100
    budgets = np.minimum(100, 10_000 / pay[kept])
    _, inverse = np.unique(titles[kept], return_inverse=True)
    behind = np.bincount(inverse, weights=budgets).astype(float)
    bins, _ = np.histogram(pay[kept], EDGES)
    place = np.digitize(pay[kept], EDGES) - 1
    lows = [count_floor(budgets[place == group]) for group in range(len(EDGES) - 1)]
    asked = [
        *quantiles("total_pay", pay[kept]),
        Asked(
            "distinct job_title",
            lambda t: t,
            prdp.count_distinct("job_title"),
            of_truth(np.array([float(behind.size)])),
            100 * count_floor(behind) / behind.size,
        ),
        Asked(
            "histogram, 50 bins",
            lambda t: t.group_by(prdp.bins("total_pay", EDGES)),
            prdp.count(),
            of_whole(bins.astype(float)),
            100 * float(np.mean(lows)) / bins.sum(),
        ),
    ]
    ours = _opened(path, "total_pay", "0.01", per_record=True)
    return ours, _opened(path, "total_pay", "0.01", per_record=False), asked


def accounts(path: Path) -> tuple[prdp.Table, prdp.Table, list[Asked]]:
    read = pyarrow.parquet.read_table(path, columns=["balance", "job"])
    balance, job = read["balance"].to_numpy().astype(float), read["job"].to_numpy()
    kept = balance >= 100
    jobs = sorted(set(job))
    groups = [balance[kept & (job == name)] for name in jobs]
    means = np.array([float(np.mean(group)) for group in groups])
    variances = np.array([float(np.var(group)) for group in groups])

    def by_job(table: prdp.Table) -> Groups:
        return table.group_by("job", keys=jobs)

    asked = [
        *quantiles("balance", balance[kept]),
        Asked("mean by job", by_job, prdp.mean("balance"), of_truth(means)),
        Asked("variance by job", by_job, prdp.variance("balance"), of_truth(variances)),
    ]
    ours = _opened(path, "balance", "1", per_record=True)
    return ours, _opened(path, "balance", "1", per_record=False), asked


def _opened(path: Path, column: str, round_to: str, *, per_record: bool) -> prdp.Table:
    policy = prdp.Policy(f"10000 / {column}", at_most=100) if per_record else prdp.Policy.constant("1e-8")
    table = prdp.open(
        path, policy=policy, bounds={column: BOUNDS}, round_to={column: round_to}, synthetic=True
    )
    return table.filter(f"{column} >= 100")


def answers(asked: Asked, table: prdp.Table, runs: int, seed: int) -> Floats:
    """Return the answers: one row a run, one column a group."""
    simulated = simulate(asked.ask(table), asked.query, runs=runs, seed=seed)
    rows = [
        [float(one.value)] if isinstance(one, prdp.Release) else [float(r.value) for (r,) in one.releases]
        for one in simulated
    ]
    return np.array(rows)


def main() -> None:
    arguments = options(__doc__, runs=1000)
    print(f"inverse policy, share 1, {arguments.runs} runs, seed {arguments.seed}; errors in %")
    print(f"{'set':6}{'question':22}{'error':>10}{'± s.e.':>10}{'p99':>10}{'floor':>10}{'ordinary':>12}")
    for name, file, opened in (("SF", "sf_salary.parquet", salaries), ("Bank", "bank.parquet", accounts)):
        path = arguments.data / file if arguments.data else None
        if path is None or not path.exists():
            print(f"{name}: left out, {file} is not in {arguments.data or 'a folder given by --data'}")
            continue
        ours, ordinary, questions = opened(path)
        for asked in questions:
            errors = asked.errors(answers(asked, ours, arguments.runs, arguments.seed))
            other = asked.errors(answers(asked, ordinary, max(20, arguments.runs // 10), arguments.seed))
            middle, error = trimmed(errors)
            figures = f"{middle:10.4f}{error:10.4f}{np.quantile(errors, 0.99):10.3f}{asked.floor:10.4f}"
            print(f"{name:6}{asked.name:22}{figures}{trimmed(other)[0]:12.3g}", flush=True)


if __name__ == "__main__":
    main()
