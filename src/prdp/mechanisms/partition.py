"""The paper's Algorithm 1: count each octave of budgets with the noise that octave needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from prdp.cells.summary import Summary
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy
from prdp.release.bias import Dropped
from prdp.release.raw_answer import Answer, Caveat


@dataclass(frozen=True, slots=True)
class PaperPartition:
    """Release a noisy total for each domain of budgets, and keep those from the first heavy one on.

    Guarantee:
        For every record r, the noisy totals together are (share · E(r))-indistinguishable between
        the table with r and the table without it.

    Why:
        r lies in one domain and moves that domain's total by at most influence · E(r), which
        noise of scale influence / share hides up to share · E(r). The other totals stay, and which
        domains are kept is read off the noisy totals. In full: proofs/partition.md.

    Attributes:
        influences: For each domain, how many steps a unit of budget can stand for; public.
        beta: The probability with which some empty domain may pass as heavy.
        graded: Whether that probability is kept smaller for smaller budgets, whose noise is larger.
        signed: Whether totals may be negative, so that a heavy domain shows by its size alone.
    """

    influences: tuple[Fraction, ...]
    beta: Fraction = Fraction(1, 10)
    graded: bool = False
    signed: bool = False

    name = "partition"

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Return what else than noise may move the answer."""
        dropped = "records with smaller budgets than those kept are dropped, which"
        return Caveat(dropped, "either way" if signed else "toward zero")

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        """Return the distribution of the noisy totals, smallest budgets first."""
        levels = summary.levels

        def domain(quanta: int) -> int:
            return levels.domain(quanta) - 1

        def cap(quanta: int) -> int:
            return int(self.influences[domain(quanta)] * quanta * levels.quantum)

        cells = summary.cells
        totals = summary.clipped_totals(cells.by_budget(domain), levels.domains, cells.by_budget(cap))
        noises = tuple(DiscreteLaplace(influence / share) for influence in self.influences)
        return Noisy(tuple(totals), noises)

    def threshold(self, domain: int, noise: DiscreteLaplace) -> int:
        """Return what the noisy total of domain 1, 2, ... must reach to count as heavy."""
        domains = len(self.influences)
        if self.graded:
            tail = -math.log(self.beta) + (domains - domain + 1) * math.log(2)
        else:
            tail = math.log(domains / self.beta)
        return math.ceil(noise.scale * Fraction(tail))

    def thresholds(self, law: Noisy) -> list[int]:
        """Return every domain's threshold."""
        return [self.threshold(domain, noise) for domain, noise in enumerate(law.noises, start=1)]

    def first_kept(self, totals: Sequence[int], thresholds: Sequence[int]) -> int:
        """Return the index of the first heavy domain; of the last one if none is."""
        sizes = map(abs, totals) if self.signed else totals
        heavy = (i for i, size in enumerate(sizes) if size >= thresholds[i])
        return next(heavy, len(totals) - 1)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        law = self.law(summary, share)
        thresholds = self.thresholds(law)
        return [self._kept(totals, thresholds, law.noises, summary) for totals in law.draw(entropy, runs)]

    def _kept(
        self,
        totals: tuple[int, ...],
        thresholds: list[int],
        noises: tuple[DiscreteLaplace, ...],
        summary: Summary,
    ) -> Answer:
        first = self.first_kept(totals, thresholds)
        least = float(summary.levels.domain_quanta(first + 1) * summary.levels.quantum)
        choices = (("kept budgets from", f"{least:.6g} on"),)
        scales = sum((noise.scale for noise in noises[:first]), Fraction(0))
        dropped = Dropped(sum(thresholds[:first]), scales, len(noises) - 1, seen="all")
        return Answer(sum(totals[first:]), Fraction(1), noises[first:], choices, clipping=dropped)
