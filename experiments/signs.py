"""Sums of both signs: one clipping point for all values beside one for each sign.

    python -m experiments.signs --data FOLDER --runs 2000    # a minute; without a folder, synthetic sets
    alone

For each set and share: the median and the mean of the absolute error with two choices over that with one,
in how many of the runs each sign found its own point, and how far the interval reaches below and above the
answer, as medians, in halves of the noise's own 95 % interval. What came of it: intervals.md.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from experiments.intervals import SHARES, DataSet, made_up, real
from prdp.cells.summary import Summary
from prdp.mechanisms.clip import Clip
from prdp.plan.queries import Sum
from prdp.release.bias import Clipping
from prdp.release.interval import error_bounds
from prdp.release.raw_answer import Answer
from prdp.testing import Seeded
from prdp.testing.truth import raw_cells

_FAILURE = Fraction(1, 20)
_TAIL_FACTOR = Fraction(8)


def signed_sets() -> Iterator[DataSet]:
    """Yield synthetic sets of both signs, of several shapes."""
    random = np.random.default_rng(20261118)
    for name, drawn in (
        ("profits", np.concatenate([random.lognormal(7, 1, 30_000), -random.lognormal(5, 1, 10_000)])),
        ("errors", random.normal(0, 1000, 20_000)),
        ("few errors", random.normal(0, 1000, 500)),
        ("debts", 50 - random.gamma(0.7, 900, 20_000)),
        ("all above zero", random.gamma(0.7, 900, 20_000)),
    ):
        groups = random.integers(0, 8, drawn.size)
        policy = "5000 / greatest(abs(v), 20)"
        yield DataSet(name, np.rint(drawn).astype(np.int64), groups, policy, bounds=(-(10**9), 10**9))


def summaries(data: DataSet, share: Fraction, *, grouped: bool) -> list[Summary]:
    """Return the cells of a set, of all records or by group."""
    table = data.table
    grouping = table.group_by("g", keys=data.keys()).grouping if grouped else None
    plan = table.planner.plan([Sum("v")], share, grouping)
    return [found for found in raw_cells(table, plan) if isinstance(found, Summary)]


def errors(groups: Sequence[Summary], answers: Sequence[Sequence[Answer]]) -> np.ndarray:
    """Return by how much each answer is off, in rounding steps."""
    return np.array(
        [
            [abs(float(answer.steps * answer.step - sum(group.cells.total.tolist()))) for answer in drawn]
            for group, drawn in zip(groups, answers, strict=True)
        ]
    )


def ends(answers: Sequence[Sequence[Answer]]) -> tuple[float, float]:
    """Return how far intervals reach below and above their answers, over the noise's own, as medians."""
    below, above = [], []
    for drawn in answers:
        for answer in drawn:
            assert isinstance(answer.clipping, Clipping)  # noqa: S101
            scales = tuple(noise.scale for noise in answer.noises)
            clipping = replace(answer.clipping, below=True, above=True, mixed=True)
            found = error_bounds(scales, "laplace", clipping, _FAILURE, _TAIL_FACTOR)
            noise = float(sum(scales)) * math.log(20)
            below.append(math.inf if found.below is None else float(found.below) / noise)
            above.append(math.inf if found.above is None else float(found.above) / noise)
    return float(np.median(below)), float(np.median(above))


def lines(data: DataSet, share: Fraction, runs: int, seed: int) -> Iterator[str]:
    """Yield a line for the table as a whole, and one for its groups."""
    for grouped in (False, True):
        groups = summaries(data, share, grouped=grouped)
        drawn = [
            Clip.tuned(share, signed=signed).grouped(groups, share, Seeded(seed), runs // len(groups))
            for signed in (False, True)
        ]
        off = [errors(groups, answers) for answers in drawn]
        medians = np.median(np.median(off[1], axis=1) / np.median(off[0], axis=1))
        means = np.median(off[1].mean(axis=1) / off[0].mean(axis=1))
        apart = np.mean([[bool(a.clipping and a.clipping.drawn) for a in group] for group in drawn[1]])  # type: ignore[attr-defined]
        sides = [f"{low:5.1f}{high:6.1f}" for low, high in map(ends, drawn)]
        yield (
            f"{data.name:16}{share!s:>6}  {'by group' if grouped else 'alone':9}{medians:8.2f}{means:8.2f}"
            f"{100 * apart:8.0f} %    {sides[0]}    {sides[1]}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument(
        "--runs", type=int, default=2000, help="how often each question is asked, over all groups"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # sets whose policies leave out a few records say so
    print(f"{asked.runs} runs, seed {asked.seed}: errors with two choices over those with one; ends")
    print(
        f"{'set':16}{'share':>6}  {'':9}{'median':>8}{'mean':>8}{'apart':>10}    {'one':>11}    {'two':>11}"
    )
    kept = ("Bank", "SF", "signed")
    found = [data for data in (*(real(asked.data) if asked.data else ()), *made_up()) if data.name in kept]
    for data in (*found, *signed_sets()):
        for share in SHARES:
            for line in lines(data, share, asked.runs, asked.seed):
                print(line, flush=True)


if __name__ == "__main__":
    main()
