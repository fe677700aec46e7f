"""Other libraries' mechanisms for ``Table.release``."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from prdp.errors import InvalidRequest
from prdp.foreign import Mechanism

_SPARE = 1 - Fraction(1, 1 << 20)
"""What a measurement is made with, so that the library's own rounding up stays below epsilon."""


def opendp(make: Callable[[float], Any], *, column: str | None = None) -> Mechanism:
    """Return the mechanism of an OpenDP measurement over one column.

    The measurement must take a list of the column's values, be differentially private under
    *symmetric distance* (adding or removing a row), and have pure privacy loss ``map(1) <= epsilon``: that is
    checked each time, before the measurement sees a value. Values that are missing are left out first.

    Args:
        make: From epsilon to the measurement, for example
            ``lambda eps: space >> then_clamp((0, 100)) >> then_sum() >> then_laplace(100 / eps)``.
        column: Which column it reads; by default the only one.
    """
    if not callable(make):
        raise InvalidRequest(f"adapters.opendp takes a function from epsilon to a measurement, not {make!r}.")

    def mechanism(rows: Any, epsilon: Fraction, beta: Fraction) -> object:  # noqa: ARG001
        measurement = make(rounded_down(epsilon * _SPARE))
        if not measurement.map(1) <= rounded_down(epsilon):
            raise ValueError("the measurement costs more than epsilon for one row")
        values = rows[column if column is not None else rows.column_names[0]]
        return measurement(values.drop_null().to_pylist())

    return mechanism


def rounded_down(number: Fraction) -> float:
    """Return the greatest double that is at most a number.

    >>> rounded_down(Fraction(1, 10)) < Fraction(1, 10), rounded_down(Fraction(1, 2))
    (True, 0.5)
    """
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)
