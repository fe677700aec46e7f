"""The discrete Gaussian distribution, drawn exactly from fair bytes with integers only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prdp.noise.discrete_laplace import DiscreteLaplace, Integers
from prdp.noise.exponential import Bounds, bernoulli, exp_bounds, expansion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prdp.noise.entropy import Entropy

_SIZE_BITS = 24
_FINE_BITS = 16
_LOW_BITS = 10
_TABLE = 1 << 11
_REST = 4  # what is left over of an exponent, in 2^-16: at most so much
_WIDEST = 1 << 31
_BYTES = 2  # of each coin that are looked at for all draws together
_SPARE = 1.36  # proposals for each draw that is missing: three of four are accepted where σ is large
_ROOT_TWO_PI = Fraction(250_663, 100_000)
"""A little above the root of 2π."""


_FINE_VARIANCE, _LARGEST_VARIANCE = 10**6, 10**250
_UP = 1 + 1e-9

Coins = tuple[NDArray[np.uint16], Fraction]
"""The first bytes of the chances exp(-n · unit), n = 0, 1, ..., and the unit."""


class GaussianScale(Fraction):
    """The scale of Laplace noise that is more widely spread than some Gaussian noise, and its variance.

    Whoever knows of Laplace noise alone states wider bounds, which hold at every level and for sums with
    other noises: proofs/concentrated.md.

    >>> one = GaussianScale.of(Fraction(4))
    >>> one.variance, float(one) > 2 * 1.2533
    (Fraction(4, 1), True)

    Attributes:
        variance: The parameter σ² of the discrete Gaussian noise.
    """

    __slots__ = ("variance",)

    variance: Fraction

    @classmethod
    def of(cls, variance: Fraction) -> GaussianScale:
        """Return the scale of a variance: (1 + √(2π)·σ)/2, rounded up."""
        deviation = Fraction(math.isqrt(math.ceil(variance * (1 << 40))) + 1, 1 << 20)
        made = cls((1 + _ROOT_TWO_PI * deviation) / 2)
        made.variance = variance
        return made

    @property
    def is_fine(self) -> bool:
        """Whether a sum of such noises is as wide as a normal variable, to within 1.25 %."""
        return _FINE_VARIANCE <= self.variance < _LARGEST_VARIANCE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GaussianScale) and self.variance == other.variance

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((GaussianScale, self.variance))

    def __reduce__(self) -> tuple[Callable[[Fraction], GaussianScale], tuple[Fraction]]:
        return GaussianScale.of, (self.variance,)

    def __copy__(self) -> GaussianScale:
        return self

    def __deepcopy__(self, memo: object) -> GaussianScale:
        return self


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Integers k with probability proportional to exp(-k² / (2 · variance)).

    Drawn by rejection from discrete Laplace noise (Canonne, Kamath and Steinke 2020); why the draws are
    exact: proofs/concentrated.md. No float takes part in a draw.

    >>> DiscreteGaussian(4)
    Traceback (most recent call last):
    ...
    TypeError: variance=4 is int, and the stated loss would be no longer exact. Write a Fraction.

    Attributes:
        variance: any positive fraction; the variance of the draws is at most that.
    """

    variance: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.variance, Fraction):
            raise TypeError(
                f"variance={self.variance!r} is {type(self.variance).__name__}, and the stated loss would "
                "be no longer exact. Write a Fraction."
            )
        if self.variance <= 0:
            raise ValueError(f"variance={self.variance} hides nothing: it must be more than 0.")

    @property
    def scale(self) -> GaussianScale:
        """The scale of Laplace noise that is more widely spread."""
        return GaussianScale.of(self.variance)

    def loss(self, shift: int) -> Fraction:
        """Return the largest D_α / α, over all α > 1, between this noise and itself moved by ``shift``.

        >>> DiscreteGaussian(Fraction(100)).loss(shift=-3)
        Fraction(9, 200)
        """
        return Fraction(shift * shift) / (2 * self.variance)

    def probability(self, k: int) -> float:
        """Return the chance of drawing ``k``; for tests and intervals, never for drawing."""
        return math.exp(-float(Fraction(k * k) / (2 * self.variance))) / _mass(float(self.variance))

    def spread(self, level: Fraction) -> int:
        """Return a k such that a draw lies in [-k, k] with chance ``level``, hardly larger than needed.

        >>> DiscreteGaussian(Fraction(100)).spread(Fraction(95, 100))
        20
        """
        if not 0 <= level < 1:
            raise ValueError(f"level={level} is not a chance that an interval can have: in [0, 1).")
        return _spread(self.variance, 1 - level)

    def draw(self, entropy: Entropy) -> int:
        """Draw one integer."""
        return int(self.draw_many(entropy, 1)[0])

    def draw_many(self, entropy: Entropy, number: int) -> Integers:
        """Draw independent integers.

        >>> from prdp.noise.entropy import SystemEntropy
        >>> len(DiscreteGaussian(Fraction(100)).draw_many(SystemEntropy(), 1000))
        1000

        Returns:
            An int64 array where every value fits, else an object array of Python integers.
        """
        if number < 0:
            raise ValueError(f"{number} draws cannot be made: ask for 0 or more.")
        proposal = DiscreteLaplace(Fraction(math.isqrt(int(self.variance)) + 1))
        found: list[Integers] = []
        missing = number
        while missing:
            proposed = proposal.draw_many(entropy, int(_SPARE * missing) + 16)
            accepted = proposed[self.accepted(proposed, entropy)][:missing]
            found.append(accepted)
            missing -= len(accepted)
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def accepted(self, proposed: Integers, entropy: Entropy) -> NDArray[np.bool_]:
        """Toss a coin for each proposal that shows exp(-(|y| - σ²/t)² / (2σ²)), t being the proposals' scale.

        The exponent is h/64 + l/2^16 and a rest of at most 2^-14: three coins. That of the rest shows heads
        unless a first look at 16 bits is below 2^-14; only then is the rest worked out.
        """
        parts = self.parts(proposed)
        far = np.flatnonzero(parts < 0)
        parts[far] = 0
        heads = _tossed(_coarse(), parts >> _LOW_BITS, entropy)
        heads &= _tossed(_fine(), parts & ((1 << _LOW_BITS) - 1), entropy)
        words = _words(len(parts), entropy)
        for place in np.flatnonzero(heads & (words < _REST)).tolist():
            rest = self.exponent(int(proposed[place])) - Fraction(int(parts[place]), 1 << _FINE_BITS)
            known = int(words[place]).to_bytes(_BYTES, "big")
            heads[place] = not _below(known, partial(_missing, rest), entropy)
        heads[far] = False
        for place in far[words[far] == 0].tolist():  # the first bytes of e^-32 and less are zeros
            chance = partial(exp_bounds, self.exponent(int(proposed[place])))
            heads[place] = bernoulli(chance, entropy, agreed=_BYTES)
        return heads

    def exponent(self, proposed: int) -> Fraction:
        """Return the exponent of a proposal's coin."""
        centre = self.variance / (math.isqrt(int(self.variance)) + 1)
        return (abs(proposed) - centre) ** 2 / (2 * self.variance)

    def parts(self, proposed: Integers) -> NDArray[np.int64]:
        """Return each exponent in 2^-16, rounded down by 0 to 4 of them; -1 where it is 32 or more."""
        shift, centre, unit = _integers(self.variance)
        size = np.abs(proposed)
        widest = max(1, _WIDEST >> shift) if shift >= 0 else _WIDEST << -shift
        far = np.asarray(size >= widest, dtype=bool)
        if far.any():
            size = np.where(far, 0, size)  # before they are shifted, so that no bit is lost
        size = (size << shift if shift >= 0 else size >> -shift).astype(np.int64)
        size -= centre
        size *= size
        size //= unit
        size -= 2
        np.maximum(size, 0, out=size)
        size[far | (size >= _TABLE << _LOW_BITS)] = -1
        return size


