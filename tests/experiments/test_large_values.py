"""The largest values of the figures, 10^16, fit everywhere: their sum is far above 64 bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from experiments.datasets import DataSet
from experiments.method import Method
from experiments.methods import METHODS
from experiments.problem import Problem

LARGEST = 10**16
SUMMING = [m for m in METHODS if m.role in ("ours", "paper") and "sum" in m.questions]


@pytest.mark.parametrize("method", SUMMING, ids=lambda method: method.name)
def test_a_sum_of_many_values_of_ten_to_the_sixteen_does_not_overflow(method: Method) -> None:
    values = np.full(200_000, LARGEST)
    budget_of_one = Fraction(10**12)  # times the policy, 10000 / v
    problem = Problem(DataSet("large", values), largest=LARGEST, factor=budget_of_one)
    assert problem.truth == 200_000 * LARGEST > 2**63
    assert np.median(problem.errors(method.answers(problem, 20, 0))) < 1
