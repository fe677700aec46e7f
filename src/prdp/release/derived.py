"""Answers computed from other answers: mean, variance and standard deviation. Pure post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from prdp.release.interval import Ends

_ROOT_BITS = 40  # of a root, whatever its unit: finer than the lattice that the answer is given on

# A sum's values differ and a count's are all 1, so a sum errs by more: it gets three times the count's part.
# A variance gives half to its mean, and half to the squares around it.
_VARIANCE = (("sum", Fraction(3, 8)), ("count", Fraction(1, 8)), ("squares", Fraction(1, 2)))
PARTS: dict[str, tuple[tuple[str, Fraction], ...]] = {
    "mean": (("sum", Fraction(3, 4)), ("count", Fraction(1, 4))),
    "variance": _VARIANCE,
    "std": _VARIANCE,
}
"""What each rule is computed from, in order, and the part of the share that goes there.

The squares are those of the distances from a center: the mean that the first two parts give, rounded.
"""


def combined(rule: str, parts: Sequence[Fraction], limits: Ends, off: Fraction = Fraction(0)) -> Fraction:
    """Return the answer that follows from its parts, moved into the public limits.

    A noisy count below 1 counts as 1. ``off`` is how far the released mean lies from the center that squared
    distances were taken from: by its square they exceed those from the mean.

    >>> limits = Fraction(0), Fraction(100)
    >>> combined("mean", [Fraction(90), Fraction(4)], limits)
    Fraction(45, 2)
    >>> combined("mean", [Fraction(900), Fraction(-3)], limits)  # 900 / 1, moved to the limit
    Fraction(100, 1)
    >>> squares = [Fraction(2), Fraction(4), Fraction(2)]  # of 0, 0, 1 and 1, around 0
    >>> combined("variance", squares, limits, off=Fraction(1, 2))
    Fraction(1, 4)
    """
    total, count = parts[0 if rule == "mean" else 2], max(parts[1], Fraction(1))
    value = total / count - off**2
    return _within(root(value) if rule == "std" else value, limits)


def combined_interval(rule: str, parts: Sequence[Ends], limits: Ends, center: Fraction | None = None) -> Ends:
    """Return ends that contain the answer whenever every part lies between its own.

    Where the count may be below 1, the answer may be anything. Squared distances are taken from ``center``,
    and their mean exceeds the variance by exactly the square of the true mean's distance from it: by at least
    that of the nearest and at most that of the farthest mean that sum and count allow.

    >>> sum_ends, count_ends = (Fraction(80), Fraction(120)), (Fraction(8), Fraction(10))
    >>> combined_interval("mean", [sum_ends, count_ends], (Fraction(0), Fraction(100)))  # 80/10 to 120/8
    (Fraction(8, 1), Fraction(15, 1))
    """
    if parts[1][0] < 1 or (rule != "mean" and center is None):
        return limits
    low, high = _quotient(parts[0 if rule == "mean" else 2], parts[1])
    if center is not None:
        below, above = (mean - center for mean in _quotient(parts[0], parts[1]))
        low -= max(below**2, above**2)
        high -= 0 if below <= 0 <= above else min(below**2, above**2)
    if rule == "std":
        low, high = root(low), root(high, up=True)
    return _within(low, limits), _within(high, limits)


def _quotient(total: Ends, count: Ends) -> Ends:
    few, many = count
    return total[0] / (many if total[0] > 0 else few), total[1] / (few if total[1] > 0 else many)


def _within(value: Fraction, limits: Ends) -> Fraction:
    return max(limits[0], min(limits[1], value))


def root(value: Fraction, *, up: bool = False) -> Fraction:
    """Return the square root to 40 bits or more, rounded down, or up; and 0 below 0.

    >>> root(Fraction(9, 4)), root(Fraction(-1)), root(Fraction(1, 4**50)) == Fraction(1, 2**50)
    (Fraction(3, 2), Fraction(0, 1), True)
    """
    if value <= 0:
        return Fraction(0)
    smaller = max(0, value.denominator.bit_length() - value.numerator.bit_length())
    bits = _ROOT_BITS + smaller // 2 + 1
    scaled = value * (1 << (2 * bits))
    below = isqrt(int(scaled))
    return Fraction(below + (up and below**2 < scaled), 1 << bits)
