"""Sums where possible ratios lie in a few spans far apart: each tier has a clipping point of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from prdp.cells.summary import Ratios, Summary
from prdp.mechanisms._threshold import (
    LARGE_SHARE,
    SMALL_SHARE,
    THIN,
    PointFinder,
    Points,
    RecordCandidates,
    Tuning,
    noisy_total,
)
from prdp.mechanisms.tiers import VISIBLE
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Noise, Noisy, Together
from prdp.release.bias import Clipping, TierClipping
from prdp.release.raw_answer import Answer

_STRIDE = 2
_MAX_TIERS = 8  # the next three are those of tiers.py
_LEAST = Fraction(5, 2)
_PER_QUARTER = Fraction(7, 40)
_MARGIN = 25  # as at the gates of all totals
_LARGE = Fraction(1, 3)
_WHOLE = Tuning(Fraction(0), Fraction(1), Fraction(1), _STRIDE)  # for a tier with one point


class Way(NamedTuple):
    """The origin of a tier's point: the tuning that chose it, and its place among the tier's candidates."""

    which: int
    place: int


@dataclass(frozen=True, slots=True)
class ClippedTiers:
    """Clip each span of possible ratios at a point of its own, and keep the totals up to the last heavy one.

    Guarantee:
        For every record r, all tiers' points and noisy totals together are (share · E(r))-indistinguishable
        between the table with r and the table without it.

    Why:
        r is in one tier, which its own cell tells. Finding that tier's point b costs (1 - a₂) · share · E(r),
        and r moves its total by at most b · E(r), which noise of scale b / (a₂ · share) hides up to
        a₂ · share · E(r). Which tiers are kept is read off what was drawn.
        In full: proofs/clipped_tiers.md.

    Attributes:
        finder: How a tier with several points finds its own.
    """

    finder: PointFinder

    name = "clipped_tiers"

    @classmethod
    def of(cls, summary: Summary, share: Fraction) -> ClippedTiers | None:
        """Return the mechanism for a share, or None where possible ratios are not a few spans."""
        spans = () if summary.ratios is None else summary.ratios.values
        if not 1 < len(spans) <= _MAX_TIERS:
            return None
        usual = LARGE_SHARE if share > _LARGE else SMALL_SHARE
        return cls(PointFinder(tunings=((_MARGIN, usual), (None, THIN))))

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
        """Return the distribution of what each tier draws."""
        return Together(tuple(self.tier(part, share) for part in self.parts(summary)))

    def tier(self, part: Summary, share: Fraction) -> Gated | Noisy:
        """Return the distribution of (tuning, (point, noisy total)); of one point, of the total alone."""
        if single(part):
            return noisy_total(part, share, _WHOLE, 0)
        return self.finder.law(RecordCandidates(part), share, cache(partial(noisy_total, part, share)))

    def answers(
        self, summary: Summary, share: Fraction, entropy: Entropy, runs: int, step: Fraction
    ) -> list[Answer]:
        """Draw independent answers from a summary on a lattice of such a step."""
        public = replace(summary, cells=summary.cells.where(slice(0)))
        tier_answers = TierAnswers.of(self, public, share, step)
        answer_of = cache(tier_answers.answer_of)
        answers = []
        for drawn in self.law(summary, share).draw(entropy, runs):
            ways, totals = tier_answers.read(drawn)
            kept = tier_answers.kept(ways, totals)
            apart = not tier_answers.visible(ways, totals, kept)
            answers.append(replace(answer_of(ways, kept, apart=apart), steps=sum(totals[:kept])))
        return answers


def single(part: Summary) -> bool:
    """Return whether a tier's span is so narrow that it has one point."""
    return len(Points.spanning(part, _STRIDE).numerators) == 1


