"""What a question costs Spark, row by row: on this machine, as ratios to Spark's own plain statement.

Run with: python -m benchmarks.spark_rows [--rows 10_000_000] [--runs 5]

A Parquet file of made-up accounts is written to a temporary folder and read by a local session with two
threads. Plain statements and questions take turns; medians are shown, with the seconds of one core that a row
takes and the bytes that come back. docs/scale.md computes from these what a larger table would take.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

import prdp
from prdp.engines.spark import results

THREADS = 2
PLAIN = "SELECT count(*), sum(balance) FROM accounts"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "accounts.parquet"
        write(path, asked.rows)
        report(path, asked.rows, asked.runs)


def write(path: Path, rows: int) -> None:
    """Write accounts: a balance over many octaves, one of 100 branches, and an owner of four rows."""
    random = np.random.default_rng(20261117)
    table = pyarrow.table(
        {
            "balance": np.exp(random.normal(8, 2, rows)).astype(np.int64) + 1,
            "branch": pyarrow.array([f"b{number}" for number in range(100)]).take(
                pyarrow.array(random.integers(0, 100, rows))
            ),
            "customer": random.integers(0, max(1, rows // 4), rows),
        }
    )
    pyarrow.parquet.write_table(table, path, row_group_size=1_000_000)


def report(path: Path, rows: int, runs: int) -> None:
    import pyspark  # noqa: PLC0415  (slow to load)

    session = started(path.parent)
    frame = session.read.parquet(str(path))
    frame.createOrReplaceTempView("accounts")
    print(
        f"pyspark {pyspark.__version__}, local[{THREADS}], {os.cpu_count()} cores; {rows:,} rows, "
        f"{path.stat().st_size / rows:.1f} bytes a row in Parquet; median of {runs}"
    )
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "sum": (lambda: session.sql(PLAIN).toArrow(), lambda: question(frame).sum("balance", share="1/10")),
        "sum by 100 keys": (
            lambda: session.sql(f"{PLAIN} GROUP BY branch").toArrow(),
            lambda: question(frame).group_by("branch", keys=KEYS).sum("balance", share="1/10"),
        ),
        "sum, of customers": (
            lambda: session.sql(
                "SELECT sum(total) FROM (SELECT sum(balance) AS total FROM accounts GROUP BY customer)"
            ).toArrow(),
            lambda: question(frame, privacy_unit="customer").sum("balance", share="1/10"),
        ),
    }
    back: list[int] = []
    notice_bytes(back)
    for name, (plain, ask) in pairs.items():
        plain(), ask()  # compiled once
        back.clear()
        times = [(timed(plain), timed(ask)) for _ in range(runs)]
        bare, whole = (median(column) for column in zip(*times, strict=True))
        print(
            f"{name:18} plain {bare:6.2f} s, prdp {whole:6.2f} s, ratio {whole / bare:4.1f}; "
            f"{whole * THREADS / rows * 1e9:6.0f} core-ns a row; {max(back):,} bytes of cells came back"
        )
    session.stop()


KEYS = [f"b{number}" for number in range(100)]


def question(frame: Any, **given: Any) -> Any:
    """Open the accounts anew, so that nothing read before is used again."""
    policy = prdp.Policy("10000 / balance", at_most=100)
    if given:
        policy = prdp.Policy("1")
    return prdp.open(frame, policy=policy, bounds={"balance": (0, 10**12)}, name="accounts", **given)


def started(folder: Path) -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.local.dir": str(folder),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": str(THREADS),
    }
    builder = SparkSession.builder.master(f"local[{THREADS}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def notice_bytes(back: list[int]) -> None:
    """Note how many bytes each statement of prdp's brings back."""
    run = results.collected

    def noted(session: Any, sql: str) -> Any:
        found = run(session, sql)
        back.append(found.nbytes)
        return found

    vars(import_module("prdp.engines.spark.engine"))["collected"] = noted


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
