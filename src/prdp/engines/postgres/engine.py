"""PostgreSQL: summaries are computed there; no row leaves the database, except for a caller's mechanism."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from prdp.engines.database import RECORDS, Database, Rows, Statement, slots_of
from prdp.engines.origins import Origins
from prdp.engines.postgres.catalog import PostgresTable, relation
from prdp.engines.postgres.dialect import POSTGRES
from prdp.engines.postgres.session import PostgresSession, Result, one_snapshot
from prdp.engines.registry import refuse_unless_table_name
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.translate import translated, with_sources
from prdp.errors import InvalidRequest
from prdp.safety.database_address import is_database
from prdp.schema import Schema

_Tables = Mapping[str, PostgresTable]


@dataclass(frozen=True)
class PostgresDatabase(Database[PostgresTable]):
    """Tables of a PostgreSQL database, all read at one moment.

    Attributes:
        session: The session that reads them.
        slots: The slot of each, by its name there.
        called: The name of each in the database.
        vouched: Those whose rows are records by the caller's word, or hold nothing to protect.
    """

    session: PostgresSession
    slots: Mapping[str, str]
    called: Mapping[str, str]
    vouched: Collection[str]
    name = "postgres"

    def find(self) -> dict[str, PostgresTable]:
        """Look tables up in the catalog, all at one moment."""
        shown = self.session.address.shown
        return self.session.asked(
            lambda ask: {
                name: relation(ask, shown, table, rows_are_records=name in self.vouched)
                for name, table in self.called.items()
            }
        )

    def origins(self, tables: _Tables) -> Mapping[str, Origins]:
        """Return the tables below each, by the catalog."""
        return {name: table.origins for name, table in tables.items()}

    def write(self, sql: str, tables: _Tables) -> Statement:
        """Return a statement that begins with what it reads of each table."""
        written = translated(sql, POSTGRES)
        sources = (
            table.named(self.slots[name], written.names)
            for name, table in tables.items()
            if self.slots[name] in written.tables
        )
        return replace(written, sql=with_sources(", ".join(sources), written.sql))

    def arrays(self, statement: Statement, tables: _Tables) -> Arrays:
        """Run a statement; return its columns."""
        return self._run(statement, tables).arrays(statement.wide)

    def rows(self, statement: Statement, tables: _Tables) -> Rows:
        """Run a statement; return its rows."""
        return self._run(statement, tables).plain()

    def arrow(self, statement: Statement, tables: _Tables, schema: Schema) -> Any:
        """Run a statement; return an Arrow table."""
        return self._run(statement, tables).arrow(schema)

    def one_snapshot(self) -> AbstractContextManager[None]:
        """Let all statements that this thread runs meanwhile read the snapshot of the first."""
        return one_snapshot()

    def _run(self, statement: Statement, tables: _Tables) -> Result:
        filtered = any(table.filtered for table in tables.values())
        return self.session.run(statement.sql, filtered=filtered)


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> SqlEngine:
    """Open a table of a database, such as ``postgresql://ana@db.example/bank``; reads no record."""
    if not isinstance(source, str) or not is_database(source):
        raise InvalidRequest(
            "engine='postgres' reads a table of a PostgreSQL database: give its address, such as "
            "'postgresql://user@host/database', and table='accounts'."
        )
    session = PostgresSession.at(source)
    if types:
        raise InvalidRequest("types= is for CSV and for frames: a table of a database states its own.")
    if table is None:
        raise InvalidRequest(
            f"which table of {session.address.shown}? Write table='accounts', or 'schema.accounts'."
        )
    vouched = (table,) if rows_are_records else ()
    return SqlEngine(PostgresDatabase(session, {table: RECORDS}, {table: table}, vouched))


def open_tables(database: object, tables: Mapping[str, object], public: Collection[str] = ()) -> SqlEngine:
    """Open several tables of a database together; reads no record."""
    for table in tables.values():
        refuse_unless_table_name(table)
    called = {name: str(table) for name, table in tables.items()}
    session = PostgresSession.at(str(database))
    return SqlEngine(PostgresDatabase(session, slots_of(tables), called, frozenset(public)))
