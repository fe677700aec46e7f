"""The seam between prdp's statements and a database: find tables, write a statement, run it."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from prdp.engines.origins import Origins
from prdp.engines.statements.cells import Arrays
from prdp.schema import Kind, Schema

Rows = list[tuple[Any, ...]]

RECORDS = "prdp_records"
"""The slot of a table that is read alone."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One of prdp's statements, as a database runs it.

    Attributes:
        sql: The text.
        wide: Columns that are whole numbers of up to 128 bits, in place of two halves each.
        tables: The slots of the tables that it reads.
        names: The quoted names in it; of a table, these columns are read at most.
    """

    sql: str
    wide: tuple[str, ...] = ()
    tables: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


class OpenedTable(Protocol):
    """Public facts of a table; equal as long as it is read alike."""

    @property
    def schema(self) -> Schema:
        """Its columns, with DuckDB's names of their types."""

    @property
    def source(self) -> str:
        """The transformation of its rows before prdp reads them, for a question's key; empty if none."""


@dataclass(frozen=True, slots=True)
class PlainTable:
    """Public facts of a table of which nothing else is needed.

    Attributes:
        schema: Its columns.
        source: The transformation of its rows before prdp reads them.
        facts: What else may not change between opening and reading, such as files.
    """

    schema: Schema
    source: str = ""
    facts: object = None


Table = TypeVar("Table", bound=OpenedTable)


class Database(Protocol[Table]):
    """Tables of one database, and how statements over them are written and run.

    A statement is written once in DuckDB's SQL, in which each table has the name of its slot.

    Attributes:
        name: The engine's name.
        slots: The name under which statements find each table, by the table's name.
        lock: Held while a statement runs; None where several may run at once.
        stopped: Exceptions for a statement that was stopped from elsewhere.
        traces: Whether the database itself traces the origins of its tables; else their sources tell.
        writes_all: Whether every statement can be written; else reads are written before they are charged.
        own_column: Whether the shortcut for policies of one column may be taken.
        read_once: Whether rows are held where a question looks at them twice.
        groups_at_once: Of how many groups one statement is; None for any number. What an engine in this
            process finds of half as many groups takes half the memory. Only where ``one_version`` can tell.
    """

    name: str
    slots: Mapping[str, str]
    lock: threading.Lock | None = None
    stopped: tuple[type[Exception], ...] = ()
    traces: bool = True
    writes_all: bool = True
    own_column: bool = True
    read_once: bool = False
    groups_at_once: int | None = None

    def one_version(self) -> AbstractContextManager[None]:
        """Return a context for several statements, which fails if they may have read different records."""
        return nullcontext()

    @abstractmethod
    def find(self) -> Mapping[str, Table]:
        """Look the tables up, by their names; reads no record.

        Raises:
            InvalidRequest: One is not there, or its rows need not be records.
        """

    def origins(self, tables: Mapping[str, Table]) -> Mapping[str, Origins]:  # noqa: ARG002
        """Return the origins of tables, where the database traces them; reads no record."""
        return {}

    @abstractmethod
    def write(self, sql: str, tables: Mapping[str, Table]) -> Statement:
        """Return a statement of DuckDB's SQL as the database runs it.

        Raises:
            InvalidRequest: The database does not support something in it.
        """

    @abstractmethod
    def arrays(self, statement: Statement, tables: Mapping[str, Table]) -> Arrays:
        """Run a statement; return its columns as arrays, masked where there is NULL."""

    @abstractmethod
    def rows(self, statement: Statement, tables: Mapping[str, Table]) -> Rows:
        """Run a statement; return its rows, whole numbers of any size being Python's own."""

    @abstractmethod
    def arrow(self, statement: Statement, tables: Mapping[str, Table], schema: Schema) -> Any:
        """Run a statement; return an Arrow table, whose columns are of the types in ``schema``."""

    def values(self, found: list[object], kind: Kind) -> list[object]:  # noqa: ARG002
        """Return values of a column as Python has them."""
        return found

    def one_snapshot(self) -> AbstractContextManager[None]:
        """Let all statements that this thread runs meanwhile read one state of the database."""
        return nullcontext()


def slots_of(tables: Iterable[str]) -> dict[str, str]:
    """Return the slot of each table of a join, by its name there."""
    return {name: f"prdp_table_{place}" for place, name in enumerate(tables)}
