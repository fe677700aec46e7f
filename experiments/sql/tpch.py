"""Seven TPC-H queries, asked in SQL of private line items, orders and customers, beside plain DuckDB.

Make the tables with ``tpchgen-cli parquet -s 0.01 --output-dir=FOLDER`` and run ``python -m experiments.sql.tpch
--data FOLDER``. The error is the mean relative one over all numbers of an answer. Budgets are public functions of
a record's own content: a line item's falls with its price, an order's with its total, a customer's with the
account's balance.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import prdp
from experiments.options import options

TABLES = ("customer", "orders", "lineitem", "part", "supplier", "nation", "region")
REVENUE = "l_extendedprice * (1 - l_discount)"
BOUNDS = {
    "l_quantity": (0, 50), "l_extendedprice": (0, 200_000), "l_discount": (0, 1), "l_tax": (0, 1),
    "o_totalprice": (0, 600_000), "c_acctbal": (-1_000, 10_000),
}  # fmt: skip
SHARE = "1/10"


@dataclass(frozen=True, slots=True)
class TpchQuery:
    """A query of the benchmark: whose records are private, its text, and public keys that it does not list."""

    name: str
    private: str
    text: str
    keys: dict[str, list[Any]] = field(default_factory=dict)


QUERIES = (
    TpchQuery(
        "Q1",
        "lineitem",
        f"""SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
                SUM({REVENUE}) AS sum_disc_price, SUM({REVENUE} * (1 + l_tax)) AS sum_charge,
                AVG(l_quantity) AS avg_qty, AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc,
                COUNT(*) AS count_order
            FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
            GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
        {"l_returnflag,l_linestatus": [("A", "F"), ("N", "F"), ("N", "O"), ("R", "F")]},
    ),
    TpchQuery(
        "Q6",
        "lineitem",
        """SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem
           WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
             AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24""",
    ),
    TpchQuery(
        "Q12",
        "lineitem of orders",
        """SELECT l_shipmode,
                SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high,
                SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low
           FROM orders, lineitem
           WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
             AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01'
             AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR
           GROUP BY l_shipmode ORDER BY l_shipmode""",
    ),
    TpchQuery(
        "Q14",
        "lineitem of orders",
        f"""SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN {REVENUE} ELSE 0 END) / SUM({REVENUE})
                AS promo_revenue
           FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01'
             AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH""",
    ),
    TpchQuery(
        "Q4",
        "orders",
        """SELECT o_orderpriority, COUNT(*) AS order_count FROM orders
           WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH
             AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
           GROUP BY o_orderpriority ORDER BY o_orderpriority""",
        {"o_orderpriority": ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]},
    ),
    TpchQuery(
        "Q5",
        "customer",
        f"""SELECT n_name, SUM({REVENUE}) AS revenue
           FROM customer, orders, lineitem, supplier, nation, region
           WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
             AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
             AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01'
             AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
           GROUP BY n_name ORDER BY n_name""",
    ),
    TpchQuery(
        "Q10",
        "customer",
        f"""SELECT n_name, SUM({REVENUE}) AS revenue FROM customer, orders, lineitem, nation
           WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey
             AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH
             AND l_returnflag = 'R' GROUP BY n_name ORDER BY n_name""",
    ),
)
"""Q5 and Q10 by nation: their own keys, an order or a customer, are the protected record."""


def numbered(folder: Path, scratch: Path) -> Path:
    """Return line items with a number each: a join names its private records by one column."""
    target = scratch / "lineitem.parquet"
    duckdb.sql(
        f"COPY (SELECT row_number() OVER () AS l_id, * FROM read_parquet('{folder / 'lineitem.parquet'}')) "
        f"TO '{target}' (FORMAT parquet)"
    )
    return target


