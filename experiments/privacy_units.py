"""Owners on TPC-H: orders protected by customer, beside a table with one row per customer.

Make the data with ``tpchgen-cli parquet -s 0.01 --output-dir=FOLDER``, then run ``python -m
experiments.privacy_units --data FOLDER``. Policy 100000 / o_totalprice, at most 10, bounds 1 to 10^6 in
cents;
share 1/2. The answers with ``privacy_unit`` and those of the folded table come from the same seed and must be
equal, one by one. Errors are 20 % trimmed means over the runs, in percent of the truth; for groups, the mean
over them. *Rows* is the error without ``privacy_unit``, where every order is a record of its own: a weaker
promise.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np

import prdp
from experiments.options import options
from experiments.yardsticks import trimmed
from prdp.declare.units import MAX_ROWS
from prdp.plan import queries
from prdp.tables.groups import Groups
from prdp.testing import simulate

SHARE = "1/2"
DEAREST = 10**6
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
FOLDED = """
    SELECT o_custkey, min(least(10, 100000 / CAST(o_totalprice AS DOUBLE))) AS eps, {}
    FROM '{}' GROUP BY o_custkey HAVING n > 0
"""
COLUMNS = {
    "n": "count(*) FILTER ({0})",
    "total": "CAST(sum(o_totalprice) FILTER ({0}) AS DECIMAL(18, 2))",
    "largest": "max(o_totalprice) FILTER ({0})",
}


def opened(path: Path, privacy_unit: str | None) -> prdp.Table:
    return prdp.open(
        path,
        policy=prdp.Policy("100000 / o_totalprice", at_most=10),
        bounds={"o_totalprice": (1, DEAREST)},
        round_to={"o_totalprice": "0.01"},
        privacy_unit=privacy_unit,
        synthetic=True,
    )


def folded(path: Path, where: str) -> prdp.Table:
    """Return the table with one row per customer: budgets over all orders, totals over those kept."""
    columns = ", ".join(f"{sql.format(where)} AS {name}" for name, sql in COLUMNS.items())
    rows = duckdb.sql(FOLDED.format(columns, path))
    assert rows is not None  # noqa: S101  (for the type checker)
    return prdp.open(
        rows.to_arrow_table(),
        policy=prdp.Policy.column("eps", at_least="1/10", at_most=10),
        bounds={"n": (1, MAX_ROWS), "total": (1, DEAREST * MAX_ROWS), "largest": (1, DEAREST)},
        round_to={"total": "0.01", "largest": "0.01"},
        synthetic=True,
    )


def error(
    table: prdp.Table | Groups,
    query: queries.Count | queries.Sum,
    truth: list[float],
    runs: int,
    seed: int,
) -> float:
    """Return the trimmed relative error, in percent."""
    answers = simulate(table, query, share=SHARE, runs=runs, seed=seed)
    rows = [[one] if isinstance(one, prdp.Release) else [r for (r,) in one.releases] for one in answers]
    values = np.array([[float(release.value) for release in row] for row in rows])
    return trimmed(100 * np.mean(np.abs(values - truth) / np.array(truth), axis=1))[0]


def compare(path: Path, runs: int, seed: int) -> None:
    """Print, question by question, how many answers are equal."""
    print(f"share {SHARE}, {runs} runs, seed {seed}: answers equal to those of the folded table")
    for where in ("true", "o_orderstatus = 'F'"):
        table, by_hand = opened(path, "o_custkey"), folded(path, f"WHERE {where}")
        table = table if where == "true" else table.filter(where)
        for query, same in (
            (prdp.count(), prdp.sum("n")),
            (prdp.sum("o_totalprice"), prdp.sum("total")),
            (prdp.max("o_totalprice"), prdp.max("largest")),
        ):
            ours = simulate(table, query, share=SHARE, runs=runs, seed=seed)
            theirs = simulate(by_hand, same, share=SHARE, runs=runs, seed=seed)
            equal = sum(one.exact == other.exact for one, other in zip(ours, theirs, strict=True))
            print(f"  {query!s:22} where {where:22}{equal} of {runs}")


def measure(path: Path, runs: int, seed: int) -> None:
    """Print errors with and without ``privacy_unit``, for all orders and by priority."""
    print(f"errors in %{'':22}{'customers':>10}{'rows':>10}")
    for query, sql in ((prdp.count(), "count(*)"), (prdp.sum("o_totalprice"), "sum(o_totalprice)")):
        whole = duckdb.execute(f"SELECT {sql} FROM '{path}'").fetchall()
        by_key = dict(duckdb.execute(f"SELECT o_orderpriority, {sql} FROM '{path}' GROUP BY ALL").fetchall())
        for grouped in (False, True):
            errors = []
            for privacy_unit in ("o_custkey", None):
                table = opened(path, privacy_unit)
                asked = table.group_by("o_orderpriority", keys=PRIORITIES) if grouped else table
                truth = [float(by_key[key]) for key in PRIORITIES] if grouped else [float(whole[0][0])]
                errors.append(error(asked, query, truth, runs, seed))
            name = f"{query}{' by priority' if grouped else ''}"
            print(f"  {name:31}{errors[0]:10.3f}{errors[1]:10.3f}", flush=True)


def main() -> None:
    arguments = options(__doc__, runs=1000)
    path = arguments.data / "orders.parquet" if arguments.data else None
    if path is None or not path.exists():
        print(f"left out: orders.parquet is not in {arguments.data or 'a folder given by --data'}")
        return
    compare(path, arguments.runs, arguments.seed)
    measure(path, arguments.runs, arguments.seed)


if __name__ == "__main__":
    main()
