"""Quantiles as the library answers them: rank errors, how far answers are, what intervals cover.

``python -m experiments.choosing.quantiles --keep FILE`` asks on made-up sets, ``--data FOLDER`` on real ones;
``--against FILE`` compares with what another version kept. For each share and quantile: mean rank error in percent
of the records, its geometric mean over sets and policies, with ratio, standard error and worst case against the
other version; 95th percentile; *lost*, off by more than 40 %; *far*, more than 2 octaves away; *covered*, what
95 % intervals of the noise hold; *width*, the median one in ranks. See README.md.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow

import prdp
from experiments.choosing.cases import POLICIES, personal_budgets, sets
from experiments.datasets import CUT, LARGEST, DataSet
from experiments.yardsticks import Floats
from prdp.testing import simulate

CHOSEN = {name: POLICIES[name] for name in ("inverse", "sqrt", "stepwise")} | {"constant": "0.1"}
QUANTILES = ("0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99")
SHARES = ("1", "1/10", "1/100")
LEAST = 1e-3
COLUMNS = ("error", "p95", "lost", "far", "covered", "width")


def opened(data: DataSet, policy: str) -> prdp.Table:
    """Open a set under a policy."""
    columns = {"v": data.values, "e": personal_budgets(data.values.size)}
    return prdp.open(
        pyarrow.table(columns),
        policy=prdp.Policy(CHOSEN[policy], at_most=100),
        bounds={"v": (CUT, LARGEST), "e": ("0.001", 100)},
        name=data.name,
        stand_in=True,
    )


def figures(ordered: Floats, part: float, releases: list[prdp.Release]) -> tuple[float, ...]:
    """Return ``COLUMNS`` for some answers to one quantile; within ties an answer is off by nothing."""
    answers = np.array([float(release.value) for release in releases])
    low, high = np.array([release.interval(reach=1) for release in releases]).T
    below, up_to = (np.searchsorted(ordered, answers, side) / ordered.size for side in ("left", "right"))
    off = 100 * np.maximum(0, np.maximum(below - part, part - up_to))
    truth = np.quantile(ordered, part, method="inverted_cdf")
    away = np.abs(np.log2(np.maximum(1, answers) / truth))
    held = (low <= truth) & (truth <= high)
    wide = np.searchsorted(ordered, high, "right") - np.searchsorted(ordered, low, "left")
    shown = (off.mean(), np.quantile(off, 0.95), 100 * np.mean(off > 40), 100 * np.mean(away > 2))
    return *map(float, shown), 100 * float(held.mean()), 100 * float(np.median(wide)) / ordered.size


def measured(folder: Path | None, runs: int, seed: int) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield every case: share, quantile, set and policy, and its figures."""
    for data in sets(folder):
        ordered = np.sort(data.values).astype(float)
        for policy in CHOSEN:
            table = opened(data, policy)
            for share in SHARES:
                for quantile in QUANTILES:
                    query = prdp.quantile("v", quantile)
                    drawn = simulate(table, query, share=share, runs=runs, seed=seed)
                    found = figures(ordered, float(quantile), [one for one in drawn if isinstance(one, prdp.Release)])
                    yield f"{share} {quantile} {data.name}, {policy}", found


def lines(now: dict[str, tuple[float, ...]], then: dict[str, tuple[float, ...]]) -> Iterator[str]:
    """Yield a line for each share and quantile: before and after, where there is a before."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in now:
        share, quantile, _ = name.split(" ", 2)
        groups[share, quantile].append(name)
    for (share, quantile), names in groups.items():
        before, after = (np.array([each[name] for name in names]) for each in (then or now, now))
        logs = np.log(np.maximum(LEAST, after[:, 0]) / np.maximum(LEAST, before[:, 0]))
        error = np.exp(logs.mean()) * logs.std(ddof=1) / np.sqrt(logs.size)
        means = [np.exp(np.log(np.maximum(LEAST, each[:, 0])).mean()) for each in (before, after)]
        ratio = f"{means[0]:7.3f} > {means[1]:7.3f} ({np.exp(logs.mean()):.2f} ± {error:.2f}, {np.exp(logs.max()):5.2f})"
        rest = [
            f"{name} {a:.1f} > {b:.1f}"
            for name, a, b in zip(COLUMNS[1:], before[:, 1:].mean(axis=0), after[:, 1:].mean(axis=0), strict=True)
        ]
        yield f"{share:6}{quantile:6}{ratio}  {'  '.join(rest)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=40, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--keep", type=Path, help="file to write the figures to")
    parser.add_argument("--against", type=Path, help="figures of another version")
    asked = parser.parse_args()
    now = dict(measured(asked.data, asked.runs, asked.seed))
    if asked.keep:
        asked.keep.write_text(json.dumps(now, indent=1))
    then = json.loads(asked.against.read_text()) if asked.against else {}
    print(f"{len(now)} cases, {asked.runs} runs, seed {asked.seed}; before > after", *lines(now, then), sep="\n")


if __name__ == "__main__":
    main()
