"""Every table and figure of the paper, from one command.

``python -m experiments.paper --data FOLDER`` writes results, figures and a report into
``results/paper``. A run that was stopped goes on where it was; results of other code or another seed are not
taken for these.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pyarrow
from rich.console import Console

from experiments.paper.catalogue import EXPERIMENTS
from experiments.paper.experiment import Context, Experiment
from experiments.paper.job import code_digest
from experiments.paper.report.figures import png
from experiments.paper.report.page import page
from experiments.paper.report.parts import Figure
from experiments.paper.runner import collect, run, run_alone

TITLE = "Per-record differential privacy: the paper, reproduced and beaten"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--out", type=Path, default=Path("results/paper"), help="where everything is written")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument(
        "--quick", action="store_true", help="few runs and small sets: minutes become seconds"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        choices=[e.name for e in EXPERIMENTS],
        help="some experiments instead of all",
    )
    return parser.parse_args()


def main() -> None:
    arguments = options()
    console = Console()
    start = time.perf_counter()
    context = Context(arguments.data, arguments.seed, arguments.quick)
    chosen = [e for e in EXPERIMENTS if not arguments.only or e.name in arguments.only]
    arguments.out.mkdir(parents=True, exist_ok=True)
    pages = (
        ("report.html", TITLE, [e for e in chosen if e.repeatable]),
        ("times.html", "Times, and what no seed repeats", [e for e in chosen if not e.repeatable]),
    )
    code = code_digest()
    for name, title, experiments in pages:
        if experiments:
            jobs = [job for e in experiments for job in e.jobs(e.config(quick=context.quick), context)]
            (run if experiments[0].repeatable else run_alone)(jobs, arguments.out, code, console)
            results = collect(jobs, arguments.out, code)
            console.print(written(arguments.out / name, title, experiments, context, results))
    console.print(f"{time.perf_counter() - start:.0f} s", highlight=False)


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
    path.write_text(page(title, lead(context), sections, pictures), encoding="utf-8")
    return path


def lead(context: Context) -> str:
    """Say what the reader must know of the whole run."""
    quick = (
        " This is a quick run: few runs, small sets; its figures are too rough to quote."
        if context.quick
        else ""
    )
    return (
        "Chen, Sun, Xu and Dong, A General Framework for Per-record Differential Privacy (PACMMOD 2025), "
        "run again. "
        "Blue rows are this library's default, yellow ones the paper's printed figures, plain ones its "
        "algorithms and the baselines as run here, grey ones yardsticks that are not private. "
        f"Errors are in percent unless said otherwise; the noise's seed is {context.seed}.{quick}"
    )


if __name__ == "__main__":
    main()
