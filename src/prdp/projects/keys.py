"""Read the public keys that a project file lists, or that a public file holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from prdp.errors import InvalidRequest

PRIVATE = "private"
"""Written in place of keys that nobody lists: a question finds them, and pays for it."""


def read_keys(said: Any, column: str, folder: Path) -> list[object] | str:
    """Return the keys of a column: a list, the values of a public file's column, or ``PRIVATE``."""
    if not isinstance(said, Mapping):
        return said if said == PRIVATE else list(said)
    path = folder / said["file"]
    if not path.is_file():
        raise InvalidRequest(f"there is no file {said['file']}.")
    return _values(path, said.get("column", column), named="column" in said)


def _values(path: Path, column: str, *, named: bool) -> list[object]:
    """Return a column of a public Parquet or CSV file; of a file with one column, that one."""
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as database:
        try:
            if path.suffix.lower() in {".parquet", ".pq"}:
                rows = database.read_parquet(_plain(path))
            else:
                rows = database.read_csv(_plain(path), header=True, all_varchar=True)
            columns = rows.columns
            found = next((name for name in columns if name.lower() == column.lower()), None)
            if found is None and len(columns) == 1 and not named:
                found = columns[0]
            if found is None:
                raise InvalidRequest(
                    f"{path.name} has no column {column}. It has {', '.join(columns)}: write "
                    f'{{ file = "{path.name}", column = "{columns[0]}" }}.'
                )
            place = columns.index(found)
            return list(dict.fromkeys(row[place] for row in rows.fetchall()))
        except duckdb.Error:
            raise InvalidRequest(f"{path.name} cannot be read as a file of keys.") from None


def _plain(path: Path) -> str:
    """Return a path in which no character is a glob's."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
