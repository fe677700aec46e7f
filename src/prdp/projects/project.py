"""A project: the private tables and joins that prdp.toml declares, opened by name."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prdp.declare.exact import Exact
from prdp.declare.owners import Owners
from prdp.engines import _csv, _database_files, _json_lines
from prdp.engines._origins import origin_of
from prdp.engines._readers import FILE_ENDINGS
from prdp.engines._sources import is_address
from prdp.errors import ExpressionError, InvalidRequest, NoLedgerFile, PolicyError, PrdpError
from prdp.ledger import is_begun
from prdp.policy import Policy
from prdp.projects.checked import check
from prdp.projects.fields import PUBLIC, SECTIONS
from prdp.projects.keys import PublicPlace, read_keys, read_public
from prdp.projects.named import named_in
from prdp.projects.roles import PublicSource, refuse_private_sources
from prdp.projects.written import NAME, Place, ProjectText, find, listed, read
from prdp.schema import Bounds, Grains, Schema
from prdp.tables.join import Join, open_join
from prdp.tables.roles import common_source
from prdp.tables.table import Table
from prdp.tables.table import open as open_table

if TYPE_CHECKING:
    from prdp.sql.results import SqlAnswers

_CATALOG = "spark"
"""The engine whose sources may be names of tables in a catalog."""

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_SAME = (
    "bounds",
    "grain",
    "types",
    "most_rows",
    "fixed",
    "edition",
    "table",
    "rows_are_records",
    "engine",
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


def _is_in_catalog(said: Mapping[str, Any]) -> bool:
    """Say whether a table is named in a catalog of Spark's, and is no file.

    >>> [_is_in_catalog({"engine": "spark", "source": one}) for one in ("bank.accounts", "data/a.parquet")]
    [True, False]
    """
    source = said["source"]
    is_file = isinstance(source, list) or "/" in source or source.endswith(FILE_ENDINGS)
    return said.get("engine") == _CATALOG and not is_file


def _is(source: Any, endings: tuple[str, ...]) -> bool:
    """Say whether files of a source have one of these endings."""
    return any(
        isinstance(one, str | Path) and str(one).endswith(endings)
        for given in _each(source, None)[0]
        for one in (given if isinstance(given, list) else [given])
    )


def _each(source: Any, table: str | None) -> tuple[list[Any], list[str | None]]:
    """Return the sources of a table or a join, and their names in a database."""
    return (list(source.values()), list(source)) if isinstance(source, dict) else ([source], [table])


@dataclass(frozen=True, slots=True)
class Facts:
    """What is public of a table: its columns, its policy within its bounds, and its listed keys."""

    schema: Schema
    policy: Policy
    bounds: Bounds
    keys: Mapping[str, Any]
    grain: Grains
    owners: Owners | None = None


@dataclass(frozen=True)
class Project(Mapping[str, Table | Join]):
    """The tables and joins of a project file by name; each is opened when it is first asked for."""

    file: ProjectText
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
        return {
            name: (section, said) for section in SECTIONS for name, said in content.get(section, {}).items()
        }

    def open(self, name: str, *, stand_in: object = None) -> Table | Join:
        """Open a table or a join; with a stand-in for its source, nothing is charged.

        Args:
            name: Its name in the project file.
            stand_in: Public or made-up records in place of the real ones: a file, a frame, or for a join a
                dict of them.
        """
        if stand_in is not None:
            self._refuse_itself(name, stand_in)
            return self._open(name, stand_in, {"stand_in": True})
        return self._open(name, None, {"ledger": self.ledger_of(name), "who": self.who})

    def facts(self, name: str) -> Facts:
        """Return the public facts of a table or join; its account is neither begun nor looked at."""
        opened = self._open(name, None, {"stand_in": True})  # asked nothing, and let go
        owners = opened.planner.owners
        return Facts(opened.schema, opened.policy, opened.bounds, self.keys_of(name), opened.grain, owners)

    def sql(
        self, text: str, *, share: Exact, shares: Mapping[str, Exact] | None = None, fresh: bool = False
    ) -> SqlAnswers:
        """Answer a SQL statement about the table or join that it names; see ``Table.sql``.

        Grouping columns have the keys that the project file lists, and its public tables can be joined.
        """
        name = named_in(text, self)
        if not self.is_begun(name):
            self.explain_sql(text, share=share, shares=shares)  # what is refused begins no account
        return self[name].sql(text, share=share, shares=shares, fresh=fresh, **self.listed_for(name))

    def explain_sql(self, text: str, *, share: Exact, shares: Mapping[str, Exact] | None = None) -> str:
        """Return what a statement would cost and do; nothing is charged, and no account is begun."""
        name = named_in(text, self)
        opened = self[name] if self.is_begun(name) else self._without_account(name)
        return opened.explain_sql(text, share=share, shares=shares, **self.listed_for(name))

    def _without_account(self, name: str) -> Table | Join:
        """Open a table or join for what charges nothing, so that no account is begun."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoLedgerFile)
            return self._open(name, None, {"who": self.who})

    def listed_for(self, name: str) -> dict[str, Any]:
        """Return what ``sql`` takes beside a statement: a table's listed keys, and the public tables."""
        self.refuse_private(name)
        tables = {
            table: read_public(said, self.folder) for table, said in self.file.content.get(PUBLIC, {}).items()
        }
        return {"keys": self.keys_of(name), "tables": tables}

    def tables_of(self, name: str) -> list[str]:
        """Return the names by which a statement can mean a table or join: of a join, its tables'."""
        section, said = self._said(name)
        return [name] if section == "tables" else list(said["tables"])

    def is_join(self, name: str) -> bool:
        """Say whether an entry is a join of several tables."""
        return self._said(name)[0] == "joins"

    def with_policy(self, name: str, policy: Mapping[str, Any]) -> Project:
        """Return the project with another policy of a table: ``policy``, ``at_most`` and ``at_least``."""
        return self._with(name, dict.fromkeys(("policy", "at_most", "at_least")) | dict(policy))

    def with_grains(self, name: str, grains: Mapping[str, str]) -> Project:
        """Return the project with other grains of a table."""
        return self._with(name, {"grain": dict(grains)})

    def _with(self, name: str, changed: Mapping[str, Any]) -> Project:
        """Return the project with other values of an entry's keys; None takes one away."""
        section, said = self._said(name)
        entry = {key: value for key, value in {**said, **changed}.items() if value is not None}
        content = {**self.file.content, section: {**self.file.content[section], name: entry}}
        return Project(replace(self.file, content=content), self.who)

    def ledger_of(self, name: str) -> Path | str:
        """Return where the account of a table is kept: a file, or the address of a database."""
        _, said = self._said(name)
        filled = self._filled(said.get("ledger", f"{name}.ledger"))
        return filled if "://" in filled else self.folder / filled

    def is_begun(self, name: str) -> bool:
        """Say whether a table has an account already."""
        return is_begun(self.ledger_of(name))

    @property
    def folder(self) -> Path:
        """The project file's folder; paths in the file are relative to it."""
        return self.file.path.parent

    def _open(self, name: str, stand_in: Any, account: Mapping[str, Any]) -> Table | Join:
        """Open an entry, or a stand-in for its source; what is wrong with it is named by its line."""
        section, said = self._said(name)
        self.refuse_private(name)
        try:
            opener = open_table if section == "tables" else open_join
            options = self._options(name, said)
            if stand_in is None:
                return opener(self._source_of(name), **options, **account)
            for key in ("database", "rows_are_records"):
                options.pop(key, None)
            if not _is(stand_in, (*_csv.ENDINGS, *_json_lines.ENDINGS)):
                options.pop("types", None)  # frames and Parquet files have their own
            if not _is(stand_in, _database_files.ENDINGS):
                options.pop("table", None)
            options.pop("engine", None)  # a stand-in is read by whoever it calls for
            return opener(stand_in, **options, **account)
        except PrdpError as error:
            if not self.file.text:
                raise
            about_policy = isinstance(error, ExpressionError | PolicyError)
            place = (section, name, "policy") if about_policy else (section, name)
            raise InvalidRequest(f"{self.file.path.name}, line {self.file.line_of(place)}: {error}") from None

    def _refuse_itself(self, name: str, stand_in: Any) -> None:
        """Refuse the real records as a stand-in: answers that cost nothing would give them away."""
        section, said = self._said(name)
        table = said.get("table")
        if any(map(is_address, _each(stand_in, table)[0])):
            raise InvalidRequest(
                f"a stand-in for {name!r} is a file or a frame: whether a table of a database is the real "
                "one cannot always be seen. Copy public or made-up records like them into a file."
            )
        if "database" in said or (section == "tables" and _is_in_catalog(said)):
            return  # a catalog's files are its own affair
        real, like = (
            [origin_of(one, table=name) for one, name in zip(*_each(source, table), strict=True)]
            for source in (self._source_of(name), stand_in)
        )
        shared = next(filter(None, (common_source(real, one) for one in like)), "")
        if shared:
            raise InvalidRequest(
                f"the stand-in is the table {name!r} itself ({shared}): answers that cost nothing would "
                "give its records away. Take public or made-up records like them."
            )

    def refuse_private(self, name: str) -> None:
        """Refuse a private source as one of the public ones that questions about an entry may read."""
        section, said = self._said(name)
        files: list[tuple[Place, str]] = [
            ((PUBLIC, table), file) for table, file in self.file.content.get(PUBLIC, {}).items()
        ]
        for column, keys in said.get("keys", {}).items():
            if isinstance(keys, dict) and "file" in keys:
                files.append(((section, name, "keys", column), keys["file"]))
        public = [PublicSource(place, str(self.folder / file)) for place, file in files]
        for table, source in self._files_of(name):
            if table in said.get("public", ()):
                public.append(PublicSource((section, name, "tables", table), source))
        private = [
            (table, source)
            for entry in self
            for table, source in self._files_of(entry)
            if table not in self._said(entry)[1].get("public", ())
        ]
        refuse_private_sources(self.file, public, private)

    def _files_of(self, name: str) -> list[tuple[str, Any]]:
        """Return the sources of an entry that are files, by their tables; none of a database or catalog."""
        section, said = self._said(name)
        if "database" in said or (section == "tables" and _is_in_catalog(said)):
            return []
        try:
            source = self._source_of(name)
        except InvalidRequest:  # a variable that is not set: told when it is opened
            return []
        return list(source.items()) if section == "joins" else [(name, source)]

    def _said(self, name: str) -> tuple[str, Mapping[str, Any]]:
        if name not in self._entries:
            raise InvalidRequest(f"{self.file.path.name} has no {name!r}. It has {listed(list(self))}.")
        return self._entries[name]

    def _options(self, name: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of open or open_join that an entry says."""
        options = {key: said[key] for key in _SAME if key in said}
        if "database" in said:
            options["database"] = self._filled(said["database"])
        if "owner" in said:
            options["protect"] = said["owner"]
        limits = {limit: said[limit] for limit in ("at_most", "at_least") if limit in said}
        return options | {"name": name, "policy": Policy(said["policy"], **limits)}

    def keys_of(self, name: str) -> dict[str, Any]:
        """Return the listed keys of a table's grouping columns."""
        self.refuse_private(name)
        _, said = self._said(name)
        return {
            column: read_keys(value, column, self.folder, self._database_of(name))
            for column, value in said.get("keys", {}).items()
        }

    def refused_keys(self, name: str, column: str, keys: Any) -> str:
        """Return why a table cannot be grouped by these keys; empty where it can. Reads no record."""
        opened = self._open(name, None, {"stand_in": True})  # asked nothing, and let go
        if not isinstance(opened, Table):
            return ""
        try:
            opened.group_by(column, keys=keys)
        except InvalidRequest as error:
            return str(error)
        return ""

    def _database_of(self, name: str) -> Callable[[], PublicPlace] | None:
        """Return what says in which database an entry is, and which tables there are private."""
        section, said = self._said(name)
        if section == "joins" and "database" in said:
            private = [
                table for called, table in said["tables"].items() if called not in said.get("public", ())
            ]
            return lambda: (self._filled(said["database"]), private)
        if section == "tables" and "table" in said:
            return lambda: (self._filled(said["source"]), [said["table"]])
        return None

    def _source_of(self, name: str) -> Any:
        section, said = self._said(name)
        if section == "tables":
            if _is_in_catalog(said):
                return self._filled(said["source"])
            return self._source(said["source"])
        if "database" in said:
            return dict(said["tables"])
        return {table: self._source(source) for table, source in said["tables"].items()}

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
