"""Totals where the policy knows a few budgets only: each tier with its own noise, and no point to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from statistics import median_low

import numpy as np

from prdp.cells.summary import Summary
from prdp.mechanisms._points import Points
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy
from prdp.release.bias import Dropped
from prdp.release.drawn import Answer

_STRIDE = 2
_MOST_TIERS = 8  # every tier adds its own noise: where there are more, one point is chosen instead
_LEAST = Fraction(5, 2)  # in scales of noise: an empty tier passes for heavy with a chance of e^-2.5, or 8 %
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
    """

    points: Points

    name = "tiers"

    @classmethod
    def of(cls, summary: Summary) -> Tiers | None:
        """Return the tiers of a summary, or None where possible ratios are not a few narrow spans."""
        if summary.ratios is None or len(summary.ratios.values) > _MOST_TIERS:
            return None
        points = Points.spanning(summary, _STRIDE)
        return cls(points) if len(points.numerators) == len(summary.ratios.values) else None

    def law(self, summary: Summary, share: Fraction) -> Noisy:
        """Return the distribution of the noisy totals, lowest ratios first."""
        cells, tiers = summary.cells, len(self.points.numerators)
        tier = np.minimum(self.points.first_reaching(cells.high, cells.quanta), tiers - 1)
        totals = summary.clipped_totals(tier, tiers, self.points.caps(tier, cells.quanta))
        scales = (self.points.per_quantum(tier) / summary.levels.quantum / share for tier in range(tiers))
        return Noisy(tuple(totals), tuple(map(DiscreteLaplace, scales)))

    def thresholds(self, law: Noisy) -> list[int]:
        """Return what the size of each noisy total must reach to count as heavy."""
        return [
            ceil(noise.scale * (_LEAST + _PER_QUARTER * height))
            for noise, height in zip(law.noises, self.points.heights, strict=True)
        ]

    def kept(self, totals: Sequence[int], thresholds: Sequence[int]) -> int:
        """Return how many tiers are kept: up to the last heavy one, and the first in any case."""
        heavy = (tier for tier in reversed(range(len(totals))) if abs(totals[tier]) >= thresholds[tier])
        return next(heavy, 0) + 1

    def answers(
        self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int
    ) -> list[list[Answer]]:
        """Draw independent answers for disjoint groups: for each group, one a run."""
        laws = [self.law(summary, share) for summary in summaries]
        drawn = [law.draw(entropy, runs) for law in laws]
        thresholds = self.thresholds(laws[0])
        common = [self._worth_keeping(run, laws[0]) for run in zip(*drawn, strict=True)]
        return [
            [
                self._answer(law, share, thresholds, totals, max(least, self.kept(totals, thresholds)))
                for totals, least in zip(group, common, strict=True)
            ]
            for law, group in zip(laws, drawn, strict=True)
        ]

    def _worth_keeping(self, groups: Sequence[Sequence[int]], law: Noisy) -> int:
        """Return how many tiers most groups have so much of that the noise is worth it in each.

        It is where the groups' median passes the noise's own size by three standard errors.
        """
        if len(groups) == 1:
            return 1
        least = 1 + Fraction(3 / sqrt(len(groups)))
        return self.kept(
            [median_low(totals) for totals in zip(*groups, strict=True)],
            [ceil(noise.scale * least) for noise in law.noises],
        )

    def _answer(
        self, law: Noisy, share: Fraction, thresholds: Sequence[int], totals: Sequence[int], kept: int
    ) -> Answer:
        tiers = len(totals)
        choices = (
            ("budget tiers", f"{kept} of {tiers}, each with its own noise"),
            ("of the share", "100 % answering"),
        )
        scales = sum((noise.scale for noise in law.noises[kept:]), Fraction(0))
        dropped = Dropped(sum(thresholds[kept:]), scales, tiers - 1, at=law.noises[kept - 1].scale * share)
        return Answer(sum(totals[:kept]), Fraction(1), law.noises[:kept], choices, clipping=dropped)
