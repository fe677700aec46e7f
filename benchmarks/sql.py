"""Planning time of SQL: a usual text, and texts as long as are read, beside sqlglot's parse alone.

Run ``python -m benchmarks.sql``. Times are medians of alternating runs; what matters is their ratio.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import sqlglot

import prdp
from prdp.sql.reading import MAX_CHARACTERS

REPEATS = 3

Q1 = """
    SELECT branch, SUM(age) AS s1, SUM(balance) AS s2, SUM(balance * (100 - age)) AS s3,
        SUM(balance * (100 - age) * (1 + branch)) AS s4, AVG(age) AS a1, AVG(balance) AS a2, COUNT(*) AS n
    FROM accounts WHERE opened <= DATE '2025-12-01' - INTERVAL '90' DAY GROUP BY branch ORDER BY branch
"""


def longest(piece: str, begin: str, between: str = ", ", end: str = " FROM accounts") -> str:
    """Return a statement of many pieces, as long as statements may be."""
    count = (MAX_CHARACTERS - len(begin) - len(end)) // (len(piece.format(99)) + len(between))
    return begin + between.join(piece.format(place % 90 + 10) for place in range(count)) + end


TEXTS = {
    "TPC-H Q1 alike": Q1,
    "20 kB of aggregates": longest("SUM(age + {0})", "SELECT "),
    "20 kB of conditions": longest("age <> {0}", "SELECT COUNT(*) FROM accounts WHERE ", " AND ", ""),
    "50 aggregates": f"SELECT {', '.join(f'SUM(age + {place})' for place in range(50))} FROM accounts",
    "600 aggregates": f"SELECT {', '.join(f'SUM(age + {place})' for place in range(600))} FROM accounts",
    "20 kB of an IN list": longest("{0}.5", "SELECT COUNT(*) FROM accounts WHERE age IN (", ", ", ")"),
    "90 CTEs": "WITH "
    + ", ".join(
        f"t{place + 1} AS (SELECT *, age + {place} AS x{place} FROM t{place})" for place in range(90)
    ).replace("FROM t0)", "FROM accounts)")
    + " SELECT SUM(x89) FROM t90",
}


def opened() -> prdp.Table:
    """Return a small table: planning reads no record."""
    columns = {
        "age": np.arange(100),
        "balance": np.arange(100),
        "branch": np.arange(100) % 4,
        "opened": np.datetime64("2025-01-01", "us") + np.arange(100) * np.timedelta64(1, "D"),
    }
    bounds = {"age": (0, 100), "balance": (0, 1_000), "branch": (0, 3)}
    return prdp.open(columns, policy="1", bounds=bounds, name="accounts")


def median(run: Callable[[], object]) -> tuple[float, str]:
    """Return the median milliseconds of some runs, and whether they end in a refusal."""
    times, end = [], "planned"
    for _ in range(REPEATS):
        start = time.perf_counter()
        try:
            run()
        except prdp.InvalidRequest as refused:
            end = f"refused: {str(refused).splitlines()[0]}"
        times.append(1_000 * (time.perf_counter() - start))
    return statistics.median(times), end


def main() -> None:
    """Print the times of all texts."""
    accounts = opened()
    print(f"{'text':24}{'characters':>11}{'sqlglot, ms':>13}{'planned, ms':>13}{'ratio':>8}")
    for name, text in TEXTS.items():
        parsed, _ = median(partial(sqlglot.parse, text, read="duckdb"))
        planned, end = median(partial(accounts.explain_sql, text, share="1/10"))
        print(f"{name:24}{len(text):11,}{parsed:13.1f}{planned:13.1f}{planned / parsed:8.1f}  {end}")


if __name__ == "__main__":
    main()
