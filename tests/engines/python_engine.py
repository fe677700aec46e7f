"""An engine of somebody's own, on records in plain Python: what prdp.open takes in place of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow

from prdp.cells.key_masses import KeyMasses
from prdp.cells.summary import KeySummary, Summary
from prdp.cells.units import Caps
from prdp.errors import InvalidRequest
from prdp.plan.divided import DividedRead, DividedRowRead
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, RowRead, UnitRead
from prdp.schema import ColumnType, Kind, Schema
from prdp.testing.key_contract import reference_masses
from prdp.testing.reference import (
    in_groups,
    reference_keys,
    reference_rows,
    reference_scaled,
    reference_summary,
    reference_tops,
    reference_units,
)
from prdp.testing.reference_divided import reference_divided, reference_divided_rows

COLUMNS = {
    "eps": ColumnType(Kind.NUMBER, native="double"),
    "v": ColumnType(Kind.NUMBER, integer=True, native="int64"),
    "x": ColumnType(Kind.NUMBER, native="double"),
    "job": ColumnType(Kind.TEXT, native="string"),
    "day": ColumnType(Kind.MOMENT, native="timestamp[us]"),
}


class PythonEngine:
    """Reads a list of records, one by one.

    Attributes:
        records: The records; they may be taken away.
        columns: Their columns; these may change too.
    """

    name = "python"
    source = ""

    def __init__(self, records: Sequence[Mapping[str, Any]], columns: Schema = COLUMNS) -> None:
        self.records: Sequence[Mapping[str, Any]] | None = records
        self.columns = columns
        self.schema = columns

    def ensure_there(self) -> None:
        if self.records is None or self.columns != self.schema:
            raise InvalidRequest("the list is gone, or has other columns. Nothing was charged.")

    def summarise(self, reading: CellRead) -> tuple[Summary, ...]:
        return tuple(reference_summary(group, reading) for group in in_groups(self._read(), reading.groups))

    def key_totals(self, reading: KeyRead) -> tuple[KeySummary, ...]:
        counted = CellRead(reading.policy, reading.levels, {}, None, reading.where)
        groups = in_groups(self._read(), reading.groups)
        return tuple(reference_keys(group, counted, reading.column, reading.expression) for group in groups)

    def top_levels(self, reading: KeyRead) -> tuple[Summary, ...]:
        return tuple(reference_tops(group, reading) for group in in_groups(self._read(), reading.groups))

    def key_masses(self, reading: KeyMassRead) -> KeyMasses:
        return KeyMasses.of(reading.levels, reference_masses(self._read(), reading))

    def rows(self, reading: RowRead) -> tuple[Any, Any]:
        return self._handed_out(reference_rows(self._read(), reading), reading.columns)

    def _handed_out(self, found: Sequence[tuple[Any, int]], names: Sequence[str]) -> tuple[Any, Any]:
        columns = {name: [row[name] for row, _ in found] for name in names}
        types = {"int64": pyarrow.int64(), "double": pyarrow.float64(), "string": pyarrow.string()}
        schema = [(name, types.get(self.schema[name].native, pyarrow.timestamp("us"))) for name in columns]
        return pyarrow.table(columns, pyarrow.schema(schema)), pyarrow.array([level for _, level in found])

    def divided(self, reading: DividedRead) -> tuple[Any, ...]:
        return reference_divided(self._read(), reading)

    def divided_rows(self, reading: DividedRowRead) -> tuple[Any, Any]:
        return self._handed_out(reference_divided_rows(self._read(), reading), reading.read.columns)

    def fold_units(self, reading: UnitRead) -> tuple[tuple[Summary, Summary], ...]:
        return reference_units(self._read(), reading)

    def scale_units(self, reading: UnitRead, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        return reference_scaled(self._read(), reading, caps, count_rows=count_rows)

    def _read(self) -> Sequence[Mapping[str, Any]]:
        assert self.records is not None
        return self.records
