"""The question of ``prdp local simulate``, and the truth beside the estimates of its runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from numbers import Real
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from prdp.cli.printing import number
from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.policy import Policy

if TYPE_CHECKING:
    from prdp.local import Bins, Categories, Crowd, Estimate, Study


class Ask(StrEnum):
    """The kinds of questions to virtual clients."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    FREQUENCIES = "frequencies"
    QUANTILES = "quantiles"


METHODS = {
    Ask.COUNT: ("bits", "laplace", "printed", "proportional"),
    Ask.SUM: ("proportional", "ratio", "framework"),
    Ask.MEAN: ("proportional", "ratio", "framework"),
    Ask.FREQUENCIES: ("bits", "ldp", "grr", "oue", "olh"),
    Ask.QUANTILES: ("bits", "ldp", "grr", "oue", "olh"),
}


@dataclass(frozen=True, slots=True)
class EstimateLine:
    """One number of the answer: what it is, the truth, and what the runs said."""

    label: str
    truth: float
    values: list[float]
    deviation: float | None = None

    @property
    def cells(self) -> list[str]:
        """The truth, the median answer, where 90 % of the runs lie, and the error; what is unknown is -."""
        heard = [value for value in self.values if math.isfinite(value)]
        if not heard:
            return [number(self.truth, 5), "-", "-", "-", "-"]
        cuts = quantiles(heard, n=20, method="inclusive") if len(heard) > 1 else heard
        cells = (self.truth, median(heard), cuts[0], cuts[-1])
        return [*(number(cell, 5) if math.isfinite(cell) else "-" for cell in cells), self._error(heard)]

    def _error(self, heard: list[float]) -> str:
        """Return the median error in percent of the truth; there is none of a truth of 0."""
        if not self.truth or not math.isfinite(self.truth):
            return "-"
        return f"{number(100 * median(abs(value - self.truth) for value in heard) / abs(self.truth), 3)} %"

    def as_dict(self) -> dict[str, object]:
        """Return the line for JSON; null for what is no number."""
        return {
            "label": self.label,
            "truth": _finite(self.truth),
            "answers": [_finite(value) for value in self.values],
            "deviation": _finite(self.deviation),
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def kind_of(values: Iterable[Any]) -> str | None:
    """Return what a column holds, by its first value: numbers, texts, or the name of another type."""
    first = next((value for value in values if value is not None), None)
    if first is None:
        return None
    if isinstance(first, str):
        return "texts"
    is_number = isinstance(first, Real | Decimal) and not isinstance(first, bool)
    return "numbers" if is_number else type(first).__name__


@dataclass(frozen=True, slots=True)
class LocalQuestion:
    """The question that the options describe."""

    ask: Ask
    column: str | None
    method: str | None
    values: str | None
    grain: str
    bounds: Mapping[str, tuple[Fraction, Fraction]]
    basics: Mapping[str, str]
    kind: str | None = None

    @property
    def named(self) -> str:
        """The column that the question needs."""
        if self.column is None:
            raise InvalidRequest(f"--ask {self.ask} needs --column COLUMN.")
        return self.column

    def study(self, policy: Policy) -> Study:
        """Return the study of the question."""
        from prdp.local.analyst.asked import study  # noqa: PLC0415
        from prdp.plan.queries import Count, Mean, Sum  # noqa: PLC0415

        known = METHODS[self.ask]
        method = self.method or known[0]
        if method not in known:
            raise InvalidRequest(f"--method {method} is not for {self.ask}: write one of {', '.join(known)}.")
        basics: dict[str, Any] = {"name": "simulation", "policy": policy, "method": method, **self.basics}
        if self.ask is Ask.COUNT:
            return study(Count(), **basics)
        if self.ask is not Ask.FREQUENCIES and self.kind not in (None, "numbers"):
            raise InvalidRequest(
                f"--ask {self.ask} needs a column of numbers, and {self.named} holds {self.kind}."
            )
        if self.ask in (Ask.SUM, Ask.MEAN):
            if self.named not in self.bounds:
                raise InvalidRequest(f"--ask {self.ask} needs bounds: add --bounds {self.named}=LOW:HIGH")
            query = Sum(self.named) if self.ask is Ask.SUM else Mean(self.named)
            return study(query, bounds=self.bounds, grain={self.named: self.grain}, **basics)
        return study(Count(), by=self._by(), **basics)

    def _by(self) -> Categories | Bins:
        from prdp.local.protocols.categories import Bins, Categories  # noqa: PLC0415

        if self.values is None:
            example = "--values 0,1000,10000" if self.ask is Ask.QUANTILES else "--values student,retired"
            raise InvalidRequest(f"--ask {self.ask} needs public categories or edges: add {example}")
        parts = [part.strip() for part in self.values.split(",")]
        if self.ask is Ask.QUANTILES or self.named in self.bounds:
            return Bins(self.named, tuple(exact(part, "--values") for part in parts))
        if self.kind in (None, "texts"):
            return Categories(self.named, parts)
        if self.kind != "numbers":
            raise InvalidRequest(
                f"categories are texts or whole numbers, and {self.named} holds values of type {self.kind}."
            )
        numbers = [exact(part, "--values") for part in parts]
        if any(each.denominator != 1 for each in numbers):
            raise InvalidRequest(
                f"--values {self.values}: {self.named} holds numbers, whose categories are whole. For bins "
                f"add --bounds {self.named}=LOW:HIGH"
            )
        return Categories(self.named, [int(each) for each in numbers])

    def lines(self, found: list[Estimate], crowd: Crowd) -> list[EstimateLine]:
        """Return the truth, that of all records and of their values as they are, beside the answers."""
        if self.ask is Ask.COUNT:
            return [_line("clients", float(len(crowd)), found)]
        if self.ask in (Ask.SUM, Ask.MEAN):
            values = self._numbers(crowd)
            truth = math.fsum(values) / (1 if self.ask is Ask.SUM else max(1, len(values)))
            return [_line(f"{self.ask} of {self.named}", truth, found)]
        return self._table(found, crowd)

    def _numbers(self, crowd: Crowd) -> list[float]:
        """Return the column's values, without NULL and NaN."""
        held = crowd.columns[self.named][crowd.has_number(self.named)]
        return [float(value) for value in held if math.isfinite(value)]

    def _table(self, found: list[Estimate], crowd: Crowd) -> list[EstimateLine]:
        by = self._by()
        where = crowd.places(by).tolist()
        if self.ask is Ask.FREQUENCIES:
            return [
                _line(label, float(where.count(place)), [_of_part(run, place) for run in found])
                for place, label in enumerate(by.labels)
            ]
        truth = sorted(self._numbers(crowd)) or [math.nan]
        return [
            _line(
                f"{level:.0%} lie below",
                truth[int(level * (len(truth) - 1))],
                self._quantile(found, level),
            )
            for level in (0.1, 0.25, 0.5, 0.75, 0.9)
        ]

    def labelled(self, found: list[Estimate]) -> list[Estimate]:
        """Return the estimates whose caveats belong to the lines: quantiles have their own."""
        return self._quantile(found, 0.5) if self.ask is Ask.QUANTILES else found

    def _quantile(self, found: list[Estimate], level: float) -> list[Estimate]:
        from prdp.local.analyst.reading_off import quantiles as read_off  # noqa: PLC0415
        from prdp.local.protocols.categories import Bins  # noqa: PLC0415

        by = self._by()
        assert isinstance(by, Bins)  # noqa: S101  (quantiles have edges)
        return [read_off(run, by, (level,))[0] for run in found]


def _of_part(run: Estimate, place: int) -> Estimate:
    part = run.parts[place]
    return replace(run, value=part.value, deviation=part.deviation, parts=())


def _line(label: str, truth: float, found: list[Estimate]) -> EstimateLine:
    """Return a line of what the runs said; one in which nothing was heard said nothing."""
    values = [math.nan if run.unheard else run.value for run in found]
    return EstimateLine(label, truth, values, median(run.deviation for run in found))
