"""Origins of a DuckDB query: its tables and files, by DuckDB's own parser and catalogue.

Views and macros are written out. A plan would not do: it names no files, and statistics of the records decide
what is left of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from prdp.engines.duckdb.database import FUNCTIONS, own_functions
from prdp.engines.origins import Origins, database_table, path_origins, untraced
from prdp.engines.sources.checks import matching_files
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import text_literal

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement about the catalogue."""

Name = tuple[str, str, str]
"""A table's database, schema and name; empty where not given."""

_IDENTIFIER = r'(?:"(?:[^"]|"")*"|[\w$]+)'
_VIEW = re.compile(
    rf"CREATE\s+(?:TEMP(?:ORARY)?\s+)?VIEW\s+{_IDENTIFIER}(?:\.{_IDENTIFIER})*"
    rf"\s*(?:\(\s*{_IDENTIFIER}(?:\s*,\s*{_IDENTIFIER})*\s*\))?\s*AS\s",
    re.IGNORECASE,
)
_LOCAL = re.compile(r"^file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
_FROM = {"BASE_TABLE", "TABLE_FUNCTION", "SUBQUERY", "JOIN", "EXPRESSION_LIST", "EMPTY"}
_MADE_UP = {"range", "generate_series", "unnest"}
_READERS = {
    *("read_parquet", "parquet_scan", "read_csv", "read_csv_auto", "read_text", "read_blob"),
    *("read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto"),
}
_HIDDEN = {"getvariable", "query", "query_table", "getenv", "json_execute_serialized_sql"}
"""Functions whose result is neither in their arguments nor in a table that the text names."""

_PLAIN = {"CONSTANT", "CAST", "COMPARISON", "OPERATOR"}
_LISTS = {"list_value", "struct_pack", "row", "map"}

_TABLES = """
    SELECT coalesce(path, ''), type, database_name, schema_name, table_name, '', t.internal
    FROM system.main.duckdb_tables() AS t JOIN system.main.duckdb_databases() USING (database_name)
  UNION ALL
    SELECT coalesce(path, ''), type, database_name, schema_name, view_name, coalesce(sql, ''), v.internal
    FROM system.main.duckdb_views() AS v JOIN system.main.duckdb_databases() USING (database_name)
"""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A table or a view of the catalogue."""

    path: str
    kind: str
    database: str
    schema: str
    name: str
    sql: str
    internal: bool

    def is_called(self, name: Name) -> bool:
        """Return whether a name may mean it; without a schema, any may be meant."""
        database, schema, table = map(str.lower, name)
        return (
            self.name.lower() == table
            and database in {"", self.database.lower()}
            and schema in {"", self.schema.lower(), self.database.lower()}
        )

    def origins(self) -> Origins:
        """Return the origins of a table; a view's are those of its query."""
        words = f"{self.database}.{self.schema}.{self.name}"
        if self.internal:
            return untraced(f"{words}, which tells of other tables")
        if self.kind != "duckdb":
            return untraced(f"{words}, which is in a database of {self.kind}")
        if self.path and Path(self.path).is_file():
            return database_table(Path(self.path).resolve(), self.schema, self.name)
        return Origins({("duckdb", self.database, self.schema, self.name): f"the table {words!r}"})


@dataclass(slots=True)
class _Trace:
    """Findings while views and macros are expanded."""

    ask: Ask
    entries: list[_Entry]
    functions: Mapping[str, list[str]]
    found: list[Origins] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def follow(self, text: str) -> None:
        """Add all that a query reads."""
        if text in self.seen:
            return
        self.seen.add(text)
        query = text[found.end() :] if (found := _VIEW.match(text)) else text
        nodes = list(_scoped(_parsed(self.ask, query)))
        if not nodes:
            self.found.append(untraced("SQL that DuckDB does not take apart"))
        for node, inner in nodes:
            self._look_at(node, inner)

    def _look_at(self, node: Mapping[str, Any], inner: frozenset[str]) -> None:
        kind = node.get("type")
        if {"alias", "sample"} <= node.keys() and "class" not in node and kind not in _FROM:
            self.found.append(untraced(f"{kind} in its SQL"))
        elif kind == "BASE_TABLE":
            self._table(_name(node), inner)
        elif kind == "TABLE_FUNCTION":
            self._table_function(node["function"])
        elif node.get("class") in {"FUNCTION", "WINDOW"}:
            self._function(str(node["function_name"]).lower())
        elif node.get("class") == "PARAMETER":
            self.found.append(untraced("a parameter, whose value its SQL does not show"))

    def _table(self, name: Name, inner: frozenset[str]) -> None:
        entries = [entry for entry in self.entries if entry.is_called(name)]
        for entry in entries:
            if entry.sql and not entry.internal:
                self.follow(entry.sql)
            self.found.append(entry.origins())
        if not entries and not (name[-1].lower() in inner and name[:2] == ("", "")):
            written = ".".join(filter(None, name))
            self.found.append(self._files([written]))

    def _table_function(self, call: Mapping[str, Any]) -> None:
        name = str(call.get("function_name", "")).lower()
        if name in _READERS and name not in self.functions:
            texts = _constants(call)
            reason = untraced(f"{name} of files that its SQL computes")
            self.found.append(reason if texts is None else self._files(texts))
        elif name not in _MADE_UP and name not in self.functions:
            self.found.append(untraced(f"the function {name}"))

    def _function(self, name: str) -> None:
        for definition in self.functions.get(name, ()):
            if definition:  # a macro's: a query, or an expression
                is_query = bool(_parsed(self.ask, definition))
                self.follow(definition if is_query else f"SELECT {definition}")
            else:
                self.found.append(untraced(f"the function {name}, which is not DuckDB's own"))
        if name in _HIDDEN | _volatile():
            self.found.append(untraced(f"the function {name}"))

    def _files(self, texts: list[str]) -> Origins:
        """Return the origins of files, under names of which each may be a glob, and some may be options."""
        files = []
        for text in texts:
            local = _LOCAL.sub("", text)
            if "://" in local:
                return untraced(f"{local.partition('://')[0]}://, which is not local")
            listed = self.ask(f"SELECT file FROM system.main.glob({text_literal(local)})")
            files += [*matching_files(local), *(str(file) for (file,) in listed)]
        there = sorted({str(Path(file).resolve()) for file in files if Path(file).is_file()})
        if not there:
            named = ", ".join(map(repr, texts))
            return untraced(f"{named}, which is neither a table of its catalogue nor a file")
        try:
            return path_origins(there)
        except InvalidRequest:  # a file of a Delta or Iceberg table, say
            return untraced(f"the file {there[0]!r}, which is a part of another table")


def query_origins(ask: Ask, text: str) -> Origins:
    """Return the origins of a query's rows; reads no record.

    Args:
        ask: Runs a statement in the query's database.
        text: The query.
    """
    entries = [_Entry(*row) for row in ask(_TABLES)]
    functions: dict[str, list[str]] = {}
    for function in set(ask(FUNCTIONS)) - own_functions():
        name, _, _, definition, _ = function
        functions.setdefault(str(name), []).append(str(definition))
    trace = _Trace(ask, entries, functions)
    trace.follow(text)
    return Origins.union(trace.found)


@cache
def _volatile() -> frozenset[str]:
    """Return DuckDB's own functions that tell of more than their arguments: a sequence's state, say."""
    return frozenset(name for name, _, _, _, stability in own_functions() if stability == "VOLATILE")


def _parsed(ask: Ask, text: str) -> Any:
    found = ask(f"SELECT json_serialize_sql({text_literal(text)})")
    tree = json.loads(found[0][0]) if found else {}
    return tree if tree.get("error") is False and len(tree["statements"]) == 1 else {}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Return every node of a tree in JSON."""
    if isinstance(tree, dict):
        if tree:
            yield tree
        for child in tree.values():
            yield from _nodes(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from _nodes(child)


def _scoped(
    tree: Any, inner: frozenset[str] = frozenset()
) -> Iterator[tuple[dict[str, Any], frozenset[str]]]:
    """Return every node with the names of the common table expressions that it may read.

    One reads those before it, and itself in the recursive part alone: its name is else a table's or a file's.
    """
    if isinstance(tree, list):
        for child in tree:
            yield from _scoped(child, inner)
    if not isinstance(tree, dict) or not tree:
        return
    for one in tree.get("cte_map", {}).get("map", []):
        yield from _scoped(one["value"], inner)
        inner |= {str(one["key"]).lower()}
    yield tree, inner
    for key, child in tree.items():
        own = {str(tree.get("cte_name", "")).lower()} if key == "right" else set()
        if key != "cte_map":
            yield from _scoped(child, inner | own)


def _name(node: Mapping[str, Any]) -> Name:
    database, schema, table = (
        str(node.get(part) or "") for part in ("catalog_name", "schema_name", "table_name")
    )
    return database, schema, table


def _constants(call: Mapping[str, Any]) -> list[str] | None:
    """Return the texts among a call's arguments; None if one of them is more than constants."""
    texts: list[str] = []
    named: set[int] = set()  # union_by_name = true is a comparison, in DuckDB before 2.0
    for node in _nodes(call):
        kind = node.get("class")
        if kind == "COMPARISON":
            named.add(id(node.get("left")))
        if kind == "FUNCTION" and node is not call and node["function_name"] not in _LISTS:
            return None
        if kind == "COLUMN_REF" and id(node) not in named:
            return None
        if kind not in {None, "FUNCTION", "COLUMN_REF"} | _PLAIN:
            return None
        if kind == "CONSTANT":
            texts += _texts(node)
    return texts


def _texts(node: Mapping[str, Any]) -> Iterator[str]:
    """Return the text of a constant, as DuckDB's versions write it."""
    for one in _nodes(node):
        for key in ("text", "value"):
            if isinstance(one.get(key), str):
                yield one[key]
