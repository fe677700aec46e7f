"""The first screen: every printed error of Table 3 beside the 50-run band of the same method run here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow

from experiments.datasets import SETS, File, MadeUp, Zipf, can_be_had
from experiments.paper.experiment import Context, published
from experiments.paper.report.parts import Mark, Row, Section, Table, number
from experiments.paper.results import Band, grouped
from experiments.problem import QUERIES
from experiments.yardsticks import trimmed

_CALLED = {
    ("count", "personalised truncation with sampling"): "count, SOTA PDP",
    ("count", "Algorithm 1"): "count, Algorithm 1",
    ("sum", "personalised truncation"): "sum, SOTA PDP",
    ("sum", "Algorithm 1"): "sum, extension",
    ("sum", "Algorithm 2"): "sum, framework",
    ("max", "Algorithm 2"): "max, framework",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Notes on one printed figure.

    Attributes:
        question: Of which question it is.
        method: Of which method.
        data: Of which set.
        printed: The figure.
        here: The trimmed error here; None where it was not run.
        band: Where the figure lies among means of 50 runs; None where it was not run.
        mark: The verdict.
    """

    question: str
    method: str
    data: str
    printed: float
    here: float | None
    band: Band | None
    mark: Mark

    @property
    def cell(self) -> str:
        """The verdict in a few words."""
        if self.here is None or self.band is None:
            return f"{number(self.printed)}\n{'no data' if self.mark == 'absent' else 'not run'}"
        times = f"off, × {number(self.here / self.printed, 2)}"
        word = {"inside": "in band", "off": times, "unknown": "not compared"}[self.mark]
        place = f"p {self.band.place:.3g}"
        return f"{number(self.printed)} → {number(self.here)}\n{word}, {place}"


def verdicts(context: Context, results: pyarrow.Table) -> list[Verdict]:
    """Return a verdict on each printed error, six methods on eight sets."""
    errors = grouped(results, ("set", "question", "method"))
    found = []
    for question in QUERIES:
        for method, figures in published(question).items():
            for data, printed in figures.items():
                runs = errors.get((data, question, method))
                band = None if runs is None else Band.of(runs, printed)
                here = None if runs is None else trimmed(runs)[0]
                found.append(Verdict(question, method, data, printed, here, band, _mark(data, band, context)))
    return found


def _mark(data: str, band: Band | None, context: Context) -> Mark:
    if not can_be_had(data, context.data):
        return "absent"
    if band is None:
        return "omitted"
    if isinstance(SETS[data], Zipf | MadeUp):
        return "unknown"
    return "inside" if band.inside else "off"


def counts(found: list[Verdict]) -> Mapping[Mark, int]:
    """Return how many figures have each verdict."""
    marks: tuple[Mark, ...] = ("inside", "off", "unknown", "omitted", "absent")
    return {mark: sum(verdict.mark == mark for verdict in found) for mark in marks}


def verdict_section(found: list[Verdict], remarks: Iterable[str] = ()) -> Section:
    """Return the matrix, with remarks on it above."""
    sets = list(dict.fromkeys(verdict.data for verdict in found))
    by_cell = {(v.question, v.method, v.data): v for v in found}
    rows = []
    for (question, method), called in _CALLED.items():
        here = [by_cell[question, method, data] for data in sets]
        rows.append(Row((called, *(v.cell for v in here)), "", ("", *(v.mark for v in here))))
    several = counts(found)
    inside, compared = several["inside"], several["inside"] + several["off"]
    others = {
        "stand beside sets that are not the paper's own": several["unknown"],
        "were not run": several["omitted"],
        "are of sets whose data are not here": several["absent"],
    }
    about = (
        f"{inside} of {compared} comparable figures lie in the middle 95 % of trimmed means of 50 runs, the "
        "paper's own protocol; p is the printed figure's percentile among them. "
        + " ".join(f"{count} {words}." for words, count in others.items() if count)
    )
    table = Table(
        "Table 3: printed error → the same method here, in %",
        ("", *(_heading(data) for data in sets)),
        tuple(rows),
    )
    return Section("Verdicts", "\n\n".join((about, " ".join(remarks))), (table,))


def _heading(data: str) -> str:
    source = SETS[data]
    if isinstance(source, Zipf):
        return f"{data}, scale unknown"
    if isinstance(source, MadeUp):
        return f"{data.removesuffix(' (made up)')}: no data; made up"
    return data if isinstance(source, File) else f"{data}, drawn"


def title(found: list[Verdict], defaults: Iterator[tuple[float, float]] | None = None) -> str:
    """Return the page's title, from what came out: how many figures agree, where the default is better."""
    several = counts(found)
    words = f"{several['inside']} of {several['inside'] + several['off']} comparable figures reproduced"
    pairs = list(defaults or ())
    better = sum(ours < best for ours, best in pairs)
    beaten = (
        f"; our default beats the best printed figure in {better} of {len(pairs)} cells" if better else ""
    )
    return f"Per-record differential privacy, the paper run again: {words}{beaten}"


def best_printed(found: list[Verdict], results: pyarrow.Table) -> Iterator[tuple[float, float]]:
    """Yield the default's trimmed error and the paper's own best printed figure, of each comparable cell."""
    errors = grouped(results, ("set", "question", "method"))
    comparable = [v for v in found if v.mark in ("inside", "off") and v.method.startswith("Algorithm")]
    for question, data in dict.fromkeys((v.question, v.data) for v in comparable):
        best = min(v.printed for v in comparable if (v.question, v.data) == (question, data))
        yield trimmed(errors[data, question, "default"])[0], best
