"""Summaries computed by Polars: lazy frames, frames and Parquet files, streamed; no row is handed out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from prdp.engines._cells import Arrays
from prdp.engines._interrupts import read_or_fail, stoppable
from prdp.engines._lazy_plans import refuse_unless_records
from prdp.engines._sources import local_files, refuse_ambiguous
from prdp.engines._statement_engine import Rows, StatementEngine
from prdp.engines._statement_tables import StatementTables
from prdp.engines.dialects.polars_frames import run
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind, Schema

_RECORDS = "prdp_records"
_NATIVE: Mapping[Any, str] = {
    pl.Int8: "TINYINT",
    pl.Int16: "SMALLINT",
    pl.Int32: "INTEGER",
    pl.Int64: "BIGINT",
    pl.UInt8: "UTINYINT",
    pl.UInt16: "USMALLINT",
    pl.UInt32: "UINTEGER",
    pl.Int128: "HUGEINT",
    pl.Float32: "FLOAT",
    pl.Float64: "DOUBLE",
    pl.Boolean: "BOOLEAN",
    pl.String: "VARCHAR",
    pl.Date: "DATE",
    pl.UInt64: "UBIGINT",
}


Opened = Callable[[], pl.LazyFrame]
"""Returns a frame anew; raises what Polars does if it is not there any more."""


_MOMENT = pl.Datetime("us")
_UNITS = {"ms": Fraction(1000), "us": Fraction(1), "ns": Fraction(1, 1000)}
_MOMENTS = {"ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
_DAY = Fraction(86_400_000_000)


class PolarsEngine(StatementEngine):
    """A table that Polars reads, from a lazy frame that is scanned anew for every question."""

    name = "polars"

    def __init__(self, opened: Opened) -> None:
        """Take a table over."""
        super().__init__()
        self._frames = {_RECORDS: opened}
        self._records = _RECORDS
        self._lock = threading.Lock()
        self.schema = _described(self._frames, self._lock)[_RECORDS]

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        _refuse_changed(self._frames, {_RECORDS: self.schema}, self._lock)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        return _arrays(_collected(sql, self._frames, self._lock))

    def rows_of(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return _collected(sql, self._frames, self._lock).rows()

    def arrow_of(self, sql: str) -> Any:
        """Run a statement and return an Arrow table."""
        return _collected(sql, self._frames, self._lock).to_arrow()


class PolarsTables(StatementTables):
    """Several frames that Polars joins."""

    def __init__(self, opened: Mapping[str, Opened]) -> None:
        """Take tables over."""
        super().__init__()
        self._views = {name: f"prdp_table_{place}" for place, name in enumerate(opened)}
        self._frames = {self._views[name]: frame for name, frame in opened.items()}
        self._lock = threading.Lock()
        found = _described(self._frames, self._lock)
        self.schemas = {name: found[view] for name, view in self._views.items()}

    def ensure_there(self) -> None:
        """Refuse sources that are gone or have other columns by now; reads no record."""
        self.refuse_elsewhere()
        known = {self._views[name]: schema for name, schema in self.schemas.items()}
        _refuse_changed(self._frames, known, self._lock)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        return _arrays(_collected(sql, self._frames, self._lock))

    def rows(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return _collected(sql, self._frames, self._lock).rows()


def _collected(sql: str, frames: Mapping[str, Opened], lock: threading.Lock) -> pl.DataFrame:
    def read() -> pl.DataFrame:
        tables = {name: _readable(opened()) for name, opened in frames.items()}
        try:
            return run(sql, tables).collect(engine="streaming")
        except pl.exceptions.PanicException:  # no Exception to Python, and its words may speak of a record
            pass
        raise RuntimeError

    return read_or_fail((), read, lock)


def _described(frames: Mapping[str, Opened], lock: threading.Lock) -> dict[str, Schema]:
    found = stoppable((), lambda: {name: opened().collect_schema() for name, opened in frames.items()}, lock)
    for columns in found.values():
        refuse_ambiguous(columns.names())
    return {
        table: {name: _column_type(kind) for name, kind in columns.items()}
        for table, columns in found.items()
    }


def _refuse_changed(frames: Mapping[str, Opened], known: Mapping[str, Schema], lock: threading.Lock) -> None:
    try:
        found: Mapping[str, Schema] | None = _described(frames, lock)
    except (pl.exceptions.PolarsError, OSError, InvalidRequest):
        found = None
    if found != known:
        raise InvalidRequest(
            "a source cannot be read any more, or its columns have changed since it was opened. "
            "Nothing was charged; open it again."
        )


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
    return PolarsEngine(_opened(source, rows_are_records=rows_are_records))


def open_tables(sources: Mapping[str, object]) -> PolarsTables:
    """Open several frames or files together; reads no record."""
    return PolarsTables({name: _opened(source, rows_are_records=False) for name, source in sources.items()})


def _opened(source: object, *, rows_are_records: bool) -> Opened:
    if isinstance(source, str | Path):
        return lambda: _scanned(str(source))
    if isinstance(source, pl.DataFrame):
        held = source.lazy()
        return lambda: held
    if not isinstance(source, pl.LazyFrame):
        kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
        raise InvalidRequest(
            f"Polars cannot read this {kind}: give a LazyFrame or DataFrame of Polars, or Parquet files; or "
            "leave engine= away."
        )
    if not rows_are_records:
        refuse_unless_records(source)
    return lambda: pl.LazyFrame._from_pyldf(source._ldf)  # noqa: SLF001  (a new frame, that has read nothing)


def _scanned(path: str) -> pl.LazyFrame:
    """Return a scan of files; names of folders are no columns, as Polars would guess their types."""
    files = local_files(path)
    if not all(file.endswith((".parquet", ".pq")) for file in files) or any("=" in file for file in files):
        raise InvalidRequest(
            f"Polars reads Parquet files here, in folders without '='. Leave engine= away: {path!r} may be "
            "one of the sources that DuckDB reads."
        )
    return pl.scan_parquet(files, glob=False, hive_partitioning=False, use_statistics=False)


def _column_type(kind: pl.DataType) -> ColumnType:
    """Return what a type of Polars is to prdp, by DuckDB's name of it."""
    if isinstance(kind, pl.Decimal):
        return ColumnType(Kind.NUMBER, native=f"DECIMAL({kind.precision or 38},{kind.scale})")
    if isinstance(kind, pl.Datetime):  # by the names that DuckDB has, so that one ledger serves both
        zoned = "TIMESTAMP WITH TIME ZONE" if kind.time_zone else _MOMENTS[kind.time_unit]
        return ColumnType(Kind.MOMENT, native=zoned)
    if isinstance(kind, pl.Categorical | pl.Enum):
        return ColumnType(Kind.TEXT, native="VARCHAR")
    native = _NATIVE.get(type(kind), "")
    if kind.is_integer() and native:
        return ColumnType(Kind.NUMBER, integer=True, native=native)
    kinds = {"FLOAT": Kind.NUMBER, "DOUBLE": Kind.NUMBER, "BOOLEAN": Kind.BOOLEAN, "VARCHAR": Kind.TEXT}
    kinds["DATE"] = Kind.MOMENT
    return ColumnType(kinds.get(native, Kind.OTHER), native=native or str(kind))


