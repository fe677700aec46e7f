"""Texts of others, such as keys and names, made harmless for terminals, spreadsheets and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence

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
    return printable(no_formula(value), _QUOTED) if isinstance(value, str) else value


def no_formula(text: str) -> str:
    """Return a text with a ' before it if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def csv_text(columns: Mapping[str, Sequence[object]]) -> str:
    """Return columns as CSV, each cell as ``csv_cell`` makes it.

    >>> print(csv_text({"job": ["clerk", "=1+1"], "n": [41, 3]}), end="")
    job,n
    clerk,41
    '=1+1,3
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(csv_cell, columns))
    writer.writerows(map(csv_cell, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue()


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
