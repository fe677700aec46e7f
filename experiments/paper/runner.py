"""Doing the jobs of all experiments side by side, with progress, and none of them twice."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import pyarrow
import pyarrow.parquet
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.paper.job import Job, done, kept


def run(jobs: Sequence[Job], folder: Path, code: str, console: Console, *, alone: bool) -> None:
    """Do the jobs whose results are not there yet.

    Args:
        jobs: All jobs.
        folder: Where results are kept.
        code: The digest of what they depend on.
        console: Where progress is shown.
        alone: Whether they are done one after the other, so that none slows another.
    """
    missing = [job for job in jobs if kept(job, folder, code) is None]
    console.print(f"{len(jobs)} jobs, {len(jobs) - len(missing)} of them done before")
    if missing:
        with _bar(console, len(missing)) as step:
            for job, seconds in (_in_turn if alone else _side_by_side)(missing, folder, code):
                step(str(job), seconds)


def _in_turn(jobs: Sequence[Job], folder: Path, code: str) -> Iterator[tuple[Job, float]]:
    for job in jobs:
        yield job, done(job, job.path(folder, code))


def _side_by_side(jobs: Sequence[Job], folder: Path, code: str) -> Iterator[tuple[Job, float]]:
    workers = min(len(jobs), os.cpu_count() or 1)
    # A fork would copy the engine's threads half-alive, so each worker starts afresh.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        waiting: dict[Future[float], Job] = {
            pool.submit(done, job, job.path(folder, code)): job for job in jobs
        }
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            # To wait matters: leaving the block shuts down once more, and would take the cancelling back.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def _bar(console: Console, total: int) -> Iterator[Callable[[str, float], None]]:
    """Show a bar on a terminal; elsewhere, a line now and then."""
    if not console.is_terminal:
        count = 0

        def say(name: str, seconds: float) -> None:
            nonlocal count
            count += 1
            if count % 25 == 0 or count == total:
                console.print(f"{count} of {total} done; last {name} ({seconds:.1f} s)", highlight=False)

        yield say
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=total)
        yield lambda name, _: progress.update(task, advance=1, description=name)


def collect(jobs: Sequence[Job], folder: Path, code: str, prefix: str = "") -> dict[str, pyarrow.Table]:
    """Return the results of each experiment as one table, and write it beside the report."""
    parts: dict[str, list[pyarrow.Table]] = {}
    for job in jobs:
        found = kept(job, folder, code)
        assert found is not None  # noqa: S101  (all jobs are done)
        parts.setdefault(job.experiment, []).append(found)
    tables = {}
    for name, tables_of_jobs in parts.items():
        tables[name] = pyarrow.concat_tables(tables_of_jobs, promote_options="default")
        pyarrow.parquet.write_table(tables[name], folder / f"{prefix}{name}.parquet", compression="zstd")
    return tables
