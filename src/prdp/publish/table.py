"""Finished tables: figures with their quality, suppressed and rounded for readers, whole for researchers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

from prdp.declare.groups import KeyValue
from prdp.publish.declaration import Publication, Signs, Statistic
from prdp.publish.dimension import TOTAL, DimensionPart
from prdp.publish.draws import TableDraws
from prdp.publish.estimates import Figure, figures, least_of
from prdp.release import formatting
from prdp.release.formats.document import Document, cell_text
from prdp.release.formatting import INSUFFICIENT_BUDGET, LOW_PRECISION_CV
from prdp.release.table import ReleaseTable, shown_key

NORMAL, LOW_RELIABILITY, SUPPRESSED, MISSING = "A", "U", "Q", "O"
"""Observation status, by the code list of SDMX."""

_DIGITS = 3


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
        caveats: What its interval excludes.
    """

    value: int | float | None
    low: float | None
    high: float | None
    std_error: float | None
    cv: float | None
    status: str
    sign: str
    caveats: tuple[str, ...] = ()


def judged(figure: Figure, limit: float, signs: Signs, *, may_be_negative: bool) -> PublishedFigure:
    """Return a figure with its quality; a function of what was released."""
    if figure is None or figure.flag == INSUFFICIENT_BUDGET:
        return PublishedFigure(None, None, None, None, None, MISSING, signs.missing)
    low, high = figure.interval()
    value, error = formatting.value_of(figure), figure.std_error
    cv = None if error is None or not value else error / abs(float(value))
    status, sign = NORMAL, ""
    if value < 0 and not may_be_negative:
        status, sign = SUPPRESSED, signs.negative
    elif cv is None or cv > limit:
        status, sign = SUPPRESSED, signs.unreliable
    elif cv > LOW_PRECISION_CV:
        status = LOW_RELIABILITY
    caveats = tuple(filter(None, (figure.left_out, figure.caveat, figure.excludes)))
    return PublishedFigure(value, low, high, error, cv, status, sign, caveats)


