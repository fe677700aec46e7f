"""What every method is asked: a question about a data set under a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow
from numpy.typing import NDArray

import prdp
from experiments.datasets import LARGEST, DataSet
from experiments.yardsticks import Floats
from prdp.plan.queries import Query

Question = Literal["count", "sum", "max"]

GREATEST_BUDGET = 100
"""The paper's largest budget, whatever the policy."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A policy of the paper, as the library reads it and as NumPy computes it for the baselines.

    Attributes:
        expression: As the library reads it.
        budgets: As NumPy computes it.
        lowest: The public least value, from which on budgets fall.
    """

    expression: str
    budgets: Callable[[Floats], Floats]
    lowest: int = 0


POLICIES = {
    "inverse": PolicyRule("10000 / v", lambda v: 10_000 / v),
    "log": PolicyRule("500 / power(ln(v), 4)", lambda v: 500 / np.log(v) ** 4, lowest=2),
    "sqrt": PolicyRule("8 / sqrt(v)", lambda v: 8 / np.sqrt(v)),
}
"""The paper's three; its log is taken to be the natural one, which it does not say."""

QUERIES: dict[Question, Query] = {"count": prdp.count(), "sum": prdp.sum("v"), "max": prdp.max("v")}


@dataclass(frozen=True)
class Problem:
    """A question about one column of whole values up to ``largest``, each a record of its own.

    Attributes:
        data: The values; those above ``largest`` are taken to be ``largest``.
        policy: A name in ``POLICIES``.
        question: What is asked.
        largest: The public largest value, U in the paper.
        factor: What every budget is multiplied by.
    """

    data: DataSet
    policy: str = "inverse"
    question: Question = "sum"
    largest: int = LARGEST
    factor: Fraction = Fraction(1)

    @cached_property
    def values(self) -> NDArray[np.int64]:
        """The values, none above the public largest."""
        return np.minimum(self.data.values, self.largest)

    @cached_property
    def budgets(self) -> Floats:
        """The budget of each record."""
        return np.minimum(self._computed(self.values.astype(float)), GREATEST_BUDGET)

    @property
    def least(self) -> float:
        """The public least budget: that of the largest value."""
        return float(self._computed(np.array([float(self.largest)]))[0])

    @property
    def greatest(self) -> float:
        """The public greatest budget."""
        return float(GREATEST_BUDGET)

    @property
    def weights(self) -> Floats:
        """What each record adds to a count or a sum."""
        return np.ones(self.values.size) if self.question == "count" else self.values.astype(float)

    @cached_property
    def truth(self) -> float:
        """The answer itself."""
        return float(self.values.max() if self.question == "max" else self.weights.sum())

    @cached_property
    def table(self) -> prdp.Table:
        """The set, opened by the library as what it is: public, or made up."""
        return prdp.open(
            pyarrow.table({"v": self.values}),
            policy=prdp.Policy(self.expression, at_most=GREATEST_BUDGET),
            bounds={"v": (POLICIES[self.policy].lowest, self.largest)},
            name=self.data.name,
            synthetic=True,
        )

    @property
    def expression(self) -> str:
        """The policy, as the library takes it."""
        plain = POLICIES[self.policy].expression
        return plain if self.factor == 1 else f"{float(self.factor)!r} * ({plain})"

    @property
    def query(self) -> Query:
        """The question, as the library takes it."""
        return QUERIES[self.question]

    def _computed(self, values: Floats) -> Floats:
        return float(self.factor) * POLICIES[self.policy].budgets(values)

    def errors(self, answers: Floats) -> Floats:
        """Return relative errors in percent; for a maximum, the part of the records above the answer."""
        if self.question == "max":
            ordered = np.sort(self.values)
            above = ordered.size - np.searchsorted(ordered, answers, side="right")
            return np.asarray(100.0 * above / ordered.size)
        return np.asarray(100 * np.abs(answers - self.truth) / self.truth)