@lru_cache(maxsize=1024)
def _integers(variance: Fraction) -> tuple[int, int, int]:
    """Return by how many bits sizes are shifted, so that σ has 25; of that, σ²/t and 2^-16 of 2σ²."""
    root = variance.numerator.bit_length() - variance.denominator.bit_length()
    shift = _SIZE_BITS - root // 2
    two = Fraction(2) ** shift
    centre = variance / (math.isqrt(int(variance)) + 1) * two
    return shift, int(centre), int(2 * variance * two * two / (1 << _FINE_BITS))


def _missing(rest: Fraction, bits: int) -> tuple[int, int]:
    """Return bounds of (1 - exp(-rest)) · 2^bits."""
    low, high = exp_bounds(rest, bits)
    return (1 << bits) - high, (1 << bits) - low


def _below(known: bytes, bounds: Bounds, entropy: Entropy) -> bool:
    """Return whether a uniform number of which the first bytes are known is below an irrational chance."""
    threshold = expansion(bounds, len(known))
    return known < threshold if known != threshold else bernoulli(bounds, entropy, agreed=len(known))


@lru_cache(maxsize=1)
def _coarse() -> Coins:
    return _thresholds(Fraction(1, 1 << _FINE_BITS - _LOW_BITS), _TABLE)


@lru_cache(maxsize=1)
def _fine() -> Coins:
    return _thresholds(Fraction(1, 1 << _FINE_BITS), 1 << _LOW_BITS)


