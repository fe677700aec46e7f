"""Draw many independent coins, or the sum of many coins or noises, at once; the law is that of each one."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from prdp.noise.entropy import Entropy
from prdp.noise.exponential import (
    Bounds,
    bernoulli,
    coin_probabilities,
    digit_count,
    exp_bounds,
    expansion,
    high_part,
    written_coins,
)

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


_CHUNK = 1 << 22


def heads(probability: Bounds, count: int, entropy: Entropy) -> int:
    """Draw the number of heads of ``count`` independent coins of exactly this probability."""
    return _heads(expansion(probability, _PLACES), probability, count, entropy)


def _heads(written: bytes, probability: Bounds, count: int, entropy: Entropy) -> int:
    """Compare a random byte of each coin with the probability's; the few that are equal read on."""
    found, undecided, place = 0, count, 0
    while undecided:
        if place == len(written):
            written = expansion(probability, 2 * place)
        below, undecided = _compared(written[place], undecided, entropy)
        found += below
        place += 1
    return found


def _compared(byte: int, count: int, entropy: Entropy) -> tuple[int, int]:
    """Return the number of ``count`` random bytes below a byte, and the number equal to it."""
    below = equal = 0
    for start in range(0, count, _CHUNK):
        words = np.frombuffer(entropy.bytes(min(_CHUNK, count - start)), np.uint8)
        below += int(np.count_nonzero(words < byte))
        equal += int(np.count_nonzero(words == byte))
    return below, equal


def laplace_total(scale: Fraction, count: int, entropy: Entropy) -> int:
    """Return the sum of ``count`` independent discrete Laplace draws.

    The coins of ``draw_chunk``, counted instead of put together: among the draws that are not zero, those of
    one sign have independent binary digits, so each digit's total is a number of heads.
    """
    digits = digit_count(scale)
    coins = coin_probabilities(scale, digits)
    written = _written(scale, digits)
    nonzero = _heads(written[0], coins[0], count, entropy)
    negative = _heads(written[1], coins[1], nonzero, entropy)
    total = 0
    for sign, draws in ((1, nonzero - negative), (-1, negative)):
        part = draws
        for place in range(digits):
            part += _heads(written[3 + place], coins[3 + place], draws, entropy) << place
        for _ in range(_heads(written[2], coins[2], draws, entropy)):
            part += high_part(scale, digits, entropy) << digits
        total += sign * part
    return total


@lru_cache(maxsize=1024)
def _written(scale: Fraction, digits: int) -> tuple[bytes, ...]:
    return written_coins(scale, digits, _PLACES)


def uniform_many(limit: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return ``count`` integers from 0 to ``limit`` - 1, each equally likely; limit is at most 2^62."""
    size = (limit - 1).bit_length()
    width = 8 if size > 32 else 4 if size > 16 else 2 if size > 8 else 1
    kept: list[NDArray[np.int64]] = []
    missing = count
    while missing:
        words = np.frombuffer(entropy.bytes(width * missing), f"<u{width}")
        numbers = (words >> np.array(8 * width - size, words.dtype)).astype(np.int64)
        kept.append(numbers[numbers < limit])
        missing -= kept[-1].size
    return np.concatenate(kept) if kept else np.zeros(0, np.int64)
