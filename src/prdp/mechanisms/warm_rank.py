"""Quantiles that start from an earlier one's answer, and from where its weights were clipped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

from prdp.cells.summary import Summary
from prdp.mechanisms._threshold import Points, Tuning
from prdp.mechanisms.rank import Rank, RankFacts, rest_of
from prdp.mechanisms.warm_clip import CHOICE, DOWN, UP, climbs_from, warm_tuning
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Law, Then
from prdp.release.raw_answer import Answer, Caveat


@dataclass(frozen=True, slots=True)
class WarmRank:
    """Look for quantiles near public answers, with weights that are clipped near a public point.

    Guarantee:
        For every record r, all answers together are (share · E(r))-indistinguishable between the table
        with r and the table without it.

    Why:
        What is known moves public penalties only. Adding r raises the mass that a point would clip by at most
        E(r), so its choice costs a₁ · share · E(r); ranges and the weights around them cost what they do in
        ``Rank``, and the parts of the share add up to 1. In full: proofs/warm_rank.md.

    Attributes:
        rank: How quantiles are answered, with the answers that are known already.
        at: How many records a unit of budget may count for at the known point of the weights; None where
            none is known, or where all records weigh the same.
        words: The releases that it is from.
        choice: The part of the share for choosing a point.
        up: By how much a point's log-weight falls with each octave above the known one.
        down: The same below it.
    """

    rank: Rank
    at: Fraction | None
    words: str = ""
    choice: Fraction = CHOICE[True]
    up: Fraction = UP
    down: Fraction = DOWN[True]

    name = "rank"

    def __post_init__(self) -> None:
        if min(self.choice, self.answer) <= 0:
            raise ValueError("the parts of the share add up to more than the whole, or one is none of it")

    @classmethod
    def tuned(
        cls, rank: Rank, known: tuple[int | None, ...], at: Fraction | None, words: str, *, close: bool
    ) -> WarmRank:
        """Return the mechanism that starts from what is known.

        Args:
            rank: How the question is answered where nothing is known.
            known: An earlier answer for each quantile, in steps; None for none.
            at: The known point of the weights; None for none.
            words: The releases that it is from.
            close: Whether the point is of the same snapshot, at a share that is not much larger.
        """
        started = replace(rank, known=known)
        at = None if rank.finder is None else at
        return cls(started, at, words, CHOICE[close], UP, DOWN[close])

    @property
    def why(self) -> str:
        """The reason for answering in place of ``rank``, in words."""
        return f"it starts from {self.words}"

    @property
    def answer(self) -> Fraction:
        """The part of the share for choosing ranges where a point is known."""
        parts = self.choice, self.rank.scout, self.rank.sides
        return rest_of(parts, concentrated=self.concentrated)

    @property
    def concentrated(self) -> bool:
        """Whether the share is the root of what is used of P(r)."""
        return self.rank.concentrated

    @property
    def _tuning(self) -> Tuning:
        return replace(warm_tuning(self.choice, self.answer), gaussian=self.concentrated)

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Describe what the interval does not cover."""
        return self.rank.caveat(signed=signed)

    def law(self, summary: Summary, share: Fraction) -> Law:
        """Return the distribution of (clipping point, (range, ..., (widths, weights around)))."""
        if self.at is None:
            return self.rank.law(summary, share)
        weighed = self.rank.weighed(summary)
        points = Points.spanning(weighed, self._tuning.stride)
        known = self.at * (1 << self.rank.bits) * weighed.levels.quantum
        climbs = climbs_from(points, known, self.up, self.down, self._tuning)
        candidates = self.rank.candidates(weighed, share)
        weight = share * self._tuning.seen * candidates.quantum
        masses = candidates.masses(self._tuning.stride, 1)
        penalties = (weight * mass + climb for mass, climb in zip(masses, climbs, strict=True))

        def answered(place: int) -> Law:
            return self.rank.answered(summary, share, self.answer, points.per_quantum(place))

        return Then(self._tuning.kind(tuple(penalties)), cache(answered))

    def answers(
        self, summary: Summary, share: Fraction, entropy: Entropy, runs: int
    ) -> list[tuple[Answer, ...]]:
        """Draw independent answers: in each run one for every quantile."""
        if self.at is None:
            found = self.rank.answers(summary, share, entropy, runs)
        else:
            facts = cache(partial(self._facts, self.rank.weighed(summary), share))
            ranges = self.rank.ranges(summary)
            drawn: list[Any] = list(self.law(summary, share).draw(entropy, runs))
            found = [self.rank.answers_at(ranges, facts(place), rest) for place, rest in drawn]
        started = ("started from", self.words)
        return [tuple(replace(one, choices=(*one.choices, started)) for one in run) for run in found]

    def _facts(self, weighed: Summary, share: Fraction, place: int) -> RankFacts:
        """Return the public facts at a place; its choice is no evidence about clipping."""
        facts = self.rank.facts_at(weighed, share, self._tuning, place, blind=False)
        assert facts.clipping is not None  # noqa: S101  (see Rank.facts_at)
        return facts._replace(clipping=replace(facts.clipping, evidence=Fraction(0)))
