"""Compute each operation on doubles: the one table that evaluation and bounds both read.

Unknown is ``None``, and NaN does not exist: an operation that would give it gives ``None``. Zero
has no sign. What is too large is an infinity. Nothing here ever raises.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from prdp.expressions.nodes import ArithmeticOp, FunctionName


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
}

FUNCTION_MEANING: dict[FunctionName, Callable[..., float | None]] = {
    "least": min,
    "greatest": max,
    "abs": abs,
    "sqrt": square_root,
    "ln": _logarithm(math.log),
    "log2": _logarithm(math.log2),
    "log10": _logarithm(math.log10),
    "exp": exponential,
    "power": power,
}
