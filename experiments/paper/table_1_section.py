"""Table 1 in the report: fitted slopes beside the bounds' exponents, and what differs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow

from experiments.methods import METHODS
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Label
from experiments.paper.measures import Measures
from experiments.paper.report.parts import Figure, Kind, Line, Panel, Row, Section, Table
from experiments.paper.results import measured
from experiments.paper.scaling_section import held
from experiments.paper.table_1 import BUDGET, LOCAL, SIZE, VARIED
from experiments.yardsticks import slope

_CENTRAL = ("count", "sum", "distinct count")
_ACROSS = {BUDGET: "1/ε_min, as a multiple of that at factor 1", "U": "public largest value U", SIZE: "n"}
_ROLES: Mapping[str, Kind] = {method.name: method.role for method in METHODS}

Found = Mapping[tuple[Label, ...], Measures]


@dataclass(frozen=True, slots=True)
class Growth:
    """The measured growth of one method's error with one thing.

    Attributes:
        points: Where it was measured, and the trimmed absolute error there.
        entered: How many of them the fit is of.
        slope: The slope, NaN for fewer than two points.
        error: Its standard error, NaN for fewer than three.
        bound: The bound's exponent, if there is a bound.
        truth: The largest true answer along the line.
    """

    points: tuple[tuple[float, float], ...]
    entered: int
    slope: float
    error: float
    bound: float | None
    truth: float

    def __str__(self) -> str:
        if math.isnan(self.slope):
            return f"– ({self.entered})"
        spread = "" if math.isnan(self.error) else f" ± {self.error:.2f}"
        return f"{self.slope:z.2f}{spread} ({self.entered})"


Grown = Mapping[tuple[str, str, str], Growth]


def section(config: Config, _: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    grown = growths(config, results)
    tables = [slopes(question, VARIED, grown) for question in _CENTRAL]
    tables += [slopes(question, (SIZE,), grown) for question in LOCAL]
    figures = [figure(question, VARIED, grown) for question in _CENTRAL]
    figures += [figure(question, (SIZE,), grown) for question in LOCAL]
    parts: tuple[Table | Figure | str, ...] = (*tables, *differences(config, grown), *figures)
    return Section(config["title"], config["about"], parts, tuple(findings(grown)))


def growths(config: Config, results: pyarrow.Table) -> Grown:
    """Fit every line of errors."""
    by = ("question", "varied", "method", "x")
    absolute, relative = measured(results, by, "absolute"), measured(results, by)
    lines: dict[tuple[str, str, str], list[float]] = {}
    for question, varied, method, x in absolute:
        lines.setdefault((str(question), str(varied), str(method)), []).append(float(x))
    return {key: growth(key, sorted(xs), absolute, relative, config) for key, xs in lines.items()}


def growth(
    key: tuple[str, str, str], xs: Sequence[float], absolute: Found, relative: Found, config: Config
) -> Growth:
    """Fit one line, where its error is below the most that can still grow."""
    points = tuple((x, absolute[*key, x].trimmed) for x in xs)
    fitted = [(x, y) for x, y in points if relative[*key, x].trimmed < config["most_error"] and y > 0]
    steep, error = slope(fitted) if len(fitted) > 1 else (math.nan, math.nan)
    question, varied, method = key
    bounds = config["bounds"][question].get(method)
    bound = None if bounds is None else float(bounds[VARIED.index(varied)])
    truth = max(100 * absolute[*key, x].mean / relative[*key, x].mean for x in xs)
    return Growth(points, len(fitted), steep, error if len(fitted) > 2 else math.nan, bound, truth)


def methods_of(question: str, grown: Grown) -> list[str]:
    """Return the methods that were asked, in their order."""
    return list(dict.fromkeys(method for asked, _, method in grown if asked == question))


def slopes(question: str, varied: Sequence[str], grown: Grown) -> Table:
    """Return the slopes of one question beside the bounds' exponents."""
    rows = []
    for method in methods_of(question, grown):
        cells = []
        for thing in varied:
            here = grown[question, thing, method]
            cells += ["–" if here.bound is None else f"{here.bound:g}", str(here)]
        rows.append(Row((method, *cells), _ROLES.get(method, "")))
    header = tuple(text for thing in varied for text in (f"bound in {thing}", "measured"))
    return Table(f"{question.capitalize()}: exponents of the error", ("", *header), tuple(rows))


def differences(config: Config, grown: Grown) -> Iterator[str]:
    """Say where a slope is not its bound's exponent, and why as far as we know."""
    for (question, varied, method), here in grown.items():
        if here.bound is None or math.isnan(here.error):
            continue
        if abs(here.slope - here.bound) > max(config["noticeable"], 2 * here.error):
            why = config["why"].get(question, {}).get(varied, {}).get(method, "No reason is known.")
            yield (
                f"{question.capitalize()} against {varied}, {method}: {here.slope:.2f} where the bound has "
                f"{here.bound:g}. {why}"
            )


def figure(question: str, varied: Sequence[str], grown: Grown) -> Figure:
    """Draw the lines that were fitted."""
    name = f"table_1_{question.replace(' ', '_')}"
    panels = tuple(
        Panel(f"{question}, against {thing}", _ACROSS[thing], "absolute error", lines(question, thing, grown))
        for thing in varied
    )
    truth = max(here.truth for (asked, _, _), here in grown.items() if asked == question)
    return held(Figure(name, f"The lines behind the slopes: {question}, trimmed error.", panels), truth)


def lines(question: str, varied: str, grown: Grown) -> tuple[Line, ...]:
    """Return a line for each method."""
    return tuple(
        Line(method, grown[question, varied, method].points, _ROLES.get(method, ""))
        for method in methods_of(question, grown)
    )


def findings(grown: Grown) -> Iterator[str]:
    """Say what the slopes of the default are."""
    for question in _CENTRAL:
        told = ", ".join(f"{grown[question, thing, 'default']} against {thing}" for thing in VARIED)
        yield f"Table 1, {question}: the default's error has the exponents {told} (points in brackets)."
