"""Public facts about ClickHouse's tables: columns, engines, settings and origins; no record is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from prdp.engines.clickhouse.session import Server, fails
from prdp.engines.origins import Origins, untraced
from prdp.errors import InvalidRequest
from prdp.expressions.datetimes import DAY
from prdp.expressions.tokens import quoted
from prdp.schema import ColumnType, Kind, Schema

_WHOLE = {
    **{
        f"Int{bits}": name
        for bits, name in ((8, "TINYINT"), (16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"))
    },
    **{f"UInt{bits}": name for bits, name in ((8, "UTINYINT"), (16, "USMALLINT"), (32, "UINTEGER"))},
}
_WIDE = {"UInt64": "UBIGINT", "Int128": "HUGEINT"}
_DECIMAL = re.compile(r"Decimal\((\d+), ?(\d+)\)")
_MAX_DIGITS = 38
_TICKS = re.compile(r"DateTime64\((\d)(?:, .*)?\)")
_MEMBER = re.compile(r"('(?:[^'\\]|\\.|'')*') = (-?\d+)")
_WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)")
_MICROSECONDS, _SECOND = 6, 1_000_000
_LAST = 2**63 - 1


def read_as(native: str, name: str) -> tuple[ColumnType, str]:
    """Return the type of a ClickHouse column in prdp, and the SQL that reads it.

    >>> read_as("Nullable(Int32)", "`v`")
    (INTEGER, 'toInt64(`v`)')
    >>> read_as("LowCardinality(String)", "`job`"), read_as("Array(Int8)", "`x`")[0].kind
    ((VARCHAR, 'toString(`job`)'), <Kind.OTHER: 'something that expressions do not read'>)
    """
    kind, read = _plain_value(native, name)
    may_be_null = "Nullable(" in native or "Enum" in native
    return (kind if may_be_null else kind.never_null()), read


def _plain_value(native: str, name: str) -> tuple[ColumnType, str]:
    inner = native
    while wrapped := _WRAPPED.fullmatch(inner):
        inner = wrapped[1]
    whole = _WHOLE.get(inner) or _WIDE.get(inner)
    if whole:
        read = f"toInt64({name})" if inner in _WHOLE else f"to{inner}({name})"
        return ColumnType(Kind.NUMBER, integer=True, native=whole), read
    for found in (_number_type(inner, name), _text_type(inner, name), _datetime_type(inner, name)):
        if found is not None:
            return found
    return ColumnType(Kind.OTHER, native=native), name


def _number_type(inner: str, name: str) -> tuple[ColumnType, str] | None:
    if inner in ("Float64", "Float32", "BFloat16"):
        kind = "DOUBLE" if inner == "Float64" else "FLOAT"
        return ColumnType(Kind.NUMBER, native=kind), name if inner == "Float64" else f"toFloat64({name})"
    if inner == "Bool":
        return ColumnType(Kind.BOOLEAN, native="BOOLEAN"), name
    digits = _DECIMAL.fullmatch(inner)
    if digits and int(digits[1]) <= _MAX_DIGITS:
        return ColumnType(Kind.NUMBER, native=f"DECIMAL({digits[1]},{digits[2]})"), name
    return None


def _text_type(inner: str, name: str) -> tuple[ColumnType, str] | None:
    """Read a text as it is; one of fixed length without the zero bytes that fill it up."""
    kind = ColumnType(Kind.TEXT, native="VARCHAR")
    if inner.startswith("FixedString("):
        return kind, f"replaceRegexpOne(toString({name}), '\\\\x00+$', '')"
    if inner.startswith(("Enum8(", "Enum16(")):
        return kind, _enum_text(inner, name)
    if inner in ("String", "UUID", "IPv4", "IPv6"):
        return kind, f"toString({name})"
    return None


def _enum_text(inner: str, name: str) -> str:
    """Return the text of an ENUM's number, NULL where it has none: for such, ClickHouse's own would fail.

    >>> _enum_text("Enum8('sad' = -1, 'happy' = 2)", "`mood`")
    "transform(toInt16(`mood`), [-1, 2], ['sad', 'happy'], NULL)"
    """
    members = _MEMBER.findall(inner)
    numbers, texts = ", ".join(number for _, number in members), ", ".join(text for text, _ in members)
    return f"transform(toInt16({name}), [{numbers}], [{texts}], NULL)"


def _datetime_type(inner: str, name: str) -> tuple[ColumnType, str] | None:
    kind = ColumnType(Kind.MOMENT, native="TIMESTAMP")
    if inner in ("Date", "Date32"):
        days = f"toUInt16({name})" if inner == "Date" else f"toInt32({name})"
        return kind, f"toInt64({days}) * toInt64({DAY})"
    if inner == "DateTime" or inner.startswith("DateTime("):
        return kind, f"toInt64(toUnixTimestamp({name})) * {_SECOND}"
    if ticks := _TICKS.fullmatch(inner):
        return kind, _microseconds(f"reinterpretAsInt64({name})", int(ticks[1]))
    return None


def _microseconds(ticks: str, digits: int) -> str:
    """Return ticks, 10^digits to the second, in microseconds: rounded down, and within 64 bits."""
    if digits == _MICROSECONDS:
        return ticks
    step = 10 ** abs(digits - _MICROSECONDS)
    if digits > _MICROSECONDS:
        return f"intDiv({ticks}, {step}) - if({ticks} % {step} < 0, 1, 0)"
    scaled = f"toInt128({ticks}) * {step}"
    return f"toInt64(least(greatest({scaled}, toInt128({-_LAST})), toInt128({_LAST})))"


_MEANING: Mapping[str, int | str] = {
    "join_use_nulls": 1,
    "join_default_strictness": "ALL",
    "any_join_distinct_right_table_keys": 0,
    "prefer_column_name_to_alias": 1,
    "enable_positional_arguments": 0,
    "joined_subquery_requires_alias": 0,
    "use_variant_as_common_type": 0,
    "transform_null_in": 0,
    "group_by_use_nulls": 0,
    "aggregate_functions_null_for_empty": 0,
    "empty_result_for_aggregation_by_empty_set": 0,
    "least_greatest_legacy_null_behavior": 0,
    "precise_float_parsing": 1,
    "cast_keep_nullable": 0,
    "short_circuit_function_evaluation": "disable",
    "asterisk_include_alias_columns": 0,
    "asterisk_include_materialized_columns": 0,
    "asterisk_include_virtual_columns": 0,
    "limit": 0,
    "offset": 0,
    "additional_result_filter": "",
    "apply_deleted_mask": 1,
    "skip_unavailable_shards": 0,
    "enable_shared_storage_snapshot_in_query": 1,
    "output_format_arrow_string_as_string": 0,
    "output_format_arrow_low_cardinality_as_dictionary": 0,
    "output_format_arrow_compression_method": "none",
    "extremes": 0,
}
_OVERFLOWS = (
    *("read", "read_leaf", "group_by", "sort", "result", "set", "join", "transfer", "distinct"),
    *("timeout", "timeout_leaf"),
)

_OTHER_RECORDS = {
    "use_primary_key": 0,
    "use_partition_pruning": 0,
    "use_skip_indexes": 0,
    "use_skip_indexes_if_final": 0,
    "use_skip_indexes_on_data_read": 0,
    "use_query_condition_cache": 0,
    "use_query_cache": 0,
    "use_statistics": 0,
    "allow_statistics_optimize": 0,
    "use_statistics_for_part_pruning": 0,
    "optimize_use_projections": 0,
    "optimize_use_implicit_projections": 0,
    "optimize_trivial_count_query": 0,
    "optimize_trivial_approximate_count_query": 0,
    "optimize_move_to_prewhere": 0,
    "optimize_move_to_prewhere_if_final": 0,
    "enable_join_runtime_filters": 0,
    "input_format_parquet_filter_push_down": 0,
    "input_format_parquet_page_filter_push_down": 0,
    "input_format_parquet_bloom_filter_push_down": 0,
    "input_format_orc_filter_push_down": 0,
    "use_cache_for_count_from_files": 0,
    "use_hive_partitioning": 0,
    "use_iceberg_partition_pruning": 0,
    "delta_lake_enable_engine_predicate": 0,
}

_LONG_STATEMENTS = {
    "max_query_size": 1 << 30,
    "max_ast_elements": 10_000_000,
    "max_expanded_ast_elements": 10_000_000,
    "max_ast_depth": 100_000,
    "max_parser_depth": 100_000,
    "max_parser_backtracks": 1 << 40,
}

WANTED: Mapping[str, int | str] = {
    **_MEANING,
    **{f"{what}_overflow_mode": "throw" for what in _OVERFLOWS},
    **_OTHER_RECORDS,
    **_LONG_STATEMENTS,
    "cancel_http_readonly_queries_on_client_close": 1,
}
"""Settings of every statement, as far as a server knows them."""

_MUST_BE_KNOWN = ("join_use_nulls", "prefer_column_name_to_alias", "use_skip_indexes", "max_query_size")

_KEPT = re.compile(
    r"max_.*|min_.*|log_.*|.*_timeout.*|.*_threads?|.*_size|.*_cache_.*|.*_bytes.*|readonly|allow_ddl|network_.*|"
    r"http_.*|send_.*|receive_.*|connect.*|priority|workload|os_.*|quota.*|load_balancing|insert_.*|async_.*|"
    r"distributed_.*|parallel_.*|backup_.*|alter_.*|mutations_.*|s3_.*|local_.*|remote_.*|filesystem_.*|date_time_.*|"
    r"session_timezone|compatibility|enable_http_compression|cancel_.*|wait_.*|storage_.*|trace_.*|opentelemetry_.*|"
    r"show_.*|calculate_text_stack_trace|stream_.*|use_client_time_zone|format_.*|output_format_.*|allow_.*|"
    r"interactive_.*|input_format_.*|prefer_localhost_replica|default_.*|database_.*|.*_prefetch.*|profile.*"
)
"""Settings that limit or report what a statement takes, or are about something else than SELECT."""


@lru_cache(maxsize=16)
def settings_for(known: tuple[tuple[str, str, str, int, int], ...], *, final: bool) -> Mapping[str, str]:
    """Return the settings of every statement on a server.

    Args:
        known: Its settings: name, value, default, whether somebody changed it, whether it cannot be.
        final: Whether rows that a table engine merges later are to be merged now.

    Raises:
        InvalidRequest: A setting that is needed cannot be changed by this user.
    """
    wanted = {name: str(value) for name, value in WANTED.items()} | {"final": str(int(final))}
    facts = {name: (value, default, changed, fixed) for name, value, default, changed, fixed in known}
    missing = [name for name in _MUST_BE_KNOWN if name not in facts]
    if missing:
        raise InvalidRequest(f"this version of ClickHouse does not know {missing[0]}: use a newer one.")
    chosen = {}
    for name, (value, default, changed, fixed) in facts.items():
        if name in wanted and not fixed:
            chosen[name] = wanted[name]
        elif name in wanted and value != wanted[name]:
            raise InvalidRequest(
                f"this user of ClickHouse may not set {name} = {wanted[name]!r}, with which prdp runs "
                "its statements. Use a user whose settings may be changed: readonly = 0 or 2."
            )
        elif changed and not fixed and name not in wanted and not _KEPT.fullmatch(name):
            chosen[name] = default
    if "readonly" in facts and facts["readonly"][0] == "0":
        chosen["readonly"] = "2"
    return chosen


_ROW_BY_ROW = frozenset(("MergeTree", "Memory", "Log", "TinyLog", "StripeLog"))
"""Engines in which a row stays the row that was inserted."""

_SUMMED_LATER = re.compile(r"\bTTL\b.*\bGROUP BY\b", re.DOTALL | re.IGNORECASE)
_CONSTANT = re.compile(r"|-?[0-9.e]+|'[^'\\]*'|NULL|true|false|\[\]", re.IGNORECASE)
_COMPUTED = (ColumnType(Kind.OTHER, native="a default that may be computed when it is read"), "")
"""Columns missing in older rows: one record's value might be computed from others there, or fail."""

