"""The keys of prdp.toml: the kind and the help of each, checks by line, and how a table is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from prdp.concentrated import NOTIONS
from prdp.declare.key_search import PRIVATE, SEARCHED_BY
from prdp.engines.registry import ENGINES
from prdp.errors import InvalidRequest
from prdp.projects.toml_file import Place, ProjectText, listed, refused_variable
from prdp.safety.database_address import holds_password


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value.

    Attributes:
        words: What to write, for messages.
        fits: Whether a value is of this kind.
        schema: The same as JSON Schema.
    """

    words: str
    fits: Callable[[Any], bool]
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProjectKey:
    """A key of the project file.

    Attributes:
        kind: The kind of its values.
        help: Its meaning, in a sentence.
        needed: Whether it must be there.
    """

    kind: ValueKind
    help: str
    needed: bool = False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal | str) and not isinstance(value, bool)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | Decimal | bool | date | datetime)


def _all(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _by_column(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_keys(value: Any) -> bool:
    if isinstance(value, dict) and ("file" in value or "table" in value):
        place = "file" if "file" in value else "table"
        return set(value) <= {place, "column"} and all(map(_is_text, value.values()))
    if isinstance(value, dict):
        return bool(value) and set(value) <= set(_SEARCHED_BY)
    return value == PRIVATE or _all(_is_plain)(value)


def _is_range(value: Any) -> bool:
    return _all(_is_number)(value) and len(value) == 2


_SEARCHED_BY = (PRIVATE, *SEARCHED_BY)
"""Ways to search for keys that are not listed: docs/keys.md."""

_A_TEXT = {"type": "string"}
_A_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}]}
_KEYS = {
    "anyOf": [
        {"type": "array"},
        {"const": PRIVATE},
        *(
            {
                "type": "object",
                "properties": {place: _A_TEXT, "column": _A_TEXT},
                "required": [place],
                "additionalProperties": False,
            }
            for place in ("file", "table")
        ),
        {"type": "object", "properties": {name: {} for name in _SEARCHED_BY}, "additionalProperties": False},
    ]
}


