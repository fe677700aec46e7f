"""Run the contract of engines on a database of one's own, and say what holds: ``prdp engine check``."""

from __future__ import annotations

import math
import socket
import sys
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from prdp.engines.engine import Engine
from prdp.engines.registry import ENGINES, engine_for, refuse_unless_installed
from prdp.errors import InvalidRequest
from prdp.plan.reads import CellRead
from prdp.testing.engine_contract import EngineContract
from prdp.testing.reference import Record

_COLUMNS = ("eps", "v", "x", "job", "day")
_NUL = "\0"
_GREATEST = sys.float_info.max
_SPARK_PORT, _PATIENCE = 15002, 10
_MARIADB_TABLE = (
    "CREATE TABLE {table} (eps DOUBLE, v BIGINT, x DOUBLE, day DATETIME(6), "
    "job TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci)"
)


@dataclass(frozen=True, slots=True)
class CheckPlace:
    """A place for made-up tables.

    Attributes:
        keep: Makes a new table of records and opens it.
        holds: Says whether a record can be in a table there at all.
        held: What a record is once it is in a table there.
        passed: Writes down that all claims hold, so that tables there can be opened; returns what to tell.
    """

    keep: Callable[[Sequence[Record]], Engine]
    holds: Callable[[Record], bool] = lambda _: True
    held: Callable[[Record], Record] = lambda record: record
    passed: Callable[[int], str] = lambda _: ""


Place = Callable[[str], AbstractContextManager[CheckPlace]]


@contextmanager
def place_for(where: str) -> Iterator[CheckPlace]:
    """Yield a place in a database, by its address, or for an engine, by its name.

    Raises:
        InvalidRequest: Nothing can be kept there, in words that help.
    """
    word, address = where.partition("://")[0].partition("+")[0].lower(), "://" in where
    places = _BY_ADDRESS if address else _BY_NAME
    if word not in places:
        raise InvalidRequest(
            "this is neither the address of a database, such as 'postgresql://user@host/db', "
            "'clickhouse://user@host:8123/db', 'mariadb://user@host/db' or 'sc://host' of Spark Connect, "
            f"nor the name of an engine that works here: {', '.join(_BY_NAME)}."
        )
    if word in ENGINES:
        refuse_unless_installed(word)
    with places[word](where) as place:
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
    trouble = import_module("prdp.safety.postgres_connection")
    schema, numbers = _new_name(), count()
    found = read_address(address, ["statement_timeout"])
    database = _connected(found, trouble)
    try:
        database.execute(f"CREATE SCHEMA {schema}".encode())
    except Exception:  # its words may hold a user's name
        raise _no_schema(found.shown) from None

    def keep(records: Sequence[Record]) -> Engine:
        table = f"{schema}.t{next(numbers)}"
        database.execute(
            f"CREATE TABLE {table} (eps float8, v bigint, x float8, job text, day timestamp)".encode()
        )
        database.cursor().executemany(
            f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)".encode(), _rows(records)
        )
        return engine_for(address, "postgres", None, table=table, rows_are_records=False)

    try:
        yield CheckPlace(keep, lambda record: _NUL not in (record["job"] or ""))
    finally:
        with suppress(Exception):
            database.execute(f"DROP SCHEMA {schema} CASCADE".encode())
        database.close()


def _connected(address: Any, trouble: Any) -> Any:
    try:
        return import_module("prdp.safety.postgres_connection").connected(address)
    except Exception as error:  # its words and frames may hold user and password
        why = trouble.why_not_connected(str(error))
    raise InvalidRequest(f"{address.shown} cannot be reached: {why}.")


@contextmanager
def _in_clickhouse(address: str) -> Iterator[CheckPlace]:
    """Keep tables in a database of their own: of a server, or of chDB in this process."""
    servers = import_module("prdp.engines.clickhouse.session")
    with ExitStack() as opened:
        source: Any = (
            servers.connected(servers.read_address(address))
            if "://" in address
            else opened.enter_context(_chdb())
        )
        run: Callable[[str], Any] = source.command if "://" in address else source.query
        database, numbers = _new_name(), count()
        try:
            run(f"CREATE DATABASE {database}")
        except Exception:  # its words may hold a user's name
            raise _no_schema("ClickHouse") from None

        def keep(records: Sequence[Record]) -> Engine:
            table = f"{database}.t{next(numbers)}"
            run(f"CREATE TABLE {table} ({_CLICKHOUSE}) ENGINE = MergeTree ORDER BY tuple()")
            rows = ", ".join(f"({', '.join(map(_clickhouse_value, row))})" for row in _rows(records))
            if rows:
                run(f"INSERT INTO {table} VALUES {rows}")
            return engine_for(source, "clickhouse", None, table=table, rows_are_records=False)

        try:
            yield CheckPlace(keep)
        finally:
            with suppress(Exception):
                run(f"DROP DATABASE {database} SYNC")


