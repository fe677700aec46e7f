"""A project: the private tables and joins that prdp.toml declares, opened by name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prdp.declare.exact import Exact
from prdp.declare.key_search import PRIVATE
from prdp.declare.units import PrivacyUnit
from prdp.engines.origins import Origins, files_origins
from prdp.engines.registry import database_origins, public_values_of
from prdp.engines.sources import database_files, text_files
from prdp.engines.sources.checks import is_address
from prdp.engines.sources.public_file import public_columns, public_values
from prdp.engines.sources.readers import FILE_ENDINGS
from prdp.engines.tracing import source_origins
from prdp.errors import ExpressionError, InvalidRequest, NoLedgerFile, PolicyError, PrdpError
from prdp.ledger import is_begun
from prdp.plan.explain import Explanation
from prdp.policy import Policy
from prdp.projects.fields import PUBLIC, SECTIONS, bare_or_quoted, check, written
from prdp.projects.toml_file import NAME, Place, ProjectText, find, from_environment, listed, read
from prdp.schema import Bounds, Kind, Rounding, Schema
from prdp.tables.arguments import common_source, untraced_reason
from prdp.tables.join import Join, open_join
from prdp.tables.table import Table
from prdp.tables.table import open as open_table

if TYPE_CHECKING:
    from prdp.sql.results import SqlAnswers


PublicPlace = tuple[str, Sequence[str]]
"""The address of a database, and its private tables."""


def read_keys(
    entry: Any, column: str, folder: Path, database: Callable[[], PublicPlace] | None = None
) -> Any:
    """Return the keys of a column: a list, the values of a public file or table, or how they are found.

    Args:
        entry: What the project file says of them.
        column: The grouping column.
        folder: Where files are.
        database: Where public tables are, and which tables there are private.
    """
    if isinstance(entry, Mapping) and "table" in entry:
        return _values(entry["table"], entry.get("column", column), database)
    if isinstance(entry, Mapping) and "file" not in entry:
        return dict(entry)
    if not isinstance(entry, Mapping):
        return entry if entry == PRIVATE else list(entry)
    path = folder / entry["file"]
    if not path.is_file():
        raise InvalidRequest(f"there is no file {entry['file']}.")
    return public_values(path, entry.get("column", column), named="column" in entry)


def _values(table: str, column: str, database: Callable[[], PublicPlace] | None) -> list[object]:
    """Return the values of a column of a public table in the database of the private one."""
    if database is None:
        raise InvalidRequest(
            f'keys = {{ table = "{table}" }} is for a table of a database: write {{ file = "jobs.csv" }}.'
        )
    address, private = database()
    return public_values_of(address, table, column, private)


def read_public(entry: str, folder: Path) -> dict[str, list[object]]:
    """Return the columns of a public file, to be joined in statements."""
    path = folder / entry
    if not path.is_file():
        raise InvalidRequest(f"there is no file {entry}.")
    return {name: _typed(values) for name, values in public_columns(path).items()}


def _typed(values: list[object]) -> list[object]:
    """Return the texts of a CSV file's column as numbers or dates, where every one of them is written as one.

    A text such as 01, which no number is written as, keeps a column as it is.
    """
    there = [value for value in values if value not in {None, ""}]
    if not there or not all(isinstance(value, str) for value in there):
        return values
    for kind, made in ((_NUMBER, exact_number_in), (_DAY, date.fromisoformat)):
        if all(kind.fullmatch(str(value)) for value in there):
            try:
                return [None if value in {None, ""} else made(str(value)) for value in values]
            except ValueError:
                return values
    return values


def _of_kinds(listed: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return listed keys with numbers in place of texts for the columns that hold numbers."""
    kinds = {column.lower(): kind.kind for column, kind in schema.items()}
    return {
        column: _typed(keys) if isinstance(keys, list) and kinds.get(column.lower()) is Kind.NUMBER else keys
        for column, keys in listed.items()
    }


def exact_number_in(text: str) -> int | float:
    """Return the number that a text is: a whole one, or the nearest double."""
    return float(text) if "." in text else int(text)


_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,12})?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class PublicSource:
    """A source that a project declares to be public.

    Attributes:
        place: Where the project file says so.
        source: A file, a glob, or a list of such.
        table: Of a database's file, the table.
    """

    place: Place
    source: Path | str | list[str]
    table: str | None = None


