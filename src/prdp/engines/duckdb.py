"""Summaries computed inside DuckDB; no row leaves the database."""

from __future__ import annotations

import csv
import gzip
import threading
from collections.abc import Callable, Mapping
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

from prdp.engines._cells import RECORDS, statement
from prdp.errors import EngineFailure, InvalidRequest
from prdp.expressions.spelling import quoted, text_literal
from prdp.query import Reading
from prdp.schema import ColumnType, Kind, Schema
from prdp.summary import Summary

_WHOLE = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
_KINDS = {
    **dict.fromkeys(("FLOAT", "DOUBLE"), Kind.NUMBER),
    **dict.fromkeys(("VARCHAR", "ENUM"), Kind.TEXT),
    "BOOLEAN": Kind.BOOLEAN,
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Kind.MOMENT),
}

_DESCRIBE = f"DESCRIBE SELECT * FROM {RECORDS}"

Rows = list[tuple[Any, ...]]


class DuckDBEngine:
    """A table that DuckDB reads: a file, a frame in memory, or a relation of the caller's own."""

    name = "duckdb"

    def __init__(self, run: Callable[[str], Rows], *, own_column: bool = True) -> None:
        self._run = run
        self._own_column = own_column
        self._lock = threading.Lock()  # a DuckDB connection serves one query at a time
        self.schema: Schema = _described(run(_DESCRIBE))

    def ensure_there(self) -> None:
        """Refuse a source that is gone or has other columns by now; reads no record."""
        try:
            with self._lock:
                found = _described(self._run(_DESCRIBE))
        except duckdb.Error:
            found = None
        if found != self.schema:
            raise InvalidRequest(
                "the source cannot be read any more, or its columns have changed since it was opened. "
                "Nothing was charged; open it again."
            )

    def summarise(self, reading: Reading) -> Summary:
        """Read every record once and return exact totals per cell."""
        cells = statement(reading, self.schema, own_column=self._own_column)
        try:
            with self._lock:
                rows = self._run(cells.sql)
        except duckdb.Error:
            raise EngineFailure from None
        return cells.summary(rows)


def open_source(source: object, types: Mapping[str, str] | None, *, own_column: bool = True) -> DuckDBEngine:
    """Open a path or glob of Parquet or CSV files, a relation, or a frame; reads no record."""
    try:
        run = _opened(source, types)
        return DuckDBEngine(run, own_column=own_column)
    except (duckdb.Error, OSError) as error:
        first_line = str(error).partition("\n")[0]
        raise InvalidRequest(f"the source cannot be opened: {first_line}") from None


def _opened(source: object, types: Mapping[str, str] | None) -> Callable[[str], Rows]:
    if isinstance(source, duckdb.DuckDBPyRelation):
        relation = source
        return lambda sql: _fetched(relation.query(RECORDS, sql))
    connection = duckdb.connect(
        config={"python_enable_replacements": "false", "preserve_insertion_order": "false"}
    )
    if isinstance(source, str | Path):
        path = str(source)
        if "://" in path:
            raise InvalidRequest(
                f"{path!r} is not a local file. Open it with DuckDB and give prdp.open the relation."
            )
        connection.execute(f"CREATE VIEW {RECORDS} AS {_file_sql(str(Path(path).expanduser()), types)}")
    else:
        connection.execute("SET pandas_analyze_sample = 0")  # an object column's type is declared
        name = RECORDS if not types else "prdp_raw"
        _register(connection, name, source)
        if types:
            columns = [row[0] for row in connection.sql(f"DESCRIBE {name}").fetchall()]
            cast = _cast_sql(columns, types, declared_only=False)
            connection.execute(f"CREATE VIEW {RECORDS} AS SELECT {cast} FROM {name}")
    return lambda sql: connection.execute(sql).fetchall()


def _fetched(result: duckdb.DuckDBPyRelation | None) -> Rows:
    return result.fetchall() if result is not None else []


def _register(connection: duckdb.DuckDBPyConnection, name: str, source: object) -> None:
    if isinstance(source, dict):
        _refuse_unless_columns(source)
    try:
        connection.register(name, source)
    except (duckdb.Error, TypeError, ImportError):
        kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
        if kind.startswith("polars.") and find_spec("pyarrow") is None:
            raise InvalidRequest("a Polars frame needs pyarrow: pip install 'prdp[polars]'.") from None
        raise InvalidRequest(
            f"prdp.open cannot read this {kind}. Give a path or a glob of Parquet or CSV files, a DuckDB "
            "relation, an Arrow table, a pandas or Polars frame, or a dict of NumPy arrays."
        ) from None


