"""Totals of several groups at once, for owners whose rows may lie in many of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial

import numpy as np

from prdp.cells.columns import exact_column
from prdp.cells.owners import Caps, OwnerGroups
from prdp.mechanisms._point import PointFinder, RecordLadder, Tuning
from prdp.mechanisms._points import Points
from prdp.mechanisms.clip import FINEST_BITS, Clip, finer_bits
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noisy
from prdp.release.drawn import Answer, AnswerColumn


@dataclass(frozen=True, slots=True)
class Joint:
    """Scale every owner's contributions down together, to b times its budget over all groups.

    Guarantee:
        For every owner u, all groups' answers together are (share · E(u))-indistinguishable between the
        table with u's rows and the table without them.

    Why:
        Finding b costs (1 - a₂) · share · E(u). At the b that is found, u moves all groups' totals together
        by at most b · E(u), which a noise of scale b / (a₂ · share) in each hides up to a₂ · share · E(u).
        In full: proofs/joint.md.

    Attributes:
        finder: How b is found.
        finest_bits: How many bits finer than the values the lattice of answers is at most.
    """

    finder: PointFinder = field(default_factory=PointFinder)
    finest_bits: int = FINEST_BITS

    name = "joint"

    @classmethod
    def tuned(cls, share: Fraction) -> Joint:
        """Return the mechanism for a share."""
        return cls(PointFinder.for_totals(share))

    def caveat(self, *, signed: bool) -> str:
        """Return what else than noise may move the answer: as for ``clip``."""
        return Clip(self.finder).caveat(signed=signed)

    def law(self, owners: OwnerGroups, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, noisy totals of all groups))."""
        return self.finder.law(RecordLadder(owners.summary), share, self.totals(owners, share))

    def totals(self, owners: OwnerGroups, share: Fraction) -> Callable[[Tuning, int], Noisy]:
        """Return the noisy totals as a function of the tuning and the place that was found."""
        return cache(partial(self.total, owners, share))

    def total(self, owners: OwnerGroups, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        """Return the noisy totals of the groups, owners scaled down to the point of a place."""
        summary, levels = owners.summary, owners.summary.levels
        points = Points.spanning(summary, tuning.stride)
        caps = (points.cap(place, levels.quanta(level)) for level in range(levels.top + 1))
        totals = owners.clipped(Caps(tuple(min(cap, summary.largest) for cap in caps), owners.bits))
        noise = DiscreteLaplace(points.per_quantum(place) / levels.quantum / (share * tuning.answer))
        return Noisy(totals, (noise,) * len(totals))

    def answers(
        self, owners: OwnerGroups, share: Fraction, entropy: Entropy, runs: int
    ) -> list[AnswerColumn]:
        """Draw independent answers, each one for all groups."""
        bits = finer_bits(owners.summary, self.finest_bits)
        fine, step = owners.refined(bits), Fraction(1, 1 << bits)
        totals = self.totals(fine, share)
        clip = Clip(self.finder, self.finest_bits)
        answers = []
        for which, (place, values) in self.finder.law(RecordLadder(fine.summary), share, totals).draw(
            entropy, runs
        ):
            tuning = self.finder.tunings[which][1]
            noise = totals(tuning, place).noises[0]
            clipped_at = noise.scale * share * tuning.answer * step
            words = f"{float(clipped_at):.6g} for each unit of budget, over all groups"
            clipping = clip.clipping(fine.summary, share, which, place)
            said = Answer(0, step, (noise,), (("clipped at", words),), clipping=clipping)
            steps = exact_column(values)
            answers.append(AnswerColumn(steps, np.zeros(len(steps), np.intp), (said,)))
        return answers
