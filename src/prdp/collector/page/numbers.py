"""Numbers as a page shows them."""

from __future__ import annotations

import math


def shown(number: float | None) -> str:
    """Return a number for reading: as many digits as it deserves.

    >>> shown(1234.5), shown(0.01234), shown(-3.0), shown(None)
    ('1,234', '0.0123', '-3', '–')
    """
    if number is None or not math.isfinite(number):
        return "–"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two ends, at most so many.

    >>> ticks(0, 47)
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low]
    rough = span / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [place * step for place in range(first, last + 1)]