_OWN = re.compile(r".*MergeTree.*|Memory|(?:Tiny|Stripe)?Log|.*View|Distributed|Merge|Dictionary|Alias")
"""Engines whose rows ClickHouse keeps itself, or that read other tables; the others read files."""

_DAYS_OUTSIDE = (ColumnType(Kind.OTHER, native="Date32 of a file: declare it as Int32, days since 1970"), "")
"""A file may hold days past the year 9999, and ClickHouse fails for all rows where there is one."""

_NO_TABLES = frozenset(
    (
        *(
            "Kafka",
            "RabbitMQ",
            "NATS",
            "FileLog",
            "S3Queue",
            "AzureQueue",
            "GenerateRandom",
            "Null",
            "Buffer",
        ),
        *("Set", "Join", "Loop", "FuzzJSON", "FuzzQuery", "WindowView", "LiveView"),
    )
)
"""Engines whose rows are gone when they are read, or are there for a while, or are made up."""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table as ClickHouse describes it.

    Attributes:
        asked: The name under which it was asked for.
        place: Its database and its name.
        engine: Who keeps its rows, such as MergeTree; copies on several servers make no difference.
        query: What a view reads; else nothing.
        schema: Its columns.
        reads: How each column that can be read is read.
    """

    asked: str
    place: tuple[str, str]
    engine: str
    query: str
    schema: Schema
    reads: Mapping[str, str] = field(repr=False)

    @property
    def path(self) -> str:
        """Its name in statements."""
        return ".".join(quoted(name, "`") for name in self.place)

    @property
    def row_by_row(self) -> bool:
        """True if a row stays the row that was inserted."""
        return self.engine in _ROW_BY_ROW

    @property
    def source(self) -> str:
        """The transformation of rows before prdp reads them, for a question's key."""
        return "" if self.row_by_row else (self.query or f"{self.engine} FINAL")

    def refuse_unless_records(self, *, rows_are_records: bool) -> None:
        """Refuse a table whose rows need not be records, unless the caller says that they are."""
        if self.engine in _NO_TABLES:
            raise InvalidRequest(
                f"{self.asked!r} has the engine {self.engine}, whose rows do not stay: copy them."
            )
        if self.row_by_row or rows_are_records:
            return
        what = (
            "merges rows in the background"
            if "MergeTree" in self.engine
            else "is made of other tables or comes from elsewhere"
        )
        raise InvalidRequest(
            f"{self.asked!r} has the engine {self.engine}: what it holds {what}, so that one row may hold "
            "values of several records. If each row, merged as FINAL merges them, is one record, say "
            "so: rows_are_records=True. Otherwise open the table that the records were inserted into."
        )


