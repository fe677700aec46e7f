"""Many small groups: choosing a clipping point alone, together, and the best common one.

Run ``python -m experiments.choosing.groups``. A thousand groups of twenty records, policy 10000 / v, share 1.
The error is the mean over the groups, in percent of a group's mean total.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import prdp
from experiments.options import options
from experiments.yardsticks import Floats
from prdp.cells.summary import Summary
from prdp.mechanisms.clip import Clip
from prdp.plan import queries
from prdp.testing import Seeded
from prdp.testing.raw_cells import raw_cells

GROUPS, RECORDS = 1_000, 20_000


def best_common(values: Floats, budgets: Floats, groups: Floats) -> float:
    """Return the least mean error of one clipping point for all groups: its noise and what it takes away."""

    def error(point: float) -> float:
        lost = np.bincount(groups.astype(int), weights=np.maximum(0, values - budgets * point))
        return float(lost.mean()) + point

    return min(error(float(point)) for point in np.geomspace(1e-2, 1e9, 300))


def main() -> None:
    arguments = options(__doc__, runs=5)
    random = np.random.default_rng(0)
    group = random.integers(0, GROUPS, RECORDS)
    value = np.rint(np.abs(random.normal(50_000, 50_000, RECORDS))).astype(int) + 100
    policy = prdp.Policy("10000 / v", at_most=100)
    table = prdp.open({"g": group, "v": value}, policy=policy, bounds={"v": (0, 10**12)}, synthetic=True)
    groups = table.group_by("g", keys=range(GROUPS))
    budgets = np.minimum(100, 10_000 / value)
    print(f"{GROUPS} groups, {arguments.runs} runs, seed {arguments.seed}; errors in %")
    for name, query, one in (
        ("count", prdp.count(), np.ones(RECORDS)),
        ("sum", prdp.sum("v"), value.astype(float)),
    ):
        cells = [c for c in raw_cells(table, groups.plan(query, share=1)) if isinstance(c, Summary)]
        seen = [c.counted() for c in cells] if isinstance(query, queries.Count) else cells
        truth = np.bincount(group, weights=one, minlength=GROUPS)
        clip, entropy = Clip.tuned(Fraction(1)), Seeded(arguments.seed)
        alone = [clip.answers(summary, Fraction(1), entropy, arguments.runs) for summary in seen]
        together = clip.grouped(seen, Fraction(1), entropy, arguments.runs)
        for way, drawn in (("alone", alone), ("together", together)):
            answers = np.array([[float(a.steps * a.step) for a in runs] for runs in drawn])
            error = 100 * np.abs(answers - truth[:, None]).mean() / truth.mean()
            print(f"{name:6}{way:10}{error:8.1f}")
        best = best_common(one, budgets, group.astype(float))
        print(f"{name:6}{'best':10}{100 * best / truth.mean():8.1f}", flush=True)


if __name__ == "__main__":
    main()
