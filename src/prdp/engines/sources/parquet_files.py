"""Parquet files: read by DuckDB, or batch by batch where it would fail at some values of a type.

Names of folders such as ``year=2025`` are columns. Their names are those of all folders together, in small
letters; a file outside of such a folder has NULL there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from prdp.engines.sources.checks import common_columns, declared_casts, listed_files
from prdp.engines.sources.source_query import LOOSE_DECIMALS, SourceQuery
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted, text_literal

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
"""What DuckDB calls a file's place among those that are read."""


def parquet_query(
    connection: Any, name: str, files: Sequence[str], types: Mapping[str, str] | None
) -> SourceQuery:
    """Return the query for the records of Parquet files; reads no record.

    Args:
        connection: A database of ours.
        name: What batches are called there.
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
            f"the files have a column {_NUMBER!r}, by which DuckDB would tell their folders apart. Rename it."
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
                "and for columns that stand in the names of folders."
            )