_CLICKHOUSE = (
    "eps Nullable(Float64), v Nullable(Int64), x Nullable(Float64), job Nullable(String), "
    "day Nullable(DateTime64(6, 'UTC'))"
)


def _clickhouse_value(value: Any) -> str:
    """Return a value as ClickHouse reads it; texts by their bytes, moments by their microseconds."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"unhex('{value.encode().hex()}')"
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}[str(value)]
    return f"'{value.isoformat(sep=' ')}'" if hasattr(value, "isoformat") else repr(value)


@contextmanager
def _chdb() -> Iterator[Any]:
    """Open chDB in a folder that is gone afterwards."""
    with TemporaryDirectory(prefix="prdp-check-") as folder:
        try:
            session = import_module("chdb.session").Session(folder)
        except ImportError:
            raise InvalidRequest("chDB is not installed: pip install chdb.") from None
        try:
            yield session
        finally:
            session.close()


@contextmanager
def _in_spark(where: str) -> Iterator[CheckPlace]:
    """Keep tables in a database of their own: by Spark Connect, or by Spark on this machine."""
    types = import_module("pyspark.sql.types")
    kinds = (types.DoubleType, types.LongType, types.DoubleType, types.StringType, types.TimestampNTZType)
    schema = types.StructType(
        [types.StructField(name, kind()) for name, kind in zip(_COLUMNS, kinds, strict=True)]
    )
    with TemporaryDirectory(prefix="prdp-check-") as folder, _spark(where) as session:
        database, numbers = _new_name(), count()
        place = "" if "://" in where else f" LOCATION '{folder}'"
        try:
            session.sql(f"CREATE DATABASE {database}{place}").collect()
        except Exception:  # its words may hold a user's name
            raise _no_schema("Spark") from None

        def keep(records: Sequence[Record]) -> Engine:
            table = f"{database}.t{next(numbers)}"
            frame = session.createDataFrame([tuple(row) for row in _rows(records)], schema)
            frame.write.format("parquet").saveAsTable(table)
            return engine_for(session.table(table), "spark", None, rows_are_records=False)

        try:
            yield CheckPlace(keep)
        finally:
            with suppress(Exception):
                session.sql(f"DROP DATABASE {database} CASCADE").collect()


@contextmanager
def _spark(where: str) -> Iterator[Any]:
    """Open a session of Spark; one that was there before goes on."""
    remote = "://" in where
    session, running = None, None
    with suppress(Exception), warnings.catch_warnings():  # whose words may hold a token
        if remote:  # Spark's own client would try for minutes
            found = urlsplit(where)
            socket.create_connection((found.hostname, found.port or _SPARK_PORT), _PATIENCE).close()
        warnings.simplefilter("ignore")  # of versions of pandas that Spark has not been tried with
        sessions = import_module("pyspark.sql.connect.session" if remote else "pyspark.sql").SparkSession
        running = None if remote else sessions.getActiveSession()
        made = sessions.builder.remote(where).create() if remote else sessions.builder.getOrCreate()
        made.range(1).count()
        session = made
    if session is None:
        raise InvalidRequest("Spark cannot be reached there, or started here; it needs Java 17 or later.")
    try:
        yield session
    finally:
        if running is None:
            with suppress(Exception):
                session.stop()


@contextmanager
def _by_sqlalchemy(address: str) -> Iterator[CheckPlace]:
    """Keep tables in a schema of their own, and write down a pass: until then nothing opens there."""
    refuse_unless_installed("sqlalchemy")
    engines = import_module("prdp.engines.mariadb.engine")
    session = engines.session_at(address)
    version, schema, numbers = session.version(), _new_name(), count()
    try:
        session.write(f"CREATE DATABASE {schema} CHARACTER SET utf8mb4")
    except Exception:  # its words may hold a user's name
        raise _no_schema(session.shown) from None

    def held(record: Record) -> Record:
        """Return a record as it is where doubles are neither NaN nor minus zero."""
        found = {name: value + 0.0 if isinstance(value, float) else value for name, value in record.items()}
        return {name: None if _is_nan(value) else value for name, value in found.items()}

    def keep(records: Sequence[Record]) -> Engine:
        table = f"{schema}.t{next(numbers)}"
        session.write(_MARIADB_TABLE.format(table=table))
        rows = [[_within(value, _GREATEST) for value in row] for row in _rows(map(held, records))]
        if rows:
            session.write(f"INSERT INTO {table} (eps, v, x, job, day) VALUES (%s, %s, %s, %s, %s)", rows=rows)
        opened: Engine = engines.SqlEngine(engines.MariaDatabase(session, table))
        return opened

    def passed(claims: int) -> str:
        import_module("prdp.engines.mariadb.engine").note_pass(engines.DIALECT, version, claims)
        return f"{engines.TITLE} {version} is open to this version of prdp from now on, for this user."

    try:
        yield CheckPlace(keep, lambda record: abs(record["x"] or 0) != _GREATEST, held, passed)
    finally:
        with suppress(Exception):
            session.write(f"DROP DATABASE IF EXISTS {schema}")


def _within(value: Any, greatest: float) -> Any:
    """Return a value as in a database in which the greatest double represents infinity."""
    return max(min(value, greatest), -greatest) if isinstance(value, float) else value


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _rows(records: Any) -> list[list[Any]]:
    return [[record[name] for name in _COLUMNS] for record in records]


def _new_name() -> str:
    return f"prdp_check_{uuid.uuid4().hex[:12]}"


def _no_schema(shown: str) -> InvalidRequest:
    return InvalidRequest(f"no schema can be made in {shown}: the check needs a user who may CREATE there.")


_BY_NAME: Mapping[str, Place] = {
    "duckdb": _in_memory,
    "polars": _in_memory,
    "spark": _in_spark,
    "chdb": _in_clickhouse,
}
_BY_ADDRESS: Mapping[str, Place] = {
    **dict.fromkeys(("postgresql", "postgres"), _in_postgres),
    **dict.fromkeys(("clickhouse", "clickhouses"), _in_clickhouse),
    **dict.fromkeys(("mariadb", "mysql", "snowflake", "bigquery", "trino"), _by_sqlalchemy),
    "sc": _in_spark,
}


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Outcome of one test of the contract.

    Attributes:
        claim: The tested claim.
        held: Whether it does.
        why: The result found instead; of made-up records, so that it may be shown.
        refused: Expressions that the engine does not support: a question with one is refused.
    """

    claim: str
    held: bool
    why: str = ""
    refused: tuple[str, ...] = ()


