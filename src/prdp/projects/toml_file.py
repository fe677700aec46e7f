"""Find prdp.toml, read it, name the line of an entry, and fill in the environment's addresses."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from prdp.engines.registry import is_database_address
from prdp.errors import InvalidRequest, Part
from prdp.safety.database_address import is_database

SAFE_FOLDERS = "PRDP_SAFE_FOLDERS"
"""The environment variable that lists folders whose project files are trusted, whoever owns them."""

_ROOT = 0


def refuse_foreign(path: Path, uid: int) -> None:
    """Refuse a project file unless you or the administrator own it, its link and its folder.

    Args:
        path: The project file.
        uid: The user id of the file that was opened.

    Raises:
        InvalidRequest: Somebody else owns one of them, and no variable says that this is fine.
    """
    if not hasattr(os, "geteuid"):  # where files have no user id
        return
    trusted = {os.geteuid(), _ROOT} | _who_called_sudo()
    if {uid, path.lstat().st_uid, path.parent.stat().st_uid} <= trusted or _is_listed(path.parent):
        return
    raise InvalidRequest(
        f"{path} or its folder is owned by somebody else, who could decide where your passwords and answers "
        f"go. If you trust it: export {SAFE_FOLDERS}={path.parent}"
    )


def _who_called_sudo() -> set[int]:
    called = os.environ.get("SUDO_UID", "")
    return {int(called)} if os.geteuid() == _ROOT and called.isdecimal() else set()


def _is_listed(folder: Path) -> bool:
    listed = [Path(one) for one in os.environ.get(SAFE_FOLDERS, "").split(os.pathsep) if one]
    return any(one.is_absolute() and one.resolve() == folder.resolve() for one in listed)


NAME = "prdp.toml"
Place = tuple[str, ...]
_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class ProjectText:
    """A project file as it is written.

    Attributes:
        path: Its path; paths in it are relative to its folder.
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

    def wrong(self, place: Place, *reason: Part) -> InvalidRequest:
        """Return an error that names the file, the line and the key."""
        named = ".".join(place)
        return InvalidRequest(f"{self.path.name}, line {self.line_of(place)}: {named}: ", *reason)

    def refused(self, place: Place, predicate: str) -> InvalidRequest:
        r"""Return an error in whose sentence the key, or else the file, is the subject.

        >>> file = ProjectText(Path("release.toml"), 'share = 0.1\n', {"share": 0.1})
        >>> str(file.refused(("share",), "is small.")), str(file.refused((), "has no title."))
        ('release.toml, line 1: share is small.', 'release.toml, line 1: release.toml has no title.')
        """
        named = ".".join(place) or self.path.name
        return InvalidRequest(f"{self.path.name}, line {self.line_of(place)}: {named} {predicate}")


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


def read(path: Path, *, own: bool = False) -> ProjectText:
    """Read a project file; a mistake of its spelling is named by its line.

    Args:
        path: The file.
        own: Whether to refuse a file that somebody else owns.
    """
    try:
        with path.open(encoding="utf-8") as file:
            if own:
                refuse_foreign(path.absolute(), os.fstat(file.fileno()).st_uid)
            text = file.read(_LONGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidRequest(f"{path.name} cannot be read: {reason}.") from None
    if len(text) > _LONGEST:
        raise InvalidRequest(f"{path.name} is longer than {_LONGEST:,} characters: put keys into files.")
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:  # integers of thousands of digits among them
        raise InvalidRequest(f"{path.name} is no TOML: {error}.") from None
    return ProjectText(path, text, content)


def listed(names: Sequence[str]) -> str:
    """Return names in words.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_ANY = re.compile(r"\$\{(\w*)\}?")
_WHOLE = re.compile(r"\$\{(\w+)\}")


def refused_variable(text: str) -> str:
    """Return the reason why a text with a variable in it is refused; empty where it is not.

    >>> refused_variable("${BANK_URL}"), refused_variable("accounts.csv")
    ('', '')
    >>> refused_variable("postgresql://${TOKEN}@db.example/bank")[:40]
    'writes ${TOKEN} into a longer text, and '
    """
    found = _ANY.search(text)
    if found is None or _WHOLE.fullmatch(text):
        return ""
    name = found[1] or "NAME"
    return (
        f"writes ${{{name}}} into a longer text, and so could send any variable to any host. A variable "
        f'holds a whole address of a database, with its host: "${{{name}}}".'
    )


def from_environment(text: str) -> str:
    """Return a text, or the address of a database that the variable ``${NAME}`` holds.

    Raises:
        InvalidRequest: The variable is not set or holds something else, which is not repeated.
    """
    if reason := refused_variable(text):
        raise InvalidRequest(f"this {reason}")
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        return text
    value = os.environ.get(whole[1])
    if value is None:
        raise InvalidRequest(f"the environment variable {whole[1]} is not set.")
    if not (is_database(value) or is_database_address(value)):
        raise InvalidRequest(
            f"the environment variable {whole[1]} holds no address of a database, and nothing else is read "
            "from one; what it holds is not repeated here. Write paths into the project file, relative to it."
        )
    return value
