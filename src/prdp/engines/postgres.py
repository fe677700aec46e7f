"""Summaries computed inside PostgreSQL; no row leaves the database, but for a caller's mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prdp.engines._cells import Arrays
from prdp.engines._opened import ensure_same
from prdp.engines._postgres_arrow import as_arrow
from prdp.engines._postgres_catalog import PostgresTable, relation
from prdp.engines._postgres_session import PostgresDatabase, Rows, in_postgres
from prdp.engines._statement_engine import StatementEngine
from prdp.engines.dialects.translate import with_sources
from prdp.errors import InvalidRequest
from prdp.safety.database_address import is_database
from prdp.schema import Schema

_RECORDS = "prdp_records"


class PostgresEngine(StatementEngine):
    """A table of a PostgreSQL database.

    Attributes:
        schema: The table's columns.
        source: Of a view, its query; else nothing.
    """

    name = "postgres"
    _records = _RECORDS

    def __init__(self, database: PostgresDatabase, table: str, *, rows_are_records: bool = False) -> None:
        """Look a table up in the catalog; reads no record."""
        super().__init__()
        self._database = database
        self._table = table
        self._rows_are_records = rows_are_records
        self._relation = self._described()
        self.schema: Schema = self._relation.schema
        self.source = self._relation.source

    def __repr__(self) -> str:
        return f"<PostgresEngine of {self._table!r} in {self._database.address.shown}>"

    @property
    def place(self) -> str:
        """Which table of which database it is, without user and password."""
        return f"{'.'.join(self._relation.place)} of {self._database.address.shown}"

    def ensure_there(self) -> None:
        """Refuse a table that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        ensure_same(self._described, self._relation)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        return self._database.columns(sql, self._source(sql))

    def rows_of(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return self._database.rows(sql, self._source(sql))

    def arrow_of(self, sql: str) -> Any:
        """Run a statement and return an Arrow table."""
        return as_arrow(self._database.result(sql, self._source(sql)), self.schema)

    def written(self, sql: str) -> str:
        """Return a statement as PostgreSQL runs it."""
        return with_sources(self._source(sql), in_postgres(sql).sql)

    def _source(self, sql: str) -> str:
        return self._relation.named(_RECORDS, sql)

    def _described(self) -> PostgresTable:
        shown = self._database.address.shown
        return self._database.asked(
            lambda ask: relation(ask, shown, self._table, rows_are_records=self._rows_are_records)
        )


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> PostgresEngine:
    """Open a table of a database, such as ``postgresql://ana@db.example/bank``; reads no record."""
    if not isinstance(source, str) or not is_database(source):
        raise InvalidRequest(
            "engine='postgres' reads a table of a PostgreSQL database: give its address, such as "
            "'postgresql://user@host/database', and table='accounts'."
        )
    database = PostgresDatabase.at(source)
    if types:
        raise InvalidRequest("types= is for CSV and for frames: a table of a database states its own.")
    if table is None:
        raise InvalidRequest(
            f"which table of {database.address.shown}? Write table='accounts', or 'schema.accounts'."
        )
    return PostgresEngine(database, table, rows_are_records=rows_are_records)
