"""TPC-H with private customers: revenue, orders and the totals of Q3, Q5 and Q10, beside plain DuckDB.

Make the tables with ``tpchgen-cli parquet -s 0.1 --output-dir=FOLDER`` and run ``python -m
experiments.joins.tpch --data FOLDER``. A customer's budget falls with the account's balance, which lies
between -1,000 and 10,000: E = alpha / (balance + 1100).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import duckdb
import numpy as np

import prdp
from experiments.options import options
from experiments.yardsticks import Floats, oracle_clip, trimmed
from prdp.testing import simulate

TABLES = ("customer", "orders", "lineitem", "supplier", "nation", "region")
REVENUE = "l_extendedprice * (1 - l_discount)"
JOINED = (
    "customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey "
    "JOIN supplier ON l_suppkey = s_suppkey JOIN nation ON c_nationkey = n_nationkey "
    "JOIN region ON n_regionkey = r_regionkey"
)
SHARES = ("1", "1/10")
ALPHAS = (10_000, 1_000)
"""Budgets like the paper's for bank accounts, and a tenth of them."""


@dataclass(frozen=True, slots=True)
class Question:
    """A total over the join: the tables it names, its condition, and whether it is a revenue."""

    name: str
    tables: tuple[str, ...]
    where: str | None
    revenue: bool = True

    def asked(self, shop: prdp.Join) -> prdp.Join:
        """Return the join that answers it."""
        join = shop.over(*self.tables)
        return join if self.where is None else join.filter(self.where)

    def plain(self, value: str) -> str:
        """Return the question in plain SQL, for all customers or for each."""
        source = JOINED if "lineitem" in self.tables else "customer JOIN orders ON o_custkey = c_custkey"
        return f"SELECT {value} FROM {source}" + (f" WHERE {self.where}" if self.where else "")


QUESTIONS = (
    Question("orders", ("orders",), None, revenue=False),
    Question("revenue", ("lineitem",), None),
    Question(
        "Q3", ("lineitem",),
        "c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'",
    ),
    Question(
        "Q5", ("lineitem", "supplier", "region"),
        "r_name = 'ASIA' AND c_nationkey = s_nationkey AND o_orderdate >= DATE '1994-01-01' "
        "AND o_orderdate < DATE '1995-01-01'",
    ),
    Question(
        "Q10", ("lineitem", "nation"),
        "o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R'",
    ),
)  # fmt: skip


def opened(folder: Path, alpha: int) -> prdp.Join:
    return prdp.open_join(
        {name: folder / f"{name}.parquet" for name in TABLES},
        private="customer",
        key="c_custkey",
        references={
            "orders.o_custkey": "customer.c_custkey",
            "lineitem.l_orderkey": "orders.o_orderkey",
            "lineitem.l_suppkey": "supplier.s_suppkey",
            "customer.c_nationkey": "nation.n_nationkey",
            "nation.n_regionkey": "region.r_regionkey",
        },
        public=["supplier", "nation", "region"],
        policy=prdp.Policy(f"{alpha} / (c_acctbal + 1100)"),
        bounds={"c_acctbal": (-1000, 10_000), "l_extendedprice": (0, 200_000), "l_discount": (0, 1)},
        max_rows=100_000,
        synthetic=True,
    )


def answers(join: prdp.Join, question: Question, share: str, runs: int, seed: int) -> Floats:
    query = prdp.sum(REVENUE, round_to="0.01") if question.revenue else prdp.count()
    releases = simulate(join, query, share=share, runs=runs, seed=seed)
    return np.array([float(release.exact) for release in releases])


def floor(values: Floats, budgets: Floats, share: float) -> float:
    """Return what every method errs by, on this data or without some customers: max lost / (1 + e^budget)."""
    order = np.argsort(-values / budgets)
    spent, lost = np.cumsum(share * budgets[order]), np.cumsum(values[order])
    return float((lost / (1 + np.exp(np.minimum(spent, 700)))).max())


def report(folder: Path, alpha: int, runs: int, seed: int, repeats: int = 5) -> None:
    shop = opened(folder, alpha)
    plain = duckdb.connect()
    for name in TABLES:
        plain.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder / name}.parquet')")
    print(
        f"alpha {alpha:,}, {runs} runs, seed {seed}: error in %, 20 % trimmed; oracle: the best fixed point"
    )
    heads = ("error", "± s.e.", "p99", "oracle", "floor")
    print(
        f"{'question':10}{'share':>7}" + "".join(f"{head:>9}" for head in heads) + "   seconds   plain  ratio"
    )
    for question in QUESTIONS:
        value = f"sum({REVENUE})" if question.revenue else "count(*)"
        each = plain.execute(
            question.plain(f"{value}, {alpha} / (any_value(c_acctbal) + 1100)") + " GROUP BY c_custkey"
        ).fetchall()
        values, budgets = (np.array(column, float) for column in zip(*each, strict=True))
        truth = float(values.sum())
        first = partial(first_answer, folder, alpha, question)
        seconds, base = timed(first, partial(fetched, plain, question.plain(value)), repeats)
        for share in SHARES:
            part = float(Fraction(share))
            errors = 100 * np.abs(answers(question.asked(shop), question, share, runs, seed) - truth) / truth
            middle, spread = trimmed(errors)
            yardsticks = (100 * f(values, budgets, part) / truth for f in (oracle_clip, floor))
            print(
                f"{question.name:10}{share:>7}{middle:9.3f}{spread:9.3f}{np.quantile(errors, 0.99):9.2f}"
                + "".join(f"{yardstick:9.3f}" for yardstick in yardsticks)
                + f"{seconds:10.3f}{base:8.3f}{seconds / base:7.1f}",
                flush=True,
            )


def first_answer(folder: Path, alpha: int, question: Question) -> None:
    answers(question.asked(opened(folder, alpha)), question, "1", 1, 0)


def fetched(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    connection.execute(sql).fetchall()


def timed(ours: Callable[[], object], plain: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the median seconds of a first answer, opening included, and of the plain query, alternating."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for run, taken in zip((ours, plain), times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return float(np.median(times[0])), float(np.median(times[1]))


def main() -> None:
    arguments = options(__doc__, runs=500)
    folder = arguments.data or Path()
    if not all((folder / f"{name}.parquet").exists() for name in TABLES):
        print("the TPC-H tables are not in the folder given by --data")
        return
    for alpha in ALPHAS:
        report(folder, alpha, arguments.runs, arguments.seed)


if __name__ == "__main__":
    main()
