"""Answers computed from other answers: mean, variance and standard deviation. Pure post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from prdp.release.ends import Ends

_ROOT_BITS = 40  # a root to 2^-40: finer than the lattice that the answer is given on

# A sum's values differ and a count's are all 1, so a sum errs by more: it gets three times the count's part.
# A variance gives half to its mean, and half to the squares around it.
_VARIANCE = (("sum", Fraction(3, 8)), ("count", Fraction(1, 8)), ("squares", Fraction(1, 2)))
PARTS: dict[str, tuple[tuple[str, Fraction], ...]] = {
    "mean": (("sum", Fraction(3, 4)), ("count", Fraction(1, 4))),
    "variance": _VARIANCE,
    "std": _VARIANCE,
}
"""What each rule is computed from, in order, and the part of the share that goes there.

The squares are those of the distances from the mean that the first two parts give.
"""


def combined(rule: str, parts: Sequence[Fraction], limits: Ends) -> Fraction:
    """Return the answer that follows from its parts, moved into the public limits.

    A noisy count below 1 counts as 1.

    >>> limits = Fraction(0), Fraction(100)
    >>> combined("mean", [Fraction(90), Fraction(4)], limits)
    Fraction(45, 2)
    >>> combined("mean", [Fraction(900), Fraction(-3)], limits)  # 900 / 1, moved to the limit
    Fraction(100, 1)
    """
    total, count = parts[0 if rule == "mean" else 2], max(parts[1], Fraction(1))
    value = total / count
    return _within(root(value) if rule == "std" else value, limits)


def combined_interval(rule: str, parts: Sequence[Ends], limits: Ends) -> Ends:
    """Return ends that contain the answer whenever every part lies between its own.

    Where the count may be below 1, the answer may be anything. The squares are those of distances from the
    estimated mean, so they exceed the variance by the square of how far the true mean lies from it.

    >>> sum_ends, count_ends = (Fraction(80), Fraction(120)), (Fraction(8), Fraction(10))
    >>> combined_interval("mean", [sum_ends, count_ends], (Fraction(0), Fraction(100)))  # 80/10 to 120/8
    (Fraction(8, 1), Fraction(15, 1))
    """
    if parts[1][0] < 1:
        return limits
    low, high = _quotient(parts[0 if rule == "mean" else 2], parts[1])
    if rule != "mean":
        means = _quotient(parts[0], parts[1])
        low -= (means[1] - means[0]) ** 2
    if rule == "std":
        low, high = root(low), root(high)
    return _within(low, limits), _within(high, limits)


def _quotient(total: Ends, count: Ends) -> Ends:
    few, many = count
    return total[0] / (many if total[0] > 0 else few), total[1] / (few if total[1] > 0 else many)


def _within(value: Fraction, limits: Ends) -> Fraction:
    return max(limits[0], min(limits[1], value))


def root(value: Fraction) -> Fraction:
    """Return the square root to 2^-40, and 0 below 0.

    >>> root(Fraction(9, 4)), root(Fraction(-1))
    (Fraction(3, 2), Fraction(0, 1))
    """
    return Fraction(isqrt(max(0, int(value * (1 << (2 * _ROOT_BITS))))), 1 << _ROOT_BITS)
