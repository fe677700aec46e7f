"""What prdp.toml can say of a table and of a join: every key, its kind and its help, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
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
class Field:
    """A key of the project file.

    Attributes:
        kind: What it holds.
        help: What it means, in a sentence.
        needed: Whether it must be there.
    """

    kind: Kind
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
    if isinstance(value, dict):
        return set(value) in ({"file"}, {"file", "column"}) and all(map(_is_text, value.values()))
    return value == "private" or _all(_is_plain)(value)


def _is_range(value: Any) -> bool:
    return _all(_is_number)(value) and len(value) == 2


_A_TEXT = {"type": "string"}
_A_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}]}
_KEYS = {
    "anyOf": [
        {"type": "array"},
        {"const": "private"},
        {
            "type": "object",
            "properties": {"file": _A_TEXT, "column": _A_TEXT},
            "required": ["file"],
            "additionalProperties": False,
        },
    ]
}


def _object(inner: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": inner}


def _array(inner: Mapping[str, Any], **more: int) -> dict[str, Any]:
    return {"type": "array", "items": inner, **more}


TEXT = Kind('a text, such as "accounts.parquet"', _is_text, _A_TEXT)
NUMBER = Kind('a number, such as 10, 0.5 or "1/3"', _is_number, _A_NUMBER)
WHOLE = Kind(
    "a whole number",
    lambda value: isinstance(value, int) and not isinstance(value, bool),
    {"type": "integer"},
)
FLAG = Kind("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
FILES = Kind(
    'a file, or a list of files: "accounts.parquet"',
    lambda value: _is_text(value) or (_all(_is_text)(value) and bool(value)),
    {"anyOf": [_A_TEXT, _array(_A_TEXT, minItems=1)]},
)
TEXTS = Kind('a list of texts, such as ["week"]', _all(_is_text), _array(_A_TEXT))
RANGES = Kind(
    "a least and a greatest value by column: { balance = [-1e9, 1e9] }",
    _by_column(_is_range),
    _object(_array(_A_NUMBER, minItems=2, maxItems=2)),
)
NUMBERS = Kind("a number by column: { balance = 0.01 }", _by_column(_is_number), _object(_A_NUMBER))
TYPES = Kind('a SQL type by column: { opened = "DATE" }', _by_column(_is_text), _object(_A_TEXT))
TYPES_BY_TABLE = Kind(
    "SQL types by table and column", _by_column(_by_column(_is_text)), _object(_object(_A_TEXT))
)
PAIRS = Kind('texts by name: { "orders.customer" = "customers.id" }', _by_column(_is_text), _object(_A_TEXT))
KEYS = Kind(
    'by column a list of values, a file { file = "jobs.csv" }, or "private"',
    _by_column(_are_keys),
    _object(_KEYS),
)

_SHARED = {
    "policy": Field(TEXT, "The budget of a record, as SQL over its columns; public.", needed=True),
    "at_most": Field(NUMBER, "The largest budget that the policy gives."),
    "at_least": Field(NUMBER, "The smallest budget; records below it are left out."),
    "bounds": Field(RANGES, "The public least and greatest value of number columns."),
    "grain": Field(NUMBERS, "The public grain of columns that are added up, such as 0.01 for cents."),
    "keys": Field(KEYS, "The public keys of grouping columns."),
    "most_rows": Field(WHOLE, "How many times what one row can add an owner adds at most."),
    "ledger": Field(TEXT, "The file that keeps the account; by default NAME.ledger beside the project file."),
}
TABLE = {
    "source": Field(
        FILES, "A file, a glob, a list of files, or a database; relative to this file.", needed=True
    ),
    "table": Field(TEXT, "The table's name in a database."),
    **_SHARED,
    "types": Field(TYPES, "SQL types of the columns of a CSV file."),
    "owner": Field(
        TEXT, "The column that says whose row it is: all rows of one owner are protected together."
    ),
    "fixed": Field(TEXTS, "Columns whose value never changes in a row; bound when the ledger is begun."),
    "edition": Field(TEXT, "Which edition of a table that grows this is."),
}
JOIN = {
    "tables": Field(PAIRS, "A file for each table's name; relative to this file.", needed=True),
    "private": Field(TEXT, "The table whose records are protected.", needed=True),
    "key": Field(TEXT, "The column that names them.", needed=True),
    "references": Field(PAIRS, "Which column holds which table's key.", needed=True),
    "public": Field(TEXTS, "The tables that hold nothing to protect."),
    **_SHARED,
    "types": Field(TYPES_BY_TABLE, "SQL types of the columns of CSV files."),
}
SECTIONS: dict[str, Mapping[str, Field]] = {"tables": TABLE, "joins": JOIN}


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
        },
        "additionalProperties": False,
    }
