"""What an experiment is: a config, the jobs to do, and the section of the report they make."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow

from experiments.datasets import SETS, can_be_had, why_missing
from experiments.method import Method
from experiments.methods import METHODS
from experiments.paper.job import Job
from experiments.paper.report.parts import Section
from experiments.paper.seeds import seeds_of

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What is the same for all experiments of a run.

    Attributes:
        data: The folder with the real sets.
        seed: Of the noise.
        quick: Whether it is a run to see that everything works.
        asked: The sets asked for; none means that each experiment has those that it is made for.
        methods: The methods that are compared; the default is always among them.
    """

    data: Path | None
    seed: int
    quick: bool
    asked: tuple[str, ...] = ()
    methods: tuple[Method, ...] = METHODS

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets asked for, or else all."""
        return self.asked or tuple(SETS)

    def sets_of(self, config: Config) -> list[str]:
        """Return the sets of an experiment: those asked for, or else all that it does not leave out."""
        kept = (name for name in SETS if SETS[name].quick or not self.quick)
        left_out = config.get("left_out", ())
        return list(self.asked) or [name for name in kept if name not in left_out]

    def seeds(self, data: str, count: int = 1) -> tuple[int, ...]:
        """Return seeds of a set's own, so that no two sets share their noise."""
        return seeds_of(self.seed, data, count)

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
            other, so that times are right, and its section is on a page of its own.
    """

    name: str
    jobs: Callable[[Config, Context], list[Job]]
    section: Callable[[Config, Context, pyarrow.Table], Section]
    repeatable: bool = True

    def config(self, *, quick: bool) -> Config:
        """Read the config; for a quick run, what is under [quick] replaces the rest."""
        return config_of(self.name, quick=quick)


def config_of(name: str, *, quick: bool = False) -> Config:
    """Read an experiment's config, with its name; ``quick`` as for ``Experiment.config``."""
    path = Path(__file__).with_name(f"{name}.toml")
    config = tomllib.loads(path.read_text(encoding="utf-8"))
    shorter = config.pop("quick", {})
    return {"name": name, **config, **(shorter if quick else {})}


def published(question: str) -> dict[str, dict[str, float]]:
    """Return the figures that Table 3 of the paper prints for a question, by method and set."""
    figures: dict[str, dict[str, float]] = config_of("table_3")["published"][question]
    return figures
