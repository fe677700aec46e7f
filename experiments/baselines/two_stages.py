"""The paper's Algorithms 2, 3 and 4 with every constant a parameter, vectorised over runs.

For the readings of what the paper leaves open: which part of the budget either stage takes, and how much
slack its mechanisms leave. Most of these are not private at E(r); ``Reading.cost`` says what each costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from experiments.problem import Problem
from experiments.yardsticks import Floats

_BETA = 0.1


@dataclass(frozen=True, slots=True)
class Reading:
    """A way to read Algorithm 2.

    Attributes:
        first: The part of the budget with which the kept domain is found.
        rest: The part with which M runs.
        scan: The slack of the sum's scan, in units of ln(2/β) over the scan's own ε, which is half of M's.
        above: The slack of the maximum, in units of ln(U/β) over M's ε.
        share: What every budget is multiplied by before.
    """

    first: Fraction
    rest: Fraction
    scan: int = 6
    above: Fraction = Fraction(2)
    share: Fraction = Fraction(1)

    @property
    def cost(self) -> Fraction:
        """What it costs a record, as a multiple of its budget."""
        return self.share * (self.first + self.rest)


def domains_of(budgets: Floats, least: float, greatest: float) -> tuple[NDArray[np.int64], Floats]:
    """Return the domain of each budget, from 0, and every domain's lower end."""
    number = max(1, math.ceil(math.log2(greatest / least)))
    places = np.clip(np.ceil(np.log2(budgets / least)), 1, number).astype(np.int64) - 1
    return places, np.ldexp(least, np.arange(number))


def first_heavy(counts: Floats, noises: Floats, thresholds: Floats) -> NDArray[np.int64]:
    """Return the first domain whose noisy count reaches its threshold, or the last, for each run."""
    heavy = counts + noises >= thresholds
    heavy[:, -1] = True
    return np.asarray(heavy.argmax(axis=1), np.int64)


def kept_domains(
    problem: Problem, reading: Reading, runs: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Return the domain that the first stage keeps, for each run."""
    places, floors = domains_of(problem.budgets, problem.least, problem.greatest)
    counts = np.bincount(places, minlength=floors.size).astype(float)
    scales = 1 / (float(reading.share * reading.first) * floors)
    noises = random.laplace(0, 1, (runs, floors.size)) * scales
    return first_heavy(counts, noises, scales * math.log(2 * floors.size / _BETA))


def answers(
    problem: Problem, reading: Reading, runs: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return answers, and what the dropped records are of the sum in percent, for each run."""
    places, floors = domains_of(problem.budgets, problem.least, problem.greatest)
    first = kept_domains(problem, reading, runs, random)
    found, dropped = np.empty(runs), np.empty(runs)
    total = float(problem.values.sum())
    for domain in np.unique(first):
        at = np.flatnonzero(first == domain)
        kept = np.sort(problem.values[places >= domain])
        epsilon = float(reading.share * reading.rest) * float(floors[domain])
        base = Base(kept, problem.largest, epsilon, reading)
        draw = base.sums if problem.question == "sum" else base.maxima
        found[at] = draw(at.size, random)
        dropped[at] = 100 * (1 - float(kept.sum()) / total)
    return found, dropped


@dataclass(frozen=True, slots=True)
class Base:
    """The mechanisms that are run on what is kept.

    Attributes:
        kept: The kept values, ascending.
        largest: The public largest value.
        epsilon: What they may cost.
        reading: Their slacks.
    """

    kept: NDArray[np.int64]
    largest: int
    epsilon: float
    reading: Reading

    def sums(self, runs: int, random: np.random.Generator) -> Floats:
        """Return the total clipped at the first power of two that few records exceed."""
        kept, half = self.kept, self.epsilon / 2
        radii = 2 ** np.arange((self.largest - 1).bit_length() + 1)
        above = kept.size - np.searchsorted(kept, radii, side="right")
        totals = np.array([float(np.minimum(kept, radius).sum()) for radius in radii])
        thresholds = self.reading.scan / half * math.log(4 / _BETA) + random.laplace(0, 2 / half, runs)
        few = above + random.laplace(0, 2 / half, (runs, radii.size)) <= thresholds[:, None]
        few[:, -1] = True
        chosen = few.argmax(axis=1)
        return np.asarray(totals[chosen] + random.laplace(0, 1 / half, runs) * radii[chosen])

    def maxima(self, runs: int, random: np.random.Generator) -> Floats:
        """Return a value that about a slack of records exceed, by the exponential mechanism on all values."""
        slack = float(self.reading.above) / self.epsilon * math.log(2 * (self.largest + 1) / _BETA)
        firsts, lasts, weights = value_law(self.kept, self.largest, self.epsilon, slack)
        parts = np.exp(weights - weights.max())
        chosen = random.choice(parts.size, runs, p=parts / parts.sum())
        inside = np.floor(random.random(runs) * (lasts[chosen] - firsts[chosen] + 1))
        return np.asarray(firsts[chosen] + inside)


def value_law(
    kept: NDArray[np.int64], largest: int, epsilon: float, slack: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return runs of values with one penalty: first and last value, and the logarithm of the weight."""
    edges = np.unique(np.concatenate([[0, 1, largest + 1], kept, kept + 1]))
    firsts, afters = edges[:-1], edges[1:]
    above = kept.size - np.searchsorted(kept, firsts, side="right")
    from_here = (kept.size - np.searchsorted(kept, firsts, side="left")).astype(float)
    from_here[0] = math.inf
    penalties = np.maximum(0, np.maximum(above - slack, slack - from_here))
    return firsts, afters - 1, np.log(afters - firsts) - epsilon / 2 * penalties


def local_counts(
    problem: Problem, multiple: float, runs: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return Algorithms 3 and 4's counts with the threshold c·√n/ε_i, and the kept domain, for each run."""
    places, floors = domains_of(problem.budgets, problem.least, problem.greatest)
    counts = np.bincount(places, minlength=floors.size).astype(float)
    return local_counts_of(counts, floors, multiple, runs, random)


def local_counts_of(
    counts: Floats, floors: Floats, multiple: float, runs: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the same from the number of clients in each domain.

    The noise of n clients is drawn at once: the difference of two gamma variables of shape n.
    """
    clients = float(counts.sum())
    up, down = (random.gamma(clients, 1, (runs, floors.size)) for _ in range(2))
    noises = (up - down) / floors
    first = first_heavy(counts, noises, multiple * math.sqrt(clients) / floors)
    taken = np.arange(floors.size) >= first[:, None]
    return ((counts + noises) * taken).sum(axis=1), first.astype(float)


def scan_runs_on(scan: int) -> float:
    """Return how often the sum's scan goes on although no record is left above, by its noise alone.

    With t the slack in units of the noise, Pr[Lap - Lap > t] = (2 + t) e^-t / 4.
    """
    slack = scan * math.log(4 / _BETA) / 2
    return (2 + slack) * math.exp(-slack) / 4
