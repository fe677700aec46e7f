"""Totals of several groups at once, for units whose rows may lie in many of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from operator import add

import numpy as np

from prdp.cells.columns import Column, exact_column
from prdp.cells.summary import Summary
from prdp.cells.units import Caps, UnitGroups, euclidean_norm
from prdp.mechanisms._tail import TailRule, in_caps
from prdp.mechanisms._threshold import PointFinder, Points, RecordCandidates, Tuning, caps_at
from prdp.mechanisms.clip import FINEST_BITS, Clip, finer_bits
from prdp.noise.discrete_gaussian import DiscreteGaussian
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noise, Noisy
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Answer, AnswerColumn, Caveat, family


@dataclass(frozen=True, slots=True)
class Joint:
    """Scale every unit's contributions down together, to b times its budget over all groups.

    Guarantee:
        For every unit u, all groups' answers together are (share · E(u))-indistinguishable between the
        table with u's rows and the table without them.

    Why:
        Finding b costs (1 - a₂) · share · E(u). At the b that is found, u moves all groups' totals together
        by at most b · E(u), which a noise of scale b / (a₂ · share) in each hides up to a₂ · share · E(u).
        In full: proofs/joint.md; with Gaussian noise, proofs/concentrated.md.

    Attributes:
        finder: The finder of b.
        finest_bits: The maximum number of bits by which the lattice of answers is finer than values.
        gaussian: Whether the answers' noise is Gaussian, under a concentrated policy: as in ``Clip``.
    """

    finder: PointFinder = field(default_factory=PointFinder)
    finest_bits: int = FINEST_BITS
    gaussian: bool = False

    name = "joint"

    @classmethod
    def tuned(cls, share: Fraction, *, gaussian: bool = False) -> Joint:
        """Return the mechanism for a share."""
        finder = PointFinder.for_totals(share)
        return cls(finder.with_gaussian() if gaussian else finder, gaussian=gaussian)

    @property
    def concentrated(self) -> bool:
        """Whether the share is the root of what is used of P(r)."""
        return self.gaussian

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Describe the errors other than noise: as for ``clip``."""
        return Clip(self.finder).caveat(signed=signed)

    def law(self, units: UnitGroups, share: Fraction) -> Gated:
        """Return the distribution of (tuning, (clipping point, noisy totals of all groups))."""
        self._refuse_other_norm(units)
        return self.finder.law(RecordCandidates(units.summary), share, self.totals(units, share))

    def _refuse_other_norm(self, units: UnitGroups) -> None:
        """Refuse to hide contributions that are scaled by their Euclidean norm by Laplace noise."""
        if units.euclidean and not self.gaussian:
            raise TypeError("Euclidean norms are for Gaussian noise alone")

    def totals(self, units: UnitGroups, share: Fraction) -> Callable[[Tuning, int], Noisy]:
        """Return the noisy totals as a function of the tuning and the place that was found."""
        return cache(partial(self.total, units, share))

    def total(self, units: UnitGroups, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        """Return the noisy totals of the groups, units scaled down to the point of a place."""
        totals = units.clipped(self.caps(units, tuning, place))
        return self._beside_tails(units, share, tuning, place, totals)

    def _beside_tails(
        self, units: UnitGroups, share: Fraction, tuning: Tuning, place: int, totals: tuple[int, ...]
    ) -> Noisy:
        """Return the law of totals, and of the masses by octaves below the point: of units, in all groups."""
        tails = self.finder.tails(units.summary, share, caps_at(units.summary, tuning, place))
        noises = (self.noise(units, share, tuning, place),) * len(totals)
        return Noisy((*totals, *tails.values), (*noises, *tails.noises))

    @staticmethod
    def caps(units: UnitGroups, tuning: Tuning, place: int) -> Caps:
        """Return the caps of units of each level at the point of a place; public."""
        summary, levels = units.summary, units.summary.levels
        points = Points.spanning(summary, tuning.stride)
        caps = (points.cap(place, levels.quanta(level)) for level in range(levels.top + 1))
        return Caps(tuple(min(cap, summary.largest) for cap in caps), units.bits)

    @staticmethod
    def noise(units: UnitGroups, share: Fraction, tuning: Tuning, place: int) -> Noise:
        """Return the noise of each group's total at the point of a place; public."""
        scale = Joint._point(units, tuning, place) / (share * tuning.answer)
        return DiscreteGaussian(scale**2) if tuning.gaussian else DiscreteLaplace(scale)

    @staticmethod
    def _point(units: UnitGroups, tuning: Tuning, place: int) -> Fraction:
        """Return the point of a place, in steps for each unit of budget."""
        points = Points.spanning(units.summary, tuning.stride)
        return points.per_quantum(place) / units.summary.levels.quantum

    def answers(self, units: UnitGroups, share: Fraction, entropy: Entropy, runs: int) -> list[AnswerColumn]:
        """Draw independent answers, each one for all groups."""
        return self.begun(units, share, entropy, runs)()

    def begun(
        self, units: UnitGroups, share: Fraction, entropy: Entropy, runs: int
    ) -> Callable[[], list[AnswerColumn]]:
        """Draw all that is random, and return what adds the groups' totals to it.

        Noise does not depend on what it hides: points and noises are drawn from the same bytes as by ``law``.
        In between, others may say which second look they want as well.
        """
        self._refuse_other_norm(units)
        bits = finer_bits(units.summary, self.finest_bits)
        fine, step = units.refined(bits), Fraction(1, 1 << bits)
        noises = cache(partial(self._noises, fine, share))
        drawn = self.finder.law(RecordCandidates(fine.summary), share, noises).draw(entropy, runs)
        return lambda: [
            self._answer(fine, share, step, (which, place), values) for which, (place, values) in drawn
        ]

    def _noises(self, units: UnitGroups, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        """Return the law of the noises at the point of a place, and say that it will be looked at."""
        caps = self.caps(units, tuning, place)
        units.wanted(caps)
        number = units.groups or len(units.clipped(caps))
        return self._beside_tails(units, share, tuning, place, (0,) * number)

    def _answer(
        self,
        units: UnitGroups,
        share: Fraction,
        step: Fraction,
        chosen: tuple[int, int],
        noises: tuple[int, ...],
    ) -> AnswerColumn:
        """Return one run's answers: the totals at the point that was chosen, with their noises."""
        which, place = chosen
        tuning = self.finder.tunings[which][1]
        noise = self.noise(units, share, tuning, place)
        clipped_at = self._point(units, tuning, place) * step
        words = f"{float(clipped_at):.6g} for each unit of budget, over all groups"
        clipping = Clip(self.finder, self.finest_bits).clipping(units.summary, share, which, place)
        choices = (("clipped at", words),)
        template = Answer(0, step, (noise,), choices, clipping=clipping, noise=family((noise,)))
        totals = units.clipped(self.caps(units, tuning, place))
        steps = exact_column(map(add, totals, noises[: len(totals)]))
        masses = noises[len(totals) :]
        left = tuning.left(Points.spanning(units.summary, tuning.stride), place)
        return self._selected(template, units.summary, share, (tuning, left), steps, masses)

    def _selected(  # noqa: PLR0917  (all that was drawn)
        self,
        template: Answer,
        summary: Summary,
        share: Fraction,
        choice: tuple[Tuning, tuple[float, float]],
        steps: Column,
        masses: tuple[int, ...],
    ) -> AnswerColumn:
        """Return the answers with their tail factors: by the masses of all groups together.

        ``choice`` is the tuning that chose the point, and what it left to climb.
        """
        clipping = template.clipping
        which = np.zeros(len(steps), np.intp)
        assert isinstance(clipping, Clipping)  # noqa: S101  (see _answer)
        if not masses or clipping.blind or clipping.nothing:
            return AnswerColumn(steps, which, (template,))
        rule = TailRule.of(counted=summary.smallest == summary.largest, part=self.finder.tail, share=share)
        weights = rule.weights(exact_column(masses), self.finder.tail_step(summary.levels.quantum, share))
        seen, octave = rule.visible(weights[np.newaxis], weights[np.newaxis], 1)
        sides = [(np.repeat(seen, len(steps), axis=0), np.repeat(octave, len(steps)))]
        scales, cap = tuple(noise.scale for noise in template.noises), clipping.at / share
        tuning, left = choice
        size = euclidean_norm if self.gaussian else sum  # a unit adds its cap at least, by that size
        together = in_caps(exact_column([size(steps.tolist())]), cap)
        whole = np.zeros(1) if self.gaussian else together
        if rule.failed(weights[np.newaxis], together, float(tuning.seen), left)[0]:
            return AnswerColumn(steps, which, (replace(template, clipping=replace(clipping, failed=True)),))
        selected = rule.selected(
            *(clipping, scales, tuning.depth, sides, in_caps(steps, cap)),
            own=np.repeat(weights[np.newaxis, np.newaxis], len(steps), axis=0),
            whole=(np.repeat(whole, len(steps)), len(steps)),
        )
        places, which = np.unique(selected[:, 0], return_inverse=True)
        clippings = [rule.on(clipping, place, place) for place in places.tolist()]
        return AnswerColumn(
            steps, which.reshape(-1), tuple(replace(template, clipping=one) for one in clippings)
        )
