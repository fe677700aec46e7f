"""What an error is compared with: the oracle clip, trimmed means, and their standard errors.

None of this is private: it reads the data as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def oracle_clip(values: Floats, budgets: Floats, share: float) -> float:
    """Return the error of the best fixed clipping point at a share.

    min over b of b / share + Σ (v - E·b)₊, which by linear programming duality is the
    fractional knapsack: the most value that a budget mass of 1 / share can hold.
    """
    order = np.argsort(-values / budgets)
    value, weight = values[order], budgets[order]
    filled = np.cumsum(weight)
    whole = int(np.searchsorted(filled, 1 / share, side="right"))
    total = float(value[:whole].sum())
    if whole < value.size:
        room = 1 / share - (filled[whole - 1] if whole else 0.0)
        total += float(value[whole] * room / weight[whole])
    return total


def best_point(values: Floats, budgets: Floats, share: float = 1.0) -> float:
    """Return the point of ``oracle_clip``: the ratio above which lies a budget mass of 1 / share."""
    ratios = values / budgets
    order = np.argsort(-ratios)
    place = int(np.searchsorted(np.cumsum(budgets[order]), 1 / share))
    return float(ratios[order[min(place, order.size - 1)]])


def sum_floor(values: Floats, budgets: Floats, share: float = 1.0) -> float:
    """Return what any sum must err by, on this table or on it without some records: Δ / (1 + exp(cost)).

    Removed are the records with the largest ratios of value to budget, or a single one; any set is valid.
    """
    order = np.argsort(-values / budgets)
    tail_factor = np.minimum(700, share * np.cumsum(budgets[order]))
    many = np.cumsum(values[order]) / (1 + np.exp(tail_factor))
    alone = values / (1 + np.exp(np.minimum(700, share * budgets)))
    return float(max(np.max(many, initial=0), np.max(alone, initial=0)))


def count_floor(budgets: Floats, share: float = 1.0) -> float:
    """Return max over k of k / (1 + exp(share · the k smallest budgets)): what any count must err by.

    On this table, or on it without those k records; for a distinct count, the budgets are the keys' sums.
    """
    removed = np.arange(1, budgets.size + 1)
    tail_factor = np.minimum(700, share * np.cumsum(np.sort(budgets)))
    return float(np.max(removed / (1 + np.exp(tail_factor)), initial=0))


def slope(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the slope of the straight line through points on logarithmic axes, and its standard error."""
    xs, ys = np.log(np.array(points)).T
    steep, start = np.polyfit(xs, ys, 1)
    left = ys - steep * xs - start
    spread = float(left @ left) / max(1, xs.size - 2) / float(((xs - xs.mean()) ** 2).sum())
    return float(steep), math.sqrt(spread)


def trimmed(errors: Floats, part: float = 0.2) -> tuple[float, float]:
    """Return the mean without the lowest and highest ``part``, and its standard error."""
    ordered = np.sort(errors)
    cut = int(part * ordered.size)
    kept = ordered[cut : ordered.size - cut]
    winsorised = np.clip(ordered, kept[0], kept[-1])
    spread = float(winsorised.std(ddof=min(1, ordered.size - 1))) / ((1 - 2 * part) * math.sqrt(ordered.size))
    return float(kept.mean()), spread
