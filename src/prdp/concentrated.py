"""Zero-concentrated privacy per record: what pure mechanisms may use of a share, and losses as (ε, δ).

A concentrated policy gives each record a P(r) in place of E(r). Everything inside counts in e(r) = √(2·P(r)),
which takes the place of E(r). In full: proofs/concentrated.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Literal

from prdp.declare.exact import Exact, exact
from prdp.errors import InvalidRequest
from prdp.noise.exponential import exp_bounds

Notion = Literal["pure", "zcdp"]
"""What a policy's number bounds: E(r), log-ratios of chances; or P(r), Rényi divergences over their order."""

NOTIONS = ("pure", "zcdp")

_ROOT_BITS = 40
_CHECK_BITS = 128
_STEPS = 200
_UP = 1 + 1e-9


def root_below(number: Fraction, bits: int = _ROOT_BITS) -> Fraction:
    """Return a root, rounded down to so many bits; that of a square is exact.

    >>> root_below(Fraction(1, 4)), root_below(Fraction(2)) ** 2 <= 2
    (Fraction(1, 2), True)
    """
    above, below = isqrt(number.numerator), isqrt(number.denominator)
    if above * above == number.numerator and below * below == number.denominator:
        return Fraction(above, below)
    size = (number.denominator.bit_length() - number.numerator.bit_length()) // 2
    shift = max(0, bits + size)
    return Fraction(isqrt((number.numerator << 2 * shift) // number.denominator), 1 << shift)


@lru_cache(maxsize=4096)
def pure_share(share: Fraction, least: Fraction) -> Fraction:
    """Return a share t at which a pure mechanism of budgets e(r) is within ``share`` of every P(r).

    A mechanism whose log-ratios are at most x is (x · tanh(x/2))-concentrated, so that t · e · tanh(t · e/2)
    <= share · e² / 2 is enough; it holds for all larger e where it holds for the least one. Rounded down.

    >>> round(float(pure_share(Fraction(1, 4), Fraction(1, 1000))), 6)  # the root, for small e
    0.5
    >>> round(float(pure_share(Fraction(1), Fraction(4))), 3)  # P = 8 is x = 8.005, twice e
    2.001

    Args:
        share: The part of every record's P(r).
        least: The least e(r) of a record that takes part; 0 for any.
    """
    root = root_below(share)
    if not least:
        return root
    high, low = _largest(float(share), float(least)), root
    found = Fraction(math.floor(high * (1 << _ROOT_BITS)), 1 << _ROOT_BITS) if high > float(low) else low
    return found if found > low and _is_within(found, share, least) else low


def _largest(share: float, least: float) -> float:
    """Return about how large such a share is."""
    most = share * least * least / 2
    low, high = 0.0, most + 2 + math.sqrt(2 * most)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.tanh(middle / 2) <= most else (low, middle)
    return low / least * (1 - 2.0**-30)


def _is_within(found: Fraction, share: Fraction, least: Fraction) -> bool:
    """Return whether t · tanh(t · e / 2) <= share · e / 2; tanh(x/2) is (1 - exp(-x)) / (1 + exp(-x))."""
    one = 1 << _CHECK_BITS
    low, _ = exp_bounds(found * least, _CHECK_BITS)
    return found * Fraction(one - low, one + low) <= share * least / 2


@dataclass(frozen=True, slots=True)
class Conversion:
    """The share at which a pure mechanism of the budgets e(r) is drawn, for the share that is charged.

    >>> Conversion().drawn(Fraction(1, 4)), Conversion(Fraction(0)).drawn(Fraction(1, 4))
    (Fraction(1, 4), Fraction(1, 2))

    Attributes:
        least: The least e(r) of a record that takes part; None for a pure policy, where nothing is converted.
    """

    least: Fraction | None = None

    def drawn(self, share: Fraction) -> Fraction:
        """Return the share at which a pure mechanism is drawn."""
        return share if self.least is None else pure_share(share, self.least)


PURE = Conversion()
"""What is done to shares under a pure policy: nothing."""


def read_delta(delta: Exact) -> float:
    """Return a δ as a float.

    >>> read_delta("1e-6")
    1e-06
    """
    found = exact(delta, "delta")
    if not Fraction(1, 10**300) <= found < 1:
        raise InvalidRequest(
            f"delta={delta!r} is no chance of failure: it lies between 0 and 1, such as '1e-6'."
        )
    return float(found)


def epsilon_at(loss: float, delta: float) -> float:
    """Return an ε such that a loss of P is (ε, δ)-private, rounded up (Canonne, Kamath and Steinke 2020).

    For any α > 1, ε = α·P + (ln(1/δ) + α·ln(1 - 1/α) - ln(α - 1)) / (α - 1) will do; a good one is searched.

    >>> round(epsilon_at(0.5, 1e-6), 2), round(0.5 + 2 * math.sqrt(0.5 * math.log(1e6)), 2)
    (5.22, 5.76)
    """
    if loss <= 0:
        return 0.0
    low, high = math.log(1e-9), math.log(2 + 4 * math.sqrt(-math.log(delta) / loss))  # of α - 1
    for _ in range(_STEPS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (
            (low, right) if _epsilon(left, loss, delta) < _epsilon(right, loss, delta) else (left, high)
        )
    return max(0.0, _epsilon(low, loss, delta)) * _UP


def _epsilon(log_beyond: float, loss: float, delta: float) -> float:
    """Return the ε of one order α = 1 + exp(log_beyond)."""
    beyond = math.exp(log_beyond)
    order = 1 + beyond
    more = -math.log(delta) + order * (log_beyond - math.log1p(beyond)) - log_beyond
    return order * loss + more / beyond
