"""Several answers in one release: one row a group, one column a question."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from prdp.declare.groups import Bin, KeyValue
from prdp.errors import InvalidRequest
from prdp.release.custom import CustomRelease
from prdp.release.html import html_table
from prdp.release.release import Release

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN_ROWS = 40  # what fits on a screen
_LISTED = 20  # keys that a message names before it stops

Key = tuple[KeyValue, ...]


@dataclass(frozen=True, repr=False)
class ReleaseTable:
    """Private answers by group; everything in it may be published.

    Iterating gives (key, releases) pairs in the order in which the keys were listed.

    >>> clerks = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip", "")
    >>> counts = ReleaseTable("count", Fraction(1, 10), ("job",), ("count",), (("clerk",),), ((clerks,),))
    >>> counts["clerk"].value, len(counts)
    (41, 1)
    >>> [(key, release.value) for key, (release,) in counts]
    [(('clerk',), 41)]

    Attributes:
        question: What was asked, in words.
        share: The part of every record's budget that all of it used together.
        by: What the groups are told apart by; empty for one group of all records.
        asked: The questions, one a column.
        keys: The groups' keys, one a row.
        releases: The answers, a row for each key and a column for each question.
    """

    question: str
    share: Fraction
    by: tuple[str, ...]
    asked: tuple[str, ...]
    keys: tuple[Key, ...]
    releases: tuple[tuple[Release, ...], ...]

    @property
    def simulated(self) -> bool:
        """Whether the records were a stand-in's: such answers protect nobody."""
        return any(release.simulated for row in self.releases for release in row)

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[tuple[Key, tuple[Release, ...]]]:
        return iter(zip(self.keys, self.releases, strict=True))

    def __getitem__(self, key: object) -> Release | tuple[Release, ...]:
        """Return a group's answer, or its answers if several were asked for; without groups, a column's."""
        if not self.by and isinstance(key, str) and self.asked.count(key) == 1:
            return self.releases[0][self.asked.index(key)]
        wanted = key if isinstance(key, tuple) else (key,)
        exactly = wanted if all(isinstance(part, Hashable) for part in wanted) else ()
        for spelled in (exactly, tuple(map(str, wanted))):
            if spelled in self._places:
                row = self.releases[self._places[spelled]]
                return row[0] if len(row) == 1 else row
        known = ", ".join(", ".join(map(shown_key, listed)) for listed in self.keys[:_LISTED])
        more = ", ..." if len(self.keys) > _LISTED else ""
        raise KeyError(f"{key!r} is no key of this table, which has: {known}{more}")

    @cached_property
    def _places(self) -> dict[tuple[object, ...], int]:
        """The row of each key, by the key itself and by its words."""
        rows = list(enumerate(self.keys))[::-1]  # of keys that read alike, the first is found
        words = {tuple(map(shown_key, key)): place for place, key in rows}
        return words | {key: place for place, key in rows}

    @property
    def caveats(self) -> tuple[str, ...]:
        """The errors that the answers' intervals do not cover, by method."""
        found = {(release.method, release.caveat): None for row in self.releases for release in row}
        return tuple(f"{method}: {caveat}" for method, caveat in found if caveat)

    def columns(self, level: float | Fraction | str = 0.95) -> Mapping[str, list[Any]]:
        """Return plain columns: the keys, and for each question its value and how sure it is.

        ``count_low`` and ``count_high`` are the ends of an interval; ``median_balance_from`` and ``..._to``
        those of the range that was chosen, which says nothing about how sure the choice was.

        >>> clerks = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip", "")
        >>> counts = ReleaseTable("count", Fraction(1, 10), ("job",), ("count",), (("clerk",),), ((clerks,),))
        >>> list(counts.columns()), counts.columns()["count"]
        (['job', 'count', 'count_low', 'count_high'], [41.0])
        """
        columns: list[tuple[str, list[Any]]] = []
        for place, name in enumerate(self.by):
            column = [key[place] for key in self.keys]
            if all(isinstance(value, Bin) for value in column):
                columns.append((f"{name}_from", _numbers([value.low for value in column])))  # type: ignore[union-attr]
                columns.append((f"{name}_to", _numbers([value.high for value in column])))  # type: ignore[union-attr]
            elif all(is_day(value) for value in column):
                columns.append((name, [value.date() for value in column]))  # type: ignore[union-attr]
            else:
                columns.append((name, column))
        for place, name in enumerate(self.asked):
            answers = [row[place] for row in self.releases]
            chosen = any(release.ends is not None and not release.parts for release in answers)
            intervals = [release.interval(level) for release in answers]
            ends = ("from", "to") if chosen else ("low", "high")
            columns.append((name, [float(release.value) for release in answers]))
            columns.extend(
                (f"{name}_{end}", [float(pair[k]) for pair in intervals]) for k, end in enumerate(ends)
            )
        return _named_apart(columns)

    def to_arrow(self, level: float | Fraction | str = 0.95) -> pyarrow.Table:
        """Return an Arrow table of the ``columns``; the question and its caveats are in the metadata."""
        table = _library("pyarrow", "arrow").table(dict(self.columns(level)))
        return table.replace_schema_metadata(self._facts())

    def to_pandas(self, level: float | Fraction | str = 0.95) -> pandas.DataFrame:
        """Return a pandas frame of the ``columns``; the question and its caveats are in ``attrs``."""
        frame: pandas.DataFrame = _library("pandas", "pandas").DataFrame(dict(self.columns(level)))
        frame.attrs.update(self._facts())
        return frame

    def to_polars(self, level: float | Fraction | str = 0.95) -> polars.DataFrame:
        """Return a Polars frame of the ``columns``."""
        frame: polars.DataFrame = _library("polars", "polars").DataFrame(dict(self.columns(level)))
        return frame

    def _facts(self) -> dict[str, str]:
        facts = {"question": self.question, "share": str(self.share), "caveats": "; ".join(self.caveats)}
        return facts | ({"simulated": "true"} if self.simulated else {})

    def __str__(self) -> str:
        """Return the answers as text, the first ones if they are many."""
        return "\n".join([self._title(), *self.lines, *self._notes()])

    @property
    def lines(self) -> list[str]:
        """The heads and the answers as lines of text, the first ones if they are many."""
        rows = [self._heads(), *self._cells()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [
            "  ".join(
                cell.ljust(width) if place < len(self.by) else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]

    def __repr__(self) -> str:
        return f"<ReleaseTable of {self.question}: {len(self)} rows, share {self.share}{self._mark}>"

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._heads(), self._cells(), self._notes())

    def _title(self) -> str:
        return f"{self.question} (share {self.share}){self._mark}"

    @property
    def _mark(self) -> str:
        return " [simulated: not private]" if self.simulated else ""

    def _heads(self) -> list[str]:
        return [*self.by, *self.asked]

    def _cells(self) -> list[list[str]]:
        shown = list(self)[:_SHOWN_ROWS]
        return [[*map(shown_key, key), *(release.short for release in row)] for key, row in shown]

    def _notes(self) -> list[str]:
        notes = []
        if len(self) > _SHOWN_ROWS:
            notes.append(f"... and {len(self) - _SHOWN_ROWS} more")
        return [*notes, *self.caveats]


Released = Release | ReleaseTable | CustomRelease
"""What a charge pays for."""


def shown_key(value: KeyValue) -> str:
    """Return a key in words: a moment at midnight is its day.

    >>> shown_key(datetime(2026, 1, 31)), shown_key("clerk"), shown_key(30)
    ('2026-01-31', 'clerk', '30')
    """
    return str(value.date()) if is_day(value) else str(value)  # type: ignore[union-attr]


def is_day(value: KeyValue) -> bool:
    """Say whether a key is a day."""
    return isinstance(value, datetime) and value.time() == time()


def _numbers(edges: Sequence[Fraction]) -> list[int] | list[float]:
    """Return edges as numbers of one type, which every frame has: 64-bit integers, else floats."""
    if all(edge.denominator == 1 and -(2**63) <= edge < 2**63 for edge in edges):
        return [int(edge) for edge in edges]
    return [float(edge) for edge in edges]


def _named_apart(columns: Sequence[tuple[str, list[Any]]]) -> dict[str, list[Any]]:
    """Return the columns by name; a name that is taken already gets a number."""
    named: dict[str, list[Any]] = {}
    for name, column in columns:
        free, number = name, 2
        while free in named:
            free, number = f"{name}_{number}", number + 1
        named[free] = column
    return named


def _library(name: str, extra: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise InvalidRequest(f"this needs {name}, which is not here: pip install 'prdp[{extra}]'.") from None