def _readable(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return a frame whose texts are texts, and whose moments are microseconds without a zone, in UTC."""
    changed = []
    for name, kind in frame.collect_schema().items():
        if isinstance(kind, pl.Categorical | pl.Enum):
            changed.append(pl.col(name).cast(pl.String))
        elif isinstance(kind, pl.Date):
            changed.append(_microseconds(pl.col(name), _DAY))
        elif isinstance(kind, pl.Datetime) and (kind.time_unit != "us" or kind.time_zone):
            changed.append(_microseconds(pl.col(name), _UNITS[kind.time_unit]))
    return frame.with_columns(changed) if changed else frame


def _microseconds(moment: pl.Expr, unit: Fraction) -> pl.Expr:
    """Return a moment in microseconds, in UTC; NULL beyond what they reach, where a cast would panic."""
    steps = moment.to_physical().cast(pl.Int64)
    if unit < 1:
        return (steps // unit.denominator).cast(_MOMENT)
    reach = (2**63 - 1) // unit.numerator
    inside = pl.when(steps.is_between(-reach, reach)).then(steps)
    return (inside * unit.numerator).cast(_MOMENT)


def _arrays(found: pl.DataFrame) -> Arrays:
    return {name: _array(found[name]) for name in found.columns}


def _array(column: pl.Series) -> Any:
    """Return a column as a masked array; texts and bytes as Python objects."""
    missing = column.is_null().to_numpy()
    if column.dtype in (pl.String, pl.Binary):
        return np.ma.MaskedArray(np.array(column.to_list(), dtype=object), mask=missing)
    filled = column.fill_null(False if column.dtype == pl.Boolean else 0)
    return np.ma.MaskedArray(filled.to_numpy(), mask=missing)
