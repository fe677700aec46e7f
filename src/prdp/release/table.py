"""Several answers in one release, one row a group and one column a question; results of custom mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from prdp.declare.groups import Bin, KeyValue, Others
from prdp.errors import InvalidRequest
from prdp.release import formatting
from prdp.release.formats.document import Document, as_text, write
from prdp.release.formatting import html_table, marks, optional_library
from prdp.release.public_names import Completed, renamed
from prdp.release.release import Release
from prdp.release.rows import (
    ReleaseRows,
    any_left_away,
    any_of_nothing,
    column_of,
    cvs_of,
    examples,
    flags_of,
    intervals_of,
    std_errors_of,
    values_of,
)
from prdp.safety.plain_text import csv_text, printable

if TYPE_CHECKING:
    import os

    import pandas
    import polars
    import pyarrow


PROMISE = "that the mechanism is differentially private is its caller's promise"


@dataclass(frozen=True, slots=True, repr=False)
class CustomRelease:
    """The result of a caller's mechanism on the rows that the framework kept.

    >>> print(CustomRelease("median of age", 41, Fraction(1, 4), Fraction(1, 8)))  # doctest: +ELLIPSIS
    median of age: 41 (share 1/4, framework); ... is its caller's promise

    Attributes:
        question: What was asked, in words.
        value: What it returned: numbers, texts, truth values, None, lists and dicts of them.
        share: The part of every record's budget that was used.
        epsilon: What the mechanism was given to spend.
        choices: What was chosen on the way, in words.
        failed: Whether the mechanism raised an exception, or returned something else; that is all it says.
        simulated: Whether the records were a synthetic table's: such an answer is not private.
        left_out: Which records it is not about, in words; empty where that is nobody.
        recorded_at: When it was charged, for an answer that was recorded before; empty for a new one.
    """

    question: str
    value: Any
    share: Fraction
    epsilon: Fraction
    choices: tuple[tuple[str, str], ...] = ()
    failed: bool = False
    simulated: bool = False
    left_out: str = ""
    recorded_at: str = field(default="", compare=False)

    method = "framework"
    caveat = PROMISE

    def __str__(self) -> str:
        """Return the answer on one line."""
        value = "the mechanism failed: it raised, or returned no plain value" if self.failed else self.value
        mark = marks(self.recorded_at, simulated=self.simulated)
        notes = "; ".join(filter(None, (self.left_out, self.caveat)))
        return f"{self.question}: {value} (share {self.share}, framework); {notes}{mark}"

    def __repr__(self) -> str:
        return f"CustomRelease({self})"


_SHOWN_ROWS = 40  # what fits on a screen
_LISTED = 20  # keys that a message names before it stops

Key = tuple[KeyValue, ...]

_Fact = TypeVar("_Fact", bound=Hashable)


@dataclass(frozen=True, repr=False)
class ReleaseTable(Completed):
    """Private answers by group; everything in it may be published.

    Iterating gives (key, releases) pairs in the order in which the keys were listed.

    >>> clerks = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip")
    >>> counts = ReleaseTable("count", Fraction(1, 10), ("job",), ("count",), (("clerk",),), ((clerks,),))
    >>> counts["clerk"].value, len(counts)
    (41, 1)
    >>> [(key, release.value) for key, (release,) in counts]
    [(('clerk',), 41)]

    Attributes:
        question: What was asked, in words.
        share: The part of every record's budget that all of it used together.
        by: What the groups are distinguished by; empty for one group of all records.
        asked: The questions, one a column.
        keys: The groups' keys, one a row.
        releases: The answers, a row for each key and a column for each question.
        notes: Notes on it, whatever its rows.
        recorded_at: When it was charged, for answers that were recorded before; empty for new ones.
    """

    internals: ClassVar = frozenset({"document", "lines", "lines_within"})
    synonyms: ClassVar[Mapping[str, str]] = renamed("head", "limit")
    hints: ClassVar[Mapping[str, str]] = {
        **renamed("sort('n', descending=True)", "sort_values", "order_by", "sort_index"),
        **renamed("top(10)", "nlargest", "top_k"),
        **renamed("to_pandas(), or [key] for a group's answer", "iloc", "loc", "values", "iterrows", "items"),
        **renamed("keys", "index"),
        **renamed("filter(lambda key, answer: ...)", "query", "where"),
        **renamed("to_pandas()", "df", "to_frame", "to_dataframe", "pd"),
        **renamed("to_polars()", "pl"),
        **renamed("[key].low and [key].high", "low", "high", "interval", "ci"),
    }

    question: str
    share: Fraction
    by: tuple[str, ...]
    asked: tuple[str, ...]
    keys: tuple[Key, ...]
    releases: Sequence[tuple[Release, ...]]
    notes: tuple[str, ...] = ()
    recorded_at: str = field(default="", compare=False)

    @property
    def simulated(self) -> bool:
        """True if the records were a synthetic table's: such answers are not private."""
        return any(release.simulated for column in self._examples for release in column)

    @cached_property
    def _examples(self) -> list[Sequence[Release]]:
        """Releases of each question that have all facts of any, except the answer itself."""
        return [examples(column_of(self.releases, place)) for place in range(len(self.asked))]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[tuple[Key, tuple[Release, ...]]]:
        return iter(zip(self.keys, self.releases, strict=True))

    def __getitem__(self, key: object) -> Any:
        """Return a group's answer by its key, or one of several by the key and the name of its column.

        A key alone gives all answers of a group, where several were asked for. The name of a column alone
        gives its answer where there are no groups, and else the table of that column.

        >>> asked = ("count", "sum of pay")
        >>> chefs, pay = (Release(name, 41, Fraction(1), (), Fraction(1, 10), "clip") for name in asked)
        >>> by_job = ReleaseTable("", Fraction(1), ("job",), ("n", "pay"), (("chef",),), ((chefs, pay),))
        >>> by_job["chef", "pay"].question, by_job["n"]["chef"].question, len(by_job["chef"])
        ('sum of pay', 'count', 2)
        """
        wanted, asked = key if isinstance(key, tuple) else (key,), self.names[len(self.by) :]
        if len(wanted) == len(self.by) + 1 and wanted[-1] in asked:
            row = self[wanted[:-1]] if self.by else self.releases[0]
            return row if isinstance(row, Release) else row[asked.index(str(wanted[-1]))]
        exactly = wanted if all(isinstance(part, Hashable) for part in wanted) else ()
        for spelled in (exactly, tuple(map(str, wanted))):
            if spelled in self._places:
                row = self.releases[self._places[spelled]]
                return row[0] if len(row) == 1 else row
        if key in asked:
            return self._only(asked.index(str(key)))
        if not self.by:
            raise KeyError(f"{key!r} is not a column of this table, which has: {', '.join(self.asked)}")
        known = printable(", ".join(map(_named_key, self.keys[:_LISTED])))
        more = ", ..." if len(self.keys) > _LISTED else ""
        raise KeyError(f"{key!r} is not a key of this table, which has: {known}{more}")

    def _only(self, place: int) -> ReleaseTable:
        """Return the table of one question."""
        column = column_of(self.releases, place)
        return replace(self, asked=(self.asked[place],), releases=ReleaseRows((column,)))

    @cached_property
    def _places(self) -> dict[tuple[object, ...], int]:
        """The row of each key, by the key itself and by its words."""
        rows = list(enumerate(self.keys))[::-1]  # of keys that read alike, the first is found
        words = {tuple(map(shown_key, key)): place for place, key in rows}
        return words | {key: place for place, key in rows}

    def sort(self, by: str | None = None, *, descending: bool = False) -> ReleaseTable:
        """Return the same rows, sorted by a question's answers, or by what the groups are distinguished by.

        The row that comes first by its answer is selected by it, so that intervals are then simultaneous over
        all rows: see ``top``.

        Args:
            by: A question as a column is called, or one of ``by``; by default, the first question.
            descending: Whether the largest come first; by default the smallest do, as in pandas and Polars.
        """
        return self._rows(self._order(by, descending=descending), selected=self._is_answer(by))

    def top(self, count: int = 10, by: str | None = None) -> ReleaseTable:
        """Return the rows with the largest answers.

        They are the largest noisy ones: noise that is large and positive helps a row to be among them. So
        their intervals are simultaneous: those of all rows of this table hold at once with a probability of
        95 %, whichever are selected.
        """
        places = self._order(by, descending=True)[: max(0, count)]
        return self._rows(places, selected=self._is_answer(by))

    def head(self, count: int = 5) -> ReleaseTable:
        """Return the first rows, in the order of the table: after ``sort``, those with the first answers.

        >>> clerks = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip")
        >>> keys, rows = (("clerk",), ("chef",)), ((clerks,), (clerks,))
        >>> ReleaseTable("count", Fraction(1, 10), ("job",), ("count",), keys, rows).head(1).keys
        (('clerk',),)
        """
        return self._rows(range(min(len(self), max(0, count))), selected=False)

    def filter(self, keep: Callable[..., bool]) -> ReleaseTable:
        """Return the rows for which a function of (key, release, ...) is true.

        It may select by answers, so that intervals are then simultaneous over all rows, as those of ``top``
        are; for a row that you name, ``table[key]`` has its own.

        >>> clerks = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip")
        >>> counts = ReleaseTable("count", Fraction(1, 10), ("job",), ("count",), (("clerk",),), ((clerks,),))
        >>> len(counts.filter(lambda key, count: count.value > 100))
        0
        """
        places = [place for place, (key, row) in enumerate(self) if keep(key, *row)]
        return self._rows(places, selected=True)

    def _is_answer(self, by: str | None) -> bool:
        return by is None or by in self.names[len(self.by) :]

    def _order(self, by: str | None, *, descending: bool) -> list[int]:
        column = self._column(by)
        return sorted(range(len(self)), key=column.__getitem__, reverse=descending)

    def _rows(self, places: Sequence[int], *, selected: bool) -> ReleaseTable:
        """Return some rows; those that answers select have simultaneous intervals."""
        keys = tuple(self.keys[place] for place in places)
        among = len(self) if selected else 1
        rows = (self.releases[place] for place in places)
        return replace(
            self, keys=keys, releases=tuple(tuple(one.selected(among) for one in row) for row in rows)
        )

    def _column(self, name: str | None) -> list[Any]:
        """Return what rows are sorted by."""
        names = self.names
        if name is None or name in names[len(self.by) :]:
            place = 0 if name is None else names.index(name) - len(self.by)
            return [row[place].exact for row in self.releases]
        if name in names:
            column = [key[names.index(name)] for key in self.keys]
            same = len({type(value) for value in column}) == 1
            return [_sortable(value) if same else str(value) for value in column]
        raise InvalidRequest(f"{name!r} is not a column of this table, which has: {', '.join(names)}.")

    @property
    def names(self) -> list[str]:
        """Distinct names of the columns of keys and answers."""
        return list(_named_apart([(name, []) for name in (*self.by, *self.asked)]))

    @property
    def caveats(self) -> tuple[str, ...]:
        """Causes besides noise that may have moved the answers, by method."""
        found = self._by_columns(lambda release: (release.method, release.caveat))
        if len(found) > len(self.asked):
            found = self._by_columns(lambda release: (release.method, release.general_caveat))
        return tuple(f"{method}{columns}: {caveat}" for (method, caveat), columns in found.items() if caveat)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Exclusions of answers and of intervals; where rows differ, without values."""
        notes = formatting.notes_of(*(one.left_out for column in self._examples for one in column))
        left_out = [f"{note}{self._by_columns(partial(_states, note))[True]}" for note in notes]
        excluded = {
            text: columns
            for text, columns in self._by_columns(lambda one: one.stated_exclusion).items()
            if text
        }
        if len(excluded) > len(self.asked):
            named = self._by_columns(lambda release: bool(release.stated_exclusion))[True]
            excluded = {formatting.excluded_by_row(): named}
        interval_notes = [f"an interval{columns} excludes {text}" for text, columns in excluded.items()]
        at_once = formatting.rows_simultaneous(one for column in self._examples for one in column)
        return (*at_once, *left_out, *self._of_nothing(), *interval_notes)

    def _of_nothing(self) -> list[str]:
        """Return that answers may be of no values at all, with the columns of those unless these are all."""
        names = self.names[len(self.by) :]
        found = [name for place, name in enumerate(names) if any_of_nothing(column_of(self.releases, place))]
        columns = "" if len(found) == len(names) else f" ({', '.join(found)})"
        return [f"{formatting.rows_of_nothing(len(self))}{columns}"] if found else []

    def _by_columns(self, what: Callable[[Release], _Fact]) -> dict[_Fact, str]:
        """Return the facts of answers, each with its columns unless these are all."""
        found: dict[_Fact, dict[str, None]] = {}
        names = self.names[len(self.by) :]
        for name, column in zip(names, self._examples, strict=True):
            for release in column:
                found.setdefault(what(release), {})[name] = None
        return {
            text: "" if len(columns) == len(names) else f" ({', '.join(columns)})"
            for text, columns in found.items()
        }

    def columns(
        self, level: float | Fraction | str = 0.95, *, std_errors: bool = False
    ) -> Mapping[str, list[Any]]:
        """Return plain columns: the keys, and for each question its value, its interval and its flag.

        The key of all other records is None.

        ``count_low`` and ``count_high`` are the ends of the interval that is printed; ``median_balance_from``
        and ``..._to`` those of the range that was chosen. ``count_flag`` says what is wrong with
        an answer (``"low precision"``, ``"unreliable"``, ``"insufficient budget"``), and is empty where
        nothing is.

        >>> clerks = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip")
        >>> counts = ReleaseTable("count", Fraction(1, 10), ("job",), ("count",), (("clerk",),), ((clerks,),))
        >>> list(counts.columns()), counts.columns()["count"]
        (['job', 'count', 'count_low', 'count_high', 'count_flag'], [41.0])
        >>> list(counts.columns(std_errors=True))
        ['job', 'count', 'count_low', 'count_high', 'count_se', 'count_cv', 'count_flag']

        Args:
            level: The probability with which each interval covers the truth.
            std_errors: Whether each answer has its standard error and its coefficient of variation beside it.
        """
        columns: list[tuple[str, list[Any]]] = []
        for place, name in enumerate(self.by):
            column = [key[place] for key in self.keys]
            columns += _key_columns(name, column)
        for place, name in enumerate(self.names[len(self.by) :]):
            answers = column_of(self.releases, place)
            intervals = intervals_of(answers, level)
            columns.append((name, values_of(answers)))
            columns.extend(
                (f"{name}_{end}", [pair[k] for pair in intervals])
                for k, end in enumerate(_ends(self._examples[place]))
            )
            if std_errors:
                columns += [(f"{name}_se", std_errors_of(answers)), (f"{name}_cv", cvs_of(answers))]
            columns.append((f"{name}_flag", flags_of(answers)))
        return _named_apart(columns)

    def to_dict(self, *, std_errors: bool = False) -> dict[str, Any]:
        """Return the question and the rows as plain values; an end that is not there is None."""
        columns = self.columns(std_errors=std_errors)
        rows = [
            {name: _plain(value) for name, value in zip(columns, row, strict=True)}
            for row in zip(*columns.values(), strict=True)
        ]
        return {**self._facts(), "simulated": self.simulated, "rows": rows}

    def to_json(self, *, std_errors: bool = False) -> str:
        """Return ``to_dict`` as JSON."""
        return formatting.as_json(self.to_dict(std_errors=std_errors))

    def to_csv(self, path: str | os.PathLike[str] | None = None, *, std_errors: bool = False) -> str | None:
        """Write the ``columns`` as CSV, or return them so; an end that is not there is empty.

        A text that a spreadsheet would run as a formula has a ' before it.
        """
        columns = self.columns(std_errors=std_errors)
        text = csv_text({name: list(map(_plain, column)) for name, column in columns.items()})
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8")
        return None

    def to_parquet(
        self,
        path: str | os.PathLike[str],
        level: float | Fraction | str = 0.95,
        *,
        std_errors: bool = False,
    ) -> None:
        """Write the ``columns`` as a Parquet file; the question and its caveats are in the metadata."""
        table = self.to_arrow(level, std_errors=std_errors)
        optional_library("pyarrow.parquet", "arrow").write_table(table, path)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, std_errors: bool = False) -> str | None:
        """Write the ``columns`` with their notes as an HTML page that prints well, or return it."""
        text = as_text(self.document(std_errors=std_errors), ".html")
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8")
        return None

    def to_excel(self, path: str | os.PathLike[str], *, std_errors: bool = False) -> None:
        """Write the ``columns`` with their notes as a spreadsheet, in which no key is a formula.

        It needs ``pip install 'prdp[publish]'``.
        """
        write(self.document(std_errors=std_errors), Path(path).with_suffix(".xlsx"))

    def document(self, *, std_errors: bool = False) -> Document:
        """Return the ``columns`` with title and notes, ready to print."""
        notes = self._notes()[len(self) > _SHOWN_ROWS :]
        return Document(self._title(), self.columns(std_errors=std_errors), notes)

    def plot(self, ax: Any = None) -> Any:
        """Draw the answers with their intervals as error bars, and return matplotlib's axes.

        An arrow marks an end that is not there. It needs ``pip install 'prdp[plot]'``.

        Args:
            ax: Where to draw; by default, in a figure of its own. Several questions need as many axes.
        """
        from prdp.release.plot import plot  # noqa: PLC0415  (matplotlib is an extra)

        return plot(self, ax)

    def to_arrow(self, level: float | Fraction | str = 0.95, *, std_errors: bool = False) -> pyarrow.Table:
        """Return an Arrow table of the ``columns``; the question and its caveats are in the metadata."""
        table = optional_library("pyarrow", "arrow").table(dict(self.columns(level, std_errors=std_errors)))
        return table.replace_schema_metadata(self._facts())

    def to_pandas(
        self, level: float | Fraction | str = 0.95, *, std_errors: bool = False
    ) -> pandas.DataFrame:
        """Return a pandas frame of the ``columns``; the question and its caveats are in ``attrs``."""
        library = optional_library("pandas", "pandas")
        columns: dict[str, Any] = dict(self.columns(level, std_errors=std_errors))
        for name, column in columns.items():
            if None in column and all(value is None or type(value) is int for value in column):
                columns[name] = library.array(column, dtype="Int64")  # whole keys beside that of all others
        frame: pandas.DataFrame = library.DataFrame(columns)
        frame.attrs.update(self._facts())
        return frame

    def to_polars(
        self, level: float | Fraction | str = 0.95, *, std_errors: bool = False
    ) -> polars.DataFrame:
        """Return a Polars frame of the ``columns``."""
        columns = dict(self.columns(level, std_errors=std_errors))
        frame: polars.DataFrame = optional_library("polars", "polars").DataFrame(columns)
        return frame

    def _facts(self) -> dict[str, str]:
        facts = {"question": self.question, "share": str(self.share), "caveats": "; ".join(self.caveats)}
        facts["conditions"] = "; ".join(self.conditions)
        facts |= {"notes": "; ".join(self.notes)} if self.notes else {}
        facts |= {"recorded_at": self.recorded_at} if self.recorded_at else {}
        return facts | ({"simulated": "true"} if self.simulated else {})

    def __str__(self) -> str:
        """Return the answers as text, the first ones if they are many."""
        return "\n".join([self._title(), *self.lines, *self._notes()])

    @property
    def lines(self) -> list[str]:
        """The heads and the answers as lines of text, the first ones if they are many."""
        return self.lines_within(math.inf)

    def lines_within(self, room: float) -> list[str]:
        """Return the same; answers for which there is no room are below the others, with the keys again.

        Of a table without keys that is wider than a screen, each answer has a line.
        """
        columns = [
            formatting.aligned(column, left=place < len(self.by))
            for place, column in enumerate(zip(self._heads(), *self._cells(), strict=True))
        ]
        keys = columns[: len(self.by)]
        blocks = [keys]
        for column in columns[len(self.by) :]:
            wide = len("  ".join(cells[0] for cells in (*blocks[-1], column))) > room
            blocks += [keys] if wide and blocks[-1] != keys else []
            blocks[-1] = [*blocks[-1], column]
        lines = ["  ".join(row).rstrip() for block in blocks for row in zip(*block, strict=True)]
        if self.by or len(self) != 1 or max(map(len, lines)) <= formatting.SCREEN:
            return lines
        return formatting.in_columns(list(zip(self._heads(), *self._cells(), strict=True)))

    def __repr__(self) -> str:
        return (
            f"<ReleaseTable of {printable(self.question)}: {len(self)} rows, share {self.share}{self._mark}>"
        )

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._heads(), self._cells(), self._notes())

    def _title(self) -> str:
        return f"{printable(self.question)} (share {self.share}){self._mark}"

    @property
    def _mark(self) -> str:
        return formatting.marks(self.recorded_at, simulated=self.simulated)

    def _heads(self) -> list[str]:
        """Return the heads: of one question, a column each for the answer and its ends."""
        short = [*(_head(name, "group") for name in self.by), *(_head(name) for name in self.asked)]
        names = list(_named_apart([(name, []) for name in short]))
        if len(self.asked) != 1 or not self.releases:
            return list(map(printable, names))
        ends = [f"{names[-1]}_{end}" for end in _ends(self._examples[0])]
        heads = [*names, *ends, *([f"{names[-1]}_flag"] if self._flagged() else [])]
        return list(map(printable, heads))

    def _cells(self) -> list[list[str]]:
        """Return the cells of the first rows; of several questions, each answer in one with its ends."""
        alone = len(self.asked) == 1
        flagged = alone and self._flagged()
        rows = []
        for key, row in islice(self, _SHOWN_ROWS):
            cells = [printable(shown_key(value)) for value in key]
            if alone:
                cells += [*formatting.value_and_ends(row[0]), *([row[0].flag] if flagged else [])]
            else:
                cells += [formatting.in_a_cell(release) for release in row]
            rows.append(cells)
        return rows

    def _flagged(self) -> bool:
        return any(row[0].flag for row in self.releases[:_SHOWN_ROWS])

    def _notes(self) -> list[str]:
        """Return the notes on all rows."""
        notes = [f"... and {len(self) - _SHOWN_ROWS} more"] if len(self) > _SHOWN_ROWS else []
        kinds = self._by_columns(lambda release: release.kind)
        notes += [f"intervals{columns}: {formatting.KINDS[kind]}" for kind, columns in kinds.items()]
        columns = [column_of(self.releases, place) for place in range(len(self.asked))]
        found = {flag for column in columns for flag in flags_of(column)}
        flags = [f"{flag}: {meaning}" for flag, meaning in formatting.FLAGS.items() if flag in found]
        notes += [formatting.far_away()] if any(map(any_left_away, columns)) else []
        return [*notes, *self.notes, *self.conditions, *self.caveats, *self._clipped(), *flags]

    def _clipped(self) -> list[str]:
        """Return which records counted for less, where that is the same for all rows."""
        text = {dict(one.choices).get(formatting.CLIPPED) for column in self._examples for one in column}
        return [text for text in text if text] if len(text) == 1 else []


Released = Release | ReleaseTable | CustomRelease
"""Result that a charge pays for."""


def shown_key(value: KeyValue) -> str:
    """Return a key in words: a moment at midnight is its day, and a whole number has no decimals.

    >>> from datetime import datetime
    >>> shown_key(datetime(2026, 1, 31)), shown_key("clerk"), shown_key(30.0)
    ('2026-01-31', 'clerk', '30')
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value.date()) if _is_day(value) else str(value)  # type: ignore[union-attr]


