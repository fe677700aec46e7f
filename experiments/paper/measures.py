"""What is said of the errors of many runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
