"""Origins: what a table's rows are read from, by the engine's own plan or catalogue and never by its rows.

Two tables with a common origin are one table in two roles. A record's own row would then be in the other one
too, where another record's budget protects it, or none. Copies cannot be recognised.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prdp.engines.sources.checks import lake_folder, local_files

Span = tuple[int, int]
"""Addresses in memory, from the first to after the last."""

Place = tuple[Hashable, ...]
"""The identity of what is read; one that begins with another is a part of it: a table of a file, say."""

SAME_MEMORY = "the same memory; if they are different tables that share an array, copy it"


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """The base tables, files and memory that a table's rows are read from.

    Attributes:
        places: The identities of tables and files, each with words for people.
        spans: The memory that in-memory columns occupy, ascending.
        kept: What occupies it; held, so that nothing else takes its place.
        untraced: Why more may be read than is listed here; empty if all of it is.
        files: The path of each place that is a file or a part of one.
    """

    places: Mapping[Place, str] = field(default_factory=dict)
    spans: tuple[Span, ...] = field(default=(), repr=False)
    kept: tuple[object, ...] = field(default=(), repr=False)
    untraced: str = ""
    files: Mapping[Place, str] = field(default_factory=dict, repr=False)

    @classmethod
    def union(cls, parts: Iterable[Origins]) -> Origins:
        """Return the origins of all parts."""
        found = list(parts)
        return cls(
            {place: words for part in found for place, words in part.places.items()},
            tuple(sorted(span for part in found for span in part.spans)),
            tuple(one for part in found for one in part.kept),
            next((part.untraced for part in found if part.untraced), ""),
            {place: path for part in found for place, path in part.files.items()},
        )

    def shared(self, other: Origins) -> str:
        """Return in words what two tables are both read from; empty if nothing is known to be."""
        common = self._within(other) | other._within(self)
        if common:
            return min(common)
        return SAME_MEMORY if _overlap(self.spans, other.spans) else ""

    def _within(self, other: Origins) -> set[str]:
        """Return the words of the places that are, or are parts of, another table's."""
        return {
            words
            for place, words in self.places.items()
            if any(place[:length] in other.places for length in range(1, len(place) + 1))
        }


def untraced(reason: str) -> Origins:
    """Return the origins of a table about which nothing is known."""
    return Origins(untraced=reason)


def file_place(file: str | Path) -> Place:
    """Return the identity of a file or folder, whichever link leads to it."""
    found = Path(file).stat()
    return ("file", found.st_dev, found.st_ino)


def database_table(file: str | Path, schema: str, table: str) -> Origins:
    """Return the origins of a table that a database's file holds."""
    name = f"{schema}.{table}" if schema else table
    words = f"the table {name!r} of {str(file)!r}"
    place = (*file_place(file), schema.lower(), table.lower())
    return Origins({place: words}, files={place: str(file)})


def files_origins(files: Iterable[str | Path]) -> Origins:
    """Return the origins of rows that are read from local files or folders."""
    paths = {file_place(file): str(file) for file in files}
    return Origins({place: f"the file {path!r}" for place, path in paths.items()}, files=paths)


def path_origins(source: object) -> Origins:
    """Return the origins of a path, a glob, a list of such, or the folder of a Delta or Iceberg table."""
    folder = lake_folder(Path(source)) if isinstance(source, str | Path) else None
    return files_origins(local_files(source)) if folder is None else lake_origins(folder)


def lake_origins(folder: Path) -> Origins:
    """Return the origins of a Delta or Iceberg table: its folder, and the files of rows in it."""
    return files_origins([folder, *(file for file in folder.rglob("*") if file.is_file())])


def _overlap(some: tuple[Span, ...], others: tuple[Span, ...]) -> bool:
    """Return whether a span of some ascending ones meets one of the others."""
    ends = _reach(others)
    for first, end in some:
        before = bisect_left(others, (end,))  # those that begin before this one ends
        if before and ends[before - 1] > first:
            return True
    return False


def _reach(spans: tuple[Span, ...]) -> list[int]:
    """Return the furthest end of each span and those before it."""
    reach: list[int] = []
    for _, end in spans:
        reach.append(max(end, reach[-1]) if reach else end)
    return reach
