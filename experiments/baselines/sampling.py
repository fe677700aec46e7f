"""The sampling mechanism (Jorgensen, Yu and Cormode, 2015) at a public threshold t.

A record is kept with probability 1 if E(r) ≥ t, else (e^E(r) - 1)/(e^t - 1), and an ordinary t-DP mechanism
answers from the kept ones: a count with Laplace noise, the universal sum, the inverse-sensitivity maximum.

Why it is E-PrDP: let r be kept with probability p < 1, whatever becomes of the others. An output's
probability with r is at most p e^t + 1 - p = e^E(r) times that without r, and at least p e^-t + 1 - p =
1 - (e^E(r) - 1) e^-t ≥ e^-E(r) times it, because E(r) ≤ t.

As published, t is the largest or the mean budget *of the data*, which loses without bound: an output's
probability shows t. Here t is fixed before. Which one suits, only the data would tell.

Simulated: the records of a range of values (64 an octave) are kept by one binomial draw at their mean
probability, and a kept one adds their mean value. That is exact where a range is one value, and else
changes the variance of the kept sum by about one part in 10⁴.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.baselines.universal import Ranges, choose_largest, clipped_sums, read
from experiments.method import Method, seeded
from experiments.problem import Problem, Question
from experiments.yardsticks import Floats

_AT_ONCE = 500
"""Runs that are held in memory together."""


def kept_probabilities(budgets: Floats, threshold: float) -> Floats:
    """Return the probability with which each record is kept."""
    return np.asarray(np.expm1(np.minimum(budgets, threshold)) / np.expm1(threshold))


def mean_probabilities(
    ranges: Ranges, places: NDArray[np.int64], counts: Floats, probabilities: Floats
) -> Floats:
    """Return the mean probability of the records in each range; 0 where there are none."""
    return np.minimum(1.0, ranges.totals(places, probabilities) / np.maximum(counts, 1))


def sampling(threshold: float) -> Method:
    """Return the mechanism at a threshold."""
    name = f"sampling at t = {threshold:g}"

    def answers(problem: Problem, runs: int, seed: int) -> Floats:
        random = seeded(problem, seed, name)
        ranges, places, counts, sums = read(problem)
        means = sums / np.maximum(counts, 1)
        kept = mean_probabilities(ranges, places, counts, kept_probabilities(problem.budgets, threshold))
        drawn = []
        for start in range(0, runs, _AT_ONCE):
            size = min(_AT_ONCE, runs - start)
            chosen = random.binomial(counts.astype(np.int64), kept, (size, counts.size)).astype(float)
            drawn.append(_base(problem.question, ranges, chosen, means, epsilon=threshold, random=random))
        return np.concatenate(drawn)

    note = f"Keeps a record of budget E with probability (e^E - 1)/(e^{threshold:g} - 1), then ordinary DP."
    return Method(name, "baseline", ("count", "sum", "max"), answers, note)


def _base(
    question: Question,
    ranges: Ranges,
    chosen: Floats,
    means: Floats,
    *,
    epsilon: float,
    random: np.random.Generator,
) -> Floats:
    """Answer from the kept records, one row of counts a run."""
    if question == "count":
        return np.asarray(chosen.sum(axis=1) + random.laplace(0, 1 / epsilon, chosen.shape[0]))
    if question == "max":
        return choose_largest(ranges, chosen, epsilon, random)
    counts, sums = ranges.by_octave(chosen), ranges.by_octave(chosen * means)
    return clipped_sums(counts, sums, epsilon, random)


SAMPLING = (sampling(0.1), sampling(1.0))
