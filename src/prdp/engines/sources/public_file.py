"""Read a public file: keys and tables that anybody may know. Never for private records."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from prdp.engines.sources.checks import column_type
from prdp.errors import InvalidRequest
from prdp.schema import Kind

GUESSED_FROM = 1000
"""Number of records from which the types of a file's columns are inferred."""

_PARQUET = {".parquet", ".pq"}
_SEPARATORS = ",;|\t"
_NO_SEPARATOR = "\x1f"
"""A character that no list of keys has."""


def public_values(path: Path, column: str, *, named: bool) -> list[object]:
    """Return the different values of a Parquet or CSV file's column, or of a list, in their order.

    The first line of a text or CSV file with one column is its head only if it is the column's name.

    Args:
        path: The file; the values of a text or CSV file are texts.
        column: The column; of a file with one column, that one, unless it was ``named``.
        named: Whether the caller named this column.
    """
    is_parquet = path.suffix.lower() in _PARQUET
    if not is_parquet and not named and (listed := _listed(path, column)) is not None:
        return list(dict.fromkeys(listed))
    columns = public_columns(path)
    found = next((name for name in columns if name.lower() == column.lower()), None)
    if found is None and len(columns) == 1 and not named and is_parquet:
        (found,) = columns
    if found is None:
        raise InvalidRequest(f"{path.name} has no column {column}. It has {', '.join(columns)}.")
    return list(dict.fromkeys(columns[found]))


def _listed(path: Path, column: str) -> list[str] | None:
    """Return the lines of a file with one column, without its head if it has one; None if it has several.

    It has one if its first line has one; each line is a key then, with its commas. Of a .txt file, a first
    line with commas is a key too, unless the column's name is there.
    """
    lines = _lines(path)
    is_text = path.suffix.lower() == ".txt"
    for separator in _SEPARATORS if lines else "":
        heads = [head.strip().lower() for head in next(csv.reader(lines[:1], delimiter=separator))]
        if len(heads) > 1 and (not is_text or column.lower() in heads):
            return None
    keys = [next(csv.reader([line], delimiter=_NO_SEPARATOR))[0] for line in lines]
    return keys[1:] if keys and keys[0].strip().lower() == column.lower() else keys


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file that are not empty."""
    with _reading(path, "a public file") as database:
        rows = database.read_csv(
            _plain(path), header=False, all_varchar=True, delimiter=_NO_SEPARATOR, quotechar="",
            escapechar="", columns={"line": "VARCHAR"}, auto_detect=False,
        ).fetchall()  # fmt: skip
    return [line for (line,) in rows if line]


def public_columns(path: Path) -> dict[str, list[object]]:
    """Return the columns of a public Parquet or CSV file; a CSV file's are texts."""
    with _reading(path, "a public file") as database:
        if path.suffix.lower() in _PARQUET:
            rows = database.read_parquet(_plain(path))
        else:
            rows = database.read_csv(_plain(path), header=True, all_varchar=True)
        found = rows.fetchall()
        return {name: [row[place] for row in found] for place, name in enumerate(rows.columns)}


def guessed_types(path: Path) -> dict[str, str]:
    """Return the SQL types that the first records of a public CSV file look like; of Parquet, its own."""
    delimiter = "\t" if ".tsv" in path.name else ","
    with _reading(path, "a file to guess types from") as database:
        if path.suffix.lower() in _PARQUET:
            rows = database.read_parquet(_plain(path))
        else:
            rows = database.read_csv(
                _plain(path), header=True, delimiter=delimiter, sample_size=GUESSED_FROM, ignore_errors=True
            )
        found = zip(rows.columns, map(str, rows.types), strict=True)
        return {name: kind if column_type(kind).kind is not Kind.OTHER else "VARCHAR" for name, kind in found}


@contextmanager
def _reading(path: Path, what: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Have a database to read a public file with; one that cannot be read is refused."""
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as database:
        try:
            yield database
        except duckdb.Error:
            raise InvalidRequest(f"{path.name} cannot be read as {what}.") from None


def _plain(path: Path) -> str:
    """Return a path in which no character is a glob's."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
