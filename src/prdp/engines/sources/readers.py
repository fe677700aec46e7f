"""Choose a reader by the form of a source, Parquet files among them; reads no record.

Names of folders such as ``year=2025`` are columns. Their names are those of all folders together, in small
letters; a file outside of such a folder has NULL there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from prdp.engines.duckdb.database import frame_query
from prdp.engines.sources import database_files, text_files
from prdp.engines.sources.checks import (
    common_columns,
    declared_casts,
    is_delta,
    lake_folder,
    listed_files,
    local_files,
)
from prdp.engines.sources.database_files import DatabaseTable, is_sqlite
from prdp.engines.sources.frames import required_columns, table_with_far_times
from prdp.engines.sources.source_query import LOOSE_DECIMALS, SourceQuery
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted, text_literal
from prdp.schema import PYTHON_OBJECTS

_REQUIRED = (
    "SELECT name FROM parquet_schema([{}]) GROUP BY name HAVING bool_and(repetition_type = 'REQUIRED')"
)
_FACTS = "file_name, name, num_children, duckdb_type"
_FAR_TIMES = (
    "SELECT name FROM parquet_schema([{}]) WHERE type = 'INT64' AND (converted_type = 'TIMESTAMP_MILLIS' "
    "OR CAST(logical_type AS VARCHAR) SIMILAR TO 'TimestampType.*MILLIS=Milli.*') ORDER BY ALL LIMIT 1"
)
_LOOSE = (
    "SELECT DISTINCT name FROM parquet_schema([{}]) WHERE duckdb_type LIKE 'DECIMAL%' AND "
    "(type = 'BYTE_ARRAY' OR type = 'FIXED_LEN_BYTE_ARRAY' AND CAST(type_length AS BIGINT) > "
    "CASE WHEN precision <= 4 THEN 2 WHEN precision <= 9 THEN 4 WHEN precision <= 18 THEN 8 ELSE 16 END)"
)
"""Decimals whose bytes may be more than DuckDB has room for, where one such value fails every query."""

_FOLDER = re.compile(r"([^=]+)=(.*)")
_NULL = "__HIVE_DEFAULT_PARTITION__"
_NUMBER = "file_index"
"""DuckDB's name of a file's place among those that are read."""


def parquet_query(
    connection: Any, name: str, files: Sequence[str], types: Mapping[str, str] | None
) -> SourceQuery:
    """Return the query for the records of Parquet files; reads no record.

    Args:
        connection: A database of ours.
        name: The name of batches there.
        files: The files.
        types: SQL types of columns that are names of folders.
    """
    listed = listed_files(files)
    inside = common_columns(connection.execute(f"SELECT {_FACTS} FROM parquet_schema([{listed}])").fetchall())
    folders = folder_columns(files, inside)
    _refuse_types_of_files(inside, types or {})
    loose = {name for (name,) in connection.execute(_LOOSE.format(listed)).fetchall()} & set(inside)
    unreadable = dict.fromkeys(sorted(loose), LOOSE_DECIMALS)
    if far := connection.execute(_FAR_TIMES.format(listed)).fetchall():
        _refuse_without_arrow(far[0][0])
        from prdp.engines.sources.arrow_files import ParquetFiles  # noqa: PLC0415
        from prdp.engines.sources.batches import batch_query  # noqa: PLC0415

        return batch_query(connection, name, ParquetFiles(files, folders), types, unreadable, files=files)
    if folders and _NUMBER in map(str.lower, inside):
        raise InvalidRequest(
            f"the files have a column {_NUMBER!r}, by which DuckDB would distinguish their folders. Rename "
            "it."
        )
    required = connection.execute(_REQUIRED.format(listed)).fetchall()
    own = ", ".join(map(quoted, inside))
    values = "".join(f", {_by_file(found)} AS {quoted(column)}" for column, found in folders.items())
    read = f"read_parquet([{listed}], hive_partitioning = false, utf8_validation = 'replace')"
    casts = declared_casts(dict.fromkeys([*inside, *folders], False), types or {})
    return SourceQuery(
        f"SELECT {casts} FROM (SELECT {own}{values} FROM {read})",
        unreadable,
        required=frozenset(name for (name,) in required) & set(inside),
        files=tuple(files),
    )


def _refuse_without_arrow(column: str) -> None:
    """Refuse times in milliseconds, where DuckDB fails at one that it has no room for, without pyarrow."""
    if find_spec("pyarrow") is None:
        raise InvalidRequest(
            f"the column {column!r} holds times in milliseconds, some of which DuckDB cannot read. To read "
            "them, prdp needs pyarrow: pip install 'prdp[arrow]'. Or write them in microseconds."
        )


def folder_columns(files: Sequence[str], inside: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the columns that names of folders are, with each file's value; a column of the files wins.

    >>> folder_columns(["a/year=2024/t.parquet", "a/YEAR=2025/t.parquet", "a/t.parquet"], ["x"])
    {'year': ['2024', '2025', None]}
    """
    found = [_folders(file) for file in files]
    taken = {name.lower() for name in inside}
    names = sorted({name for folders in found for name in folders} - taken)
    return {name: [folders.get(name) for folders in found] for name in names}


def _folders(file: str) -> dict[str, str | None]:
    parts = filter(None, map(_FOLDER.fullmatch, Path(file).parts[:-1]))
    return {part[1].lower(): None if part[2] == _NULL else unquote(part[2]) for part in parts}


def _by_file(values: Sequence[str | None]) -> str:
    """Return the value of the file that a record is in."""
    listed = ", ".join("NULL" if value is None else text_literal(value) for value in values)
    return f"CAST([{listed}] AS VARCHAR[])[CAST({_NUMBER} AS BIGINT) + 1]"


def _refuse_types_of_files(inside: Sequence[str], types: Mapping[str, str]) -> None:
    """Refuse declared types of columns that the files hold.

    A type that is guessed from the folders (``year=2025``) would change with a record that is in a new one:
    theirs are texts, or of declared types.
    """
    for name in types:
        if name in inside:
            raise InvalidRequest(
                f"types= names {name!r}, and a Parquet file states its own types. It is for CSV, for frames, "
                "and for columns in the names of folders."
            )


_ARROW = (".feather", ".arrow", ".ipc")
_PARQUET = (".parquet", ".pq")
FILE_ENDINGS = (*_PARQUET, *text_files.CSV_ENDINGS, *text_files.JSON_ENDINGS, *_ARROW)
"""Suffixes of files that are read without a table's name."""


def source_query(
    connection: Any,
    name: str,
    source: object,
    types: Mapping[str, str] | None,
    *,
    rows_are_records: bool = False,
) -> SourceQuery:
    """Return the query by which a database reads a source.

    Args:
        connection: A database of ours.
        name: The name of a frame, a file or batches there.
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
    if all(file.endswith(text_files.CSV_ENDINGS) for file in files):
        return SourceQuery(text_files.csv_sql(files, types), read_once=True, files=tuple(files))
    if all(file.endswith(text_files.JSON_ENDINGS) for file in files):
        return SourceQuery(text_files.json_sql(files, types), read_once=True, files=tuple(files))
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
    return SourceQuery(sql, dict.fromkeys(objects, PYTHON_OBJECTS), required=required)


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
    """Return whether something is a library's object, without loading the library."""
    return any(
        (own.__module__.partition(".")[0], own.__name__) == (library, kind) for own in type(source).mro()
    )


def _refuse_without(library: str, extra: str, what: str) -> None:
    if find_spec(library) is None:
        raise InvalidRequest(f"to read {what}, prdp needs {library}: pip install 'prdp[{extra}]'.")
