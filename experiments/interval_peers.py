"""Widths and coverage of intervals beside OpenDP's and Tumult's stated accuracy, all with one budget for all.

``python -m experiments.interval_peers --data FOLDER --tumult PYTHON`` writes
``experiments/interval_peers.csv``, of which ``experiments.pictures`` draws the lower panels of
``docs/accuracy.png``.
A sum of each set, every record with the budget ε. prdp knows public bounds alone. The others clip at those
bounds, or at the best clip: the one with the smallest expected error, found in the data itself, which nobody
may do. What they state is about their noise: OpenDP's ``discrete_laplacian_scale_to_accuracy``, and the 95 %
quantile of the geometric noise that Tumult Analytics documents; neither speaks of what a clip takes away.
The noise is drawn by each library: ``make_laplace``, and ``AddGeometricNoise`` of Tumult Core.
``PYTHON`` is that of an environment with ``tmlt.analytics``.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import math
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import opendp.prelude as dp

import prdp
from experiments.datasets import DataSet, find
from experiments.yardsticks import Floats
from prdp.testing import simulate

RESULTS = Path(__file__).with_name("interval_peers.csv")
BOUNDS = {"Bank": 10**7, "SF": 10**7, "CBP": 10**9, "Normal(50k)": 10**7}
"""Public bounds: what an account, a yearly pay, a payroll in thousands of dollars is never above."""
EPSILONS = ("1", "1/100")
_TUMULT = """
import json, sys
from importlib.metadata import version
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise
scales, runs = json.load(sys.stdin)
drawn = [[int(AddGeometricNoise(scale)(0)) for _ in range(runs)] for scale in scales]
print(json.dumps([version("tmlt.analytics"), drawn]))
"""


@dataclass(frozen=True, slots=True)
class Interval:
    """One library's intervals for the sum of one set, in percent of the sum."""

    set: str
    epsilon: str
    library: str
    clip: str
    clipped_at: int
    half_width_percent: float
    error_95_percent: float
    coverage: float
    runs: int


@dataclass(frozen=True, slots=True)
class Clipped:
    """A sum clipped at a value, with the noise that a budget asks for."""

    set: str
    epsilon: str
    clip: str
    at: int
    total: int
    truth: int

    @property
    def scale(self) -> int:
        """The scale of the noise."""
        return math.ceil(self.at / Fraction(self.epsilon))

    def interval(self, library: str, half: float, errors: Floats, coverage: float) -> Interval:
        """Return how wide an interval is, and how often the whole sum lies within it."""
        return Interval(
            set=self.set,
            epsilon=self.epsilon,
            library=library,
            clip=self.clip,
            clipped_at=self.at,
            half_width_percent=100 * half / self.truth,
            error_95_percent=100 * float(np.quantile(errors, 0.95)) / self.truth,
            coverage=coverage,
            runs=errors.size,
        )

    def stated(self, library: str, half: float, noise: Floats) -> Interval:
        """Return the interval of a library that states how far its noise goes."""
        errors = np.abs(self.total + noise - self.truth)
        return self.interval(library, half, errors, float(np.mean(errors <= half)))


def clipped_sums(data: DataSet, epsilon: str) -> tuple[Clipped, Clipped]:
    """Return the sum at the best clip and at the public bound."""
    values, bound = data.values, BOUNDS[data.name]
    candidates = np.unique(np.geomspace(100, values.max(), 2_000).astype(np.int64))
    errors = [float(np.maximum(values - at, 0).sum()) + at / float(Fraction(epsilon)) for at in candidates]
    best = int(candidates[int(np.argmin(errors))])
    best_sum, bound_sum = (
        Clipped(data.name, epsilon, clip, at, int(np.minimum(values, at).sum()), int(values.sum()))
        for clip, at in (("best clip", best), ("public bounds", bound))
    )
    return best_sum, bound_sum


def ours(data: DataSet, epsilon: str, runs: int, seed: int) -> Interval:
    """Return the library's own intervals."""
    bound, truth = BOUNDS[data.name], int(data.values.sum())
    table = prdp.open(
        {"v": data.values}, policy="1", bounds={"v": (0, bound)}, name=data.name, synthetic=True
    )
    answers = simulate(table, prdp.sum("v"), share=epsilon, runs=runs, seed=seed)
    ends = np.array([answer.interval() for answer in answers], dtype=float)
    errors = np.abs(np.array([float(answer.exact) for answer in answers]) - truth)
    inside = float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
    half = float(np.median(ends[:, 1] - ends[:, 0])) / 2
    what = Clipped(data.name, epsilon, "chosen privately", bound, truth, truth)
    return what.interval("prdp", half, errors, inside)


def opendp(sums: Sequence[Clipped], runs: int) -> Iterator[Interval]:
    """Yield OpenDP's intervals."""
    dp.enable_features("contrib")
    for one in sums:
        space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
        noise = dp.m.make_laplace(*space, float(one.scale))
        half = math.floor(dp.discrete_laplacian_scale_to_accuracy(float(one.scale), 0.05))
        yield one.stated("OpenDP", half, np.array([noise(0) for _ in range(runs)], dtype=float))


def tumult(sums: Sequence[Clipped], runs: int, python: Path) -> Iterator[Interval]:
    """Yield Tumult's intervals, whose noise its own environment draws."""
    jobs = json.dumps([[one.scale for one in sums], runs])
    done = subprocess.run([python, "-c", _TUMULT], input=jobs, capture_output=True, text=True, check=True)
    version, drawn = json.loads(done.stdout.strip().splitlines()[-1])
    print(f"OpenDP {importlib.metadata.version('opendp')}, Tumult Analytics {version}")
    for one, noise in zip(sums, drawn, strict=True):
        half = math.ceil(one.scale * math.log(2 / (1 + math.exp(-1 / one.scale)) / 0.05)) - 1
        yield one.stated("Tumult Analytics", half, np.array(noise, dtype=float))


def stored() -> list[Interval]:
    """Return the intervals of the file in the repository."""
    types = {"str": str, "int": int, "float": float}
    kinds = {field.name: types[str(field.type)] for field in fields(Interval)}
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return [
            Interval(**{name: kinds[name](text) for name, text in row.items()})
            for row in csv.DictReader(file)
        ]


def main() -> None:
    """Measure, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the real sets' Parquet files")
    parser.add_argument("--tumult", type=Path, required=True, help="Python that has tmlt.analytics")
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0, help="of our noise; theirs cannot be seeded")
    asked = parser.parse_args()
    sets = [data for name in BOUNDS if (data := find(name, asked.data)) is not None]
    cases = [(data, epsilon) for data in sets for epsilon in EPSILONS]
    sums = [one for case in cases for one in clipped_sums(*case)]
    found = [
        *(ours(*case, asked.runs, asked.seed) for case in cases),
        *opendp(sums, asked.runs),
        *tumult(sums, asked.runs, asked.tumult),
    ]
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Interval))
        for one in found:
            writer.writerow(f"{each:.4g}" if isinstance(each, float) else each for each in astuple(one))
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