@dataclass(frozen=True, slots=True)
class KnownSettings:
    """A server's settings: name, value, default, whether somebody changed it, whether it cannot be."""

    known: tuple[tuple[str, str, str, int, int], ...]

    @property
    def plain(self) -> Mapping[str, str]:
        """The settings of statements that read no record."""
        return settings_for(self.known, final=False)

    def chosen(self, tables: Iterable[FoundTable]) -> Mapping[str, str]:
        """Return the settings for statements that read these tables."""
        return settings_for(self.known, final=not all(table.row_by_row for table in tables))


def known_settings(server: Server, shown: str) -> KnownSettings:
    """Ask a server for its settings."""
    found: list[tuple[Any, ...]] = []

    def ask() -> None:
        sql = "SELECT name, value, default, changed, readonly FROM system.settings"
        found.extend(
            catalogue_rows(server, sql, {"limit": "0", "offset": "0"})
        )  # else a part of them might be seen

    trouble = fails(ask)  # of a user who may change no setting, too
    if trouble:
        raise InvalidRequest(f"{shown} cannot be opened: {trouble}. Nothing was read.")
    return KnownSettings(tuple(found))


def find_table(server: Server, asked: str, settings: Mapping[str, str]) -> FoundTable | None:
    """Describe a table of the database that was opened or, with a point, of another; None if none."""
    database, _, name = asked.rpartition(".")
    places = [("currentDatabase()", asked), *([(_sql_text(database), name)] if database else [])]
    try:
        for where, called in places:
            found = _described(server, asked, where, _sql_text(called), settings)
            if found is not None:
                return found
    except Exception:  # its words may repeat what was given
        return None
    return None


