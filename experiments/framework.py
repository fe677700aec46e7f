"""How good the paper's framework is: sums and maxima at its own split and at ours, beside its figures.

Run ``python -m experiments.framework --data FOLDER``. Inverse policy, share 1, 20 % trimmed each side: the
relative error of a sum, and the part of the records above the answer to a maximum, in percent. *Dropped* is
what the records below the kept domain add up to: no base mechanism can do better than that.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

import prdp
from experiments.accuracy import POLICIES, opened
from experiments.datasets import DataSet, all_sets
from experiments.options import options
from experiments.yardsticks import Floats, trimmed
from prdp.testing import simulate

PAPER = {
    "sum": {"Normal(50k)": 0.187, "Normal(500k)": 1.65, "Bank": 2.25, "SF": 0.527},
    "max": {"Normal(50k)": 0.738, "Normal(500k)": 6.15, "Bank": 1.32, "SF": 2.02},
}
WAYS: tuple[tuple[str, str | None], ...] = (("framework", "1/2"), ("framework", "1/4"), ("default", None))


def of_sum(values: Floats) -> Callable[[Floats], Floats]:
    return lambda answers: np.asarray(100 * np.abs(answers - values.sum()) / values.sum())


def of_max(values: Floats) -> Callable[[Floats], Floats]:
    ordered = np.sort(values)
    return lambda answers: np.asarray(
        100 * (ordered.size - np.searchsorted(ordered, answers, side="right")) / ordered.size
    )


def dropped(data: DataSet, releases: list[prdp.Release]) -> float:
    """Return the part of the sum that lies below the kept domain, as a trimmed mean in percent."""
    budgets = np.minimum(100, 10_000 / data.values)
    least = np.array([float(dict(release.choices)["kept budgets from"].split()[0]) for release in releases])
    parts = {low: 100 * data.values[budgets < low].sum() / data.values.sum() for low in set(least.tolist())}
    return trimmed(np.array([parts[low] for low in least.tolist()]))[0]


def main() -> None:
    arguments = options(__doc__, runs=2000)
    print(f"inverse policy, share 1, {arguments.runs} runs, seed {arguments.seed}; errors in %")
    heads = ("error", "± s.e.", "paper", "ratio", "p99", "dropped")
    print(f"{'set':14}{'query':6}{'method':12}{'split':6}" + "".join(f"{head:>11}" for head in heads))
    for data in all_sets(arguments.data):
        table, values = opened(data, POLICIES["inverse"]), data.values.astype(float)
        asked: dict[str, tuple[prdp.Sum | prdp.Max, Callable[[Floats], Floats]]] = {
            "sum": (prdp.Sum("v"), of_sum(values)),
            "max": (prdp.Max("v"), of_max(values)),
        }
        for name, (query, errors_of) in asked.items():
            for method, split in WAYS:
                releases = simulate(
                    table,
                    query,
                    method=None if split is None else method,
                    split=None if split is None else Fraction(split),
                    runs=arguments.runs,
                    seed=arguments.seed,
                )
                errors = errors_of(np.array([float(release.value) for release in releases]))
                middle, error = trimmed(errors)
                paper = PAPER[name].get(data.name, float("nan"))
                below = dropped(data, releases) if name == "sum" and split else float("nan")
                figures = (middle, error, paper, middle / paper, np.quantile(errors, 0.99), below)
                row = "".join(f"{figure:11.4g}" for figure in figures)
                print(f"{data.name:14}{name:6}{method:12}{split or '':6}{row}", flush=True)


if __name__ == "__main__":
    main()
