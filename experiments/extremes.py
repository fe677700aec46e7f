"""How good maxima are: rank error and overshoot, beside the paper's figures.

Run ``python -m experiments.extremes --data FOLDER``. The rank error is the part of the records above the
answer, in percent, 20 % trimmed each side; an overshoot is an answer above 1.7 times the true maximum.
"""

from __future__ import annotations

import numpy as np

import prdp
from experiments.accuracy import POLICIES, opened
from experiments.datasets import all_sets
from experiments.options import options
from experiments.yardsticks import trimmed
from prdp.testing import simulate

PAPER = {"Normal(50k)": 0.738, "Normal(500k)": 6.15, "Bank": 1.32, "SF": 2.02}
AIMS = {"Normal(50k)": 0.005, "Normal(500k)": 0.045, "Bank": 0.05, "SF": 0.012}


def main() -> None:
    arguments = options(__doc__)
    print(f"max, inverse policy, {arguments.runs} runs, seed {arguments.seed}; the aim is for share 1")
    columns = (
        "set",
        "share",
        "rank error %",
        "± s.e.",
        "aim",
        "paper",
        "median of max",
        "p99",
        "overshoot %",
    )
    print(f"{columns[0]:14}{columns[1]:6}" + "".join(f"{name:>14}" for name in columns[2:]))
    for data in all_sets(arguments.data):
        values = np.sort(data.values)
        table = opened(data, POLICIES["inverse"])
        for share in ("1", "1/10"):
            releases = simulate(table, prdp.Max("v"), share=share, runs=arguments.runs, seed=arguments.seed)
            answers = np.array([float(release.value) for release in releases])
            above = values.size - np.searchsorted(values, answers, side="right")
            middle, error = trimmed(100.0 * above / values.size)
            ratio = answers / values[-1]
            aim, paper = AIMS.get(data.name, float("nan")), PAPER.get(data.name, float("nan"))
            figures = (middle, error, aim, paper, np.median(ratio), np.quantile(ratio, 0.99))
            overshoot = 100 * float(np.mean(ratio > 1.7))
            row = "".join(f"{figure:14.4f}" for figure in (*figures, overshoot))
            print(f"{data.name:14}{share:6}{row}", flush=True)


if __name__ == "__main__":
    main()
