"""Ordinary differential privacy at the policy's smallest budget, for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from prdp.cells.summary import Summary
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy
from prdp.release.raw_answer import Answer, Caveat


@dataclass(frozen=True, slots=True)
class Naive:
    """Add the noise that the most protected record conceivable would need.

    Guarantee:
        For every record r, the answer is (share · at_least)-indistinguishable, and so
        (share · E(r))-indistinguishable, between the table with r and the table without it.

    Why:
        A record moves the total by at most the largest value that the public bounds allow.
        In full: proofs/naive.md.
    """

    name = "naive"

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (the same for both)
        """Describe what the interval does not cover: here, nothing."""
        return None

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        """Return the distribution of the noisy total."""
        least = summary.levels.quanta(0) * summary.levels.quantum
        total = summary.clipped_total(summary.largest)
        return Noisy((total,), (DiscreteLaplace(summary.largest / (share * least)),))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        law = self.law(summary, share)
        return [Answer(total, Fraction(1), law.noises, ()) for (total,) in law.draw(entropy, runs)]
