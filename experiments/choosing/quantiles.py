"""Quantiles as the library answers them: rank errors, how far answers are, what intervals cover.

``python -m experiments.choosing.quantiles --keep FILE`` asks on synthetic sets, ``--data FOLDER`` on real
ones;
``--against FILE`` compares with what another version kept. ``--first same`` asks once more, starting from
the first answer, and compares with that one; ``--first 10x`` asks first with ten times the share, and
``--moved 2`` puts the first answer and its weights' point 2 octaves too high, as if the data had changed.
Then each of 6 first answers is asked from equally often.

For each share and quantile: the mean rank error in percent of the records, its geometric mean over sets and
policies, with ratio, standard error and worst case; 95th percentile; *lost*, off by more than 40 %; *far*,
more than 2 octaves away; *covered*, how many 95 % intervals of the noise hold the truth; *width*, the median
one in ranks. See README.md.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow

import prdp
from experiments.choosing.cases import POLICIES, personal_budgets, sets
from experiments.choosing.warm_starts import Draw, Known, drawn
from experiments.datasets import CUT, LARGEST, DataSet
from experiments.yardsticks import Floats
from prdp.ledger.account import Entry
from prdp.plan.plan import Plan
from prdp.release.raw_answer import Ranked
from prdp.release.release import Release
from prdp.tables.queryable import reader_of
from prdp.testing import Seeded

CHOSEN = {name: POLICIES[name] for name in ("inverse", "sqrt", "stepwise")} | {"constant": "0.1"}
QUANTILES = ("0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99")
SHARES = tuple(map(Fraction, ("1", "1/10", "1/100")))
LEAST = 1e-3
FIRST_ANSWERS = 6
COLUMNS = ("error", "p95", "lost", "far", "covered", "width")
FIRST: dict[str, Callable[[Fraction], Fraction]] = {
    "same": lambda share: share,
    "10x": lambda share: min(Fraction(1), 10 * share),
}

Figures = tuple[float, ...]


def opened(data: DataSet, policy: str) -> prdp.Table:
    """Open a set under a policy."""
    columns = {"v": data.values, "e": personal_budgets(data.values.size)}
    return prdp.open(
        pyarrow.table(columns),
        policy=prdp.Policy(CHOSEN[policy], at_most=100),
        bounds={"v": (CUT, LARGEST), "e": ("0.001", 100)},
        name=data.name,
        synthetic=True,
    )


def figures(ordered: Floats, part: float, releases: list[Release]) -> Figures:
    """Return ``COLUMNS`` for some answers to one quantile; within ties an answer is off by nothing."""
    answers = np.array([float(release.value) for release in releases])
    low, high = np.array([release.interval(tail_factor=1) for release in releases]).T
    below, up_to = (np.searchsorted(ordered, answers, "left"), np.searchsorted(ordered, answers, "right"))
    off = 100 * np.maximum(0, np.maximum(below / ordered.size - part, part - up_to / ordered.size))
    truth = np.quantile(ordered, part, method="inverted_cdf")
    away = np.abs(np.log2(np.maximum(1, answers) / truth))
    held = (low <= truth) & (truth <= high)
    wide = np.searchsorted(ordered, high, "right") - np.searchsorted(ordered, low, "left")
    shown = (off.mean(), np.quantile(off, 0.95), 100 * np.mean(off > 40), 100 * np.mean(away > 2))
    return *map(float, shown), 100 * float(held.mean()), 100 * float(np.median(wide)) / ordered.size


def again(plan: Plan, earlier: Plan, runs: int, moved: int, draw: Draw) -> list[Release]:
    """Ask once more for each of some first answers, starting from it."""
    found: list[Release] = []
    for release in draw(earlier, FIRST_ANSWERS):
        ranked = release.chosen
        if not isinstance(ranked, Ranked):
            raise TypeError(f"{release.question} is no quantile")
        point = ranked.clipping and replace(ranked.clipping, at=ranked.clipping.at * 2**moved)
        known = replace(
            release,
            simulated=False,
            steps=release.steps * 2**moved,
            chosen=replace(ranked, clipping=point),
        )
        entry = Entry(0, earlier.text, earlier.share, release=known)
        found += draw(plan.warm_started(plan.warm_start(Known(entry))), runs // FIRST_ANSWERS)
    return found


def measured(asked: argparse.Namespace) -> Iterator[tuple[str, Figures, Figures]]:
    """Yield every case: share, quantile, set and policy, and its figures, not started and started."""
    for data in sets(asked.data):
        ordered = np.sort(data.values).astype(float)
        for policy in CHOSEN:
            table = opened(data, policy)
            draw = partial(drawn, reader_of(table), Seeded(asked.seed))
            for share in SHARES:
                for quantile in asked.quantiles:
                    plan = table.plan(prdp.quantile("v", quantile), share=share)
                    then = figures(ordered, float(quantile), draw(plan, asked.runs))
                    now = then
                    if asked.first is not None:
                        earlier = table.plan(prdp.quantile("v", quantile), share=FIRST[asked.first](share))
                        now = figures(
                            ordered, float(quantile), again(plan, earlier, asked.runs, asked.moved, draw)
                        )
                    yield f"{share} {quantile} {data.name}, {policy}", then, now


def lines(now: dict[str, Figures], then: dict[str, Figures]) -> Iterator[str]:
    """Yield a line for each share and quantile: before and after."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in now:
        share, quantile, _ = name.split(" ", 2)
        groups[share, quantile].append(name)
    for (share, quantile), names in groups.items():
        before, after = (np.array([each[name] for name in names]) for each in (then, now))
        logs = np.log(np.maximum(LEAST, after[:, 0]) / np.maximum(LEAST, before[:, 0]))
        error = np.exp(logs.mean()) * logs.std(ddof=1) / np.sqrt(logs.size)
        means = [np.exp(np.log(np.maximum(LEAST, each[:, 0])).mean()) for each in (before, after)]
        ratio = f"({np.exp(logs.mean()):.2f} ± {error:.2f}, {np.exp(logs.max()):5.2f})"
        columns = zip(COLUMNS[1:], before[:, 1:].mean(axis=0), after[:, 1:].mean(axis=0), strict=True)
        rest = "  ".join(f"{name} {a:.1f} > {b:.1f}" for name, a, b in columns)
        yield f"{share:6}{quantile:6}{means[0]:7.3f} > {means[1]:7.3f} {ratio}  {rest}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=40, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--quantiles", nargs="+", choices=QUANTILES, default=QUANTILES)
    parser.add_argument("--keep", type=Path, help="file to write the figures to")
    parser.add_argument("--against", type=Path, help="figures of another version")
    parser.add_argument(
        "--first", choices=FIRST, help="ask again, starting from a first answer at this share"
    )
    parser.add_argument("--moved", type=int, default=0, help="by how many octaves the first answer is off")
    asked = parser.parse_args()
    rows = list(measured(asked))
    now = {name: after for name, _, after in rows}
    if asked.keep:
        asked.keep.write_text(json.dumps(now, indent=1))
    then = (
        json.loads(asked.against.read_text()) if asked.against else {name: before for name, before, _ in rows}
    )
    print(
        f"{len(now)} cases, {asked.runs} runs, seed {asked.seed}; before > after", *lines(now, then), sep="\n"
    )


if __name__ == "__main__":
    main()
