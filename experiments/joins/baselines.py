"""What others would answer for the paths of two edges: R2T and residual sensitivity.

In floating point, for comparison only.

R2T (Dong, Fang, Yi, Tao and Machanavajjhala, 2022) races truncations at doubling thresholds; its personal
form (Sun, Dong, Qiu and Yi) truncates at multiples of each record's budget. Both are given our truncation at
the nodes, which changes by at most the threshold when an edge is added, as their linear program does.
Residual sensitivity (Dong and Yi, 2021) bounds what an edge can change by twice the largest degree, with
general Cauchy noise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prdp.cells.edges import Pairs
from prdp.graphs.results import CutStars
from prdp.mechanisms.smooth import most_change, two_paths

Floats = NDArray[np.float64]

BETA = 0.1
"""The failure rate of a race."""


def r2t_at_the_least_budget(pairs: Pairs, share: float, runs: int, random: np.random.Generator) -> Floats:
    """Return answers of R2T when every edge is protected as well as the best protected one conceivable."""
    uniform = Pairs(pairs.levels, pairs.nodes, pairs.ends, np.zeros_like(pairs.level))
    most = most_change(pairs.nodes)
    thresholds = [2**step for step in range(1, math.ceil(math.log2(most)) + 1)]
    least = float(pairs.levels.at_least)
    return _race(CutStars.of(uniform, 2), [tau / least for tau in thresholds], share, runs, random)


def r2t_with_personal_truncation(
    pairs: Pairs, share: float, runs: int, random: np.random.Generator
) -> Floats:
    """Return answers of the race over multiples b of each edge's own budget."""
    levels = pairs.levels
    first, last = 1 / float(levels.at_most), most_change(pairs.nodes) / float(levels.at_least)
    points = [first * 2**step for step in range(math.ceil(math.log2(last / first)) + 1)]
    return _race(CutStars.of(pairs, 2), points, share, runs, random)


def _race(
    stars: CutStars, points: list[float], share: float, runs: int, random: np.random.Generator
) -> Floats:
    """Return the largest of the truncated counts, with noise for all rounds and less its likely excess."""
    rounds = len(points)
    best = np.zeros(runs)
    for point in points:
        value = stars.value(Fraction(point) * stars.steps * stars.levels.quantum) / stars.steps
        scale = rounds * point / share
        best = np.maximum(best, value + random.laplace(0, scale, runs) - scale * math.log(rounds / BETA))
    return best


def residual_sensitivity(pairs: Pairs, budget: float, runs: int, random: np.random.Generator) -> Floats:
    """Return answers with noise in proportion to the residual sensitivity at one budget for all edges."""
    beta = budget / 10
    largest, most = 2 * int(pairs.degrees().max(initial=0)), most_change(pairs.nodes)
    steps = np.arange(0, most + 1)
    bound = float((np.exp(-beta * steps) * np.minimum(largest + 2 * steps, most)).max())
    return two_paths(pairs) + 10 * bound / budget * _quartic(runs, random)


def _quartic(runs: int, random: np.random.Generator) -> Floats:
    """Draw from the density proportional to 1 / (1 + z⁴), by rejection from Cauchy noise."""
    kept: list[Floats] = []
    while sum(map(len, kept)) < runs:
        z = random.standard_cauchy(4 * runs)
        accept = random.random(z.size) * (1 + math.sqrt(2)) / 2 <= (1 + z**2) / (1 + z**4)
        kept.append(z[accept])
    return np.concatenate(kept)[:runs]
