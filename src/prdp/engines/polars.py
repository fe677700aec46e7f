"""Summaries computed by Polars: lazy frames, frames and Parquet files, streamed; no row is handed out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from prdp.engines._cells import Arrays
from prdp.engines._interrupts import read_or_fail, stoppable
from prdp.engines._lazy_plans import refuse_unless_records
from prdp.engines._sources import local_files, refuse_ambiguous
from prdp.engines._statement_engine import Rows, StatementEngine
from prdp.engines.dialects.polars_frames import run
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind, Schema

_RECORDS = "prdp_records"
_NATIVE: Mapping[Any, str] = {
    **{pl.Int8: "TINYINT", pl.Int16: "SMALLINT", pl.Int32: "INTEGER", pl.Int64: "BIGINT"},
    **{pl.UInt8: "UTINYINT", pl.UInt16: "USMALLINT", pl.UInt32: "UINTEGER", pl.Int128: "HUGEINT"},
    **{pl.Float32: "FLOAT", pl.Float64: "DOUBLE", pl.Boolean: "BOOLEAN", pl.String: "VARCHAR"},
    **{pl.Date: "DATE", pl.UInt64: "UBIGINT"},
}


class PolarsEngine(StatementEngine):
    """A table that Polars reads, from a lazy frame that is scanned anew for every question."""

    name = "polars"

    def __init__(self, opened: Callable[[], pl.LazyFrame]) -> None:
        """Take a table over.

        Args:
            opened: Returns the frame; raises what Polars does if it is not there any more.
        """
        super().__init__()
        self._opened = opened
        self._records = _RECORDS
        self._lock = threading.Lock()
        self.schema = self._described()

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        try:
            found: Schema | None = self._described()
        except (pl.exceptions.PolarsError, OSError):
            found = None
        if found != self.schema:
            raise InvalidRequest(
                "the source cannot be read any more, or its columns have changed since it was opened. "
                "Nothing was charged; open it again."
            )

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        found = self._collected(sql)
        return {name: _array(found[name]) for name in found.columns}

    def rows_of(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return self._collected(sql).rows()

    def arrow_of(self, sql: str) -> Any:
        """Run a statement and return an Arrow table."""
        return self._collected(sql).to_arrow()

    def _collected(self, sql: str) -> pl.DataFrame:
        frame = run(sql, {self._records: _readable(self._opened(), self.schema)})
        return read_or_fail((), lambda: frame.collect(engine="streaming"), self._lock)

    def _described(self) -> Schema:
        found = stoppable((), lambda: self._opened().collect_schema(), self._lock)
        refuse_ambiguous(found.names())
        return {name: _column_type(kind) for name, kind in found.items()}


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> PolarsEngine:
    """Open a lazy frame, a frame, or a path or glob of Parquet files; reads no record."""
    if types is not None or table is not None:
        raise InvalidRequest("types= and table= are not for Polars: a frame and a Parquet file state theirs.")
    if isinstance(source, str | Path):
        path = str(source)
        return PolarsEngine(lambda: pl.scan_parquet(local_files(path), glob=False, hive_partitioning=False))
    if isinstance(source, pl.DataFrame):
        frame = source.lazy()
        return PolarsEngine(lambda: frame)
    if isinstance(source, pl.LazyFrame):
        if not rows_are_records:
            refuse_unless_records(source)
        return PolarsEngine(lambda: source)
    raise InvalidRequest(
        f"Polars cannot read this {type(source).__name__}: give a LazyFrame, a DataFrame or Parquet files."
    )


def _column_type(kind: pl.DataType) -> ColumnType:
    """Return what a type of Polars is to prdp, by DuckDB's name of it."""
    if isinstance(kind, pl.Decimal):
        return ColumnType(Kind.NUMBER, native=f"DECIMAL({kind.precision or 38},{kind.scale})")
    if isinstance(kind, pl.Datetime):
        return ColumnType(Kind.MOMENT, native="TIMESTAMP")
    if isinstance(kind, pl.Categorical | pl.Enum):
        return ColumnType(Kind.TEXT, native="VARCHAR")
    native = _NATIVE.get(type(kind), "")
    if kind.is_integer() and native:
        return ColumnType(Kind.NUMBER, integer=True, native=native)
    kinds = {"FLOAT": Kind.NUMBER, "DOUBLE": Kind.NUMBER, "BOOLEAN": Kind.BOOLEAN, "VARCHAR": Kind.TEXT}
    kinds["DATE"] = Kind.MOMENT
    return ColumnType(kinds.get(native, Kind.OTHER), native=native or str(kind))


def _readable(frame: pl.LazyFrame, schema: Schema) -> pl.LazyFrame:
    """Return a frame whose texts are texts, and whose moments are microseconds without a zone, in UTC."""
    changed = []
    for name, kind in frame.collect_schema().items():
        if isinstance(kind, pl.Categorical | pl.Enum):
            changed.append(pl.col(name).cast(pl.String))
        elif isinstance(kind, pl.Datetime):
            value = pl.col(name)
            value = value.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if kind.time_zone else value
            changed.append(value.dt.cast_time_unit("us"))
    return frame.with_columns(changed) if changed else frame


def _array(column: pl.Series) -> Any:
    """Return a column as a masked array; texts and bytes as Python objects."""
    missing = column.is_null().to_numpy()
    if column.dtype in (pl.String, pl.Binary):
        return np.ma.MaskedArray(np.array(column.to_list(), dtype=object), mask=missing)
    filled = column.fill_null(False if column.dtype == pl.Boolean else 0)
    return np.ma.MaskedArray(filled.to_numpy(), mask=missing)
