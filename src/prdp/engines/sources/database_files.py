"""Files that hold a database, DuckDB's or SQLite's: which table of theirs is meant."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from prdp.engines.sources.checks import matching_files
from prdp.errors import InvalidRequest

DUCKDB_ENDINGS = (".duckdb", ".ddb")
SQLITE_ENDINGS = (".sqlite", ".sqlite3")
ENDINGS = (*DUCKDB_ENDINGS, *SQLITE_ENDINGS, ".db")
"""A file ``.db`` may be either's."""


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table in a file that holds a database.

    Attributes:
        file: The file, by its real path.
        table: The table's name, or None where the caller did not say.
    """

    file: str
    table: str | None


def in_database(source: object, table: str | None) -> object:
    """Return a table of a database's file; any other source as it is.

    Raises:
        InvalidRequest: A table is named, but the source is no database.
    """
    if isinstance(source, str | Path) and "://" not in str(source) and str(source).endswith(ENDINGS):
        return DatabaseTable(_file(str(source)), table)
    if table is not None:
        raise InvalidRequest(
            "table= is for a database, such as 'bank.duckdb' or 'bank.sqlite', and this source is none: "
            "omit it."
        )
    return source


def of_that_name(source: object, name: str) -> object:
    """Return a database's table of a name, for a join; any other source as it is."""
    given = in_database(source, None)
    return DatabaseTable(given.file, name) if isinstance(given, DatabaseTable) else given


def _file(path: str) -> str:
    """Return the one file of a path, under its real name: links lead to the same one."""
    files = matching_files(path)
    if len(files) != 1:
        found = f"matches {len(files)} files" if files else "is no file"
        raise InvalidRequest(f"{path!r} {found}. Give the path of one database.")
    return str(Path(files[0]).resolve())


def sqlite_opened(file: str) -> sqlite3.Connection:
    """Open a SQLite file for reading alone; texts come as bytes, since one that is no UTF-8 would fail."""
    database = sqlite3.connect(f"file:{quote(file)}?mode=ro", uri=True, check_same_thread=False)
    database.text_factory = bytes
    return database


def is_sqlite(file: str) -> bool:
    """Ask SQLite itself: reading the first bytes here could break a lock that this process has on it."""
    with closing(sqlite_opened(file)) as database:
        try:
            database.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.OperationalError:
            raise InvalidRequest(
                f"{file!r} cannot be read now: another process writes to it, or its folder may not be "
                "written to."
            ) from None
        except sqlite3.DatabaseError:
            return False
    return True


def known_table(given: DatabaseTable, tables: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return a table's names (its schema's first, if it has one) as the database spells them.

    Args:
        given: What the caller named; capitals do not matter, as in SQL.
        tables: The names of all tables.
    """
    listed = ", ".join(".".join(names) for names in tables) or "no table"
    name = Path(given.file).name
    if given.table is None:
        example = tables[0][-1] if tables else "accounts"
        raise InvalidRequest(f"{name} is a database: say table={example!r}. It has {listed}.")
    wanted = given.table.lower()
    found = [names for names in tables if wanted in {names[-1].lower(), ".".join(names).lower()}]
    exact = [names for names in found if wanted == ".".join(names).lower()] or found
    if len(exact) != 1:
        many = "has several tables" if exact else "has no table"
        raise InvalidRequest(f"{name} {many} {given.table!r}. It has {listed}.")
    return exact[0]
