"""Totals where the policy knows a few budgets only: each tier with its own noise, and no point to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil, sqrt
from statistics import median_low

import numpy as np
from numpy.typing import NDArray

from prdp.cells.columns import Column, exact_column, plus, product
from prdp.cells.groups import SummaryGroups
from prdp.cells.summary import Summary
from prdp.concentrated import root_below
from prdp.mechanisms._threshold import Points
from prdp.noise.discrete_gaussian import DiscreteGaussian
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy
from prdp.release.bias import ABOVE_KEPT, Dropped
from prdp.release.raw_answer import Answer, AnswerColumn, ByGroup, family

_STRIDE = 2
_MAX_TIERS = 8  # every tier adds its own noise: where there are more, one point is chosen instead
_LEAST = Fraction(5, 2)  # in scales of noise: an empty tier passes for heavy with a chance of e^-2.5, or 8 %
VISIBLE = Fraction(3, 2)  # scales of noise: a dropped tier with less is excluded from the interval, and named
_PER_QUARTER = Fraction(7, 40)  # e^-0.7 an octave falls faster than noise grows: proofs/tiers.md


@dataclass(frozen=True, slots=True)
class Tiers:
    """Release a noisy total for each span of possible ratios, and keep those up to the last heavy one.

    Guarantee:
        For every record r, the noisy totals together are (share · E(r))-indistinguishable between
        the table with r and the table without it.

    Why:
        r is in one tier and moves its total by at most b · E(r), b the tier's clipping point, which noise of
        scale b / share hides up to share · E(r). Which tiers are kept is read off the noisy totals.
        In full: proofs/tiers.md.

    Attributes:
        points: The clipping point of each tier, the highest ratio that is possible in it; public.
        gaussian: Whether the noise is Gaussian, under a concentrated policy.
    """

    points: Points
    gaussian: bool = False

    name = "tiers"

    @classmethod
    def of(cls, summary: Summary, *, gaussian: bool = False) -> Tiers | None:
        """Return the tiers of a summary, or None where possible ratios are not a few narrow spans."""
        if summary.ratios is None or len(summary.ratios.values) > _MAX_TIERS:
            return None
        points = Points.spanning(summary, _STRIDE)
        return cls(points, gaussian) if len(points.numerators) == len(summary.ratios.values) else None

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        """Return the distribution of the noisy totals, lowest ratios first."""
        cells, tiers = summary.cells, len(self.points.numerators)
        tier = np.minimum(self.points.first_reaching(cells.high, cells.quanta), tiers - 1)
        totals = summary.clipped_totals(tier, tiers, self.points.caps(tier, cells.quanta))
        scales = (self.points.per_quantum(tier) / summary.levels.quantum / share for tier in range(tiers))
        noises = (DiscreteGaussian(one**2) if self.gaussian else DiscreteLaplace(one) for one in scales)
        return Noisy(tuple(totals), tuple(noises))

    def thresholds(self, law: Noisy) -> list[int]:
        """Return the threshold of each noisy total to count as heavy, in absolute value."""
        return [
            ceil(noise.scale * (_LEAST + _PER_QUARTER * height))
            for noise, height in zip(law.noises, self.points.heights, strict=True)
        ]

    def kept(self, totals: Sequence[int], thresholds: Sequence[int]) -> int:
        """Return the number of tiers kept: up to the last heavy one, and the first in any case."""
        heavy = (tier for tier in reversed(range(len(totals))) if abs(totals[tier]) >= thresholds[tier])
        return next(heavy, 0) + 1

    def grouped(
        self, groups: SummaryGroups, share: Fraction, entropy: Entropy, runs: int, step: Fraction
    ) -> ByGroup:
        """Draw independent answers for disjoint groups, on a lattice of such a step.

        Each group's answer is drawn from its own ``law``: the integers of all laws are worked out together,
        tier by tier, and so are their noises drawn.
        """
        law = self.law(groups.empty, share)
        thresholds = self.thresholds(law)
        tiers = zip(self.totals(groups), law.noises, strict=True)
        rows = len(groups) * runs
        noisy = [plus(np.repeat(total, runs), noise.draw_many(entropy, rows)) for total, noise in tiers]
        kept = self._kept(noisy, thresholds)
        for run in range(runs):
            least = self._worth_keeping([tier[run::runs] for tier in noisy], law)
            kept[run::runs] = np.maximum(kept[run::runs], least)
        parts = (product(tier, (kept > place).astype(np.int64)) for place, tier in enumerate(noisy))
        steps = reduce(plus, parts)
        templates = tuple(
            self._template(law, share, thresholds, number, step, apart=apart)
            for number in range(1, len(noisy) + 1)
            for apart in (False, True)
        )
        seen = self._kept(noisy, [ceil(VISIBLE * noise.scale) for noise in law.noises])
        which = 2 * (kept - 1) + (seen <= kept)
        by_run = (
            AnswerColumn(steps[run::runs].copy(), which[run::runs].copy(), templates) for run in range(runs)
        )
        return ByGroup(tuple(by_run))

    def totals(self, groups: SummaryGroups) -> list[Column]:
        """Return each tier's totals, one a group: the values of the groups' laws."""
        kinds, tiers = groups.kinds, len(self.points.numerators)
        tier = np.minimum(self.points.first_reaching(kinds.high, kinds.quanta), tiers - 1)
        caps = self.points.caps(tier, kinds.quanta)
        every = np.arange(len(groups))
        return [groups.clipped(every, caps, np.asarray(tier == place)) for place in range(tiers)]

    @staticmethod
    def _kept(noisy: Sequence[Column], thresholds: Sequence[int]) -> NDArray[np.intp]:
        """Return the number of tiers that each row keeps, as ``kept`` for one row."""
        found = np.ones(len(noisy[0]), np.intp)
        for place, (tier, threshold) in enumerate(zip(noisy, thresholds, strict=True)):
            found[np.asarray(abs(tier) >= exact_column([threshold]), dtype=bool)] = place + 1
        return found

    def _worth_keeping(self, tiers: Sequence[Column], law: Noisy) -> int:
        """Return the number of tiers in which most groups have enough to be worth the noise.

        It is where the groups' median passes the noise's own size by three standard errors.
        """
        groups = len(tiers[0])
        if groups == 1:
            return 1
        least = 1 + Fraction(3 / sqrt(groups))
        return self.kept(
            [median_low(totals.tolist()) for totals in tiers],
            [ceil(noise.scale * least) for noise in law.noises],
        )

    def _template(
        self,
        law: Noisy,
        share: Fraction,
        thresholds: Sequence[int],
        kept: int,
        step: Fraction,
        *,
        apart: bool,
    ) -> Answer:
        """Return the metadata of an answer that keeps so many tiers, without the number itself."""
        tiers = len(thresholds)
        choices = (
            ("budget tiers", f"{kept} of {tiers}, each with its own noise"),
            ("of the share", "100 % answering"),
        )
        scales = sum((noise.scale for noise in law.noises[kept:]), Fraction(0))
        last = law.noises[kept - 1]
        deviation = root_below(last.variance) if isinstance(last, DiscreteGaussian) else last.scale
        at = deviation * share * ABOVE_KEPT
        dropped = Dropped(sum(thresholds[kept:]), scales, tiers - 1, at=at, apart=apart)
        noises = law.noises[:kept]
        return Answer(0, step, noises, choices, clipping=dropped, noise=family(noises))
