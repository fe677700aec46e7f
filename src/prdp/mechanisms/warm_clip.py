"""Proportional clipping that starts from a point which an earlier release made public."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from math import ceil

import numpy as np

from prdp.cells.columns import Column, Places, exact_column, plus, product, totals_at
from prdp.cells.summary import Summary
from prdp.mechanisms._threshold import Points, RecordCandidates, Tuning
from prdp.mechanisms.clip import Clip, finer_bits, sides
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Noisy, Then
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.release.bias import Clipping
from prdp.release.excluded_tail import TAIL_FACTORS, ExcludedTail
from prdp.release.raw_answer import Answer, Caveat

_QUARTERS = 4
_STRIDE = 2

# All of these were chosen on synthetic sets and then frozen: experiments/choosing/README.md.
_LARGE = Fraction(1, 3)
_BEYOND = {True: Fraction(7, 100), False: Fraction(12, 100)}  # for large shares, and for others
CHOICE = {
    True: Fraction(6, 100),
    False: Fraction(10, 100),
}  # from a point as good as its own, or another's
DOWN = {True: Fraction(4), False: Fraction(1, 2)}
UP = Fraction(4)
_WHOLE = 3  # by how much all candidates's log-weights are lowered beside the known point
_FALL = Fraction(5, 2)


@dataclass(frozen=True, slots=True)
class WarmClip:
    """Clip near a point that is public already, and measure what lies beyond it, up to a known tail factor.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        The known point moves public penalties only. Adding r raises the mass that a point would clip by at
        most E(r), so the choice costs a₁ · share · E(r). At the point b that is drawn, r is either in the
        band up to T · b, whose sum it moves by at most (T - 1) · b · E(r), the noise's scale times
        a₃ · share · E(r), or beyond it, or in neither; and it moves the clipped total by at most b · E(r).
        T is public. The parts a₁ + a₃ + a₂ make 1. In full: proofs/warm_clip.md.

    Attributes:
        clip: How the question is answered where no point is known.
        at: How many rounding steps a unit of budget may count for at the known point.
        words: The release that it is from.
        choice: The part of the share for choosing a point.
        beyond: The part for what lies beyond it.
        up: By how much a point's log-weight falls with each octave above the known one.
        down: The same below it.
        mass_bits: The lattice of the mass further up is as fine as this many bits of its noise.
        tail_factor: Up to how many times the point the sum beyond it is measured.
    """

    clip: Clip
    at: Fraction
    words: str = ""
    choice: Fraction = CHOICE[True]
    beyond: Fraction = _BEYOND[True]
    up: Fraction = UP
    down: Fraction = DOWN[True]
    mass_bits: int = 50
    tail_factor: Fraction = TAIL_FACTORS[-1]

    name = "clip"

    def __post_init__(self) -> None:
        if min(self.choice, self.beyond, self.answer) <= 0:
            raise ValueError("the parts of the share add up to more than the whole, or one is none of it")

    @classmethod
    def tuned(
        cls,
        clip: Clip,
        share: Fraction,
        at: Fraction,
        words: str,
        tail_factor: Fraction = TAIL_FACTORS[-1],
        *,
        close: bool,
    ) -> WarmClip:
        """Return the mechanism for a share.

        Args:
            clip: How the question is answered where no point is known.
            share: The part of every record's budget.
            at: The known point.
            words: The release that it is from.
            tail_factor: How many times its own point that release's interval covers.
            close: Whether that was of the same snapshot, at a share that is not much larger.
        """
        beyond = _BEYOND[share > _LARGE]
        return cls(clip, at, words, CHOICE[close], beyond, UP, DOWN[close], tail_factor=tail_factor)

    @property
    def why(self) -> str:
        """The reason for answering in place of ``clip``, in words."""
        return f"it starts from {self.words}"

    @property
    def answer(self) -> Fraction:
        """The part of the share for the answer: all that is left."""
        return 1 - self.choice - self.beyond

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Describe the errors other than noise."""
        return self.clip.caveat(signed=signed)

    def law(self, summary: Summary, share: Fraction, step: Fraction = Fraction(1)) -> Then:
        """Return the distribution of (clipping point, (noisy clipped total, what lies beyond it)).

        What lies beyond is, for values below and above zero where there may be both: the noisy excess of the
        band up to the tail factor, and the noisy budget mass further up.

        Args:
            summary: The cells.
            share: The part of every record's budget.
            step: The value of a step of the summary, in rounding steps.
        """
        candidates = RecordCandidates(summary)
        weight = share * self.choice * summary.levels.quantum
        climbs = self.climbs(summary, self.at / step)
        masses = candidates.masses(_STRIDE, 1)
        penalties = tuple(weight * mass + climb for mass, climb in zip(masses, climbs, strict=True))
        return Then(PermuteAndFlip(penalties), cache(partial(self.answered, summary, share)))

    def climbs(self, summary: Summary, at: Fraction) -> list[Fraction]:
        """Return by how much each point's log-weight is lowered: by how far it is from the known one.

        All candidates keep a part of the draw, since the table may have changed. All of it is public.
        """
        points, known = Points.spanning(summary, _STRIDE), at * summary.levels.quantum
        return climbs_from(points, known, self.up, self.down, self._tuning)

    @property
    def _tuning(self) -> Tuning:
        """The tuning of a choice among all candidates, with these parts of the share."""
        return warm_tuning(self.choice, self.answer)

    def answered(self, summary: Summary, share: Fraction, place: int) -> Noisy:
        """Return the noisy total of the records, clipped at the point of a place, and what lies beyond it."""
        points = Points.spanning(summary, _STRIDE)
        total = summary.clipped_total(summary.cells.by_budget(partial(points.cap, place)))
        values, noises = [total], [DiscreteLaplace(self._scale(summary, share * self.answer, place))]
        scale = self._scale(summary, share * self.beyond, place)
        lattice = self._lattice(summary, share)
        further = 1 / (share * self.beyond * summary.levels.quantum * lattice)
        for side in sides(summary) if self.clip.signed else (summary,):
            values += excesses(side, points, place, lattice, self.times)
            noises += map(DiscreteLaplace, (*(times * scale for times in self.times), further))
        return Noisy(tuple(values), tuple(noises))

    @property
    def times(self) -> tuple[Fraction, ...]:
        """By how many caps records of each measured band are above their own at most: there is one band."""
        return (self.tail_factor - 1,)

    def _scale(self, summary: Summary, share: Fraction, place: int) -> Fraction:
        """Return the scale of noise that hides records which count up to a point, in steps."""
        return Points.spanning(summary, _STRIDE).per_quantum(place) / summary.levels.quantum / share

    def _lattice(self, summary: Summary, share: Fraction) -> int:
        """Return the lattice of the mass further up, in quanta: a power of two, for noise in range."""
        scale = 1 / (share * self.beyond * summary.levels.quantum)
        return 1 << max(0, int(scale).bit_length() - self.mass_bits)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers; where tiers answer, no point is needed."""
        if self.clip.tiers(summary) is not None or self.clip.clipped_tiers(summary, share) is not None:
            return self.clip.answers(summary, share, entropy, runs)
        bits = finer_bits(summary, self.clip.finest_bits)
        fine, step = summary.refined(bits), Fraction(1, 1 << bits)
        law = self.law(fine, share, step)
        public = replace(fine, cells=fine.cells.where(slice(0)))
        answer_at = cache(partial(self._answer_at, public, share, step))
        return [_with(answer_at(place), *values) for place, values in law.draw(entropy, runs)]

    def _answer_at(self, summary: Summary, share: Fraction, step: Fraction, place: int) -> Answer:
        """Return the metadata of an answer at a place, without the numbers; the summary is of no records."""
        noise = DiscreteLaplace(self._scale(summary, share * self.answer, place))
        clipping = self.clipping(summary, share, place)
        choices = (
            ("clipped at", f"{float(clipping.at * step):.6g} for each unit of budget"),
            ("started from", self.words),
            ("of the share", self._parts()),
        )
        return Answer(0, step, (noise,), choices, clipping=clipping)

    def _parts(self) -> str:
        named = (("choosing", self.choice), ("measuring", self.beyond), ("answering", self.answer))
        return ", ".join(f"{float(100 * part):g} % {what}" for what, part in named)

    def clipping(self, summary: Summary, share: Fraction, place: int) -> Clipping:
        """Return the public facts about clipping at a place, with nothing measured beyond it yet."""
        found = RecordCandidates(summary).clipping(share, self._tuning, place, blind=False)
        measured = ExcludedTail(
            octaves=(),
            further=(),
            scale=self._scale(summary, share * self.beyond, place),
            worth=Points.spanning(summary, _STRIDE).per_quantum(place) * self._lattice(summary, share),
            times=self.times,
        )
        selected = (self.tail_factor,) * 2
        return replace(found, evidence=Fraction(0), measured=measured, selected=selected)


def warm_tuning(choice: Fraction, answer: Fraction) -> Tuning:
    """Return the tuning of a choice among all candidates, with parts of the share."""
    return Tuning(choice, answer, _FALL, _STRIDE)


def climbs_from(
    points: Points, known: Fraction, up: Fraction, down: Fraction, tuning: Tuning
) -> list[Fraction]:
    """Return by how much each point's log-weight is lowered where one is known, as so many steps a quantum.

    By so much an octave above it and below it, and by no more than on all candidates.
    """
    start = min(bisect_left(points.numerators, ceil(known * points.denominator)), len(points.numerators) - 1)
    away = [Fraction(height - points.heights[start], _QUARTERS) for height in points.heights]
    near = [octaves * (up if octaves > 0 else -down) for octaves in away]
    whole = tuning.climbs(points.heights, points.usual)
    return [min(one, _WHOLE + other) for one, other in zip(near, whole, strict=True)]


MOVED = (
    "many records reach further than is measured: the data may have changed; the next question starts anew"
)
"""Note for a known point that was far too low."""


def _with(answer_at: Answer, total: int, *values: int) -> Answer:
    """Return an answer with its numbers: the total, and what was measured beyond its point."""
    clipping = answer_at.clipping
    assert isinstance(clipping, Clipping)  # noqa: S101  (see _answer_at)
    assert clipping.measured is not None  # noqa: S101
    measured = clipping.measured.filled(values)
    choices = (*answer_at.choices, ("moved", MOVED)) if measured.many else answer_at.choices
    return replace(answer_at, steps=total, choices=choices, clipping=replace(clipping, measured=measured))


def excesses(
    summary: Summary, points: Points, place: int, lattice: int, bands: tuple[Fraction, ...]
) -> Iterator[int]:
    """Yield, for each band beyond a point, what its records may have there; last, the budget mass further up.

    A record is in the first band whose end its cell's upper end does not pass, and counts for what that end
    has beyond what the point lets it count for: at most the band's number of times that. Masses are on a
    lattice of so many quanta.
    """
    cells = summary.cells

    def most(times: Fraction) -> Column:
        point = times * points.numerators[place] / points.denominator
        return cells.by_budget(lambda quanta: quanta * point.numerator // point.denominator)

    cap = most(Fraction(1))
    excess = plus(cells.high, -np.minimum(cells.low, cap))
    band: Places = np.where(cells.high <= cap, 0, len(bands) + 1)
    counted = cells.masses(lattice)
    for number, times in reversed(list(enumerate(bands, start=1))):
        here = (cells.high > cap) & (cells.high <= most(times + 1))
        band[here] = number
        counted = np.where(here, product(cells.count, np.minimum(excess, most(times))), counted)
    yield from totals_at(band, exact_column(counted.tolist()), len(bands) + 2)[1:]
