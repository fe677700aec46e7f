"""Write a table's declaration as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from prdp.projects.fields import NUMBER, NUMBERS, RANGES, TABLE

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
