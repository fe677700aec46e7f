"""Try every column type in one storage: which can be kept, which are read, and what extremes change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from polars.exceptions import PanicException

from prdp.engines.engine import Engine
from prdp.schema import Schema
from tests.storage_matrix.arrow_types import OTHERS, Column, table
from tests.storage_matrix.comparing import (
    Query,
    Seen,
    compared,
    observed,
    queries_of,
    queries_together,
    seen,
    unanswered,
)

AT_ONCE = 16
"""How many columns a table has."""

FAILURES = (Exception, PanicException)
"""What a library that keeps a table raises; Polars' panics are no Exception."""

Extremes = Mapping[str, Sequence[Any]]


@dataclass
class Storage:
    """One storage, and what was found of it.

    Attributes:
        keep: Keeps a table in a folder, and returns what is opened.
        open: Opens that.
        folder: Where folders are made.
        unkept: The columns that cannot be kept at all, by the name of the error.
        refused: The columns that are refused at opening.
        unkept_extremes: How many extremes the storage itself does not take.
        tried: How many extremes were tried.
        faults: What an extreme record changed for others.
    """

    keep: Callable[[Any, Path], Any]
    open: Callable[[Any], Engine]
    folder: Path
    unkept: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    unkept_extremes: int = 0
    tried: int = 0
    faults: list[str] = field(default_factory=list)

    def kept(self, columns: Mapping[str, Column], extremes: Extremes | None = None) -> Any:
        """Keep a table of columns."""
        return self.keep(table(columns, extremes), Path(mkdtemp(dir=self.folder)))

    def run(self, columns: Mapping[str, Column]) -> None:
        """Try all columns."""
        kept = {name: column for name, column in columns.items() if self._can_be_kept(name, column)}
        names = list(kept)
        for start in range(0, len(names), AT_ONCE):
            some = {name: kept[name] for name in names[start : start + AT_ONCE]}
            if seen(partial(self.open, self.kept(some)), []).outcome != "answered":
                some = {name: column for name, column in some.items() if self._is_read(name, column)}
            if some:
                self._hold(some)

    def _can_be_kept(self, name: str, column: Column) -> bool:
        try:
            self.kept({name: column})
        except FAILURES as error:
            self.unkept[name] = type(error).__name__
            return False
        return True

    def _is_read(self, name: str, column: Column) -> bool:
        """Return whether a column can be opened; one that cannot is refused whatever it holds."""
        without = seen(lambda: self.open(self.kept({name: column})), [])
        if without.outcome == "answered":
            return True
        self.refused.add(name)
        given = self.kept({name: column}, self._extremes({name: column}))
        with_extremes = seen(partial(self.open, given), [])
        self.faults += compared({"open": without}, {"open": with_extremes})
        return False

    def _extremes(self, columns: Mapping[str, Column]) -> dict[str, list[Any]]:
        """Return the extremes that the storage takes."""
        found: dict[str, list[Any]] = {name: list(column.extremes) for name, column in columns.items()}
        try:
            self.kept(columns, found)
        except FAILURES:
            for name, column in columns.items():
                if not self._takes(name, column, found[name]):
                    found[name] = [one for one in column.extremes if self._takes(name, column, [one])]
                self.unkept_extremes += len(column.extremes) - len(found[name])
        return found

    def _takes(self, name: str, column: Column, extremes: Sequence[Any]) -> bool:
        try:
            self.kept({name: column}, {name: extremes})
        except FAILURES:
            return False
        return True

    def _hold(self, columns: Mapping[str, Column]) -> None:
        extremes = self._extremes(columns)
        together = self._can_be_kept_together(columns, extremes)
        if not together and len(columns) > 1:  # each may be kept and opened, and not all of them
            names = list(columns)
            for half in (names[: len(names) // 2], names[len(names) // 2 :]):
                self._hold({name: columns[name] for name in half})
            return
        self.tried += sum(map(len, extremes.values()))
        queries = partial(_all_queries, columns=list(columns))
        if together and not self._differences(columns, extremes, queries):
            return
        for name, column in columns.items():
            self._hold_one(name, column, extremes[name])
        if together and not self.faults:
            self.faults.append(f"several of {', '.join(columns)} together")

    def _can_be_kept_together(self, columns: Mapping[str, Column], extremes: Extremes) -> bool:
        try:
            self.kept(columns, extremes)
        except FAILURES:
            return False
        return seen(partial(self.open, self.kept(columns)), []).outcome == "answered"

    def _hold_one(self, name: str, column: Column, extremes: Sequence[Any]) -> None:
        """Try the extremes of one column each alone; the first that changes something is enough to go by."""
        for one in extremes:
            if found := self._differences({name: column}, {name: [one]}, queries_of):
                self.faults.append(f"{name}, {_shown(one)}: {found[0][:200]}")
                return

    def _differences(
        self,
        columns: Mapping[str, Column],
        extremes: Extremes,
        queries: Callable[[Schema], Sequence[Query]],
    ) -> list[str]:
        without = observed(self.open, self.kept(columns), OTHERS, queries)
        with_extremes = observed(self.open, self.kept(columns, extremes), OTHERS, queries)
        found = list(compared(without, with_extremes, sum(map(len, extremes.values()))))
        found += unanswered(without)
        if without["open"].outcome != "answered":
            found.append(f"cannot be opened together: {without['open'].outcome}")
        return found or [f"{query}: some ordinary record counts for nothing" for query in _vacuous(without)]


def _all_queries(schema: Schema, columns: Sequence[str]) -> list[Query]:
    """Return queries that read many columns at once, and those that each column has alone."""
    return [*queries_together(schema, columns), *queries_of(schema, columns)]


def _vacuous(observation: Mapping[Query | str, Seen]) -> Iterator[Query]:
    """Yield the queries of all records that did not find each ordinary one."""
    for query, step in observation.items():
        if (
            isinstance(query, Query)
            and query.one_by_one
            and not (query.where or query.binned or query.truncated)
        ):
            counts = [sum(count for _, count, _ in cells) for cells in (step.found or {}).values()]
            if counts != [0, *[1] * OTHERS]:
                yield query


def _shown(extreme: Any) -> str:
    return f"{[buffer and buffer.to_pybytes()[:16] for buffer in extreme.buffers()]}"
