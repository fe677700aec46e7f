"""Declarations of a publication: its tables, hierarchies, shares and signs; all of it public."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from prdp.declare.exact import Exact, exact_share
from prdp.errors import InvalidRequest
from prdp.plan.queries import Count, Mean, Query, Sum

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
"""Form of a table's name, which names files."""

PAGES = ("index", "series")
"""Pages of a publication, after which no table is named."""

ENDINGS = (
    *("", "_low", "_high", "_se", "_cv", "_variance", "_excludes", "_low975", "_high975", "_status"),
    *("_change", "_change_low", "_change_high"),
)
"""Endings of the columns that files have for a measure."""

_MAP = ("level", "key")
"""Columns of a map's file that are no figures."""

_MEASURE = re.compile(r"(?:(?P<kind>sum|mean)\s+(?P<column>\S.*)|count)")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A public grouping of a column's keys, such as the districts of each region.

    Attributes:
        name: Its name, by which tables are published.
        of: The column, or the finer hierarchy, whose keys it groups.
        groups: The keys of each group; every key is in one.
    """

    name: str
    of: str
    groups: Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A column of figures.

    Attributes:
        name: Its name.
        query: The query that it is an answer to.
        round_to: The step that published figures are rounded to; None for none.
    """

    name: str
    query: Query
    round_to: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs in the place of figures that are not published.

    Attributes:
        unreliable: In place of a figure whose coefficient of variation is above the limit.
        negative: In place of a figure below zero that cannot be.
        missing: In place of a figure of which nothing is known.
    """

    unreliable: str = "/"
    negative: str = "x"
    missing: str = "…"


@dataclass(frozen=True, slots=True)
class StatisticalTable:
    """A table of a publication.

    Attributes:
        name: Its name, which names its files.
        by: Its dimensions: columns with public keys, or hierarchies, each with all levels below it.
        measures: For each column of figures ``"count"``, ``"sum COLUMN"`` or ``"mean COLUMN"``.
        source: The private table; None where the project has only one.
        title: Its title; its name by default.
        where: Which records it is about; None for all.
        share: Its share; by default its part of the publication's.
        margins: Whether it has totals.
        round_to: The step that published figures of a measure are rounded to.
        footnotes: Notes below it.
    """

    name: str
    by: tuple[str, ...]
    measures: Mapping[str, str] = field(default_factory=lambda: {"n": "count"})
    source: str | None = None
    title: str = ""
    where: str | None = None
    share: Exact | None = None
    margins: bool = True
    round_to: Mapping[str, Exact] = field(default_factory=dict)
    footnotes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a table that cannot be published, whatever its records are."""
        if not NAME.fullmatch(self.name):
            raise InvalidRequest(f"{self.name!r} names files: write letters, digits, _ and -.")
        if self.name.lower() in PAGES:
            raise InvalidRequest(f"{self.name}.html is a page of every publication: rename the table.")
        if not self.by or len(set(self.by)) < len(self.by):
            raise InvalidRequest(f"{self.name}: by names at least one column or hierarchy, each once.")
        if not self.measures:
            raise InvalidRequest(f'{self.name}: measures is empty: write {{ n = "count" }}.')
        columns = [*_MAP, *self.columns]
        twice = next((name for name in columns if columns.count(name) > 1), None)
        if twice is not None:
            raise InvalidRequest(f"files would have two columns called {twice!r}: rename a measure.")
        unknown = sorted(set(self.round_to) - set(self.measures))
        if unknown:
            raise InvalidRequest(f"{self.name}: round_to names {unknown[0]!r}, which is no measure.")
        _ = self.statistics, self.own_share

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The columns of figures."""
        return tuple(
            Statistic(name, query_of(text), _step(name, self.round_to.get(name)))
            for name, text in self.measures.items()
        )

    @property
    def columns(self) -> list[str]:
        """The columns that files have for its measures."""
        return [f"{name}{ending}" for name in self.measures for ending in ENDINGS]

    @property
    def own_share(self) -> Fraction | None:
        """Its own share, exactly; None for its part of the publication's."""
        return None if self.share is None else exact_share(self.share)


def query_of(text: str) -> Query:
    """Return the query that a measure says.

    >>> query_of("sum price * quantity"), query_of("count")
    (Sum(column='price * quantity', round_to=None), Count())
    """
    found = _MEASURE.fullmatch(text.strip())
    if found is None:
        raise InvalidRequest(f'{text!r} is no measure: write "count", "sum COLUMN" or "mean COLUMN".')
    if found["kind"] is None:
        return Count()
    return Sum(found["column"]) if found["kind"] == "sum" else Mean(found["column"])


def _step(name: str, given: Exact | None) -> Fraction | None:
    if given is None:
        return None
    try:
        step = Fraction(str(given))
    except (ValueError, ZeroDivisionError):
        step = Fraction(0)
    if step <= 0:
        raise InvalidRequest(f"round_to of {name} is no number above 0: {given}.")
    return step


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication: tables that are charged in one step and written as one folder.

    Attributes:
        title: Its title.
        tables: Its tables.
        share: The share that the tables from a private table use together; what those with one of their own
            leave of it is divided among the others.
        office: Who publishes it.
        contact: Where questions go.
        edition: Its edition, such as a year.
        hierarchies: The public groupings of keys.
        footnotes: Notes below every table.
        errata: Corrections of earlier editions.
        revisions: What was done in another way than in earlier editions.
        registry: What the record for a registry of deployments says beside what is known.
        suppress_above: The coefficient of variation above which a figure is not published.
        signs: Signs printed for figures that are not published.
        nonnegative: Whether figures that cannot be negative are moved to zero, and the others with them.
    """

    title: str
    tables: tuple[StatisticalTable, ...]
    share: Exact | None = None
    office: str = ""
    contact: str = ""
    edition: str = ""
    hierarchies: tuple[Hierarchy, ...] = ()
    footnotes: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()
    registry: Mapping[str, str] = field(default_factory=dict)
    suppress_above: float = 1.0
    signs: Signs = Signs()
    nonnegative: bool = True

    def __post_init__(self) -> None:
        """Refuse tables of one name, and a publication without shares."""
        names = [table.name.lower() for table in self.tables]
        if not names or len(set(names)) < len(names):
            raise InvalidRequest("a publication has at least one table, each of its own name.")
        if self.share is None and any(table.share is None for table in self.tables):
            raise InvalidRequest(
                "say which share all tables use together: share = 0.5; or give each its own."
            )
        if not self.suppress_above > 0:
            raise InvalidRequest("suppress_above is a coefficient of variation above 0; 1 is 100 %.")
        for source in dict.fromkeys(table.source for table in self.tables):
            tables = [table for table in self.tables if table.source == source]
            if any(table.share is None for table in tables) and self.rest_of_share(tables) <= 0:
                raise InvalidRequest("tables with a share of their own leave nothing of share to the others.")

    def rest_of_share(self, tables: Sequence[StatisticalTable]) -> Fraction:
        """Return what tables with a share of their own leave of the share to the others."""
        own = sum((table.own_share or Fraction(0) for table in tables), Fraction(0))
        return (Fraction(0) if self.share is None else exact_share(self.share)) - own
