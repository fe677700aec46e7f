"""Print the answers to a statement: as a grid, for programs, or as a file that is ready to print."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType

from prdp.cli.messages import plain, write
from prdp.cli.printing import grid, number, show
from prdp.errors import InvalidRequest
from prdp.release.formats.document import as_text
from prdp.release.formats.xlsx import write_xlsx
from prdp.release.formatting import as_json, in_a_cell, optional_library, value_and_ends
from prdp.release.release import Release
from prdp.release.table import shown_key
from prdp.safety.plain_text import csv_text

if TYPE_CHECKING:
    from prdp.sql.results import SqlAnswers

_ANY_WIDTH = 10_000


class Format(StrEnum):
    """Output formats of answers."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    HTML = "html"
    MARKDOWN = "md"
    LATEX = "tex"
    XLSX = "xlsx"


_FILES = (Format.PARQUET, Format.XLSX)
"""Formats that no terminal shows."""


def refuse_unwritable(form: Format | None, output: Path | None) -> None:
    """Refuse, before anything is charged, a file that answers could not be written to."""
    if form in _FILES and output is None:
        raise InvalidRequest(f"--format {form} needs a file: add --output answers.{form}")
    if output is None:
        return
    if output.is_dir() or not output.parent.is_dir() or not os.access(output.parent, os.W_OK):
        raise InvalidRequest(f"--output {output} cannot be written: name a file in a folder that is there.")
    known = (*(f".{one}" for one in Format if one is not Format.TABLE), ".txt", "")
    if form is None and output.suffix.lower() not in known:
        raise InvalidRequest(
            f"--output {output.name} says no form by its ending: write .csv, .json, .parquet, .html, .md, "
            ".tex, .xlsx or .txt, or add --format."
        )
    if form_of(form, output) is Format.XLSX:
        optional_library("xlsxwriter", "publish")


def form_of(form: Format | None, output: Path | None) -> Format:
    """Return the format that is asked for; by default what the ending of a file says."""
    if form is not None:
        return form
    ending = output.suffix.lower().removeprefix(".") if output is not None else ""
    return Format(ending) if ending in {*Format} else Format.TABLE


def show_answers(
    answers: SqlAnswers, form: Format | None, output: Path | None, *, std_errors: bool = False
) -> None:
    """Print answers, or write them to a file; its ending says how, unless a format is given."""
    form = form_of(form, output)
    if form is Format.PARQUET:
        table = optional_library("pyarrow", "arrow").table(answers.to_dict(std_errors=std_errors))
        facts = {"statement": answers.text, "share": str(answers.share)}
        optional_library("pyarrow.parquet", "arrow").write_table(table.replace_schema_metadata(facts), output)
        return
    if form is Format.TABLE and output is None:
        show(*_for_people(answers, std_errors=std_errors))
        return
    if form is Format.XLSX and output is not None:
        write_xlsx(output, {"Table": answers.document(std_errors=std_errors)})
        return
    columns = answers.to_dict(std_errors=std_errors)
    text = str(answers)
    if form in (Format.HTML, Format.MARKDOWN, Format.LATEX):
        text = as_text(answers.document(std_errors=std_errors), f".{form}")
    elif form in (Format.CSV, Format.JSON):
        text = _csv(columns) if form is Format.CSV else _json(answers, columns)
    if output is None:
        write(text.rstrip("\n"))
    else:
        output.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def _for_people(answers: SqlAnswers, *, std_errors: bool) -> list[RenderableType]:
    """Return the answers as a grid: each number with its low and high end beside it."""
    heads: list[str] = []
    beside = ["low", "high", "se", "cv"] if std_errors else ["low", "high"]
    numbers = [any(_is_number(row[place]) for row in answers.rows) for place in range(len(answers.columns))]
    for name, numeric in zip(answers.columns, numbers, strict=True):
        heads += [plain(name), *beside] if numeric else [plain(name)]
    left = [
        place + len(beside) * sum(numbers[:place]) for place, numeric in enumerate(numbers) if not numeric
    ]
    made = grid(heads, left=left)
    for row in answers.rows:
        made.add_row(*_cells(row, numbers, std_errors=std_errors))
    console = Console()
    notes = answers.notes_on("`conditions` of --format json")
    if console.measure(made, options=console.options.update(width=_ANY_WIDTH)).maximum > console.width:
        return [*_stacked(answers, std_errors=std_errors), "", *notes]
    return [made, "", *notes]


def _stacked(answers: SqlAnswers, *, std_errors: bool) -> list[str]:
    """Return the answers for a window that is too narrow for a grid: a line for each cell, no digit lost."""
    room = max(map(len, answers.columns))
    return [
        f"{'  ' if place else '- '}{plain(name):{room}}  {_in_one(cell, std_errors=std_errors)}"
        for row in answers.rows
        for place, (name, cell) in enumerate(zip(answers.columns, row, strict=True))
    ]


def _in_one(cell: Any, *, std_errors: bool) -> str:
    if not _is_number(cell):
        return key_in_words(cell)
    found = zip(("se", "cv"), _precision(cell), strict=True) if std_errors else ()
    precision = ", ".join(f"{name} {text}" for name, text in found if text)
    return f"{in_a_cell(cell)}{'; ' if precision else ''}{precision}"


def key_in_words(cell: Any) -> str:
    """Return a cell that is no answer: a key, a constant; blanks at its ends are seen.

    >>> key_in_words(2026.0), key_in_words("ward "), key_in_words(None)
    ('2026', "'ward '", 'NULL')
    """
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        return str(cell).lower()
    whole = isinstance(cell, float) and math.isfinite(cell) and cell == int(cell)
    text = plain(str(int(cell)) if whole else shown_key(cell))
    return f"'{text}'" if text != text.strip() else text


def _cells(row: Sequence[Any], numbers: Sequence[bool], *, std_errors: bool) -> list[str]:
    cells: list[str] = []
    for cell, numeric in zip(row, numbers, strict=True):
        if _is_number(cell):
            value, *ends = value_and_ends(cell)
            cells += [f"{value} ({cell.flag})" if cell.flag else value, *(*ends, "", "")[:2]]
            cells += _precision(cell) if std_errors else []
        else:
            text = key_in_words(cell)
            cells += [text, *[""] * (4 if std_errors else 2)] if numeric else [text]
    return cells


def _precision(cell: Any) -> list[str]:
    """Return the standard error and the coefficient of variation of an answer, in words."""
    error, part = cell.std_error, cell.cv
    return ["" if error is None else number(error), "" if part is None else f"{100 * part:.3g} %"]


def _is_number(cell: object) -> bool:
    return isinstance(cell, Release) or hasattr(cell, "interval")


def _csv(columns: dict[str, list[Any]]) -> str:
    return csv_text({name: list(map(_closed, column)) for name, column in columns.items()})


def _json(answers: SqlAnswers, columns: dict[str, list[Any]]) -> str:
    rows = [dict(zip(columns, map(_closed, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    facts: dict[str, Any] = {
        "statement": answers.text,
        "share": str(answers.share),
        "simulated": answers.simulated,
    }
    from prdp.sql.estimates import ComputedAnswer  # noqa: PLC0415  (its parser is loaded when it is used)

    conditions = [
        {
            name: "; ".join(filter(None, (cell.left_out, cell.excludes)))
            for name, cell in zip(answers.columns, row, strict=True)
            if isinstance(cell, Release | ComputedAnswer)
        }
        for row in answers.rows
    ]
    return as_json({**facts, "notes": list(answers.notes), "rows": rows, "conditions": conditions})


def _closed(value: Any) -> Any:
    """Return a value as JSON and CSV have it; a missing end is null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)
