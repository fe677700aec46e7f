"""Table 1: how errors grow with 1/ε_min, U and n, in the central and the local model, beside the bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow

import prdp
from experiments.datasets import normal
from experiments.methods import METHODS
from experiments.paper.answering import answer_jobs, with_absolute
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job, Label
from experiments.paper.report.parts import Figure, Kind, Line, Panel, Row, Section, Table, held
from experiments.paper.results import Measures, measured
from experiments.paper.setting import Setting
from experiments.problem import GREATEST_BUDGET, Question
from experiments.studies import COUNT_WAYS, SUM_WAYS, errors_among
from experiments.yardsticks import slope
from prdp.methods import Framework
from prdp.testing import simulate

EXPERIMENT = "table_1"
BUDGET, LARGEST, SIZE = "1/ε_min", "U", "n"
VARIED = (BUDGET, LARGEST, SIZE)
LOCAL = {"local count": COUNT_WAYS, "local sum": SUM_WAYS}
RECORDS_OF_A_KEY = 2
DISTINCT: Mapping[str, Framework | None] = {
    "default": None,
    "Algorithm 2": Framework(beta="1/20", split="1/2"),
}


def jobs(config: Config, context: Context) -> list[Job]:
    """Return the jobs of the central model, then those of the local one."""
    return [
        *_answers("count", config, context),
        *_answers("sum", config, context),
        *_distinct_counts(config, context),
        *_local_studies(config, context),
    ]


def _answers(question: Question, config: Config, context: Context) -> Iterator[Job]:
    for varied, x, setting in settings(question, config):
        labels = (("question", question), ("varied", varied), ("x", x))
        yield from answer_jobs(EXPERIMENT, labels, setting, config, context, work=with_absolute)


def _distinct_counts(config: Config, context: Context) -> Iterator[Job]:
    for varied, x, setting in settings("count", config):
        for name in DISTINCT:
            labels = (("question", "distinct count"), ("varied", varied), ("x", x), ("method", name))
            asked = (setting, name, config["runs"], *context.seeds(setting.name))
            yield Job(EXPERIMENT, labels, distinct, asked)


def _local_studies(config: Config, context: Context) -> Iterator[Job]:
    for question, ways in LOCAL.items():
        for n in config["local_sizes"]:
            for way in ways:
                labels = (("question", question), ("varied", SIZE), ("x", float(n)), ("method", way))
                given = (question, way, n, config["local_runs"], *context.seeds(f"{n:,} clients"))
                yield Job(EXPERIMENT, labels, local, given)


def settings(question: Question, config: Config) -> Iterator[tuple[str, float, Setting]]:
    """Yield what varies, where it is, and the setting."""
    for factor in map(Fraction, config["factors"]):
        yield BUDGET, float(1 / factor), Setting("Normal", question=question, factor=factor)
    for largest in config["largest"]:
        yield LARGEST, float(largest), Setting("Normal", question=question, largest=largest)
    for size in config["sizes"]:
        yield SIZE, float(size), Setting("Normal", question=question, size=size)


def distinct(setting: Setting, method: str, runs: int, seed: int) -> Columns:
    """Return the errors of a distinct count whose keys have two records each."""
    problem = setting.problem(None)
    keys = np.arange(problem.values.size) // RECORDS_OF_A_KEY
    table = prdp.open(
        pyarrow.table({"v": problem.values, "key": keys}),
        policy=prdp.Policy(problem.expression, at_most=GREATEST_BUDGET),
        bounds={"v": (0, problem.largest)},
        name=problem.data.name,
        synthetic=True,
    )
    releases = simulate(table, prdp.count_distinct("key"), method=DISTINCT[method], runs=runs, seed=seed)
    answers = np.array([float(release.exact) for release in releases])
    truth = float(keys[-1] + 1)
    absolute = np.abs(answers - truth)
    return {
        "answer": answers,
        "error": 100 * absolute / truth,
        "absolute": absolute,
        "truth": np.full(runs, truth),
        "seed": np.zeros(runs),
    }


def local(question: str, way: str, n: int, runs: int, seed: int) -> Columns:
    """Return the errors of a study among n clients with values from Normal(50k)."""
    values = normal("", 50_000, n).values
    relative, truth = errors_among(values, question.removeprefix("local "), LOCAL[question][way], runs, seed)
    return {
        "answer": np.full(runs, np.nan),
        "error": relative,
        "absolute": relative * truth / 100,
        "truth": np.full(runs, truth),
        "seed": np.zeros(runs),
    }


# Below: how results are shown. They do not depend on it.


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
    truth = max(100 * absolute[*key, x].mean.value / relative[*key, x].mean.value for x in xs)
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
        reported = ", ".join(f"{grown[question, thing, 'default']} against {thing}" for thing in VARIED)
        yield f"Table 1, {question}: the default's error has the exponents {reported} (points in brackets)."
