"""TPC-H with private customers, by group: Q3's revenue by month, Q5's and Q10's by nation, Q12's counts.

Make the tables with ``tpchgen-cli parquet -s 0.1 --output-dir=FOLDER`` and run ``python -m
experiments.joins.tpch_groups --data FOLDER``. Budgets are those of ``experiments.joins.tpch``, alpha 10,000.
The error of an answer is the sum of its groups' absolute errors, in percent of the sum of the truths; of its
runs, the 20 % trimmed mean. *Oracle* is that of the best fixed clipping points, known in advance: one for
each nation, whose customers are nobody else's, and one for all groups where a customer may be in several. Q3
and Q10 themselves group by an order and by a customer: the protected record, which is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

import prdp
from experiments.joins.tpch import JOINED, REVENUE, SHARES, TABLES, opened
from experiments.options import options
from experiments.yardsticks import Floats, oracle_clip, trimmed
from prdp.declare.groups import GroupKey
from prdp.plan.queries import Query
from prdp.tables.groups import Groups
from prdp.testing import simulate

ALPHA = 10_000
ASIA = ["CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"]
NATIONS = [
    "ALGERIA", "ARGENTINA", "BRAZIL", "CANADA", "CHINA", "EGYPT", "ETHIOPIA", "FRANCE", "GERMANY", "INDIA",
    "INDONESIA", "IRAN", "IRAQ", "JAPAN", "JORDAN", "KENYA", "MOROCCO", "MOZAMBIQUE", "PERU", "ROMANIA",
    "RUSSIA", "SAUDI ARABIA", "UNITED KINGDOM", "UNITED STATES", "VIETNAM",
]  # fmt: skip
MONTHS = ["1994-11-01", "1994-12-01", "1995-01-01", "1995-02-01", "1995-03-01"]
URGENT = "CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 'high' ELSE 'low' END"
MODES = [(mode, line) for mode in ("MAIL", "SHIP") for line in ("high", "low")]


@dataclass(frozen=True, slots=True)
class Grouped:
    """A total over the join for each of some public groups.

    Attributes:
        name: The query of TPC-H that it is.
        tables: The tables it names.
        where: Its condition.
        by: What it is grouped by.
        keys: The public groups.
        plain: The groups in plain SQL.
        revenue: Whether it is a revenue or a count.
        apart: Whether a customer is in one group at most.
    """

    name: str
    tables: tuple[str, ...]
    where: str
    by: tuple[str | GroupKey, ...]
    keys: Sequence[object]
    plain: str
    revenue: bool = True
    apart: bool = False

    @property
    def query(self) -> Query:
        """What is asked for each group."""
        return prdp.sum(REVENUE, round_to="0.01") if self.revenue else prdp.count()

    def asked(self, shop: prdp.Join) -> Groups:
        """Return the groups that answer it."""
        return shop.over(*self.tables).filter(self.where).group_by(*self.by, keys=self.keys)

    def sql(self) -> str:
        """Return in plain SQL what each customer adds to each group, and its budget."""
        value = f"sum({REVENUE})" if self.revenue else "count(*)"
        budget = f"{ALPHA} / (any_value(c_acctbal) + 1100)"
        return (
            f"SELECT c_custkey, {self.plain} AS key, {value}, {budget} FROM {JOINED} WHERE {self.where} "
            "GROUP BY c_custkey, key"
        )


QUESTIONS = (
    Grouped(
        "Q3 by month", ("lineitem",),
        "c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'",
        (prdp.date_trunc("month", "o_orderdate"),), MONTHS,
        "CAST(CAST(date_trunc('month', o_orderdate) AS DATE) AS VARCHAR)",
    ),
    Grouped(
        "Q5 by nation", ("lineitem", "supplier", "region"),
        "r_name = 'ASIA' AND c_nationkey = s_nationkey AND o_orderdate >= DATE '1994-01-01' "
        "AND o_orderdate < DATE '1995-01-01'",
        ("n_name",), ASIA, "n_name", apart=True,
    ),
    Grouped(
        "Q10 by nation", ("lineitem", "nation"),
        "o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R'",
        ("n_name",), NATIONS, "n_name", apart=True,
    ),
    Grouped(
        "Q12 by ship mode", ("lineitem",),
        "l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
        "AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'",
        ("l_shipmode", URGENT), MODES, f"l_shipmode || ' ' || {URGENT}", revenue=False,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Truth:
    """What each customer adds to each group, and each customer's budget."""

    added: dict[str, dict[int, float]]
    budgets: dict[int, float]

    @classmethod
    def of(cls, question: Grouped, plain: duckdb.DuckDBPyConnection) -> Truth:
        """Read it in plain SQL."""
        added: dict[str, dict[int, float]] = {_named(key): {} for key in question.keys}
        budgets: dict[int, float] = {}
        for customer, key, value, budget in plain.execute(question.sql()).fetchall():
            if key in added:
                added[key][customer] = float(value)
                budgets[customer] = float(budget)
        return cls(added, budgets)

    @property
    def totals(self) -> Floats:
        """The true answers."""
        return np.array([sum(customers.values()) for customers in self.added.values()])

    def oracle(self, share: float, *, apart: bool) -> Floats:
        """Return the error of the best fixed point: of each group, or of all together in equal parts."""
        if apart:
            return np.array([self._best(customers, share) for customers in self.added.values()])
        whole: dict[int, float] = defaultdict(float)
        for customers in self.added.values():
            for customer, value in customers.items():
                whole[customer] += value
        groups = len(self.added)  # each has the noise of the one point
        return np.full(groups, self._best(whole, share / groups) / groups)

    def _best(self, customers: dict[int, float], share: float) -> float:
        values = np.array(list(customers.values()))
        return oracle_clip(values, np.array([self.budgets[customer] for customer in customers]), share)


