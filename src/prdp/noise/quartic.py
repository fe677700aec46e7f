"""Noise whose density falls like the fourth power, drawn exactly and rounded to whole numbers.

The scale of this noise may depend on the data, which Laplace noise would give away. What leaves is the
nearest whole number, decided by intervals that are refined until they leave no doubt: the low bits say
nothing of the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from prdp.noise.entropy import Entropy

_BITS = 64


@dataclass(frozen=True, slots=True)
class Quartic:
    """A whole number, hidden by noise with density √2 / (π·scale·(1 + (x/scale)⁴)), rounded to the nearest.

    Drawn as a ratio of uniforms: for (x, y) uniform in the region x⁴ + y⁴ ≤ y², x/y has that density at
    scale 1. Both are read bit by bit, as many as are needed to decide; proofs/smooth.md.
    """

    value: int = field(repr=False)
    scale: Fraction = field(repr=False)

    def draw(self, entropy: Entropy, runs: int) -> list[int]:
        """Draw the noisy value, once a run."""
        return [self.value + _noise(self.scale, entropy) for _ in range(runs)]


def _noise(scale: Fraction, entropy: Entropy) -> int:
    while True:
        x, y, bits = _word(entropy), _word(entropy), _BITS
        while (inside := _inside(x, y, bits)) is None:
            x, y, bits = _longer(x, entropy), _longer(y, entropy), bits + _BITS
        if not inside:
            continue
        while (size := _rounded(scale, x, y)) is None:
            x, y = _longer(x, entropy), _longer(y, entropy)
        return -size if entropy.bytes(1)[0] & 1 else size


def _word(entropy: Entropy) -> int:
    return int.from_bytes(entropy.bytes(_BITS // 8), "big")


def _longer(number: int, entropy: Entropy) -> int:
    return number << _BITS | _word(entropy)


def _inside(x: int, y: int, bits: int) -> bool | None:
    """Return whether x⁴ + y⁴ ≤ y², for numbers that start with these bits; None if not all agree."""
    if (x + 1) ** 4 + (y + 1) ** 4 <= y**2 << 2 * bits:
        return True
    if x**4 + y**4 > (y + 1) ** 2 << 2 * bits:
        return False
    return None


def _rounded(scale: Fraction, x: int, y: int) -> int | None:
    """Return scale · x/y rounded, if all numbers that start with these bits agree."""
    if y == 0:
        return None
    up, down = scale.numerator, scale.denominator
    low = (2 * up * x + down * (y + 1)) // (2 * down * (y + 1))
    high = (2 * up * (x + 1) + down * y) // (2 * down * y)
    return low if low == high else None


def tail(z: float) -> float:
    """Return the chance that noise of scale 1 is more than z ≥ 0; for tests and intervals."""
    if z > 30:
        return math.sqrt(2) / math.pi * (1 / (3 * z**3) - 1 / (7 * z**7))
    root = math.sqrt(2) * z
    logs = math.log((z * z + root + 1) / (z * z - root + 1))
    return 0.5 - (logs + 2 * math.atan(root + 1) + 2 * math.atan(root - 1)) / (4 * math.pi)


def spread(scale: Fraction, level: Fraction) -> int:
    """Return the quantile of the noise's magnitude at this probability, rounded up."""
    low, high = 0.0, 1.0
    beyond = float(1 - level) / 2
    while tail(high) > beyond:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > beyond else (low, middle)
    return math.ceil(Fraction(high) * scale + Fraction(1, 2))
