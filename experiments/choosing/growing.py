"""Freeze the rule that chooses between ``additive`` and ``clip``: synthetic sets under policies that grow.

``python -m experiments.choosing.growing``: for each place between the lowest and the highest ratio of value
to budget that a table may end at, how much worse than the better of the two methods the rule's choice is.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

import prdp
from experiments.options import options
from prdp.plan.methods import Options, Rivals, rivals
from prdp.plan.queries import Sum
from prdp.testing import simulate

POLICIES = {
    "1.5 ln(1 + v/100)": "1.5 * ln(1 + v / 100)",
    "3 ln(1 + v/20)": "3 * ln(1 + v / 20)",
    "12 ln(1 + v/1000)": "12 * ln(1 + v / 1000)",
    "sqrt(v) / 10": "sqrt(v) / 10",
    "power(v, 1/4)": "power(v, 0.25)",
    "power(v, 3/4) / 100": "power(v, 0.75) / 100",
    "saturating": "8 * v / (v + 2000)",
}
SHARES = ("1", "1/4", "1/10", "1/100")
HIGHEST = (10**7, 10**10)
PLACES = tuple(place / 20 for place in range(4, 19))
SIZE = 20_000


def sets(seed: int) -> dict[str, NDArray[np.int64]]:
    """Draw values of many kinds: narrow and wide, small and large, with and without a tail."""
    random = np.random.default_rng(seed)
    drawn = {
        "small, wide": np.exp(random.normal(4, 1.5, SIZE)),
        "middling, wide": np.exp(random.normal(8, 2, SIZE)),
        "middling, narrow": random.normal(30_000, 6_000, SIZE),
        "uniform": random.uniform(0, 10**6, SIZE),
        "heavy tail": 500 * random.pareto(1.3, SIZE),
        "mostly small, a few large": np.where(random.random(SIZE) < 0.001, 10**6, 50),
    }
    return {name: np.clip(np.rint(values), 1, 10**7).astype(np.int64) for name, values in drawn.items()}


@dataclass(frozen=True)
class Case:
    """What both methods come to: how far they stray, usually and rarely.

    Attributes:
        name: What it is.
        rivals: What is public: how far additive noise deviates, and what the rule sees of ``clip``.
        clip: How far ``clip`` strayed.
    """

    name: str
    rivals: Rivals
    clip: tuple[float, float]

    def regret(self, *, additive: bool) -> float:
        """Return how many times worse than the better one a method is, as a logarithm; usually and rarely."""
        ours, theirs = (
            sum(map(math.log, error_bounds)) / 2
            for error_bounds in ((self.rivals.usual, self.rivals.rare), self.clip)
        )
        return (ours if additive else theirs) - min(ours, theirs)


def cases(runs: int, seed: int) -> Iterator[Case]:
    """Yield all cases in which budgets grow enough for the two methods to be compared."""
    for (kind, values), (policy, text), highest in product(sets(seed).items(), POLICIES.items(), HIGHEST):
        table = prdp.open(
            {"v": values},
            policy=prdp.Policy(text, at_least="1/1000"),
            bounds={"v": (1, highest)},
            synthetic=True,
        )
        row = next(row for row in Sum.methods if row.name == "additive")
        for share in SHARES:
            found = rivals(table.planner.terms(prdp.sum("v"), row, Fraction(share), Options(), None))
            if found is None:
                continue
            releases = simulate(table, prdp.sum("v"), share=share, method="clip", runs=runs, seed=seed)
            errors = np.abs([float(release.exact) - values.sum() for release in releases])
            error_bounds = np.maximum(np.quantile(errors, [0.5, 0.95]), 1)
            yield Case(f"{kind}; {policy}; {highest:.0e}; {share}", found, (error_bounds[0], error_bounds[1]))


def main() -> None:
    asked = options(__doc__, runs=60)
    warnings.simplefilter("ignore", prdp.errors.RecordsLeftOut)
    found = list(cases(asked.runs, asked.seed))
    print(f"{len(found)} cases, {asked.runs} runs of clip each, seed {asked.seed}")
    print("times worse than the better method:")
    for name, choice in (("clip", False), ("additive", True)):
        print(f"{'always ' + name:20}{_times([case.regret(additive=choice) for case in found])}")
    for place in PLACES:
        regrets = [case.regret(additive=case.rivals.additive_wins(place)) for case in found]
        print(f"{f'place {place}':20}{_times(regrets)}")


def _times(regrets: list[float]) -> str:
    mean, most = math.exp(sum(regrets) / len(regrets)), math.exp(max(regrets))
    rare = math.exp(np.quantile(regrets, 0.95))
    return f"geometric mean {mean:9.3f}, 95th percentile {rare:9.3g}, worst {most:9.3g}"


if __name__ == "__main__":
    main()
