"""Policies under which larger values may lose more: the default, ``clip`` and ``additive`` on real sets.

``python -m experiments.growing --data FOLDER``: sums, means, sums by group and sums of owners. Errors are
20 % trimmed means over the runs of absolute errors, with standard errors, and the 95 % quantile; for groups,
of the mean error over all of them. Values of 100 and more, bounds 1 to 10^9. Owners of CBP are counties;
those of Bank and SF are made up, four rows after another each.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow

import prdp
from experiments.datasets import CUT
from experiments.options import options
from experiments.yardsticks import Floats, trimmed
from prdp.testing import simulate

HIGHEST = 10**9
POLICIES = {
    "ln": "2 * ln(1 + v / 100)",
    "root": "sqrt(v) / 10",
    "fourth root": "power(v, 0.25)",
    "linear": "v / 1000",
    "steps": "CASE WHEN v < 1000 THEN 1 WHEN v < 100000 THEN 10 ELSE 30 END",
}
METHODS = (None, "clip", "additive")
SHARES = ("1", "1/10")
ROWS_OF_AN_OWNER = 4


@dataclass(frozen=True)
class RealSet:
    """A set: its file and column, what it is grouped by, who owns its rows, and of how many at most."""

    file: str
    column: str
    by: str
    unit: str
    max_rows: int


SETS = {
    "CBP": RealSet("cbp_2021.parquet", "payroll_kusd", "state", "fips", 1000),
    "Bank": RealSet("bank.parquet", "balance", "job", "", ROWS_OF_AN_OWNER),
    "SF": RealSet("sf_salary.parquet", "total_pay", "year", "", ROWS_OF_AN_OWNER),
}


def records(real: RealSet, folder: Path) -> pyarrow.Table:
    """Return the rows of a set: value, group and owner."""
    unit = real.unit or f"row_number() OVER () // {ROWS_OF_AN_OWNER}"
    found = duckdb.sql(
        f"SELECT CAST(round({real.column}) AS BIGINT) AS v, {real.by} AS g, {unit} AS owner "
        f"FROM '{folder / real.file}' WHERE round({real.column}) >= {CUT}"
    )
    assert found is not None  # noqa: S101  (for the type checker)
    return found.to_arrow_table()


def opened(rows: pyarrow.Table, policy: str, real: RealSet, *, unit: bool) -> prdp.Table:
    return prdp.open(
        rows,
        policy=prdp.Policy(policy, at_least="1/100"),
        bounds={"v": (1, HIGHEST)},
        synthetic=True,
        privacy_unit="owner" if unit else None,
        max_rows=real.max_rows if unit else None,
    )


def errors(
    question: str, rows: pyarrow.Table, table: prdp.Table, how: tuple[str | None, str, int, int]
) -> Floats:
    """Return the absolute error of each run."""
    method, share, runs, seed = how
    values = rows["v"].to_numpy()
    if question == "sum by group":
        groups = rows["g"].to_numpy(zero_copy_only=False)
        keys = sorted(set(groups.tolist()))
        truths = [values[groups == key].sum() for key in keys]
        tables = simulate(
            table.group_by("g", keys=keys), prdp.sum("v"), share=share, method=method, runs=runs, seed=seed
        )
        means = []
        for one in tables:
            answers = np.array([float(row[0].exact) for row in one.releases])
            means.append(np.abs(answers - truths).mean())
        return np.array(means)
    query, truth = (prdp.mean("v"), values.mean()) if question == "mean" else (prdp.sum("v"), values.sum())
    releases = simulate(table, query, share=share, method=method, runs=runs, seed=seed)
    return np.abs([float(release.exact) - truth for release in releases])


def lines(folder: Path, runs: int, seed: int) -> Iterator[str]:
    """Yield the table, row by row."""
    yield f"{runs} runs (groups and owners {runs // 4}), seed {seed}; trimmed error ± standard error (95 %)"
    yield f"{'set':6}{'question':14}{'policy':13}{'share':6}" + "".join(
        f"{m or 'default':>30}" for m in METHODS
    )
    for name, real in SETS.items():
        rows = records(real, folder)
        for policy, text in POLICIES.items():
            tables = {unit: opened(rows, text, real, unit=unit) for unit in (False, True)}
            for question in ("sum", "mean", "sum by group", "sum of owners"):
                for share in SHARES:
                    many = runs if question in ("sum", "mean") else runs // 4
                    cells = []
                    for method in METHODS:
                        table = tables[question == "sum of owners"]
                        found = errors(question, rows, table, (method, share, many, seed))
                        mean, error = trimmed(found)
                        cells.append(f"{mean:.3g} ± {error:.1g} ({np.quantile(found, 0.95):.3g})")
                    yield f"{name:6}{question:14}{policy:13}{share:6}" + "".join(
                        f"{cell:>30}" for cell in cells
                    )


def main() -> None:
    asked = options(__doc__, runs=400)
    warnings.simplefilter("ignore", prdp.errors.RecordsLeftOut)
    if asked.data is None:
        raise SystemExit("--data FOLDER: the folder with the real sets' Parquet files")
    for line in lines(asked.data, asked.runs, asked.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
