"""Compare what private questions cost beside plain ones with the figures that landed last.

``python -m benchmarks.kept_ratios`` measures processor time over all threads: of one private pass beside the
plain query over the same 2 million rows, and of prdp's Python beside a fixed piece of pure Python. Everything
is asked in turn, the least of some rounds counts, and what is dearer than it was is measured further before
it fails.
``--write`` stores the figures in ``kept_ratios.json``, to be landed with the change that moves them; on
another kind of processor, ``--kept`` names a file that the last landed commit wrote there.
``--plant own-column`` takes the shortcut of policies of their own column away, and ``--plant slower`` has
everything work a fifth more: the comparison must fail then.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path
from unittest.mock import patch

import duckdb
import numpy as np

import prdp
from benchmarks.group_speed import grouped_file
from benchmarks.scan_speed import GENERAL, OWN
from prdp.engines.statements.cells import OwnColumn
from prdp.plan.queries import Query
from prdp.tables.groups import Groups
from prdp.tables.queryable import reader_of

KEPT = Path(__file__).with_suffix(".json")
ROWS, KEYS = 2_000_000, 1_000
ROUNDS = 7
TOLERATED = 1.12
"""How much dearer than before still passes: a loss of 20 % does not, and rounds differ by less."""

Ask = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A question, and what it is measured beside.

    Attributes:
        ask: Asks the question.
        beside: Asks the plain one.
    """

    ask: Ask
    beside: Ask


def cases(folder: Path) -> dict[str, Case]:
    """Return what is compared, by name."""
    return _passes(grouped_file(ROWS, KEYS, folder)) | _python()


def _passes(path: Path) -> dict[str, Case]:
    own, general = (
        prdp.open(
            path,
            policy=prdp.Policy(policy, at_most=100),
            bounds={"balance": (0, 10**12), "age": (18, 88), "branch": (0, KEYS - 1)},
            synthetic=True,
        )
        for policy in (OWN, GENERAL)
    )
    owners = prdp.open(
        path,
        policy=prdp.Policy(OWN, at_most=100),
        bounds={"balance": (0, 10**9)},
        privacy_unit="customer",
        max_rows=100,
        synthetic=True,
    )
    connection = duckdb.connect()

    def plain(by: str = "") -> Ask:
        grouped = f"SELECT {by}, count(*), sum(balance) FROM '{path}' GROUP BY {by}"
        sql = grouped if by else f"SELECT count(*), sum(balance) FROM '{path}'"
        return lambda: connection.execute(sql).fetchall()

    def by_owner() -> object:
        found = f"SELECT customer, count(*), sum(balance) AS total FROM '{path}' GROUP BY customer"
        return connection.execute(f"SELECT count(*), sum(total) FROM ({found})").fetchall()

    def each(table: prdp.Table) -> Groups:
        return table.group_by("branch", keys=range(KEYS))

    def one_pass(table: prdp.Table | Groups, query: Query) -> Ask:
        """Return what reads a query's cells anew, with no opening and no noise."""
        reads = table.plan(query, share="1/2").reads
        reader = reader_of(table if isinstance(table, prdp.Table) else table.table)
        return lambda: [reader.read_anew(read) for read in reads]

    total, number = prdp.sum("balance"), prdp.count()
    return {
        "sum, policy of its own column": Case(one_pass(own, total), plain()),
        "count, policy of one column": Case(one_pass(own, number), plain()),
        "sum, policy of two columns": Case(one_pass(general, total), plain()),
        "count, policy of two columns": Case(one_pass(general, number), plain()),
        "sums by 1,000 keys": Case(one_pass(each(own), total), plain("branch")),
        "medians by 1,000 keys": Case(one_pass(each(own), prdp.median("balance")), plain("branch")),
        "sum, of owners": Case(one_pass(owners, total), by_owner),
    }


