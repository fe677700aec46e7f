"""A question that starts from where an earlier one clipped: error and width, before and after.

``python -m experiments.choosing.warm_starts``: each case is asked once, and once more starting from the first
answer's point; ``--first 1`` asks the first time with a share of 1, ``--first 10x`` with ten times the other.
``--moved`` puts the known point 2 octaves too high or too low, as if the data had changed; ``--data FOLDER``
takes the real sets. Errors are 20 % trimmed means in oracle clips, widths those of 95 % intervals.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from experiments.choosing.cases import POLICIES, QUERIES, SHARES, budgets_of, opened, sets
from experiments.yardsticks import oracle_clip, trimmed
from prdp.ledger.account import Entry
from prdp.plan.plan import Plan
from prdp.release.bias import Clipping
from prdp.release.release import Release
from prdp.tables.queryable import reader_of
from prdp.testing import Seeded

MOVED = Fraction(4)
FIRST = {
    "same": lambda share: share,
    "10x": lambda share: min(Fraction(1), 10 * share),
    "1": lambda _: Fraction(1),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """One case, asked in one way.

    Attributes:
        error: The trimmed error, in oracle clips.
        p99: The 99th percentile of the errors, in oracle clips.
        covered: The part of the intervals that hold the truth.
        width: The median width of those with both ends, in oracle clips; infinite where most have not.
    """

    error: float
    p99: float
    covered: float
    width: float

    @classmethod
    def of(cls, releases: list[Release], truth: float, oracle: float) -> Figures:
        """Return the figures of some answers."""
        errors = np.array([abs(float(release.exact) - truth) for release in releases]) / oracle
        ends = np.array([release.interval(tail_factor=8) for release in releases])
        held = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
        width = float(np.median(ends[:, 1] - ends[:, 0])) / oracle
        return cls(float(trimmed(errors)[0]), float(np.quantile(errors, 0.99)), float(held), width)


@dataclass(frozen=True, slots=True)
class Known:
    """A ledger that holds one answer."""

    entry: Entry

    def answered(self, wanted: Callable[[str], bool]) -> tuple[Entry, ...]:
        """Return the answer, if its question's text is wanted."""
        return (self.entry,) if wanted(self.entry.purpose) else ()

    def standing(self, purpose: str, share: Fraction) -> None:
        """Say that no answer is."""


Draw = Callable[[Plan, int], list[Release]]


def again(plan: Plan, earlier: Plan, draw: Draw, first: list[Release], moved: Fraction) -> list[Release]:
    """Ask once more for each first answer, starting from its point."""
    found: list[Release] = []
    for release, count in Counter(replace(release, steps=0) for release in first).items():
        point = release.clipping
        if not isinstance(point, Clipping):
            raise TypeError(f"{release.question} has no point to start from")
        known = replace(release, simulated=False, clipping=replace(point, at=point.at * moved))
        entry = Entry(0, earlier.text, earlier.share, release=known)
        found += draw(plan.warm_started(plan.warm_start(Known(entry))), count)
    return found


def measured(
    folder: Path | None, runs: int, seed: int, first_share: Callable[[Fraction], Fraction], moved: Fraction
) -> Iterator[tuple[tuple[str, str, str], Fraction, Figures, Figures]]:
    """Yield every case at every share that chooses a point: before and after."""
    for data in sets(folder):
        for policy in POLICIES:
            table = opened(data, policy)
            budgets = budgets_of(data, table, policy)
            for query, asked in QUERIES.items():
                values = data.values.astype(float) if query == "sum" else np.ones(data.values.size)
                truth = float(values.sum())
                draw = partial(drawn, reader_of(table), Seeded(seed))
                for share in SHARES:
                    plan, earlier = (table.plan(asked, share=each) for each in (share, first_share(share)))
                    first = draw(earlier, runs)
                    if not isinstance(first[0].clipping, Clipping):
                        continue  # tiers choose no point
                    before = first if earlier.share == share else draw(plan, runs)
                    after = again(plan, earlier, draw, first, moved)
                    oracle = oracle_clip(values, budgets, float(share))
                    then, now = (Figures.of(each, truth, oracle) for each in (before, after))
                    yield (data.name, policy, query), share, then, now


def drawn(reader: object, entropy: Seeded, plan: Plan, runs: int) -> list[Release]:
    return [plan.one(release) for release in plan.draw(reader, entropy, runs)]  # type: ignore[arg-type]


def table(rows: list[tuple[Figures, Figures]]) -> str:
    """Return one share's figures: errors before and after, their ratio, the same of widths, and coverage."""
    errors = np.log([[figures.error for figures in row] for row in rows])
    ratios = errors[:, 1] - errors[:, 0]
    widths = np.array([[figures.width for figures in row] for row in rows])
    both = np.isfinite(widths).all(axis=1)
    wider = np.log(widths[both, 1] / widths[both, 0])
    covered = np.array([[figures.covered for figures in row] for row in rows]).mean(axis=0)
    p99 = np.exp(np.log([[figures.p99 for figures in row] for row in rows]).mean(axis=0))
    opened_up = np.isinf(widths).sum(axis=0)
    before, after = np.exp(errors.mean(axis=0))
    return (
        f"{len(rows):4} {before:6.3f} {after:6.3f} {np.exp(ratios.mean()):6.3f} ± {_error(ratios):.3f}"
        f" {p99[0]:7.2f} {p99[1]:6.2f} {np.exp(np.median(wider)):7.2f} ({np.exp(wider.mean()):.2f} ± "
        f"{_error(wider):.2f}) {opened_up[0]:5} {opened_up[1]:3} {covered[0]:8.3f} {covered[1]:6.3f}"
    )


def _error(logs: np.ndarray) -> float:
    return float(np.exp(logs.mean()) * logs.std(ddof=1) / np.sqrt(len(logs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=200, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--first", choices=FIRST, default="same", help="the first question's share")
    parser.add_argument("--moved", choices=("up", "down"), help="a known point that is far off")
    parser.add_argument("--each", action="store_true", help="print every case")
    asked = parser.parse_args()
    moved = {"up": MOVED, "down": 1 / MOVED, None: Fraction(1)}[asked.moved]
    found = list(measured(asked.data, asked.runs, asked.seed, FIRST[asked.first], moved))
    if asked.each:
        for name, share, before, after in found:
            print(f"{' '.join(name):36} {share!s:6} {before} -> {after}")
    print(f"{asked.runs} runs, seed {asked.seed}, first share {asked.first}, moved {asked.moved}")
    print("share  cases; error before, after, ratio ± its error over cases; p99; width ratio: median (mean);")
    print("       cases that are mostly open; covered")
    for share in SHARES:
        print(f"{share!s:6}{table([row[2:] for row in found if row[1] == share])}")


if __name__ == "__main__":
    main()
