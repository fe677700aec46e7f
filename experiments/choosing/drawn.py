"""The library itself, by seeded draws: errors in oracle clips, and how often intervals cover the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from experiments.choosing.cases import QUERIES, SHARES, budgets_of, opened, sets
from experiments.choosing.figures import Figures
from experiments.yardsticks import oracle_clip, trimmed
from prdp.release.release import Release
from prdp.testing import simulate

LEVELS = ("0.9", "0.95")


@dataclass(frozen=True, slots=True)
class Measured:
    """One case at one share.

    Attributes:
        name: Set, policy and question.
        share: Which of ``SHARES``.
        figures: Errors in oracle clips.
        relative: The trimmed error in percent of the truth.
        covered: For each of ``LEVELS``, the part of the runs whose interval holds the truth.
        open: The part of the runs whose interval has no upper end.
        wider: How much longer the median interval is than that of the noise, where it has both ends.
    """

    name: tuple[str, str, str]
    share: int
    figures: Figures
    relative: float
    covered: tuple[float, ...]
    open: float
    wider: float


def measured(
    folder: Path | None, policies: tuple[str, ...], runs: int, seed: int, tail_factor: int
) -> Iterator[Measured]:
    """Yield every case at every share."""
    for data in sets(folder):
        for policy in policies:
            table = opened(data, policy)
            budgets = budgets_of(data, table, policy)
            for query, asked in QUERIES.items():
                values = data.values.astype(float) if query == "sum" else np.ones(data.values.size)
                truth = float(values.sum())
                for place, share in enumerate(SHARES):
                    oracle = oracle_clip(values, budgets, float(share))
                    releases = simulate(table, asked, share=share, method="clip", runs=runs, seed=seed)
                    errors = np.array([abs(float(release.exact) - truth) for release in releases])
                    p90, p99 = (float(np.quantile(errors / oracle, level)) for level in (0.9, 0.99))
                    middle = trimmed(errors)[0]
                    shape = Figures(middle / oracle, p90, p99, float(errors.mean()) / oracle)
                    name = (data.name, policy, query)
                    covered = coverage_of(releases, truth, tail_factor)
                    yield Measured(name, place, shape, 100 * middle / truth, *covered)


def coverage_of(
    releases: list[Release], truth: float, tail_factor: int
) -> tuple[tuple[float, ...], float, float]:
    """Return how often intervals hold and have no upper end, and how much wider than the noise they are."""

    @cache
    def error_bounds(place: int, level: str, tail_factor: int) -> tuple[float, float]:
        release = firsts[place]
        low, high = release.interval(level, tail_factor=tail_factor)
        return low - float(release.exact), high - float(release.exact)

    keys = [(release.noise_scales, release.clipping) for release in releases]
    first_of = {key: place for place, key in reversed([*enumerate(keys)])}
    firsts = dict(enumerate(releases))
    places = [first_of[key] for key in keys]
    gaps = [truth - float(release.exact) for release in releases]
    covered = []
    for level in LEVELS:
        ends = [error_bounds(place, level, tail_factor) for place in places]
        held = [low <= gap <= high for (low, high), gap in zip(ends, gaps, strict=True)]
        covered.append(float(np.mean(held)))
    full = np.array([error_bounds(place, "0.95", tail_factor) for place in places])
    noise = np.array([error_bounds(place, "0.95", 1) for place in places])
    closed = np.isfinite(full[:, 1])
    wider = (full[closed, 1] - full[closed, 0]) / (noise[closed, 1] - noise[closed, 0])
    return tuple(covered), float(1 - closed.mean()), float(np.median(wider)) if closed.any() else float("inf")