def opened(folder: Path, lines: Path, private: str) -> Any:
    """Return a table or a join in which the records of one table are private."""
    paths = {name: folder / f"{name}.parquet" for name in TABLES}
    if private == "lineitem":
        return prdp.open(
            paths["lineitem"], policy="least(10000 / greatest(l_extendedprice, 100), 100)",
            bounds={name: ends for name, ends in BOUNDS.items() if name.startswith("l_")}, stand_in=True,
        )  # fmt: skip
    names, key, public, references, policy = {
        "lineitem of orders": (
            ("lineitem", "orders", "part"), "l_id", ["orders", "part"],
            {"lineitem.l_orderkey": "orders.o_orderkey", "lineitem.l_partkey": "part.p_partkey"},
            "least(10000 / greatest(l_extendedprice, 100), 100)",
        ),
        "orders": (
            ("orders", "lineitem"), "o_orderkey", [], {"lineitem.l_orderkey": "orders.o_orderkey"},
            "least(100000 / greatest(o_totalprice, 1000), 100)",
        ),
        "customer": (
            ("customer", "orders", "lineitem", "supplier", "nation", "region"), "c_custkey",
            ["supplier", "nation", "region"],
            {
                "orders.o_custkey": "customer.c_custkey", "lineitem.l_orderkey": "orders.o_orderkey",
                "lineitem.l_suppkey": "supplier.s_suppkey", "customer.c_nationkey": "nation.n_nationkey",
                "nation.n_regionkey": "region.r_regionkey",
            },
            "10000 / (c_acctbal + 1100)",
        ),
    }[private]  # fmt: skip
    paths["lineitem"] = lines if private.startswith("lineitem") else paths["lineitem"]
    columns = {name[0] for name in names}
    return prdp.open_join(
        {name: paths[name] for name in names}, private=private.split(maxsplit=1)[0], key=key, references=references,
        public=public, policy=policy, most_rows=10_000, stand_in=True,
        bounds={name: ends for name, ends in BOUNDS.items() if name[0] in columns},
    )  # fmt: skip


def report(folder: Path, scratch: Path, runs: int) -> None:
    """Print each query's error, beside what plain DuckDB answers."""
    lines = numbered(folder, scratch)
    plain = duckdb.connect()
    for name in TABLES:
        plain.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder / name}.parquet')")
    print(f"share {SHARE}, {runs} runs: mean relative error of an answer's numbers in %")
    print(f"{'query':6}{'private':20}{'rows':>5}{'error':>10}{'± s.e.':>9}{'plan, ms':>10}")
    for query in QUERIES:
        door = opened(folder, lines, query.private)
        truth = plain.execute(query.text).fetchall()
        start = time.perf_counter()
        door.explain_sql(query.text, share=SHARE, keys=query.keys)
        planned = 1_000 * (time.perf_counter() - start)
        errors = np.array([error(door, query, truth) for _ in range(runs)])
        spread = errors.std() / np.sqrt(runs)
        print(
            f"{query.name:6}{query.private:20}{len(truth):5}{100 * errors.mean():10.3f}{100 * spread:9.3f}"
            f"{planned:10.0f}",
            flush=True,
        )


def error(door: Any, query: TpchQuery, truth: list[tuple[Any, ...]]) -> float:
    """Return the mean relative error of one answer, over the rows that plain DuckDB has."""
    answers = {
        tuple(value for value in row if isinstance(value, str)): [
            value for value in row if not isinstance(value, str)
        ]
        for row in door.sql(query.text, share=SHARE, keys=query.keys, fresh=True).values
    }
    found = []
    for row in truth:
        key = tuple(value for value in row if isinstance(value, str))
        numbers = [float(value) for value in row if not isinstance(value, str)]
        pairs = zip(answers[key], numbers, strict=True)
        found += [abs(float(mine) - true) / abs(true) for mine, true in pairs if true]
    return float(np.mean(found))


def main() -> None:
    """Run all queries on the tables of a folder."""
    arguments = options(__doc__, runs=20)
    folder = arguments.data or Path()
    if not all((folder / f"{name}.parquet").exists() for name in TABLES):
        print("the TPC-H tables are not in the folder given by --data")
        return
    with tempfile.TemporaryDirectory() as scratch:
        report(folder, Path(scratch), arguments.runs)


if __name__ == "__main__":
    main()
