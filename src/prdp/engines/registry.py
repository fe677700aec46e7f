"""Choose the engine of a source: by its form, by name, or the caller's own."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, Protocol, cast

from prdp.declare.columns import known_column
from prdp.declare.exact import short_repr
from prdp.engines.duckdb.engine import open_tables
from prdp.engines.engine import Engine
from prdp.engines.origins import Origins
from prdp.engines.sources.checks import refuse_ambiguous, sql_types
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest, UntestedVersion
from prdp.expressions.tokens import is_writable

_NEEDED = tuple(name for name in vars(Engine) if not name.startswith("_"))

ENGINES: Mapping[str, tuple[str, ...]] = {
    "duckdb": (),
    "polars": ("polars",),
    "postgres": ("psycopg",),
    "spark": ("pyspark", "pyarrow"),
    "clickhouse": ("clickhouse_connect", "pyarrow"),
    "sqlalchemy": ("sqlalchemy",),
}
"""The engines that prdp brings, and what each needs to be installed: the extra of its name."""

_BASE = ("duckdb", "numpy", "sqlglot")
"""The libraries of the base install by which records are read."""

_SCHEMES = {
    **dict.fromkeys(("postgresql", "postgres"), "postgres"),
    **dict.fromkeys(("clickhouse", "clickhouses"), "clickhouse"),
    **dict.fromkeys(("mariadb", "mysql", "snowflake", "bigquery", "trino"), "sqlalchemy"),
}
_CLICKHOUSES = {("clickhouse_connect", "Client"), ("chdb", "Session")}
_WRITTEN = {
    "postgres": "'postgresql://user@host/database'",
    "clickhouse": "'clickhouse://user@host:8123/database', a client or a session",
    "spark": "spark",
}
ENGINES_THAT_JOIN = frozenset(("polars", *_WRITTEN))
"""The engines that read several tables together, beside DuckDB."""

_NO_JOIN = (
    "prdp reads one table at a time of MariaDB, and of other databases that SQLAlchemy connects to. For a "
    "join, copy the tables into files, prdp.open_join({'people': 'people.parquet', ...}), or into PostgreSQL "
    "or ClickHouse, which database= names; keys of groups are listed, or read from a file."
)
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
        called = engine or _called_for(source)
        warn_if_untested((*_BASE, *ENGINES[called], *_packages(source)))
        named = sql_types(types) if isinstance(types, Mapping) else types
        return _opener(called)(source, named, table=table, rows_are_records=rows_are_records)
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
    database: object,
    public: Collection[str],
) -> SqlEngine:
    """Open the tables of a join: files and frames, or all in one database; reads no record."""
    warn_if_untested((*_BASE, *(name for source in tables.values() for name in _packages(source))))
    if database is None:
        _refuse_databases(tables)
        called = set(map(_called_for, tables.values()))
        engine: str | None = next((name for name in ("spark", "polars") if name in called), None)
        if engine is None:
            return open_tables(tables, {table: sql_types(given) for table, given in types.items()})
        reason = "types= is for what DuckDB joins: frames of Spark and lazy ones of Polars state their own."
    else:
        engine = _database_of(database)
        reason = "types= is for CSV and for frames: tables of a database state their own."
        if engine is None:
            raise InvalidRequest(
                "database= is the address of a PostgreSQL database, such as "
                "'postgresql://user@host/database', or of a ClickHouse server, "
                "'clickhouse://user@host:8123/database'; or a session of Spark or chDB. Files and frames are "
                "given without database=."
            )
    if engine not in ENGINES_THAT_JOIN:
        raise InvalidRequest(_NO_JOIN)
    if types:
        raise InvalidRequest(reason)
    refuse_unless_installed(engine)
    warn_if_untested(ENGINES[engine])
    joined = _room(engine)
    opened: SqlEngine = (
        joined.open_tables(tables) if engine == "polars" else joined.open_tables(database, tables, public)
    )
    return opened


def public_values_of(database: object, table: str, column: str, private: Sequence[str]) -> list[object]:
    """Return the values of a column of a database's public table, each once and sorted.

    Raises:
        InvalidRequest: There is no such table or column, or it is one of the private tables.
    """
    names = {"": table, **{f"private {place}": one for place, one in enumerate(private)}}
    opened = tables_for(names, {}, database, names)
    origins = opened.origins or {}
    for name, origin in origins.items():
        if name and (shared := origin.shared(origins[""])):
            raise InvalidRequest(
                f"keys of {column!r} are read from {table!r}, whose rows are private ones ({shared}). Name a "
                "public table, a file or a list."
            )
    if reason := next((origin.untraced for origin in origins.values() if origin.untraced), ""):
        raise InvalidRequest(
            f"keys of {column!r} are read from {table!r}, and it cannot be traced whether its rows are "
            f"private ones ({reason}). List the keys that anybody may know."
        )
    return opened.values("", known_column(column, opened.schemas[""], f"the table {table}"))


def database_origins(database: object, tables: Sequence[str]) -> dict[str, Origins]:
    """Return the origins of tables of a database; reads no record.

    Raises:
        InvalidRequest: One of them is not there.
    """
    return dict(tables_for({table: table for table in tables}, {}, database, tables).origins or {})


def _refuse_databases(tables: Mapping[str, object]) -> None:
    for name, source in tables.items():
        if (engine := _database_of(source)) is not None:
            if engine not in ENGINES_THAT_JOIN:
                raise InvalidRequest(_NO_JOIN)
            raise InvalidRequest(
                f"{name!r} is a database, not a table. Write prdp.open_join({{{name!r}: 'its table'}}, "
                f"database={_WRITTEN[engine]}): all tables of a join are in one database."
            )


def _database_of(source: object) -> str | None:
    """Return the name of the engine whose database something is; None if it is none."""
    if isinstance(source, str):
        scheme = _SCHEME.match(source.lstrip())
        return _SCHEMES.get(scheme[1].lower()) if scheme else None
    kinds = _kinds(source)
    if ("pyspark", "SparkSession") in kinds:
        return "spark"
    return "clickhouse" if _CLICKHOUSES & kinds else None


def is_database_address(text: str) -> bool:
    """Return whether a text is the address of a database that an engine of prdp's reads."""
    return _database_of(text) is not None


