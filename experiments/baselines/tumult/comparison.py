"""Sums under the samplers' own policies: their error, that of the default and that of ``clip``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow

import prdp
from experiments.baselines.tumult.environment import FOLDER, Job, UnavailableError, drawn
from experiments.baselines.tumult.samplers import Sampler, distance_from_law, samplers
from experiments.datasets import CUT, LARGEST, DataSet
from experiments.yardsticks import Floats, trimmed
from prdp.testing import simulate

ANCHORS = (1_000, 10_000, 100_000)
"""The sizes of a record that may lose 1."""


@dataclass(frozen=True, slots=True)
class Row:
    """A set and a sampler: errors in percent of the total, 20 % trimmed each side, with standard errors.

    Attributes:
        theirs: Of the sampler; not the same from call to call, because its randomness can't be seeded.
        ours: Of the library's default under the same policy, the same for the same seed.
        clip: Of ``clip``, likewise.
        method: What the default is there.
        distance: For additive noise, how far its draws are from the law that ``psi`` says (Kolmogorov).
    """

    data: str
    sampler: str
    promise: str
    anchor: int
    policy: str
    method: str
    ours: float
    ours_se: float
    clip: float
    clip_se: float
    theirs: float
    theirs_se: float
    distance: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows, or why there are none."""

    rows: tuple[Row, ...]
    missing: str | None = None


def compared(
    sets: Iterable[DataSet], runs: int, seed: int, anchors: Sequence[int] = ANCHORS, folder: Path = FOLDER
) -> Comparison:
    """Compare every sampler with the default and with ``clip`` on every set, at every anchor."""
    cases = [(data, anchor, sampler) for data in sets for anchor in anchors for sampler in samplers(anchor)]
    jobs = [Job(sampler.function, sampler.given(_total(data)), runs) for data, _, sampler in cases]
    try:
        answers = drawn(jobs, folder)
    except UnavailableError as reason:
        return Comparison((), str(reason))
    rows = (_row(*case, draws, seed) for case, draws in zip(cases, answers, strict=True))
    return Comparison(tuple(rows))


def _total(data: DataSet) -> float:
    return float(data.values.sum())


def _row(data: DataSet, anchor: int, sampler: Sampler, draws: Floats, seed: int) -> Row:
    total = _total(data)
    theirs = draws if sampler.psi else draws - total
    distance = distance_from_law(draws, sampler.psi, float(anchor)) if sampler.psi else None
    drawn = [our_releases(data, sampler.policy, draws.size, seed, method) for method in (None, "clip")]
    ours = [np.array([float(release.exact) for release in releases]) - total for releases in drawn]
    figures = [trimmed(100 * np.abs(errors) / total) for errors in (*ours, theirs)]
    stated = (data.name, sampler.name, sampler.promise, anchor, sampler.policy, drawn[0][0].method)
    return Row(*stated, *figures[0], *figures[1], *figures[2], distance)


def our_releases(
    data: DataSet, policy: str, runs: int, seed: int, method: str | None = None
) -> list[prdp.Release]:
    """Return the library's sums under a policy; None is its default method."""
    table = prdp.open(
        pyarrow.table({"v": data.values}),
        policy=prdp.Policy(policy),
        bounds={"v": (CUT, LARGEST)},
        name=data.name,
        synthetic=True,
    )
    return simulate(table, prdp.sum("v"), method=method, runs=runs, seed=seed)