def refuse_private_sources(
    file: ProjectText, public: Sequence[PublicSource], private: Sequence[tuple[str, object, str | None]]
) -> None:
    """Refuse a public source that shares a file with a private one, under whatever name.

    Args:
        file: The project file, whose line is named.
        public: What it declares to be public.
        private: Its private sources, each with its name in the project and, in a database's file, its table.
    """
    if not public:
        return
    origins = [(name, found) for name, source, table in private for found in _origins(source, table)]
    for one in public:
        for given in _origins(one.source, one.table):
            for name, origin in origins:
                if shared := common_source([origin], given):
                    raise _refusal(file, one.place, name, shared)


def _origins(source: object, table: str | None) -> Iterator[Origins]:
    """Yield the origins of a source; a missing source is reported when it is opened."""
    for one in source if isinstance(source, list) else [source]:
        with suppress(InvalidRequest, OSError):
            yield _file_origins(one, table)


def _file_origins(source: object, table: str | None) -> Origins:
    """Return the origins of a file; of a database that cannot be looked into now, the whole of it."""
    try:
        return source_origins(source, table)
    except InvalidRequest:
        if isinstance(source, str | Path) and Path(source).is_file():
            return files_origins([source])
        raise


def _refusal(file: ProjectText, place: Place, name: str, shared: str) -> InvalidRequest:
    reason = (
        f"this is the private table {name} itself ({shared}), and which values occur there may give a record "
        "away."
    )
    column = place[-1]
    if "keys" not in place:
        which = "this line" if place[0] == PUBLIC else f"{column} in public"
        return file.wrong(place, f"{reason} Leave {which} out, or name a file that anybody may know.")
    listed = "Write the list of keys that anybody may know"
    if not file.text:  # options declare the table
        return InvalidRequest(
            f"--keys of {column}: {reason} {listed}, --keys {column}=a,b,c, or have them found: "
            f"--keys {column}=private"
        )
    key = bare_or_quoted(column)
    return file.wrong(place, f'{reason} {listed}, {key} = ["a", "b"], or have them found: {key} = "private".')


_CATALOG = "spark"
"""The engine whose sources may be names of tables in a catalog."""

_SAME = (
    "bounds",
    "round_to",
    "types",
    "max_rows",
    "immutable",
    "snapshot",
    "table",
    "rows_are_records",
    "engine",
    "public",
    "public_by_declaration",
    "private",
    "key",
    "references",
)


def project(path: Path | str | None = None) -> Project:
    """Open a project file, by default the nearest prdp.toml here or in a folder around this one.

    Tables are opened when they are asked for: ``prdp.project("prdp.toml")["accounts"]``.

    Raises:
        InvalidRequest: There is none, somebody else owns it, or something in it is wrong; the message names
            the line.
    """
    where = find(Path.cwd()) if path is None else Path(path)
    file = read(where / NAME if where.is_dir() else where, own=True)
    check(file)
    return Project(file)


def _is_in_catalog(entry: Mapping[str, Any]) -> bool:
    """Return whether a table is named in a catalog of Spark's, and is no file.

    >>> [_is_in_catalog({"engine": "spark", "source": one}) for one in ("bank.accounts", "data/a.parquet")]
    [True, False]
    """
    source = entry["source"]
    is_file = isinstance(source, list) or "/" in source or source.endswith(FILE_ENDINGS)
    return entry.get("engine") == _CATALOG and not is_file


def _is(source: Any, endings: tuple[str, ...]) -> bool:
    """Return whether files of a source have one of these endings."""
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
    """Public facts of a table: its columns, its policy within its bounds, and its listed keys."""

    schema: Schema
    policy: Policy
    bounds: Bounds
    keys: Mapping[str, Any]
    round_to: Rounding
    unit: PrivacyUnit | None = None


