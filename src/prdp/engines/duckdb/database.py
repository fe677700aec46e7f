"""A DuckDB database of our own: what it reads as tables, and statements that fail with one fixed text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, Protocol, TypeVar

import duckdb
from numpy.typing import NDArray

from prdp.engines.database import Rows
from prdp.engines.duckdb.column_types import items_within_digits
from prdp.engines.progress import listened_to, read_or_fail, watched
from prdp.engines.sources.checks import column_type, declared_casts, frame_columns
from prdp.engines.sources.frames import readable, types_of
from prdp.engines.sources.source_query import unchanged
from prdp.errors import InvalidRequest
from prdp.schema import Kind, Schema

KEPT = {
    "unused_columns": "which columns are read, by their names",
    "expression_rewriter": "expressions, by their own form and constants",
    "common_subexpressions": "an expression that is written twice is computed once",
    "common_aggregate": "an aggregate that is written twice is computed once",
    "column_lifetime": "columns are dropped after their last use",
    "duplicate_groups": "a key that is written twice is grouped by once",
    "cte_inlining": "a query with a name is written out where it is used; else describing it would read it",
    "in_clause": "long lists of constants become a hash table",
}
"""The optimisers that stay on, and what they go by."""


def left_off(optimisers: Iterable[str], also: str = "") -> str:
    """Return the setting ``disabled_optimizers`` that leaves on what is kept, less what is off already.

    >>> left_off(["unused_columns", "statistics_propagation", "in_clause"], also="in_clause")
    'in_clause,statistics_propagation'
    """
    off = set(optimisers) - set(KEPT) | set(filter(None, also.split(",")))
    return ",".join(sorted(off))


Read = TypeVar("Read")
Arrays = dict[str, NDArray[Any]]


class Run(Protocol):
    """Runs a statement and fetches what it gives."""

    def __call__(self, sql: str, *, as_arrays: bool = False) -> Any:
        """Return rows, or columns as NumPy arrays."""


STOPPED = (duckdb.InterruptException,)
"""Exceptions that DuckDB raises for a statement that was stopped."""


def connected() -> duckdb.DuckDBPyConnection:
    """Return a database of our own: no variable of the caller's is a table, no statistics are looked at.

    Nor does it fetch or load an extension because of what it reads, nor keep parts of files, which may be
    replaced. A time without a zone is one in UTC.
    """
    connection = duckdb.connect(
        config={
            "python_enable_replacements": "false",
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "enable_external_file_cache": "false",
        }
    )
    with suppress(duckdb.Error):  # a build without time zones has no other
        connection.execute("SET TimeZone = 'UTC'")
    optimisers = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    connection.execute(f"SET disabled_optimizers = '{left_off(name for (name,) in optimisers)}'")
    return connection


def create_view(connection: duckdb.DuckDBPyConnection, name: str, sql: str) -> None:
    """Create the view that statements read the records of a query by; reads no record."""
    described = connection.execute(f"DESCRIBE {sql}").fetchall()
    items = items_within_digits({str(row[0]): str(row[1]) for row in described})
    connection.execute(f"CREATE VIEW {name} AS SELECT {items} FROM ({sql})")


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
    """Return the runner of a connection's statements."""

    def run(sql: str, *, as_arrays: bool = False) -> Any:
        if listened_to():
            connection.execute(_MEASURED)
        with watched(connection.query_progress):
            result = connection.execute(sql)
            return result.fetchnumpy() if as_arrays else result.fetchall()

    return run


def guarded(run: Callable[[], Read], lock: threading.Lock, files: Sequence[str] = ()) -> Read:
    """Return the rows read; any error, also a file that changes, fails with one fixed text."""

    def read() -> Read:
        with unchanged(files):
            return run()

    return read_or_fail(STOPPED, read, lock)


def schema_of(
    described: Rows, unreadable: Mapping[str, str], required: Collection[str] = frozenset()
) -> Schema:
    """Return the columns that DESCRIBE gave; those that may hold anything are not read.

    A decimal may be NULL whatever its source declares: one of more digits than its type has is.
    """
    schema = {str(row[0]): column_type(str(row[1])) for row in described}
    known = {name for name in required if not schema[name].native.startswith("DECIMAL(")}
    schema |= {name: kind.never_null() for name, kind in schema.items() if name in known}
    for name, held in unreadable.items():
        schema[name] = replace(schema[name], kind=Kind.OTHER, integer=False, native=held)
    return schema


def frame_query(
    connection: duckdb.DuckDBPyConnection, frame: str, source: object, types: Mapping[str, str] | None
) -> tuple[str, frozenset[str]]:
    """Return the query for a frame's records, and the columns that may hold anything."""
    columns = frame_columns(source)
    casts = declared_casts(columns, types or {})
    if not _registered(connection, frame, source):
        raise InvalidRequest(
            f"this frame has a column that cannot be read. The columns are {types_of(source)}. Convert it to "
            "whole numbers, floats, texts, dates or true and false, or drop it."
        )
    objects = frozenset(name for name, anything in columns.items() if anything)
    return f"SELECT {casts} FROM {frame}", objects


def _registered(connection: duckdb.DuckDBPyConnection, frame: str, source: object) -> bool:
    """Return whether the connection takes a frame; what goes wrong may speak of a record."""
    try:
        connection.execute("SET pandas_analyze_sample = 0")  # types are not guessed from rows
        connection.register(frame, readable(source))
        connection.execute(f"DESCRIBE SELECT * FROM {frame}").fetchall()
    except Exception:
        return False
    return True
