"""Error figures of a rule on a case, by integration and not by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.choosing.cases import Case

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Branch:
    """One way a rule can go: its chance, where it clips, and what is left for the answer.

    Attributes:
        chances: For each point, the probability that the rule goes this way and clips there.
        part: The part of the share that is left for the answer.
    """

    chances: Floats
    part: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Errors in multiples of the oracle clip: 20 % trimmed mean, quantiles, mean."""

    trimmed: float
    p90: float
    p99: float
    mean: float


def figures(case: Case, share: float, oracle: float, branches: Sequence[Branch]) -> Figures:
    """Return the figures of |Laplace noise - pull| over everything that a rule may do."""
    chance = np.concatenate([branch.chances for branch in branches])
    scale = np.concatenate([case.points / (share * branch.part) for branch in branches])
    pull = np.concatenate([case.pulls for _ in branches])
    used = chance > 1e-13
    chance, scale, pull = chance[used] / chance[used].sum(), scale[used] / oracle, pull[used] / oracle
    mean = float(chance @ (np.abs(pull) + scale * np.exp(-np.abs(pull) / scale)))
    errors = np.geomspace(1e-4, 1e6, 1201)
    at_most = chance @ _within(errors[None, :], pull[:, None], scale[:, None])
    levels = (np.arange(600) + 0.5) / 600 * 0.6 + 0.2
    trimmed = float(np.interp(levels, at_most, errors).mean())
    p90, p99 = np.interp([0.9, 0.99], at_most, errors)
    return Figures(trimmed, float(p90), float(p99), mean)


def _within(error: Floats, pull: Floats, scale: Floats) -> Floats:
    """Return Pr[|noise - pull| ≤ error] for Laplace noise."""
    return _cdf((pull + error) / scale) - _cdf((pull - error) / scale)


def _cdf(x: Floats) -> Floats:
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, tail, 1 - tail)
