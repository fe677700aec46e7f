"""The paper's algorithms and personalised truncation in plain Python over rows: slow twins, for timing.

As printed: one pass over the rows for each domain or threshold, E(r) called for each record, no NumPy. They
are also a check from outside: the library's ``partition``, and its ``framework`` with split 1/2 and beta
1/20 (the paper's β/2 for either step), must have the same errors. Not for large tables.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np

from experiments.datasets import CUT
from experiments.method import Method
from experiments.problem import GREATEST_BUDGET, Problem
from experiments.yardsticks import Floats

BETA = 0.1

Budget = Callable[[int], float]
Rows = Sequence[int]

BUDGETS: dict[str, Budget] = {
    "inverse": lambda v: min(GREATEST_BUDGET, 10_000 / v),
    "log": lambda v: min(GREATEST_BUDGET, 500 / math.log(v) ** 4),
    "sqrt": lambda v: min(GREATEST_BUDGET, 8 / math.sqrt(v)),
}
"""The policies of ``experiments.problem`` as plain functions; each falls when the value grows."""


@dataclass(frozen=True, slots=True)
class Universe:
    """What is public: E, its range ε̌ to ε̂, and the largest value."""

    budget: Budget
    least: float
    greatest: float
    largest: int

    @property
    def domains(self) -> int:
        """The number of privacy-specified domains, ⌈log₂(ε̂/ε̌)⌉."""
        return max(1, math.ceil(math.log2(self.greatest / self.least)))

    def floor(self, domain: int) -> float:
        """The least budget of domain 1, 2, ...: 2^(i - 1) ε̌."""
        return math.ldexp(self.least, domain - 1)

    def ends(self, domain: int) -> tuple[float, float]:
        """Return what a domain's budgets are above, and what they are at most; the first is closed."""
        low = self.floor(domain)
        return math.nextafter(low, 0) if domain == 1 else low, min(self.floor(domain + 1), self.greatest)

    def largest_ratio(self, domain: int) -> float:
        """Return max v/E(r) over the records of the universe in a domain; 0 where there are none.

        E falls when v grows, so that it is that of the largest value.
        """
        above, most = self.ends(domain)
        low, high = CUT, self.largest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.budget(middle) > above else (low, middle - 1)
        return low / self.budget(low) if above < self.budget(low) <= most else 0.0


def laplace(random: Random, scale: float) -> float:
    """Draw Laplace noise."""
    return scale * (random.expovariate(1) - random.expovariate(1))


def prdp_count(rows: Rows, universe: Universe, random: Random, beta: float, part: float) -> tuple[int, float]:
    """Return Algorithm 1's ℓ and its count, under ``part`` times E."""
    domains, budget = universe.domains, universe.budget
    noisy = []
    for domain in range(1, domains + 1):
        low, high = universe.ends(domain)
        count = 0
        for v in rows:
            if low < budget(v) <= high:
                count += 1
        noisy.append(count + laplace(random, 1 / (part * universe.floor(domain))))
    first = domains
    for domain in range(1, domains + 1):
        if noisy[domain - 1] >= math.log(domains / beta) / (part * universe.floor(domain)):
            first = domain
            break
    return first, sum(noisy[first - 1 :])


def prdp_sum(rows: Rows, universe: Universe, random: Random, beta: float) -> float:
    """Return the sum of Algorithm 1's extension."""
    domains, budget = universe.domains, universe.budget
    scales = [universe.largest_ratio(domain) for domain in range(1, domains + 1)]
    noisy = []
    for domain in range(1, domains + 1):
        low, high = universe.ends(domain)
        total = 0
        for v in rows:
            if low < budget(v) <= high:
                total += v
        noisy.append(total + laplace(random, scales[domain - 1]))
    first = domains
    for domain in range(1, domains + 1):
        scale = scales[domain - 1]
        if scale > 0 and noisy[domain - 1] >= scale * math.log(domains / beta):
            first = domain
            break
    return sum(noisy[first - 1 :])


Base = Callable[[Rows, Universe, float, float, Random], float]
"""An ε-DP mechanism: from rows, what is public, ε, β and noise to an answer."""


def framework(rows: Rows, universe: Universe, random: Random, beta: float, base: Base) -> float:
    """Return Algorithm 2's answer: half of E finds ε_τ, the base runs at ε_τ/2 on what is kept."""
    first, _ = prdp_count(rows, universe, random, beta / 2, part=0.5)
    above, _ = universe.ends(first)
    kept = [v for v in rows if universe.budget(v) > above]
    return base(kept, universe, universe.floor(first) / 2, beta / 2, random)


def universal_sum(rows: Rows, universe: Universe, epsilon: float, beta: float, random: Random) -> float:
    """Return the total clipped at the first power of two that few records exceed."""
    half = epsilon / 2
    threshold = 6 / half * math.log(2 / beta) + laplace(random, 2 / half)
    exponent, last = 0, (universe.largest - 1).bit_length()
    while exponent < last:
        above = 0
        for v in rows:
            if v > 1 << exponent:
                above += 1
        if above + laplace(random, 2 / half) <= threshold:
            break
        exponent += 1
    radius = 1 << exponent
    total = 0
    for v in rows:
        total += min(v, radius)
    return total + laplace(random, radius / half)


