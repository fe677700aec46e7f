"""Reading results: the runs of each combination of labels, and the facts of their errors."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow

from experiments.paper.job import Label
from experiments.yardsticks import Floats, trimmed


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A figure of all runs, and the least and the greatest that it is for the runs of one seed."""

    value: float
    least: float
    greatest: float

    @classmethod
    def of(cls, runs: Floats, seeds: Floats, figure: Callable[[Floats], float]) -> OverSeeds:
        """Compute a figure of all runs together and of those of each seed."""
        each = [float(figure(runs[seeds == seed])) for seed in np.unique(seeds)]
        return cls(float(figure(runs)), min(each), max(each))


@dataclass(frozen=True, slots=True)
class Measures:
    """The paper's trimmed mean with its standard error, and what trimming hides."""

    trimmed: float
    standard_error: float
    median: float
    p90: OverSeeds
    p99: OverSeeds
    mean: OverSeeds

    @classmethod
    def of(cls, errors: Floats, seeds: Floats, trim: float = 0.2) -> Measures:
        """Measure errors.

        Args:
            errors: One for each run.
            seeds: Which seed drew each run.
            trim: The part left out at each end of the trimmed mean.
        """
        middle, error = trimmed(errors, trim)
        tails = (percentile(90), percentile(99), np.mean)
        p90, p99, mean = (OverSeeds.of(errors, seeds, figure) for figure in tails)
        return cls(middle, error, float(np.median(errors)), p90, p99, mean)


def percentile(percent: int) -> Callable[[Floats], float]:
    """Return the function that computes a percentile."""
    return lambda runs: float(np.quantile(runs, percent / 100))


def grouped(
    results: pyarrow.Table, by: tuple[str, ...], column: str = "error"
) -> dict[tuple[Label, ...], Floats]:
    """Return a column's values for each combination of labels, all in the order of the results."""
    codes = np.zeros(results.num_rows, np.int64)
    for name in by:
        labels = results[name].combine_chunks().dictionary_encode()
        codes = codes * len(labels.dictionary) + labels.indices.to_numpy()
    _, firsts, groups = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    values = np.asarray(results[column].to_numpy(), float)
    named = results.select(by).take(firsts).to_pylist()
    found = sorted(zip(firsts, named, parts, strict=True), key=lambda group: group[0])
    return {tuple(labels.values()): values[part] for _, labels, part in found}


def measured(
    results: pyarrow.Table, by: tuple[str, ...], column: str = "error", trim: float = 0.2
) -> Mapping[tuple[Label, ...], Measures]:
    """Measure a column for each combination of labels; a column ``seed`` says which seed drew each run."""
    errors = grouped(results, by, column)
    several = "seed" in results.column_names
    seeds = grouped(results, by, "seed") if several else {key: np.zeros(e.size) for key, e in errors.items()}
    return {key: Measures.of(values, seeds[key], trim) for key, values in errors.items()}


_DRAWS = 4000


@dataclass(frozen=True, slots=True)
class Band:
    """Where a printed figure lies among means of as many runs as the paper made.

    Attributes:
        low: The 2.5th percentile of those means.
        high: The 97.5th.
        place: The percentile at which the printed figure lies.
    """

    low: float
    high: float
    place: float

    @property
    def inside(self) -> bool:
        """Whether the figure lies in the middle 95 %."""
        return 2.5 <= self.place <= 97.5

    @classmethod
    def of(cls, errors: Floats, printed: float, runs: int = 50, trim: float = 0.2) -> Band:
        """Draw trimmed means of so many runs from measured errors, by a seed of their own."""
        random = np.random.default_rng(errors.size)
        ordered = np.sort(random.choice(errors, (_DRAWS, runs)), axis=1)
        cut = int(trim * runs)
        means = ordered[:, cut : runs - cut].mean(axis=1)
        low, high = np.quantile(means, (0.025, 0.975))
        return cls(float(low), float(high), 100 * float(np.mean(means <= printed)))


def ratio(error: float, other: float) -> float:
    """Return one error as a multiple of another; NaN where the other is 0."""
    return error / other if other else math.nan


SUMMARY = ("experiment", "labels", "runs", "trimmed", "standard_error", "median", "p90", "p99", "mean")


def as_csv(results: Mapping[str, pyarrow.Table], trims: Mapping[str, float]) -> str:
    """Return a line for each combination of labels of each experiment that measures errors.

    Args:
        results: By experiment.
        trims: The part left out at each end of the trimmed mean, where it is not a fifth.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(SUMMARY)
    for name, table in results.items():
        if "error" not in table.column_names or "run" not in table.column_names:
            continue
        labels = tuple(c for c in table.column_names[: table.column_names.index("run")] if c != "seed")
        for key, errors in grouped(table, labels).items():
            if (kept := errors[np.isfinite(errors)]).size:
                writer.writerow(
                    (
                        name,
                        " | ".join(map(str, key)),
                        kept.size,
                        *map(_short, _figures(kept, trims.get(name, 0.2))),
                    )
                )
    return out.getvalue()


def _figures(errors: Floats, trim: float) -> tuple[float, ...]:
    middle, error = trimmed(errors, trim)
    p90, p99 = np.quantile(errors, (0.9, 0.99))
    return middle, error, float(np.median(errors)), float(p90), float(p99), float(errors.mean())


def _short(figure: float) -> str:
    return f"{figure:.6g}"
