"""The library's searches as probabilities over points, in floats: quick enough to try hundreds of rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NODES = np.concatenate([np.linspace(0, 8, 81), np.linspace(8.4, 30, 55)])
_TIMES, _TIME_WEIGHTS = np.polynomial.legendre.leggauss(64)


def choice(penalties: Floats) -> Floats:
    """Return Pr[j] ∝ exp(-penalty): the exponential choice."""
    weights = np.exp(penalties.min() - penalties)
    return np.asarray(weights / weights.sum())


def flips(penalties: Floats) -> Floats:
    """Return the chances of permute-and-flip: in random order, the first whose coin shows heads."""
    weights = np.exp(penalties.min() - penalties)
    times = (_TIMES + 1) / 2
    left = 1 - weights[:, None] * times
    rest = np.exp(np.log(left).sum(axis=0))
    chances = weights * ((rest / left) @ (_TIME_WEIGHTS / 2))
    return np.asarray(chances / chances.sum())


def scan(masses: Floats, thresholds: Floats, a1: float, a2: float, *, one_sided: bool) -> Floats:
    """Return where a scan stops; masses and thresholds are times the share.

    Args:
        masses: What each point clips.
        thresholds: What it may clip.
        a1: The part of the share for the threshold's noise.
        a2: The part for the masses' noises.
        one_sided: Whether noises only lower (exponential) or go both ways (Laplace).
    """
    sizes = np.diff(_NODES)
    middles = _NODES[:-1] + sizes / 2
    weights = np.exp(-_NODES[:-1]) - np.exp(-_NODES[1:])
    if one_sided:
        rho, weight = -middles, weights
    else:
        rho, weight = np.concatenate([-middles, middles]), np.concatenate([weights, weights]) / 2
    room = (thresholds - masses)[None, :] * a2 + (rho / a1 * a2)[:, None]
    tail = np.exp(-np.abs(room))
    half = 1.0 if one_sided else 0.5
    stop = np.where(room < 0, half * tail, 1 - (1 - half) * tail)
    stop[:, -1] = 1.0
    go = np.cumprod(1 - stop, axis=1)
    tail_factor = np.concatenate([np.ones((rho.size, 1)), go[:, :-1]], axis=1)
    return np.asarray(weight @ (tail_factor * stop))
