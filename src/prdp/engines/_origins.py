"""Find a table's origin by public facts: its files, its memory, its tables of a database.

Two tables with a common origin are one table in two roles. A record's own row would then be in the other one
too, where it belongs to another record and is protected by that one's budget. Copies cannot be recognised.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.engines._database_files import DatabaseTable, in_database
from prdp.engines._lakes import lake_folder
from prdp.engines._readers import FILE_ENDINGS
from prdp.engines._sources import is_address, local_files
from prdp.engines._spark_plans import SparkPlan
from prdp.engines.duckdb import ask_relation
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import text_literal

Span = tuple[int, int]
"""Addresses in memory, from the first to after the last."""

Name = tuple[str, ...]
"""A table's database, schema and name; empty where it is not said."""

_LOCAL = re.compile(r"^file:(?://)?(?=/)")
_AS = re.compile(r"\bAS\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The origin of a table, as far as it can be told.

    Attributes:
        source: The source itself.
        files: The files it is read from, each with a name of it.
        tables: The tables of a database that a relation reads.
        spans: Where its columns lie in memory.
        kept: What lies there; kept, so that nothing else takes its place.
    """

    source: object
    files: Mapping[tuple[int, int], str] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()
    spans: tuple[Span, ...] = ()
    kept: tuple[object, ...] = ()

    def shared(self, other: Origin) -> str:
        """Return in words what two tables have in common; empty if nothing is known to be."""
        files = self.files.keys() & other.files.keys()
        if files:
            return f"the file {min(self.files[file] for file in files)!r}"
        if self.source is other.source:
            return "the same object"
        tables = self.tables & other.tables
        if tables:
            return f"the table {min(tables)!r}"
        return "the same memory" if _overlap(self.spans, other.spans) else ""


def origin_of(  # noqa: PLR0911  (one return a kind of source)
    source: object, engine: object = None, table: str | None = None
) -> Origin:
    """Return where a table, or a column of one, comes from; reads no record.

    Args:
        source: What was given; of a database, its address is not kept, since it may hold a password.
        engine: Who reads it, if it is open; of a database, it knows which table that is.
        table: Of a database's file, the table's name.
    """
    place = getattr(engine, "place", None)
    if place is not None:
        return Origin(engine, tables=frozenset((str(place),)))
    if is_address(source):
        return Origin(engine or object())
    given = None if table is None else in_database(source, None)
    if isinstance(given, DatabaseTable):
        return Origin(source, tables=frozenset({_in_file(given.file, str(table))}))
    if isinstance(source, str | Path) or _are_files(source):
        return Origin(source, _files(source))
    if type(source).__name__ == "DuckDBPyRelation":
        files, tables = _read_by(source)
        return Origin(source, files, tables)
    if any(kind.__module__.startswith("pyspark") for kind in type(source).mro()):
        return Origin(source, tables=SparkPlan.of(source).places())  # any attribute of it is a column
    if paths := list(_paths(source)):
        return Origin(source, dict(map(_identity, paths)))
    kept = tuple(_columns(source))
    spans = sorted(span for column in kept for span in _spans(column))
    return Origin(source, spans=tuple(spans), kept=kept)


def origins_of(tables: Mapping[str, object], engine: object) -> dict[str, Origin]:
    """Return where the tables of a join come from, by their names there."""
    places: Mapping[str, frozenset[str]] | None = getattr(engine, "places", None)
    if places is not None:
        return {name: Origin(object(), tables=read) for name, read in places.items()}
    return {name: origin_of(source, table=name) for name, source in tables.items()}


def _are_files(source: object) -> bool:
    """Say whether a list is one of files; it may be one of keys."""
    return (
        isinstance(source, list | tuple)
        and bool(source)
        and all(isinstance(one, str | Path) and str(one).endswith(FILE_ENDINGS) for one in source)
    )


def _in_file(file: str, table: str) -> str:
    """Return what a table in a database's file is called here; its schema need not be said."""
    return f"{table.rpartition('.')[2].lower()} of {file}"


def _files(source: object) -> dict[tuple[int, int], str]:
    """Return what each file is, under whatever name: links lead to the same one."""
    if isinstance(source, str | Path) and (folder := lake_folder(Path(source))):
        return dict([_identity(str(folder))])
    return dict(map(_identity, local_files(source)))


def _identity(file: str) -> tuple[tuple[int, int], str]:
    found = Path(file).stat()
    return (found.st_dev, found.st_ino), file


def _paths(source: Any) -> Iterator[str]:
    """Return the local files of an Arrow data set, or the local folder of a Delta or Iceberg table."""
    children = getattr(source, "children", None)
    if isinstance(children, list):
        for child in children:
            yield from _paths(child)
    elif getattr(getattr(source, "filesystem", None), "type_name", "") == "local":
        yield from source.files
    location = getattr(source, "table_uri", None) or getattr(source, "location", str)
    folder = _LOCAL.sub("", str(location() if callable(location) else location))
    if folder and Path(folder).is_dir():
        yield folder


def _overlap(some: tuple[Span, ...], others: tuple[Span, ...]) -> bool:
    """Return whether a span of some ascending ones meets one of the others."""
    ends = _reach(others)
    for first, end in some:
        before = bisect_left(others, (end,))  # those that begin before this one ends
        if before and ends[before - 1] > first:
            return True
    return False


def _reach(spans: tuple[Span, ...]) -> list[int]:
    """Return how far each span, or one before it, reaches."""
    reach: list[int] = []
    for _, end in spans:
        reach.append(max(end, reach[-1]) if reach else end)
    return reach


def _columns(source: Any) -> Iterator[object]:
    """Return a frame's columns as they lie in memory: arrays of NumPy or of Arrow; none is copied."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(source).mro()}
    if isinstance(source, np.ndarray):
        yield source
    elif isinstance(source, Mapping):
        yield from (column for value in source.values() for column in _columns(value))
    elif "pyarrow" in kinds:
        columns = source.columns if hasattr(source, "columns") else [source]
        yield from (chunk for column in columns for chunk in getattr(column, "chunks", [column]))
    elif "polars" in kinds:
        yield from _polars_columns(source)
    elif "pandas" in kinds and hasattr(source, "iloc") and source.ndim == 2:
        places = range(source.shape[1])
        yield from (part for place in places for part in _pandas_column(source.iloc[:, place]))
    elif "pandas" in kinds and hasattr(source, "array"):
        yield from _pandas_column(source)


def _polars_columns(source: Any) -> Iterator[object]:
    frame = source.to_frame() if hasattr(source, "to_frame") else source
    try:
        table = frame.to_arrow(compat_level=sys.modules["polars"].CompatLevel.newest())  # others copy texts
    except Exception:  # an old Polars, or a column of Python objects: nothing can be told
        return
    yield from _columns(table)


def _pandas_column(column: Any) -> Iterator[object]:
    """Return what a pandas column is made of, for those types that need no copy for it."""
    kind, array = column.dtype, column.array
    if isinstance(kind, np.dtype):
        yield column.to_numpy()
    elif hasattr(array, "codes"):
        yield array.codes
    elif getattr(kind, "storage", "") == "pyarrow" or type(kind).__name__ == "ArrowDtype":
        yield from _columns(array.__arrow_array__())
    elif hasattr(kind, "numpy_dtype"):  # numbers with a mask; without Arrow there is no way to their memory
        with suppress(ImportError):
            yield from _columns(array.__arrow_array__())


def _spans(column: Any) -> list[Span]:
    if isinstance(column, np.ndarray):
        return _array_spans(column)
    buffers = column.buffers() if hasattr(column, "buffers") else []
    return [(buffer.address, buffer.address + buffer.size) for buffer in buffers if buffer and buffer.size]


def _array_spans(array: NDArray[Any]) -> list[Span]:
    """Return from where to where an array reaches; columns of one rectangle reach into each other.

    An empty one has its place too: whether a table has rows must not decide.
    """
    address = int(array.ctypes.data)
    steps = [max(0, length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
    low, high = sum(min(0, step) for step in steps), sum(max(0, step) for step in steps)
    return [(address + low, address + high + array.itemsize)]


def _read_by(relation: Any) -> tuple[dict[tuple[int, int], str], frozenset[str]]:
    """Return the files and the tables that a relation's text names, with its views written out.

    The text and the catalogue are public; a plan would depend on statistics of the records.
    """
    files: dict[tuple[int, int], str] = {}
    tables: set[str] = set()
    texts, seen = [str(relation.sql_query())], set[Name]()
    while texts:
        names, constants = _named(relation, texts.pop())
        for name in names - seen:
            own, views = _catalogued(relation, name)
            tables |= own
            texts += views
            constants |= set() if own or views else {name[-1]}  # FROM 'staff.parquet'
        seen |= names
        for constant in constants:
            files |= _files_if_any(constant)
    return files, frozenset(tables)


def _named(relation: Any, text: str) -> tuple[set[Name], set[str]]:
    """Return what a query or a view reads: names of tables, and texts that may be names of files."""
    for start in (0, *(found.end() for found in _AS.finditer(text))):  # CREATE VIEW name (columns) AS query
        found = ask_relation(relation, f"SELECT json_serialize_sql({text_literal(text[start:])})")
        tree = json.loads(found[0][0]) if found else {}
        if tree.get("error") is False:
            nodes = list(_nodes(tree))
            inner = {
                str(one["key"]).lower() for node in nodes for one in node.get("cte_map", {}).get("map", [])
            }
            read = {
                tuple(str(node.get(part) or "") for part in ("catalog_name", "schema_name", "table_name"))
                for node in nodes
                if node.get("type") == "BASE_TABLE"
            }
            calls = [node for node in nodes if node.get("type") == "TABLE_FUNCTION"]
            constants = {text for call in calls for node in _nodes(call) for text in _texts(node)}
            return {name for name in read if name[-1].lower() not in inner}, constants
    return set(), set()


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Return every node of a tree in JSON."""
    if isinstance(tree, dict):
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(child)


def _texts(node: Mapping[str, Any]) -> Iterator[str]:
    """Return the text of a constant, as DuckDB's versions write it."""
    for key in ("text", "value"):
        if isinstance(node.get(key), str):
            yield node[key]


def _catalogued(relation: Any, name: Name) -> tuple[set[str], list[str]]:
    """Return the tables of a database that a name may mean, and the texts of such views."""
    catalog, schema, table = map(text_literal, map(str.lower, name))
    found = [
        ask_relation(
            relation,
            f"SELECT coalesce(path, ''), database_name, schema_name, {kind}_name, sql FROM duckdb_{kind}s() "
            f"JOIN duckdb_databases() USING (database_name) WHERE lower({kind}_name) = {table} "
            f"AND ({catalog} = '' OR lower(database_name) = {catalog}) "
            f"AND ({schema} = '' OR lower(schema_name) = {schema} OR lower(database_name) = {schema})",
        )
        for kind in ("table", "view")
    ]
    own = {".".join((path or base, *rest)) for path, base, *rest, _ in found[0]}
    own |= {_in_file(str(Path(path).resolve()), row[-1]) for path, _, *row, _ in found[0] if path}
    return own, [row[-1] for row in found[1]]


def _files_if_any(name: str) -> dict[tuple[int, int], str]:
    try:
        return _files(name)
    except (InvalidRequest, OSError, ValueError):
        return {}
