"""Proportional clipping: each record counts up to a multiple of its own budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial

from prdp.cells.groups import SummaryGroups
from prdp.cells.summary import Summary
from prdp.mechanisms._candidates import Points
from prdp.mechanisms._clip_groups import ClipGroups
from prdp.mechanisms._signed_thresholds import SideFinder
from prdp.mechanisms._threshold import PointFinder, RecordCandidates, Tuning, noisy_total
from prdp.mechanisms.clipped_tiers import ClippedTiers
from prdp.mechanisms.tiers import Tiers
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noisy
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Answer, ByGroup, Caveat

FINEST_BITS = 20
"""How many bits finer than the values a sum's lattice is at most."""
_VALUE_BITS = 40
"""Values that have so many bits need no finer lattice: a step is below 2^-40 of the largest value."""


def finer_bits(summary: Summary, finest: int) -> int:
    """Return how much finer than the values their sum's lattice is, so that small ones are not lost."""
    return max(0, min(finest, _VALUE_BITS - summary.largest.bit_length()))


@dataclass(frozen=True, slots=True)
class Clip:
    """Clip every record at b times its budget, with b chosen by how little budget it clips.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Finding b costs (1 - a₂) · share · E(r). At the b that is found, r moves the clipped total by at most
        b · E(r), which noise of scale b / (a₂ · share) hides up to a₂ · share · E(r).
        In full: proofs/clip.md.

    Attributes:
        finder: How b is found.
        finest_bits: How many bits finer than the values the lattice of answers is at most.
        signed: Whether values of both signs are added up, each of which may then find a point of its own.
        leads: Whether other totals of the same records follow its point.
    """

    finder: PointFinder = field(default_factory=PointFinder)
    finest_bits: int = FINEST_BITS
    signed: bool = False
    leads: bool = False

    name = "clip"

    @classmethod
    def tuned(cls, share: Fraction, *, signed: bool = False, leads: bool = False) -> Clip:
        """Return the mechanism for a share."""
        finder = PointFinder.for_leaders(share) if leads else PointFinder.for_totals(share)
        return cls(finder, signed=signed, leads=leads)

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Return what else than noise may move the answer."""
        return Caveat("clipped records", "either way" if signed else "toward zero")

    def law(self, summary: Summary, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, noisy clipped total)).

        Where each sign has found a point, there are two of them: see ``SideFinder.law``.
        """
        if self.signed:
            return SideFinder(self.finder).law(summary, share, self.totals(summary, share))
        return self.finder.law(RecordCandidates(summary), share, self.totals(summary, share))

    def totals(self, summary: Summary, share: Fraction) -> Callable[[Tuning, int], Noisy]:
        """Return the noisy total as a function of the tuning and the place that was found."""
        return cache(partial(self.total, summary, share))

    def total(self, summary: Summary, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        """Return the noisy total of the records, clipped at the point of a place."""
        return noisy_total(summary, share, tuning, place)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers; tier by tier where possible ratios lie in a few spans far apart."""
        tiered = self._tiered([summary], share, entropy, runs)
        if tiered is not None:
            return tiered[0]
        apart = self.clipped_tiers(summary, share)
        if apart is not None:
            bits = finer_bits(summary, self.finest_bits)
            return apart.answers(summary.refined(bits), share, entropy, runs, Fraction(1, 1 << bits))
        group = self._groups([summary], share)
        answer_at = cache(partial(group.answer, spared=Fraction(0)))
        law = self.law(summary.refined(finer_bits(summary, self.finest_bits)), share)
        answers = []
        for which, (place, rest) in law.draw(entropy, runs):
            below, (total,) = (0, rest) if which < len(self.finder.tunings) else rest
            answers.append(replace(answer_at(which, place, below), steps=total))
        return answers

    def grouped(self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int) -> ByGroup:
        """Draw independent answers for disjoint groups; those with little budget choose a point together.

        Which groups those are is read off their noisy masses. In full: proofs/point.md. Where answers are
        given tier by tier, nothing is chosen.
        """
        tiered = self._tiered(summaries, share, entropy, runs)
        return self._groups(summaries, share).drawn(entropy, runs) if tiered is None else tiered

    def _groups(self, summaries: Sequence[Summary], share: Fraction) -> ClipGroups:
        """Return groups on a lattice that is fine enough."""
        groups = SummaryGroups.of(summaries)
        bits = finer_bits(groups.empty, self.finest_bits)
        return ClipGroups(self, groups.refined(bits), share, Fraction(1, 1 << bits))

    def tiers(self, summary: Summary) -> Tiers | None:
        """Return the tiers that answer instead, by public facts alone; None where a point is chosen."""
        return Tiers.of(summary.refined(finer_bits(summary, self.finest_bits)))

    def clipped_tiers(self, summary: Summary, share: Fraction) -> ClippedTiers | None:
        """Return the tiers that choose a point each, by public facts alone; None where one is for all.

        Values of both signs may cancel within a tier, whose total would then not tell that it is there. Of
        counts under budgets in wide spans it was not measured whether tiers would help.
        """
        counted = summary.smallest == summary.largest
        return None if self.signed or counted else ClippedTiers.of(summary, share)

    def _tiered(
        self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int
    ) -> ByGroup | None:
        """Draw answers tier by tier for groups with the same public facts; None where there are no tiers."""
        tiers = self.tiers(summaries[0])
        if tiers is None:
            return None
        bits = finer_bits(summaries[0], self.finest_bits)
        groups = SummaryGroups.of(summaries).refined(bits)
        return tiers.grouped(groups, share, entropy, runs, Fraction(1, 1 << bits))

    def clipping(self, summary: Summary, share: Fraction, which: int, *places: int) -> Clipping:
        """Return what is known of what was clipped at a place, which tuning chose it included.

        Two places are those that values below and above zero have found; the higher one clips both.
        """
        margin, tuning = self.finder.tunings[which % len(self.finder.tunings)]
        found = RecordCandidates(summary).clipping(share, tuning, max(places), blind=margin is None)
        if len(places) == 1:
            return found
        points = Points.spanning(summary, tuning.stride)
        below, above = (points.per_quantum(place) / summary.levels.quantum for place in places)
        return replace(found, drawn=(below, above))
