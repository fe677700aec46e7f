"""Tell by a source's form how a database of ours reads it; reads no record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from prdp.engines.duckdb.database import frame_query
from prdp.engines.sources import csv, database_files, json_lines
from prdp.engines.sources.arrow_files import parquet_query
from prdp.engines.sources.checks import local_files
from prdp.engines.sources.database_files import DatabaseTable, is_sqlite
from prdp.engines.sources.frames import required_columns, table_with_far_times
from prdp.engines.sources.lakes import is_delta, lake_folder
from prdp.engines.sources.source_query import SourceQuery
from prdp.errors import InvalidRequest

_ARROW = (".feather", ".arrow", ".ipc")
_PARQUET = (".parquet", ".pq")
FILE_ENDINGS = (*_PARQUET, *csv.ENDINGS, *json_lines.ENDINGS, *_ARROW)
"""How files end that are read as they are, without a table's name."""


def source_query(
    connection: Any,
    name: str,
    source: object,
    types: Mapping[str, str] | None,
    *,
    rows_are_records: bool = False,
) -> SourceQuery:
    """Return how a database reads a source.

    Args:
        connection: A database of ours.
        name: What a frame, a file or batches are called there.
        source: The source; a table of a database's file is a ``DatabaseTable``.
        types: SQL types by column.
        rows_are_records: The caller's word for a view.
    """
    if isinstance(source, DatabaseTable):
        return _table_query(connection, name, source, types, rows_are_records=rows_are_records)
    if isinstance(source, str | Path) and lake_folder(Path(source)):
        return _lake_query(connection, name, Path(source).expanduser(), types)
    if isinstance(source, str | Path | list | tuple):
        return _files_query(connection, name, local_files(source), types)
    return _object_query(connection, name, source, types)


def _files_query(
    connection: Any, name: str, files: list[str], types: Mapping[str, str] | None
) -> SourceQuery:
    if all(file.endswith(_PARQUET) for file in files):
        return replace(parquet_query(connection, name, files, types), read_once=True)
    if all(file.endswith(csv.ENDINGS) for file in files):
        return SourceQuery(csv.csv_sql(files, types), read_once=True, files=tuple(files))
    if all(file.endswith(json_lines.ENDINGS) for file in files):
        return SourceQuery(json_lines.json_sql(files, types), read_once=True, files=tuple(files))
    if all(file.endswith(_ARROW) for file in files):
        _refuse_without("pyarrow", "arrow", files[0])
        from prdp.engines.sources.arrow_files import ArrowFiles  # noqa: PLC0415
        from prdp.engines.sources.batches import batch_query  # noqa: PLC0415

        with _words_of_libraries("the Arrow files"):
            return batch_query(connection, name, ArrowFiles(files), types, files=files)
    raise _unknown_ending(files)


def _unknown_ending(files: list[str]) -> InvalidRequest:
    odd = next((file for file in files if not file.endswith(FILE_ENDINGS)), None)
    if odd is None:
        return InvalidRequest("the files are of several formats: open them one by one.")
    if odd.endswith((".json", ".json.gz")):
        return InvalidRequest(
            f"{odd!r} is JSON, which is read with one object a line and no comma between: name it .jsonl. "
            "(jq -c '.[]' turns a list into lines.)"
        )
    if odd.endswith(database_files.ENDINGS):
        return InvalidRequest(f"{odd!r} is a database: open it alone, with table='accounts'.")
    return InvalidRequest(
        f"{odd!r} is neither Parquet (.parquet), CSV (.csv, .tsv), JSON lines (.jsonl), Arrow (.feather, "
        ".arrow) nor a database (.duckdb, .sqlite)."
    )


def _table_query(
    connection: Any,
    name: str,
    given: DatabaseTable,
    types: Mapping[str, str] | None,
    *,
    rows_are_records: bool,
) -> SourceQuery:
    if not given.file.endswith(database_files.DUCKDB_ENDINGS) and is_sqlite(given.file):
        _refuse_without("pyarrow", "arrow", given.file)
        from prdp.engines.sources.sqlite import sqlite_query  # noqa: PLC0415

        with _words_of_libraries(f"the table of {given.file!r}"):
            return sqlite_query(connection, name, given, types, rows_are_records=rows_are_records)
    if given.file.endswith(database_files.SQLITE_ENDINGS):
        raise InvalidRequest(f"{given.file!r} is no SQLite database.")
    if types:
        raise InvalidRequest("types= is for files and frames without types: a DuckDB table states its own.")
    from prdp.engines.sources.duckdb_files import duckdb_file_query  # noqa: PLC0415

    return duckdb_file_query(connection, name, given, rows_are_records=rows_are_records)


def _lake_query(connection: Any, name: str, given: object, types: Mapping[str, str] | None) -> SourceQuery:
    """Return the query for a Delta or Iceberg table: its folder, or the library's own object."""
    _refuse_without("pyarrow", "arrow", "this table")
    from prdp.engines.sources.batches import batch_query  # noqa: PLC0415

    if _is(given, "deltalake", "DeltaTable") or (isinstance(given, Path) and is_delta(given)):
        _refuse_without("deltalake", "delta", "a Delta table")
        from prdp.engines.sources.lakes import DeltaRows  # noqa: PLC0415

        with _words_of_libraries("the Delta table"):
            return batch_query(connection, name, DeltaRows(given), types)
    _refuse_without("pyiceberg", "iceberg", "an Iceberg table")
    from prdp.engines.sources.lakes import IcebergRows  # noqa: PLC0415

    with _words_of_libraries("the Iceberg table"):
        return batch_query(connection, name, IcebergRows(given), types)


def _object_query(connection: Any, name: str, source: object, types: Mapping[str, str] | None) -> SourceQuery:
    if _is(source, "deltalake", "DeltaTable") or _is(source, "pyiceberg", "Table"):
        return _lake_query(connection, name, source, types)
    if _is(source, "pyarrow", "Dataset"):
        from prdp.engines.sources.arrow_files import ArrowDataset  # noqa: PLC0415
        from prdp.engines.sources.batches import batch_query  # noqa: PLC0415

        with _words_of_libraries("the data set"):
            dataset = ArrowDataset(source)
            return batch_query(connection, name, dataset, types, dataset.unreadable, files=dataset.files)
    if (table := table_with_far_times(source)) is not None:
        from prdp.engines.sources.arrow_files import ArrowTable  # noqa: PLC0415
        from prdp.engines.sources.batches import batch_query  # noqa: PLC0415

        return batch_query(connection, name, ArrowTable(table), types)
    sql, objects = frame_query(connection, name, source, types)
    required = required_columns(source) - set(types or {})
    return SourceQuery(sql, dict.fromkeys(objects, "Python objects"), required=required)


@contextmanager
def _words_of_libraries(what: str) -> Iterator[None]:
    """Refuse what a library cannot open, without its words: they may speak of a record."""
    try:
        yield
    except InvalidRequest:
        raise
    except Exception as error:  # libraries that read files have errors of many kinds
        raise InvalidRequest(f"{what} cannot be opened: {type(error).__name__}.") from None


def _is(source: object, library: str, kind: str) -> bool:
    """Say whether something is a library's object, without loading the library."""
    return any(
        (own.__module__.partition(".")[0], own.__name__) == (library, kind) for own in type(source).mro()
    )


def _refuse_without(library: str, extra: str, what: str) -> None:
    if find_spec(library) is None:
        raise InvalidRequest(f"to read {what}, prdp needs {library}: pip install 'prdp[{extra}]'.")
