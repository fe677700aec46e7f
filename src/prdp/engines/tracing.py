"""Trace a source to its origins, whichever engine reads it; by public facts alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from prdp.engines.duckdb.engine import ask_relation
from prdp.engines.duckdb.origins import query_origins
from prdp.engines.origins import Origins, lake_origins, path_origins, untraced
from prdp.engines.sources.checks import LOCAL_FILE, is_address
from prdp.engines.sources.database_files import DUCKDB_ENDINGS, DatabaseTable, in_database, is_sqlite
from prdp.engines.sources.memory_origins import dataset_origins, memory_origins
from prdp.engines.sources.readers import FILE_ENDINGS
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest


def source_origins(source: object, table: str | None = None) -> Origins:
    """Return the origins of a source, or of a column of one.

    Args:
        source: A path, a relation, a frame, an array, or plain values.
        table: Of a database's file, the table's name.
    """
    if is_address(source):
        return untraced("an address")
    given = in_database(source, table) if table is not None else source
    if isinstance(given, DatabaseTable):
        return _file_origins(given)
    if isinstance(source, str | Path) or _are_files(source):
        return path_origins(source)
    return _object_origins(source)


def traced_once(source: object, engine: object, table: str | None) -> Callable[[], Origins]:
    """Return the tracer of an opened table; an engine of a database or a session is asked once, on first use.

    A source of files or frames is traced now, since it may be another one by then.
    """
    if isinstance(engine, SqlEngine) and engine.database.traces:
        return cache(lambda: next(iter((engine.origins or {}).values())))
    found = untraced("an engine of your own") if source is None else source_origins(source, table)
    return lambda: found


def join_origins(tables: Mapping[str, object], engine: SqlEngine) -> Mapping[str, Origins]:
    """Return the origins of the tables of a join, by their names there; of a database's file, by table."""
    found = engine.origins
    if found is not None:
        return found
    return {
        name: source_origins(source, name if _is_database(source) else None)
        for name, source in tables.items()
    }


def _is_database(source: object) -> bool:
    try:
        return isinstance(in_database(source, None), DatabaseTable)
    except InvalidRequest:
        return False


def _are_files(source: object) -> bool:
    """Return whether a list is one of files; it may be one of keys."""
    return (
        isinstance(source, list | tuple)
        and bool(source)
        and all(isinstance(one, str | Path) and str(one).endswith(FILE_ENDINGS) for one in source)
    )


def _file_origins(given: DatabaseTable) -> Origins:
    """Return the origins of a table or a view in a database's file."""
    if not given.file.endswith(DUCKDB_ENDINGS) and is_sqlite(given.file):
        from prdp.engines.sources.sqlite import sqlite_origins  # noqa: PLC0415  (needs an extra)

        return sqlite_origins(given)
    from prdp.engines.sources.duckdb_files import duckdb_file_origins  # noqa: PLC0415

    return duckdb_file_origins(given)


def _object_origins(source: Any) -> Origins:  # noqa: PLR0911  (one return a kind of source)
    """Return the origins of an object, by its package and kind."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).mro()}
    packages = {package for package, _ in kinds}
    if type(source).__name__ == "DuckDBPyRelation":
        return query_origins(lambda sql: ask_relation(source, sql), str(source.sql_query()))
    if ("pyspark", "DataFrame") in kinds and ("pyspark", "Frame") not in kinds:
        from prdp.engines.spark.origins import frame_origins  # noqa: PLC0415

        return frame_origins(source)
    if ("polars", "LazyFrame") in kinds:
        from prdp.engines.polars.plans import lazy_origins  # noqa: PLC0415

        return lazy_origins(source)
    if ("pyarrow", "Dataset") in kinds:
        return dataset_origins(source)
    if packages & {"deltalake", "pyiceberg"}:
        return _lake_table_origins(source)
    if isinstance(source, list | tuple | range | set | frozenset):
        return Origins()
    same = Origins({("object", id(source)): "the same object"}, kept=(source,))
    return Origins.union([same, memory_origins(source)])


def _lake_table_origins(source: Any) -> Origins:
    """Return the origins of a Delta or Iceberg table that its library has opened."""
    location = getattr(source, "table_uri", None) or getattr(source, "location", "")
    folder = Path(LOCAL_FILE.sub("", str(location() if callable(location) else location)))
    return lake_origins(folder) if folder.is_dir() else untraced("a table whose folder is not local")
