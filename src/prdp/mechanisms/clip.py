"""Proportional clipping: each record counts up to a multiple of its own budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from math import isqrt

from prdp.cells.summary import Summary
from prdp.mechanisms._point import PointFinder, RecordLadder, SparingLadder, Tuning
from prdp.mechanisms._points import Points
from prdp.mechanisms.tiers import Tiers
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noisy, Then, followed
from prdp.release.bias import Clipping
from prdp.release.drawn import Answer

FINEST_BITS = 20
"""How many bits finer than the values a sum's lattice is at most."""
_VALUE_BITS = 40
"""Values that have so many bits need no finer lattice: a step is below 2^-40 of the largest value."""

PER_GROUP = 2
"""The budget mass, times the share, that a point may clip of each of several groups at no penalty."""


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
    """

    finder: PointFinder = field(default_factory=PointFinder)
    finest_bits: int = FINEST_BITS

    name = "clip"

    @classmethod
    def tuned(cls, share: Fraction) -> Clip:
        """Return the mechanism for a share."""
        return cls(PointFinder.for_totals(share))

    def caveat(self, *, signed: bool) -> str:
        """Return what else than noise may move the answer."""
        return f"clipped records can {'move it either way' if signed else 'only pull it toward zero'}"

    def law(self, summary: Summary, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, noisy clipped total))."""
        return self.finder.law(RecordLadder(summary), share, self.totals(summary, share))

    def totals(self, summary: Summary, share: Fraction) -> Callable[[Tuning, int], Noisy]:
        """Return the noisy total as a function of the tuning and the place that was found."""
        return cache(partial(self.total, summary, share))

    def total(self, summary: Summary, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        """Return the noisy total of the records, clipped at the point of a place."""
        points = Points.spanning(summary, tuning.stride)
        total = summary.clipped_total(summary.cells.by_budget(partial(points.cap, place)))
        scale = points.per_quantum(place) / summary.levels.quantum / (share * tuning.answer)
        return Noisy((total,), (DiscreteLaplace(scale),))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers; tier by tier where the policy knows a few budgets only."""
        tiered = self._tiered([summary], share, entropy, runs)
        if tiered is not None:
            return tiered[0]
        group = _Group.of(self, summary, share)
        return [
            group.answer(which, place, total) for which, (place, (total,)) in group.law.draw(entropy, runs)
        ]

    def grouped(
        self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int
    ) -> list[list[Answer]]:
        """Draw independent answers for disjoint groups; those too poor to choose a point choose one together.

        Which groups those are is read off their noisy masses. In full: proofs/point.md. Where answers are
        given tier by tier, nothing is chosen.
        """
        tiered = self._tiered(summaries, share, entropy, runs)
        if tiered is not None:
            return tiered
        groups = [_Group.of(self, summary, share) for summary in summaries]
        masses = [[mass for (mass,) in group.law.first.draw(entropy, runs)] for group in groups]
        picked = [
            [group.law.rule((mass,)) for mass in drawn] for group, drawn in zip(groups, masses, strict=True)
        ]
        answers = self._together(groups, masses, picked, entropy)
        for place, group in enumerate(groups):
            alone = [run for run in range(runs) if (place, run) not in answers]
            drawn = followed([picked[place][run] for run in alone], group.law.laws.__getitem__, entropy)
            for run, (which, (point, (total,))) in zip(alone, drawn, strict=True):
                answers[place, run] = group.answer(which, point, total)
        return [[answers[place, run] for run in range(runs)] for place in range(len(groups))]

    def tiers(self, summary: Summary) -> Tiers | None:
        """Return the tiers that answer instead, by public facts alone; None where a point is chosen."""
        return Tiers.of(summary.refined(finer_bits(summary, self.finest_bits)))

    def _tiered(
        self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int
    ) -> list[list[Answer]] | None:
        """Draw answers tier by tier for groups with the same public facts; None where there are no tiers."""
        tiers = self.tiers(summaries[0])
        if tiers is None:
            return None
        bits = finer_bits(summaries[0], self.finest_bits)
        answers = tiers.answers([summary.refined(bits) for summary in summaries], share, entropy, runs)
        return [[replace(answer, step=Fraction(1, 1 << bits)) for answer in group] for group in answers]

    def _together(
        self,
        groups: Sequence[_Group],
        masses: Sequence[Sequence[int]],
        picked: Sequence[Sequence[int]],
        entropy: Entropy,
    ) -> dict[tuple[int, int], Answer]:
        """Draw the answers, by group and run, of groups that choose together; it takes two to do so."""
        last = len(self.finder.tunings) - 1
        answers: dict[tuple[int, int], Answer] = {}
        pooled = cache(partial(self._pooled, groups))
        for run, which_of in enumerate(zip(*picked, strict=True)):
            poor = tuple(place for place, which in enumerate(which_of) if which == last)
            if len(poor) < 2:
                continue
            law, spared = pooled(poor)
            which = law.rule((sum(masses[place][run] for place in poor) - self._reserve(law, len(poor)),))
            choice = law.laws[which]
            assert isinstance(choice, Then)  # noqa: S101  (see PointFinder.law)
            point = int(choice.first.draw(entropy, 1)[0])
            for place in poor:
                noisy = groups[place].totals(self.finder.tunings[which][1], point)
                ((total,),) = noisy.draw(entropy, 1)
                answers[place, run] = groups[place].answer(which, point, total, spared)
        return answers

    @staticmethod
    def _reserve(law: Gated, groups: int) -> int:
        """Return what is taken off the noisy mass of several groups: its noise is that of all of them."""
        (noise,) = law.first.noises
        return int(2 * noise.scale * (isqrt(groups) - 1))

    def _pooled(self, groups: Sequence[_Group], poor: Sequence[int]) -> tuple[Gated, Fraction]:
        """Return the law of a point for several groups together, and the budget mass that it spares.

        Nothing but the point is drawn from it.
        """
        merged = Summary.together([groups[place].summary for place in poor])
        spared = int(PER_GROUP * len(poor) / (groups[0].share * merged.levels.quantum))
        ladder = SparingLadder(RecordLadder(merged), spared)
        law = self.finder.law(ladder, groups[0].share, lambda _tuning, _place: Noisy((), ()))
        return law, spared * ladder.quantum

    def clipping(self, summary: Summary, share: Fraction, which: int, place: int) -> Clipping:
        """Return what is known of what was clipped at a place, which tuning chose it included."""
        margin, tuning = self.finder.tunings[which]
        return RecordLadder(summary).clipping(share, tuning, place, blind=margin is None)


@dataclass(frozen=True, slots=True)
class _Group:
    """A summary on a lattice that is fine enough, with its laws; each is worked out once."""

    clip: Clip
    summary: Summary
    step: Fraction
    share: Fraction
    totals: Callable[[Tuning, int], Noisy]
    clippings: Callable[[int, int], Clipping]
    law: Gated

    @classmethod
    def of(cls, clip: Clip, summary: Summary, share: Fraction) -> _Group:
        """Return the group of a summary."""
        bits = finer_bits(summary, clip.finest_bits)
        fine = summary.refined(bits)
        totals = clip.totals(fine, share)
        law = clip.finder.law(RecordLadder(fine), share, totals)
        clippings = cache(partial(clip.clipping, fine, share))
        return cls(clip, fine, Fraction(1, 1 << bits), share, totals, clippings, law)

    def answer(self, which: int, place: int, total: int, spared: Fraction = Fraction(0)) -> Answer:
        """Return what is said of a noisy total; all of it released or public.

        ``spared`` is the mass that the place might clip at no penalty.
        """
        tuning = self.clip.finder.tunings[which][1]
        clipping = replace(self.clippings(which, place), spared=spared)
        choices = (
            ("clipped at", f"{float(clipping.at * self.step):.6g} for each unit of budget"),
            ("of the share", self.clip.finder.parts(tuning)),
        )
        return Answer(total, self.step, self.totals(tuning, place).noises, choices, clipping=clipping)
