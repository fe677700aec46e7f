"""Edges at which results of arithmetic leave the doubles, and the doubles next to them; exactly."""

from __future__ import annotations

import math
from fractions import Fraction

BEYOND = Fraction(2) ** 1024 - Fraction(2) ** 970
"""From here on a result rounds to infinity."""


def least_double(edge: Fraction) -> float:
    """Return the smallest double that is at least an edge."""
    near = float(edge)
    return near if Fraction(near) >= edge else math.nextafter(near, math.inf)


def greatest_double(edge: Fraction) -> float:
    """Return the largest double that is at most an edge, which is not negative."""
    near = float(edge)
    return near if Fraction(near) <= edge else math.nextafter(near, 0.0)
