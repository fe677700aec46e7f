"""Sums where possible ratios lie in a few spans far apart: each tier has a clipping point of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from math import ceil

import numpy as np

from prdp.cells.summary import Ratios, Summary
from prdp.mechanisms._point import PointFinder, RecordLadder, Tuning, noisy_total
from prdp.mechanisms._points import Points
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Then, Together
from prdp.release.bias import Clipping
from prdp.release.drawn import Answer
from prdp.release.shown import REACH
from prdp.release.tiered import TierClipping

_STRIDE = 2
_MOST_TIERS = 8  # as in tiers.py
_LEAST = Fraction(5, 2)  # in scales of noise: as in tiers.py
_PER_QUARTER = Fraction(7, 40)  # e^-0.7 an octave falls faster than noise grows
_MARGIN = 25  # by which a tier's budget must outweigh the climb, for its choice to see all of it
_LARGE = Fraction(1, 3)
# Parts of the share for the choice, and falls an octave: chosen on made-up sets and then frozen
# (experiments/choosing/README.md).
_TUNINGS = {
    True: Tuning(Fraction(33, 100), Fraction(67, 100), Fraction(2), _STRIDE),  # for large shares
    False: Tuning(Fraction(27, 100), Fraction(73, 100), Fraction(5, 2), _STRIDE),
}
_NO_CHOICE = Tuning(Fraction(0), Fraction(1), Fraction(2), _STRIDE)


@dataclass(frozen=True, slots=True)
class ClippedTiers:
    """Clip each span of possible ratios at a point of its own, and keep the totals up to the last heavy one.

    Guarantee:
        For every record r, all tiers' points and noisy totals together are (share · E(r))-indistinguishable
        between the table with r and the table without it.

    Why:
        r is in one tier, which its own cell tells. Choosing that tier's point b costs a₁ · share · E(r), and r
        moves its total by at most b · E(r), which noise of scale b / (a₂ · share) hides up to
        a₂ · share · E(r); a₁ + a₂ = 1. Which tiers are kept is read off what was drawn.
        In full: proofs/clipped_tiers.md.

    Attributes:
        tuning: How a tier with several points uses the share.
    """

    tuning: Tuning

    name = "clipped_tiers"

    @classmethod
    def of(cls, summary: Summary, share: Fraction) -> ClippedTiers | None:
        """Return the tiers of a summary, or None where possible ratios are not a few spans."""
        spans = () if summary.ratios is None else summary.ratios.values
        return cls(_TUNINGS[share > _LARGE]) if 1 < len(spans) <= _MOST_TIERS else None

    def parts(self, summary: Summary) -> list[Summary]:
        """Return the records of each tier, with the ratios that are possible in it."""
        cells = summary.cells
        assert summary.ratios is not None  # noqa: S101  (see of)
        tiers = [replace(summary, ratios=Ratios((span,), None)) for span in summary.ratios.values]
        tier = np.zeros(len(cells.high), np.intp)
        for lower in tiers[:-1]:
            points = Points.spanning(lower, _STRIDE)
            tier += points.first_reaching(cells.high, cells.quanta) == len(points.numerators)
        return [replace(part, cells=cells.where(tier == place)) for place, part in enumerate(tiers)]

    def law(self, summary: Summary, share: Fraction) -> Together:
        """Return the distribution of (clipping point, noisy total) of each tier."""
        return Together(tuple(self.tier(part, share) for part in self.parts(summary)))

    def tier(self, part: Summary, share: Fraction) -> Then:
        """Return the distribution of (clipping point, noisy total) of one tier's records."""
        tuning = self.tuned(part)
        choice = PointFinder().drawn(RecordLadder(part), share, tuning)
        return Then(choice, cache(partial(noisy_total, part, share, tuning)))

    def tuned(self, part: Summary) -> Tuning:
        """Return how a tier uses the share: where it has one point, all of it answers."""
        return self.tuning if len(Points.spanning(part, _STRIDE).numerators) > 1 else _NO_CHOICE

    def answers(
        self, summary: Summary, share: Fraction, entropy: Entropy, runs: int, step: Fraction
    ) -> list[Answer]:
        """Draw independent answers from a summary on a lattice of such a step."""
        public = replace(summary, cells=summary.cells.where(slice(0)))
        told = Told.of(self, public, share, step)
        said = cache(told.said)
        answers = []
        for drawn in self.law(summary, share).draw(entropy, runs):
            places, totals = zip(*((place, total) for place, (total,) in drawn), strict=True)
            kept = told.kept(places, totals)
            poor = told.too_poor(kept - 1, places[kept - 1], totals[kept - 1])
            answers.append(replace(said(places, kept, poor=poor), steps=sum(totals[:kept])))
        return answers


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of what was drawn, by public facts alone.

    Attributes:
        parts: The tiers, of no records.
        tunings: How each uses the share.
        share: The part of every record's budget.
        step: What a step of the lattice is worth.
        heights: How high each tier's points are above the first tier's first, in quarters of an octave.
    """

    parts: tuple[Summary, ...]
    tunings: tuple[Tuning, ...]
    share: Fraction
    step: Fraction
    heights: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tiers: ClippedTiers, public: Summary, share: Fraction, step: Fraction) -> Told:
        """Return what is public of a summary of no records."""
        parts = tiers.parts(public)
        sizes = [len(Points.spanning(part, _STRIDE).numerators) for part in parts]
        heights = Points.spanning(public, _STRIDE).heights
        ends = zip(sizes, accumulate(sizes), strict=True)
        each = tuple(heights[end - size : end] for size, end in ends)
        return cls(tuple(parts), tuple(map(tiers.tuned, parts)), share, step, each)

    def noise(self, tier: int, place: int) -> DiscreteLaplace:
        """Return the noise of a tier's total at a place."""
        (noise,) = noisy_total(self.parts[tier], self.share, self.tunings[tier], place).noises
        return noise

    def threshold(self, tier: int, place: int, reached: int) -> int:
        """Return what the size of a tier's noisy total must reach to count as heavy.

        ``reached`` is the height of the last point that was kept below it.
        """
        climb = max(0, self.heights[tier][0] - reached)
        return ceil(self.noise(tier, place).scale * (_LEAST + _PER_QUARTER * climb))

    def thresholds(self, places: Sequence[int], totals: Sequence[int]) -> Iterator[tuple[int, bool]]:
        """Yield the threshold of each tier beyond the first, and whether it is heavy."""
        reached = self.heights[0][places[0]]
        for tier in range(1, len(self.parts)):
            threshold = self.threshold(tier, places[tier], reached)
            heavy = abs(totals[tier]) >= threshold
            reached = self.heights[tier][places[tier]] if heavy else reached
            yield threshold, heavy

    def kept(self, places: Sequence[int], totals: Sequence[int]) -> int:
        """Return how many tiers are kept: up to the last heavy one, and the first in any case."""
        heavy = [True, *(heavy for _, heavy in self.thresholds(places, totals))]
        return max(place for place, one in enumerate(heavy) if one) + 1

    def too_poor(self, tier: int, place: int, total: int) -> bool:
        """Say whether a tier may hold so little budget that its choice could not see all of it.

        Its total, over the point, is no more than its budget mass.
        """
        clipping, tuning = self.clipping(tier, place), self.tunings[tier]
        if REACH * clipping.at >= clipping.most:
            return False
        points = Points.spanning(self.parts[tier], _STRIDE)
        least = PointFinder().least(_MARGIN, tuning, points.heights[: points.usual])
        return abs(total) * self.share < least * clipping.at

    def clipping(self, tier: int, place: int, *, poor: bool = False) -> Clipping:
        """Return what is known of what a tier's point clipped."""
        ladder = RecordLadder(self.parts[tier])
        return ladder.clipping(self.share, self.tunings[tier], place, blind=poor)

    def said(self, places: tuple[int, ...], kept: int, *, poor: bool) -> Answer:
        """Return what is said of an answer that keeps so many tiers, but for the number itself."""
        noises = [self.noise(tier, place) for tier, place in enumerate(places)]
        reached = self.heights[kept - 1][places[kept - 1]]
        dropped = range(kept, len(places))
        tiers = tuple(
            self.clipping(tier, place, poor=poor and tier == kept - 1) for tier, place in enumerate(places)
        )
        clipping = TierClipping(
            tiers,
            kept,
            sum(self.threshold(tier, places[tier], reached) for tier in dropped),
            sum((noises[tier].scale for tier in dropped), Fraction(0)),
        )
        points = ", ".join(f"{float(tier.at * self.step):.6g}" for tier in tiers[:kept])
        choices = (
            ("budget tiers", f"{kept} of {len(tiers)}, each with its own noise"),
            ("clipped at", f"{points} for each unit of budget"),
            ("of the share", PointFinder(Fraction(0)).parts(self.tunings[kept - 1])),
        )
        return Answer(0, self.step, tuple(noises[:kept]), choices, clipping=clipping)
