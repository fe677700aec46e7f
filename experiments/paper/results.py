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
    """Return a column's values for each combination of labels, in the order of the runs."""
    keys = list(zip(*(results[name].to_pylist() for name in by), strict=True))
    values = results[column].to_numpy()
    places: dict[tuple[Label, ...], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return {key: np.asarray(values[found], float) for key, found in places.items()}


def measured(
    results: pyarrow.Table, by: tuple[str, ...], column: str = "error", trim: float = 0.2
) -> Mapping[tuple[Label, ...], Measures]:
    """Measure a column for each combination of labels."""
    return {key: Measures.of(values, trim) for key, values in grouped(results, by, column).items()}
