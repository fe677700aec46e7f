"""Compute quantiles of all clients' noise: what an empty coordinate exceeds with a given chance."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LATTICE = 1 << 18
"""Width up to which totals of discrete noise are tabulated; beyond it, the continuous law is their limit."""


@lru_cache(maxsize=4096)
def heads_threshold(coins: int, loss: float, chance: float) -> int:
    """Return the smallest T with Pr[heads >= T] <= chance among coins that show heads with 1/(1 + e^loss).

    >>> heads_threshold(100, 0.0, 0.05)  # Pr[58 or more of 100] = 0.067, Pr[59 or more] = 0.044
    59
    """
    q = 1 / (1 + math.exp(min(loss, 700.0)))
    centre = int(coins * q)
    counts = np.arange(centre, coins + 1 if coins < 1000 else min(coins, _far(coins, q)) + 1)
    log_first = _log_binomial(coins, centre) + centre * math.log(q) + (coins - centre) * math.log1p(-q)
    odds = math.log(q) - math.log1p(-q)
    steps = np.log((coins - counts[:-1]) / (counts[:-1] + 1.0)) + odds
    masses = np.exp(log_first + np.concatenate([[0.0], np.cumsum(steps)]))
    return _first_below(masses, chance, centre)


def _far(coins: int, q: float) -> int:
    """Return a count that heads pass with a chance below 1e-40 or so."""
    return int(coins * q + 14 * math.sqrt(coins * q * (1 - q)) + 60)


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _first_below(masses: Floats, chance: float, start: int) -> int:
    """Return the first place from which on the masses add up to at most ``chance``."""
    tails = np.cumsum(masses[::-1])[::-1]
    return start + int(np.count_nonzero(tails > chance))


@lru_cache(maxsize=4096)
def laplace_threshold(draws: int, scale: Fraction, chance: float) -> int:
    """Return the smallest T with Pr[sum of discrete Laplace draws >= T] <= chance, for chance < 1/2.

    Where the table would be too long, the continuous law takes its place: its tail is at least as heavy.

    >>> laplace_threshold(1, Fraction(10), 0.01)  # Pr[X >= k] = e^(-k/10)/(1 + e^(-1/10))
    40
    """
    if not draws:
        return 1
    reach = _reach(draws, float(scale))
    if 2 * reach <= _LATTICE:
        size = 1 << (2 * reach).bit_length()
        span = math.cosh(min(1 / float(scale), 700.0)) - 1
        angles = 2 * np.pi * np.arange(size // 2 + 1) / size
        transform = np.exp(-draws * np.log1p((1 - np.cos(angles)) / span))
        masses = np.fft.irfft(transform, size)[: size // 2]
        return _first_below(np.maximum(masses, 0), chance, 0)
    return math.ceil(float(scale) * gamma_difference_quantile(draws, chance))


def _reach(draws: int, scale: float) -> int:
    """Return a bound on a sum of draws, except with probability below about 1e-16."""
    return math.ceil(scale * (14 * math.sqrt(draws) + 60)) + 4


@lru_cache(maxsize=1024)
def gamma_difference_quantile(draws: int, chance: float) -> float:
    """Return x with Pr[sum of continuous Laplace draws of scale 1 > x] = chance, for chance < 1/2.

    The sum is the difference of the times of the n-th event in two Poisson processes. The first is
    later by more than x if, when the second has its n-th event and x more has passed, it has had fewer than
    n:

        Pr = Σ_j Pr[Poisson(x) = j] · Pr[it has had at most n - 1 - j by the second's n-th event],

    the latter count being negative binomial with n and 1/2. All terms are positive, so nothing cancels.

    >>> round(gamma_difference_quantile(1, 0.05), 6) == round(math.log(10), 6)
    True
    """
    most = min(draws, math.ceil(14 * math.sqrt(draws) + 60) * 3)
    places = np.arange(most)
    earlier = _half_half_at_most(draws, most)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, most)))]) if most > 1 else np.zeros(1)

    def tail(x: float) -> float:
        return float(np.sum(np.exp(places * math.log(x) - x - logs) * earlier))

    low, high = 1e-9, 14 * math.sqrt(draws) + 60
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > chance else (low, middle)
    return high


def _half_half_at_most(n: int, most: int) -> Floats:
    """Return Pr[X <= n - 1 - j] for j below ``most``, X the failures before the n-th success of 1/2.

    Pr[X <= n - 1] is 1/2 by symmetry, and the masses below n - 1 follow by their ratios.
    """
    counts = np.arange(n - 1, max(n - 1 - most, 0), -1, dtype=float)
    log_first = math.lgamma(2 * n - 1) - 2 * math.lgamma(n) - (2 * n - 1) * math.log(2)
    log_ratios = np.log(2 * counts / (n - 1 + counts))  # from X = k to X = k - 1
    masses = np.exp(log_first + np.concatenate([[0.0], np.cumsum(log_ratios)]))[: most - 1]
    return np.maximum(0.5 - np.concatenate([[0.0], np.cumsum(masses)]), 0)
