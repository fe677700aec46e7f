"""Compute each operation on doubles: the one table that evaluation and bounds both read.

Unknown is ``None``, and NaN does not exist: an operation that would give it gives ``None``. Zero
has no sign. What is too large is an infinity. Nothing here ever raises.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from prdp.expressions.functions import NumberFunction
    from prdp.expressions.nodes import ArithmeticOp


def divide(left: float, right: float) -> float | None:
    """Return the quotient; a positive number over zero is +infinity, whatever zero's sign.

    >>> divide(1.0, -0.0), divide(-1.0, 0.0), divide(0.0, 0.0)
    (inf, -inf, None)
    """
    if right != 0:
        return _known(left / right)
    return math.copysign(math.inf, left) if left else None


def square_root(x: float) -> float | None:
    """Return the square root; unknown for a negative number."""
    return math.sqrt(x) if x >= 0 else None


def exponential(x: float) -> float:
    """Return e to the power x; +infinity when too large."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def power(base: float, exponent: float) -> float | None:
    """Return base to the power exponent.

    A negative base needs a whole finite exponent, else the result is unknown; zero to a negative
    power is +infinity; anything to the power 0 is 1.

    >>> power(0.0, -1.0), power(-8.0, 3.0), power(-8.0, 0.5), power(10.0, 400.0)
    (inf, -512.0, None, inf)
    """
    if base == 0:
        return math.inf if exponent < 0 else float(exponent == 0)
    if base < 0 and not is_whole(exponent):
        return None
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf


def remainder(left: float, right: float) -> float | None:
    """Return what is left of a division, with the sign of what is divided; unknown for zero and infinity.

    >>> remainder(7.5, -2.0), remainder(-7.5, 2.0), remainder(7.5, math.inf), remainder(1.0, 0.0)
    (1.5, -1.5, 7.5, None)
    """
    return math.fmod(left, right) if right and math.isfinite(left) else None


def rounded(x: float, digits: float = 0.0) -> float:
    """Return a number rounded to digits behind the point, halves away from zero.

    >>> rounded(2.5), rounded(-0.5), rounded(0.49999999999999994), rounded(1.005, 2.0), rounded(1250.0, -2.0)
    (3.0, -1.0, 0.0, 1.0, 1300.0)
    """
    scale = math.pow(10.0, abs(digits))
    if digits < 0:
        return _half_away(x / scale) * scale
    return _half_away(x * scale) / scale if abs(x) < LARGEST_WITH_FRACTION else x


LARGEST_WITH_FRACTION = 2.0**52
"""From here on, doubles are whole numbers."""


def _half_away(x: float) -> float:
    if math.isinf(x):
        return x
    size = float(math.floor(abs(x)))
    return math.copysign(size + (abs(x) - size >= 0.5), x)


def sign(x: float) -> float:
    """Return 1, 0 or -1."""
    return float((x > 0) - (x < 0))


def is_whole(x: float) -> bool:
    """Return whether a double is a finite whole number."""
    return math.isfinite(x) and x == math.floor(x)


def _logarithm(log: Callable[[float], float]) -> Callable[[float], float | None]:
    def apply(x: float) -> float | None:
        if x <= 0:
            return None if x else -math.inf
        return log(x)

    return apply


def _known(x: float) -> float | None:
    return x if x == x else None  # noqa: PLR0124  (only NaN differs from itself)


ARITHMETIC_MEANING: dict[ArithmeticOp, Callable[[float, float], float | None]] = {
    "+": lambda left, right: _known(left + right),
    "-": lambda left, right: _known(left - right),
    "*": lambda left, right: _known(left * right),
    "/": divide,
    "%": remainder,
}

FUNCTION_MEANING: dict[NumberFunction, Callable[..., float | None]] = {
    "least": min,
    "greatest": max,
    "abs": abs,
    "sqrt": square_root,
    "ln": _logarithm(math.log),
    "log2": _logarithm(math.log2),
    "log10": _logarithm(math.log10),
    "exp": exponential,
    "power": power,
    "round": rounded,
    "floor": lambda x: x if math.isinf(x) else float(math.floor(x)),
    "ceil": lambda x: x if math.isinf(x) else float(math.ceil(x)),
    "sign": sign,
}
