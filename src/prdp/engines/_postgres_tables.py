"""Several tables of one PostgreSQL database, for statements that join them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from prdp.declare.columns import known_column
from prdp.engines._cells import Arrays
from prdp.engines._given import refuse_unless_table_name
from prdp.engines._postgres_catalog import PostgresTable, relation
from prdp.engines._postgres_session import PostgresDatabase, Rows, in_postgres, with_sources
from prdp.engines._statement_tables import StatementTables
from prdp.errors import InvalidRequest
from prdp.safety.database_address import is_database


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
    def places(self) -> dict[str, str]:
        """Which table of which database each is, without user and password."""
        shown = self._database.address.shown
        return {name: f"{'.'.join(found.place)} of {shown}" for name, found in self._relations.items()}

    def ensure_there(self) -> None:
        """Refuse tables that are gone or have other columns by now; reads no record."""
        self.refuse_elsewhere()
        reason = "its columns have changed"
        try:
            if self._described() == self._relations:
                return
        except InvalidRequest as error:
            reason = str(error)
        raise InvalidRequest(
            f"a table cannot be read any more, or is not what was opened: {reason.rstrip('.')}. Nothing was "
            "charged; open it again."
        ) from None

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
    if not isinstance(database, str) or not is_database(database):
        raise InvalidRequest(
            "database= is the address of a PostgreSQL database, such as 'postgresql://user@host/database'."
        )
    names = {}
    for name, table in tables.items():
        refuse_unless_table_name(table)
        names[name] = str(table)
    return PostgresTables(PostgresDatabase.at(database), names, public)


def public_values_of(database: str, table: str, column: str, private: Sequence[str]) -> list[object]:
    """Return the values of a public table's column, each once and sorted.

    Raises:
        InvalidRequest: There is no such table or column, or it is one of the private tables.
    """
    names = {"": table, **{f"private {place}": one for place, one in enumerate(private)}}
    opened = open_tables(database, names, names)
    places = opened.places
    if any(place == places[""] for name, place in places.items() if name):
        raise InvalidRequest(
            f"keys of {column!r} are read from {table!r}, which is private itself. Name a public table, a "
            "file or a list."
        )
    return opened.values("", known_column(column, opened.schemas[""], f"the table {table}"))
