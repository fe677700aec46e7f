"""What an experiment is: a config, the jobs to do, and the section of the report they make."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow

from experiments.datasets import can_be_had, why_missing
from experiments.paper.job import Job
from experiments.paper.report.parts import Section

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What is the same for all experiments of a run."""

    data: Path | None
    seed: int
    quick: bool

    def present(self, names: Sequence[str]) -> list[str]:
        """Return the sets that can be had."""
        return [name for name in names if can_be_had(name, self.data)]

    def absent(self, names: Sequence[str]) -> list[str]:
        """Say of each set that can't be had why."""
        return [why_missing(name, self.data) for name in names if not can_be_had(name, self.data)]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A config in ``experiments.paper``, and the module that makes jobs and a section of it.

    Attributes:
        name: That of its TOML file.
        jobs: The work to do.
        section: The section of the report, from the results of all jobs.
        repeatable: Whether the same seed gives the same results. If not, its jobs run alone, one after the
            other, so that times are right, and its section stands on a page of its own.
    """

    name: str
    jobs: Callable[[Config, Context], list[Job]]
    section: Callable[[Config, Context, pyarrow.Table], Section]
    repeatable: bool = True

    def config(self, *, quick: bool) -> Config:
        """Read the config; for a quick run, what stands under [quick] replaces the rest."""
        path = Path(__file__).with_name(f"{self.name}.toml")
        config = tomllib.loads(path.read_text(encoding="utf-8"))
        shorter = config.pop("quick", {})
        return {"name": self.name, **config, **(shorter if quick else {})}
