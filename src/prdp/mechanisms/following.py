"""Clip a total where another total of the same records was clipped: one choice for both."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import pairwise

import numpy as np

from prdp.cells.columns import Column, plus
from prdp.cells.groups import SummaryGroups
from prdp.cells.measure import Measure
from prdp.cells.ratios import quanta_within
from prdp.cells.summary import CENTER_BITS, Summary, magnitude_key, magnitudes
from prdp.expressions.intervals import Interval
from prdp.levels import Levels
from prdp.mechanisms.clip import FINEST_BITS, Clip, finer_bits
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy
from prdp.policy import Policy
from prdp.release.bias import Clipping, Leader
from prdp.release.raw_answer import Answer, AnswerColumn, Caveat

_MAX_CELLS = 4096
"""Number of magnitudes beyond which the search is not worth its time."""


@dataclass(frozen=True, slots=True)
class RecordKind:
    """The records of one magnitude, as far as policy and bounds tell them.

    Attributes:
        low: The least value, in rounding steps.
        high: The greatest one.
        least: The least budget that a cell of theirs can have, in quanta.
        most: The greatest one.
    """

    low: int
    high: int
    least: int
    most: int

    def square(self, at: int, parts: int) -> int:
        """Return the largest squared distance from ``at``, which is in so many parts of a rounding step."""
        below, above = at - self.low * parts, self.high * parts - at
        return below * below if below > above else above * above


@dataclass(frozen=True, slots=True)
class PairedPoints:
    """All kinds of records that there can be, from the smallest values to the largest; budgets only fall.

    Attributes:
        kinds: The kinds.
        quantum: The value of a quantum of budget.
    """

    kinds: tuple[RecordKind, ...]
    quantum: Fraction

    @classmethod
    def of(cls, policy: Policy, levels: Levels, measure: Measure | None) -> PairedPoints | None:
        """Return the pairs of a measured column; None where the policy does not tell them.

        It does where it reads that column alone, where values are not negative, and where no larger value
        has a larger budget.

        >>> policy = Policy("10000 / greatest(v, 100)", at_most=100, at_least="0.01")
        >>> pairs = PairedPoints.of(policy, policy.levels, Measure("v", Fraction(1), 0, 10**6))
        >>> round(float(pairs.counted(Fraction(10**6))), 1)  # v / E is 10^6 at v = 10^5, where 1 / E is 10
        9.9
        """
        if measure is None or measure.expression is not None or measure.low < 0:
            return None
        return _paired_points(policy, levels, measure) if policy.columns == {measure.column} else None

    def counted(self, point: Fraction) -> Fraction:
        """Return the point of a count at which whoever counts in full in the sum does so too.

        Args:
            point: That of the sum, in rounding steps for each unit of budget.
        """
        sure, perhaps = self._whole(point)
        known = self.kinds[sure - 1].least if sure else self.kinds[0].most
        others = (point / kind.high for kind in self._beyond(sure, perhaps))
        return max(1 / (known * self.quantum), *others, Fraction(0))

    def squared(self, points: Sequence[Fraction], center: Fraction) -> list[Fraction]:
        """Return the same of squared distances from a center, in rounding steps, for rising points."""
        at, parts = center.as_integer_ratio()
        each, done = parts * parts, 0
        most, least = each, self.kinds[0].most  # the largest ratio of a square to a budget, in whole numbers
        found = []
        for point in points:
            sure, perhaps = self._whole(point)
            for kind in self.kinds[done:sure]:
                square = kind.square(at, parts)
                if square * least > most * kind.least:
                    most, least = square, kind.least
            known = Fraction(most, least * each) / self.quantum
            others = (
                Fraction(kind.square(at, parts), kind.high * each) * point
                for kind in self._beyond(sure, perhaps)
            )
            found.append(max(known, *others, Fraction(0)))
            done = sure
        return found

    def _whole(self, point: Fraction) -> tuple[int, int]:
        """Return the number of kinds, from the smallest values on, that surely or possibly count in full."""
        up, down = (point * self.quantum).as_integer_ratio()
        sure = bisect_left(self.kinds, True, key=lambda kind: kind.high * down > kind.least * up)
        return sure, bisect_left(self.kinds, True, key=lambda kind: kind.high * down > kind.most * up)

    def _beyond(self, sure: int, perhaps: int) -> Sequence[RecordKind]:
        """Return the kinds of which some may count in full, those above the bounds as the last one.

        A record that does has a budget of its value over the sum's point at least.
        """
        last = self.kinds[-1:] if perhaps == len(self.kinds) and self.kinds[-1].high else ()
        return (*self.kinds[sure:perhaps], *last)


@lru_cache(maxsize=64)
def _paired_points(policy: Policy, levels: Levels, measure: Measure) -> PairedPoints | None:
    codes: list[int] = []
    pieces: list[Interval] = []
    round_to = float(measure.round_to)
    for code, first, last in magnitudes(measure.low, measure.high, measure.per_octave):
        near, far = max(first - 1, measure.low), min(last + 1, measure.high)  # values are rounded to steps
        codes.append(code)
        pieces.append(Interval(near * round_to, far * round_to))
    found = quanta_within(policy, levels, measure.column, pieces)
    kinds: list[RecordKind] = []
    for code, quanta in zip(codes, found, strict=True):
        if quanta is not None:
            key = magnitude_key(0, code, measure.largest, measure.per_octave)
            kinds.append(RecordKind(key.low, key.high, *quanta))
    if len(kinds) > _MAX_CELLS:
        return None
    falls = all(above.least <= below.least and above.most <= below.most for below, above in pairwise(kinds))
    return PairedPoints(tuple(kinds), levels.quantum) if kinds and falls else None


_OCTAVES = 5
"""Number of octaves beyond the sum's point with a linked point: up to 16 times, twice the usual reach."""


