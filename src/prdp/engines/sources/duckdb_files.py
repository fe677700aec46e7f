"""A table in a DuckDB file: attached for as long as a statement runs, and never written to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from prdp.engines.duckdb.database import connected
from prdp.engines.duckdb.origins import query_origins
from prdp.engines.origins import Origins
from prdp.engines.sources.database_files import DatabaseTable, known_table
from prdp.engines.sources.relations import Relation
from prdp.engines.sources.source_query import SourceQuery
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted, text_literal

_FILES = threading.RLock()
"""One statement at a time: what lets go of a file lets go of the whole process's lock on it."""

_TABLES = (
    "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = {0} AND NOT internal "
    "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = {0} AND NOT internal "
    "ORDER BY ALL"
)
_REQUIRED = (
    "SELECT column_name FROM duckdb_columns() WHERE database_name = ? AND schema_name = ? AND table_name = ? "
    "AND NOT is_nullable"
)


def duckdb_file_query(
    connection: Any, name: str, given: DatabaseTable, *, rows_are_records: bool
) -> SourceQuery:
    """Return the query for the records of a table or a view in a DuckDB file; reads no record.

    Args:
        connection: A database of ours.
        name: The name of the file there.
        given: The file and the table.
        rows_are_records: The caller's word for a view that is more than a filter.
    """

    def attached() -> AbstractContextManager[None]:
        return _attached(connection, name, given.file)

    with attached():
        tables = connection.execute(_TABLES.format(text_literal(name))).fetchall()
        schema, table = known_table(given, tables)
        found = connection.execute(_REQUIRED, [name, schema, table]).fetchall()
    sql = f"SELECT * FROM {name}.{quoted(schema)}.{quoted(table)}"

    def made() -> str:
        with attached():
            relation = Relation(connection.sql(sql), f"{name}_relation")
            return relation.source(rows_are_records=rows_are_records)

    required = frozenset(column for (column,) in found)
    return SourceQuery(sql, reached=attached, made=made, required=required, files=(given.file,))


def duckdb_file_origins(given: DatabaseTable) -> Origins:
    """Return the origins of a table or a view in a DuckDB file; reads no record."""
    connection, name = connected(), "prdp_given"
    with _attached(connection, name, given.file):
        tables = connection.execute(_TABLES.format(text_literal(name))).fetchall()
        schema, table = known_table(given, tables)
        text = f"SELECT * FROM {name}.{quoted(schema)}.{quoted(table)}"
        return query_origins(lambda sql: connection.execute(sql).fetchall(), text)


@contextmanager
def _attached(connection: Any, name: str, file: str) -> Iterator[None]:
    """Attach a file for as long as this lasts."""
    with _FILES:
        _attach(connection, name, file)
        try:
            yield
        finally:
            connection.execute(f"DETACH {name}").fetchall()


def _attach(connection: Any, name: str, file: str) -> None:
    words = ""
    try:
        connection.execute(f"ATTACH {text_literal(file)} AS {name} (READ_ONLY, TYPE duckdb)").fetchall()
    except Exception as error:
        words = str(error).partition("\n")[0]
        if "lock" in words or "already attached" in words:
            raise InvalidRequest(
                f"{file!r} is open elsewhere, to be written to. Close it there; or, if that is in this "
                "process, give prdp.open a relation of that connection: connection.table('accounts')."
            ) from None
        if "newer version" in words or "different version" in words:
            raise InvalidRequest(f"{file!r} was written by another version of DuckDB: {words}") from None
        raise