def _python() -> dict[str, Case]:
    columns = {"balance": np.arange(100, 4100), "branch": np.arange(4000) % 100}
    policy = prdp.Policy(OWN, at_most=100)

    def opened() -> prdp.Table:
        bounds = {"balance": (0, 10**6)}
        return prdp.open(columns, policy=policy, bounds=bounds, synthetic=True, name="accounts")

    table, shares = opened(), count(10**6)
    sums = "SELECT branch, count(*), sum(balance) FROM accounts GROUP BY branch"
    table.group_by("branch", keys=range(100)).sum("balance", share="1/7")
    return {
        "20 warm sums": Case(
            lambda: [table.sum("balance", share=Fraction(1, next(shares))) for _ in range(20)], _pure_python
        ),
        "5 warm statements of 100 keys": Case(
            lambda: [
                table.sql(sums, share=Fraction(1, next(shares)), keys={"branch": range(100)})
                for _ in range(5)
            ],
            _pure_python,
        ),
        "opening a table 10 times": Case(lambda: [opened() for _ in range(10)], _pure_python),
    }


def _pure_python() -> int:
    """Work for some milliseconds as prdp does: fractions, whole numbers and dictionaries."""
    found: dict[int, Fraction] = {}
    for place in range(1, 6000):
        found[place % 97] = Fraction(place, 1 << place % 61) + found.get(place % 89, 1) % 7
    return sum(each.numerator for each in found.values())


def worked(ask: Ask) -> float:
    """Return the seconds that all threads of this process worked."""
    start = time.process_time()
    ask()
    return time.process_time() - start


def measured(asked: Mapping[str, Case], rounds: int, least: dict[str, tuple[float, float]]) -> None:
    """Go through everything so often, in turn, and lower the least times of questions and plain ones."""
    for _ in range(rounds):
        for name, case in asked.items():
            beside, own = least.get(name, (float("inf"), float("inf")))
            least[name] = min(beside, worked(case.beside)), min(own, worked(case.ask))


def dearer(now: Mapping[str, float], kept: Mapping[str, float]) -> list[str]:
    """Return the names of cases that cost more than is tolerated, or that are not kept."""
    return [name for name, ratio in now.items() if not ratio <= TOLERATED * kept.get(name, 0)]


def compared(asked: Mapping[str, Case], kept: Mapping[str, float]) -> tuple[dict[str, float], list[str]]:
    """Return the ratios, and who is dearer than is tolerated even after three times as many rounds."""
    least: dict[str, tuple[float, float]] = {}
    measured(asked, 1, {})  # files and caches get warm
    suspects: Sequence[str] = list(asked)
    ratios: dict[str, float] = {}
    for rounds in (ROUNDS, 2 * ROUNDS):
        measured({name: asked[name] for name in suspects}, rounds, least)
        ratios = {name: own / beside for name, (beside, own) in least.items()}
        suspects = dearer(ratios, kept)
    return ratios, list(suspects)


def a_fifth_slower(case: Case) -> Case:
    """Return a question that works a fifth more."""
    more = min(worked(case.ask) for _ in range(3)) / 5

    def ask() -> None:
        case.ask()
        start = time.process_time()
        while time.process_time() - start < more:
            pass

    return Case(ask, case.beside)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="store what is measured")
    parser.add_argument("--kept", type=Path, default=KEPT, help="the figures to compare with")
    parser.add_argument("--plant", choices=["own-column", "slower"], help="make something slower on purpose")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()))
    arguments = parser.parse_args()
    kept = {} if arguments.write else json.loads(arguments.kept.read_text())
    asked = cases(arguments.cache)
    with ExitStack() as planted:
        if arguments.plant == "slower":
            asked = {name: a_fifth_slower(case) for name, case in asked.items()}
        elif arguments.plant:
            planted.enter_context(patch.object(OwnColumn, "of", return_value=None))
        ratios, worse = compared(asked, kept)
    for name, ratio in ratios.items():
        before = f"{kept[name]:8.2f}" if name in kept else "       -"
        print(f"{name:34}{ratio:8.2f}{before}{'  DEARER' if name in worse and kept else ''}")
    if arguments.write:
        arguments.kept.write_text(
            json.dumps({name: round(ratio, 2) for name, ratio in ratios.items()}, indent=1) + "\n"
        )
    elif worse:
        sys.exit(f"dearer by more than {TOLERATED - 1:.0%}: {', '.join(worse)}")


if __name__ == "__main__":
    main()