def _refuse_unless_columns(source: dict[object, object]) -> None:
    """Refuse a dict that is no table of NumPy columns, naming the column at fault."""
    lengths = set()
    for name, column in source.items():
        shape = getattr(column, "shape", None)
        if not isinstance(name, str) or not isinstance(shape, tuple) or len(shape) != 1:
            raise InvalidRequest(
                f"the column {name!r} is no one-dimensional NumPy array but a {type(column).__name__}. "
                "Write numpy.asarray(...) around a list."
            )
        lengths.add(shape[0])
    if len(lengths) != 1:
        raise InvalidRequest("a dict of NumPy arrays needs one column or more, all of one length.")


def _file_sql(path: str, types: Mapping[str, str] | None) -> str:
    files = sorted(glob(path, recursive=True)) if any(mark in path for mark in "*?[") else [path]
    files = [file for file in files if Path(file).is_file()]
    if not files:
        found = "a folder" if Path(path).is_dir() else "no file"
        raise InvalidRequest(f"{path!r} is {found}. Write a path, or a glob such as 'accounts/*.parquet'.")
    if all(file.endswith((".parquet", ".pq")) for file in files):
        if types:
            raise InvalidRequest("types= is for CSV and for frames: a Parquet file states its own.")
        return f"SELECT * FROM read_parquet([{', '.join(map(text_literal, files))}])"
    if all(file.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")) for file in files):
        return _csv_sql(files, types)
    raise InvalidRequest(f"{path!r} is neither Parquet (.parquet) nor CSV (.csv, .tsv, also .gz).")


def _csv_sql(files: list[str], types: Mapping[str, str] | None) -> str:
    """Read text only, then cast what the caller declared: what does not fit becomes NULL.

    A line with too few or too many fields is no record.
    """
    delimiter = "\t" if ".tsv" in Path(files[0]).name else ","
    header = _header(files[0], delimiter)
    if not types:
        raise InvalidRequest(
            "a CSV file has no types, and guessing them from its rows would let the rows decide "
            "what is an error. Declare them: types={"
            f"{header[0]!r}: 'BIGINT', ...}}. The columns are "
            f"{', '.join(header)}."
        )
    unknown = sorted(set(types) - set(header))
    if unknown:
        raise InvalidRequest(f"types= names {unknown[0]!r}, but the columns are {', '.join(header)}.")
    names = ", ".join(f"{text_literal(column)}: 'VARCHAR'" for column in header)
    source = (
        f"read_csv([{', '.join(map(text_literal, files))}], columns = {{{names}}}, header = true, "
        f"delim = {text_literal(delimiter)}, quote = '\"', escape = '\"', auto_detect = false, "
        "ignore_errors = true)"
    )
    return f"SELECT {_cast_sql(header, types, declared_only=True)} FROM {source}"


def _header(file: str, delimiter: str) -> list[str]:
    opener = gzip.open if file.endswith(".gz") else open
    with opener(file, "rt", encoding="utf-8-sig", newline="") as lines:
        header = next(csv.reader(lines, delimiter=delimiter), [])
    if not header:
        raise InvalidRequest(f"{file!r} has no header line: its first line must name the columns.")
    return header


def _cast_sql(columns: list[str], types: Mapping[str, str], *, declared_only: bool) -> str:
    for name, native in types.items():
        if name not in columns:
            raise InvalidRequest(f"types= names {name!r}, but the columns are {', '.join(columns)}.")
        if not isinstance(native, str) or _kind(native.upper()).kind is Kind.OTHER:
            raise InvalidRequest(
                f"types[{name!r}] = {native!r} is not a type that prdp reads. Write BIGINT, DOUBLE, "
                "DECIMAL(18,2), VARCHAR, BOOLEAN, DATE or TIMESTAMP."
            )
    # The CASE keeps DuckDB from moving the cast into its CSV reader, where what does not fit would
    # drop the whole line.
    casts = [
        f"CASE WHEN {quoted(column)} IS NOT NULL THEN TRY_CAST({quoted(column)} AS {types[column]}) END "
        f"AS {quoted(column)}"
        if column in types
        else quoted(column)
        for column in columns
        if column in types or not declared_only
    ]
    return ", ".join(casts)


def _described(rows: Rows) -> Schema:
    return {row[0]: _kind(str(row[1])) for row in rows}


def _kind(native: str) -> ColumnType:
    if native.startswith("ENUM("):
        native = "ENUM"  # its list may have been made from the records
    if native in _WHOLE:
        return ColumnType(Kind.NUMBER, integer=True, native=native)
    if native.startswith("DECIMAL("):
        return ColumnType(Kind.NUMBER, native=native)
    return ColumnType(_KINDS.get(native, Kind.OTHER), native=native)
