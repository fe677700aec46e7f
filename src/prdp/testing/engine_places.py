"""Where the contract's made-up tables are kept while an engine is checked, and cleared away afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any

from prdp.engines._given import engine_for
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest
from prdp.testing.reference import Record

_COLUMNS = ("eps", "v", "x", "job", "day")
_NUL = "\0"


@dataclass(frozen=True, slots=True)
class CheckPlace:
    """A place for made-up tables.

    Attributes:
        keep: Makes a new table of records and opens it.
        holds: Says whether a record can be in a table there at all.
    """

    keep: Callable[[Sequence[Record]], Engine]
    holds: Callable[[Record], bool] = lambda _: True


@contextmanager
def place_for(where: str) -> Iterator[CheckPlace]:
    """Yield a place in a database, by its address, or for an engine, by its name.

    Raises:
        InvalidRequest: Nothing can be kept there, in words that help.
    """
    scheme, address = where.partition("://")[0].lower(), "://" in where
    places: Mapping[str, Callable[[str], AbstractContextManager[CheckPlace]]] = {
        **(dict.fromkeys(("postgresql", "postgres"), _in_postgres) if address else {}),
        "duckdb": _in_memory,
        "polars": _in_memory,
    }
    if scheme not in places:
        raise InvalidRequest(
            "this is neither the address of a database, such as 'postgresql://user@host/db', nor the name of "
            "an engine that works in memory: duckdb, polars."
        )
    with places[scheme](where) as place:
        yield place


@contextmanager
def _in_memory(name: str) -> Iterator[CheckPlace]:
    """Keep tables as frames of Polars."""
    import polars as pl  # noqa: PLC0415  (who checks another engine need not have it)

    kinds: Mapping[str, Any] = {
        "eps": pl.Float64,
        "v": pl.Int64,
        "x": pl.Float64,
        "job": pl.String,
        "day": pl.Datetime("us"),
    }

    def keep(records: Sequence[Record]) -> Engine:
        frame = pl.DataFrame([dict(record) for record in records], schema=kinds, orient="row")
        return engine_for(frame, name, None, rows_are_records=False)

    yield CheckPlace(keep)


@contextmanager
def _in_postgres(address: str) -> Iterator[CheckPlace]:
    """Keep tables in a schema of their own, with a name that no other has."""
    read_address = import_module("prdp.safety.database_address").read_address
    trouble = import_module("prdp.safety.database_trouble")
    schema, numbers = f"prdp_check_{uuid.uuid4().hex[:12]}", count()
    found = read_address(address, ["statement_timeout"])
    database = _connected(found, trouble)
    try:
        database.execute(f"CREATE SCHEMA {schema}".encode())
    except Exception:  # its words may hold a user's name
        raise InvalidRequest(
            f"no schema can be made in {found.shown}: the check needs a user who may CREATE there."
        ) from None

    def keep(records: Sequence[Record]) -> Engine:
        table = f"{schema}.t{next(numbers)}"
        database.execute(
            f"CREATE TABLE {table} (eps float8, v bigint, x float8, job text, day timestamp)".encode()
        )
        rows = [[record[name] for name in _COLUMNS] for record in records]
        database.cursor().executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)".encode(), rows)
        return engine_for(address, "postgres", None, table=table, rows_are_records=False)

    try:
        yield CheckPlace(keep, lambda record: _NUL not in (record["job"] or ""))
    finally:
        with suppress(Exception):
            database.execute(f"DROP SCHEMA {schema} CASCADE".encode())
        database.close()


def _connected(address: Any, trouble: Any) -> Any:
    try:
        return import_module("prdp.safety.database_connection").connected(address)
    except Exception as error:  # its words and frames may hold user and password
        why = trouble.why_not_connected(str(error))
    raise InvalidRequest(f"{address.shown} cannot be reached: {why}.")
