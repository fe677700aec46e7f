"""The columns that every frame takes: numbers of one type, and names that are all different."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def numbers_of(edges: Sequence[Fraction]) -> list[int] | list[float]:
    """Return edges as numbers of one type, which every frame has: 64-bit integers, else floats."""
    if all(edge.denominator == 1 and -(2**63) <= edge < 2**63 for edge in edges):
        return [int(edge) for edge in edges]
    return [float(edge) for edge in edges]


def named_apart(columns: Sequence[tuple[str, list[Any]]]) -> dict[str, list[Any]]:
    """Return the columns by name; a name that is taken already gets a number."""
    named: dict[str, list[Any]] = {}
    for name, column in columns:
        free, number = name, 2
        while free in named:
            free, number = f"{name}_{number}", number + 1
        named[free] = column
    return named
