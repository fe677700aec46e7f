"""A piece of work that can be done on its own, kept in a file, and not done again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from experiments.yardsticks import Floats

Label = str | int | float
Columns = Mapping[str, Floats]
Work = Callable[..., Columns]

ROOT = Path(__file__).parents[2]
SHOWN = "\n# Below: how results are shown. They do not depend on it.\n"
"""The line that ends the part of an experiment's module that its results depend on."""


@dataclass(frozen=True, slots=True)
class Job:
    """Some runs of one method on one problem.

    Attributes:
        experiment: The experiment that it belongs to.
        labels: What tells it from the experiment's other jobs, as columns of the results.
        work: A function of a module, so that another process can call it; gives one number for each run
            and column.
        arguments: What it is called with.
    """

    experiment: str
    labels: tuple[tuple[str, Label], ...]
    work: Work
    arguments: tuple[object, ...]

    def __str__(self) -> str:
        return f"{self.experiment}: " + ", ".join(str(value) for _, value in self.labels)

    def path(self, folder: Path, code: str) -> Path:
        """Return where its results are kept: another file for other arguments, other code or other data."""
        reported = [repr(argument) for argument in self.arguments if not isinstance(argument, Path)]
        asked = json.dumps([code, self.labels, reported])
        digest = hashlib.sha256(asked.encode()).hexdigest()[:20]
        return folder / "jobs" / self.experiment / f"{digest}.parquet"


def digest_of(data: Path | None) -> str:
    """Return a digest of all that results depend on: the library's and the experiments' code, and the data.

    How results are shown is left out: the folder ``report``, and what is below ``SHOWN`` in a module.
    """
    digest = hashlib.sha256()
    for path in sorted(data.glob("*.parquet")) if data else ():
        digest.update(path.name.encode() + path.read_bytes())
    for folder in ("src/prdp", "experiments"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "report" not in path.parts:
                working = path.read_text(encoding="utf-8").partition(SHOWN)[0]
                digest.update(str(path.relative_to(ROOT)).encode() + working.encode())
    return digest.hexdigest()


def kept(job: Job, folder: Path, code: str) -> pyarrow.Table | None:
    """Return a job's results, or None where they are not there or can't be read."""
    try:
        return pyarrow.parquet.read_table(job.path(folder, code))
    except (OSError, pyarrow.ArrowInvalid):
        return None


def done(job: Job, path: Path) -> float:
    """Do a job, keep its results, and return how long it took in seconds.

    The file is moved to its place when it is whole, so that an interrupted run leaves no half of one.
    """
    start = time.perf_counter()
    columns = job.work(*job.arguments)
    seconds = time.perf_counter() - start
    runs = len(next(iter(columns.values())))
    labels = {name: [value] * runs for name, value in job.labels}
    table = pyarrow.table({**labels, "run": np.arange(runs), **columns})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    pyarrow.parquet.write_table(table, part, compression="zstd")
    part.replace(path)
    return seconds
