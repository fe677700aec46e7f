"""The server's own tables: one text for a file beside the ledgers, and for a schema in their database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from prdp.errors import InvalidRequest, LedgerError
from prdp.ledger.storage import LedgerTables
from prdp.release.formatting import optional_library
from prdp.safety.database_address import is_database, read_address

if TYPE_CHECKING:
    from prdp.projects.project import Project

FILE_NAME = "prdp.served"
SCHEMA = "served"
PARTS = 10**12
"""Whole parts of a budget in which purses count."""

_TABLES = """
CREATE TABLE {s}settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE {s}people (
  id BIGINT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 40),
  role TEXT NOT NULL CHECK (role IN ('owner', 'steward', 'analyst', 'auditor')),
  password TEXT,
  generation BIGINT NOT NULL DEFAULT 0,
  disabled BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE {s}tokens (
  id TEXT PRIMARY KEY,
  person BIGINT NOT NULL REFERENCES {s}people (id),
  generation BIGINT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('invite', 'session', 'api', 'wire')),
  hash TEXT NOT NULL UNIQUE,
  scram TEXT,
  cap BIGINT CHECK (cap BETWEEN 0 AND 1000000000000),
  label TEXT NOT NULL,
  scopes TEXT NOT NULL,
  made BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  revoked BIGINT NOT NULL DEFAULT 0,
  CHECK (expires > made AND expires <= made + 31622400),
  CHECK ((kind = 'wire') = (scram IS NOT NULL))
);
CREATE TABLE {s}datasets (
  name TEXT PRIMARY KEY,
  deadline BIGINT NOT NULL CHECK (deadline > 0),
  left_parts BIGINT NOT NULL CHECK (left_parts BETWEEN 0 AND 1000000000000)
);
CREATE TABLE {s}purses (
  person BIGINT NOT NULL REFERENCES {s}people (id),
  dataset TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('alone', 'approved')),
  granted BIGINT NOT NULL CHECK (granted <= 1000000000000),
  spent BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (person, dataset, kind),
  CHECK (spent >= 0 AND spent <= granted)
);
CREATE TABLE {s}requests (
  id TEXT PRIMARY KEY,
  person BIGINT NOT NULL REFERENCES {s}people (id),
  dataset TEXT NOT NULL,
  statement TEXT NOT NULL,
  share TEXT NOT NULL,
  parts BIGINT NOT NULL CHECK (parts > 0),
  kind TEXT NOT NULL CHECK (kind IN ('alone', 'approved')),
  digest TEXT NOT NULL,
  again TEXT NOT NULL,
  token TEXT NOT NULL,
  purpose TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'denied', 'withdrawn', 'expired', 'queued', 'published')),
  decider BIGINT REFERENCES {s}people (id),
  reason TEXT CHECK (reason IN ('purpose', 'too_costly', 'duplicate', 'other')),
  made BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  begins BIGINT,
  publish BIGINT,
  tries BIGINT NOT NULL DEFAULT 0,
  failed TEXT NOT NULL DEFAULT '',
  release TEXT,
  UNIQUE (person, again),
  CHECK (decider IS NULL OR decider <> person),
  CHECK (state <> 'denied' OR decider IS NOT NULL),
  CHECK (kind <> 'approved' OR state IN ('waiting', 'withdrawn', 'expired') OR decider IS NOT NULL),
  CHECK (state NOT IN ('queued', 'published') OR (publish IS NOT NULL AND publish > begins))
);
CREATE UNIQUE INDEX one_at_a_time ON {s}requests (person, digest) WHERE state IN ('waiting', 'queued');
CREATE INDEX in_line ON {s}requests (dataset, publish) WHERE state = 'queued';
CREATE INDEX by_digest ON {s}requests (dataset, digest);
CREATE TABLE {s}audit (
  number BIGINT PRIMARY KEY,
  at BIGINT NOT NULL,
  actor BIGINT NOT NULL,
  kind TEXT NOT NULL,
  digest TEXT NOT NULL,
  head TEXT NOT NULL UNIQUE CHECK (length(head) = 64)
);
CREATE TABLE {s}audit_bodies (
  number BIGINT PRIMARY KEY REFERENCES {s}audit (number),
  salt TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE TABLE {s}answers (
  request TEXT PRIMARY KEY REFERENCES {s}requests (id),
  answers TEXT NOT NULL,
  salt TEXT NOT NULL,
  number BIGINT NOT NULL UNIQUE REFERENCES {s}audit (number)
);
CREATE TABLE {s}spends (
  dataset TEXT NOT NULL,
  charge BIGINT NOT NULL,
  token TEXT NOT NULL UNIQUE,
  request TEXT NOT NULL REFERENCES {s}requests (id),
  person BIGINT NOT NULL,
  kind TEXT NOT NULL,
  parts BIGINT NOT NULL CHECK (parts >= 0),
  number BIGINT NOT NULL REFERENCES {s}audit (number),
  PRIMARY KEY (dataset, charge),
  FOREIGN KEY (person, dataset, kind) REFERENCES {s}purses (person, dataset, kind)
);
CREATE INDEX spends_of_request ON {s}spends (request)
"""
"""{s} is the prefix of names: none in a file, a schema in a database."""

_KEPT = ("audit", "answers", "spends")
"""Tables whose rows are added, and neither changed nor removed."""

_LOCK = 0x70726470_73657276
"""The advisory lock of whoever writes, in PostgreSQL."""


def layout(*, postgres: bool) -> list[str]:
    """Return the statements that lay out an empty store."""
    if not postgres:
        guards = [
            f"CREATE TRIGGER {table}_no_{event} BEFORE {event} ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'rows are only added'); END"
            for table in _KEPT
            for event in ("update", "delete")
        ]
        return [*_TABLES.format(s="").strip().split(";\n"), *guards]
    refuse = (
        f"CREATE FUNCTION {SCHEMA}.refuse_to_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION 'rows are only added'; END$$"
    )
    guards = [
        f"CREATE TRIGGER {table}_no_{event} BEFORE {event} ON {SCHEMA}.{table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.refuse_to_change()"
        for table in _KEPT
        for event in ("update", "delete", "truncate")
    ]
    return [f"CREATE SCHEMA {SCHEMA}", *_TABLES.format(s=f"{SCHEMA}.").strip().split(";\n"), refuse, *guards]


@dataclass(frozen=True, slots=True)
class StoreRows:
    """The server's tables within one transaction: ``{}`` in a statement is the prefix of their names."""

    statements: LedgerTables
    prefix: str

    def run(self, statement: str, *values: Any) -> None:
        """Run a statement that returns no rows."""
        self.statements.execute(statement.replace("{}", self.prefix), values)

    def all(self, statement: str, *values: Any) -> list[Any]:
        """Return all rows that a statement finds."""
        return self.statements.execute(statement.replace("{}", self.prefix), values).fetchall()

    def one(self, statement: str, *values: Any) -> Any:
        """Return the first row that a statement finds; None if there is none."""
        found = self.all(statement, *values)
        return found[0] if found else None

    def insert(self, table: str, **values: Any) -> None:
        """Add a row."""
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self.run(f"INSERT INTO {{}}{table} ({names}) VALUES ({marks})", *values.values())


class Store(Protocol):
    """The server's tables, read and written in transactions; one writer works at a time."""

    @property
    def file(self) -> Path | None:
        """The SQLite file; None for a schema of the ledgers' database."""

    @property
    def lock_file(self) -> Path:
        """The file whose lock keeps a second server away."""

    def is_there(self) -> bool:
        """Return whether it has been laid out."""

    def lay_out(self) -> None:
        """Make the empty tables."""

    def reading(self) -> Any:
        """Return a context in which ``StoreRows`` are read as they are at one moment."""

    def writing(self) -> Any:
        """Return a context in which ``StoreRows`` are read and written, alone, as one transaction."""

    def held(self) -> Any:
        """Return a context that says whether no other server, on any machine, has the store."""

    def beside(self, statements: LedgerTables) -> StoreRows:
        """Return the tables within a ledger's own transaction."""


class FileStore:
    """A file that its owner alone can read, with a rollback journal: commits with a ledger are one."""

    def __init__(self, path: Path) -> None:
        self.file = path
        self.lock_file = path.with_name(f"{path.name}.lock")

    def is_there(self) -> bool:
        """Return whether there is a file."""
        return self.file.exists()

    def lay_out(self) -> None:
        """Make the file, readable by its owner alone from the first moment on."""
        drafted = self.file.with_name(f".{self.file.name}.draft")
        drafted.unlink(missing_ok=True)
        os.close(os.open(drafted, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(drafted, isolation_level=None)) as database:
            database.execute("BEGIN")
            for statement in layout(postgres=False):
                database.execute(statement)
            database.execute("COMMIT")
        os.link(drafted, self.file)  # never over another one
        drafted.unlink()

    @contextmanager
    def _connected(self, begin: str) -> Iterator[StoreRows]:
        uri = f"file:{quote(str(self.file))}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=60, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = EXTRA")
            database.execute("PRAGMA foreign_keys = ON")
            database.execute(begin)
            try:
                yield StoreRows(database, "")
            except BaseException:
                database.rollback()
                raise
            database.execute("COMMIT")

    def reading(self) -> Any:
        """Return a context in which rows are read."""
        return self._connected("BEGIN")

    def writing(self) -> Any:
        """Return a context in which rows are written."""
        return self._connected("BEGIN IMMEDIATE")

    def held(self) -> Any:
        """Return a context that is true: the lock of the file beside it keeps others away."""
        return nullcontext(True)

    def beside(self, statements: LedgerTables) -> StoreRows:
        """Return the tables of the file that is attached to a ledger."""
        return StoreRows(statements, "beside.")


class SchemaStore:
    """A schema of the database that all ledgers are in."""

    file = None

    def __init__(self, address: str, folder: Path) -> None:
        self._address = read_address(address, ["ledger"])
        self.lock_file = folder / f"{FILE_NAME}.lock"

    def is_there(self) -> bool:
        """Return whether there is a schema of the name."""
        with self._connected("BEGIN READ ONLY") as rows:
            return rows.one("SELECT 1 FROM pg_namespace WHERE nspname = ?", SCHEMA) is not None

    def lay_out(self) -> None:
        """Make the schema and its tables in one transaction."""
        with self._connected("BEGIN") as rows:
            for statement in layout(postgres=True):
                rows.statements.execute(statement)

    @contextmanager
    def _connected(self, *begin: str) -> Iterator[StoreRows]:
        from prdp.safety.postgres_connection import Statements, connected  # noqa: PLC0415  (an extra)

        with closing(connected(self._address)) as connection:
            connection.execute("; ".join(begin).encode())
            try:
                yield StoreRows(Statements(connection), f"{SCHEMA}.")
            except BaseException:
                connection.rollback()
                raise
            connection.execute(b"COMMIT")

    def reading(self) -> Any:
        """Return a context in which rows are read."""
        return self._connected("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def writing(self) -> Any:
        """Return a context in which rows are written."""
        return self._connected("BEGIN", f"SELECT pg_advisory_xact_lock({_LOCK})")

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold a lock of the database's, which ends with the connection; say whether it was had."""
        from prdp.safety.postgres_connection import connected  # noqa: PLC0415  (an extra)

        with closing(connected(self._address)) as connection:
            found = connection.execute(f"SELECT pg_try_advisory_lock({_LOCK + 1})".encode()).fetchone()
            yield found == (True,)

    def beside(self, statements: LedgerTables) -> StoreRows:
        """Return the tables of the schema; whoever writes beside a ledger takes turns with all others."""
        statements.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
        return StoreRows(statements, f"{SCHEMA}.")


def store_of(project: Project) -> Store:
    """Return the place of a project's store: beside its ledgers, so that one transaction writes both."""
    places = [project.ledger_of(name) for name in project]
    databases = {str(place).partition("?")[0] for place in places if is_database(place)}
    if not databases:
        return FileStore(project.folder / FILE_NAME)
    if len(databases) > 1 or not all(map(is_database, places)):
        raise InvalidRequest(
            f"{project.file.path.name} keeps its ledgers in several places. To be served, all of them are "
            "files, or all are in one PostgreSQL database."
        )
    optional_library("psycopg", "postgres")
    return SchemaStore(str(next(place for place in places if is_database(place))), project.folder)


def opened(project: Project) -> Store:
    """Return a project's store, which must have been laid out."""
    store = store_of(project)
    if not store.is_there():
        raise LedgerError("there are no accounts for a server yet. Run: prdp serve init")
    return store
