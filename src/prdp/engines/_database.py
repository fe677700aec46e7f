"""A DuckDB database of our own: what it reads as tables, and statements that fail with one fixed text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, Protocol, TypeVar

import duckdb
from numpy.typing import NDArray

from prdp.engines._frames import readable, types_of
from prdp.engines._interrupts import read_or_fail, stoppable
from prdp.engines._optimisers import left_off
from prdp.engines._source_query import SourceQuery
from prdp.engines._sources import (
    column_type,
    common_columns,
    declared_casts,
    frame_columns,
    listed_files,
    partition_casts,
    refuse_hidden,
)
from prdp.engines.progress import listened_to, watched
from prdp.errors import InvalidRequest
from prdp.schema import Kind, Schema

Rows = list[tuple[Any, ...]]
Read = TypeVar("Read")
Arrays = dict[str, NDArray[Any]]


class Run(Protocol):
    """Runs a statement and fetches what it gives."""

    def __call__(self, sql: str, *, as_arrays: bool = False) -> Any:
        """Return rows, or columns as NumPy arrays."""


STOPPED = (duckdb.InterruptException,)
"""What DuckDB raises for a statement that was stopped."""

_PARQUET_REQUIRED = (
    "SELECT name FROM parquet_schema([{}]) GROUP BY name HAVING bool_and(repetition_type = 'REQUIRED')"
)
_PARQUET_FACTS = "file_name, name, num_children, type, converted_type, logical_type, scale, precision"


def connected() -> duckdb.DuckDBPyConnection:
    """Return a database of our own: no variable of the caller's is a table, no statistics are looked at.

    Nor does it fetch or load an extension because of what it reads. A time without a zone is one in UTC.
    """
    connection = duckdb.connect(
        config={
            "python_enable_replacements": "false",
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
    )
    with suppress(duckdb.Error):  # a build without time zones has no other
        connection.execute("SET TimeZone = 'UTC'")
    optimisers = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    connection.execute(f"SET disabled_optimizers = '{left_off(name for (name,) in optimisers)}'")
    return connection


FUNCTIONS = (
    "SELECT lower(function_name), function_type, CAST(parameter_types AS VARCHAR), "
    "coalesce(macro_definition, ''), stability FROM system.main.duckdb_functions()"
)


@cache
def own_functions() -> frozenset[tuple[str, ...]]:
    """Return the functions of a database of ours: name, kind, parameters, definition and stability."""
    return frozenset(connected().execute(FUNCTIONS).fetchall())


_MEASURED = "SET enable_progress_bar = true; SET enable_progress_bar_print = false"
"""Has DuckDB measure how far a statement is, and print nothing."""


def runner(connection: duckdb.DuckDBPyConnection) -> Run:
    """Return what runs a connection's statements."""

    def run(sql: str, *, as_arrays: bool = False) -> Any:
        if listened_to():
            connection.execute(_MEASURED)
        with watched(connection.query_progress):
            result = connection.execute(sql)
            return result.fetchnumpy() if as_arrays else result.fetchall()

    return run


def guarded(run: Callable[[], Read], lock: threading.Lock) -> Read:
    """Return what was read; whatever goes wrong, it fails with one fixed text."""
    return read_or_fail(STOPPED, run, lock)


def found_now(find: Callable[[], object], lock: threading.Lock) -> object:
    """Return what is found of a source, and nothing of one that cannot be read any more."""
    try:
        return stoppable(STOPPED, find, lock)
    except Exception:  # libraries that read files have errors of many kinds
        return None


def schema_of(
    described: Rows, unreadable: Mapping[str, str], required: Collection[str] = frozenset()
) -> Schema:
    """Return the columns that DESCRIBE gave; those that may hold anything are not read."""
    schema = {str(row[0]): column_type(str(row[1])) for row in described}
    schema |= {name: kind.never_null() for name, kind in schema.items() if name in required}
    for name, held in unreadable.items():
        schema[name] = replace(schema[name], kind=Kind.OTHER, integer=False, native=held)
    return schema


def parquet_query(
    connection: duckdb.DuckDBPyConnection, files: list[str], types: Mapping[str, str] | None
) -> SourceQuery:
    """Return the query for the records of Parquet files; reads no record."""
    listed = listed_files(files)
    facts = connection.execute(f"SELECT {_PARQUET_FACTS} FROM parquet_schema([{listed}])").fetchall()
    inside = common_columns(facts)
    refuse_hidden(inside, files)
    options = f"hive_types_autocast = false{_any_bytes(connection)}"
    read = f"SELECT * FROM read_parquet([{listed}], {options})"
    columns = [str(name) for name, *_ in connection.execute(f"DESCRIBE {read}").fetchall()]
    required = connection.execute(_PARQUET_REQUIRED.format(listed)).fetchall()
    return SourceQuery(
        f"SELECT {partition_casts(columns, inside, types or {})} FROM ({read})",
        required=frozenset(name for (name,) in required) & set(inside) - set(types or {}),
    )


def _any_bytes(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the option that reads a text that is no UTF-8 with ? for what is wrong, where DuckDB has one.

    Otherwise one row with such a text makes every statement fail.
    """
    known = connection.execute(
        "SELECT count(*) FROM duckdb_functions() WHERE function_name = 'read_parquet' "
        "AND list_contains(parameters, 'utf8_validation')"
    ).fetchone()
    return ", utf8_validation = 'replace'" if known and known[0] else ""


def frame_query(
    connection: duckdb.DuckDBPyConnection, frame: str, source: object, types: Mapping[str, str] | None
) -> tuple[str, frozenset[str]]:
    """Return the query for a frame's records, and the columns that may hold anything."""
    columns = frame_columns(source)
    casts = declared_casts(columns, types or {})
    if not _registered(connection, frame, source):
        raise InvalidRequest(
            f"this frame has a column that cannot be read. The columns are {types_of(source)}. Convert it to "
            "whole numbers, floats, texts, dates or true and false, or leave it away."
        )
    objects = frozenset(name for name, anything in columns.items() if anything)
    return f"SELECT {casts} FROM {frame}", objects


def _registered(connection: duckdb.DuckDBPyConnection, frame: str, source: object) -> bool:
    """Say whether the connection takes a frame; what goes wrong may speak of a record."""
    try:
        connection.execute("SET pandas_analyze_sample = 0")  # types are not guessed from rows
        connection.register(frame, readable(source))
        connection.execute(f"DESCRIBE SELECT * FROM {frame}").fetchall()
    except Exception:
        return False
    return True