def _named_key(key: Key) -> str:
    """Return a key in words, in parentheses where it has several values.

    >>> _named_key(("chef",)), _named_key(("chef", True))
    ('chef', '(chef, True)')
    """
    named = ", ".join(map(shown_key, key))
    return named if len(key) == 1 else f"({named})"


def _states(note: str, release: Release) -> bool:
    """Return whether a note is among those of a release."""
    return note in formatting.notes_of(release.left_out)


def _ends(answers: Sequence[Release]) -> tuple[str, str]:
    """Return what the ends of a column's intervals are called."""
    chosen = any(release.kind == formatting.RANGE for release in answers)
    return ("from", "to") if chosen else ("low", "high")


def _plain(value: Any) -> Any:
    """Return a value as JSON and CSV have it; a missing end is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def _sortable(value: KeyValue) -> Any:
    return value.low if isinstance(value, Bin) else value


def _numbers_of(edges: Sequence[Fraction]) -> list[int] | list[float]:
    """Return edges as numbers of one type, which every frame has: 64-bit integers, else floats."""
    if all(edge.denominator == 1 and -(2**63) <= edge < 2**63 for edge in edges):
        return [int(edge) for edge in edges]
    return [float(edge) for edge in edges]


def _head(name: str, instead: str = "") -> str:
    """Return what a column is headed by: of a long expression, the aggregate alone, or ``instead``.

    >>> _head("mean_pay"), _head("mean_CASE WHEN vip THEN 1 ELSE 0 END"), _head("CAST(age AS INT)", "group")
    ('mean_pay', 'mean', 'group')
    """
    long = "CASE WHEN " in name or "CAST(" in name
    return (instead or name.partition("_")[0]) if long else name


def _named_apart(columns: Sequence[tuple[str, list[Any]]]) -> dict[str, list[Any]]:
    """Return the columns by name; a name that is taken already gets a number."""
    named: dict[str, list[Any]] = {}
    for name, column in columns:
        free, number = name, 2
        while free in named:
            free, number = f"{name}_{number}", number + 1
        named[free] = column
    return named


def _key_columns(name: str, keys: Sequence[KeyValue]) -> list[tuple[str, list[Any]]]:
    """Return a column of keys as plain columns: ends of bins, days, or values; None for all others."""
    listed: list[Any] = [key for key in keys if not isinstance(key, Others)]

    def placed(values: Sequence[Any]) -> list[Any]:
        each = iter(values)
        return [None if isinstance(key, Others) else next(each) for key in keys]

    if listed and all(isinstance(key, Bin) for key in listed):
        low, high = (_numbers_of([getattr(key, end) for key in listed]) for end in ("low", "high"))
        return [(f"{name}_from", placed(low)), (f"{name}_to", placed(high))]
    if listed and all(_is_day(key) for key in listed):
        return [(name, placed([key.date() for key in listed]))]
    return [(name, placed(listed))]


def _is_day(value: KeyValue) -> bool:
    """Return whether a key is a day."""
    return isinstance(value, datetime) and value.time() == time()
