"""Algorithms 1 and 2 on a stream: one tree for each domain, and a restart where ε_τ falls.

``python -m experiments.open_problems.streams`` prints errors after every step beside those of a table that
is still. Noise is floating and seeded: for experiments alone.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from experiments.baselines.two_stages import domains_of
from experiments.datasets import normal
from experiments.problem import Problem
from experiments.yardsticks import Floats, trimmed

BETA = 0.1


def tree_noise(steps: int, random: np.random.Generator) -> Floats:
    """Return the noise of a binary tree's prefix sums, in units of the noise of a node.

    Every node has noise of its own; the prefix up to step t adds the nodes of t's binary digits.
    """
    nodes: dict[tuple[int, int], float] = {}
    found = np.zeros(steps)
    for step in range(1, steps + 1):
        place, total = 0, 0.0
        for level in reversed(range(steps.bit_length())):
            if step >> level & 1:
                node = (level, place)
                if node not in nodes:
                    nodes[node] = float(random.laplace())
                total += nodes[node]
                place += 1 << level
        found[step - 1] = total
    return found


def node_scale(steps: int) -> int:
    """Return how many nodes of the tree a record is in, at most."""
    return steps.bit_length()


@dataclass(frozen=True, slots=True)
class Stream:
    """Records that arrive in steps.

    Attributes:
        problem: The records and their policy.
        arrives: The step of each record, from 0.
        steps: How many there are.
    """

    problem: Problem
    arrives: NDArray[np.int64]
    steps: int

    @property
    def floors(self) -> Floats:
        """The least budget of each domain."""
        return domains_of(self.problem.budgets, self.problem.least, self.problem.greatest)[1]

    def totals(self, weights: Floats) -> Floats:
        """Return what each domain has come to after each step: a row a step."""
        places, floors = domains_of(self.problem.budgets, self.problem.least, self.problem.greatest)
        cells = np.bincount(self.arrives * floors.size + places, weights, minlength=self.steps * floors.size)
        return np.asarray(np.cumsum(cells.reshape(self.steps, floors.size), axis=0))


def heavy_from(noisy: Floats, scales: Floats, per_step: float) -> NDArray[np.int64]:
    """Return the first heavy domain after each step; it never rises again, so that ε_τ only falls."""
    heavy = noisy >= scales * math.log(noisy.shape[1] / per_step)
    heavy[:, -1] = True
    return np.minimum.accumulate(heavy.argmax(axis=1)).astype(np.int64)


def counts(stream: Stream, part: float, random: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Return Algorithm 1's count after each step, and the first heavy domain; costs part · E(r)."""
    true = stream.totals(np.ones(stream.arrives.size))
    scales = node_scale(stream.steps) / (part * stream.floors)
    noise = np.column_stack([tree_noise(stream.steps, random) for _ in scales])
    noisy = true + noise * scales
    # A prefix has the deviation of up to log T nodes: its bar is that of one node times their root.
    first = heavy_from(noisy, scales * math.sqrt(2 * node_scale(stream.steps)), BETA / stream.steps)
    taken = np.arange(scales.size) >= first[:, None]
    return (noisy * taken).sum(axis=1), first


def restarts(first: NDArray[np.int64]) -> list[int]:
    """Return the domains of the instances of M that are started, in order."""
    return list(dict.fromkeys(first.tolist()))


def losses(stream: Stream, first: NDArray[np.int64], part: float) -> Floats:
    """Return what each domain's records lose to all instances of M, over their own least budget.

    An instance at domain ℓ costs part · ε_ℓ, and is run on the domains from ℓ on.
    """
    spent = np.zeros(stream.floors.size)
    for domain in restarts(first):
        spent[domain:] += part * stream.floors[domain]
    return np.asarray(spent / stream.floors)


def sums(stream: Stream, random: np.random.Generator) -> Floats:
    """Return Algorithm 2's sum after each step: half of E(r) for the domains, a quarter of ε_τ an instance.

    M is a tree over values clipped at the largest that the domain's budgets allow, which is public here.
    """
    _, first = counts(stream, 0.5, random)
    values = stream.problem.values.astype(float)
    totals, floors = stream.totals(values), stream.floors
    found = np.empty(stream.steps)
    for domain in restarts(first):
        at = first == domain
        radius = min(1e4 / floors[domain], float(stream.problem.largest))
        noise = tree_noise(stream.steps, random) * radius * node_scale(stream.steps) * 4 / floors[domain]
        found[at] = (totals[:, domain:].sum(axis=1) + noise)[at]
    return found


def errors_of(stream: Stream, answers: Floats) -> Floats:
    """Return the error in percent after each step, of what has arrived by then."""
    true = stream.totals(stream.problem.weights).sum(axis=1)
    return np.asarray(100 * np.abs(answers - true) / true)


def still(problem: Problem, runs: int, random: np.random.Generator) -> float:
    """Return the trimmed error in percent of Algorithm 1 on the whole table at once."""
    places, floors = domains_of(problem.budgets, problem.least, problem.greatest)
    true = np.bincount(places, minlength=floors.size)
    noisy = true + random.laplace(0, 1, (runs, floors.size)) / floors
    heavy = noisy >= math.log(floors.size / BETA) / floors
    heavy[:, -1] = True
    taken = np.arange(floors.size) >= heavy.argmax(axis=1)[:, None]
    return trimmed(problem.errors((noisy * taken).sum(axis=1)))[0]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    random = np.random.default_rng(asked.seed)
    count, total = (Problem(normal("stream", 50_000), question=q) for q in ("count", "sum"))
    print(f"standing still: count {still(count, asked.runs, random):.3g} %")
    for steps in (16, 128, 1024):
        arrives = random.integers(0, steps, count.values.size)
        found: dict[str, list[float]] = {name: [] for name in ("count", "before", "sum", "instances", "loss")}
        for _ in range(asked.runs):
            stream = Stream(count, arrives, steps)
            answers, first = counts(stream, 1.0, random)
            # The last step is a power of two and reads one node; the step before reads the most of all.
            *_, most, last = errors_of(stream, answers)
            found["count"].append(last)
            found["before"].append(most)
            summed = Stream(total, arrives, steps)
            found["sum"].append(errors_of(summed, sums(summed, random))[-1])
            found["instances"].append(len(restarts(first)))
            found["loss"].append(losses(stream, first, 0.25).max())
        anew = Problem(count.data, question="count", factor=Fraction(1, steps))
        naive = still(anew, asked.runs, random)
        print(
            f"{steps} steps: count {trimmed(np.array(found['count']))[0]:.3g} %, "
            f"a step before {trimmed(np.array(found['before']))[0]:.3g} %, "
            f"asked anew at E/{steps}: {naive:.3g} %, sum {trimmed(np.array(found['sum']))[0]:.3g} %, "
            f"instances of M {np.mean(found['instances']):.2g} (most {max(found['instances'])}), "
            f"their loss at most {max(found['loss']):.3g} of E"
        )


if __name__ == "__main__":
    main()
