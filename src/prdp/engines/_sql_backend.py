"""What prdp has to know of a database that it reads through SQLAlchemy: one small table a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prdp.engines.dialects.translate import Dialect
from prdp.schema import Schema

Ask = Callable[..., list[tuple[Any, ...]]]
"""Runs a statement about the catalog, with values for each ``%s``."""


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table of a database.

    Attributes:
        path: Its name, as the database writes it.
        schema: Its columns, with DuckDB's names of their types.
        read: For each column that can be read, SQL for its value in the form that statements rest on.
        source: Of a view, its query.
    """

    path: str
    schema: Schema
    read: Mapping[str, str]
    source: str = ""


@dataclass(frozen=True, slots=True)
class CheckTables:
    """How the made-up tables of ``prdp engine check`` are kept in a database.

    Attributes:
        create: Makes a schema for them, ``{schema}``.
        drop: Takes it away, with all that is in it.
        table: Makes a table, ``{table}``, of eps, v, x, job and day.
        insert: Puts one row into it.
        has_nan: Whether doubles may be NaN there; else it is NULL.
    """

    create: str
    drop: str
    table: str
    insert: str
    has_nan: bool


@dataclass(frozen=True, slots=True, eq=False)
class SqlBackend:
    """A database that is read through SQLAlchemy; each is equal to itself alone.

    Attributes:
        name: What it is called in addresses.
        title: What it is called.
        driver: SQLAlchemy's name of dialect and driver.
        package: What has to be installed for that, to Python.
        dialect: What it says otherwise than DuckDB.
        quote: What stands before and after a name.
        version: Asks for the server's version.
        session: What is said to every connection before anything else.
        begin: Begins a transaction that reads only, and sees one moment.
        whoami: Asks for what a connection is known by.
        cancel: Stops what runs in a connection, ``{who}``.
        find: Looks a table up in the catalog; reads no record.
        refuse: Refuses a server by its version.
        troubles: What the numbers of errors mean, in words of our own.
        options: What may stand in an address after a question mark.
        arguments: What the driver is given besides.
        greatest: From which size on a double stands for an infinity.
        check: How made-up tables are kept there.
        tried: Where prdp's own tests have run it; nothing if nowhere.
    """

    name: str
    title: str
    driver: str
    package: str
    dialect: Dialect
    quote: str
    version: str
    session: tuple[str, ...]
    begin: tuple[str, ...]
    whoami: str
    cancel: str
    find: Callable[[Ask, str, str, bool], SqlTable]
    refuse: Callable[[str, str], None]
    troubles: Mapping[int, str]
    options: tuple[str, ...]
    arguments: Mapping[str, Any]
    greatest: float
    check: CheckTables
    tried: str = ""

    def named(self, name: str) -> str:
        """Return a name as it is written, whatever is in it."""
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"

    def source_of(self, table: SqlTable, name: str, statement: str) -> str:
        """Return what a statement has to begin with to find a table under a name; its columns only."""
        items = [
            f"{sql} AS {self.named(column)}"
            for column, sql in table.read.items()
            if self.named(column) in statement
        ]
        return f"{self.named(name)} AS (SELECT {', '.join(items) or '1 AS prdp_one'} FROM {table.path})"
