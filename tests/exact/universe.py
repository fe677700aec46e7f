"""A universe of records small enough to try every table over it, through the real engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow

from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.engines.duckdb.engine import open_source
from prdp.levels import Levels
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing.mechanism_contract import MechanismContract

Record = Mapping[str, Any]

POLICY = Policy.column("eps", at_least="1/8", at_most="3")
LEVELS = Levels(Fraction(1, 8), Fraction(3))
MEASURE = Measure("v", Fraction(1), -12, 12)

RECORDS: tuple[Record, ...] = (
    {"v": 1, "eps": 0.125},  # the least budget
    {"v": 12, "eps": 3.0},  # the largest
    {"v": 5, "eps": 0.5},  # exactly on the edge of a domain
    {"v": -7, "eps": 0.3},
    {"v": 12, "eps": 0.2},  # a large value, well protected
    {"v": 0, "eps": 7.0},  # no influence on a sum; a budget above the largest
)
ODD: tuple[Record, ...] = (
    {"v": 9, "eps": 0.1249},  # below the least budget: left out
    {"v": 9, "eps": float("nan")},
    {"v": None, "eps": 1.0},  # counts, but adds nothing
    {"v": 40, "eps": 0.5},  # beyond its bounds
)


def arrow_of(records: Sequence[Record]) -> pyarrow.Table:
    """Return some records as a table."""
    return pyarrow.table(
        {
            "v": pyarrow.array([record["v"] for record in records], pyarrow.int64()),
            "eps": pyarrow.array([record["eps"] for record in records], pyarrow.float64()),
        }
    )


def summary_of(records: Sequence[Record], *, measure: Measure | None = MEASURE) -> Summary:
    """Return the cells of some records, as DuckDB finds them; every contract asks for the same few tables."""
    return _found(tuple((record["v"], record["eps"]) for record in records), measure)


@cache
def _found(rows: tuple[tuple[int | None, float], ...], measure: Measure | None) -> Summary:
    engine = open_source(arrow_of([{"v": v, "eps": eps} for v, eps in rows]), None)
    policy = POLICY.within(engine.schema, {})
    return engine.summarise(CellRead(policy, LEVELS, {}, measure, None))[0]


def count_of(records: Sequence[Record]) -> Summary:
    """Return the cells of some records when they are only counted."""
    return summary_of(records, measure=None)


def with_budgets_raised(summary: Summary, steps: int) -> Summary:
    """Return cells whose budgets are some levels above what their records are owed: a twin's mistake."""
    levels = summary.levels
    level_of = {levels.quanta(level): level for level in range(levels.top + 2)}
    cells = (
        replace(cell, key=cell.key._replace(quanta=levels.quanta(level_of[cell.key.quanta] + steps)))
        for cell in summary.cells
    )
    return Summary.of(levels, summary.smallest, summary.largest, cells)


def budget(record: Record) -> float:
    """Return what a record is promised: 0 for one that is left out."""
    return POLICY.budget(record) or 0.0


class OnThisUniverse(MechanismContract):
    """The contract over this universe, for sums."""

    records = RECORDS

    def summarise(self, records: Sequence[Record]) -> Summary:
        return summary_of(records)

    def budget(self, record: Record) -> float:
        return budget(record)
