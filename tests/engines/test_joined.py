"""Engines of several tables: held to the contract however tables are kept, and caught when they are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from prdp.cells.summary import Summary
from prdp.cells.units import Caps
from prdp.engines.duckdb.engine import open_tables
from prdp.engines.sql_engine import SqlEngine
from prdp.plan.divided import DividedRead, DividedRowRead
from prdp.plan.reads import UnitRead
from prdp.schema import ColumnType, Kind, Schema
from prdp.testing.join_contract import COLUMNS, JoinContract, Tables
from prdp.testing.reference import reference_scaled, reference_units
from prdp.testing.reference_divided import reference_divided, reference_divided_rows

ARROW = {"VARCHAR": pyarrow.string(), "DOUBLE": pyarrow.float64(), "BIGINT": pyarrow.int64()}


def arrow_of(tables: Tables) -> dict[str, pyarrow.Table]:
    return {
        name: pyarrow.Table.from_pylist(
            list(tables[name]), pyarrow.schema([(column, ARROW[kind]) for column, kind in columns.items()])
        )
        for name, columns in COLUMNS.items()
    }


@pytest.mark.slow
class TestFrames(JoinContract):
    def engine(self, tables: Tables) -> SqlEngine:
        return open_tables(arrow_of(tables), {})


class TestParquet(JoinContract):
    """Files with statistics, dictionaries and row groups of three rows."""

    brief = True

    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.opened = 0

    def engine(self, tables: Tables) -> SqlEngine:
        self.opened += 1
        paths = {}
        for name, table in arrow_of(tables).items():
            paths[name] = self.folder / f"{name}-{self.opened}.parquet"
            pyarrow.parquet.write_table(table, paths[name], row_group_size=3)
        return open_tables(paths, {})


@pytest.mark.slow
class TestParquetInFull(TestParquet):
    brief = False


class PythonTables:
    """Reads tables in plain Python."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        kinds = {"VARCHAR": Kind.TEXT, "DOUBLE": Kind.NUMBER, "BIGINT": Kind.NUMBER}
        self.schemas: Mapping[str, Schema] = {
            table: {
                name: ColumnType(kinds[kind], integer=kind == "BIGINT", native=kind)
                for name, kind in columns.items()
            }
            for table, columns in COLUMNS.items()
        }

    def ensure_there(self) -> None:
        """Find the tables where they were."""

    def has_twice(self, table: str, column: str) -> bool:
        values = [row[column] for row in self.tables[table] if row[column] is not None]
        return len(values) > len(set(values))

    def fold_units(self, reading: UnitRead) -> tuple[tuple[Summary, Summary], ...]:
        return reference_units(self.tables, reading)

    def scale_units(self, reading: UnitRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        return reference_scaled(self.tables, reading, caps, count_rows=count_rows)

    def divided(self, reading: DividedRead) -> tuple[Any, ...]:
        return reference_divided(self.tables, reading)

    def divided_rows(self, reading: DividedRowRead) -> tuple[Any, Any]:
        found = reference_divided_rows(self.tables, reading)
        return pyarrow.Table.from_pylist([row for row, _ in found]), pyarrow.array([at for _, at in found])


class TestPython(JoinContract):
    brief = True

    def engine(self, tables: Tables) -> PythonTables:
        return PythonTables(tables)


Change = Callable[[Tables], Tables]


def ids_by_collation(tables: Tables) -> Tables:
    """Take ids that differ in capitals for one."""

    def lower(rows: Sequence[Mapping[str, Any]], column: str) -> list[Mapping[str, Any]]:
        return [{**row, column: row[column] and row[column].lower()} for row in rows]

    return {**tables, "people": lower(tables["people"], "name"), "orders": lower(tables["orders"], "buyer")}


def rows_doubled(tables: Tables) -> Tables:
    """Join own rows one by one: the orders of whoever is there twice are there twice."""
    names = [row["name"] for row in tables["people"]]
    orders = [row for row in tables["orders"] for _ in range(max(1, names.count(row["buyer"])))]
    return {**tables, "orders": orders}


def invalid_skipped(tables: Tables) -> Tables:
    """Leave own rows without a budget out, and not their units."""
    return {**tables, "people": [row for row in tables["people"] if (row["eps"] or 0) >= 0.1]}


def nobody_s_rows_joined(tables: Tables) -> Tables:
    """Let orders without a buyer belong to people without a name."""

    def named(rows: Sequence[Mapping[str, Any]], column: str) -> list[Mapping[str, Any]]:
        return [{**row, column: "nobody" if row[column] is None else row[column]} for row in rows]

    return {**tables, "people": named(tables["people"], "name"), "orders": named(tables["orders"], "buyer")}


def dangling_kept(tables: Tables) -> Tables:
    """Count orders of whoever is not there, with the largest budget."""
    known = {row["name"] for row in tables["people"]}
    strangers = {row["buyer"] for row in tables["orders"]} - known - {None}
    blank = dict.fromkeys(COLUMNS["people"])
    more = [{**blank, "name": name, "eps": 10.0} for name in sorted(strangers)]
    return {**tables, "people": [*tables["people"], *more]}


def first_own_row(tables: Tables) -> Tables:
    """Take a unit's columns from its first own row, though others differ."""
    first: dict[Any, Mapping[str, Any]] = {}
    for row in tables["people"]:
        first.setdefault(row["name"], row)
    return {**tables, "people": [{**first[row["name"]], "eps": row["eps"]} for row in tables["people"]]}


def with_tables(change: Change) -> type[PythonTables]:
    """Return an engine that reads other tables than it is given."""

    class Changed(PythonTables):
        def __init__(self, tables: Tables) -> None:
            super().__init__(change(tables))

    return Changed


class FiltersBeforeLevels(PythonTables):
    """Takes budgets from the own rows that pass a filter on their columns alone."""

    def fold_units(self, reading: UnitRead) -> tuple[tuple[Summary, Summary], ...]:
        from prdp.expressions.evaluate import evaluate  # noqa: PLC0415
        from prdp.expressions.nodes import columns  # noqa: PLC0415

        people = self.tables["people"]
        if reading.where is not None and columns(reading.where) <= COLUMNS["people"].keys():
            people = [row for row in people if evaluate(reading.where, row) is True]
        return reference_units({**self.tables, "people": people}, reading)


class ForgetsTheFilter(PythonTables):
    def fold_units(self, reading: UnitRead) -> tuple[tuple[Summary, Summary], ...]:
        return super().fold_units(replace(reading, where=None))


class ForgetsToCut(PythonTables):
    def scale_units(self, reading: UnitRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        most = Caps((reading.folded.high << caps.bits,) * len(caps.by_level), caps.bits)
        return super().scale_units(reading, most, count_rows=count_rows)


class WholeBudgets(PythonTables):
    """Hands out each result with the budget of its unit, undivided."""

    def divided_rows(self, reading: DividedRowRead) -> tuple[Any, Any]:
        rows, levels = super().divided_rows(reading)
        return rows, pyarrow.array([reading.levels.top] * len(levels))


ALL = "test_results_are_folded_by_the_unit_that_they_belong_to"
HANDED_OUT = "test_results_are_handed_out_with_parts_of_their_unit_s_budget"
GROUPS = "test_an_unit_is_in_one_group_of_units_at_most"
SHARED = "test_what_units_add_to_several_groups_is_scaled_down_together"


@pytest.mark.parametrize(
    ("twin", "test"),
    [
        (with_tables(ids_by_collation), ALL),
        (with_tables(rows_doubled), ALL),
        (with_tables(invalid_skipped), ALL),
        (with_tables(nobody_s_rows_joined), ALL),
        (with_tables(dangling_kept), ALL),
        (with_tables(first_own_row), GROUPS),
        (FiltersBeforeLevels, ALL),
        (ForgetsTheFilter, ALL),
        (ForgetsToCut, SHARED),
        (with_tables(rows_doubled), HANDED_OUT),
        (with_tables(invalid_skipped), HANDED_OUT),
        (WholeBudgets, HANDED_OUT),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_engine_that_is_wrong_fails_the_contract(twin: type[PythonTables], test: str) -> None:
    class Wrong(JoinContract):
        def engine(self, tables: Tables) -> PythonTables:
            return twin(tables)

    with pytest.raises(AssertionError):
        getattr(Wrong(), test)()
