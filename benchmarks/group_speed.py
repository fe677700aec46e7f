"""What private groups cost beside a plain GROUP BY: ratios, in the same DuckDB, in the same run.

``python -m benchmarks.group_speed`` asks 10 million rows for the count and the sum of 1,000 branches:
plainly, by prdp's one pass, and by a whole question with its noise. Medians of 5.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import duckdb

import prdp
from benchmarks.scan_speed import OWN, print_ratios, table_file
from prdp.testing.raw_cells import raw_cells

KEYS = 1_000
REPEATS = 5
PLAIN = "SELECT branch, count(*), sum(balance) FROM '{path}' GROUP BY branch"


def grouped_file(rows: int, folder: Path) -> Path:
    """Write the benchmark's table with 1,000 branches once; return the file."""
    path = folder / f"prdp_bench_{rows}_{KEYS}.parquet"
    if not path.exists():
        source = table_file(rows, folder)
        branch = f"CAST(hash(balance, age, branch, row_number() OVER ()) % {KEYS} AS INTEGER)"
        duckdb.execute(
            f"COPY (SELECT balance, age, {branch} AS branch FROM '{source}') TO '{path}' (COMPRESSION zstd)"
        )
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    arguments = parser.parse_args()
    path = grouped_file(arguments.rows, Path(tempfile.gettempdir()))
    connection = duckdb.connect()

    def groups(*, stand_in: bool = False) -> prdp.Groups:
        policy = prdp.Policy(OWN, at_most=100)
        table = prdp.open(path, policy=policy, bounds={"balance": (0, 10**12)}, stand_in=stand_in)
        return table.group_by("branch", keys=range(KEYS))

    def question() -> None:
        groups().agg(prdp.count(), prdp.sum("balance"), share="1/10")

    def reading() -> None:
        opened = groups(stand_in=True)
        raw_cells(opened.table, opened.plan(prdp.sum("balance"), share=1))

    def plain() -> None:
        connection.execute(PLAIN.format(path=path)).fetchall()

    asked = {"plain GROUP BY": plain, "one private pass, in cells": reading, "the whole question": question}
    print(f"{arguments.rows:,} rows, {KEYS} public keys, count and sum, median of {REPEATS}")
    print_ratios(asked, REPEATS)


if __name__ == "__main__":
    main()
