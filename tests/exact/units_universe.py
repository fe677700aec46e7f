"""Units small enough to try every table over them: a unit is a tuple of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow

from prdp.cells.measure import Measure
from prdp.cells.summary import Summary
from prdp.cells.units import Fold, UnitGroups
from prdp.declare.groups import read_grouping
from prdp.declare.units import PrivacyUnit
from prdp.engines.duckdb.engine import open_source
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.plan.reads import UnitRead
from prdp.schema import Kind
from prdp.testing.reference import reference_scaled, reference_units
from tests.exact.universe import LEVELS, MEASURE, POLICY

Record = Mapping[str, Any]
NAN = float("nan")
BY_ID = PrivacyUnit("id")


def unit(*rows: tuple[int | None, float | None, bool, str | None]) -> Record:
    """Return a unit of rows (value, budget, whether the filter keeps it, group)."""
    return {"rows": tuple({"v": v, "eps": eps, "kept": kept, "grp": group} for v, eps, kept, group in rows)}


UNITS: tuple[Record, ...] = (
    unit((1, 0.125, True, "a")),
    unit((12, 3.0, True, "a"), (12, 2.0, True, "b")),  # its second budget is what it is owed
    unit((5, 0.5, True, "a"), (9, 0.2, False, "b")),  # the least budget is in a row that is filtered out
    unit((7, 1.0, True, "b"), (-5, 0.4, True, "a")),  # both signs
    unit((12, 1.0, True, "a"), (3, None, True, "b")),  # an invalid row: left out
    unit((12, 2.0, True, "b"), (3, NAN, False, None)),  # an invalid row counts though it is filtered out
    unit((12, 3.0, False, "a")),  # nothing of it is kept
    unit((None, 3.0, True, "b"), (12, 0.3, True, "c")),  # one row has no value, the other no listed group
)


def budget(record: Record) -> float:
    """Return what a unit is promised: the least over all its rows, and 0 if one of them has none."""
    budgets = [POLICY.budget(row) or 0.0 for row in record["rows"]]
    return min(budgets)


def with_budget(record: Record, least: float) -> Record | None:
    """Return a unit like another whose least budget is this one; its other rows have that much or more."""
    rows = record["rows"]
    if not budget(record):
        return None
    moved = [least if row["eps"] == budget(record) else max(least, row["eps"]) for row in rows]
    return {"rows": tuple(dict(row, eps=eps) for row, eps in zip(rows, moved, strict=True))}


def rows_of(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the rows of all owners, each with its owner's number."""
    return [dict(row, id=place) for place, record in enumerate(records) for row in record["rows"]]


SCHEMA = pyarrow.schema(
    [
        ("v", pyarrow.int64()),
        ("eps", pyarrow.float64()),
        ("kept", pyarrow.bool_()),
        ("grp", pyarrow.string()),
        ("id", pyarrow.int64()),
    ]
)
COLUMNS = open_source(SCHEMA.empty_table(), None).schema


def reading(
    measure: Measure | None, *, grouped: bool, fold: Fold = "sum", unit: PrivacyUnit = BY_ID
) -> UnitRead:
    """Return what is read of units: the rows that are kept, and for groups those of a and b."""
    kept = check(parse("kept"), COLUMNS, Kind.BOOLEAN, "kept")
    groups = read_grouping(["grp"], ["a", "b"], COLUMNS) if grouped else None
    return UnitRead(POLICY.within(COLUMNS, {}), LEVELS, unit, measure, fold, kept, groups)


def folded(
    rows: Sequence[Mapping[str, Any]],
    measure: Measure | None = MEASURE,
    fold: Fold = "sum",
    unit: PrivacyUnit = BY_ID,
) -> Summary:
    """Return the cells of units, as DuckDB finds them."""
    engine = open_source(pyarrow.Table.from_pylist(list(rows), schema=SCHEMA), None)
    ((totals, _),) = engine.fold_units(reading(measure, grouped=False, fold=fold, unit=unit))
    return totals


SQUARES = Measure("(v - 1) * (v - 1)", Fraction(1), 0, 169, expression=parse("(v - 1) * (v - 1)"))
"""Squared distances from 1, as they are folded once a center is drawn, but in whole steps of values."""


def in_groups(
    records: Sequence[Record],
    measure: Measure | None = MEASURE,
    *,
    once: bool = False,
    euclidean: bool = False,
) -> UnitGroups:
    """Return units whose rows lie in two groups, by the reference that engines are held to."""
    asked = replace(reading(measure, grouped=True), once=once, euclidean=euclidean)
    rows = rows_of(records)
    look = partial(reference_scaled, rows, asked, count_rows=measure is None)
    ((totals, _),) = reference_units(rows, asked)
    return UnitGroups(totals, look, euclidean=euclidean)
