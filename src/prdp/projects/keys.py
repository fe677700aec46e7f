"""Read the public keys that a project file lists, or that a public file holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prdp.declare.key_search import PRIVATE
from prdp.engines._public_file import public_columns, public_values
from prdp.errors import InvalidRequest


def read_keys(said: Any, column: str, folder: Path) -> Any:
    """Return the keys of a column: a list, the values of a public file's column, or how they are found."""
    if isinstance(said, Mapping) and "file" not in said:
        return dict(said)
    if not isinstance(said, Mapping):
        return said if said == PRIVATE else list(said)
    path = folder / said["file"]
    if not path.is_file():
        raise InvalidRequest(f"there is no file {said['file']}.")
    return public_values(path, said.get("column", column), named="column" in said)


def read_public(said: str, folder: Path) -> dict[str, list[object]]:
    """Return the columns of a public file, to be joined in statements."""
    path = folder / said
    if not path.is_file():
        raise InvalidRequest(f"there is no file {said}.")
    return public_columns(path)