@dataclass(frozen=True, slots=True)
class Following:
    """Clip every record of a count, or of squares, at the point that follows a sum's drawn one.

    Guarantee:
        For every record r and every point that was drawn, the answer is (share · E(r))-indistinguishable
        between the table with r and the table without it.

    Why:
        At the point b, r moves the clipped total by at most b · E(r), which noise of scale b / share hides.
        b follows from what was drawn and from policy and bounds. In full: proofs/following.md.
        What is drawn here must never enter a rule that selects anything of the sum, such as its tail factor,
        which is stated and recorded before (proofs/tail.md).

    Attributes:
        pairs: From a point of the sum to that of records, or of squares.
        alone: What answers where the sum had no point, which is a public fact.
    """

    pairs: PairedPoints
    alone: Clip

    name = "clip"

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Describe the errors other than noise."""
        return self.alone.caveat(signed=signed)

    def law(self, summary: Summary, share: Fraction, at: Fraction) -> Noisy:
        """Return the distribution of the total, clipped at so many steps for each unit of budget."""
        caps = summary.cells.by_budget(_cap(at * summary.levels.quantum))
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

        ``center`` is the center of squared distances, in rounding steps; None for a count. Squares are
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
        caps = [groups.kinds.by_budget(_cap(point)) for point in points]
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
        """Return the metadata of an answer, without the number; None where the sum had no point.

        All of it is public or released: the sum's answer, policy and bounds, and the center.
        """
        found = leader.clipping
        if not isinstance(found, Clipping):
            return None
        times = [found.at * 2**octaves for octaves in range(_OCTAVES) if found.at * 2**octaves < found.most]
        last = max(found.at, found.most)
        reached = min(last, found.at * found.selected[1]) if found.selected else last
        rising = sorted({*times, reached, last})
        follows = dict(
            zip(rising, self._follows([point * leader.step for point in rising], center), strict=True)
        )
        points = [follows[point] for point in (*times, last)]
        unit = 1 if center is None else 1 << 2 * CENTER_BITS
        ends = tuple(point * unit * (1 << bits) for point in points)
        end = follows[reached] * unit * (1 << bits) if found.selected else None
        linked = Leader(found.at, found.most, found.usual, ends, end)
        clipping = replace(found, at=ends[0], most=ends[-1], leader=linked, measured=None)
        step = Fraction(1, 1 << bits)
        choices = (("clipped at", f"{float(points[0]):.6g} for each unit of budget, as the sum is"),)
        return Answer(0, step, (DiscreteLaplace(ends[0] / share),), choices, clipping=clipping)

    def _follows(self, points: Sequence[Fraction], center: Fraction | None) -> Sequence[Fraction]:
        """Return the points linked to some of the sum, in records or squared rounding steps for each unit."""
        if center is None:
            return [self.pairs.counted(point) for point in points]
        return self.pairs.squared(points, center)


def _cap(point: Fraction) -> Callable[[int], int]:
    """Return the caps of records, in whole steps, by their budgets; ``point`` is for a quantum."""
    up, down = point.as_integer_ratio()
    return lambda quanta: quanta * up // down


def _point(answer: Answer) -> Fraction:
    """Return the clipping threshold of an answer, in steps for each unit of budget."""
    assert isinstance(answer.clipping, Clipping)  # noqa: S101  (see Following.answer)
    return answer.clipping.at