def _thresholds(unit: Fraction, number: int) -> Coins:
    """Return the first bytes of exp(-n · unit), for each n below a number."""
    first = (int.from_bytes(expansion(partial(exp_bounds, n * unit), _BYTES), "big") for n in range(number))
    return np.fromiter(first, np.uint16, number), unit


def _tossed(table: Coins, which: NDArray[np.int64], entropy: Entropy) -> NDArray[np.bool_]:
    """Toss a coin of the table for each place: a word below its bytes is heads, an equal one goes on."""
    words, thresholds = _words(len(which), entropy), table[0][which]
    heads = words < thresholds
    for place in np.flatnonzero(words == thresholds).tolist():
        heads[place] = bernoulli(partial(exp_bounds, int(which[place]) * table[1]), entropy, agreed=_BYTES)
    return heads


def _words(number: int, entropy: Entropy) -> NDArray[np.uint16]:
    return np.frombuffer(entropy.bytes(_BYTES * number), np.uint16)


@lru_cache(maxsize=1024)
def _mass(variance: float) -> float:
    """Return the sum of exp(-k² / 2σ²) over all integers."""
    if variance > 100:
        return math.sqrt(2 * math.pi * variance)  # to one in 10^800
    return 1 + 2 * math.fsum(math.exp(-k * k / (2 * variance)) for k in range(1, 40 + int(40 * variance)))


@lru_cache(maxsize=4096)
def _spread(variance: Fraction, failure: Fraction) -> int:
    """Return a k beyond which the noise lies with this probability at most.

    Of a discrete Gaussian, Pr[X >= k] is at most Pr[N >= k - 1] for the continuous one (Canonne, Kamath
    and Steinke 2020, Proposition 25); where σ is small, the chances are added up.
    """
    deviation = math.sqrt(variance) if variance < 10**300 else None
    if deviation is not None and deviation < 50:
        mass, beyond = _mass(float(variance)), 0.0
        for k in range(40 + int(40 * deviation), 0, -1):  # from the tail on, so that no digits are lost
            beyond += 2 * math.exp(-k * k / (2 * float(variance))) / mass
            if beyond > float(failure) * (1 - 1e-9):
                return k
        return 0
    times = _normal(float(failure))
    root = math.isqrt(math.ceil(variance * (1 << 40))) + 1
    return math.ceil(Fraction(times) * root / (1 << 20)) + 1


def sum_spread(parts: Iterable[tuple[int, Fraction, GaussianScale]], failure: Fraction) -> float:
    """Return how far a weighted sum of independent noises deviates, either way; all of them are fine.

    ``parts`` are (count, factor, scale): so many noises, each times a factor. With U uniform on [-1/2, 1/2],
    a noise X has an X + U that is more peaked than a normal variable whose deviation is larger than σ by a
    part of 5/4 · σ^(-2/3): proofs/concentrated.md.

    >>> 27 < sum_spread([(2, Fraction(1, 1000), GaussianScale.of(Fraction(10**8)))], Fraction(1, 20)) < 28
    True
    """
    squares = room = 0.0
    for count, factor, scale in parts:
        deviation = math.sqrt(scale.variance)
        wider = deviation * (1 + 1.25 * deviation ** (-2 / 3))
        squares += count * (float(factor) * wider) ** 2
        room += count * abs(float(factor)) / 2
    return (_normal(float(failure)) * math.sqrt(squares) + room) * _UP


@lru_cache(maxsize=4096)
def _normal(failure: float) -> float:
    """Return the z that a normal variable's size passes with this probability, rounded up."""
    low, high = 0.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > failure else (low, middle)
    return high * (1 + 1e-9)
