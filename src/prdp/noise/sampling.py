"""Sample records by one exact coin each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prdp.noise.entropy import Entropy
from prdp.noise.exponential import Bounds, bernoulli, exp_bounds, expansion

_PLACES = 8


def keep_bounds(budget: Fraction, whole: Fraction) -> Bounds:
    """Return bounds of (exp(budget) - 1) / (exp(whole) - 1), for 0 < budget < whole.

    That is how often a record may take part in a mechanism that costs ``whole``, if it is to cost the
    record ``budget`` (proofs/framework.md).
    """

    def bounds(bits: int) -> tuple[int, int]:
        precision = bits + 8 + max(0, int(1 / budget).bit_length())
        one = 1 << precision
        less, more = exp_bounds(whole - budget, precision)  # exp(-(whole - budget)), down and up
        small_low, small_high = exp_bounds(budget, precision)
        whole_low, whole_high = exp_bounds(whole, precision)
        low = (less * (one - small_high) << bits) // ((one - whole_low) << precision)
        high = -((-more * (one - small_low) << bits) // ((one - whole_high) << precision))
        return low, min(high, 1 << bits)

    return bounds


def flips(probability: Bounds, count: int, entropy: Entropy) -> NDArray[np.bool_]:
    """Flip a coin of this exact probability ``count`` times.

    A uniform number, byte by byte, is below the probability's own bytes or not; eight bytes settle all
    but one in 2^64.
    """
    first = int.from_bytes(expansion(probability, _PLACES), "big")
    words = np.frombuffer(entropy.bytes(_PLACES * count), ">u8").astype(np.uint64)
    heads: NDArray[np.bool_] = words < np.uint64(first)
    for tied in np.flatnonzero(words == np.uint64(first)):
        heads[tied] = bernoulli(probability, entropy, agreed=_PLACES)
    return heads
