"""Reading results: the runs of each combination of labels, and what is said of their errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow

from experiments.paper.job import Label
from experiments.yardsticks import Floats, trimmed


@dataclass(frozen=True, slots=True)
class Measures:
    """The paper's trimmed mean with its standard error, and what trimming hides."""

    runs: int
    trimmed: float
    standard_error: float
    median: float
    p90: float
    p99: float
    mean: float

    @classmethod
    def of(cls, errors: Floats, trim: float = 0.2) -> Measures:
        """Measure errors; ``trim`` is the part left out at each end of the trimmed mean."""
        middle, error = trimmed(errors, trim)
        median, p90, p99 = (float(np.quantile(errors, part)) for part in (0.5, 0.9, 0.99))
        return cls(errors.size, middle, error, median, p90, p99, float(errors.mean()))


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
    """Measure a column for each combination of labels."""
    return {key: Measures.of(values, trim) for key, values in grouped(results, by, column).items()}


def ratio(error: float, other: float) -> float:
    """Return one error as a multiple of another; NaN where the other is 0."""
    return error / other if other else math.nan
