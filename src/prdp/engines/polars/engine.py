"""Summaries computed by Polars: lazy frames, frames and Parquet files, streamed; no row is handed out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from prdp.engines.database import RECORDS, Database, PlainTable, Rows, Statement, slots_of
from prdp.engines.polars.frames import run
from prdp.engines.polars.plans import lazy_origins, refuse_unless_records
from prdp.engines.sources.checks import local_files, refuse_ambiguous
from prdp.engines.sources.file_identity import unchanged
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import Arrays
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind

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


_MOMENT, _WIDE = pl.Datetime("us"), pl.Decimal(38, 0)
_UNITS = {"ms": Fraction(1000), "us": Fraction(1), "ns": Fraction(1, 1000)}
_MOMENTS = {"ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
_DAY = Fraction(86_400_000_000)
_FARTHEST = 8 * 10**18
"""Microseconds of some 253,000 years: Polars' functions of dates reach 262,000, its numbers further."""


class PolarsDatabase(Database[PlainTable]):
    """Lazy frames that Polars reads and joins, scanned anew for every statement.

    Attributes:
        frames: The frames, by their names.
    """

    name = "polars"
    traces = False

    def __init__(self, frames: Mapping[str, Opened], slots: Mapping[str, str]) -> None:
        self.frames = frames
        self.slots = slots
        self.lock = threading.Lock()

    def find(self) -> dict[str, PlainTable]:
        """Look at the columns of each frame."""
        return {name: _described(opened()) for name, opened in self.frames.items()}

    def write(self, sql: str, tables: Mapping[str, PlainTable]) -> Statement:  # noqa: ARG002
        """Return a statement as it is: Polars runs its steps."""
        return Statement(sql)

    def arrays(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Arrays:  # noqa: ARG002
        """Run a statement; return its columns."""
        return _arrays(self._collected(statement))

    def rows(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Rows:  # noqa: ARG002
        """Run a statement; return its rows."""
        return self._collected(statement).rows()

    def arrow(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Any:  # noqa: ARG002
        """Run a statement; return an Arrow table."""
        wide = pl.selectors.by_dtype(pl.Int128).cast(_WIDE, strict=False)  # Arrow has no such whole numbers
        return self._collected(statement).with_columns(wide).to_arrow()

    def _collected(self, statement: Statement) -> pl.DataFrame:
        tables = {self.slots[name]: _readable(opened()) for name, opened in self.frames.items()}
        scanned = (opened for opened in self.frames.values() if isinstance(opened, _Files | _Lazy))
        try:
            with unchanged([file for opened in scanned for file in opened.files()]):
                return run(statement.sql, tables).collect(engine="streaming")
        except pl.exceptions.PanicException:  # no Exception to Python, and its words may speak of a record
            pass
        raise RuntimeError


def _described(frame: pl.LazyFrame) -> PlainTable:
    columns = frame.collect_schema()
    refuse_ambiguous(columns.names())
    return PlainTable({name: _column_type(kind) for name, kind in columns.items()})


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> SqlEngine:
    """Open a lazy frame, a frame, or a path or glob of Parquet files; reads no record."""
    if types is not None or table is not None:
        raise InvalidRequest("types= and table= are not for Polars: a frame and a Parquet file state theirs.")
    opened = _opened(source, rows_are_records=rows_are_records)
    return SqlEngine(PolarsDatabase({"": opened}, {"": RECORDS}))


def open_tables(sources: Mapping[str, object]) -> SqlEngine:
    """Open several frames or files together; reads no record."""
    frames = {name: _opened(source, rows_are_records=False) for name, source in sources.items()}
    return SqlEngine(PolarsDatabase(frames, slots_of(frames)))


def _opened(source: object, *, rows_are_records: bool) -> Opened:
    if isinstance(source, str | Path):
        return _Files(str(source))
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
    return _Lazy(source, tuple(lazy_origins(source).files.values()))


@dataclass(frozen=True, slots=True)
class _Lazy:
    """A lazy frame of the caller's, with the local files that its plan names."""

    frame: pl.LazyFrame
    scanned: tuple[str, ...]

    def __call__(self) -> pl.LazyFrame:
        return pl.LazyFrame._from_pyldf(self.frame._ldf)  # noqa: SLF001  (a new one, that has read nothing)

    def files(self) -> list[str]:
        """Return the files that are read."""
        return list(self.scanned)


@dataclass(frozen=True, slots=True)
class _Files:
    """Parquet files by their path or glob, scanned as they are by then."""

    path: str

    def __call__(self) -> pl.LazyFrame:
        return _scanned(self.path)

    def files(self) -> list[str]:
        """Return the files that are read."""
        return local_files(self.path)


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
    """Return a frame whose texts are texts, and whose moments are microseconds without a zone, in UTC.

    A decimal of more digits than its type has is NULL.

    In Polars every branch of a CASE is computed for every row: no guard in a statement keeps a far moment
    from a function that panics at it.
    """
    changed = []
    for name, kind in frame.collect_schema().items():
        if isinstance(kind, pl.Categorical | pl.Enum):
            changed.append(pl.col(name).cast(pl.String))
        elif isinstance(kind, pl.Date):
            changed.append(_microseconds(pl.col(name), _DAY))
        elif isinstance(kind, pl.Datetime):
            changed.append(_microseconds(pl.col(name), _UNITS[kind.time_unit]))
        elif isinstance(kind, pl.Decimal):
            changed.append(_within_digits(pl.col(name), kind.precision or 38))
    return frame.with_columns(changed) if changed else frame


def _within_digits(number: pl.Expr, digits: int) -> pl.Expr:
    most = pl.lit(10**digits - 1, pl.Int128)
    return pl.when(number.to_physical().is_between(-most, most)).then(number)


def _microseconds(moment: pl.Expr, unit: Fraction) -> pl.Expr:
    """Return a moment in microseconds, in UTC; NULL so far away that functions of dates would panic."""
    steps = moment.to_physical().cast(pl.Int64)
    if unit < 1:  # 292 years around 1970 at most
        return (steps // unit.denominator).cast(_MOMENT)
    reach = _FARTHEST // unit.numerator
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
