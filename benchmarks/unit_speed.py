"""How long owners take to be folded: with ``privacy_unit``, and in a join, as ratios to plain DuckDB.

Run ``python -m benchmarks.unit_speed``. Made-up orders of customers: counts, sums and sums by group, from an
open table to the cells, beside the plain SQL that adds up the same rows with no privacy at all. Medians of
alternating runs; the ratios are what to compare, the seconds are this machine's.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import prdp

KINDS = [f"kind{number}" for number in range(10)]
POLICY = prdp.Policy("1000 / (balance + 10)", at_most=50)
BOUNDS = {"balance": (0, 10_000), "price": (0, 10_000)}


def written(folder: Path, customers: int, orders: int) -> None:
    """Write customers, orders, and the orders with their customers' balances."""
    sql = duckdb.connect()
    sql.execute("SELECT setseed(0.5)")
    balance = "(random() * 9999)::INT AS balance"
    sql.execute(f"CREATE TABLE customers AS SELECT range AS id, {balance} FROM range({customers})")
    sql.execute(
        f"CREATE TABLE orders AS SELECT (random() * {customers - 1})::INT AS customer, "
        f"(random() * 9999)::INT AS price, 'kind' || (random() * 9)::INT AS kind FROM range({orders})"
    )
    sql.execute("CREATE TABLE flat AS SELECT orders.*, balance FROM orders JOIN customers ON customer = id")
    for name in ("customers", "orders", "flat"):
        sql.execute(f"COPY {name} TO '{folder / name}.parquet'")


def flat(folder: Path) -> prdp.Table:
    return prdp.open(
        folder / "flat.parquet",
        policy=POLICY,
        bounds=BOUNDS,
        privacy_unit="customer",
        synthetic=True,
        name="flat",
    )


def joined(folder: Path) -> prdp.Join:
    return prdp.open_join(
        {name: folder / f"{name}.parquet" for name in ("customers", "orders")},
        private="customers",
        key="id",
        references={"orders.customer": "customers.id"},
        policy=POLICY,
        bounds=BOUNDS,
        synthetic=True,
    ).over("orders")


def questions(folder: Path) -> dict[str, tuple[Callable[[], object], str]]:
    """Return, by name, what is asked and its plain SQL."""
    one = f"'{folder / 'flat.parquet'}'"
    two = f"'{folder / 'orders.parquet'}' JOIN '{folder / 'customers.parquet'}' ON customer = id"
    return {
        **_about("privacy_unit", partial(flat, folder), one),
        **_about("join", partial(joined, folder), two),
    }


def _about(name: str, opened: Callable[[], Any], source: str) -> dict[str, tuple[Callable[[], object], str]]:
    asked: dict[str, tuple[Callable[[], object], str]] = {
        "count": (lambda: opened().count(share="1"), f"SELECT count(*) FROM {source}"),
        "sum": (lambda: opened().sum("price", share="1"), f"SELECT sum(price) FROM {source}"),
        "filtered sum": (
            lambda: opened().filter("price < 5000").sum("price", share="1"),
            f"SELECT sum(price) FROM {source} WHERE price < 5000",
        ),
    }
    if hasattr(opened(), "group_by"):  # joins had none before
        asked["sum by kind"] = (
            lambda: opened().group_by("kind", keys=KINDS).sum("price", share="1"),
            f"SELECT kind, sum(price) FROM {source} GROUP BY kind",
        )
    return {f"{name} {what}": pair for what, pair in asked.items()}


def medians(ours: Callable[[], object], sql: str, repeats: int) -> tuple[float, float]:
    """Return the median seconds of an answer, opening included, and of plain SQL, alternating."""
    connection = duckdb.connect()

    def plain() -> object:
        return connection.execute(sql).fetchall()

    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats + 1):
        for run, taken in zip((ours, plain), times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return float(np.median(times[0][1:])), float(np.median(times[1][1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--customers", type=int, default=200_000)
    parser.add_argument("--orders", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        written(folder, asked.customers, asked.orders)
        print(f"{asked.customers:,} customers, {asked.orders:,} orders, median of {asked.repeats}")
        print(f"{'question':24}{'seconds':>10}{'plain':>10}{'ratio':>8}")
        for name, (ours, sql) in questions(folder).items():
            seconds, base = medians(ours, sql, asked.repeats)
            print(f"{name:24}{seconds:10.3f}{base:10.3f}{seconds / base:8.1f}", flush=True)


if __name__ == "__main__":
    main()
