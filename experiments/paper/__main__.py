"""Every table and figure of the paper, from one command.

``python -m experiments.paper --data FOLDER`` writes results, figures and a report into
``results/paper``. A run that was stopped goes on where it was; results of other code or another seed are not
taken for these.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow
from rich.console import Console

from experiments.datasets import NAMES
from experiments.methods import METHODS
from experiments.paper.catalogue import EXPERIMENTS
from experiments.paper.experiment import Context, Experiment
from experiments.paper.job import digest_of
from experiments.paper.report.figures import png
from experiments.paper.report.page import page
from experiments.paper.report.parts import Figure, Row, Section, Table
from experiments.paper.runner import collect, run

TITLE = "Per-record differential privacy: the paper, reproduced and beaten"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument(
        "--out", type=Path, help="where everything is written: results/paper, or results/paper-quick"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--quick", action="store_true", help="few runs and small sets, to see that it works")
    names = [experiment.name for experiment in EXPERIMENTS]
    parser.add_argument(
        "--only", nargs="+", choices=names, help="some experiments, on pages of their own: partial.html"
    )
    asked = parser.parse_args()
    asked.out = asked.out or Path("results") / ("paper-quick" if asked.quick else "paper")
    if asked.data and not asked.data.is_dir():
        parser.error(f"--data {asked.data}: there is no such folder")
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {asked.out}: {error.strerror}")
    return asked


def main() -> None:
    asked = options()
    console = Console()
    context = Context(asked.data, asked.seed, asked.quick)
    for line in context.absent(NAMES):
        console.print(line, highlight=False)
    chosen = [e for e in EXPERIMENTS if not asked.only or e.name in asked.only]
    digest = digest_of(asked.data)
    start = time.perf_counter()
    try:
        for page_name, title, experiments in pages(chosen, partial=bool(asked.only)):
            jobs = [job for e in experiments for job in e.jobs(e.config(quick=context.quick), context)]
            run(jobs, asked.out, digest, console, alone=not experiments[0].repeatable)
            results = collect(jobs, asked.out, digest)
            console.print(written(asked.out / page_name, title, experiments, context, results))
    except KeyboardInterrupt:
        console.print("stopped; what is done is kept, and the same command goes on from there")
        sys.exit(130)
    console.print(f"{time.perf_counter() - start:.0f} s", highlight=False)


def pages(chosen: list[Experiment], *, partial: bool) -> Iterator[tuple[str, str, list[Experiment]]]:
    """Yield the pages to write: file, title and experiments."""
    repeatable = [e for e in chosen if e.repeatable]
    if repeatable:
        yield "partial.html" if partial else "report.html", TITLE, repeatable
    others = [e for e in chosen if not e.repeatable]
    if others:
        yield "partial_times.html" if partial else "times.html", "Times, and what no seed repeats", others


def written(
    path: Path, title: str, experiments: list[Experiment], context: Context, results: dict[str, pyarrow.Table]
) -> Path:
    """Write a page and its figures."""
    sections = [
        e.section(e.config(quick=context.quick), context, results.get(e.name, pyarrow.table({})))
        for e in experiments
    ]
    pictures = {part.name: png(part) for s in sections for part in s.parts if isinstance(part, Figure)}
    folder = path.parent / "figures"
    folder.mkdir(exist_ok=True)
    for name, data in pictures.items():
        (folder / f"{name}.png").write_bytes(data)
    other = ("times.html", "report.html")[path.name == "times.html"]
    text = page(
        title, lead(context), [*sections, methods_section()], pictures, other, brief=not context.quick
    )
    path.write_text(text, encoding="utf-8")
    return path


def lead(context: Context) -> str:
    """Say what the reader must know of the whole run."""
    quick = "This is a quick run: few runs, small sets; figures too rough to quote." if context.quick else ""
    return (
        "Chen, Sun, Xu and Dong, A General Framework for Per-record Differential Privacy (PACMMOD 2025), "
        "run again. "
        "Blue rows are this library's default, yellow ones the paper's printed figures, plain ones its "
        "algorithms and the baselines as run here, grey ones yardsticks that are not private. "
        f"Errors are in percent unless said otherwise; the noise's seed is {context.seed}. A method "
        "has the same noise on sets of one size, so that some of its figures repeat.\n\n"
        + "\n\n".join((*context.absent(NAMES), quick))
    )


def methods_section() -> Section:
    """Say what each method is."""
    rows = tuple(Row((method.name, method.note), method.role) for method in METHODS)
    return Section("Methods", "", (Table("What is compared", ("", "what it is"), rows),))


if __name__ == "__main__":
    main()
