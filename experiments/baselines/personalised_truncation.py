"""Personalised truncation (Sun, Dong, Qiu and Yi): what the paper calls the state of the art for PDP.

A race: totals in which each record counts up to a multiple of its budget are released for doubling multiples,
each with its own noise and less what that noise is likely to add; the largest wins. Only ε̌, ε̂ and B (the
least and greatest budget and the largest value) enter besides the records, and they are public here, so
this is a per-record mechanism as it is. (The authors' notebooks take them from the data, which leaks.)

Count, for i = 0, ..., t with t = ⌈log₂(ε̂/ε̌)⌉ and k = 2^i ε̌: the records with E(r) > k.
Sum, for i = 0, ..., t with t = ⌈log₂(ε̂ B/ε̌)⌉: Σ min(v, ⌊2^i E(r)/ε̂⌋).

*With sampling*, a variant for counts by the same authors: release i also counts a record with E(r) ≤ k, with
probability (e^E(r) - 1)/(e^k - 1). Its errors are within 5 % of the paper's Table 3.

*As published* the noise has scale t/k and t 2^i/ε̂, though there are t + 1 releases.

- Count: harmless. r moves only releases with k < E(r), by 1 each, so it loses Σ k/t < 2 E(r)/t.
- Count with sampling: a release costs r up to E(r)/t, so that all of them together cost more than E(r) where
  ε̂ is small. Where it is large, as in the paper, those with k far above 1 cost nothing (computed: README.md).
- Sum: r loses up to (t + 1)/t · E(r), for example where all budgets are equal and v = B is a power of two.

*Mended* is E-PrDP, and not because t became t + 1:

- Count: noise 2/k. r loses Σ_{k < E(r)} k/2, a geometric sum that is less than E(r). Release t, which counts
  nobody, is left out.
- Sum: noise K 2^i/ε̂ with K = min(t + 1, log₂ B + 2). Release i costs r at most min(v ε̂/2^i, E(r)) / K, and
  nothing where 2^i E(r) < ε̂, because of the floor. Let a = log₂(ε̂/E(r)), l = log₂ v, and θ the fractional
  part of a + l: at most l - θ + 1 releases lie from a to a + l and cost E(r)/K each; those above cost less in
  all than 2^θ E(r)/K ≤ (1 + θ) E(r)/K. In all at most (l + 2)/K · E(r), and at most (t + 1)/K · E(r) anyway.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from experiments.baselines.sampling import kept_probabilities, mean_probabilities
from experiments.baselines.universal import Ranges
from experiments.method import Method, seeded
from experiments.problem import Problem
from experiments.yardsticks import Floats

BETA = 0.1
"""The failure rate of the race; the paper's."""


@dataclass(frozen=True, slots=True)
class Race:
    """The public side of a race.

    Attributes:
        points: For a count, the budgets k; for a sum, how much a record may count per unit of its budget.
        scales: Of the Laplace noise.
        tail: How many scales are taken off each total.
    """

    points: Floats
    scales: Floats
    tail: float

    def answers(self, totals: Floats, runs: int, random: np.random.Generator) -> Floats:
        """Return the largest noisy total of each run, at least 0; totals are one row, or one for each run."""
        lifted = random.laplace(0.0, 1.0, (runs, self.points.size)) - self.tail
        return np.asarray(np.maximum(0.0, (totals + self.scales * lifted).max(axis=1)))


def count_race(least: float, greatest: float, *, mended: bool) -> Race:
    """Return the race for a count."""
    t = max(1, math.ceil(math.log2(greatest / least)))
    points = np.ldexp(least, np.arange(t if mended else t + 1))
    return Race(points, (2 if mended else t) / points, math.log(t / BETA))


def sum_race(least: float, greatest: float, largest: float, *, mended: bool) -> Race:
    """Return the race for a sum."""
    t = max(1, math.ceil(math.log2(greatest * largest / least)))
    points = np.ldexp(1 / greatest, np.arange(t + 1))
    rounds = min(t + 1, math.log2(largest) + 2) if mended else t
    return Race(points, rounds * points, math.log((t + 1 if mended else t) / BETA))


def truncated_counts(budgets: Floats, race: Race) -> Floats:
    """Return how many records have a larger budget than each point."""
    ordered = np.sort(budgets)
    return np.asarray(ordered.size - np.searchsorted(ordered, race.points, side="right"), float)


def sampled_counts(problem: Problem, race: Race, runs: int, random: np.random.Generator) -> Floats:
    """Draw how many records with smaller budgets than each point are counted all the same, a row a run.

    Those of a range of values (8 an octave) are drawn together, at their mean probability.
    """
    ranges = Ranges.up_to(problem.largest, per_octave=8)
    places = ranges.places(problem.values)
    columns = []
    for point in race.points.tolist():
        smaller = problem.budgets <= point
        inside = places[smaller]
        counts = ranges.totals(inside)
        chances = mean_probabilities(
            ranges, inside, counts, kept_probabilities(problem.budgets[smaller], point)
        )
        some = counts > 0
        drawn = random.binomial(counts[some].astype(np.int64), chances[some], (runs, int(some.sum())))
        columns.append(drawn.sum(axis=1).astype(float))
    return np.stack(columns, axis=1)


def truncated_sums(values: Floats, budgets: Floats, race: Race) -> Floats:
    """Return Σ min(v, ⌊point · E⌋) for each point.

    In the order of v/E the records that count in full come first: they are a prefix sum.
    """
    ratios = values / budgets
    order = np.argsort(ratios)
    ratios, budgets, values = ratios[order], budgets[order], values[order]
    full = np.concatenate([[0.0], np.cumsum(values)])
    first_cut = np.searchsorted(ratios, race.points, side="right")
    cut = [
        np.floor(point * budgets[first:]).sum()
        for point, first in zip(race.points, first_cut.tolist(), strict=True)
    ]
    return np.asarray(full[first_cut] + np.array(cut))


def _answers(problem: Problem, runs: int, seed: int, *, mended: bool) -> Floats:
    random = seeded(problem, seed, f"personalised truncation, mended: {mended}")
    if problem.question == "count":
        race = count_race(problem.least, problem.greatest, mended=mended)
        return race.answers(truncated_counts(problem.budgets, race), runs, random)
    race = sum_race(problem.least, problem.greatest, problem.largest, mended=mended)
    totals = truncated_sums(problem.values.astype(float), problem.budgets, race)
    return race.answers(totals, runs, random)


def _sampled_answers(problem: Problem, runs: int, seed: int) -> Floats:
    random = seeded(problem, seed, "personalised truncation with sampling")
    race = count_race(problem.least, problem.greatest, mended=False)
    totals = truncated_counts(problem.budgets, race) + sampled_counts(problem, race, runs, random)
    return race.answers(totals, runs, random)


PUBLISHED = Method(
    name="personalised truncation",
    role="baseline",
    questions=("count", "sum"),
    answers=lambda problem, runs, seed: _answers(problem, runs, seed, mended=False),
    note="The paper's SOTA PDP as published: t + 1 releases with noise for t.",
)
SAMPLED = Method(
    name="personalised truncation with sampling",
    role="baseline",
    questions=("count",),
    answers=_sampled_answers,
    note="Its authors' variant that counts some truncated records too; the paper seems to have run it.",
)
MENDED = Method(
    name="personalised truncation, mended",
    role="baseline",
    questions=("count", "sum"),
    answers=lambda problem, runs, seed: _answers(problem, runs, seed, mended=True),
    note="The same race, with as much noise as its promise needs and no more.",
    also=("mended",),
)
