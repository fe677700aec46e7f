"""Clip a total where another total of the same records was clipped: one choice for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

import numpy as np

from prdp.cells.columns import Column, plus
from prdp.cells.groups import SummaryGroups
from prdp.cells.paired_points import PairedPoints
from prdp.cells.summary import CENTER_BITS, Summary
from prdp.mechanisms.clip import FINEST_BITS, Clip, finer_bits
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy
from prdp.release.bias import Clipping, Leader
from prdp.release.raw_answer import Answer, AnswerColumn, Caveat

_OCTAVES = 5
"""How far beyond the sum's point it is said which points follow: up to 16 times, twice the usual reach."""


@dataclass(frozen=True, slots=True)
class Following:
    """Clip every record of a count, or of squares, at the point that follows a sum's drawn one.

    Guarantee:
        For every record r and every point that was drawn, the answer is (share · E(r))-indistinguishable
        between the table with r and the table without it.

    Why:
        At the point b, r moves the clipped total by at most b · E(r), which noise of scale b / share hides.
        b follows from what was drawn and from policy and bounds. In full: proofs/following.md.

    Attributes:
        pairs: From a point of the sum to that of records, or of squares.
        alone: What answers where the sum had no point, which is a public fact.
    """

    pairs: PairedPoints
    alone: Clip

    name = "clip"

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Return what else than noise may move the answer."""
        return self.alone.caveat(signed=signed)

    def law(self, summary: Summary, share: Fraction, at: Fraction) -> Noisy:
        """Return the distribution of the total, clipped at so many steps for each unit of budget."""
        caps = summary.cells.by_budget(partial(_cap, at * summary.levels.quantum))
        return Noisy((summary.clipped_total(caps),), (DiscreteLaplace(at / share),))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers where no sum was drawn before."""
        return self.alone.answers(summary, share, entropy, runs)

    def after(
        self,
        leaders: Sequence[Answer],
        summary: Summary,
        share: Fraction,
        entropy: Entropy,
        center: Fraction | None = None,
    ) -> list[Answer]:
        """Draw one answer after each of some sums.

        ``center`` is what squared distances are taken from, in grains, and None for a count. Squares are
        counted in those of 2^-CENTER_BITS of a rounding step.
        """
        bits = finer_bits(summary, FINEST_BITS)
        fine = summary.refined(bits)
        law = cache(partial(self.law, fine, share))
        answers = []
        for leader in leaders:
            answer = self.answer_from(leader, share, bits, center)
            if answer is None:
                answers += self.answers(summary, share, entropy, 1)
            else:
                ((total,),) = law(_point(answer)).draw(entropy, 1)
                answers.append(replace(answer, steps=total))
        return answers

    def grouped_after(
        self, leaders: Sequence[AnswerColumn], groups: SummaryGroups, share: Fraction, entropy: Entropy
    ) -> list[AnswerColumn]:
        """Draw counts of disjoint groups after each run's sums of them."""
        bits = finer_bits(groups.empty, FINEST_BITS)
        fine = groups.refined(bits)
        return [self._grouped(column, fine, share, entropy, bits) for column in leaders]

    def _grouped(
        self, leader: AnswerColumn, groups: SummaryGroups, share: Fraction, entropy: Entropy, bits: int
    ) -> AnswerColumn:
        """Draw the counts of one run: groups whose sums have the same point have one noise."""
        answer = [self.answer_from(one, share, bits, None) for one in leader.templates]
        known = tuple(one for one in answer if one is not None)
        assert len(known) == len(answer)  # noqa: S101  (whether a sum has a point is a public fact)
        points = [_point(one) * groups.levels.quantum for one in known]
        caps = [groups.kinds.by_budget(partial(_cap, point)) for point in points]
        which = np.asarray(leader.which)
        noises: Column = np.zeros(len(which), dtype=np.int64)
        for number, one in enumerate(known):
            here = np.flatnonzero(which == number)
            drawn = DiscreteLaplace(_point(one) / share).draw_many(entropy, len(here))
            noises = noises.astype(object) if drawn.dtype == object else noises
            noises[here] = drawn
        totals = groups.clipped_each(np.arange(len(which)), caps, which)
        return AnswerColumn(plus(totals, noises), which, known)

    def answer_from(
        self, leader: Answer, share: Fraction, bits: int, center: Fraction | None
    ) -> Answer | None:
        """Return what is said of an answer, but for the number; None where the sum had no point.

        All of it is public or released: the sum's answer, policy and bounds, and the center.
        """
        found = leader.clipping
        if not isinstance(found, Clipping):
            return None
        times = [found.at * 2**octaves for octaves in range(_OCTAVES) if found.at * 2**octaves < found.most]
        points = self._follows([point * leader.step for point in (*times, max(found.at, found.most))], center)
        unit = 1 if center is None else 1 << 2 * CENTER_BITS
        ends = tuple(point * unit * (1 << bits) for point in points)
        linked = Leader(found.at, found.most, found.usual, ends)
        clipping = replace(found, at=ends[0], most=ends[-1], leader=linked, measured=None)
        step = Fraction(1, 1 << bits)
        choices = (("clipped at", f"{float(points[0]):.6g} for each unit of budget, as the sum is"),)
        return Answer(0, step, (DiscreteLaplace(ends[0] / share),), choices, clipping=clipping)

    def _follows(self, points: Sequence[Fraction], center: Fraction | None) -> Sequence[Fraction]:
        """Return the points that follow some of the sum, in records or squared grains for each unit."""
        if center is None:
            return [self.pairs.counted(point) for point in points]
        return self.pairs.squared(points, center)


def _cap(point: Fraction, quanta: int) -> int:
    """Return how far a record with this budget may count, in whole steps; ``point`` is for a quantum."""
    return quanta * point.numerator // point.denominator


def _point(answer: Answer) -> Fraction:
    """Return where an answer was clipped, in steps for each unit of budget."""
    assert isinstance(answer.clipping, Clipping)  # noqa: S101  (see Following.said)
    return answer.clipping.at
