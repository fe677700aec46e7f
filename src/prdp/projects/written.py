"""Find prdp.toml, read it, and name the line on which a thing stands."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from prdp.errors import InvalidRequest

NAME = "prdp.toml"
Place = tuple[str, ...]
_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class ProjectText:
    """A project file as it is written.

    Attributes:
        path: Where it is; paths in it are relative to its folder.
        text: Its text.
        content: What the text says; decimals are exact.
    """

    path: Path
    text: str
    content: Mapping[str, Any]

    def line_of(self, place: Place) -> int:
        r"""Return the line on which a key's value ends; the nearest key around it where there is none.

        >>> file = ProjectText(Path("prdp.toml"), '[tables.t]\nsource = "t.csv"\n', {})
        >>> file.line_of(("tables", "t", "source")), file.line_of(("tables", "t", "polcy"))
        (2, 1)
        """
        lines = self.text.splitlines(keepends=True)
        for end in range(1, len(lines) + 1):
            try:
                content = tomllib.loads("".join(lines[:end]))
            except tomllib.TOMLDecodeError:
                continue  # in the middle of a value of several lines
            if _holds(content, place):
                return end
        return self.line_of(place[:-1]) if place else 1

    def wrong(self, place: Place, reason: str) -> InvalidRequest:
        """Return an error that names the file, the line and the key."""
        named = ".".join(place)
        return InvalidRequest(f"{self.path.name}, line {self.line_of(place)}: {named}: {reason}")


def _holds(content: Any, place: Place) -> bool:
    for key in place:
        if not isinstance(content, dict) or key not in content:
            return False
        content = content[key]
    return True


def find(start: Path) -> Path:
    """Return the project file of a folder: in it, or in the nearest folder around it."""
    folder = start.resolve()
    for place in (folder, *folder.parents):
        if (place / NAME).is_file():
            return place / NAME
    raise InvalidRequest(
        f"there is no {NAME} here or in a folder around this one. Begin one with: prdp init. Or name the "
        'table: prdp ask "SELECT COUNT(*) FROM accounts" --table accounts.parquet --policy 1 --share 0.1'
    )


def read(path: Path) -> ProjectText:
    """Read a project file; a mistake of its spelling is named by its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidRequest(f"{path.name} cannot be read: {reason}.") from None
    if len(text) > _LONGEST:
        raise InvalidRequest(f"{path.name} is longer than {_LONGEST:,} characters: put keys into files.")
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidRequest(f"{path.name} is no TOML: {error}.") from None
    return ProjectText(path, text, content)


def listed(names: Sequence[str]) -> str:
    """Return names in words.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
