"""The tables of docs/paper.md, written from results.csv; a test fails where the page says something else.

``python -m experiments.paper.docs_tables --results results/paper`` takes the figures of a run into
``experiments/paper/results.csv``, with the commit that it is of, and writes the page's tables again; without
``--results``, from that file. Experiments that the folder does not have keep their figures.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet

from experiments.paper.environment import commit
from experiments.paper.experiment import config_of, published
from experiments.paper.job import ROOT
from experiments.paper.readings import FITTING, LOCAL, READINGS, local_figures, multiple
from experiments.paper.report.parts import number
from experiments.paper.results import Band, grouped
from experiments.problem import QUERIES, Question
from experiments.studies import COUNTS, DEFAULT, PRINTED
from experiments.yardsticks import Floats, trimmed

RESULTS = Path(__file__).with_name("results.csv")
PAGE = ROOT / "docs" / "paper.md"
TAKEN = {"table_3": ("set", "question", "method"), "table_4": ("set", "method")}
TAKEN |= {"readings": ("set", "question", "reading"), "appendix_c": ("method",)}
FIGURES = {"figure_3": "n", "figure_4": "U", "figure_5": "σ"}
TAKEN |= {name: ("policy", varied, "method") for name, varied in FIGURES.items()}
PLOTTED = ("default", "Algorithm 1", "Algorithm 2")
"""The methods of which figures are kept."""
COLUMNS = (
    "experiment",
    "labels",
    "runs",
    "trimmed",
    "standard_error",
    "p99",
    "mean",
    "printed",
    "percentile",
    "commit",
)
SETS = ("Normal(50k)", "Normal(500k)", "Bank", "SF", "CBP")
COMPARED = SETS[:4]


@dataclass(frozen=True, slots=True)
class Figures:
    """What is kept of many runs: their number, the trimmed mean, its standard error, what it hides.

    Attributes:
        commit: The code that was run.
        runs: How many there were.
        trimmed: The paper's measure.
        standard_error: Of that.
        p99: The 99th percentile of all runs.
        mean: The mean of all runs.
        printed: What the paper prints; None where nothing.
        percentile: Where that lies among trimmed means of 50 runs.
    """

    commit: str
    runs: int
    trimmed: float
    standard_error: float
    p99: float
    mean: float
    printed: float | None
    percentile: float | None

    @property
    def with_error(self) -> str:
        """The trimmed mean with its standard error."""
        return f"{number(self.trimmed)} ± {number(self.standard_error, 1)}"


Results = Mapping[tuple[str, ...], Figures]


def taken(folder: Path, commit: str, before: str) -> str:
    """Return the text of results.csv from the Parquet files of a run, and from what it was before."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, labels in TAKEN.items():
        path, trim = folder / f"{name}.parquet", config_of(name).get("trim", 0.2)
        if not path.exists():
            writer.writerows(line for line in csv.reader(io.StringIO(before)) if line[0] == name)
            continue
        for key, errors in grouped(pyarrow.parquet.read_table(path), labels).items():
            if name in FIGURES and key[-1] not in PLOTTED:
                continue
            figures = _figures(errors, trim, _printed(name, key))
            writer.writerow((name, "|".join(map(str, key)), *figures, commit))
    return out.getvalue()


def _figures(errors: Floats, trim: float, printed: float | None) -> Iterator[str]:
    middle, error = trimmed(errors, trim)
    yield str(errors.size)
    yield from (f"{x:.5g}" for x in (middle, error, float(np.quantile(errors, 0.99)), float(errors.mean())))
    if printed is None:
        yield from ("", "")
    else:
        yield from (str(printed), f"{Band.of(errors, printed, trim=trim).place:.3g}")


def _printed(name: str, key: tuple[object, ...]) -> float | None:
    """Return the printed figure that a result is beside."""
    if name == "appendix_c":
        return 2.06 if "framework" in str(key[0]) else None
    data, which = str(key[0]), str(key[-1])
    if name in FIGURES:
        return None
    if name == "table_4":
        return local_figures().get(data) if which == PRINTED else None
    question = str(key[1])
    if name == "readings":
        return local_figures().get(data) if question == LOCAL else _framework(question, which).get(data)
    return published(question).get(which, {}).get(data)


def _framework(question: str, reading: str) -> Mapping[str, float]:
    return {} if reading == "extension" else published(question)["Algorithm 2"]


