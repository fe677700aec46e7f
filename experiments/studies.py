"""The studies among clients that are compared, counts and sums, and their errors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prdp
from experiments.datasets import LARGEST
from experiments.problem import GREATEST_BUDGET, POLICIES
from experiments.yardsticks import Floats
from prdp.cells.measure import Measure
from prdp.local import CountStudy, Crowd, Study, SumStudy, simulate

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

MEASURE = Measure("v", Fraction(1), 0, LARGEST)
SUMS: Mapping[str, Study] = {
    "one round, by ratio": SumStudy(**BASICS, measure=MEASURE, method="ratio"),
    "two rounds, proportional": SumStudy(**BASICS, measure=MEASURE, method="proportional"),
    "framework, LDP sum": SumStudy(**BASICS, measure=MEASURE, method="framework"),
}
QUARTER = CountStudy(name="quarter", policy=prdp.Policy.constant("1/4"), share="1")
ONE: dict[str, Any] = {"name": "one", "policy": prdp.Policy.constant(1), "share": "1", "measure": MEASURE}
COUNT_WAYS: Mapping[str, Study] = {
    "10000 / v, bits": COUNTS[DEFAULT],
    "10000 / v, printed": COUNTS[PRINTED],
    "1/4 for all, bits": QUARTER,
}
SUM_WAYS: Mapping[str, Study] = {
    "10000 / v, two rounds": SUMS["two rounds, proportional"],
    "1 for all, two rounds": SumStudy(**ONE, method="proportional"),
    "1 for all, framework": SumStudy(**ONE, method="framework"),
}


def errors(study: Study, crowd: Crowd, truth: float, runs: int, seed: int) -> Floats:
    """Return relative errors in percent."""
    estimates = simulate(study, crowd, runs=runs, seed=seed)
    return np.array([100 * abs(estimate.value - truth) / truth for estimate in estimates])


def errors_among(
    values: NDArray[np.int64], query: str, study: Study, runs: int, seed: int
) -> tuple[Floats, float]:
    """Return relative errors in percent for clients with these values, and the truth."""
    truth = float(values.size if query == "count" else values.sum())
    return errors(study, Crowd.of({"v": values}, study.policy), truth, runs, seed), truth
