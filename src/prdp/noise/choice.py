"""One candidate out of many with probabilities proportional to exp(-penalty), drawn exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import accumulate
from operator import mul
from typing import Any, Protocol

from prdp.noise.entropy import Entropy
from prdp.noise.exponential import bernoulli, exp_bounds

_WEIGHT_BITS = 64
PER_UNIT = 16
FITS = 1 << 62


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """Candidate j with probability proportional to multiples[j] · exp(-penalties[j] · unit) (Lemma 9).

    Drawn by rejection: a candidate is proposed with an integer weight that is at least its true weight
    times 2^64, by outward-rounded arithmetic, and accepted by a coin that shows the exact ratio of the two.
    No float takes part.

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
        least = min(self.penalties)
        proposal = self._proposal(least)

        def drawn() -> int:
            while True:
                proposed = proposal.place(uniform_below(proposal.total, entropy))
                excess = self.penalties[proposed] - least
                if _accepted(excess * self.unit, self._proposed(excess), entropy):
                    return proposed

        return [drawn() for _ in range(runs)]

    def _proposal(self, least: int | Fraction) -> Sums:
        """Return the sums of the weights with which candidates are proposed."""
        penalties: Any = self.penalties
        whole = set(map(type, penalties)) == {int}
        if not self.multiples and whole and max(penalties) - least < FITS:
            from prdp.noise.permute_and_flip import wide_sums  # noqa: PLC0415  (clients without NumPy never come here)

            return wide_sums([penalty - least for penalty in penalties], self.unit)
        proposed, last = weights(), len(weights()) - 1
        per_unit, parts = self.unit.numerator * PER_UNIT, self.unit.denominator
        far = least - (-last * parts // per_unit)  # from here on, the least weight
        each = (
            proposed[last if penalty >= far else min(last, (penalty - least) * per_unit // parts)]
            for penalty in self.penalties
        )
        return _Sums(list(accumulate(map(mul, each, self.multiples) if self.multiples else each)))

    def _proposed(self, excess: int | Fraction) -> int:
        """Return an integer that is at least exp(-excess · unit) · 2^64, and hardly more.

        The penalty is rounded down to a sixteenth, so that thousands of candidates share a short table.
        """
        proposed = weights()
        sixteenths = excess * self.unit.numerator * PER_UNIT // self.unit.denominator
        return proposed[min(sixteenths, len(proposed) - 1)]


class Sums(Protocol):
    """Sums of weights up to each candidate."""

    @property
    def total(self) -> int:
        """The sum of all weights."""

    def place(self, word: int) -> int:
        """Return the first candidate with a sum above a number."""


@dataclass(frozen=True, slots=True)
class _Sums:
    """The sums as Python's integers."""

    sums: list[int]

    @property
    def total(self) -> int:
        """The sum of all weights."""
        return self.sums[-1]

    def place(self, word: int) -> int:
        """Return the first candidate with a sum above a number."""
        return bisect_right(self.sums, word)


@cache
def weights() -> Sequence[int]:
    """Return upper bounds of exp(-k/16) · 2^64, up to where the bound is 1."""
    steps = range(_WEIGHT_BITS * PER_UNIT + 1)
    return tuple(exp_bounds(Fraction(step, PER_UNIT), _WEIGHT_BITS)[1] for step in steps)


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