@dataclass(frozen=True)
class FinishedTable:
    """A table of a publication, ready to be written.

    Attributes:
        draws: Its declaration, dimensions and plans.
        publication: The publication that it is in.
        cells: Its rows: a part of each dimension.
        columns: Its figures by name.
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
            least = least_of(statistic, draws.private.table.bounds)
            moved = least if publication.nonnegative else None
            found = figures(statistic, dimensions, answers, cells, least=moved)
            columns[statistic.name] = [
                judged(one, publication.suppress_above, publication.signs, may_be_negative=least is None)
                for one in found
            ]
        return cls(draws, publication, cells, columns, any(one.simulated for one in released))

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
        """The places of rows that are totals of all dimensions but one."""
        tops = [len(one.levels) - 1 for one in self.draws.dimensions]
        return frozenset(
            place
            for place, cell in enumerate(self.cells)
            if sum(part.level < top for part, top in zip(cell, tops, strict=True)) == 0
        )

    def research(self) -> dict[str, list[Any]]:
        """Return everything: each figure with its interval, standard error, CV, variance and status."""
        columns = self._plain_heads()
        for name, cells in self.columns.items():
            columns[name] = [one.value for one in cells]
            columns[f"{name}_low"] = [_finite(one.low) for one in cells]
            columns[f"{name}_high"] = [_finite(one.high) for one in cells]
            columns[f"{name}_se"] = [one.std_error for one in cells]
            columns[f"{name}_cv"] = [one.cv for one in cells]
            columns[f"{name}_variance"] = [
                None if one.std_error is None else one.std_error**2 for one in cells
            ]
            columns[f"{name}_status"] = [one.status for one in cells]
        return columns

    def basic(self) -> dict[str, list[Any]]:
        """Return the figures that are published, rounded, with their intervals and their status."""
        columns = self._plain_heads()
        for statistic in self.draws.declared.statistics:
            cells = [self._rounded(statistic, one) for one in self.columns[statistic.name]]
            for place, end in enumerate(("", "_low", "_high")):
                columns[f"{statistic.name}{end}"] = [cell[place] for cell in cells]
            columns[f"{statistic.name}_status"] = [one.status for one in self.columns[statistic.name]]
        return columns

    def document(self) -> Document:
        """Return what is printed: figures or signs, and their intervals."""
        columns: dict[str, Sequence[Any]] = {
            name: list(map(_label, labels)) for name, labels in self.heads.items()
        }
        numbers: set[str] = set()
        alone = len(self.columns) == 1
        for statistic in self.draws.declared.statistics:
            decimals = self._decimals(statistic)
            cells = self.columns[statistic.name]
            interval = "95 % interval" if alone else f"{statistic.name}: 95 % interval"
            columns[statistic.name] = [self._shown(statistic, one, decimals) for one in cells]
            columns[interval] = [self._interval(statistic, one, decimals) for one in cells]
            numbers |= {statistic.name, interval}
        each = {one.name: self._decimals(one) for one in self.draws.declared.statistics}
        return Document(self.title, columns, self.notes, frozenset(numbers), each)

    @property
    def notes(self) -> list[str]:
        """The notes below it: its footnotes, the signs that occur, and what its intervals exclude."""
        statuses = {(one.status, one.sign) for cells in self.columns.values() for one in cells}
        signs, limit = self.publication.signs, f"{100 * self.publication.suppress_above:.4g} %"
        meanings = {
            (LOW_RELIABILITY, ""): "( ) low precision: the coefficient of variation (CV) is above 33 %.",
            (SUPPRESSED, signs.unreliable): f"{signs.unreliable} suppressed: the CV is above {limit}.",
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
        """Return what intervals exclude; where it differs by row, in general."""
        found = []
        for name, cells in self.columns.items():
            texts = dict.fromkeys(text for one in cells for text in one.caveats)
            few = len(texts) <= _DIGITS
            found += [f"{name}: {text}." for text in texts] if few else []
            found += [] if few else [f"{name}: intervals exclude {formatting.FAR_EXCLUDED}."]
        return found

    def _plain_heads(self) -> dict[str, list[Any]]:
        return {name: list(map(shown_key, labels)) for name, labels in self.heads.items()}

    def _rounded(self, statistic: Statistic, one: PublishedFigure) -> tuple[Any, Any, Any]:
        """Return the figure and its ends as they are published: ends are rounded outward."""
        if one.sign or one.value is None:
            return None, None, None
        step = statistic.round_to
        ends = _finite(one.low), _finite(one.high)
        if step is None:
            return (one.value, *ends)
        low, high = (
            None if end is None else _number(step * rounding(Fraction(end) / step))
            for end, rounding in zip(ends, (math.floor, math.ceil), strict=True)
        )
        return _number(step * round(Fraction(one.value) / step)), low, high

    def _shown(self, statistic: Statistic, one: PublishedFigure, decimals: int) -> Any:
        value, _, _ = self._rounded(statistic, one)
        if value is None:
            return one.sign
        return value if one.status == NORMAL else f"({cell_text(value, decimals)})"

    def _interval(self, statistic: Statistic, one: PublishedFigure, decimals: int) -> str:
        value, low, high = self._rounded(statistic, one)
        if value is None:
            return ""
        least, most = (
            ("no limit" if end is None else cell_text(rounding(end * 10**decimals) / 10**decimals, decimals))
            for end, rounding in ((low, math.floor), (high, math.ceil))
        )
        return f"{least} to {most}"

    def _decimals(self, statistic: Statistic) -> int:
        """Return how many decimals figures are shown with: as the rounding step, or as their errors need."""
        step = statistic.round_to
        if step is not None:
            return next((digits for digits in range(7) if (step * 10**digits).denominator == 1), 6)
        cells = self.columns[statistic.name]
        if all(isinstance(one.value, int) for one in cells if one.value is not None):
            return 0
        errors = [one.std_error for one in cells if one.std_error and not one.sign]
        return 0 if not errors else min(6, max(0, 1 - math.floor(math.log10(min(errors)))))


def _finite(end: float | None) -> float | None:
    return end if end is not None and math.isfinite(end) else None


def _number(exact: Fraction) -> int | float:
    return int(exact) if exact.denominator == 1 else float(exact)


def _label(label: KeyValue) -> str:
    return TOTAL if label == TOTAL else shown_key(label)
