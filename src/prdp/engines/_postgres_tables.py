"""Several tables of one PostgreSQL database, for statements that join them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from prdp.engines._cells import Arrays
from prdp.engines._given import refuse_unless_table_name
from prdp.engines._opened import ensure_same
from prdp.engines._postgres_catalog import PostgresTable, relation
from prdp.engines._postgres_session import PostgresDatabase, Rows, in_postgres
from prdp.engines._statement_tables import StatementTables
from prdp.engines.dialects.translate import with_sources


class PostgresTables(StatementTables):
    """Several tables of a PostgreSQL database, all read at one moment."""

    def __init__(
        self, database: PostgresDatabase, tables: Mapping[str, str], public: Collection[str]
    ) -> None:
        """Look tables up in the catalog; reads no record.

        Args:
            database: Where they are.
            tables: What each is called there, by its name in the join.
            public: Those that hold nothing to protect, which may be views.
        """
        super().__init__()
        self._database = database
        self._tables = tables
        self._public = frozenset(public)
        self._views = {name: f"prdp_table_{place}" for place, name in enumerate(tables)}
        self._relations = self._described()
        self.schemas = {name: found.schema for name, found in self._relations.items()}

    @property
    def places(self) -> Mapping[str, frozenset[str]]:
        """Which table of which database each is, without user and password."""
        shown = self._database.address.shown
        return {
            name: frozenset((f"{'.'.join(found.place)} of {shown}",))
            for name, found in self._relations.items()
        }

    def ensure_there(self) -> None:
        """Refuse tables that are gone or have other columns by now; reads no record."""
        self.refuse_elsewhere()
        ensure_same(self._described, self._relations)

    def columns(self, sql: str) -> Arrays:
        """Run a statement and return its columns as arrays, masked where there is NULL."""
        return self._database.columns(sql, self._sources(sql))

    def rows(self, sql: str) -> Rows:
        """Run a statement and return its rows."""
        return self._database.rows(sql, self._sources(sql))

    def written(self, sql: str) -> str:
        """Return a statement as PostgreSQL runs it."""
        return with_sources(self._sources(sql), in_postgres(sql).sql)

    def _sources(self, sql: str) -> str:
        named = (
            found.named(self._views[name], sql)
            for name, found in self._relations.items()
            if self._views[name] in sql
        )
        return ", ".join(named)

    def _described(self) -> dict[str, PostgresTable]:
        shown = self._database.address.shown
        return self._database.asked(
            lambda ask: {
                name: relation(ask, shown, table, rows_are_records=name in self._public)
                for name, table in self._tables.items()
            }
        )


def open_tables(
    database: object, tables: Mapping[str, object], public: Collection[str] = ()
) -> PostgresTables:
    """Open several tables of a database together; reads no record."""
    for table in tables.values():
        refuse_unless_table_name(table)
    names = {name: str(table) for name, table in tables.items()}
    return PostgresTables(PostgresDatabase.at(str(database)), names, public)
