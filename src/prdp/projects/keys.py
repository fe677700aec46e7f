"""Read the public keys that a project file lists, or that a public file holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prdp.declare.key_search import PRIVATE
from prdp.engines._given import public_values_of
from prdp.engines._public_file import public_columns, public_values
from prdp.errors import InvalidRequest

PublicPlace = tuple[str, Sequence[str]]
"""The address of a database, and its private tables."""


def read_keys(said: Any, column: str, folder: Path, database: Callable[[], PublicPlace] | None = None) -> Any:
    """Return the keys of a column: a list, the values of a public file or table, or how they are found.

    Args:
        said: What the project file says of them.
        column: The grouping column.
        folder: Where files are.
        database: Where public tables are, and which tables there are private.
    """
    if isinstance(said, Mapping) and "table" in said:
        return _values(said["table"], said.get("column", column), database)
    if isinstance(said, Mapping) and "file" not in said:
        return dict(said)
    if not isinstance(said, Mapping):
        return said if said == PRIVATE else list(said)
    path = folder / said["file"]
    if not path.is_file():
        raise InvalidRequest(f"there is no file {said['file']}.")
    return public_values(path, said.get("column", column), named="column" in said)


def _values(table: str, column: str, database: Callable[[], PublicPlace] | None) -> list[object]:
    """Return the values of a column of a public table in the database of the private one."""
    if database is None:
        raise InvalidRequest(
            f'keys = {{ table = "{table}" }} is for a table of a database: write {{ file = "jobs.csv" }}.'
        )
    address, private = database()
    return public_values_of(address, table, column, private)


def read_public(said: str, folder: Path) -> dict[str, list[object]]:
    """Return the columns of a public file, to be joined in statements."""
    path = folder / said
    if not path.is_file():
        raise InvalidRequest(f"there is no file {said}.")
    return public_columns(path)
