"""Every table and figure of the paper, from one command.

``python -m experiments.paper --data FOLDER`` writes results, figures and a report into
``results/paper``. A run that was stopped goes on where it was; results of other code or another seed are not
taken for these.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow
from rich.console import Console

from experiments.paper.environment import environment
from experiments.paper.experiment import Context, Experiment
from experiments.paper.job import digest_of
from experiments.paper.options import Asked, options
from experiments.paper.readings import fitting
from experiments.paper.report.figures import png
from experiments.paper.report.page import page
from experiments.paper.report.parts import Figure, Row, Section, Table
from experiments.paper.results import as_csv
from experiments.paper.runner import collect, run
from experiments.paper.verdicts import best_printed, verdict_section, verdicts
from experiments.paper.verdicts import title as computed_title


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options(__doc__, arguments)
    console, context = Console(), asked.context
    for line in context.absent(context.sets):
        console.print(line, highlight=False)
    digest = digest_of(context.data)
    start = time.perf_counter()
    try:
        for page_name, title, experiments in pages(asked):
            jobs = [job for e in experiments for job in e.jobs(e.config(quick=context.quick), context)]
            run(jobs, asked.out, digest, console, alone=not experiments[0].repeatable)
            results = collect(jobs, asked.out, digest, asked.prefix)
            sections = [
                e.section(e.config(quick=context.quick), context, results.get(e.name, pyarrow.table({})))
                for e in experiments
            ]
            console.print(written(asked, Page(page_name, title, sections, results)))
    except KeyboardInterrupt:
        console.print("stopped; what is done is kept, and the same command goes on from there")
        sys.exit(130)
    console.print(f"{time.perf_counter() - start:.0f} s", highlight=False)


def pages(asked: Asked) -> Iterator[tuple[str, str, list[Experiment]]]:
    """Yield the pages to write: file, title and experiments."""
    repeatable = [e for e in asked.experiments if e.repeatable]
    if repeatable:
        title = "Per-record differential privacy, the paper run again"
        yield "partial.html" if asked.partial else "report.html", title, repeatable
    others = [e for e in asked.experiments if not e.repeatable]
    if others:
        title = "Times, and what no seed repeats"
        yield "partial_times.html" if asked.partial else "times.html", title, others


@dataclass(frozen=True, slots=True)
class Page:
    """A page to write: its file, its title unless one is computed, its sections and their results."""

    name: str
    title: str
    sections: Sequence[Section]
    results: Mapping[str, pyarrow.Table]


def written(asked: Asked, made: Page) -> Path:
    """Write a page, its figures and a summary of its results, and return where it is."""
    pictures = {part.name: png(part) for s in made.sections for part in s.parts if isinstance(part, Figure)}
    folder = asked.out / "figures"
    folder.mkdir(exist_ok=True)
    for figure, data in pictures.items():
        (folder / f"{asked.prefix}{figure}.png").write_bytes(data)
    context, path = asked.context, asked.out / made.name
    first, title = None, made.title
    if "table_3" in made.results:
        found = verdicts(context, made.results["table_3"])
        remarks = fitting(context, made.results["readings"]) if "readings" in made.results else ()
        first = verdict_section(found, remarks)
        title = computed_title(found, best_printed(found, made.results["table_3"]))
        title += " (a quick run)" if context.quick else ""
    summary, other = f"{path.stem}.csv", "report.html" if "times" in made.name else "times.html"
    trims = {e.name: trim for e in asked.experiments if (trim := e.config(quick=context.quick).get("trim"))}
    (asked.out / summary).write_text(as_csv(made.results, trims), encoding="utf-8")
    text = page(
        title,
        lead(context),
        [*made.sections, methods_section(context)],
        pictures,
        other if not asked.partial or (asked.out / other).exists() else "",
        brief=not context.quick,
        first=first,
        files=(summary, *(f"{asked.prefix}{name}.parquet" for name in made.results)),
    )
    path.write_text(text, encoding="utf-8")
    return path


def lead(context: Context) -> str:
    """Say what the reader must know of the whole run."""
    quick = "This is a quick run: few runs, small sets; figures too rough to quote." if context.quick else ""
    came_from = " ".join(environment(context.data))
    return (
        "Chen, Sun, Xu and Dong, A General Framework for Per-record Differential Privacy (PACMMOD 2025), "
        "run again. "
        "Blue rows are this library's default, yellow ones the paper's printed figures, plain ones its "
        "algorithms and the baselines as run here, grey ones yardsticks that are not private. "
        f"Errors are in percent unless said otherwise; the noise's seed is {context.seed}, and each set "
        "has noise of its own. Figures of the tails come from several seeds; in brackets stand the least and "
        "the greatest of them.\n\n" + "\n\n".join((came_from, *context.absent(context.sets), quick))
    )


def methods_section(context: Context) -> Section:
    """Say what each method is."""
    rows = tuple(Row((method.name, method.note), method.role) for method in context.methods)
    return Section("Methods", "", (Table("What is compared", ("", "what it is"), rows),))


if __name__ == "__main__":
    main()
