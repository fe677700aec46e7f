"""Finished tables: figures with their quality, suppressed and rounded for readers, whole for researchers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

from prdp.declare.groups import KeyValue
from prdp.plan.queries import Mean
from prdp.publish.declaration import Publication, Signs, Statistic
from prdp.publish.dimension import DimensionPart
from prdp.publish.draws import TableDraws
from prdp.publish.estimates import Figure, figures
from prdp.release import formatting
from prdp.release.formats.document import Document, InBrackets, cell_text
from prdp.release.formatting import INSUFFICIENT_BUDGET, LOW_PRECISION_CV, UNRELIABLE, UNRELIABLE_CV
from prdp.release.release import Release
from prdp.release.table import ReleaseTable, shown_key
from prdp.sql.margins import least_of

NORMAL, LOW_RELIABILITY, SUPPRESSED, MISSING = "A", "U", "Q", "O"
"""Observation status, by the code list of SDMX."""

_WIDE = Fraction(39, 40)
"""Level of the intervals from which changes between editions follow: two of them hold in 95 of 100."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A figure with its quality.

    Attributes:
        value: The number; None where nothing is known.
        low: The lower end of its 95 % interval.
        high: The upper end.
        std_error: Its standard error.
        cv: Its coefficient of variation.
        status: Its observation status.
        sign: What is published in its place; empty where it is published itself.
        caveats: Which records it leaves out, and what else is to be known of it.
        excludes: What its interval excludes.
        wide: The ends of its 97.5 % interval.
    """

    value: int | float | None
    low: float | None
    high: float | None
    std_error: float | None
    cv: float | None
    status: str
    sign: str
    caveats: tuple[str, ...] = ()
    excludes: str = ""
    wide: tuple[float | None, float | None] = (None, None)

    @property
    def is_published(self) -> bool:
        """True if it is published itself."""
        return not self.sign and self.value is not None


def judged(figure: Figure, limit: float, signs: Signs, *, may_be_negative: bool) -> PublishedFigure:
    """Return a figure with its quality; a function of what was released."""
    if figure is None or _is_short_of_budget(figure):
        return PublishedFigure(None, None, None, None, None, MISSING, signs.missing)
    low, high = figure.interval()
    value, error = formatting.value_of(figure), figure.std_error
    cv = None if error is None or not value else error / abs(float(value))
    status, sign = NORMAL, ""
    if value < 0 and not may_be_negative:
        status, sign = SUPPRESSED, signs.negative
    elif cv is None or cv > limit or _spans_bounds(figure, cv):
        status, sign = SUPPRESSED, signs.unreliable
    elif cv > LOW_PRECISION_CV:
        status = LOW_RELIABILITY
    caveats = tuple(filter(None, (figure.left_out, figure.caveat)))
    wide = figure.interval(_WIDE)
    return PublishedFigure(value, low, high, error, cv, status, sign, caveats, figure.excludes, wide)


def _spans_bounds(figure: Figure, cv: float) -> bool:
    """Return whether no more is known of a mean than its bounds, which its standard error does not tell."""
    return (
        isinstance(figure, Release)
        and bool(figure.parts)
        and cv <= UNRELIABLE_CV
        and figure.flag == UNRELIABLE
    )


def _is_short_of_budget(figure: Figure) -> bool:
    """Return whether nothing is known of a figure, without its whole flag where it says so itself."""
    if isinstance(figure, Release):
        return figure.insufficient_budget
    return bool(figure.flag == INSUFFICIENT_BUDGET)


@dataclass(frozen=True)
class FinishedTable:
    """A table of a publication, ready to be written.

    Attributes:
        draws: Its declaration, dimensions and plans.
        publication: The publication that it is in.
        cells: Its rows: a part of each dimension.
        columns: Its figures by name.
        simulated: Whether the records were synthetic.
    """

    draws: TableDraws
    publication: Publication
    cells: tuple[tuple[DimensionPart, ...], ...]
    columns: Mapping[str, Sequence[PublishedFigure]]
    simulated: bool

    @classmethod
    def of(
        cls, publication: Publication, draws: TableDraws, released: Sequence[ReleaseTable]
    ) -> FinishedTable:
        """Return a table from the answers to its plans, in their order."""
        declared, dimensions = draws.declared, draws.dimensions
        cells = tuple(product(*(one.parts(margins=declared.margins) for one in dimensions)))
        columns = {}
        for place, statistic in enumerate(declared.statistics):
            answers = {
                asked: [row[place] for row in table.releases]
                for asked, table in zip(draws.plans, released, strict=True)
            }
            least = least_of(statistic.query, draws.private.table.bounds)
            moved = least if publication.nonnegative else None
            found = figures(statistic, dimensions, answers, cells, least=moved)
            columns[statistic.name] = [
                judged(one, publication.suppress_above, publication.signs, may_be_negative=least is None)
                for one in found
            ]
        simulated = any(one.simulated for one in released)
        return cls(draws, publication, cells, columns, simulated)

    @property
    def name(self) -> str:
        """Its name."""
        return self.draws.declared.name

    @property
    def title(self) -> str:
        """Its title, with the edition."""
        edition = f", {self.publication.edition}" if self.publication.edition else ""
        mark = " [simulated: not private]" if self.simulated else ""
        return f"{self.draws.declared.title or self.name}{edition}{mark}"

    @cached_property
    def heads(self) -> dict[str, list[KeyValue]]:
        """The columns that name its rows."""
        names = [name for one in self.draws.dimensions for name in one.names]
        rows = [[label for part in cell for label in part.labels] for cell in self.cells]
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    @property
    def totals(self) -> frozenset[int]:
        """The places of rows that are totals, or groups, in every dimension."""
        return frozenset(
            place for place, cell in enumerate(self.cells) if all(part.level > 0 for part in cell)
        )

    @property
    def along_first(self) -> list[int]:
        """The places of the rows of the first dimension, with the totals of all others."""
        tops = [len(one.levels) - 1 for one in self.draws.dimensions[1:]]
        rows = enumerate(self.cells)
        return [place for place, cell in rows if [part.level for part in cell[1:]] == tops]

    def research(self) -> dict[str, list[Any]]:
        """Return everything: each figure with its interval, standard error, CV, variance and status."""
        columns = self.plain_heads()
        for name, cells in self.columns.items():
            columns[name] = [one.value for one in cells]
            columns[f"{name}_low"] = [_finite(one.low) for one in cells]
            columns[f"{name}_high"] = [_finite(one.high) for one in cells]
            columns[f"{name}_se"] = [one.std_error for one in cells]
            columns[f"{name}_cv"] = [one.cv for one in cells]
            columns[f"{name}_variance"] = [
                None if one.std_error is None else one.std_error**2 for one in cells
            ]
            columns[f"{name}_excludes"] = [one.excludes for one in cells]
            for place, end in enumerate(("_low975", "_high975")):
                columns[f"{name}{end}"] = [_finite(one.wide[place]) for one in cells]
            columns[f"{name}_status"] = [one.status for one in cells]
        return columns

    def basic(self) -> dict[str, list[Any]]:
        """Return the figures that are published, rounded, with their intervals and their status."""
        return self.plain_heads() | self._basic(range(len(self.cells)))

    def for_map(self) -> dict[str, list[Any]]:
        """Return what is published of each key and group of the first dimension: a row for each area."""
        first = self.draws.dimensions[0]
        rows = [place for place in self.along_first if self.cells[place][0].level < len(first.levels) - 1]
        parts = [self.cells[place][0] for place in rows]
        heads: dict[str, list[Any]] = {
            "level": [first.levels[part.level].name for part in parts],
            "key": [shown_key(part.labels[len(first.levels) - 2 - part.level]) for part in parts],
        }
        return heads | self._basic(rows)

    def _basic(self, rows: Sequence[int]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for statistic in self.draws.declared.statistics:
            figures_of = [self.columns[statistic.name][place] for place in rows]
            cells = [self._rounded(statistic, one) for one in figures_of]
            for place, end in enumerate(("", "_low", "_high")):
                columns[f"{statistic.name}{end}"] = [cell[place] for cell in cells]
            columns[f"{statistic.name}_status"] = [one.status for one in figures_of]
        return columns

    def document(self) -> Document:
        """Return what is printed: figures or signs, and their intervals."""
        columns: dict[str, Sequence[Any]] = {
            name: list(map(printed_key, labels)) for name, labels in self.heads.items()
        }
        numbers: set[str] = set()
        alone = len(self.columns) == 1
        for statistic in self.draws.declared.statistics:
            cells = self.columns[statistic.name]
            interval = "95 % interval" if alone else f"{statistic.name}: 95 % interval"
            columns[statistic.name] = [self.shown(statistic, one) for one in cells]
            columns[interval] = [self._interval(statistic, one) for one in cells]
            numbers |= {statistic.name, interval}
        return Document(self.title, columns, self.notes, frozenset(numbers), self._decimals, self.totals)

    @property
    def notes(self) -> list[str]:
        """The notes below it: its footnotes, the signs that occur, and what its intervals exclude."""
        statuses = {(one.status, one.sign) for cells in self.columns.values() for one in cells}
        signs, limit = self.publication.signs, f"{100 * self.publication.suppress_above:.4g} %"
        means = any(isinstance(one.query, Mean) for one in self.draws.declared.statistics)
        bounds = ", or no more is known than the bounds" if means else ""
        meanings = {
            (LOW_RELIABILITY, ""): "( ) low precision: the coefficient of variation (CV) is above 33 %.",
            (
                SUPPRESSED,
                signs.unreliable,
            ): f"{signs.unreliable} suppressed: the CV is above {limit}{bounds}.",
            (
                SUPPRESSED,
                signs.negative,
            ): f"{signs.negative} suppressed: negative, which the true figure is not.",
            (MISSING, signs.missing): f"{signs.missing} the privacy budget is insufficient for a figure.",
        }
        rounded = [one.name for one in self.draws.declared.statistics if one.round_to is not None]
        found = [*self.draws.declared.footnotes, *self.publication.footnotes]
        found += [text for status, text in meanings.items() if status in statuses]
        found += [f"{', '.join(rounded)}: rounded; totals are rounded themselves."] if rounded else []
        where = self.draws.declared.where
        found += [f"Records where {where}."] if where else []
        found += self._caveats()
        return found

    def _caveats(self) -> list[str]:
        """Return which records are left out, and what intervals of published figures exclude."""
        found: list[str] = []
        for name, cells in self.columns.items():
            shown = [one for one in cells if one.is_published]
            found += dict.fromkeys(f"{name}: {text}." for one in shown for text in one.caveats)
            texts = list(dict.fromkeys(one.excludes for one in shown if one.excludes))
            many = f"excludes {formatting.FAR_EXCLUDED}; research files say which, row by row"
            found += [f"{name}, 95 % interval: {texts[0] if len(texts) == 1 else many}."] if texts else []
        return found

    def plain_heads(self) -> dict[str, list[Any]]:
        """Return the columns that name its rows, as plain texts and numbers."""
        return {name: list(map(shown_key, labels)) for name, labels in self.heads.items()}

    def _rounded(self, statistic: Statistic, one: PublishedFigure) -> tuple[Any, Any, Any]:
        """Return the figure and its ends as they are published: ends are rounded outward."""
        if one.sign or one.value is None:
            return None, None, None
        step = statistic.round_to or Fraction(1, 10 ** self.decimals(statistic))
        return rounded(step, one.value, one.low, one.high)

    def shown(self, statistic: Statistic, one: PublishedFigure) -> Any:
        """Return a cell as it is printed: the figure, in brackets where its precision is low, or a sign."""
        value, _, _ = self._rounded(statistic, one)
        if value is None:
            return one.sign
        return value if one.status == NORMAL else InBrackets(value)

    def _interval(self, statistic: Statistic, one: PublishedFigure) -> str:
        value, low, high = self._rounded(statistic, one)
        return "" if value is None else self.between(statistic, low, high)

    def between(self, statistic: Statistic, low: float | None, high: float | None) -> str:
        """Return the ends of an interval in words, rounded outward to what figures are shown with."""
        decimals = self.decimals(statistic)
        least, most = (
            ("no limit" if end is None else cell_text(rounding(end * 10**decimals) / 10**decimals, decimals))
            for end, rounding in ((low, math.floor), (high, math.ceil))
        )
        return f"{least} to {most}"

    def decimals(self, statistic: Statistic) -> int:
        """Return how many decimals figures are shown with: as the rounding step, or as their errors need."""
        return self._decimals[statistic.name]

    @cached_property
    def _decimals(self) -> dict[str, int]:
        return {one.name: self._decimals_of(one) for one in self.draws.declared.statistics}

    def _decimals_of(self, statistic: Statistic) -> int:
        step = statistic.round_to
        if step is not None:
            return next((digits for digits in range(7) if (step * 10**digits).denominator == 1), 6)
        cells = self.columns[statistic.name]
        if all(isinstance(one.value, int) for one in cells if one.value is not None):
            return 0
        errors = [one.std_error for one in cells if one.std_error and not one.sign]
        return 0 if not errors else min(6, max(0, 1 - math.floor(math.log10(min(errors)))))


def rounded(
    step: Fraction | None, value: float, low: float | None, high: float | None
) -> tuple[int | float, int | float | None, int | float | None]:
    """Return a figure and its ends as they are published: ends are rounded outward, infinite ones are None.

    >>> rounded(Fraction(5), 13, 9.5, math.inf), rounded(Fraction(1), 12.6, 9.5, 20)
    ((15, 5, None), (13, 9, 20))
    """
    ends = _finite(low), _finite(high)
    if step is None:
        return (value, *ends)
    least, most = (
        None if end is None else _on_step(end, step, rounding)
        for end, rounding in zip(ends, (math.floor, math.ceil), strict=True)
    )
    return _on_step(value, step, round), least, most


def _on_step(number: float, step: Fraction, rounding: Callable[[Any], int]) -> int | float:
    if step == 1:  # of a large table, much faster than fractions
        return rounding(number)
    return _number(step * rounding(Fraction(number) / step))


def _finite(end: float | None) -> float | None:
    return end if end is not None and math.isfinite(end) else None


def _number(exact: Fraction) -> int | float:
    return int(exact) if exact.denominator == 1 else float(exact)


def printed_key(label: KeyValue) -> str:
    """Return a key as it is printed: in quotes where it would look like another one, or like none.

    >>> printed_key("a"), printed_key("a "), printed_key(""), printed_key(30.0)
    ('a', '"a "', '""', '30')
    """
    text = shown_key(label)
    return text if text and text == text.strip() else f'"{text}"'