@dataclass(frozen=True)
class Project(Mapping[str, Table | Join]):
    """The tables and joins of a project file by name; each is opened when it is first asked for."""

    file: ProjectText
    who: str | None = None
    policies: Mapping[str, tuple[ProjectText, Place]] = field(default_factory=dict, repr=False)
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
            name: (section, entry) for section in SECTIONS for name, entry in content.get(section, {}).items()
        }

    def open(self, name: str, *, synthetic: object = None, must_exist: bool | None = None) -> Table | Join:
        """Open a table or a join; with a synthetic table for its source, nothing is charged.

        Args:
            name: Its name in the project file.
            synthetic: Public or made-up records in place of the real ones: a file, a frame, or for a join a
                dict of them.
            must_exist: As in ``prdp.open``.
        """
        if synthetic is not None:
            self._refuse_itself(name, synthetic)
            return self._with_keys(name, self._open(name, synthetic, {"synthetic": True}))
        kept = {"ledger": self.ledger_of(name), "must_exist": must_exist, "who": self.who}
        return self._with_keys(name, self._open(name, None, kept))

    def _with_keys(self, name: str, opened: Table | Join) -> Table | Join:
        """Return a table whose groups have the keys that the project file itself lists."""
        _, entry = self._entry(name)
        listed = {column: keys for column, keys in entry.get("keys", {}).items() if isinstance(keys, list)}
        if not listed or not isinstance(opened, Table):
            return opened
        names = {column.lower(): column for column in opened.schema}
        known = {names[one.lower()]: keys for one, keys in listed.items() if one.lower() in names}
        return replace(opened, _public_keys=_of_kinds(known, opened.schema))

    def stand_in(self, name: str, records: object) -> Table | Join:
        """Open made-up records in place of a table's; its own source is not opened, nor its account."""
        return self._open(name, records, {"synthetic": True})

    def facts(self, name: str) -> Facts:
        """Return the public facts of a table or join; its account is neither begun nor looked at."""
        opened = self._open(name, None, {"synthetic": True})  # asked nothing, and let go
        unit = opened.planner.unit
        return Facts(opened.schema, opened.policy, opened.bounds, self.keys_of(name), opened.round_to, unit)

    def sql(
        self, text: str, *, share: Exact, shares: Mapping[str, Exact] | None = None, redraw: bool = False
    ) -> SqlAnswers:
        """Answer a SQL statement about the table or join that it names; see ``Table.sql``.

        Grouping columns have the keys that the project file lists, and its public tables can be joined.
        """
        name = named_in(text, self)
        if not self.is_begun(name):
            self.explain_sql(text, share=share, shares=shares)  # what is refused begins no account
        return self[name].sql(text, share=share, shares=shares, redraw=redraw, **self.listed_for(name))

    def explain_sql(
        self, text: str, *, share: Exact, shares: Mapping[str, Exact] | None = None
    ) -> Explanation:
        """Return the cost and plan of a statement; nothing is charged, and no account is begun."""
        name = named_in(text, self)
        opened = self.to_explain(name)
        return opened.explain_sql(text, share=share, shares=shares, **self.listed_for(name))

    def to_explain(self, name: str) -> Table | Join:
        """Open a table or join for what charges nothing, so that no account is begun."""
        if self.is_begun(name):
            return self[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoLedgerFile)
            return self._open(name, None, {"who": self.who})

    def listed_for(self, name: str) -> dict[str, Any]:
        """Return the options of ``sql`` beside a statement: a table's listed keys, and the public tables."""
        self.refuse_private(name)
        tables = {
            table: read_public(entry, self.folder)
            for table, entry in self.file.content.get(PUBLIC, {}).items()
        }
        return {"keys": self.keys_of(name), "tables": tables}

    def tables_of(self, name: str) -> list[str]:
        """Return the names by which a statement can mean a table or join: of a join, its tables'."""
        section, entry = self._entry(name)
        return [name] if section == "tables" else list(entry["tables"])

    def is_join(self, name: str) -> bool:
        """Return whether an entry is a join of several tables."""
        return self._entry(name)[0] == "joins"

    def with_policy(
        self, name: str, policy: Mapping[str, Any], written: tuple[ProjectText, Place] | None = None
    ) -> Project:
        """Return the project with another policy of a table.

        Args:
            name: The table.
            policy: Its ``policy``, ``at_most``, ``at_least`` and ``notion``.
            written: The file that says so and where in it, for messages; None for no file.
        """
        made = self._with(name, dict.fromkeys(("policy", "at_most", "at_least", "notion")) | dict(policy))
        if written is None:
            return made
        try:
            limits = {key: value for key, value in policy.items() if key != "policy"}
            Policy(str(policy["policy"]), **limits)
        except PrdpError as error:
            file, place = written
            raise file.wrong(place, *error.parts) from None
        return replace(made, policies={**self.policies, name: written})

    def with_rounding(self, name: str, rounding: Mapping[str, str]) -> Project:
        """Return the project with other rounding steps of a table."""
        return self._with(name, {"round_to": dict(rounding)})

    def _with(self, name: str, changed: Mapping[str, Any]) -> Project:
        """Return the project with other values of an entry's keys; None takes one away."""
        section, entry = self._entry(name)
        entry = {key: value for key, value in {**entry, **changed}.items() if value is not None}
        content = {**self.file.content, section: {**self.file.content[section], name: entry}}
        return Project(replace(self.file, content=content), self.who, self.policies)

    def ledger_of(self, name: str) -> Path | str:
        """Return the location of a table's account: a file, or the address of a database."""
        _, entry = self._entry(name)
        filled = from_environment(entry.get("ledger", f"{name}.ledger"))
        return filled if "://" in filled else self.folder / filled

    def is_begun(self, name: str) -> bool:
        """Return whether a table has an account already."""
        return is_begun(self.ledger_of(name))

    @property
    def folder(self) -> Path:
        """The project file's folder; paths in the file are relative to it."""
        return self.file.path.parent

    def _open(self, name: str, synthetic: Any, account: Mapping[str, Any]) -> Table | Join:
        """Open an entry, or synthetic data for its source; an error names its line."""
        section, entry = self._entry(name)
        self.refuse_private(name)
        self._refuse_private_of_others(name)
        try:
            opener = open_table if section == "tables" else open_join
            options = self._options(name, entry) | {
                "separate_account": True
            }  # the file has one for each entry
            if synthetic is None:
                return opener(self._source_of(name), **options, **account)
            for key in ("database", "rows_are_records"):
                options.pop(key, None)
            if not _is(synthetic, (*text_files.CSV_ENDINGS, *text_files.JSON_ENDINGS)):
                options.pop("types", None)  # frames and Parquet files have their own
            elif section == "tables":
                options["types"] = self._types_like(name, synthetic, options.get("types"))
            if not _is(synthetic, database_files.ENDINGS):
                options.pop("table", None)
            options.pop("engine", None)  # a synthetic table is read by whoever it calls for
            return opener(synthetic, **options, **account)
        except PrdpError as error:
            if not self.file.text:
                raise
            file = self.file
            place: Place = (section, name)
            if isinstance(error, ExpressionError | PolicyError):
                file, place = self.policies.get(name, (file, (*place, "policy")))
            where = f"{file.path.name}, line {file.line_of(place)}"
            if isinstance(synthetic, str | Path) and not isinstance(error, ExpressionError | PolicyError):
                where = f"{Path(synthetic).name}, in place of {name}"
            raise InvalidRequest(f"{where}: ", *error.parts) from None

    def _types_like(self, name: str, synthetic: Any, declared: Mapping[str, str] | None) -> dict[str, str]:
        """Return the types that a table has, for columns of the same names in a text file like it."""
        native = dict(declared or {}) or {
            column: kind.native
            for column, kind in self.facts(name).schema.items()
            if kind.kind is not Kind.OTHER
        }
        if not _is(synthetic, text_files.CSV_ENDINGS) or not Path(synthetic).is_file():
            return native
        known = {column.lower(): kind for column, kind in native.items()}
        there = text_files.columns_of(str(synthetic))
        if declared is not None:
            return {column: known[column.lower()] for column in there if column.lower() in known} or native
        return {column: known.get(column.lower(), "VARCHAR") for column in there}

    def _refuse_itself(self, name: str, synthetic: Any) -> None:
        """Refuse the real records as a synthetic table: answers that cost nothing would give them away."""
        section, entry = self._entry(name)
        table = entry.get("table")
        if any(map(is_address, _each(synthetic, table)[0])):
            raise InvalidRequest(
                f"a synthetic table for {name!r} is a file or a frame: whether a table of a database is the "
                "real "
                "one cannot always be seen. Copy public or made-up records like them into a file."
            )
        if "database" in entry or (section == "tables" and _is_in_catalog(entry)):
            return  # a catalog's files are its own affair
        if any(map(is_address, _each(self._source_of(name), table)[0])):
            return  # a file or a frame is not a table of a database
        real, like = (
            [
                source_origins(one, name if _is(one, database_files.ENDINGS) else None)
                for one, name in zip(*_each(source, table), strict=True)
            ]
            for source in (self._source_of(name), synthetic)
        )
        shared = next(filter(None, (common_source(real, one) for one in like)), "")
        if shared:
            raise InvalidRequest(
                f"the synthetic table is the table {name!r} itself ({shared}): answers that cost nothing "
                "would "
                "give its records away. Take public or made-up records like them."
            )
        if reason := next(filter(None, (untraced_reason(real, one) for one in like)), ""):
            raise InvalidRequest(
                f"whether the synthetic table is the table {name!r} itself cannot be traced ({reason}), and "
                "answers "
                "that cost nothing would give its records away. Take a file of public or made-up records."
            )

    def refuse_private(self, name: str) -> None:
        """Refuse a private source as one of the public ones that questions about an entry may read."""
        section, entry = self._entry(name)
        files: list[tuple[Place, str]] = [
            ((PUBLIC, table), file) for table, file in self.file.content.get(PUBLIC, {}).items()
        ]
        for column, keys in entry.get("keys", {}).items():
            if isinstance(keys, dict) and "file" in keys:
                files.append(((section, name, "keys", column), keys["file"]))
        public = [PublicSource(place, str(self.folder / file)) for place, file in files]
        for table, source, within in self._files_of(name):
            if table in entry.get("public", ()):
                public.append(PublicSource((section, name, "tables", table), source, within))
        private = [
            found
            for entry in self
            for found in self._files_of(entry)
            if found[0] not in self._entry(entry)[1].get("public", ())
        ]
        refuse_private_sources(self.file, public, private)

    def _files_of(self, name: str) -> list[tuple[str, Any, str | None]]:
        """Return the sources of an entry that are files, by their tables; none of a database or catalog.

        Of a database's file, the table of it that is meant comes last.
        """
        section, entry = self._entry(name)
        if "database" in entry or (section == "tables" and _is_in_catalog(entry)):
            return []
        try:
            source = self._source_of(name)
        except InvalidRequest:  # a variable that is not set: reported when it is opened
            return []
        tables = source if section == "joins" else {name: source}
        within = entry.get("table")
        return [
            (table, one, (within or table) if _is(one, database_files.ENDINGS) else None)
            for table, one in tables.items()
        ]

    def _entry(self, name: str) -> tuple[str, Mapping[str, Any]]:
        if name not in self._entries:
            raise InvalidRequest(f"{self.file.path.name} has no {name!r}. It has {listed(list(self))}.")
        return self._entries[name]

    def _options(self, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of open or open_join that an entry says."""
        options = {key: entry[key] for key in _SAME if key in entry}
        if "database" in entry:
            options["database"] = from_environment(entry["database"])
        if "privacy_unit" in entry:
            options["privacy_unit"] = entry["privacy_unit"]
        limits = {limit: entry[limit] for limit in ("at_most", "at_least", "notion") if limit in entry}
        return options | {"name": name, "policy": Policy(str(entry["policy"]), **limits)}

    def keys_of(self, name: str) -> dict[str, Any]:
        """Return the listed keys of a table's grouping columns; those of a number column are numbers."""
        self.refuse_private(name)
        _, entry = self._entry(name)
        listed = {
            column: read_keys(value, column, self.folder, self._database_of(name))
            for column, value in entry.get("keys", {}).items()
        }
        if all(not isinstance(keys, list) or _typed(keys) is keys for keys in listed.values()):
            return listed
        schema = self._open(name, None, {"synthetic": True}).schema  # asked nothing, and let go
        return _of_kinds(listed, schema)

    def refused_keys(self, name: str, column: str, keys: Any) -> InvalidRequest | None:
        """Return the reason why a table cannot be grouped by these keys; None if it can. Reads no record."""
        opened = self._open(name, None, {"synthetic": True})  # asked nothing, and let go
        if not isinstance(opened, Table):
            return None
        try:
            opened.group_by(column, keys=keys)
        except InvalidRequest as error:
            return error
        return None

    def _database_of(self, name: str) -> Callable[[], PublicPlace] | None:
        """Return the options that name an entry's database and its private tables."""
        section, entry = self._entry(name)
        if section == "joins" and "database" in entry:
            address = entry["database"]
        elif section == "tables" and "table" in entry:
            address = entry["source"]
        else:
            return None
        return lambda: (from_environment(address), self._private_in(from_environment(address)))

    def _private_in(self, address: str) -> list[str]:
        """Return the private tables of a database, of all entries."""
        found: list[str] = []
        for section, entry in self._entries.values():
            where = (
                entry.get("database") if section == "joins" else entry["source"] if "table" in entry else None
            )
            with suppress(InvalidRequest):  # a variable that is not set: reported when the entry is opened
                if isinstance(where, str) and from_environment(where) == address:
                    public = entry.get("public", ())
                    tables = entry["tables"] if section == "joins" else {"": entry["table"]}
                    found += [table for called, table in tables.items() if called not in public]
        return list(dict.fromkeys(found))

    def _refuse_private_of_others(self, name: str) -> None:
        """Refuse public tables of a join in a database that show the private rows of another entry."""
        section, entry = self._entry(name)
        public = [
            table for called, table in entry.get("tables", {}).items() if called in entry.get("public", ())
        ]
        if section != "joins" or "database" not in entry or not public:
            return
        address = from_environment(entry["database"])
        for private in set(self._private_in(address)) - set(entry["tables"].values()):
            origins: dict[str, Origins] = {}
            with suppress(InvalidRequest):  # a table that is not there has no rows to show
                origins = database_origins(address, [private, *public])
            for table in public if origins else ():
                if shared := origins[private].shared(origins[table]):
                    raise self.file.wrong(
                        (section, name, "public"),
                        f"{table!r} shows rows of the private table {private!r} ({shared}), and which values "
                        "occur there may give a record away.",
                    )

    def _source_of(self, name: str) -> Any:
        section, entry = self._entry(name)
        if section == "tables":
            if _is_in_catalog(entry):
                return from_environment(entry["source"])
            return self._source(entry["source"])
        if "database" in entry:
            return dict(entry["tables"])
        return {table: self._source(source) for table, source in entry["tables"].items()}

    def _source(self, entry: str | list[str]) -> object:
        """Return a source as ``prdp.open`` takes it: a path from the project's folder, or an address."""
        if isinstance(entry, list):
            return [self._source(one) for one in entry]
        filled = from_environment(entry)
        return filled if "://" in filled else str(self.folder / filled)


def named_in(text: str, project: Project) -> str:
    """Return the name of the table or join that a statement is about."""
    from prdp.sql.reading import read_statement  # noqa: PLC0415  (its parser is an extra)

    tree = read_statement(text).tree
    found = {node.name.lower() for node in tree.walk() if type(node).__name__ == "Table"}
    known = {name: {table.lower() for table in project.tables_of(name)} for name in project}
    about = [name for name, tables in known.items() if tables & found]
    if len(about) > 1:  # a join holds tables that are asked alone as well
        about = [
            name for name in about if all(known[name] >= known[other] & found for other in about)
        ] or about
    if len(about) > 1:
        fewest = min(len(known[name]) for name in about)
        about = [name for name in about if len(known[name]) == fewest]
    if len(about) == 1:
        return about[0]
    if not about and len(known) == 1 and not found:
        return next(iter(known))
    if len(about) > 1:
        raise InvalidRequest(_unjoined(project, about))
    names = [table for name in project for table in project.tables_of(name)]
    names_text = f"names {listed(sorted(found))}" if found else "names no table"
    raise InvalidRequest(
        f"the statement {names_text}. {project.file.path.name} has {listed(names)}: write FROM {names[0]}."
    )


def _unjoined(project: Project, names: Sequence[str]) -> str:
    """Return the declaration that several private tables need to be joined."""
    content = project.file.content
    sources = {name: content["tables"][name]["source"] for name in names if not project.is_join(name)}
    pairs = ", ".join(
        f"{bare_or_quoted(name)} = {written(source, numeric=False)}" for name, source in sources.items()
    )
    tables = f"tables = {{ {pairs} }}, private, key, references and policy" if pairs else "their tables"
    return (
        f"{listed(names)} are private tables that no join declares. To join them, add [joins.NAME] to "
        f"{project.file.path.name} with {tables}; to join a public table, list its file in [public] instead."
    )
