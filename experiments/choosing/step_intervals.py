"""Sums and means under a policy with steps, drawn from the library: errors, and how often intervals hold.

``python -m experiments.choosing.step_intervals`` for the synthetic sets, ``--data FOLDER`` for the real ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import prdp
from experiments.choosing.cases import SHARES, budgets_of, opened, sets
from experiments.choosing.drawn import coverage_of
from experiments.yardsticks import oracle_clip, trimmed
from prdp.testing import simulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=1000, help="draws of each sum; of a mean, a fifth")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("sum: trimmed error, p99, mean in oracle clips; held at 95 %, width over the noise's (reach 8)")
    print("mean: median relative error, held by the interval that is shown")
    for data in sets(asked.data):
        table = opened(data, "stepwise")
        values, cells = data.values.astype(float), []
        budgets = budgets_of(data, table, "stepwise")
        for share in SHARES:
            oracle = oracle_clip(values, budgets, float(share))
            sums = simulate(table, prdp.sum("v"), share=share, runs=asked.runs, seed=asked.seed)
            errors = np.array([abs(float(one.exact) - values.sum()) for one in sums]) / oracle
            (_, held), _, wider = coverage_of(sums, values.sum(), 8)
            means = simulate(table, prdp.mean("v"), share=share, runs=asked.runs // 5, seed=asked.seed)
            off = np.median([abs(one.value / values.mean() - 1) for one in means])
            ends = [one.interval() for one in means]
            kept = np.mean([low <= values.mean() <= high for low, high in ends])
            cells.append(
                f"{trimmed(errors)[0]:.2f} {np.quantile(errors, 0.99):.1f} {errors.mean():.2f}; "
                f"{held:.3f} {wider:.0f}; mean {100 * off:.3g} %, {kept:.2f}"
            )
        print(f"{data.name}: " + " | ".join(cells), flush=True)


if __name__ == "__main__":
    main()
