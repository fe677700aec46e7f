"""Texts of others, such as keys and names, made harmless for terminals, spreadsheets and JSON."""

from __future__ import annotations

import json
import re

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that a spreadsheet may take for the beginning of a formula; the last four are wide forms."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_QUOTED = "\n\t"
"""Characters that are written to a CSV cell as they are: between quotes they move nothing."""


def printable(text: str, but: str = "") -> str:
    r"""Return a text in which nothing can move a terminal's cursor, or hide.

    >>> print(printable("café \x1b[31m one\ntwo"))
    café \x1b[31m one\ntwo
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in but else c.encode("unicode_escape").decode() for c in text)


def csv_cell(value: object) -> object:
    """Return a cell of CSV: what a spreadsheet would run as a formula has a ' before it.

    >>> csv_cell("=1+1"), csv_cell("-5"), csv_cell(-5), csv_cell("@sum"), csv_cell("clerk")
    ("'=1+1", '-5', -5, "'@sum", 'clerk')
    """
    if not isinstance(value, str):
        return value
    risky = value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return printable(f"'{value}" if risky else value, _QUOTED)


def safe_json(text: str) -> str:
    r"""Return JSON in which characters that a terminal would obey are escaped.

    >>> safe_json('{"a": "\x9b1m"}')
    '{"a": "\\u009b1m"}'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)


def _escaped(letter: str) -> str:
    return "\\u007f" if letter == "\x7f" else json.dumps(letter)[1:-1]