@dataclass(frozen=True, slots=True)
class TierAnswers:
    """Metadata of the drawn answers, from public facts alone.

    Attributes:
        finder: How tiers find their points.
        parts: The tiers, of no records.
        share: The part of every record's budget.
        step: The value of a lattice step.
        heights: How high each tier's points are above the first tier's first, in quarters of an octave.
    """

    finder: PointFinder
    parts: tuple[Summary, ...]
    share: Fraction
    step: Fraction
    heights: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tiers: ClippedTiers, public: Summary, share: Fraction, step: Fraction) -> TierAnswers:
        """Return the public facts, from a summary of no records."""
        parts = tiers.parts(public)
        sizes = [len(Points.spanning(part, _STRIDE).numerators) for part in parts]
        heights = Points.spanning(public, _STRIDE).heights
        ends = zip(sizes, accumulate(sizes), strict=True)
        each = tuple(heights[end - size : end] for size, end in ends)
        return cls(tiers.finder, tuple(parts), share, step, each)

    def read(self, drawn: tuple[Any, ...]) -> tuple[tuple[Way, ...], tuple[int, ...]]:
        """Return the origin of each tier's point, and its noisy total."""
        ways, totals = [], []
        for part, one in zip(self.parts, drawn, strict=True):
            which, (place, (total,)) = (0, (0, one)) if single(part) else one
            ways.append(Way(which, place))
            totals.append(total)
        return tuple(ways), tuple(totals)

    def tuning(self, tier: int, way: Way) -> Tuning:
        """Return a tier's use of the share."""
        return _WHOLE if single(self.parts[tier]) else self.finder.tunings[way.which][1]

    def noise(self, tier: int, way: Way) -> Noise:
        """Return the noise of a tier's total."""
        (noise,) = noisy_total(self.parts[tier], self.share, self.tuning(tier, way), way.place).noises
        return noise

    def threshold(self, tier: int, way: Way, reached: int) -> int:
        """Return the threshold of a tier's noisy total to count as heavy, in absolute value.

        Args:
            tier: The tier.
            way: How its point was found.
            reached: The height of the last point that was kept below it.
        """
        climb = max(0, self.heights[tier][0] - reached)
        return ceil(self.noise(tier, way).scale * (_LEAST + _PER_QUARTER * climb))

    def kept(self, ways: Sequence[Way], totals: Sequence[int]) -> int:
        """Return the number of tiers kept: up to the last heavy one, and the first in any case."""
        last, reached = 0, self.heights[0][ways[0].place]
        for tier in range(1, len(ways)):
            if abs(totals[tier]) >= self.threshold(tier, ways[tier], reached):
                last, reached = tier, self.heights[tier][ways[tier].place]
        return last + 1

    def visible(self, ways: Sequence[Way], totals: Sequence[int], kept: int) -> bool:
        """Return whether the total of any dropped tier exceeds its noise."""
        dropped = range(kept, len(ways))
        return any(abs(totals[tier]) >= VISIBLE * self.noise(tier, ways[tier]).scale for tier in dropped)

    def clipping(self, tier: int, way: Way) -> Clipping:
        """Return the known facts about clipping at a tier's point."""
        candidates = RecordCandidates(self.parts[tier])
        return candidates.clipping(self.share, self.tuning(tier, way), way.place, blind=False)

    def answer_of(self, ways: tuple[Way, ...], kept: int, *, apart: bool) -> Answer:
        """Return the metadata of an answer that keeps so many tiers, without the number itself."""
        noises = [self.noise(tier, way) for tier, way in enumerate(ways)]
        tiers = tuple(self.clipping(tier, way) for tier, way in enumerate(ways))
        reached = self.heights[kept - 1][ways[kept - 1].place]
        clipping = TierClipping(
            tiers,
            kept,
            sum(self.threshold(tier, ways[tier], reached) for tier in range(kept, len(ways))),
            sum((noise.scale for noise in noises[kept:]), Fraction(0)),
            apart,
        )
        points = ", ".join(f"{float(tier.at * self.step):.6g}" for tier in tiers[:kept])
        choices = (
            ("budget tiers", f"{kept} of {len(tiers)}, each with its own noise"),
            ("clipped at", f"{points} for each unit of budget"),
            ("of the share", self._shares(kept - 1, ways[kept - 1])),
        )
        return Answer(0, self.step, tuple(noises[:kept]), choices, clipping=clipping)

    def _shares(self, tier: int, way: Way) -> str:
        """Return in words what part of the share went where, in one tier."""
        if single(self.parts[tier]):
            return "100 % answering"
        return self.finder.parts(self.tuning(tier, way))
