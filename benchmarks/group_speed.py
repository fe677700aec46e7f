"""What private groups cost beside a plain GROUP BY: ratios, in the same DuckDB, in the same run.

``python -m benchmarks.group_speed`` asks 10 million rows (Parquet, zstd) for the count and the sum of 10,
1,000 and 100,000 branches: plainly, by prdp's one pass, and by a whole question with its noise. With
``--privacy-unit``, customers are owners. Every question opens the table anew. Medians of 5, of the wall clock
and of the time that the processor worked: on a machine that others use too, the second is what to compare.
With ``--medians``, a median and a variance of each of 1,000 branches; with ``--frames``, what frames, files
and texts of all answers take; with ``--memory``, the peak of a process that asks one question.
``--rows 100000000`` writes files of 10 million rows each.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import duckdb
import numpy as np

import prdp
from benchmarks.scan_speed import OWN, print_both, table_file, timed, write_whole
from prdp.tables.groups import Groups
from prdp.testing.truth import raw_cells

KEYS = (10, 1_000, 100_000)
REPEATS = 5
PLAIN = "SELECT branch, count(*), sum(balance) FROM '{path}' GROUP BY branch"
ROWS_OF_A_CUSTOMER = 10
PIECE = 10_000_000
FOLDER = Path(tempfile.gettempdir())


def grouped_file(rows: int, keys: int, folder: Path) -> Path:
    """Write the benchmark's table with so many branches, and customers of 10 rows each, once.

    Beyond 10 million rows, they are in as many files as it takes, in a folder.
    """
    if rows <= PIECE:
        return written(folder / f"prdp_bench_{rows}_{keys}_keys.parquet", rows, keys, folder)
    whole = folder / f"prdp_bench_{rows}_{keys}_keys"
    whole.mkdir(exist_ok=True)
    for piece in range(rows // PIECE):
        written(whole / f"{piece}.parquet", PIECE, keys, folder, piece)
    return whole / "*.parquet"


def written(path: Path, rows: int, keys: int, folder: Path, piece: int = 0) -> Path:
    """Write a file of the table, once; each piece has customers of its own."""
    if not path.exists():
        source = table_file(rows, folder)
        number = f"{piece * rows} + row_number() OVER ()" if piece else "row_number() OVER ()"
        customers = max(1, rows // ROWS_OF_A_CUSTOMER)
        branch = f"CAST(hash(balance, age, branch, {number}) % {keys} AS INTEGER) AS branch"
        customer = f"CAST({piece * customers} + hash({number}) % {customers} AS INTEGER) AS customer"
        write_whole(path, f"SELECT balance, age, {branch}, {customer} FROM '{source}'")
    return path


def groups(path: Path, keys: int, *, privacy_unit: str | None = None, most: int = 10**12) -> Groups:
    table = prdp.open(
        path,
        policy=prdp.Policy(OWN, at_most=100),
        bounds={"balance": (0, 10**9 if privacy_unit else most)},
        privacy_unit=privacy_unit,
        max_rows=100 if privacy_unit else None,
        synthetic=True,
        name="accounts",
    )
    return table.group_by("branch", keys=range(keys))


def question(path: Path, keys: int, privacy_unit: str | None = None) -> prdp.ReleaseTable:
    return groups(path, keys, privacy_unit=privacy_unit).agg(prdp.count(), prdp.sum("balance"), share="1/10")


def reading(path: Path, keys: int) -> None:
    opened = groups(path, keys)
    raw_cells(opened.table, opened.plan(prdp.sum("balance"), share=1))


def plainly(path: Path) -> Callable[[], object]:
    connection = duckdb.connect()
    return lambda: connection.execute(PLAIN.format(path=path)).fetchall()


def speed(rows: int, keys: Sequence[int], repeats: int, *, privacy_unit: bool) -> None:
    for number in keys:
        path = grouped_file(rows, number, FOLDER)
        print(f"{rows:,} rows, {number:,} public keys, count and sum, median of {repeats}", flush=True)
        asked: dict[str, Callable[[], object]] = {"plain GROUP BY": plainly(path)}
        if privacy_unit:
            connection = duckdb.connect()
            by_unit = f"SELECT customer, count(*), sum(balance) FROM '{path}' GROUP BY customer"
            asked["plain GROUP BY owner"] = partial(connection.execute, by_unit)
            asked["the whole question, of owners"] = partial(question, path, number, "customer")
        else:
            asked["one private pass, in cells"] = partial(reading, path, number)
            asked["the whole question"] = partial(question, path, number)
        print_both(asked, repeats)


def medians(rows: int, keys: int) -> None:
    path = grouped_file(rows, keys, FOLDER)
    print(f"{rows:,} rows, medians and variances of {keys:,} groups, once")
    print_both(
        {
            "plain GROUP BY": plainly(path),
            "a median of each group": lambda: groups(path, keys).median("balance", share="1/10"),
            "a variance, values to a million": lambda: groups(path, keys, most=10**6).variance(
                "balance", share="1/10"
            ),
        },
        1,
    )


def frames(rows: int, keys: int) -> None:
    """Print what the forms of a table of so many groups take, in seconds of the processor's time."""
    answers = question(grouped_file(rows, keys, FOLDER), keys)
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "answers.parquet"
        forms: dict[str, Callable[[], object]] = {
            "to_pandas": answers.to_pandas,
            "print": answers.__str__,
            "to_parquet": lambda: answers.to_parquet(written),
            "to_csv": answers.to_csv,
        }
        for name, form in forms.items():
            wall, worked = timed(form)
            print(f"{keys:,} groups, count and sum: {name:12}{worked:6.2f} s worked{wall:8.2f} s")


def memory(rows: int, keys: Sequence[int]) -> None:
    for number in keys:
        path = grouped_file(rows, number, FOLDER)
        for who in ("", "customer"):
            command = [sys.executable, "-m", "benchmarks.group_speed", "--one", str(path), str(number), who]
            peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            reported = "owners" if who else "records"
            print(f"{rows:,} rows, {number:,} keys, {reported}: {int(peak) / 1024:.0f} MB at its peak")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, nargs="+", default=KEYS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    for option in ("--privacy-unit", "--medians", "--frames", "--memory"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        question(Path(asked.one[0]), int(asked.one[1]), asked.one[2] or None)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return
    print(f"DuckDB {duckdb.__version__}, NumPy {np.__version__}, {os.cpu_count()} processors")
    if asked.medians:
        medians(asked.rows, min(asked.keys[-1], 1_000))
    elif asked.frames:
        frames(asked.rows, asked.keys[-1])
    elif asked.memory:
        memory(asked.rows, asked.keys)
    else:
        speed(asked.rows, asked.keys, asked.repeats, privacy_unit=asked.privacy_unit)


if __name__ == "__main__":
    main()
