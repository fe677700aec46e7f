"""Check sources by public facts: file names, column names, types, folders of lakes; never by rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted, text_literal
from prdp.schema import PYTHON_OBJECTS, ColumnType, Kind

LOCAL_FILE = re.compile(r"^file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
"""Prefix of a local file's address, before its path."""

_WHOLE = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
}
_KINDS = {
    **dict.fromkeys(("FLOAT", "DOUBLE"), Kind.NUMBER),
    **dict.fromkeys(("VARCHAR", "ENUM"), Kind.TEXT),
    "BOOLEAN": Kind.BOOLEAN,
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), Kind.MOMENT),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMPTZ_NS"), Kind.MOMENT),  # in UTC
}
_DECIMAL = re.compile(r"DECIMAL\(\d{1,2},\s*\d{1,2}\)")
_SYNONYMS = {
    **dict.fromkeys(("TEXT", "STRING", "CHAR", "CHARACTER", "CHARACTER VARYING", "NVARCHAR"), "VARCHAR"),
    **dict.fromkeys(("INT", "INT4", "INT32"), "INTEGER"),
    **dict.fromkeys(("INT8", "INT64", "LONG"), "BIGINT"),
    **dict.fromkeys(("INT2", "INT16", "SHORT"), "SMALLINT"),
    **dict.fromkeys(("NUMBER", "DOUBLE PRECISION", "FLOAT8", "FLOAT64"), "DOUBLE"),
    **dict.fromkeys(("REAL", "FLOAT4", "FLOAT32"), "FLOAT"),
    **dict.fromkeys(("DECIMAL", "NUMERIC"), "DECIMAL(18,3)"),
    **dict.fromkeys(("DATETIME", "TIMESTAMP WITHOUT TIME ZONE"), "TIMESTAMP"),
    "BOOL": "BOOLEAN",
    "MONEY": "DECIMAL(18,2)",
}
"""Types as other databases and pandas call them, as DuckDB does."""
_SIZED = re.compile(r"(\w[\w ]*?)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_FRAMES = {("pyarrow", "Table"), ("pandas", "DataFrame"), ("polars", "DataFrame")}
_ACCEPTED = (
    "Give a path, a glob or a list of files (Parquet, CSV, JSON lines, Arrow), a table of a DuckDB or SQLite "
    "file, a Delta or Iceberg folder, a DuckDB relation, an Arrow table or data set, a pandas or Polars "
    "frame, or a dict of NumPy arrays."
)
_ONCE = {"RecordBatchReader": "reader.read_all()", "Scanner": "scanner.to_table()"}
"""Objects that can be read only once, and what to pass instead."""


GLOB_MARK = re.compile(r"[*?\[]")
"""Characters that make a name a glob, to DuckDB."""


def column_type(native: str) -> ColumnType:
    """Return the type of a DuckDB column in prdp.

    UHUGEINT is nothing to it: DuckDB cannot compare the largest ones with a negative number.
    """
    if native.startswith("ENUM("):
        native = "ENUM"  # its list may have been made from the records
    if native in _WHOLE:
        return ColumnType(Kind.NUMBER, integer=True, native=native)
    if _DECIMAL.fullmatch(native):
        return ColumnType(Kind.NUMBER, native=native)
    kind = _KINDS.get(native, Kind.OTHER)
    return ColumnType(kind, native=re.split(r"[(\[]", native)[0] if kind is Kind.OTHER else native)


def sql_types(types: Mapping[str, str]) -> dict[str, str]:
    """Return declared types under DuckDB's names; what is none of them as it is.

    >>> sql_types({"age": "int", "job": "varchar(20)", "balance": "numeric(12, 2)", "opened": "datetime"})
    {'age': 'INTEGER', 'job': 'VARCHAR', 'balance': 'DECIMAL(12,2)', 'opened': 'TIMESTAMP'}
    """
    return {name: _sql_type(native) if isinstance(native, str) else native for name, native in types.items()}


def _sql_type(native: str) -> str:
    called = " ".join(native.upper().split())
    if sized := _SIZED.fullmatch(called):
        name, digits, scale = sized[1], sized[2], sized[3] or "0"
        if name in {"DECIMAL", "NUMERIC"}:
            return f"DECIMAL({digits},{scale})"
        if name == "VARCHAR" or _SYNONYMS.get(name) == "VARCHAR":
            return "VARCHAR"
    return _SYNONYMS.get(called, native)


def local_files(source: object) -> list[str]:
    """Return the files that a path, a glob or a list of such names; each once."""
    paths = source if isinstance(source, list | tuple) else [source]
    if not paths or not all(isinstance(path, str | Path) for path in paths):
        raise InvalidRequest(
            f"a list of files holds paths, one or more: ['a.parquet', 'b.parquet']. {_ACCEPTED}"
        )
    files = [file for path in map(str, paths) for file in _named_files(path)]
    _refuse_unreadable(files)
    refuse_repeated(files)
    refuse_lake_files(files)
    return files


def _named_files(path: str) -> list[str]:
    if is_address(path):
        raise InvalidRequest(
            f"{_without_secrets(path)!r} is not a local file. Open it with DuckDB and give prdp.open the "
            "relation; a table of a database is given as prdp.open('postgresql://user@host/database', "
            "table='accounts')."
        )
    files = matching_files(path)
    if not files:
        found = "a folder" if Path(path).expanduser().is_dir() else "no file"
        raise InvalidRequest(f"{path!r} is {found}. Write a path, or a glob such as 'accounts/*.parquet'.")
    return files


def is_address(source: object) -> bool:
    """Return whether a text is an address, and no path."""
    return isinstance(source, str) and "://" in source


def _without_secrets(address: str) -> str:
    """Return an address without user, password and options.

    >>> _without_secrets("https://ana:secret@host/accounts.parquet?key=1")
    'https://host/accounts.parquet'
    """
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def matching_files(path: str) -> list[str]:
    """Return the files that there are under a name, or that a glob meets."""
    try:
        wanted = str(Path(path).expanduser())
        named = [wanted] if Path(wanted).exists() else sorted(glob(wanted, recursive=True))
        return [file for file in named if Path(file).is_file()]
    except (OSError, ValueError, RuntimeError):  # what can be no path, such as one with NUL in it
        return []


def _refuse_unreadable(files: Sequence[str]) -> None:
    """Refuse a file whose name cannot be passed to an engine."""
    for file in files:
        if any("\ud800" <= letter <= "\udfff" for letter in file):  # how Python writes what is no UTF-8
            raise InvalidRequest(f"{file!r} cannot be read: its name is not UTF-8. Rename it.")


def listed_files(files: Sequence[str]) -> str:
    """Return files as a list in SQL, each read as itself: DuckDB takes every name for a glob.

    Else a file ``a[1].parquet`` would be ``a1.parquet``, whose records would count twice if both are there.
    """
    for file in files:
        if "\\" in file and GLOB_MARK.search(file):
            raise InvalidRequest(f"{file!r} cannot be read: rename it, without a backslash or without *?[.")
    return ", ".join(text_literal(GLOB_MARK.sub(r"[\g<0>]", file)) for file in files)


def refuse_repeated(files: Sequence[str]) -> None:
    """Refuse one file that is named twice, maybe by links: each of its records would count twice."""
    seen: dict[tuple[int, int], str] = {}
    for file in files:
        facts = Path(file).stat()
        first = seen.get((facts.st_dev, facts.st_ino))
        seen[facts.st_dev, facts.st_ino] = file
        if first is not None:
            raise InvalidRequest(
                f"{first!r} and {file!r} are one file, whose records would count twice. Name it once."
            )


def refuse_repeated_addresses(addresses: Iterable[str], folder: str = "") -> None:
    """Refuse a Delta or Iceberg table whose log lists one local file under several spellings of its path.

    Args:
        addresses: The files that the log lists.
        folder: The table's folder, where the library writes it before paths that are absolute already.
    """
    found = (_local_file(address, LOCAL_FILE.sub("", folder)) for address in addresses)
    refuse_repeated([file for file in found if file is not None])


def _local_file(address: str, folder: str) -> str | None:
    """Return the local file that a table's log lists; None for one that is elsewhere, or is not there."""
    path = LOCAL_FILE.sub("", address)
    paths = [path, path.removeprefix(folder.rstrip("/"))] if folder else [path]
    spelled = (one for given in paths for one in (given, unquote(given)))
    return next((one for one in spelled if not is_address(one) and Path(one).is_file()), None)


def common_columns(described: Iterable[Sequence[Any]]) -> list[str]:
    """Return the columns of Parquet files, or refuse files whose columns differ.

    Each library that writes Parquet has a name of its own for the root, and ways of its own to store a type.

    Args:
        described: Rows of (file, name, children, type as it is read), as Parquet's footers list them.
    """
    files: dict[str, list[tuple[Any, ...]]] = {}
    for file, *facts in described:
        files.setdefault(file, []).append(tuple(facts))
    first = next(iter(files))
    for file, facts in files.items():
        if facts[1:] != files[first][1:]:
            raise InvalidRequest(f"{file!r} and {first!r} have different columns or types.")
    names = _top_names(files[first])
    refuse_ambiguous(names)
    return names


def _top_names(tree: list[tuple[Any, ...]]) -> list[str]:
    """Return the names right below the root of a Parquet schema, which lists parents before children."""
    names, inside = [], 0
    for name, children, *_ in tree[1:]:
        if inside == 0:
            names.append(str(name))
        else:
            inside -= 1
        inside += int(children or 0)
    return names


def refuse_ambiguous(names: Sequence[str]) -> None:
    """Refuse columns that differ in capitals alone: SQL would take one for the other."""
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise InvalidRequest(
                f"the columns {seen[name.lower()]!r} and {name!r} have the same name except for upper "
                "and lower case. Rename one: SQL cannot distinguish them."
            )
        seen[name.lower()] = name


def frame_columns(source: object) -> dict[str, bool]:
    """Return a frame's columns, and whether each may hold anything at all, as Python objects can."""
    if isinstance(source, dict):
        columns = list(_array_columns(source).items())
    elif any((kind.__module__.partition(".")[0], kind.__name__) in _FRAMES for kind in type(source).mro()):
        columns = _table_columns(source)
    else:
        kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
        lazy = " Collect it first." if type(source).__name__ == "LazyFrame" else ""
        if instead := _ONCE.get(type(source).__name__):
            raise InvalidRequest(
                f"prdp.open cannot read this {kind}: it can be read once, and every question reads the "
                f"records anew. Give {instead}, or the files or the data set that it reads."
            )
        raise InvalidRequest(f"prdp.open cannot read this {kind}.{lazy} {_ACCEPTED}")
    refuse_ambiguous([name for name, _ in columns])  # two columns of one name too: which is read?
    return dict(columns)


def _array_columns(source: dict[object, Any]) -> dict[str, bool]:
    lengths = set()
    for name, column in source.items():
        if not isinstance(name, str) or not isinstance(column, np.ndarray) or column.ndim != 1:
            raise InvalidRequest(
                f"the column {name!r} is no one-dimensional NumPy array but a {type(column).__name__}. "
                "Write numpy.asarray(...) around a list."
            )
        if isinstance(column, np.ma.MaskedArray):
            raise InvalidRequest(
                f"the column {name!r} has a mask, which not every version of the engine sees: what it hides "
                f"would be read. pyarrow.table({{{name!r}: pyarrow.array(column)}}) keeps it."
            )
        lengths.add(len(column))
    if len(lengths) != 1:
        raise InvalidRequest("a dict of NumPy arrays needs one column or more, all of one length.")
    return {str(name): column.dtype.kind == "O" for name, column in source.items()}


def _table_columns(source: Any) -> list[tuple[str, bool]]:
    if type(source).__module__.startswith("polars") and find_spec("pyarrow") is None:
        raise InvalidRequest("a Polars frame needs pyarrow: pip install 'prdp[polars]'.")
    if hasattr(source, "column_names"):
        return [(name, False) for name in source.column_names]
    if not hasattr(source, "dtypes") or isinstance(source.dtypes, list):
        return [(name, False) for name in source.columns]
    return [(str(name), str(kind) == "object") for name, kind in source.dtypes.items()]


def declared_casts(columns: Mapping[str, bool], types: Mapping[str, str]) -> str:
    """Return a frame's columns as SQL, with the declared types where there are any."""
    refuse_bad_types(list(columns), types)
    for name in types:
        if columns[name]:
            raise InvalidRequest(
                f"the column {name!r} holds Python objects, which may be anything. "
                + ColumnType(Kind.OTHER, native=PYTHON_OBJECTS).conversion
            )
    return ", ".join(
        f"TRY_CAST({quoted(name)} AS {types[name]}) AS {quoted(name)}" if name in types else quoted(name)
        for name in columns
    )


def refuse_bad_types(columns: Sequence[str], types: Mapping[str, str]) -> None:
    """Refuse declared types of columns that are not there, or that prdp does not read."""
    for name, native in types.items():
        if name not in columns:
            raise InvalidRequest(f"types= names {name!r}, but the columns are {', '.join(columns)}.")
        if not isinstance(native, str) or column_type(native.upper()).kind is Kind.OTHER:
            raise InvalidRequest(
                f"{native!r}, the type of {name!r}, is not a type that prdp reads. Write INTEGER, BIGINT, "
                "DOUBLE, DECIMAL(18,2), VARCHAR, BOOLEAN, DATE, TIMESTAMP or TIMESTAMPTZ."
            )


METADATA = ".metadata.json"
"""Suffix of the files that describe an Iceberg table."""


def is_delta(folder: Path) -> bool:
    """Return whether a folder is a Delta table."""
    return (folder / "_delta_log").is_dir()


def is_iceberg(folder: Path) -> bool:
    """Return whether a folder is an Iceberg table."""
    return next((folder / "metadata").glob(f"*{METADATA}"), None) is not None


def lake_folder(path: Path) -> Path | None:
    """Return the folder of the Delta or Iceberg table that a path names; None where it names none."""
    try:
        path = path.expanduser()
        if path.name.endswith(METADATA) and path.is_file():
            return path.parent.parent
        return path if path.is_dir() and (is_delta(path) or is_iceberg(path)) else None
    except (OSError, ValueError, RuntimeError):  # what can be no path, such as one that is too long
        return None


def refuse_lake_files(files: Sequence[str]) -> None:
    """Refuse files of a Delta or Iceberg table: rows that were deleted may still be in them."""
    seen: dict[Path, str] = {}
    for file in files:
        path = Path(file)
        for folder in {*path.absolute().parents, *path.resolve().parents}:
            if folder not in seen:
                seen[folder] = _kind(folder)
            if seen[folder]:
                raise InvalidRequest(
                    f"{file!r} is a file of {seen[folder]} table, and rows that were deleted from that may "
                    f"still be in it. Give the table's folder: prdp.open({str(folder)!r}, ...)."
                )


def _kind(folder: Path) -> str:
    return "a Delta" if is_delta(folder) else "an Iceberg" if is_iceberg(folder) else ""