class _Given(EngineContract):
    """The contract over tables of a place."""

    def __init__(self, place: CheckPlace) -> None:
        self._place = place
        self.refused: list[str] = []

    def engine(self, records: Sequence[Record]) -> Engine:
        return self._place.keep(records)

    def row_records(self) -> Sequence[Record]:
        return [record for record in super().row_records() if self._place.holds(record)]

    def as_held(self, records: Sequence[Record]) -> Sequence[Record]:
        return [self._place.held(record) for record in records]

    def refuses(self, engine: Engine, reading: CellRead, text: str) -> bool:
        """Ask for the statement alone: what it cannot be written in is refused whatever the records are."""
        try:
            getattr(engine, "shown", lambda _: ())(reading)
        except InvalidRequest:
            self.refused.append(text)
        return text in self.refused

    def lost(self, records: Sequence[Record]) -> None:  # noqa: ARG002  (nobody takes the table away)
        return None

    def changed(self, records: Sequence[Record]) -> None:  # noqa: ARG002
        return None


def claims() -> list[str]:
    """Return the names of the contract's tests, in the order in which they are run."""
    return sorted(name for name in dir(_Given) if name.startswith("test_"))


def check_engine(place: CheckPlace) -> Iterator[CheckOutcome]:
    """Run every test of the contract, one after the other, whatever comes of the others."""
    for name in claims():
        claim = name.removeprefix("test_").replace("_", " ")
        given = _Given(place)
        try:
            getattr(given, name)()
        except Exception as error:  # report any error, and go on with the next claim
            words = " ".join(str(error).split())[:200]
            yield CheckOutcome(claim, held=False, why=f"{type(error).__name__}: {words}")
        else:
            yield CheckOutcome(claim, held=True, refused=tuple(given.refused))
