"""A table that is ready to print: a title, columns of plain values, and notes below them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prdp.safety.plain_text import printable

NO_LIMIT = "no limit"
"""Text in place of the missing end of an interval."""

_DIGITS = 5
_MAX_DECIMALS = 6
_LARGE = 1e15


@dataclass(frozen=True, slots=True)
class InBrackets:
    """A number that is printed in brackets, since its precision is low.

    >>> cell_text(InBrackets(1200))
    '(1,200)'
    """

    number: int | float


@dataclass(frozen=True, slots=True)
class Document:
    """A table that is ready to print.

    >>> document = Document("", {"job": ["chef", None], "n": [1200, 7], "mean": [3.25, math.inf]})
    >>> document.rows
    [['chef', '1,200', '3.2500'], ['', '7', 'no limit']]
    >>> document.heads, [document.is_number(name) for name in document.columns]
    (['job', 'n', 'mean'], [False, True, True])

    Attributes:
        title: Its title.
        columns: Its columns by name; texts, numbers, and None for an empty cell.
        notes: The notes below it.
        numbers: Columns that are aligned as numbers although some cells hold a sign.
        decimals: Decimals of a column, where they do not follow from its numbers.
        totals: The places of rows that are set as totals.
    """

    title: str
    columns: Mapping[str, Sequence[Any]]
    notes: Sequence[str] = ()
    numbers: frozenset[str] = frozenset()
    decimals: Mapping[str, int] | None = None
    totals: frozenset[int] = frozenset()

    @property
    def heads(self) -> list[str]:
        """The names of the columns, harmless."""
        return list(map(printable, self.columns))

    @property
    def rows(self) -> list[list[str]]:
        """The cells as harmless texts."""
        columns = []
        for name, column in self.columns.items():
            decimals = self.decimals_of(name)
            columns.append([cell_text(value, decimals) for value in column])
        return [list(row) for row in zip(*columns, strict=True)]

    @property
    def lines(self) -> list[str]:
        """The notes, harmless."""
        return list(map(printable, self.notes))

    def is_number(self, name: str) -> bool:
        """Return whether a column is aligned as numbers."""
        values = [value for value in self.columns[name] if value is not None]
        return name in self.numbers or (bool(values) and all(map(is_number, values)))

    def decimals_of(self, name: str) -> int:
        """Return how many decimals the numbers of a column have."""
        if self.decimals is not None and name in self.decimals:
            return self.decimals[name]
        numbers = [value for value in self.columns[name] if is_number(value) and math.isfinite(value)]
        if all(float(value).is_integer() for value in numbers):
            return 0
        largest = max(abs(float(value)) for value in numbers)
        return min(_MAX_DECIMALS, max(0, _DIGITS - 1 - math.floor(math.log10(largest))))


def is_number(value: object) -> bool:
    """Return whether a cell is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def cell_text(value: Any, decimals: int = 0) -> str:
    r"""Return a cell as a harmless text.

    >>> cell_text(1234.5, 1), cell_text("a\x1b[31m"), cell_text(True), cell_text(-math.inf), cell_text(-0.2)
    ('1,234.5', 'a\\x1b[31m', 'true', 'no limit', '0')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, InBrackets):
        return f"({cell_text(value.number, decimals)})"
    if not is_number(value):
        return printable(str(value))
    if not math.isfinite(value):
        return "" if math.isnan(value) else NO_LIMIT
    text = f"{value:,.{decimals}f}" if abs(value) < _LARGE else f"{value:.6g}"
    return text if text.strip("-0.,") else text.removeprefix("-")


def write(document: Document, path: Path) -> None:
    """Write a table to a file whose ending says how: .html, .md, .tex or .xlsx."""
    if path.suffix.lower() == ".xlsx":
        from prdp.release.formats.xlsx import write_xlsx  # noqa: PLC0415  (its library is an extra)

        write_xlsx(path, {"Table": document})
    else:
        path.write_text(as_text(document, path.suffix.lower()), encoding="utf-8")


def as_text(document: Document, ending: str) -> str:
    """Return a table as a text: ``.html``, ``.md`` or ``.tex``."""
    from prdp.release.formats.html import html_page, html_section  # noqa: PLC0415  (they render documents)
    from prdp.release.formats.latex import latex_of  # noqa: PLC0415
    from prdp.release.formats.markdown import markdown_of  # noqa: PLC0415

    texts: dict[str, Callable[[], str]] = {
        ".html": lambda: html_page(document.title, html_section(document)),
        ".md": lambda: markdown_of(document),
        ".tex": lambda: latex_of(document),
    }
    return texts[ending]()


ENDINGS = (".html", ".md", ".tex", ".xlsx")
"""Endings of the files that ``write`` writes."""
