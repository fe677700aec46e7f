"""Origins of ClickHouse's tables and views, by its catalogue and its own parser; no record is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from prdp.engines.origins import Origins, untraced

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
    """What is found while views are written out."""

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
                self.found.append(untraced(f"{rest!r}, which is no table"))
        elif node == "Function":
            name = rest.partition(_ALIAS)[0].lower()
            is_plain = name in self.own_functions and not _LOOKUPS.match(name)
            if name not in _SHOWN if above == "TableExpression" else not is_plain:
                self.found.append(untraced(f"the function {name}"))


def table_origins(ask: Ask, shown: str, names: Iterable[Name]) -> dict[Name, Origins]:
    """Return the origins of tables and views; reads no record.

    Args:
        ask: Runs a statement about the catalogue.
        shown: Where the server is, without user and password.
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
