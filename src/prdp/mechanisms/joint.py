"""Totals of several groups at once, for owners whose rows may lie in many of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from operator import add

import numpy as np

from prdp.cells.columns import exact_column
from prdp.cells.units import Caps, OwnerGroups
from prdp.mechanisms._threshold import PointFinder, Points, RecordLadder, Tuning
from prdp.mechanisms.clip import FINEST_BITS, Clip, finer_bits
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noisy
from prdp.release.raw_answer import Answer, AnswerColumn, Caveat


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

    def caveat(self, *, signed: bool) -> Caveat | None:
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
        totals = owners.clipped(self.caps(owners, tuning, place))
        return Noisy(totals, (self.noise(owners, share, tuning, place),) * len(totals))

    @staticmethod
    def caps(owners: OwnerGroups, tuning: Tuning, place: int) -> Caps:
        """Return how far owners of each level may count at the point of a place; public."""
        summary, levels = owners.summary, owners.summary.levels
        points = Points.spanning(summary, tuning.stride)
        caps = (points.cap(place, levels.quanta(level)) for level in range(levels.top + 1))
        return Caps(tuple(min(cap, summary.largest) for cap in caps), owners.bits)

    @staticmethod
    def noise(owners: OwnerGroups, share: Fraction, tuning: Tuning, place: int) -> DiscreteLaplace:
        """Return the noise of each group's total at the point of a place; public."""
        points = Points.spanning(owners.summary, tuning.stride)
        return DiscreteLaplace(
            points.per_quantum(place) / owners.summary.levels.quantum / (share * tuning.answer)
        )

    def answers(
        self, owners: OwnerGroups, share: Fraction, entropy: Entropy, runs: int
    ) -> list[AnswerColumn]:
        """Draw independent answers, each one for all groups."""
        return self.begun(owners, share, entropy, runs)()

    def begun(
        self, owners: OwnerGroups, share: Fraction, entropy: Entropy, runs: int
    ) -> Callable[[], list[AnswerColumn]]:
        """Draw all that is random, and return what adds the groups' totals to it.

        Noise does not depend on what it hides: points and noises are drawn from the same bytes as by ``law``.
        In between, others may say which second look they want as well.
        """
        bits = finer_bits(owners.summary, self.finest_bits)
        fine, step = owners.refined(bits), Fraction(1, 1 << bits)
        noises = cache(partial(self._noises, fine, share))
        drawn = self.finder.law(RecordLadder(fine.summary), share, noises).draw(entropy, runs)
        return lambda: [
            self._answer(fine, share, step, (which, place), values) for which, (place, values) in drawn
        ]

    def _noises(self, owners: OwnerGroups, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        """Return the law of the noises at the point of a place, and say that it will be looked at."""
        caps = self.caps(owners, tuning, place)
        owners.wanted(caps)
        number = owners.groups or len(owners.clipped(caps))
        return Noisy((0,) * number, (self.noise(owners, share, tuning, place),) * number)

    def _answer(
        self,
        owners: OwnerGroups,
        share: Fraction,
        step: Fraction,
        chosen: tuple[int, int],
        noises: tuple[int, ...],
    ) -> AnswerColumn:
        """Return one run's answers: the totals at the point that was chosen, with their noises."""
        which, place = chosen
        tuning = self.finder.tunings[which][1]
        noise = self.noise(owners, share, tuning, place)
        clipped_at = noise.scale * share * tuning.answer * step
        words = f"{float(clipped_at):.6g} for each unit of budget, over all groups"
        clipping = Clip(self.finder, self.finest_bits).clipping(owners.summary, share, which, place)
        said = Answer(0, step, (noise,), (("clipped at", words),), clipping=clipping)
        steps = exact_column(map(add, owners.clipped(self.caps(owners, tuning, place)), noises))
        return AnswerColumn(steps, np.zeros(len(steps), np.intp), (said,))
