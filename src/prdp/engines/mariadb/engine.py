"""MariaDB, by SQLAlchemy: summaries are computed there, once the server has passed the check."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from prdp.engines.database import RECORDS, Database, Rows, Statement
from prdp.engines.mariadb.catalog import MariaTable, find_table
from prdp.engines.mariadb.dialect import MARIADB
from prdp.engines.mariadb.session import TITLE, MariaSession
from prdp.engines.origins import Origins
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.translate import translated, with_sources
from prdp.errors import InvalidRequest
from prdp.schema import Schema

_PARTS = ("dialect", "server", "prdp")


def checks_file() -> Path:
    """Return the path of the recorded passes: ``prdp/engine_checks.json`` in the user's settings folder."""
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "prdp" / "engine_checks.json"


def own_version() -> str:
    """Return the version of prdp that is installed."""
    try:
        return version("prdp")
    except PackageNotFoundError:
        return "not installed"


def has_passed(dialect: str, server: str) -> bool:
    """Return whether a server of this version has passed the check of this version of prdp."""
    wanted = dict(zip(_PARTS, (dialect, server, own_version()), strict=True))
    return any(wanted == {name: one.get(name) for name in _PARTS} for one in _kept())


def note_pass(dialect: str, server: str, claims: int) -> Path:
    """Write down that all claims hold there; return where."""
    path = checks_file()
    passed = dict(zip(_PARTS, (dialect, server, own_version()), strict=True))
    others = [one for one in _kept() if any(one.get(name) != value for name, value in passed.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps([*others, {**passed, "claims": claims}], indent=2) + "\n", encoding="utf-8")
    new.replace(path)
    return path


def _kept() -> list[dict[str, Any]]:
    with suppress(OSError, ValueError):
        found = json.loads(checks_file().read_text(encoding="utf-8"))
        if isinstance(found, list):
            return [one for one in found if isinstance(one, dict)]
    return []


DIALECT = "mariadb"
"""The name under which a pass of the check is kept."""

_TRIED = "10.11"
_LONGEST = 4_000_000
_WITHOUT_SQL = {"snowflake": "Snowflake", "bigquery": "BigQuery", "trino": "Trino"}
"""Databases that prdp has never been run on; it has no SQL for them."""

_Tables = Mapping[str, MariaTable]


@dataclass(frozen=True)
class MariaDatabase(Database[MariaTable]):
    """A table of a MariaDB database.

    Attributes:
        session: The session that reads it.
        table: Its name there.
        rows_are_records: Whether its rows are records by the caller's word.
    """

    session: MariaSession
    table: str
    rows_are_records: bool = False
    name = "sqlalchemy"
    writes_all = False

    @property
    def slots(self) -> Mapping[str, str]:  # type: ignore[override]
        """The slot of the table, by its name."""
        return {self.table: RECORDS}

    def find(self) -> dict[str, MariaTable]:
        """Look the table up in the catalog."""
        vouched, shown = self.rows_are_records, self.session.shown
        found = self.session.asked(lambda ask: find_table(ask, shown, self.table, rows_are_records=vouched))
        return {self.table: found}

    def origins(self, tables: _Tables) -> Mapping[str, Origins]:
        """Return the table itself; a view's query is not traced."""
        return {name: self._origins(table) for name, table in tables.items()}

    def _origins(self, table: MariaTable) -> Origins:
        shown = self.session.shown
        reason = f"{table.path}, a view" if table.source else ""
        return Origins({("sql", shown, table.path): f"the table {table.path} of {shown}"}, untraced=reason)

    def write(self, sql: str, tables: _Tables) -> Statement:
        """Return a statement that begins with what it reads of the table."""
        written = translated(sql, MARIADB)
        if len(written.sql) > _LONGEST:
            raise InvalidRequest(
                f"this question is too long in the SQL of {TITLE}: shorten its expressions, or let the "
                "database compute a part of them as a column."
            )
        sources = tables[self.table].named(RECORDS, written.names)
        return replace(written, sql=with_sources(sources, written.sql))

    def arrays(self, statement: Statement, tables: _Tables) -> Arrays:  # noqa: ARG002
        """Run a statement; return its columns."""
        return self.session.read(statement.sql).arrays(statement.wide)

    def rows(self, statement: Statement, tables: _Tables) -> Rows:  # noqa: ARG002
        """Run a statement; return its rows."""
        return self.session.read(statement.sql).plain()

    def arrow(self, statement: Statement, tables: _Tables, schema: Schema) -> Any:  # noqa: ARG002
        """Run a statement; return an Arrow table."""
        return self.session.read(statement.sql).arrow(schema)


def session_at(address: str) -> MariaSession:
    """Read the address of a database; nothing is connected to.

    Raises:
        InvalidRequest: It is none, or prdp has no SQL for that database.
    """
    word = re.split(r"[+:]", address, maxsplit=1)[0].lower()
    if word not in ("mariadb", "mysql"):
        raise InvalidRequest(
            f"prdp has no SQL for {_WITHOUT_SQL.get(word, 'this database')}: it was never run by us on the "
            "real thing, and nothing is guessed. Read a copy as Parquet files, or through Spark: "
            "prdp.open(spark.read....load(), ...)."
        )
    return MariaSession.at(address)


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
    session = session_at(source)
    if types:
        raise InvalidRequest("types= is for CSV and for frames: a table of a database states its own.")
    if table is None:
        raise InvalidRequest(f"which table of {session.shown}? Write table='accounts'.")
    _refuse_unless_checked(session)
    return SqlEngine(MariaDatabase(session, table, rows_are_records))


def _refuse_unless_checked(session: MariaSession) -> None:
    version = session.version()
    if not has_passed(DIALECT, version):
        raise InvalidRequest(
            f"{session.shown} is on {TITLE} {version}, where prdp has not been checked yet. We have run it "
            f"on {_TRIED} alone. Run this once: prdp engine check 'mariadb://user@host/database'. It "
            "compares made-up records, in a schema of its own, with a reference and reads nothing of yours; "
            "if all holds, this opens."
        )
