"""The paper's Algorithm 2: find where budgets become numerous, and run any mechanism from there on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.cells.summary import Summary, TopSummary
from prdp.levels import Levels
from prdp.mechanisms._base import Base
from prdp.mechanisms._domain import DomainFinder
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Law, Lazily, Noisy
from prdp.release.bias import Dropped
from prdp.release.raw_answer import Answer, Caveat

SPLIT = Fraction(1, 4)
"""The part of the share that finds the domain, unless the caller says another; the paper's is 1/2."""


@dataclass(frozen=True, slots=True)
class PaperFramework:
    """Drop the records below a domain that is found privately, and run a base mechanism on the others.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Finding the domain costs a · share · E(r). A record below it takes part in nothing more; one above
        has a budget of at least ε, the domain's lower end, and the base runs at (1 - a) · share · ε.
        In full: proofs/framework.md.

    Attributes:
        base: What answers, from the cells of the records that are kept.
        split: The part of the share that finds the domain.
        beta: The rate at which either step may fail.
    """

    base: Base
    split: Fraction = SPLIT
    beta: Fraction = Fraction(1, 10)

    name = "framework"

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (the same for both)
        """Return what the interval does not cover."""
        return Caveat("records with smaller budgets than those kept are dropped, whatever their values")

    def law(self, summary: Summary | TopSummary, share: Fraction) -> Gated:
        """Return the distribution of (domain, what the base mechanism draws there).

        The base mechanism sees the summary itself, or the values of a ``TopSummary``: how many a record
        can change, and in which domain, is the same.
        """
        records, seen = (
            (summary.records, summary.values) if isinstance(summary, TopSummary) else (summary, summary)
        )
        finder = DomainFinder.over(records.levels, self.beta)
        counts = finder.law(records.counted(), self.split * share)
        return Gated(
            first=counts,
            rule=finder.rule(counts),
            laws=Lazily(records.levels.domains, lambda place: self.rest(seen, share, place + 1)),
        )

    def rest(self, summary: Summary, share: Fraction, domain: int) -> Law:
        """Return the base mechanism's law on the records from a domain on."""
        epsilon = self.epsilon(summary.levels, share, domain)
        return self.base.law(kept_from(summary, domain), epsilon, self.beta)

    def epsilon(self, levels: Levels, share: Fraction, domain: int) -> Fraction:
        """Return what the base mechanism may cost: a part of the least budget that is kept."""
        return (1 - self.split) * share * levels.domain_quanta(domain) * levels.quantum

    def answers(
        self, summary: Summary | TopSummary, share: Fraction, entropy: Entropy, runs: int
    ) -> list[Answer]:
        """Draw independent answers."""
        law = self.law(summary, share)
        seen = summary.values if isinstance(summary, TopSummary) else summary
        levels = seen.levels
        finder = DomainFinder.over(levels, self.beta)
        answers = []
        for place, drawn in law.draw(entropy, runs):
            answer = self.base.answer(seen, law.laws[place], drawn)
            least = float(levels.domain_quanta(place + 1) * levels.quantum)
            choices = (("kept budgets from", f"{least:.6g} on"), *answer.choices)
            dropped = self.dropped(law.first, finder.partition.thresholds(law.first), place)
            answers.append(replace(answer, choices=choices, clipping=dropped if answer.noises else None))
        return answers

    def dropped(self, counts: Noisy, thresholds: Sequence[int], place: int) -> Dropped:
        """Return what is known of the records in the domains before a place.

        Of their number, that each noisy count was below its threshold; of their values, nothing.
        """
        scales = sum((noise.scale for noise in counts.noises[:place]), Fraction(0))
        unknown = not self.base.counts
        return Dropped(sum(thresholds[:place]), scales, len(counts.noises) - 1, seen="never", unknown=unknown)


def kept_from(summary: Summary, domain: int) -> Summary:
    """Return the records whose budgets are at least those of a domain."""
    return summary.from_budget(summary.levels.domain_quanta(domain))
