"""Read a public file: keys and tables that anybody may know. Never for private records."""

from __future__ import annotations

from pathlib import Path

import duckdb

from prdp.engines._sources import column_type
from prdp.errors import InvalidRequest
from prdp.schema import Kind

GUESSED_FROM = 1000
"""How many records of a file say what its columns hold."""


def public_values(path: Path, column: str, *, named: bool) -> list[object]:
    """Return the different values of a Parquet or CSV file's column, in their order.

    Args:
        path: The file; the values of a CSV file are texts.
        column: The column; of a file with one column, that one, unless it was ``named``.
        named: Whether somebody said that it is this column.
    """
    columns = public_columns(path)
    found = next((name for name in columns if name.lower() == column.lower()), None)
    if found is None and len(columns) == 1 and not named:
        (found,) = columns
    if found is None:
        raise InvalidRequest(f"{path.name} has no column {column}. It has {', '.join(columns)}.")
    return list(dict.fromkeys(columns[found]))


def public_columns(path: Path) -> dict[str, list[object]]:
    """Return the columns of a public Parquet or CSV file; a CSV file's are texts."""
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as database:
        try:
            if path.suffix.lower() in {".parquet", ".pq"}:
                rows = database.read_parquet(_plain(path))
            else:
                rows = database.read_csv(_plain(path), header=True, all_varchar=True)
            found = rows.fetchall()
        except duckdb.Error:
            raise InvalidRequest(f"{path.name} cannot be read as a public file.") from None
        return {name: [row[place] for row in found] for place, name in enumerate(rows.columns)}


def guessed_types(path: Path) -> dict[str, str]:
    """Return the SQL types that the first records of a public CSV file look like; of Parquet, its own."""
    delimiter = "\t" if ".tsv" in path.name else ","
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as database:
        try:
            if path.suffix.lower() in {".parquet", ".pq"}:
                rows = database.read_parquet(_plain(path))
            else:
                rows = database.read_csv(
                    _plain(path),
                    header=True,
                    delimiter=delimiter,
                    sample_size=GUESSED_FROM,
                    ignore_errors=True,
                )
        except duckdb.Error:
            raise InvalidRequest(f"{path.name} cannot be read as a file to guess types from.") from None
        found = zip(rows.columns, map(str, rows.types), strict=True)
        return {name: kind if column_type(kind).kind is not Kind.OTHER else "VARCHAR" for name, kind in found}


def _plain(path: Path) -> str:
    """Return a path in which no character is a glob's."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
