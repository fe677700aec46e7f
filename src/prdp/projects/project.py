"""A project: the private tables and joins that prdp.toml declares, opened by name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prdp.errors import ExpressionError, InvalidRequest, PolicyError, PrdpError
from prdp.policy import Policy
from prdp.projects.checked import check
from prdp.projects.keys import read_keys
from prdp.projects.written import NAME, Written, find, listed, read
from prdp.tables.join import Join, open_join
from prdp.tables.table import Table
from prdp.tables.table import open as open_table

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SAME = (
    "bounds",
    "grain",
    "types",
    "most_rows",
    "fixed",
    "edition",
    "table",
    "public",
    "private",
    "key",
    "references",
)


def project(path: Path | str | None = None) -> Project:
    """Open a project file, by default the nearest prdp.toml here or in a folder around this one.

    Tables are opened when they are asked for: ``prdp.project("prdp.toml")["accounts"]``.

    Raises:
        InvalidRequest: There is none, or something in it is wrong; the message names the line.
    """
    where = find(Path.cwd()) if path is None else Path(path)
    file = read(where / NAME if where.is_dir() else where)
    check(file)
    return Project(file)


@dataclass(frozen=True)
class Project(Mapping[str, Table | Join]):
    """The tables and joins of a project file by name; each is opened when it is first asked for."""

    file: Written
    who: str | None = None
    _opened: dict[str, Table | Join] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> Table | Join:
        if name not in self._opened:
            self._opened[name] = self.open(name)
        return self._opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<project {self.file.path}: {', '.join(self._entries)}>"

    @property
    def _entries(self) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """For each name, its section and what the file says of it."""
        content = self.file.content
        return {name: (section, said) for section in content for name, said in content[section].items()}

    def open(self, name: str, *, stand_in: object = None) -> Table | Join:
        """Open a table or a join; with a stand-in for its source, nothing is charged.

        Args:
            name: Its name in the project file.
            stand_in: Public or made-up records in place of the real ones: a file, a frame, or for a join a
                dict of them.
        """
        if name not in self._entries:
            raise InvalidRequest(f"{self.file.path.name} has no {name!r}. It has {listed(list(self))}.")
        section, said = self._entries[name]
        try:
            return (self._table if section == "tables" else self._join)(name, said, stand_in)
        except PrdpError as error:
            about_policy = isinstance(error, ExpressionError | PolicyError)
            place = (section, name, "policy") if about_policy else (section, name)
            if not self.file.text:
                raise
            raise InvalidRequest(f"{self.file.path.name}, line {self.file.line_of(place)}: {error}") from None

    def ledger_of(self, name: str) -> Path:
        """Return where the account of a table is kept."""
        _, said = self._entries[name]
        return self.folder / self._filled(said.get("ledger", f"{name}.ledger"))

    @property
    def folder(self) -> Path:
        """The project file's folder; paths in the file are relative to it."""
        return self.file.path.parent

    def _table(self, name: str, said: Mapping[str, Any], stand_in: object) -> Table:
        return open_table(
            self._source(said["source"]) if stand_in is None else stand_in,
            **self._options(name, said, stand_in),
        )

    def _join(self, name: str, said: Mapping[str, Any], stand_in: object) -> Join:
        real = {table: self._source(source) for table, source in said["tables"].items()}
        return open_join(real if stand_in is None else stand_in, **self._options(name, said, stand_in))

    def _options(self, name: str, said: Mapping[str, Any], stand_in: object) -> dict[str, Any]:
        """Return the arguments that open and open_join share, and those that this entry has."""
        options = {key: said[key] for key in _SAME if key in said}
        if "owner" in said:
            options["protect"] = said["owner"]
        if "keys" in said:
            keys = {column: read_keys(value, column, self.folder) for column, value in said["keys"].items()}
            options["keys"] = keys
        limits = {limit: said[limit] for limit in ("at_most", "at_least") if limit in said}
        options |= {"name": name, "policy": Policy(said["policy"], **limits)}
        account = (
            {"stand_in": True} if stand_in is not None else {"ledger": self.ledger_of(name), "who": self.who}
        )
        return options | account

    def _source(self, said: str | list[str]) -> object:
        """Return a source as ``prdp.open`` takes it: paths from the project's folder, variables filled in."""
        if isinstance(said, list):
            return [self._source(one) for one in said]
        filled = self._filled(said)
        return filled if "://" in filled else str(self.folder / filled)

    def _filled(self, text: str) -> str:
        """Fill in ``${NAME}`` from the environment."""
        missing = [name for name in _VARIABLE.findall(text) if name not in os.environ]
        if missing:
            raise InvalidRequest(f"the environment variable {missing[0]} is not set.")
        return _VARIABLE.sub(lambda found: os.environ[found[1]], text)
