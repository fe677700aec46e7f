"""Tiers that nothing public sets apart: a candidates cut into bands of octaves, each with a point of its own.

``python -m experiments.choosing.bands`` compares them with one point, over the made-up cases without tiers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.choosing.cases import SHARES, Case, cases
from experiments.choosing.figures import Figures, figures
from experiments.choosing.rules import now
from experiments.choosing.step_sums import RUNS, SEED, drawn_figures, tier_errors

OCTAVES = (4, 6, 8)
_QUARTERS = 4


def banded(case: Case, octaves: int) -> Case:
    """Return a case whose tiers are bands of so many octaves of its candidates; the last has what is left."""
    size = octaves * _QUARTERS
    ends = [*range(size - 1, max(size, case.points.size - size), size), case.points.size - 1]
    masses = np.concatenate(([case.mass], case.masses))
    beyond = np.concatenate(([case.truth], case.pulls + case.points * case.masses))  # what they add in full
    tiers, first = [], 0
    for end in ends:
        here = slice(first, end + 1)
        clipped = case.masses[here] - masses[end + 1]
        pulls = beyond[first + 1 : end + 2] - beyond[end + 1] - case.points[here] * clipped
        heights = case.heights[here] - case.heights[first]
        mass, truth = masses[first] - masses[end + 1], beyond[first] - beyond[end + 1]
        steps = np.arange(heights.size)
        tiers.append(Case(case.name, case.points[here], heights, steps, clipped, pulls, mass, truth, ()))
        first = end + 1
    return replace(case, tiers=tuple(tiers))


def main() -> None:
    alike = [case for case in cases(None) if not case.tiers and case.above_foot.any()]
    print(
        f"{len(alike)} cases, {RUNS} draws a case, seed {SEED}: geometric mean (worst) of trimmed, p99, mean"
    )
    for octaves in (None, *OCTAVES):
        cells = []
        for place, share in enumerate(map(float, SHARES)):
            shapes: list[Figures] = []
            for case in alike:
                if octaves is None:
                    shapes.append(figures(case, share, case.oracles[place], now(case, share)))
                else:
                    errors = tier_errors(banded(case, octaves), share)
                    shapes.append(drawn_figures(errors / case.oracles[place]))
            columns = np.array([(one.trimmed, one.p99, one.mean) for one in shapes]).T
            cells.append(", ".join(f"{np.exp(np.log(one).mean()):.3g} ({one.max():.3g})" for one in columns))
        name = "one point" if octaves is None else f"bands of {octaves} octaves"
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
