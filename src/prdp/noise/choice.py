"""One candidate out of many with probabilities proportional to exp(-penalty), drawn exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

from prdp.noise.entropy import Entropy
from prdp.noise.exponential import bernoulli, exp_bounds

_WEIGHT_BITS = 64


@dataclass(frozen=True, slots=True)
class ExponentialChoice:
    """Candidate j with probability proportional to exp(-penalties[j]) (Lemma 9 of the proofs).

    Drawn by rejection: a candidate is proposed with an integer weight that is at least its true weight
    times 2^64, by outward-rounded arithmetic, and accepted by a coin that shows the exact ratio of the two.
    No float takes part.
    """

    penalties: tuple[Fraction, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.penalties:
            raise ValueError("there is nothing to choose from")

    def draw(self, entropy: Entropy, runs: int) -> list[int]:
        """Draw a candidate's index, once a run."""
        least = min(self.penalties)
        excess = [penalty - least for penalty in self.penalties]
        weights = [exp_bounds(penalty, _WEIGHT_BITS)[1] for penalty in excess]
        sums = list(accumulate(weights))
        return [_drawn(excess, weights, sums, entropy) for _ in range(runs)]


def _drawn(excess: Sequence[Fraction], weights: Sequence[int], sums: Sequence[int], entropy: Entropy) -> int:
    while True:
        proposed = bisect_right(sums, uniform_below(sums[-1], entropy))
        if _accepted(excess[proposed], weights[proposed], entropy):
            return proposed


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
    """
    size = (limit - 1).bit_length()
    count = -(-size // 8)
    while True:
        word = int.from_bytes(entropy.bytes(count), "big") >> (8 * count - size)
        if word < limit:
            return word
