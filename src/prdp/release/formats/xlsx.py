"""Tables as a spreadsheet: a sheet each, with title, header, number formats, notes; no text is a formula."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from prdp.errors import InvalidRequest
from prdp.release.formats.document import NO_LIMIT, Document, InBrackets, is_number
from prdp.release.formatting import optional_library
from prdp.safety.plain_text import printable

_MAX_ROWS, _MAX_NAME, _MAX_WIDTH = 1_048_576, 31, 50
_MAX_UPRIGHT = 6  # columns
_MAX_TEXT = 32_767
_NOTE_WIDTH, _LINE = 70, 15  # letters, points
_FORBIDDEN = re.compile(r"[\[\]:*?/\\']")
_DEFAULT_WIDTH = 8
_A4 = 9
_WRAPPED = {"text_wrap": True, "valign": "top", "quote_prefix": True}
_RESERVED = "history"  # by Excel, for a sheet of its own


def write_xlsx(
    path: Path, documents: Mapping[str, Document], notes: Sequence[str] = (), *, made: datetime | None = None
) -> None:
    """Write tables to a spreadsheet, each to a sheet of its name; general notes go to one more.

    Args:
        path: The file.
        documents: The tables by name.
        notes: The general notes.
        made: When it was made, as the file says; now by default.

    Raises:
        InvalidRequest: The library is not there, or a table has more rows than a sheet.
    """
    library = optional_library("xlsxwriter", "publish")
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = library.Workbook(str(path), plain)
    if made is not None:
        book.set_properties({"created": made})
    names: list[str] = []
    for name, document in documents.items():
        names.append(_sheet_name(name, names))
        _add(book, book.add_worksheet(names[-1]), document)
    if notes:
        sheet = book.add_worksheet(_sheet_name("Notes", names))
        sheet.set_column(0, 0, _NOTE_WIDTH)
        wrapped = book.add_format(_WRAPPED)
        for place, note in enumerate(notes):
            text = _text(note)
            sheet.set_row(place, _height(text))
            sheet.write_string(place, 0, text, wrapped)
        sheet.fit_to_pages(1, 0)
        sheet.set_paper(_A4)
    book.close()


def _sheet_name(name: str, taken: Sequence[str]) -> str:
    """Return a name that a sheet can have.

    >>> _sheet_name("a/b", []), _sheet_name("A_b", ["a_b"]), _sheet_name("", []), _sheet_name("History", [])
    ('a_b', 'A_b 2', 'Table', 'History 2')
    """
    short = _FORBIDDEN.sub("_", printable(name))[:_MAX_NAME] or "Table"
    free, number = short, 2
    while free.lower() in {_RESERVED, *(one.lower() for one in taken)}:
        end = f" {number}"
        free, number = short[: _MAX_NAME - len(end)] + end, number + 1
    return free


def _add(book: Any, sheet: Any, document: Document) -> None:
    first, names, widths = 3, list(document.columns), list[int]()
    lines = document.rows
    rows = len(lines)
    if rows + first + len(document.notes) > _MAX_ROWS:
        raise InvalidRequest(
            f"a spreadsheet has {_MAX_ROWS:,} rows, too few for {rows:,}. Write CSV or Parquet."
        )
    title = book.add_format({"quote_prefix": True, "bold": True, "font_size": 13})
    sheet.write_string(0, 0, _text(document.title), title)
    for place, (name, head) in enumerate(zip(names, document.heads, strict=True)):
        number = document.is_number(name)
        look = {"bold": True, "top": 2, "bottom": 1, "text_wrap": True, "quote_prefix": True}
        sheet.write_string(
            first - 1, place, _text(head), book.add_format(look | {"align": "right" if number else "left"})
        )
        decimals = document.decimals_of(name)
        looks = [_looks(book, decimals, number=number, bold=bold) for bold in (False, True)]
        for row, value in enumerate(document.columns[name]):
            _write(sheet, (row + first, place), value, looks[row in document.totals])
        widest = max((len(line[place]) for line in [document.heads, *lines]), default=8)
        widths.append(min(_MAX_WIDTH, widest + 2))
        sheet.set_column(place, place, widths[-1])
    last = _columns_of_notes(widths)
    wrapped = book.add_format(_WRAPPED)
    for place, note in enumerate(document.notes, first + rows + 1):
        text = _text(note)
        sheet.set_row(place, _height(text))
        sheet.merge_range(place, 0, place, last, "", wrapped)
        sheet.write_string(place, 0, text, wrapped)
    sheet.freeze_panes(first, 0)
    sheet.repeat_rows(first - 1)
    sheet.fit_to_pages(1, 0)
    sheet.set_paper(_A4)
    if len(names) > _MAX_UPRIGHT:
        sheet.set_landscape()


def _columns_of_notes(widths: Sequence[int]) -> int:
    """Return the last column that notes extend over: at least the second, and enough for their width.

    >>> _columns_of_notes([50, 50, 50]), _columns_of_notes([10])
    (1, 8)
    """
    last, width = 0, widths[0] if widths else 0
    while width < _NOTE_WIDTH or last < 1:
        last += 1
        width += widths[last] if last < len(widths) else _DEFAULT_WIDTH
    return last


def _height(text: str) -> int:
    """Return the height of the lines of a note; not every program finds it by itself.

    >>> _height("short"), _height("x" * 71)
    (15, 30)
    """
    return _LINE * max(1, math.ceil(len(text) / _NOTE_WIDTH))


def _text(value: object) -> str:
    """Return a harmless text that a cell has room for."""
    text = printable(str(value))
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"


@dataclass(frozen=True, slots=True)
class _Looks:
    """The formats of a column's cells: numbers, numbers in brackets, texts."""

    number: Any
    bracketed: Any
    text: Any


def _looks(book: Any, decimals: int, *, number: bool, bold: bool) -> _Looks:
    digits = "#,##0" + ("." + "0" * decimals if decimals else "")
    words = {"quote_prefix": True} | ({"align": "right"} if number else {})
    made = ({"num_format": digits}, {"num_format": rf"\({digits}\);\(-{digits}\)"}, words)
    return _Looks(*(book.add_format(one | {"bold": bold}) for one in made))


def _write(sheet: Any, place: tuple[int, int], value: Any, looks: _Looks) -> None:
    """Write a cell: a finite number as one, anything else as a text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return
    if isinstance(value, InBrackets):
        sheet.write_number(*place, value.number, looks.bracketed)
    elif is_number(value) and math.isfinite(value):
        sheet.write_number(*place, value, looks.number)
    elif is_number(value):
        sheet.write_string(*place, NO_LIMIT, looks.text)
    else:
        text = str(value).lower() if isinstance(value, bool) else _text(value)
        sheet.write_string(*place, text, looks.text)
