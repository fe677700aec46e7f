"""Reading results: the errors of a job by its labels, measured."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow

from experiments.paper.job import Label
from experiments.paper.measures import Measures
from experiments.yardsticks import Floats


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