def read(text: str) -> Results:
    """Read results.csv."""
    return {
        (row["experiment"], *row["labels"].split("|")): Figures(
            row["commit"],
            int(row["runs"]),
            *(float(row[name]) for name in ("trimmed", "standard_error", "p99", "mean")),
            *(float(row[name]) if row[name] else None for name in ("printed", "percentile")),
        )
        for row in csv.DictReader(io.StringIO(text))
    }


def runs_table(results: Results) -> Iterator[str]:
    """Yield how many runs of which code the tables are of."""
    yield from _header("tables from", ("runs of a method on a set", "commit"))
    for name in TAKEN:
        mine = [figures for key, figures in results.items() if key[0] == name and key[-1] != "floor"]
        runs = (f"{runs:,}" for runs in sorted({figures.runs for figures in mine}, reverse=True))
        commits = (f"`{commit}`" for commit in sorted({figures.commit for figures in mine}))
        yield _line(f"`--only {name}`", (" or ".join(runs), ", ".join(commits)))


def errors_table(results: Results) -> Iterator[str]:
    """Yield the errors of Table 3: printed, run as printed, and the default's."""
    yield from _header("", SETS)
    for question, name, called in (
        ("count", "Algorithm 1", "count, Algorithm 1"),
        ("sum", "Algorithm 1", "sum, extension"),
        ("sum", "Algorithm 2", "sum, framework"),
        ("max", "Algorithm 2", "max, framework"),
    ):
        printed = published(question)[name]
        yield _line(f"{called}, **published**", (number(printed[d]) if d in printed else "–" for d in SETS))
        yield _line(
            f"{called}, as run here", (number(results["table_3", d, question, name].trimmed) for d in SETS)
        )
        if (question, name) != ("sum", "Algorithm 1"):
            ours = (results["table_3", d, question, "default"] for d in SETS)
            yield _line(f"{question}, our default", (f.with_error for f in ours))


def verdict_table(results: Results) -> Iterator[str]:
    """Yield where each comparable figure lies among trimmed means of 50 runs."""
    yield from _header("percentile of the printed figure", COMPARED)
    for question in QUERIES:
        for name in published(question):
            cells = (results["table_3", data, question, name] for data in COMPARED)
            called = "SOTA PDP" if name.startswith("personalised") else name
            yield _line(f"{question}, {called}", (_place(figures) for figures in cells))


def _place(figures: Figures) -> str:
    place = figures.percentile
    assert place is not None  # noqa: S101  (compared figures are printed)
    return (
        f"{place:.3g}"
        if 2.5 <= place <= 97.5
        else f"**{place:.3g}** ({number(figures.trimmed / (figures.printed or 1), 2)} times)"
    )


def readings_table(question: Question) -> Callable[[Results], Iterator[str]]:
    """Return the table of the readings of one question."""

    def table(results: Results) -> Iterator[str]:
        printed = published(question)["Algorithm 2"]
        yield from _header(f"{question}: reading", ("costs", *COMPARED))
        yield _line("**published**", ("E", *(number(printed[data]) for data in COMPARED)))
        for name, reading in READINGS[question].items():
            bold = "**" if name == FITTING[question] else ""
            cells = (results["readings", data, question, name] for data in COMPARED)
            yield _line(f"{bold}{name}{bold}", (f"{number(float(reading.cost))} E", *map(_beside, cells)))

    return table


def _beside(figures: Figures) -> str:
    return f"{number(figures.trimmed)} (p {figures.percentile:.3g})"


def claim_table(results: Results) -> Iterator[str]:
    """Yield the extension beside the framework on real data."""
    names = ("extension", "halves, slack 6", FITTING["sum"], "first stage whole, slack 1, at share 2/3")
    yield from _header(
        "sum", ("extension", "framework as printed (E)", "the fitting reading (1.5 E)", "the same at E")
    )
    for data in ("Bank", "SF", "CBP"):
        yield _line(data, (results["readings", data, "sum", name].with_error for name in names))


def local_table(results: Results) -> Iterator[str]:
    """Yield the errors of local counts, and the tails of the two that matter."""
    sets = ("Normal(50k)", "Bank", "SF", "CBP")
    yield from _header("PrLDP count, relative error in % (runs)", sets)
    printed = local_figures()
    yield _line("**published**", (number(printed[data]) if data in printed else "–" for data in sets))
    for name in COUNTS:
        if not name.startswith("naive"):
            here = [results["table_4", data, name] for data in sets]
            yield _line(f"{name} ({here[0].runs})", (figures.with_error for figures in here))
    for name in (PRINTED, DEFAULT):
        yield _line(f"99th percentile, {name}", (number(results["table_4", data, name].p99) for data in sets))