def _object(inner: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": inner}


def _array(inner: Mapping[str, Any], **more: int) -> dict[str, Any]:
    return {"type": "array", "items": inner, **more}


TEXT = ValueKind('a text, such as "accounts.parquet"', _is_text, _A_TEXT)
EXPRESSION = ValueKind('a number, or SQL in quotes: "100 / greatest(visits, 100)"', _is_number, _A_NUMBER)
NUMBER = ValueKind('a number, such as 10, 0.5 or "1/3"', _is_number, _A_NUMBER)
WHOLE = ValueKind(
    "a whole number",
    lambda value: isinstance(value, int) and not isinstance(value, bool),
    {"type": "integer"},
)
FLAG = ValueKind("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
FILES = ValueKind(
    'a file, or a list of files: "accounts.parquet"',
    lambda value: _is_text(value) or (_all(_is_text)(value) and bool(value)),
    {"anyOf": [_A_TEXT, _array(_A_TEXT, minItems=1)]},
)
TEXTS = ValueKind('a list of texts, such as ["week"]', _all(_is_text), _array(_A_TEXT))
RANGES = ValueKind(
    "a least and a greatest value by column: { balance = [-1e9, 1e9] }",
    _by_column(_is_range),
    _object(_array(_A_NUMBER, minItems=2, maxItems=2)),
)
NUMBERS = ValueKind("a number by column: { balance = 0.01 }", _by_column(_is_number), _object(_A_NUMBER))
TYPES = ValueKind('a SQL type by column: { opened = "DATE" }', _by_column(_is_text), _object(_A_TEXT))
TYPES_BY_TABLE = ValueKind(
    "SQL types by table and column", _by_column(_by_column(_is_text)), _object(_object(_A_TEXT))
)
PAIRS = ValueKind(
    'texts by name: { "orders.customer" = "customers.id" }', _by_column(_is_text), _object(_A_TEXT)
)
KEYS = ValueKind(
    'by column a list of values, a file { file = "jobs.csv" }, a public table { table = "jobs" } of the '
    'database, "private", { pattern = "[0-9]{5}" }, or { between = [1, 99] }',
    _by_column(_are_keys),
    _object(_KEYS),
)

ENGINE = ValueKind(
    f"the name of an engine: {', '.join(ENGINES)}", lambda value: value in ENGINES, {"enum": list(ENGINES)}
)

NOTION = ValueKind(
    f"a notion of privacy: {', '.join(NOTIONS)}", lambda value: value in NOTIONS, {"enum": list(NOTIONS)}
)

_SHARED = {
    "policy": ProjectKey(EXPRESSION, "The budget of a record, as SQL over its columns; public.", needed=True),
    "at_most": ProjectKey(NUMBER, "The largest budget that the policy gives."),
    "at_least": ProjectKey(NUMBER, "The smallest budget; records below it are left out."),
    "notion": ProjectKey(
        NOTION, "What the policy bounds: pure for E(r), zcdp for the P(r) of concentrated privacy."
    ),
    "bounds": ProjectKey(RANGES, "The public least and greatest value of number columns."),
    "round_to": ProjectKey(
        NUMBERS, "The public rounding step of columns that are added up, such as 0.01 for cents."
    ),
    "keys": ProjectKey(KEYS, "The public keys of grouping columns."),
    "max_rows": ProjectKey(WHOLE, "The maximum contribution of a unit, in multiples of one row's."),
    "ledger": ProjectKey(
        TEXT,
        "The file or PostgreSQL database (postgresql://user@host/db?ledger=NAME) that keeps the account; "
        "by default NAME.ledger beside the project file.",
    ),
}
TABLE = {
    "source": ProjectKey(
        FILES,
        "A file, a glob, a list of files, a Delta or Iceberg folder, a database; relative to this file.",
        needed=True,
    ),
    "table": ProjectKey(TEXT, "The table's name in a database."),
    "rows_are_records": ProjectKey(FLAG, "Declares that each row of a view is one record."),
    "engine": ProjectKey(ENGINE, "The engine that reads the records; by default the source's own."),
    **_SHARED,
    "types": ProjectKey(TYPES, "SQL types of the columns of CSV files and JSON lines."),
    "privacy_unit": ProjectKey(
        TEXT, "The column that identifies the unit: all rows of one unit are protected together."
    ),
    "immutable": ProjectKey(
        TEXTS, "Columns whose value never changes in a row; bound when the ledger is created."
    ),
    "snapshot": ProjectKey(TEXT, "The dated version of a table that grows."),
}
JOIN = {
    "tables": ProjectKey(
        PAIRS,
        "A file for each table's name, or the database file that has it; or its name in the database.",
        needed=True,
    ),
    "database": ProjectKey(TEXT, "The PostgreSQL or ClickHouse database in which all of the tables are."),
    "private": ProjectKey(TEXT, "The table whose records are protected.", needed=True),
    "key": ProjectKey(TEXT, "The column that names them.", needed=True),
    "references": ProjectKey(PAIRS, "The columns that hold other tables' keys.", needed=True),
    "public": ProjectKey(TEXTS, "The tables that need no protection."),
    "public_by_declaration": ProjectKey(
        FLAG, "Declares that these show no private rows, where it cannot be traced."
    ),
    **_SHARED,
    "types": ProjectKey(TYPES_BY_TABLE, "SQL types of the columns of CSV files and JSON lines."),
}
PUBLIC = "public"
"""The section of public tables: a file for each name, which statements can join."""

SECTIONS: dict[str, Mapping[str, ProjectKey]] = {"tables": TABLE, "joins": JOIN}


def json_schema() -> dict[str, Any]:
    """Return the project file's JSON Schema, by which editors complete it."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "prdp.toml",
        "description": "Private tables of prdp: sources, policies, bounds, public keys and accounts.",
        "type": "object",
        "properties": {
            section: _object(
                {
                    "type": "object",
                    "properties": {
                        key: {**field.kind.schema, "description": field.help} for key, field in fields.items()
                    },
                    "required": [key for key, field in fields.items() if field.needed],
                    "additionalProperties": False,
                }
            )
            for section, fields in SECTIONS.items()
        }
        | {PUBLIC: _object(_A_TEXT)},
        "additionalProperties": False,
    }


_ADDRESSES = ("source", "tables", "database", "ledger")
"""The keys whose values may come from the environment."""


def check(file: ProjectText) -> None:
    """Refuse an invalid project file; names the first mistake in the file's order."""
    for section, entries in file.content.items():
        if section == PUBLIC:
            if not PAIRS.fits(entries):
                raise file.refused((section,), 'holds a file by name: regions = "regions.csv".')
            for name, entry in entries.items():
                _refuse_passwords(file, (section, name), entry)
            continue
        if section not in SECTIONS:
            raise file.refused(
                (section,),
                f"is not known. A project has {listed([*SECTIONS, PUBLIC])}." + _near(section, SECTIONS),
            )
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise file.refused((section,), f"holds named entries: [{section}.accounts]")
        for name, entry in entries.items():
            _check_entry(file, section, name, entry)
    if not any(file.content.values()):
        raise InvalidRequest(f"{file.path.name} names no table. Add [tables.NAME] with source and policy.")
    both = set(file.content.get("tables", ())) & set(file.content.get("joins", ()))
    if both:
        raise file.refused(("joins", min(both)), "is the name of a table and of a join: give it another.")


def _check_entry(file: ProjectText, section: str, name: str, entry: Mapping[str, Any]) -> None:
    refuse_unknown(file, (section, name), entry, SECTIONS[section])
    for key, value in entry.items():
        place = (section, name, key)
        for text in _texts(value):
            if key in _ADDRESSES and (reason := refused_variable(text)):
                raise file.refused(place, reason)
        _refuse_passwords(file, place, value)


def refuse_unknown(
    file: ProjectText, place: Place, entry: Mapping[str, Any], fields: Mapping[str, ProjectKey]
) -> None:
    """Refuse a key that is not known, a value of another kind, and an entry without a key that it needs."""
    for key, value in entry.items():
        if key not in fields:
            raise file.refused((*place, key), "is not a known key." + _near(key, fields))
        if not fields[key].kind.fits(value):
            raise file.refused((*place, key), f"is not understood. Write {fields[key].kind.words}.")
    missing = [key for key, field in fields.items() if field.needed and key not in entry]
    if missing:
        helped = _lowered(fields[missing[0]].help)
        raise file.refused(place, f"has no {listed(missing)}. Add {missing[0]}: {helped}")


def _refuse_passwords(file: ProjectText, place: Place, value: Any) -> None:
    if any(map(holds_password, _texts(value))):
        raise file.refused(
            place,
            "holds a password. Keep the address in an environment variable, and write its name: "
            f'{place[-1]} = "${{ACCOUNTS_URL}}". Or leave the password out, and set PGPASSWORD.',
        )


def _lowered(text: str) -> str:
    """Return a sentence as it is written behind a colon."""
    return text[:1].lower() + text[1:]


def _near(key: str, known: Mapping[str, ProjectKey] | Mapping[str, Any]) -> str:
    near = get_close_matches(key, known, n=1)
    return f" Did you mean {near[0]}?" if near else f" Known: {', '.join(known)}."


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    return [text for inner in value for text in _texts(inner)] if isinstance(value, list) else []


_NUMERIC = (NUMBER, NUMBERS, RANGES)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)


def table_text(name: str, declared: Mapping[str, Any]) -> str:
    """Return the section of a table, each key with its help above it.

    >>> print(table_text("t", {"source": "t.csv", "policy": "1", "bounds": {"x": ["0", "1e9"]}}))
    [tables.t]
    # A file, a glob, a list of files, a Delta or Iceberg folder, a database; relative to this file.
    source = "t.csv"
    # The budget of a record, as SQL over its columns; public.
    policy = "1"
    # The public least and greatest value of number columns.
    bounds = { x = [0, 1e9] }
    <BLANKLINE>
    """
    lines = [f"[tables.{bare_or_quoted(name)}]"]
    for key, field in TABLE.items():
        if key in declared:
            lines += [f"# {field.help}", f"{key} = {written(declared[key], field.kind in _NUMERIC)}"]
    return "\n".join(lines) + "\n"


def public_text(files: Mapping[str, str]) -> str:
    """Return the section of public files that statements can join.

    >>> print(public_text({"regions": "regions.csv"}), end="")
    # Public files that statements can join.
    [public]
    regions = "regions.csv"
    """
    lines = [f"{bare_or_quoted(name)} = {written(file, numeric=False)}" for name, file in files.items()]
    return "\n".join(["# Public files that statements can join.", f"[{PUBLIC}]", *lines]) + "\n"


def bare_or_quoted(name: str) -> str:
    """Return a key as TOML has it: bare where it can be.

    >>> bare_or_quoted("age"), bare_or_quoted("net kg")
    ('age', '"net kg"')
    """
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def written(value: Any, numeric: bool) -> str:
    """Return a value; where numbers are meant, a text that is a plain one becomes one."""
    match value:
        case str() if numeric and _NUMBER.fullmatch(value):
            return value
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return str(value).lower()
        case list():
            return f"[{', '.join(written(one, numeric) for one in value)}]"
        case dict():
            inner = ", ".join(
                f"{bare_or_quoted(key)} = {written(one, numeric)}" for key, one in value.items()
            )
            return f"{{ {inner} }}"
        case _:
            return str(value)
