"""Choose who reads the records: whom the source calls for, an engine by its name, or the caller's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from prdp.declare.exact import told
from prdp.engines._sources import refuse_ambiguous
from prdp.engines._statement_tables import StatementTables
from prdp.engines._tables import open_tables
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import is_writable
from prdp.safety.database_address import is_database

_NEEDED = tuple(name for name in vars(Engine) if not name.startswith("_"))

ENGINES: Mapping[str, tuple[str, ...]] = {
    "duckdb": (),
    "polars": ("polars", "sqlglot"),
    "postgres": ("psycopg", "sqlglot"),
    "spark": ("pyspark", "pyarrow", "sqlglot"),
    "clickhouse": ("clickhouse_connect", "pyarrow", "sqlglot"),
    "sqlalchemy": ("sqlalchemy", "sqlglot"),
}
"""The engines that prdp brings, and what each needs to be installed: the extra of its name."""

_SCHEMES = {
    **dict.fromkeys(("postgresql", "postgres"), "postgres"),
    **dict.fromkeys(("clickhouse", "clickhouses"), "clickhouse"),
    **dict.fromkeys(("mariadb", "mysql", "snowflake", "bigquery", "trino"), "sqlalchemy"),
}
_SCHEME = re.compile(r"([a-z][a-z0-9.-]*)(?:\+[a-z0-9_.-]+)?://", re.IGNORECASE)


class Opener(Protocol):
    """Opens a source, as ``open_source`` of every engine's module does; reads no record."""

    def __call__(
        self,
        source: object,
        types: Mapping[str, str] | None,
        *,
        table: str | None = None,
        rows_are_records: bool = False,
    ) -> Engine:
        """Return the engine that reads the source."""


def engine_for(
    source: object,
    engine: Engine | str | None,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool,
) -> Engine:
    """Return the caller's own engine, or open a source; reads no record."""
    refuse_unless_table_name(table)
    if engine is None or isinstance(engine, str):
        if engine is not None and engine not in ENGINES:
            raise InvalidRequest(
                f"engine={engine!r} is none of prdp's engines: {', '.join(ENGINES)}. A file, a relation or a "
                "frame is given as the source, without engine=."
            )
        if source is None:
            raise InvalidRequest("nothing to open: give a source, such as 'accounts.parquet', or engine=.")
        return _opener(engine or _called_for(source))(
            source, types, table=table, rows_are_records=rows_are_records
        )
    if source is not None:
        raise InvalidRequest("a source and engine= exclude each other: an engine knows its own source.")
    if types is not None:
        raise InvalidRequest("types= is for a source: an engine's schema states its own.")
    if table is not None:
        raise InvalidRequest("table= is for a source: an engine knows its own table.")
    if rows_are_records:
        raise InvalidRequest("rows_are_records= is for a source: an engine's rows are its records.")
    _refuse_unless_engine(engine)
    refuse_ambiguous(list(engine.schema))
    return engine


def tables_for(
    tables: Mapping[str, object],
    types: Mapping[str, Mapping[str, str]],
    database: str | None,
    public: Collection[str],
) -> StatementTables:
    """Open the tables of a join: files and frames, or all in one database; reads no record."""
    if database is None:
        _refuse_addresses(tables)
        if "polars" not in map(_called_for, tables.values()):
            return open_tables(tables, types)
        if types:
            raise InvalidRequest("types= is for what DuckDB joins: lazy frames state their own types.")
        refuse_unless_installed("polars")
        frames: StatementTables = import_module("prdp.engines.polars").open_tables(tables)
        return frames
    if types:
        raise InvalidRequest("types= is for CSV and for frames: tables of a database state their own.")
    refuse_unless_installed("postgres")
    opened: StatementTables = import_module("prdp.engines._postgres_tables").open_tables(
        database, tables, public
    )
    return opened


def _refuse_addresses(tables: Mapping[str, object]) -> None:
    for name, source in tables.items():
        if is_database(source):
            raise InvalidRequest(
                f"{name!r} is a database, not a table. Write prdp.open_join({{{name!r}: 'its table'}}, "
                "database='postgresql://user@host/database'): all tables of a join are in one database."
            )


def _called_for(source: object) -> str:
    """Return the name of the engine that reads such a source where none is named."""
    if isinstance(source, str) and (scheme := _SCHEME.match(source)):
        return _SCHEMES.get(scheme[1].lower(), "duckdb")
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).mro()}
    if ("pyspark", "DataFrame") in kinds:
        return "spark"
    if {("clickhouse_connect", "Client"), ("chdb", "Session")} & kinds:
        return "clickhouse"
    return "polars" if ("polars", "LazyFrame") in kinds else "duckdb"


def _opener(name: str) -> Opener:
    refuse_unless_installed(name)
    return cast(Opener, import_module(f"prdp.engines.{name}").open_source)


def refuse_unless_installed(name: str) -> None:
    """Refuse an engine whose extra is missing, with the command that installs it."""
    missing = [module for module in ENGINES[name] if find_spec(module) is None]
    if missing:
        raise InvalidRequest(
            f"{name} reads this source, and {missing[0]} is not installed: pip install 'prdp[{name}]'."
        )


def refuse_unless_table_name(table: object) -> None:
    """Refuse what can be no table's name in a database."""
    if table is not None and (not isinstance(table, str) or not table or not is_writable(table)):
        raise InvalidRequest(f"table={told(table)} is no table's name: write a text, such as 'accounts'.")


def _refuse_unless_engine(engine: object) -> None:
    """Refuse what cannot be asked as an engine is; its own words may show records, so its type is named."""
    if isinstance(engine, type):
        raise InvalidRequest(f"engine={engine.__name__} is a class: give an object of it.")
    missing = [name for name in _NEEDED if not hasattr(engine, name)]
    if missing:
        raise InvalidRequest(
            f"engine= takes the name of an engine ({', '.join(ENGINES)}) or an object of "
            f"prdp.engines.engine.Engine, but {type(engine).__name__} has no {missing[0]!r}. A file, a "
            "relation or a frame is given as the source, without engine=."
        )
