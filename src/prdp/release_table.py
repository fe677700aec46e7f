"""Several answers in one release: one row a group, one column a question."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from prdp.errors import InvalidRequest
from prdp.foreign import ForeignRelease
from prdp.grouping import Bin, KeyValue
from prdp.release import Release

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN_ROWS = 40

Key = tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True, repr=False)
class ReleaseTable:
    """Private answers by group; everything in it may be published.

    Iterating gives (key, releases) pairs in the order in which the keys were listed.

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
        """Whether the noise was seeded: such answers protect nobody."""
        return any(release.simulated for row in self.releases for release in row)

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[tuple[Key, tuple[Release, ...]]]:
        return iter(zip(self.keys, self.releases, strict=True))

    def __getitem__(self, key: object) -> Release | tuple[Release, ...]:
        """Return a group's answer, or its answers if several were asked for."""
        wanted = key if isinstance(key, tuple) else (key,)
        for found, row in self:
            if found == wanted or tuple(map(str, found)) == tuple(map(str, wanted)):
                return row[0] if len(row) == 1 else row
        raise KeyError(key)

    def columns(self, level: float | Fraction | str = 0.95) -> Mapping[str, list[Any]]:
        """Return plain columns: the keys, and for each question its value and the ends of its interval."""
        columns: dict[str, list[Any]] = {}
        for place, name in enumerate(self.by):
            column = [key[place] for key in self.keys]
            if any(isinstance(value, Bin) for value in column):
                columns[f"{name} from"] = [float(value.low) for value in column if isinstance(value, Bin)]
                columns[f"{name} to"] = [float(value.high) for value in column if isinstance(value, Bin)]
            else:
                columns[name] = column
        for place, name in enumerate(self.asked):
            answers = [row[place] for row in self.releases]
            intervals = [release.interval(level) for release in answers]
            columns[name] = [float(release.value) for release in answers]
            columns[f"{name} low"] = [float(low) for low, _ in intervals]
            columns[f"{name} high"] = [float(high) for _, high in intervals]
        return columns

    def to_arrow(self, level: float | Fraction | str = 0.95) -> pyarrow.Table:
        """Return an Arrow table of the ``columns``."""
        return _library("pyarrow", "arrow").table(dict(self.columns(level)))

    def to_pandas(self, level: float | Fraction | str = 0.95) -> pandas.DataFrame:
        """Return a pandas frame of the ``columns``."""
        frame: pandas.DataFrame = _library("pandas", "pandas").DataFrame(dict(self.columns(level)))
        return frame

    def to_polars(self, level: float | Fraction | str = 0.95) -> polars.DataFrame:
        """Return a Polars frame of the ``columns``."""
        frame: polars.DataFrame = _library("polars", "polars").DataFrame(dict(self.columns(level)))
        return frame

    def __str__(self) -> str:
        """Return the answers as text, the first ones if they are many."""
        rows = [self._heads(), *self._cells()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place < len(self.by) else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([self._title(), *lines, *self._notes()])

    def __repr__(self) -> str:
        return f"<ReleaseTable of {self.question}: {len(self)} rows, share {self.share}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._heads())
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells()
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        caption = f"<caption>{html.escape(self._title())}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"

    def _title(self) -> str:
        mark = " [simulated: not private]" if self.simulated else ""
        return f"{self.question} (share {self.share}){mark}"

    def _heads(self) -> list[str]:
        return [*self.by, *self.asked]

    def _cells(self) -> list[list[str]]:
        shown = list(self)[:_SHOWN_ROWS]
        return [[*map(str, key), *(release.short for release in row)] for key, row in shown]

    def _notes(self) -> list[str]:
        notes = []
        if len(self) > _SHOWN_ROWS:
            notes.append(f"... and {len(self) - _SHOWN_ROWS} more")
        caveats = {(release.method, release.caveat): None for row in self.releases for release in row}
        notes.extend(f"{method}: {caveat}" for method, caveat in caveats if caveat)
        return notes


Released = Release | ReleaseTable | ForeignRelease
"""What a charge pays for."""


def _library(name: str, extra: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise InvalidRequest(f"this needs {name}, which is not here: pip install 'prdp[{extra}]'.") from None
