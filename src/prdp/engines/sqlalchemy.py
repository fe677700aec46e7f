"""Summaries computed inside databases that SQLAlchemy connects to, once they have passed the check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from prdp.engines._cells import Arrays
from prdp.engines._engine_checks import has_passed
from prdp.engines._mariadb import MARIADB_SERVER
from prdp.engines._opened import ensure_same
from prdp.engines._sql_backend import SqlBackend, SqlTable
from prdp.engines._sql_database import SqlDatabase
from prdp.engines._statement_engine import Rows, StatementEngine
from prdp.engines.dialects.translate import Translated, translated, with_sources
from prdp.errors import InvalidRequest

_RECORDS = "prdp_records"
_LONGEST = 4_000_000
BACKENDS = {"mariadb": MARIADB_SERVER, "mysql": MARIADB_SERVER}
"""By the word that an address begins with."""

WITHOUT_SQL = {"snowflake": "Snowflake", "bigquery": "BigQuery", "trino": "Trino"}
"""What people ask for, and prdp has never been run on; it has no SQL for them, and guesses none."""


class SqlEngine(StatementEngine):
    """A table of a database that SQLAlchemy connects to.

    Attributes:
        schema: The table's columns.
        source: Of a view, its query; else nothing.
    """

    name = "sqlalchemy"
    _records = _RECORDS

    def __init__(self, database: SqlDatabase, table: str, *, rows_are_records: bool = False) -> None:
        """Look a table up in the catalog; reads no record."""
        super().__init__()
        self._database = database
        self._asked = (table, rows_are_records)
        self._table = self._found()
        self.schema = self._table.schema
        self.source = self._table.source

    def __repr__(self) -> str:
        return f"<SqlEngine of {self._asked[0]!r} in {self._database.shown}>"

    @property
    def place(self) -> str:
        """Which table of which database is read, without user and password."""
        return f"{self._table.path} of {self._database.shown}"

    def ensure_there(self) -> None:
        """Refuse a table that is gone or has other columns by now; reads no record."""
        self.refuse_elsewhere()
        ensure_same(self._found, self._table)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        return self._database.read(self.written(sql)).arrays(self._said(sql).wide)

    def rows_of(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return self._database.read(self.written(sql)).plain()

    def arrow_of(self, sql: str) -> Any:
        """Run a statement and return an Arrow table."""
        return self._database.read(self.written(sql)).arrow(self.schema)

    def written(self, sql: str) -> str:
        """Return a statement as the database runs it."""
        statement = self._said(sql).sql
        return with_sources(self._database.backend.source_of(self._table, _RECORDS, statement), statement)

    def _said(self, sql: str) -> Translated:
        return _in_dialect(sql, self._database.backend)

    def _found(self) -> SqlTable:
        table, rows_are_records = self._asked
        backend, shown = self._database.backend, self._database.shown
        return self._database.asked(lambda ask: backend.find(ask, shown, table, rows_are_records))


def _in_dialect(sql: str, backend: SqlBackend) -> Translated:
    """Return one of prdp's statements as a database runs it."""
    said = translated(sql, backend.dialect)
    if len(said.sql) > _LONGEST:
        raise InvalidRequest(
            f"this question is too long in the SQL of {backend.title}: shorten its expressions, or let the "
            "database compute a part of them as a column."
        )
    return said


def backend_of(address: str) -> SqlBackend:
    """Return what kind of database an address is of.

    Raises:
        InvalidRequest: prdp has no SQL for it.
    """
    word = re.split(r"[+:]", address, maxsplit=1)[0].lower()
    if word in BACKENDS:
        return BACKENDS[word]
    raise InvalidRequest(
        f"prdp has no SQL for {WITHOUT_SQL.get(word, 'this database')}: it was never run by us on the real "
        "thing, and nothing is guessed. Read a copy as Parquet files, or through Spark: "
        "prdp.open(spark.read....load(), ...)."
    )


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> SqlEngine:
    """Open a table of a database, such as ``mariadb://ana@db.example/bank``; reads no record."""
    if not isinstance(source, str):
        raise InvalidRequest(
            "engine='sqlalchemy' reads a table of a database: give its address, such as "
            "'mariadb://user@host/database', and table='accounts'."
        )
    database = SqlDatabase.at(source, backend_of(source))
    if types:
        raise InvalidRequest("types= is for CSV and for frames: a table of a database states its own.")
    if table is None:
        raise InvalidRequest(f"which table of {database.shown}? Write table='accounts'.")
    _refuse_unless_checked(database)
    return SqlEngine(database, table, rows_are_records=rows_are_records)


def _refuse_unless_checked(database: SqlDatabase) -> None:
    backend, version = database.backend, database.version()
    if has_passed(backend.name, version):
        return
    never = "Nor was it ever run by us on the real thing"
    raise InvalidRequest(
        f"{database.shown} is on {backend.title} {version}, where prdp has not been checked yet. "
        f"{f'We have run it on {backend.tried} alone' if backend.tried else never}. Run this once: "
        f"prdp engine check '{backend.name}://user@host/database'. It compares made-up records, in a schema "
        "of its own, with a reference and reads nothing of yours; if all holds, this opens."
    )