def _named(key: object) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def answers(question: Grouped, shop: prdp.Join, share: str, runs: int, seed: int) -> Floats:
    """Return the answers: one row a run, one column a group."""
    tables = simulate(question.asked(shop), question.query, share=share, runs=runs, seed=seed)
    return np.array([[float(release.exact) for (release,) in table.releases] for table in tables])


def report(
    question: Grouped, shop: prdp.Join, plain: duckdb.DuckDBPyConnection, runs: int, seed: int
) -> None:
    """Print the error over all groups at each share, and of each group at the first."""
    truth = Truth.of(question, plain)
    totals = truth.totals
    print(f"\n{question.name}: {len(totals)} groups, true sum {totals.sum():,.0f}")
    for share in SHARES:
        errors = np.abs(answers(question, shop, share, runs, seed) - totals)
        oracle = truth.oracle(float(Fraction(share)), apart=question.apart)
        middle, spread = trimmed(100 * errors.sum(axis=1) / totals.sum())
        best = 100 * oracle.sum() / totals.sum()
        print(f"  share {share:5} error {middle:8.3f} % ± {spread:.3f}   oracle {best:8.3f} %", flush=True)
        if share == SHARES[0]:
            for place, name in enumerate(truth.added):
                off = trimmed(errors[:, place])[0]
                shown = f"{name:18}{totals[place]:16,.0f}{off:14,.0f}{oracle[place]:14,.0f}"
                print(f"    {shown}   ({100 * off / totals[place]:.2f} %)")


def refusals(shop: prdp.Join) -> None:
    """Print what becomes of the keys that Q3 and Q10 group by themselves."""
    print("\nQ3's and Q10's own keys")
    for query, key in (("Q3", "l_orderkey"), ("Q10", "c_custkey")):
        try:
            shop.over("lineitem").group_by(key, keys=[1, 2, 3]).sum(REVENUE, round_to="0.01", share="1")
        except prdp.errors.InvalidRequest as refused:
            print(f"  {query}: {refused}")


def main() -> None:
    arguments = options(__doc__, runs=200)
    folder = arguments.data or Path()
    if not all((folder / f"{name}.parquet").exists() for name in TABLES):
        print("the TPC-H tables are not in the folder given by --data")
        return
    plain = duckdb.connect()
    for name in TABLES:
        plain.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder / name}.parquet')")
    shop = opened(folder, ALPHA)
    print(f"alpha {ALPHA:,}, {arguments.runs} runs, seed {arguments.seed}; columns: truth, error, oracle")
    for question in QUESTIONS:
        report(question, shop, plain, arguments.runs, arguments.seed)
    refusals(shop)


if __name__ == "__main__":
    main()