def _kinds(source: object) -> set[tuple[str, str]]:
    """Return the package and the name of each class that an object is of."""
    return {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).mro()}


def _packages(source: object) -> set[str]:
    """Return the packages that a source's classes are from."""
    return {package for package, _ in _kinds(source)}


def _called_for(source: object) -> str:
    """Return the name of the engine that reads such a source where none is named."""
    if isinstance(source, str) and (scheme := _SCHEME.match(source)):
        return _SCHEMES.get(scheme[1].lower(), "duckdb")
    kinds = _kinds(source)
    if ("pyspark", "DataFrame") in kinds:
        return "spark"
    if _CLICKHOUSES & kinds:
        return "clickhouse"
    return "polars" if ("polars", "LazyFrame") in kinds else "duckdb"


def _opener(name: str) -> Opener:
    refuse_unless_installed(name)
    return cast(Opener, _room(name).open_source)


def _room(name: str) -> Any:
    """Load an engine's module when it is first asked for."""
    return import_module(f"prdp.engines.{'mariadb' if name == 'sqlalchemy' else name}.engine")


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
        raise InvalidRequest(
            f"table={short_repr(table)} is not a table's name: write a text, such as 'accounts'."
        )


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


_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*([0-9.]+)")
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")


@cache
def lowest_tested() -> Mapping[str, str]:
    """Return the lowest tested version of each library, as the package's own metadata declares it.

    >>> lowest_tested()["duckdb"]
    '2.0'
    """
    try:
        required = metadata.requires("prdp") or []
    except metadata.PackageNotFoundError:  # run from its source, with nothing installed
        return {}
    found = (_REQUIREMENT.match(text) for text in required)
    return {match[1].lower().replace("_", "-"): match[2] for match in found if match}


def warn_if_untested(modules: Iterable[str]) -> None:
    """Warn of libraries whose installed version is below the lowest that is tested."""
    for name in dict.fromkeys(module.replace("_", "-") for module in modules):
        lowest = lowest_tested().get(name)
        installed = _installed(name) if lowest is not None else None
        if lowest is not None and installed is not None and is_below(installed, lowest):
            warnings.warn(
                f"{name} {installed} is installed, and prdp is tested with {lowest} and later: what an older "
                f"version returns was never checked. Run pip install '{name}>={lowest}'.",
                UntestedVersion,
                stacklevel=4,
            )


def is_below(installed: str, lowest: str) -> bool:
    """Return whether a version is older than another, by their numbers.

    >>> is_below("1.36.1", "2.1"), is_below("2.1.0rc1", "2.1"), is_below("10.0", "9.4")
    (True, False, False)
    """
    found = [_NUMBERS.match(version) for version in (installed, lowest)]
    ours, theirs = ([int(part) for part in match[0].split(".")] if match else [] for match in found)
    width = max(len(ours), len(theirs))
    return ours + [0] * (width - len(ours)) < theirs + [0] * (width - len(theirs))


@cache
def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
