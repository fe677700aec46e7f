"""Ask what ``benchmarks.ratios`` compares, and print what each question costs in processor time.

``python -m benchmarks.ratio_cases FOLDER`` prints the names of its cases, as JSON, and then, for each name
that it reads, the seconds that all threads worked. It runs on older sources too, as ``PYTHONPATH`` says.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np

import prdp
from benchmarks.group_speed import grouped_file
from benchmarks.scan_speed import GENERAL, OWN
from prdp.plan.queries import Query
from prdp.tables.groups import Groups
from prdp.tables.queryable import reader_of

ROWS, KEYS = 2_000_000, 1_000

Ask = Callable[[], object]


def cases(folder: Path) -> dict[str, Ask]:
    """Return what is compared, by name."""
    return _passes(grouped_file(ROWS, KEYS, folder)) | _python()


def _passes(path: Path) -> dict[str, Ask]:
    own, general = (
        prdp.open(
            path,
            policy=prdp.Policy(policy, at_most=100),
            bounds={"balance": (0, 10**12), "age": (18, 88), "branch": (0, KEYS - 1)},
            synthetic=True,
        )
        for policy in (OWN, GENERAL)
    )
    units = prdp.open(
        path,
        policy=prdp.Policy(OWN, at_most=100),
        bounds={"balance": (0, 10**9)},
        privacy_unit="customer",
        max_rows=100,
        synthetic=True,
    )

    def each(table: prdp.Table) -> Groups:
        return table.group_by("branch", keys=range(KEYS))

    def one_pass(table: prdp.Table | Groups, query: Query) -> Ask:
        """Return what reads a query's cells anew, with no opening and no noise."""
        reads = table.plan(query, share="1/2").reads
        reader = reader_of(table if isinstance(table, prdp.Table) else table.table)
        return lambda: [reader.read_anew(read) for read in reads]

    total, number = prdp.sum("balance"), prdp.count()
    return {
        "sum, policy of its own column": one_pass(own, total),
        "count, policy of one column": one_pass(own, number),
        "sum, policy of two columns": one_pass(general, total),
        "count, policy of two columns": one_pass(general, number),
        "sums by 1,000 keys": one_pass(each(own), total),
        "medians by 1,000 keys": one_pass(each(own), prdp.median("balance")),
        "sum, of units": one_pass(units, total),
    }


def _python() -> dict[str, Ask]:
    columns = {"balance": np.arange(100, 4100), "branch": np.arange(4000) % 100}
    policy = prdp.Policy(OWN, at_most=100)

    def opened() -> prdp.Table:
        bounds = {"balance": (0, 10**6)}
        return prdp.open(columns, policy=policy, bounds=bounds, synthetic=True, name="accounts")

    table, shares = opened(), count(10**6)
    sums = "SELECT branch, count(*), sum(balance) FROM accounts GROUP BY branch"
    table.group_by("branch", keys=range(100)).sum("balance", share="1/7")
    return {
        "20 warm sums": lambda: [table.sum("balance", share=Fraction(1, next(shares))) for _ in range(20)],
        "5 warm statements of 100 keys": lambda: [
            table.sql(sums, share=Fraction(1, next(shares)), keys={"branch": range(100)}) for _ in range(5)
        ],
        "opening a table 10 times": lambda: [opened() for _ in range(10)],
    }


def _slower(ask: Ask) -> Ask:
    """Return a question that works a fifth more."""
    more = min(worked(ask) for _ in range(3)) / 5

    def slower() -> None:
        ask()
        start = time.process_time()
        while time.process_time() - start < more:
            pass

    return slower


def worked(ask: Ask) -> float:
    """Return the seconds that all threads of this process worked."""
    start = time.process_time()
    ask()
    return time.process_time() - start


def serve(folder: Path, plant: str = "") -> None:
    """Print the names of all cases, then the seconds of each that is named in a line of the input."""
    with ExitStack() as planted:
        asked = cases(folder)
        if plant == "slower":
            asked = {name: _slower(ask) for name, ask in asked.items()}
        elif plant:
            planted.enter_context(patch("prdp.engines.statements.cells.OwnColumn.of", return_value=None))
        for ask in asked.values():
            ask()  # files and caches get warm
        print(json.dumps(list(asked)), flush=True)
        for line in sys.stdin:
            print(worked(asked[line.rstrip("\n")]), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), *sys.argv[2:])
