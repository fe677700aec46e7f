"""Table 3 in the report: errors beside the printed figures, tails, and what was promised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow

from experiments.datasets import NAMES
from experiments.methods import METHODS
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Label
from experiments.paper.measures import Measures
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.results import measured
from experiments.paper.table_3.jobs import FLOOR
from experiments.problem import QUERIES

Found = Mapping[tuple[Label, ...], Measures]

_ROLES = {method.name: method.role for method in METHODS}
_TITLES = {"count": "Count", "sum": "Sum", "max": "Maximum"}


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    found = measured(results, ("set", "question", "method"))
    named = config.get("sets", NAMES)
    sets = context.present(named)
    parts: list[Table | str] = list(context.absent(named))
    parts += [errors(question, sets, found, config) for question in QUERIES]
    parts += [promises(sets, found, config)]
    parts += [tails(question, sets, found) for question in QUERIES]
    return Section(config["title"], config["about"], tuple(parts), tuple(findings(sets, found, config)))


def errors(question: str, sets: Sequence[str], found: Found, config: Config) -> Table:
    """Return the paper's measure: trimmed means with their standard errors, published figures first."""
    rows = []
    for name, printed in config["published"][question].items():
        figures = (number(printed[data]) if data in printed else "–" for data in sets)
        rows.append(Row((f"{name}, as published", *figures), "published"))
    for method in METHODS:
        if question in method.questions:
            here = [found[data, question, method.name] for data in sets]
            cells = tuple(f"{number(m.trimmed)} ± {number(m.standard_error, 1)}" for m in here)
            rows.append(Row((method.name, *cells), method.role))
    if question != "max":
        least = tuple(number(found[data, question, FLOOR].mean) for data in sets)
        rows.append(Row(("floor: any private method, here or nearby", *least), "yardstick"))
    caption = (
        f"{_TITLES[question]}: error in %, {config['runs']:,} runs, a fifth left out at each end, ± s.e."
    )
    return Table(caption, ("", *sets), tuple(rows))


def promises(sets: Sequence[str], found: Found, config: Config) -> Table:
    """Return the default and the faithful runs as multiples of the printed figures, and the tails' ratio."""
    rows = []
    for question in QUERIES:
        published = config["published"][question]
        for data in sets:
            if data in config["not_comparable"]:
                continue
            default = found[data, question, "default"]
            best = best_published(config, question, data)
            faithful = [
                f"{name}: {number(found[data, question, name].trimmed / printed[data])}"
                for name, printed in published.items()
                if data in printed
            ]
            worse = found[data, question, "Algorithm 2" if question == "max" else "Algorithm 1"]
            rows.append(
                Row(
                    (
                        f"{data}, {question}",
                        "; ".join(faithful) or "–",
                        "–" if best is None else number(default.trimmed / best),
                        number(default.p99),
                        number(worse.p99),
                        number(worse.p99 / default.p99),
                    )
                )
            )
    header = ("", "faithful / published", "default / best published", "default's p99", "paper's p99", "ratio")
    return Table("Beside the published figures, and the tails that trimming hides", header, tuple(rows))


def own_published(config: Config, question: str) -> dict[str, dict[str, float]]:
    """Return the printed figures of the paper's own algorithms."""
    return {name: v for name, v in config["published"][question].items() if _ROLES[name] == "paper"}


def best_published(config: Config, question: str, data: str) -> float | None:
    """Return the least printed figure of the paper's own algorithms, if it has the set."""
    return min((v[data] for v in own_published(config, question).values() if data in v), default=None)


def tails(question: str, sets: Sequence[str], found: Found) -> Table:
    """Return median, 90th and 99th percentile and mean of every run, none left out."""
    rows = []
    for data in sets:
        for method in METHODS:
            if question in method.questions:
                m = found[data, question, method.name]
                figures = (number(x) for x in (m.trimmed, m.median, m.p90, m.p99, m.mean))
                rows.append(Row((f"{data}: {method.name}", *figures), method.role))
    header = ("", "trimmed", "median", "p90", "p99", "mean")
    return Table(f"{_TITLES[question]}: error in %, all runs", header, tuple(rows))


def findings(sets: Sequence[str], found: Found, config: Config) -> Iterator[str]:
    """Say what the section shows, in sentences for the summary."""
    compared = [data for data in sets if data not in config["not_comparable"]]
    below: list[str] = []
    above: list[str] = []
    for question in QUERIES:
        for data in compared:
            best = best_published(config, question, data)
            if best is not None:
                ratio = found[data, question, "default"].trimmed / best
                (below if ratio <= 1 else above).append(f"{data} {question} ({number(ratio)})")
    yield (
        f"The default is at or below the paper's best published figure in {len(below)} of "
        f"{len(below) + len(above)} cells" + (f"; above it in {', '.join(above)}." if above else ".")
    )
    ratios = {
        data: found[data, "count", "Algorithm 1"].p99 / found[data, "count", "default"].p99 for data in sets
    }
    least = min(ratios, key=lambda data: ratios[data])
    yield (
        f"The 99th percentile of a count's error is at least {number(ratios[least])} times smaller than "
        f"Algorithm 1's on every set (least on {least})."
    )