@dataclass(frozen=True, slots=True)
class MaxLaw:
    """The exponential mechanism of a maximum over all values, each run of equal penalty as one.

    Attributes:
        firsts: The least value of each run.
        lasts: The greatest one.
        weights: The logarithm of each run's weight.
    """

    firsts: Rows
    lasts: Rows
    weights: Sequence[float]


def max_law(rows: Rows, low: int, largest: int, epsilon: float, beta: float) -> MaxLaw:
    """Return the law of a value that about a slack of (2/ε) ln(U/β) records exceed: nothing is rounded."""
    slack = 2 / epsilon * math.log((largest - low + 1) / beta)
    ordered = sorted(rows)
    edges = sorted({low, low + 1, largest + 1, *ordered, *(v + 1 for v in ordered)})
    weights = []
    for first, after in pairwise(edges):
        above = len(ordered) - bisect_right(ordered, first)
        from_here = math.inf if first == low else len(ordered) - bisect_left(ordered, first)
        penalty = max(0.0, above - slack, slack - from_here)
        weights.append(math.log(after - first) - epsilon / 2 * penalty)
    return MaxLaw(edges[:-1], [edge - 1 for edge in edges[1:]], weights)


def inverse_sensitivity_max(
    rows: Rows, universe: Universe, epsilon: float, beta: float, random: Random
) -> float:
    """Draw from ``max_law``, by adding Gumbel noise to the weights."""
    law = max_law(rows, CUT, universe.largest, epsilon, beta)
    scores = [weight - math.log(random.expovariate(1)) for weight in law.weights]
    chosen = max(range(len(scores)), key=scores.__getitem__)
    return random.randint(law.firsts[chosen], law.lasts[chosen])


def truncated_count(rows: Rows, universe: Universe, random: Random, beta: float) -> float:
    """Return personalised truncation's count, as published."""
    t, budget = universe.domains, universe.budget
    best = 0.0
    for i in range(t + 1):
        k = math.ldexp(universe.least, i)
        count = 0
        for v in rows:
            if budget(v) > k:
                count += 1
        best = max(best, count + laplace(random, t / k) - t / k * math.log(t / beta))
    return best


def truncated_sum(rows: Rows, universe: Universe, random: Random, beta: float) -> float:
    """Return personalised truncation's sum, as published."""
    t = max(1, math.ceil(math.log2(universe.greatest * universe.largest / universe.least)))
    best, budget, floor = 0.0, universe.budget, math.floor
    for i in range(t + 1):
        point = 2**i / universe.greatest
        total = 0
        for v in rows:
            total += min(v, floor(point * budget(v)))
        best = max(best, total + laplace(random, t * point) - t * point * math.log(t / beta))
    return best


def _algorithm_1(rows: Rows, universe: Universe, question: str, random: Random) -> float:
    if question == "count":
        return prdp_count(rows, universe, random, BETA, part=1)[1]
    return prdp_sum(rows, universe, random, BETA)


def _algorithm_2(rows: Rows, universe: Universe, question: str, random: Random) -> float:
    base = universal_sum if question == "sum" else inverse_sensitivity_max
    return framework(rows, universe, random, BETA, base)


def _truncation(rows: Rows, universe: Universe, question: str, random: Random) -> float:
    return (truncated_count if question == "count" else truncated_sum)(rows, universe, random, BETA)


def _over_rows(
    name: str, once: Callable[[Rows, Universe, str, Random], float]
) -> Callable[[Problem, int, int], Floats]:
    def answers(problem: Problem, runs: int, seed: int) -> Floats:
        random = Random(f"{name}|{problem.data.name}|{problem.policy}|{problem.question}|{seed}")  # noqa: S311
        universe = Universe(BUDGETS[problem.policy], problem.least, problem.greatest, problem.largest)
        rows = problem.values.tolist()
        return np.array([float(once(rows, universe, problem.question, random)) for _ in range(runs)])

    return answers


ROW_TWINS = (
    Method(
        name="Algorithm 1 over rows",
        role="paper",
        questions=("count", "sum"),
        answers=_over_rows("Algorithm 1", _algorithm_1),
        note="The paper's count and its extension to sums, in plain Python, one pass for each domain.",
    ),
    Method(
        name="Algorithm 2 over rows",
        role="paper",
        questions=("sum", "max"),
        answers=_over_rows("Algorithm 2", _algorithm_2),
        note="The paper's framework in plain Python: split 1/2, universal sum, inverse-sensitivity maximum.",
    ),
    Method(
        name="personalised truncation over rows",
        role="baseline",
        questions=("count", "sum"),
        answers=_over_rows("truncation", _truncation),
        note="Personalised truncation as published, in plain Python, one pass for each threshold.",
    ),
)