def _described(
    server: Server, asked: str, database: str, name: str, settings: Mapping[str, str]
) -> FoundTable | None:
    which = f"database = {database} AND {{}} = {name}"
    listed = (
        "SELECT database, name, engine, as_select, engine_full FROM system.tables "
        f"WHERE {which.format('name')}"
    )
    tables = catalogue_rows(server, listed, settings)
    columns = catalogue_rows(
        server,
        f"SELECT name, type, default_expression FROM system.columns WHERE {which.format('table')} AND "
        "default_kind NOT IN ('ALIAS', 'MATERIALIZED', 'EPHEMERAL') ORDER BY position",
        settings,
    )
    if not tables or not columns:
        return None
    ((database, called, engine, query, whole),) = tables
    for prefix in ("Replicated", "Shared"):
        engine = engine.removeprefix(prefix)
    if _SUMMED_LATER.search(whole):
        engine = f"{engine} with TTL ... GROUP BY"
    hidden = [column for column, *_ in columns if "\\" in column]
    if hidden:
        raise InvalidRequest(
            f"the column {hidden[0]!r} has a backslash in its name: open a view that renames it."
        )
    outside = not _OWN.fullmatch(engine)
    known = {
        column: _read_as(column, native, default, outside=outside) for column, native, default in columns
    }
    return FoundTable(
        asked=asked,
        place=(database, called),
        engine=engine,
        query=query,
        schema={column: kind for column, (kind, _) in known.items()},
        reads={column: read for column, (_, read) in known.items()},
    )


