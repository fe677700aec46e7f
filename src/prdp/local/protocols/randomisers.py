"""Distributions of one coordinate of a report: exact, in plain Python, and open to enumeration.

A law is built from the client's record; the form of its outcome is not. ``draw`` and ``chance`` are two
views of the same probabilities: clients draw, the exact tests compare the chances of every outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from prdp.noise.choice import uniform_below
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import Bounds, bernoulli, draw_one, exp_bounds, logistic_bounds

PRIME = 2**31 - 1
"""The field that the hashes of ``Hashed`` live in; a product of two of its numbers fits in 64 bits."""

_PROBE = 64
_SPARE = 8


class Law(Protocol):
    """The distribution of one coordinate of a report; laws that are equal are interchangeable."""

    def __hash__(self) -> int: ...

    def draw(self, entropy: Entropy) -> int:
        """Draw the coordinate."""

    def outcomes(self) -> Iterator[int]:
        """Yield the outcomes that tell this law from another of its kind, all of them if they are few."""

    def chance(self, outcome: int) -> Bounds:
        """Return the probability of an outcome, for the exact tests."""


@dataclass(frozen=True, slots=True)
class Bit:
    """1 with probability min(part + (1 - 2·part)·q, e^lift · q), where q = 1/(1 + e^loss) is the dummy's.

    Guarantee:
        Against ``Bit.of(loss)``, the dummy's, no outcome is more than e^±lift times as likely.

    Why:
        A whole part with lift = loss is randomised response; a smaller part is a value in [0, 1] rounded at
        random first; a smaller lift is for a record whose budget is below the public ``loss``.
        In full: proofs/local_bit.md.

    Attributes:
        part: The value to tell, from 0 to 1.
        lift: What this record may lose, at most ``loss``.
        loss: What the coin is made for; public.
    """

    part: Fraction
    lift: Fraction
    loss: Fraction

    def __post_init__(self) -> None:
        part, lift, loss = self.part, self.lift, self.loss
        fair = 0 <= part.numerator <= part.denominator  # in integers: laws are made by the million
        if not (fair and lift.numerator >= 0 and loss.numerator > 0 and (lift is loss or lift <= loss)):
            raise ValueError("a bit needs a part between 0 and 1 and a lift between 0 and its loss")

    @classmethod
    def of(cls, loss: Fraction, *, part: Fraction | int = 0, lift: Fraction | None = None) -> Bit:
        """Return the bit of a part, the dummy's if there is none; a lift above ``loss`` is lowered to it.

        >>> Bit.of(Fraction(1), part=1, lift=Fraction(3)).lift, Bit.of(Fraction(1)).part
        (Fraction(1, 1), Fraction(0, 1))
        """
        own_part = part if type(part) is Fraction else Fraction(part)
        return cls(own_part, loss if lift is None or not own_part.numerator else min(lift, loss), loss)

    def heads(self, bits: int) -> tuple[int, int]:
        """Return integers lo <= p·2^bits <= hi for the probability p of a 1."""
        precise = bits + _SPARE
        whole = 1 << precise
        low, high = logistic_bounds(self.loss, precise)
        slope = 1 - 2 * self.part
        ends = sorted(self.part * whole + slope * q for q in (low, high))
        if self.lift < self.loss:
            less = exp_bounds(self.loss - self.lift, precise)
            ends = [
                min(ends[0], Fraction(less[0] * (whole - high), whole)),
                min(ends[1], Fraction(less[1] * (whole - low), whole)),
            ]
        return _down(ends[0], _SPARE), _up(ends[1], _SPARE)

    def coin(self) -> tuple[Bounds, int]:
        """Return a coin to toss and the outcome that its heads represent: the rarer one.

        A probability within e^-loss of 1 takes loss / ln 2 bits to tell from 1; that of the other outcome
        does not. How long a toss takes must not tell what the record is.
        """
        _, most = self.heads(_PROBE)
        return (self.heads, 1) if most < 1 << (_PROBE - 1) else (complement(self.heads), 0)

    def draw(self, entropy: Entropy) -> int:
        """Toss the coin."""
        probability, outcome = self.coin()
        return outcome if bernoulli(probability, entropy) else 1 - outcome

    def outcomes(self) -> Iterator[int]:
        """Yield 0 and 1."""
        yield from (0, 1)

    def chance(self, outcome: int) -> Bounds:
        """Return the probability of 0 or of 1."""
        return self.heads if outcome else complement(self.heads)


@dataclass(frozen=True, slots=True)
class Symbol:
    """One of ``size`` symbols: the own one with odds e^loss to 1 against each other; for None, any.

    Guarantee:
        Between any two symbols, and between a symbol and None, no outcome is more than e^±loss times as
        likely.

    Why:
        The probabilities are e^loss/(e^loss + size - 1) and 1/(e^loss + size - 1); 1/size lies between them.
        In full: proofs/local_symbol.md.
    """

    own: int | None
    size: int
    loss: Fraction

    def __post_init__(self) -> None:
        if self.size < 1 or self.loss <= 0 or not (self.own is None or 0 <= self.own < self.size):
            raise ValueError("a symbol is one of size >= 1, and its loss is above 0")

    def kept(self, bits: int) -> tuple[int, int]:
        """Return bounds of the probability that the own symbol is reported: 1/(1 + (size - 1)·e^-loss)."""
        whole = 1 << bits
        low, high = exp_bounds(self.loss, bits)
        others = self.size - 1
        return (
            _down(Fraction(whole * whole, whole + others * high)),
            _up(Fraction(whole * whole, whole + others * low)),
        )

    def draw(self, entropy: Entropy) -> int:
        """Report the own symbol, or any of the others."""
        if self.own is None or self.size == 1:
            return uniform_below(self.size, entropy)
        if not bernoulli(complement(self.kept), entropy):  # not the other way round: see Bit.coin
            return self.own
        other = uniform_below(self.size - 1, entropy)
        return other + (other >= self.own)

    def outcomes(self) -> Iterator[int]:
        """Yield every symbol.

        >>> list(Symbol(own=1, size=3, loss=Fraction(1)).outcomes())
        [0, 1, 2]
        """
        yield from range(self.size)

    def chance(self, outcome: int) -> Bounds:
        """Return the probability of a symbol."""
        if self.own is None or self.size == 1:
            return rational(Fraction(1, self.size))
        return self.kept if outcome == self.own else divided(complement(self.kept), self.size - 1)


@dataclass(frozen=True, slots=True)
class Hashed:
    """A random hash function and the hash of the own category under it, reported as a ``Symbol``.

    The outcome is one integer: multiplier, offset and bucket. The function is drawn whatever the record.

    Guarantee:
        Between any two categories, and between a category and None, no outcome is more than e^±loss times as
        likely.

    Why:
        The function is independent of the record; given it, the bucket is a ``Symbol``.
        In full: proofs/local_hashed.md.
    """

    own: int | None
    buckets: int
    loss: Fraction
    prime: int = PRIME

    def draw(self, entropy: Entropy) -> int:
        """Draw a function, then the bucket."""
        function = uniform_below((self.prime - 1) * self.prime, entropy)
        return function * self.buckets + self._bucket(function).draw(entropy)

    def outcomes(self) -> Iterator[int]:
        """Yield every function with every bucket; only where ``prime`` is tiny."""
        yield from range((self.prime - 1) * self.prime * self.buckets)

    def chance(self, outcome: int) -> Bounds:
        """Return the probability of a function and a bucket."""
        function, bucket = divmod(outcome, self.buckets)
        return divided(self._bucket(function).chance(bucket), (self.prime - 1) * self.prime)

    def _bucket(self, function: int) -> Symbol:
        multiplier, offset = divmod(function, self.prime)
        own = None if self.own is None else ((multiplier + 1) * self.own + offset) % self.prime % self.buckets
        return Symbol(own, self.buckets, self.loss)


@dataclass(frozen=True, slots=True)
class NoisyValue:
    """An integer with discrete Laplace noise.

    Guarantee:
        Against another value, no outcome is more than e^±(difference / scale) times as likely.

    Why:
        Lemma 3 of the proofs. In full: proofs/local_laplace.md.
    """

    value: int
    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ValueError("noise needs a scale above 0")

    def draw(self, entropy: Entropy) -> int:
        """Draw the noisy value."""
        return self.value + draw_one(self.scale, entropy)

    def outcomes(self) -> Iterator[int]:
        """Yield the outcomes between zero and the value and one beyond; further out ratios are constant.

        >>> list(NoisyValue(2, Fraction(5)).outcomes())
        [-1, 0, 1, 2, 3]
        """
        yield from range(min(0, self.value) - 1, max(0, self.value) + 2)

    def chance(self, outcome: int) -> Bounds:
        """Return the probability of an outcome: tanh(1/(2·scale)) · exp(-|outcome - value|/scale)."""
        step, away = 1 / self.scale, abs(outcome - self.value) / self.scale

        def bounds(bits: int) -> tuple[int, int]:
            whole = 1 << bits
            low, high = exp_bounds(step, bits)
            here = exp_bounds(away, bits)
            return (
                _down(Fraction(here[0] * (whole - high), whole + high)),
                _up(Fraction(here[1] * (whole - low), whole + low)),
            )

        return bounds


def complement(probability: Bounds) -> Bounds:
    """Return 1 minus a probability.

    >>> complement(rational(Fraction(1, 4)))(3)  # of eight
    (6, 6)
    """

    def bounds(bits: int) -> tuple[int, int]:
        low, high = probability(bits)
        return (1 << bits) - high, (1 << bits) - low

    return bounds


def divided(probability: Bounds, by: int) -> Bounds:
    """Return a probability divided by a whole number."""

    def bounds(bits: int) -> tuple[int, int]:
        low, high = probability(bits)
        return low // by, -(-high // by)

    return bounds


def rational(probability: Fraction) -> Bounds:
    """Return a rational probability; for comparing, not for ``bernoulli``.

    >>> rational(Fraction(1, 4))(3), rational(Fraction(1, 3))(3)  # of eight: 2, and between 2 and 3
    ((2, 2), (2, 3))
    """
    return lambda bits: (_down(probability * (1 << bits)), _up(probability * (1 << bits)))


def _down(number: Fraction, places: int = 0) -> int:
    return number.numerator // (number.denominator << places)


def _up(number: Fraction, places: int = 0) -> int:
    return -(-number.numerator // (number.denominator << places))
