"""The answers to a statement: its columns and rows, each number with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prdp.errors import InvalidRequest
from prdp.release import formatting
from prdp.release.formats.document import Document, as_text, write
from prdp.release.formatting import html_table, optional_library
from prdp.release.release import Release
from prdp.release.table import ReleaseTable, shown_key
from prdp.safety.plain_text import printable
from prdp.sql.estimates import ComputedAnswer

if TYPE_CHECKING:
    import os

    import pandas

_SHOWN_ROWS = 40

Cell = Release | ComputedAnswer | str | float | bool | datetime | None
"""A released number, one that is computed from such, or a plain value: a key, a text, an interval's end."""


@dataclass(frozen=True, repr=False)
class SqlAnswers:
    """The answers to one statement; everything in it may be published.

    >>> answers = SqlAnswers("SELECT 1 AS one", Fraction(0), ("one",), ((1.0,),), None)
    >>> answers.columns, answers.values, answers["one"]
    (('one',), [(1,)], [1.0])

    Attributes:
        text: The statement.
        share: The part of every record's budget that it used; 0 where nothing was asked of any.
        columns: The names of its columns.
        rows: Its rows; a number that was released, or computed from such, has its interval with it.
        released: The answers that all of it is computed from, as the ledger keeps them; None where there are
            none.
        remarks: Notes on groups that were found, and of how aggregates were read.
    """

    text: str
    share: Fraction
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    released: ReleaseTable | None
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        return iter(self.rows)

    def __getitem__(self, column: str | tuple[Any, ...]) -> Any:
        """Return a column's cells; with a row's keys before it, the cell: ``answers["retail", "n"]``."""
        if isinstance(column, tuple):
            return self._cell(column[:-1], self[column[-1]])
        if column not in self.columns:
            raise KeyError(
                f"{column!r} is not a column of the answers, which have: {', '.join(self.columns)}"
            )
        place = self.columns.index(column)
        return [row[place] for row in self.rows]

    def _cell(self, key: tuple[Any, ...], cells: list[Cell]) -> Cell:
        """Return the cell of the row whose plain values, from the left, are a key's."""
        keys = [tuple(shown_key(cell) for cell in row if not _is_number(cell)) for row in self.rows]  # type: ignore[arg-type]
        wanted = tuple(map(shown_key, key))
        if wanted not in keys:
            listed = "; ".join(", ".join(each) for each in keys[:_SHOWN_ROWS])
            raise KeyError(f"{key!r} is the key of no row of the answers, which have: {printable(listed)}")
        return cells[keys.index(wanted)]

    @property
    def answer(self) -> Cell:
        """The one cell of one row and one column."""
        if len(self.rows) != 1 or len(self.columns) != 1:
            raise InvalidRequest(
                f"the statement gave {len(self.rows)} rows of {len(self.columns)} columns, not one number."
            )
        return self.rows[0][0]

    @property
    def values(self) -> list[tuple[Any, ...]]:
        """The rows as plain values, without intervals."""
        return [tuple(map(plain, row)) for row in self.rows]

    @property
    def simulated(self) -> bool:
        """True if the records were a synthetic table's: such answers are not private."""
        return self.released is not None and self.released.simulated

    @property
    def recorded_at(self) -> str:
        """Time of the charge, if the answers were recorded before; empty for new ones."""
        return "" if self.released is None else self.released.recorded_at

    def to_dict(self, *, std_errors: bool = False) -> dict[str, list[Any]]:
        """Return plain columns; of each number with an interval, its ends and its flag too.

        With ``std_errors``, a number ``n`` has the columns ``n_se`` and ``n_cv`` as well: its standard error
        and its coefficient of variation.

        >>> SqlAnswers("SELECT 1 AS one", Fraction(0), ("one",), ((1.0,),), None).to_dict()
        {'one': [1]}
        """
        found: dict[str, list[Any]] = {}
        for place, name in enumerate(self.columns):
            cells = [row[place] for row in self.rows]
            found[_free(name, found)] = list(map(plain, cells))
            if any(isinstance(cell, Release | ComputedAnswer) for cell in cells):
                ends = [
                    formatting.plain_ends(cell) if isinstance(cell, Release | ComputedAnswer) else None
                    for cell in cells
                ]
                found[_free(f"{name}_low", found)] = [None if pair is None else pair[0] for pair in ends]
                found[_free(f"{name}_high", found)] = [None if pair is None else pair[1] for pair in ends]
                for end, fact in (("se", "std_error"), ("cv", "cv")) if std_errors else ():
                    found[_free(f"{name}_{end}", found)] = [getattr(cell, fact, None) for cell in cells]
                flags = [cell.flag if isinstance(cell, Release | ComputedAnswer) else "" for cell in cells]
                found[_free(f"{name}_flag", found)] = flags
        return found

    def to_html(self, path: str | os.PathLike[str] | None = None, *, std_errors: bool = False) -> str | None:
        """Write ``to_dict`` with its notes as an HTML page that prints well, or return it."""
        text = as_text(self.document(std_errors=std_errors), ".html")
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8")
        return None

    def to_excel(self, path: str | os.PathLike[str], *, std_errors: bool = False) -> None:
        """Write ``to_dict`` with its notes as a spreadsheet; it needs ``pip install 'prdp[publish]'``."""
        write(self.document(std_errors=std_errors), Path(path).with_suffix(".xlsx"))

    def document(self, *, std_errors: bool = False) -> Document:
        """Return ``to_dict`` with the statement and its notes, ready to print."""
        return Document(self.text, self.to_dict(std_errors=std_errors), self.notes)

    def plot(self, ax: Any = None) -> Any:
        """Draw the numbers with their intervals, by the statement's names, and return matplotlib's axes.

        It needs ``pip install 'prdp[plot]'``.

        Args:
            ax: Where to draw; by default, in a figure of its own. Several numbers need as many axes.
        """
        if self.released is None or not self.rows:
            raise InvalidRequest("there is nothing to plot: the statement gave no released number.")
        numbers = [all(_is_drawn(row[place]) for row in self.rows) for place in range(len(self.columns))]

        def parted(row: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            pairs = list(zip(row, numbers, strict=True))
            return tuple(cell for cell, is_number in pairs if not is_number), tuple(
                cell for cell, is_number in pairs if is_number
            )

        by, asked = parted(self.columns)
        keys, releases = zip(*map(parted, self.rows), strict=True)
        if not asked:
            raise InvalidRequest("there is nothing to plot: no column of the answers is a number throughout.")
        drawn: Any = replace(self.released, by=by, asked=asked, keys=keys, releases=releases)
        return drawn.plot(ax)

    def to_pandas(self, *, std_errors: bool = False) -> pandas.DataFrame:
        """Return a pandas frame of ``to_dict``."""
        columns = self.to_dict(std_errors=std_errors)
        frame: pandas.DataFrame = optional_library("pandas", "pandas").DataFrame(columns)
        frame.attrs.update({"statement": self.text, "share": str(self.share), "notes": "; ".join(self.notes)})
        return frame

    def __str__(self) -> str:
        return "\n".join([*self._lines(), *self._more(), *self.notes])

    def __repr__(self) -> str:
        return f"<SqlAnswers of {len(self.rows)} rows, share {self.share}{self._mark}>"

    def _repr_html_(self) -> str:
        notes = [*self._more(), *self.notes]
        return html_table(f"share {self.share}{self._mark}", list(self.columns), self._cells(), notes)

    @property
    def _mark(self) -> str:
        return formatting.marks(self.recorded_at, simulated=self.simulated)

    def _cells(self) -> list[list[str]]:
        return [list(map(_in_words, row)) for row in self.rows[:_SHOWN_ROWS]]

    def _lines(self) -> list[str]:
        rows = [list(map(printable, self.columns)), *self._cells()]
        lines = formatting.in_columns(rows)
        if len(rows) != 2 or max(map(len, lines)) <= formatting.SCREEN:
            return lines
        return formatting.in_columns(list(zip(*rows, strict=True)))

    def _more(self) -> list[str]:
        """Return how many rows are not shown."""
        more = len(self.rows) - _SHOWN_ROWS
        return [f"... and {more} more"] if more > 0 else []

    @property
    def notes(self) -> list[str]:
        """Notes that hold for all rows."""
        return self.notes_on(formatting.ROW_EXCLUDES)

    def notes_on(self, excluded_in: str) -> list[str]:
        """Return the notes; ``excluded_in`` names the place that shows what each interval excludes."""
        numbers = [cell for row in self.rows for cell in row if isinstance(cell, Release | ComputedAnswer)]
        kinds = dict.fromkeys(number.kind for number in numbers)
        text = [f"share {self.share}{self._mark}"]
        text += [f"intervals: {formatting.KINDS[kind]}" for kind in kinds]
        text += self.remarks
        if any(number.left_away != (None, None) for number in numbers):
            text.append(formatting.far_away(excluded_in))
        text += self._conditions(excluded_in)
        caveats = self._by_column(lambda number: [(number.method, number.caveat)] if number.caveat else [])
        if len(caveats) > len(self.columns):
            caveats = self._by_column(lambda one: [(one.method, one.general_caveat)] if one.caveat else [])
        text += [f"{method}{columns}: {text}" for (method, text), columns in caveats.items()]
        flags = {number.flag for number in numbers}
        return text + [f"{flag}: {meaning}" for flag, meaning in formatting.FLAGS.items() if flag in flags]

    def _conditions(self, excluded_in: str) -> list[str]:
        """Return the excluded records and what intervals exclude, by columns, not by rows."""
        left_out = self._by_column(lambda number: list(formatting.notes_of(number.left_out)))
        excluded = self._by_column(_excluded)
        asked = [name for name in self.columns if any(_is_number(cell) for cell in self[name])]
        if len(excluded) > len(asked):
            named = self._by_column(lambda number: [True] if _excluded(number) else [])[True]
            excluded = {formatting.excluded_by_row(excluded_in): named}
        interval_notes = {f"excludes {text}": columns for text, columns in excluded.items()}
        numbers = (cell for row in self.rows for cell in row if isinstance(cell, Release | ComputedAnswer))
        of_nothing = self._by_column(
            lambda one: [formatting.rows_of_nothing(len(self.rows))] if one.perhaps_of_nothing else []
        )
        return [
            *formatting.rows_simultaneous(numbers),
            *(f"{text}{columns}" for text, columns in (*left_out.items(), *of_nothing.items())),
            *(f"an interval{columns} {text}" for text, columns in interval_notes.items()),
        ]

    def _by_column(self, what: Callable[[Release | ComputedAnswer], list[Any]]) -> dict[Any, str]:
        """Return the facts of numbers, each with its columns unless these are all."""
        found: dict[Any, dict[str, None]] = {}
        named: dict[str, None] = {}
        for row in self.rows:
            for name, cell in zip(self.columns, row, strict=True):
                if isinstance(cell, Release | ComputedAnswer):
                    named[name] = None
                    for text in what(cell):
                        found.setdefault(text, {})[name] = None
        return {
            text: "" if len(columns) == len(named) else f" ({', '.join(columns)})"
            for text, columns in found.items()
        }


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, Release | ComputedAnswer)


def _is_drawn(cell: Cell) -> bool:
    """Return whether a cell is a number that can be plotted, not a day."""
    return isinstance(cell, Release | ComputedAnswer) and not cell.day


def _excluded(number: Release | ComputedAnswer) -> list[str]:
    """Return what the interval of a number excludes."""
    chosen = isinstance(number, Release) and number.chosen is not None
    return [number.excluded_clause] if number.excluded_text and number.excluded_clause and not chosen else []


def plain(cell: Cell) -> Any:
    """Return a cell as a plain value: a count is a whole number."""
    match cell:
        case Release() | ComputedAnswer():
            return formatting.plain_value(cell)
        case float() if math.isfinite(cell) and cell == int(cell) and abs(cell) < 2**53:
            return int(cell)
        case _:
            return cell


def _in_words(cell: Cell) -> str:
    match cell:
        case Release() | ComputedAnswer():
            return formatting.in_a_cell(cell)
        case None:
            return "NULL"
        case bool():
            return str(cell).lower()
        case float():
            return f"{plain(cell):,}"
        case _:
            return printable(shown_key(cell))


def _free(name: str, taken: dict[str, Any]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