def threshold_table(results: Results) -> Iterator[str]:
    """Yield the local count's error by its threshold."""
    printed = {data: figure for data, figure in local_figures().items() if data in COMPARED}
    yield from _header("threshold c √n / ε", tuple(printed))
    yield _line("**published**", map(number, printed.values()))
    for c in config_of("readings")["multiples"]:
        yield _line(
            f"c = {c} ({multiple(c):.3g})" if "√" in c else f"c = {c}",
            (_beside(results["readings", d, LOCAL, c]) for d in printed),
        )


def paths_table(results: Results) -> Iterator[str]:
    """Yield the errors of Appendix C."""
    columns = ("email-Eu-core", "99th percentile", "percentile of 2.06")
    yield from _header("error in %, 10 % trimmed each side", columns)
    yield _line("the paper's framework, **published**", ("2.06", "–", "–"))
    for (name, *labels), figures in results.items():
        if name == "appendix_c" and labels != ["floor"]:
            place = "–" if figures.percentile is None else f"{figures.percentile:.3g}"
            yield _line(labels[0], (figures.with_error, number(figures.p99), place))
    least = number(results["appendix_c", "floor"].mean)
    yield _line("the floor: any private method, here or nearby", (least, "–", "–"))


def beaten_table(results: Results) -> Iterator[str]:
    """Yield every private method that errs less than the default on some set."""
    yield from _header("errs less than the default", ("question", "set", "its error over the default's"))
    for (name, *labels), figures in results.items():
        if name == "table_3" and labels[2] not in ("default", "floor", "oracle clip"):
            ours = results["table_3", labels[0], labels[1], "default"]
            if figures.trimmed < ours.trimmed:
                yield _line(labels[2], (labels[1], labels[0], number(figures.trimmed / ours.trimmed, 2)))


def tails_table(results: Results) -> Iterator[str]:
    """Yield 99th percentiles of the paper's algorithms and of the default."""
    yield from _header("99th percentile of the error, %", SETS)
    for question, name in (
        ("count", "Algorithm 1"),
        ("sum", "Algorithm 1"),
        ("sum", "Algorithm 2"),
        ("max", "Algorithm 2"),
    ):
        yield _line(f"{question}, {name}", (number(results["table_3", d, question, name].p99) for d in SETS))
        if (question, name) != ("sum", "Algorithm 1"):
            yield _line(
                f"{question}, our default",
                (number(results["table_3", d, question, "default"].p99) for d in SETS),
            )


TABLES: Mapping[str, Callable[[Results], Iterator[str]]] = {
    "runs": runs_table,
    "errors": errors_table,
    "verdicts": verdict_table,
    "readings of the sum": readings_table("sum"),
    "readings of the maximum": readings_table("max"),
    "the claim": claim_table,
    "tails": tails_table,
    "baselines ahead": beaten_table,
    "local counts": local_table,
    "local thresholds": threshold_table,
    "paths": paths_table,
}


def _header(first: str, cells: Sequence[str]) -> Iterator[str]:
    yield _line(first, cells)
    yield "|" + "---|" * (len(cells) + 1)


def _line(first: str, cells: Iterator[str] | Sequence[str]) -> str:
    return f"| {' | '.join((first, *cells))} |"


def rewritten(page: str, results: Results) -> str:
    """Return the page with every table between its marks as the results have it."""
    for name, table in TABLES.items():
        start, end = f"<!-- table: {name} -->\n", f"<!-- end: {name} -->"
        before, found, rest = page.partition(start)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise ValueError(f"the page has no marks for the table {name!r}")
        page = before + start + "\n" + "\n".join(table(results)) + "\n\n" + end + after
    return page


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, help="the folder of a run: results/paper")
    parser.add_argument("--commit", default=commit(), help="the code that was run, if not what is here")
    asked = parser.parse_args(arguments)
    if asked.results:
        before = RESULTS.read_text(encoding="utf-8")
        RESULTS.write_text(taken(asked.results, asked.commit, before), encoding="utf-8")
    results = read(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
