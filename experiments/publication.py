"""Errors of published counts before and after consistency, by the level of a table, on three sets.

``python -m experiments.publication --data folder --runs 10`` prints root mean squared errors of a margin's
own answer, of the least-squares estimate, and of the figure that is published (not negative), where the
budget was sufficient, and how many 95 % intervals hold: of all figures, of those that are published, and of
those that are zero in truth. All of a table uses a share of 1/20 (``--share``) of budgets of 1, or with
``--by-value`` of budgets that are the smaller the larger a record's value is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import prdp
from examples.publish.cbp import REGIONS
from prdp.publish import Hierarchy, PrivateTable, Publication, Signs, StatisticalTable
from prdp.publish.dimension import DimensionPart
from prdp.publish.draws import TableDraws, draws_of
from prdp.publish.estimates import AskedMargins, figures
from prdp.publish.table import PublishedFigure, judged
from prdp.release.release import Release
from prdp.tables.queryable import reader_of
from prdp.testing import Seeded

BOUNDS = {"emp": (0, 10_000_000), "balance": (0, 200_000), "pay": (0, 1_000_000)}
BY_VALUE = {
    "bank": "2000 / greatest(balance, 1000)",
    "sf_salary": "100000 / greatest(pay, 50000)",
    "cbp_2021": "1000 / greatest(emp, 100)",
}
REGION = Hierarchy("region", "state", {name: keys.split() for name, keys in REGIONS.items()})
SETS = {
    "bank": ("job, education, greatest(balance, 0) AS balance", ("job", "education"), "bank.parquet"),
    "sf_salary": (
        "CAST(year AS VARCHAR) AS year, split_part(job_title, ' ', 1) AS word, total_pay AS pay",
        ("year", "word"),
        "sf_salary.parquet",
    ),
    "cbp_2021": ("state, substr(naics, 1, 2) AS sector, emp", ("region", "sector"), "cbp_2021.parquet"),
}
_MOST = 60  # keys of a column: the most frequent ones


def records(data: Path, columns: str, file: str) -> dict[str, Any]:
    """Return the columns of a set as arrays of texts."""
    found = duckdb.execute(f"SELECT {columns} FROM '{data / file}'").fetchnumpy()
    return {
        name: np.asarray(column) if name in BOUNDS else np.asarray(column).astype(str)
        for name, column in found.items()
    }


def keys_of(columns: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the keys of each column; the sets are public here."""
    found = {}
    for name, column in columns.items():
        values, counts = np.unique(column, return_counts=True)
        found[name] = sorted(values[np.argsort(-counts, kind="stable")][:_MOST].tolist())
    return found | (
        {"state": [key for keys in REGION.groups.values() for key in keys]} if "state" in found else {}
    )


def truth(draws: TableDraws, columns: Mapping[str, Any], cells: list[tuple[DimensionPart, ...]]) -> Any:
    """Return the true counts of cells."""
    places = [{key: place for place, key in enumerate(one.levels[0].labels)} for one in draws.dimensions]
    table = np.zeros([one.size for one in draws.dimensions], dtype=int)
    for row in zip(*(columns[one.column] for one in draws.dimensions), strict=True):
        if all(key in known for key, known in zip(row, places, strict=True)):
            table[tuple(known[key] for key, known in zip(row, places, strict=True))] += 1
    return np.array([table[np.ix_(*(part.leaves for part in cell))].sum() for cell in cells])


def errors(name: str, data: Path, runs: int, policy: str, share: str) -> Iterator[str]:
    """Yield the errors of a set, a line for each level."""
    selected, by, file = SETS[name]
    columns = records(data, selected, file)
    keys = keys_of({one: column for one, column in columns.items() if one not in BOUNDS})
    table = prdp.open(
        columns,
        policy=policy,
        bounds={key: ends for key, ends in BOUNDS.items() if key in columns},
        synthetic=True,
    )
    publication = Publication(name, (StatisticalTable("t", by=by),), share=share, hierarchies=(REGION,))
    (draws,) = draws_of(publication, {"t": PrivateTable(table, keys)})
    statistic = draws.declared.statistics[0]
    cells = list(product(*(one.parts(margins=True) for one in draws.dimensions)))
    true = truth(draws, columns, cells)
    drawn: dict[Any, Any] = {
        asked: plan.draw(reader_of(table), Seeded(place), runs)
        for place, (asked, plan) in enumerate(draws.plans.items())
    }
    squares, intervals = [], []
    for run in range(runs):
        answers: dict[Any, list[Release]] = {
            asked: [row[0] for row in draws.plans[asked].tabled(found[run]).releases]
            for asked, found in drawn.items()
        }
        table_of_own = AskedMargins(draws.dimensions, answers)
        own = [table_of_own.figure(cell) for cell in cells]
        known = np.array([not one.insufficient_budget for one in own])
        best = figures(statistic, draws.dimensions, answers, cells, least=None)
        published = figures(statistic, draws.dimensions, answers, cells, least=Fraction(0))
        judged_ones = [judged(one, 1.0, Signs(), may_be_negative=False) for one in published]
        intervals.append([_held(one, number) for one, number in zip(judged_ones, true, strict=True)])
        squares.append(
            [
                np.where(known, (np.array([float(one.exact) for one in numbers]) - true) ** 2, np.nan)
                for numbers in (own, best, published)
            ]
        )
    every: Any = np.array(squares)
    levels = [tuple(part.level for part in cell) for cell in cells]
    for level in [*sorted(set(levels)), None]:
        chosen = np.array([level in (None, one) for one in levels])
        sizes = ", ".join(f"{np.sqrt(np.nanmean(kind[:, chosen])):.1f}" for kind in np.moveaxis(every, 1, 0))
        yield f"{name}, {'all' if level is None else level}: {chosen.sum():,} cells: {sizes}"
    held, shown = np.moveaxis(np.array(intervals), 2, 0)
    kinds = {
        "all": shown >= 0,
        "published": shown > 0,
        "zero in truth": np.broadcast_to(true == 0, shown.shape),
    }
    for words, kind in kinds.items():
        known = kind & (held >= 0)
        yield f"{name}, intervals, {words}: {held[known].sum():,} of {known.sum():,} hold"


def _held(one: PublishedFigure, number: int) -> tuple[int, int]:
    """Return whether an interval holds, -1 where there is none, and whether its figure is published."""
    if one.low is None or one.high is None:
        return -1, 0
    return int(one.low <= number <= one.high), int(one.is_published)


def main() -> None:
    """Print the errors of all sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--share", default="1/20")
    parser.add_argument("--by-value", action="store_true")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    chosen = parser.parse_args()
    for name in chosen.sets:
        policy = BY_VALUE[name] if chosen.by_value else "1"
        for line in errors(name, chosen.data, chosen.runs, policy, chosen.share):
            print(line, flush=True)


if __name__ == "__main__":
    main()
