"""A record's values as protocols read them: total functions, since no record may cause an error."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prdp.cells.measure import Measure
    from prdp.local.protocols.protocol import Record

Category = str | int
_MAX_DIGITS = 400


def steps_of(record: Record, measure: Measure) -> int:
    """Return a value as whole rounding steps within its public bounds; 0 for what is missing or no number.

    >>> from prdp.cells.measure import Measure
    >>> cents = Measure("price", Fraction(1, 100), low=0, high=500)
    >>> steps_of({"price": 2.5}, cents), steps_of({"price": 99}, cents), steps_of({"price": "dear"}, cents)
    (250, 500, 0)
    """
    value = number_of(record.get(measure.column))
    if value is None:
        return 0
    if isinstance(value, Fraction):
        value = round(value / measure.round_to)
    return int(max(measure.low, min(measure.high, value)))


def number_of(given: object) -> Fraction | float | None:
    """Return a number exactly, an infinity as it is, and None for everything else.

    >>> number_of(0.5), number_of(float("inf")), number_of(True), number_of("7")
    (Fraction(1, 2), inf, None, None)
    """
    if isinstance(given, bool) or not isinstance(given, Real | Decimal):
        return None
    try:
        if isinstance(given, Decimal) and given.is_finite() and abs(given.adjusted()) > _MAX_DIGITS:
            return Fraction(float(given))  # exactly it would take as long as its exponent is large
        if math.isfinite(given):
            return Fraction(given) if isinstance(given, int | Decimal | Fraction) else _fraction(given)
        return None if math.isnan(given) else float(given)
    except (ArithmeticError, ValueError, TypeError):
        return None


def _fraction(given: Real) -> Fraction:
    return Fraction(int(given)) if isinstance(given, Integral) else Fraction(float(given))


def category_of(given: object, places: dict[Category, int]) -> int | None:
    """Return the public category of a value, 1.0 being 1; None for any other value.

    >>> places = {"student": 0, 7: 1}
    >>> category_of("student", places), category_of(7.0, places), category_of("chef", places)
    (0, 1, None)
    """
    if isinstance(given, str):
        return places.get(str.__str__(given))  # of a class of somebody's own: the text alone
    value = number_of(given)
    return places.get(int(value)) if isinstance(value, Fraction) and value.denominator == 1 else None


def bin_of(given: object, edges: Sequence[Fraction]) -> int | None:
    """Return the bin of a value; None for one beyond the edges and for no number.

    As in the central model, an edge belongs to the bin that it begins, and the last one to the last bin.

    >>> edges = [Fraction(0), Fraction(18), Fraction(65)]
    >>> bin_of(17, edges), bin_of(18, edges), bin_of(65, edges), bin_of(66, edges)
    (0, 1, 1, None)
    """
    value = number_of(given)
    if value is None or not edges[0] <= value <= edges[-1]:
        return None
    return min(len(edges) - 2, bisect_right(edges, value) - 1)
