"""What the private pass costs beside the plain query: ratios, in the same DuckDB, in the same run.

``python -m benchmarks.scan_speed`` writes a table of 10 million rows (Parquet, zstd) to a cache folder, asks
for plain ``count(*), sum(balance)`` and for prdp's cells in turn, and prints medians of 7, of the wall clock
and of the time that the processor worked.
``--memory`` measures instead the peak memory of one pass over 100 million rows, in a process of its own.
``--curve`` prints the ratios and the peak memory of 10 million, 100 million and a billion rows; the billion
are the 100 million ten times.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb

import prdp

REPEATS = 7
LARGEST = 10**8
OWN = "10000 / balance"
GENERAL = "10000 / balance * CASE WHEN age >= 65 THEN 0.5 ELSE 1 END"


def table_file(rows: int, folder: Path) -> Path:
    """Write log-normal balances, ages and branches once; return the file.

    Beyond 100 million rows, it is a folder of copies of a file of so many.
    """
    if rows > LARGEST:
        return _copies(rows // LARGEST, table_file(LARGEST, folder), folder / f"prdp_bench_{rows}")
    path = folder / f"prdp_bench_{rows}.parquet"
    if not path.exists():
        normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
        write_whole(
            path,
            f"SELECT CAST(least(1e12, exp(8 + 3 * {normal})) AS BIGINT) AS balance, "
            "CAST(18 + random() * 70 AS INTEGER) AS age, CAST(random() * 100 AS INTEGER) AS branch "
            f"FROM range({rows})",
        )
    return path


def _copies(times: int, file: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(times):
        copy = folder / f"{number}.parquet"
        if not copy.exists():
            part = copy.with_suffix(".part")
            shutil.copy(file, part)
            part.replace(copy)
    return folder / "*.parquet"


def write_whole(path: Path, query: str) -> None:
    """Write a query's rows as a Parquet file that is never there in part, also where two runs write it."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        written = Path(folder) / path.name
        duckdb.execute(f"COPY ({query}) TO '{written}' (COMPRESSION zstd)")
        written.replace(path)


def opened(path: Path, policy: str, at_least: str | None = "1e-9") -> prdp.Table:
    return prdp.open(
        path,
        policy=prdp.Policy(policy, at_most=100, at_least=at_least),
        bounds={"balance": (0, 10**12)},
        synthetic=True,
    )


def questions(path: Path) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name; each opens the file anew, as the plain query does."""
    plain = duckdb.connect()
    return {
        "plain count and sum": lambda: plain.execute(
            f"SELECT count(*), sum(balance) FROM read_parquet('{path}')"
        ).fetchall(),
        "sum, policy of two columns": lambda: opened(path, GENERAL).sum("balance", share="1/10"),
        "count, policy of two columns": lambda: opened(path, GENERAL).count(share="1/10"),
        "sum, policy of its own column": lambda: opened(path, OWN, None).sum("balance", share="1/10"),
        "count, policy of one column": lambda: opened(path, OWN, None).count(share="1/10"),
    }


def speed(rows: int, folder: Path) -> None:
    path = table_file(rows, folder)
    print(f"{rows:,} rows, median of {REPEATS}, whole question from opening to release")
    print_both(questions(path), REPEATS)
    _second_question(path)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds on the wall's clock, and those that the processor worked."""
    wall, worked = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - worked


def print_both(asked: Mapping[str, Callable[[], object]], repeats: int) -> None:
    """Run everything in turn, and print medians and their ratios to the first, on both clocks."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for repeat in range(repeats + 1):
        for name, ask in asked.items():
            both = timed(ask)
            if repeat:  # the first round warms the file cache
                seconds[name].append(both)
    middle = {
        name: [statistics.median(clock) for clock in zip(*times, strict=True)]
        for name, times in seconds.items()
    }
    base = middle[next(iter(asked))]
    for name, (wall, worked) in middle.items():
        print(
            f"{name:30}{wall * 1e3:9.0f} ms{wall / base[0]:7.1f} x    "
            f"worked{worked * 1e3:9.0f} ms{worked / base[1]:7.1f} x",
            flush=True,
        )


def _second_question(path: Path) -> None:
    """Compare a first question with a second on the same columns, whose cells are in memory."""
    first: list[float] = []
    second: list[float] = []
    for _ in range(REPEATS):
        table = opened(path, GENERAL)
        for times, share in ((first, "1/10"), (second, "1/11")):
            start = time.perf_counter()
            table.sum("balance", share=share)
            times.append(time.perf_counter() - start)
    ratio = statistics.median(first) / statistics.median(second)
    print(f"a second question on the same cells: 1/{ratio:.0f} of the first")


def memory(rows: int, folder: Path) -> None:
    """Print the peak memory of a process that does nothing but one pass."""
    path = table_file(rows, folder)
    command = [sys.executable, "-m", "benchmarks.scan_speed", "--one-pass", str(path)]
    peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(f"{rows:,} rows, one pass, whole process: {int(peak) / 1024:.0f} MB at its peak")


def curve(folder: Path) -> None:
    """Print what more rows do to the ratios and to the peak memory."""
    for rows, repeats in ((10**7, 5), (10**8, 3), (10**9, 1)):
        path = table_file(rows, folder)
        size = sum(file.stat().st_size for file in path.parent.glob(path.name))
        print(f"{rows:,} rows, {size / 1e9:.2g} GB, medians of {repeats}", flush=True)
        print_both(questions(path), repeats)
        memory(rows, folder)


def one_pass(path: Path) -> None:
    opened(path, GENERAL).sum("balance", share="1/10")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="10 million for speed, 100 million for memory")
    parser.add_argument("--memory", action="store_true", help="measure memory instead of speed")
    parser.add_argument("--curve", action="store_true", help="both, up to a billion rows")
    parser.add_argument("--one-pass", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()))
    arguments = parser.parse_args()
    if arguments.one_pass:
        one_pass(arguments.one_pass)
    elif arguments.curve:
        curve(arguments.cache)
    elif arguments.memory:
        memory(arguments.rows or 100_000_000, arguments.cache)
    else:
        speed(arguments.rows or 10_000_000, arguments.cache)


if __name__ == "__main__":
    main()
