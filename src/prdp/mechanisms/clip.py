"""Proportional clipping: each record counts up to a multiple of its own budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from math import isqrt
from typing import Any

from prdp.cells.summary import Summary
from prdp.mechanisms._point import PointFinder, RecordLadder, SparingLadder, Tuning
from prdp.mechanisms._points import Points
from prdp.mechanisms._sides import SideFinder
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
        signed: Whether values of both signs are added up, each of which may then find a point of its own.
    """

    finder: PointFinder = field(default_factory=PointFinder)
    finest_bits: int = FINEST_BITS
    signed: bool = False

    name = "clip"

    @classmethod
    def tuned(cls, share: Fraction, *, signed: bool = False) -> Clip:
        """Return the mechanism for a share."""
        return cls(PointFinder.for_totals(share), signed=signed)

    def caveat(self, *, signed: bool) -> str:
        """Return what else than noise may move the answer."""
        return f"clipped records can {'move it either way' if signed else 'only pull it toward zero'}"

    def law(self, summary: Summary, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, noisy clipped total)).

        Where each sign has found a point, there are two of them: see ``SideFinder.law``.
        """
        return self._law(summary, share, self.totals(summary, share))

    def _law(self, summary: Summary, share: Fraction, totals: Callable[[Tuning, int], Noisy]) -> Gated:
        if self.signed:
            return SideFinder(self.finder).law(summary, share, totals)
        return self.finder.law(RecordLadder(summary), share, totals)

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
        return [group.answer(which, drawn) for which, drawn in group.law.draw(entropy, runs)]

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
        masses = [group.law.first.draw(entropy, runs) for group in groups]
        picked = [
            [group.law.rule(values) for values in drawn] for group, drawn in zip(groups, masses, strict=True)
        ]
        answers = self._together(groups, masses, picked, entropy)
        for place, group in enumerate(groups):
            alone = [run for run in range(runs) if (place, run) not in answers]
            drawn = followed([picked[place][run] for run in alone], group.law.laws.__getitem__, entropy)
            for run, (which, found) in zip(alone, drawn, strict=True):
                answers[place, run] = group.answer(which, found)
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
        masses: Sequence[Sequence[tuple[int, ...]]],
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
            noisy_masses = [mass for place in poor for mass in masses[place][run]]
            which = law.rule((sum(noisy_masses) - self._reserve(law, len(noisy_masses)),))
            choice = law.laws[which]
            assert isinstance(choice, Then)  # noqa: S101  (see PointFinder.law)
            point = int(choice.first.draw(entropy, 1)[0])
            for place in poor:
                noisy = groups[place].totals(self.finder.tunings[which][1], point)
                ((total,),) = noisy.draw(entropy, 1)
                answers[place, run] = groups[place].answer(which, (point, (total,)), spared)
        return answers

    @staticmethod
    def _reserve(law: Gated, noises: int) -> int:
        """Return what is taken off a noisy mass that has as many noises as were added up."""
        (noise,) = law.first.noises
        return int(2 * noise.scale * (isqrt(noises) - 1))

    def _pooled(self, groups: Sequence[_Group], poor: Sequence[int]) -> tuple[Gated, Fraction]:
        """Return the law of a point for several groups together, and the budget mass that it spares.

        Nothing but the point is drawn from it.
        """
        merged = Summary.together([groups[place].summary for place in poor])
        spared = int(PER_GROUP * len(poor) / (groups[0].share * merged.levels.quantum))
        ladder = SparingLadder(RecordLadder(merged), spared)
        law = self.finder.law(ladder, groups[0].share, lambda _tuning, _place: Noisy((), ()))
        return law, spared * ladder.quantum

    def clipping(self, summary: Summary, share: Fraction, which: int, *places: int) -> Clipping:
        """Return what is known of what was clipped at a place, which tuning chose it included.

        Two places are those that values below and above zero have found; the higher one clips both.
        """
        margin, tuning = self.finder.tunings[which % len(self.finder.tunings)]
        found = RecordLadder(summary).clipping(share, tuning, max(places), blind=margin is None)
        if len(places) == 1:
            return found
        points = Points.spanning(summary, tuning.stride)
        below, above = (points.per_quantum(place) / summary.levels.quantum for place in places)
        return replace(found, drawn=(below, above))


@dataclass(frozen=True, slots=True)
class _Group:
    """A summary on a lattice that is fine enough, with its laws; each is worked out once."""

    clip: Clip
    summary: Summary
    step: Fraction
    share: Fraction
    totals: Callable[[Tuning, int], Noisy]
    clippings: Callable[..., Clipping]
    law: Gated

    @classmethod
    def of(cls, clip: Clip, summary: Summary, share: Fraction) -> _Group:
        """Return the group of a summary."""
        bits = finer_bits(summary, clip.finest_bits)
        fine = summary.refined(bits)
        totals = clip.totals(fine, share)
        law = clip._law(fine, share, totals)  # noqa: SLF001  (a group is a part of the mechanism)
        clippings = cache(partial(clip.clipping, fine, share))
        return cls(clip, fine, Fraction(1, 1 << bits), share, totals, clippings, law)

    def answer(self, which: int, drawn: tuple[int, Any], spared: Fraction = Fraction(0)) -> Answer:
        """Return what is said of what was drawn; all of it released or public.

        ``spared`` is the mass that the place might clip at no penalty.
        """
        finder = self.clip.finder
        tuning = finder.tunings[which % len(finder.tunings)][1]
        place, rest = drawn
        places, (total,) = ((place,), rest) if which < len(finder.tunings) else ((rest[0], place), rest[1])
        clipping = replace(self.clippings(which, *places), spared=spared)
        choices = [("clipped at", f"{_shown(clipping.at * self.step)} for each unit of budget")]
        if clipping.drawn is not None:
            low, high = (_shown(point * self.step) for point in clipping.drawn)
            choices.append(("points found", f"{low} for values below zero, {high} for those above"))
        choices.append(("of the share", finder.parts(tuning)))
        noises = self.totals(tuning, max(places)).noises
        return Answer(total, self.step, noises, tuple(choices), clipping=clipping)


def _shown(point: Fraction) -> str:
    return f"{float(point):.6g}"
