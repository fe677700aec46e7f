"""The ways to count clients that are compared, and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

import prdp
from experiments.datasets import LARGEST
from experiments.problem import GREATEST_BUDGET, POLICIES
from experiments.yardsticks import Floats
from prdp.local import CountStudy, Crowd, Study, simulate

LEAST_BUDGET = Fraction(10_000, LARGEST)
POLICY = prdp.Policy(POLICIES["inverse"].expression, at_least=LEAST_BUDGET, at_most=GREATEST_BUDGET)
BASICS: dict[str, Any] = {"name": "experiment", "policy": POLICY, "share": "1"}

PRINTED = "as printed (Algorithms 3, 4)"
DEFAULT = "bits, exact threshold (default)"
EXACT_LAPLACE = "laplace, exact threshold"
NAIVE = "naive, at the least budget"

COUNTS: Mapping[str, Study] = {
    DEFAULT: CountStudy(**BASICS),
    "two rounds, proportional": CountStudy(**BASICS, proportional=True),
    PRINTED: CountStudy(**BASICS, noise="laplace", threshold="paper"),
    "bits, printed threshold": CountStudy(**BASICS, threshold="paper"),
    EXACT_LAPLACE: CountStudy(**BASICS, noise="laplace"),
    NAIVE: CountStudy(
        name="naive", policy=prdp.Policy.constant(LEAST_BUDGET), share="1", noise="laplace", threshold="paper"
    ),
}


def errors(study: Study, crowd: Crowd, truth: float, runs: int, seed: int) -> Floats:
    """Return relative errors in percent."""
    estimates = simulate(study, crowd, runs=runs, seed=seed)
    return np.array([100 * abs(estimate.value - truth) / truth for estimate in estimates])
