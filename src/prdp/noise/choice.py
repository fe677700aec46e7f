"""One candidate out of many with probabilities proportional to exp(-penalty), drawn exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import accumulate
from operator import mul

from prdp.noise.entropy import Entropy
from prdp.noise.exponential import bernoulli, exp_bounds

PLACES = 8
"""Number of bytes of a uniform number that are read at first."""
_WEIGHT_BITS = 64
_PER_UNIT = 16


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """Candidate j with probability proportional to multiples[j] · exp(-penalties[j] · unit) (Lemma 9).

    Drawn by inversion: a uniform number, read byte by byte, is a place in the sum of all weights. With
    multiples by rejection: a candidate is proposed with an integer weight that is at least its true weight
    times 2^64, by outward-rounded arithmetic, and accepted by a coin that shows the exact ratio of the two.
    No float takes part in what is drawn.

    >>> from prdp.noise.entropy import SystemEntropy
    >>> ExponentialChoice((0, 10**6)).draw(SystemEntropy(), 3)  # the other is e^-1000000 times as likely
    [0, 0, 0]

    Attributes:
        penalties: The penalty of each candidate; whole numbers where there are thousands.
        unit: The cost of a penalty of 1.
        multiples: The number of equal candidates that each one represents; empty for one each.
    """

    penalties: tuple[int | Fraction, ...] = field(repr=False)
    unit: Fraction = Fraction(1)
    multiples: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.penalties:
            raise ValueError("there is nothing to choose from")
        if self.multiples and len(self.multiples) != len(self.penalties):
            raise ValueError("give one multiple for each candidate")

    def draw(self, entropy: Entropy, runs: int) -> list[int]:
        """Draw a candidate's index, once a run."""
        if not self.multiples:
            from prdp.noise.permute_and_flip import drawn_by_weight  # noqa: PLC0415  (which reads this one)

            return drawn_by_weight(self, entropy, runs)
        least = min(self.penalties)
        sums = self._sums(least)

        def drawn() -> int:
            while True:
                proposed = bisect_right(sums, uniform_below(sums[-1], entropy))
                excess = self.penalties[proposed] - least
                if _accepted(excess * self.unit, self._proposed(excess), entropy):
                    return proposed

        return [drawn() for _ in range(runs)]

    def place(self, word: int, entropy: Entropy) -> int:
        """Return the candidate in whose part of all weights a uniform number lies, in integers.

        Args:
            word: The first 8 bytes of the number; more are read until they say enough.
            entropy: Where those come from.
        """
        least, known = min(self.penalties), PLACES
        excess = [Fraction(penalty - least) * self.unit for penalty in self.penalties]
        while True:
            bits = 16 * known
            each = [exp_bounds(one, bits) for one in excess]
            low, high = (list(accumulate(side)) for side in zip(*each, strict=True))
            certain: int = sum(end << 8 * known <= word * low[-1] for end in high[:-1])
            if certain == sum(end << 8 * known < (word + 1) * high[-1] for end in low[:-1]):
                return certain
            word = word << 8 * known | int.from_bytes(entropy.bytes(known), "big")
            known *= 2

    def _sums(self, least: int | Fraction) -> list[int]:
        """Return the sums of the weights with which candidates are proposed, multiples and all."""
        each = (self._proposed(penalty - least) for penalty in self.penalties)
        return list(accumulate(map(mul, each, self.multiples)))

    def _proposed(self, excess: int | Fraction) -> int:
        """Return an integer that is at least exp(-excess · unit) · 2^64, and hardly more.

        The penalty is rounded down to a sixteenth, so that thousands of candidates share a short table.
        """
        proposed = weights()
        sixteenths = excess * self.unit.numerator * _PER_UNIT // self.unit.denominator
        return proposed[min(sixteenths, len(proposed) - 1)]


@cache
def weights() -> Sequence[int]:
    """Return upper bounds of exp(-k/16) · 2^64, up to where the bound is 1."""
    steps = range(_WEIGHT_BITS * _PER_UNIT + 1)
    return tuple(exp_bounds(Fraction(step, _PER_UNIT), _WEIGHT_BITS)[1] for step in steps)


def _accepted(penalty: Fraction, weight: int, entropy: Entropy) -> bool:
    """Return True with probability exp(-penalty) · 2^64 / weight, which is at most 1."""
    if penalty == 0:
        return True

    def ratio(bits: int) -> tuple[int, int]:
        low, high = exp_bounds(penalty, bits + _WEIGHT_BITS)
        return low // weight, -(-high // weight)

    return bernoulli(ratio, entropy)


def uniform_below(limit: int, entropy: Entropy) -> int:
    """Return an integer from 0 to ``limit`` - 1, each equally likely.

    As many random bits as the largest one needs, drawn again while they say too much.

    >>> from prdp.noise.entropy import SystemEntropy
    >>> 0 <= uniform_below(6, SystemEntropy()) < 6, uniform_below(1, SystemEntropy())
    (True, 0)
    """
    size = (limit - 1).bit_length()
    count = -(-size // 8)
    while True:
        word = int.from_bytes(entropy.bytes(count), "big") >> (8 * count - size)
        if word < limit:
            return word
