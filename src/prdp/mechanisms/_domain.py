"""Find the first of the paper's domains that holds many records."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from prdp.cells.summary import Summary
from prdp.levels import Levels
from prdp.mechanisms._influence import count_influences
from prdp.mechanisms.partition import PaperPartition
from prdp.noise.entropy import Entropy
from prdp.noise.laws import FirstReaching, Noisy


@dataclass(frozen=True, slots=True)
class DomainFinder:
    """Count the records of each octave of budgets with noise, and take the first octave that is heavy.

    Guarantee:
        The domain is (share · E(r))-private.

    Why:
        The noisy counts are those of ``partition``; the domain is read off them. In full:
        proofs/partition.md.
    """

    partition: PaperPartition

    @classmethod
    def over(cls, levels: Levels, beta: Fraction = Fraction(1, 10), *, graded: bool = False) -> DomainFinder:
        """Return the finder for a grid of budgets."""
        return cls(PaperPartition(count_influences(levels), beta, graded))

    def law(self, counted: Summary, share: Fraction) -> Noisy:
        """Return the distribution of the noisy counts, from a summary in which each record counts 1."""
        return self.partition.law(counted, share)

    def rule(self, law: Noisy) -> FirstReaching:
        """Return which domain, counted from 0, noisy counts point to: the first heavy one, or the last."""
        return FirstReaching(tuple(enumerate(self.partition.thresholds(law)[:-1])))

    def draw(self, counted: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[int]:
        """Draw domains, once a run."""
        law = self.law(counted, share)
        rule = self.rule(law)
        return [rule(counts) + 1 for counts in law.draw(entropy, runs)]