def _read_as(column: str, native: str, default: str, *, outside: bool) -> tuple[ColumnType, str]:
    """Return the type of a column in prdp, and the SQL that reads it."""
    if not _CONSTANT.fullmatch(default):
        return _COMPUTED
    if outside and "Date32" in native:
        return _DAYS_OUTSIDE
    return read_as(native, quoted(column, "`"))


def catalogue_rows(server: Server, sql: str, settings: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Run a statement about the catalogue; texts are texts."""
    found = server.run(sql, settings)
    columns = [
        [one.decode() if isinstance(one, bytes) else one for one in column.to_pylist()]
        for column in found.columns
    ]
    return list(zip(*columns, strict=True))


def _sql_text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


Ask = Callable[[str], list[tuple[str, ...]]]
"""Runs a statement about the catalogue."""

Name = tuple[str, str]
"""A database and a table of it."""

_STORED = re.compile(r"(?:Replicated|Shared)?(?:\w*MergeTree|Memory|Log|TinyLog|StripeLog)")
_VIEWS = {"View", "MaterializedView"}
_SHOWN = {"view", "values", "null", "numbers", "numbers_mt", "zeros", "zeros_mt", "generate_series"}
"""Table functions that read nothing but what is in their arguments, where the parser shows it."""

_LOOKUPS = re.compile(r"dict|joinget|file$|getsetting|catboost|ai|llm", re.IGNORECASE)
"""Functions whose result is not in their arguments: of dictionaries, joins, files and models."""

_LINE = re.compile(r"^ *(?P<node>\w+)(?: (?P<rest>.*?))?(?: \(children \d+\))?$")
_ALIAS = " (alias "
_TARGET = re.compile(r" TO (?P<target>(?:`(?:[^`\\]|\\.)*`|[\w]+)\.(?:`(?:[^`\\]|\\.)*`|[\w]+))[ (]")


@dataclass(slots=True)
class _Trace:
    """Findings while views are expanded."""

    ask: Ask
    shown: str
    server: str
    own_functions: frozenset[str]
    tables: dict[Name, tuple[str, str, str]]
    found: list[Origins] = field(default_factory=list)
    seen: set[Name] = field(default_factory=set)

    def follow(self, name: Name) -> None:
        """Add all that a table or view shows."""
        if name in self.seen:
            return
        self.seen.add(name)
        words = ".".join(name)
        engine, query, _ = self.tables[name]
        self.found.append(
            Origins({("clickhouse", self.server, *name): f"the table {words!r} of {self.shown}"})
        )
        if engine in _VIEWS:
            self._query(name[0], query)
        elif name[0] in {"system", "information_schema", "INFORMATION_SCHEMA"}:
            self.found.append(untraced(f"{words}, which ClickHouse itself keeps of other tables"))
        elif name[1].startswith(".inner"):
            self.found.append(untraced(f"{words}, which holds the rows of a view"))
        elif not _STORED.fullmatch(engine):
            self.found.append(untraced(f"{words}, whose engine is {engine}"))
        for other, (kind, _, created) in self.tables.items():
            if kind == "MaterializedView" and _target(created) == name:
                self.follow(other)
        if engine == "MaterializedView" and (target := _target(self.tables[name][2])) in self.tables:
            self.follow(target)

    def _query(self, database: str, query: str) -> None:
        """Add all that a view's query names; whatever else it may read is not traced."""
        lines = [line for (line,) in self.ask(f"EXPLAIN AST {query}")]
        nodes = [found for line in lines if (found := _LINE.match(line))]
        if not query or len(nodes) != len(lines):
            self.found.append(untraced("a query that ClickHouse does not take apart"))
        inner = any(node["node"] == "WithElement" for node in nodes)
        above = ""
        for node in nodes:
            self._node(database, node["node"], node["rest"] or "", above=above, inner=inner)
            above = node["node"]

    def _node(self, database: str, node: str, rest: str, *, above: str, inner: bool) -> None:
        if node in {"TableIdentifier", "Identifier"}:
            tables = [table for table in _meant(database, rest) if table in self.tables]
            for table in tables:
                if node == "TableIdentifier" or "." in rest:  # a plain name elsewhere is a column's
                    self.follow(table)
            if node == "TableIdentifier" and not tables and not inner:
                self.found.append(untraced(f"{rest!r}, which is not a table"))
        elif node == "Function":
            name = rest.partition(_ALIAS)[0].lower()
            is_plain = name in self.own_functions and not _LOOKUPS.match(name)
            if name not in _SHOWN if above == "TableExpression" else not is_plain:
                self.found.append(untraced(f"the function {name}"))


def table_origins(ask: Ask, shown: str, names: Iterable[Name]) -> dict[Name, Origins]:
    """Return the origins of tables and views; reads no record.

    Args:
        ask: Runs a statement about the catalogue.
        shown: The server's address, without user and password.
        names: The tables, each with its database.
    """
    listed = ask("SELECT database, name, engine, as_select, create_table_query FROM system.tables")
    tables = {(database, name): (engine, query, made) for database, name, engine, query, made in listed}
    functions = ask("SELECT lower(name) FROM system.functions WHERE toString(origin) = 'System'")
    own = frozenset(name for (name,) in functions)
    ((server,),) = ask("SELECT toString(serverUUID())")  # whatever address leads there
    found = {}
    for name in names:
        trace = _Trace(ask, shown, server, own, tables)
        trace.follow(name)
        found[name] = Origins.union(trace.found)
    return found


def _meant(database: str, written: str) -> list[Name]:
    """Return the tables that a name in a syntax tree may mean; it has no quotes there, and maybe an alias."""
    meant = []
    ends = [found.start() for found in re.finditer(re.escape(_ALIAS), written)]
    for name in (written, *(written[:end] for end in ends)):
        meant.append((database, name))
        meant += [(name[:place], name[place + 1 :]) for place, mark in enumerate(name) if mark == "."]
    return meant


def _target(created: str) -> Name | None:
    """Return the table that a materialised view fills, if it is not its own."""
    found = _TARGET.search(created.partition(" AS SELECT")[0].partition(" AS WITH")[0])
    if found is None:
        return None
    parts = re.findall(r"`((?:[^`\\]|\\.)*)`|(\w+)", found["target"])
    database, table = (re.sub(r"\\(.)", r"\1", quoted) or plain for quoted, plain in parts)
    return database, table
