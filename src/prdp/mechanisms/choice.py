"""The largest or smallest value: an octave, and a step in it, each chosen by the budget mass beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from math import lcm

from prdp.cells.columns import totals_at
from prdp.cells.summary import Summary
from prdp.grids import FINE_PER_OCTAVE
from prdp.mechanisms._axis import Steps, steps_between
from prdp.mechanisms._mechanism import beyond
from prdp.noise.choice import ExponentialChoice
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Then
from prdp.release.chosen import Knot, Overshoot
from prdp.release.drawn import Answer

_WINDOW = 4
_HALVINGS = tuple(Fraction(1, 1 << place) for place in range(_WINDOW))


@dataclass(frozen=True, slots=True)
class Choice:
    """Choose an octave and then a step by how little budget mass lies beyond; answer with its far end.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Adding r raises the mass beyond each octave, and beyond each step, by 0 or by E(r), so the weight
        exp(-part · share · mass) of every one of them, and their sum, fall by a factor of at most
        exp(part · share · E(r)); the two parts add up to 1.
        In full: proofs/choice.md.

    Attributes:
        low: The least value that the public bounds allow, in steps.
        high: The greatest one.
        lowest: Whether the smallest value is asked for.
        per_octave: How finely the summary's magnitudes are cut.
        most: For each octave, outward, the largest budget that the policy allows there; public. Empty where
            it is ``at_most`` in all of them.
        fall: By how much the log-weight of an octave falls outward with each octave, at least.
        slope: The same for the steps of the octave that was chosen; half of it for the octave before, ...
        coarse: The part of the share that chooses the octave.
    """

    low: int
    high: int
    lowest: bool = False
    per_octave: int = FINE_PER_OCTAVE
    most: tuple[Fraction, ...] = ()
    fall: Fraction = Fraction(2)
    slope: Fraction = Fraction(12)
    coarse: Fraction = Fraction(1, 2)

    name = "choice"

    def caveat(self, *, signed: bool) -> str:  # noqa: ARG002  (the same for both)
        """Return what the interval does not cover."""
        return (
            f"records with little budget may lie {'below' if self.lowest else 'above'} it, "
            "so that its interval is open on that side"
        )

    def steps(self, largest: int) -> Steps:
        """Return the candidates, those first that are preferred while nothing is known."""
        return steps_between(self.low, self.high, largest, self.per_octave, lowest=self.lowest)

    def law(self, summary: Summary, share: Fraction) -> Then:
        """Return the distribution of (octave, step in its window)."""
        steps = self.steps(summary.largest)
        cells = summary.valued().cells
        masses = totals_at(cells.by_magnitude(steps.places.__getitem__), cells.masses(1), len(steps.codes))
        outside = beyond(masses)
        return Then(
            self._octave(steps, outside, summary, share),
            cache(partial(self._step, steps, outside, summary, share)),
        )

    def octave_fall(self, steps: Steps, summary: Summary, share: Fraction) -> Fraction:
        """Return the fall with each octave: one record of the least budget must outweigh half of it all."""
        octaves = len(steps.octaves) - 1
        return max(self.fall, share * self.coarse * summary.levels.at_least / (2 * octaves))

    def step_slopes(self, summary: Summary, share: Fraction, octave: int) -> list[Fraction]:
        """Return the fall within each octave of the window that ends with an octave, outward.

        One record of the largest budget that the policy allows there must outweigh half of it all.
        """
        first = max(0, octave + 1 - _WINDOW)
        there = self.most[first : octave + 1] or (summary.levels.at_most,)
        top = max(self.slope, share * (1 - self.coarse) * max(there) / 4)
        return [top * part for part in reversed(_HALVINGS[: octave + 1 - first])]

    def _octave(
        self, steps: Steps, outside: list[int], summary: Summary, share: Fraction
    ) -> ExponentialChoice:
        fall = self.octave_fall(steps, summary, share)
        last = (first - 1 for first in steps.octaves[1:])
        climbs = [fall * octave for octave in range(len(steps.octaves) - 1)]
        return _choice(
            climbs, [outside[place] for place in last], share * self.coarse * summary.levels.quantum
        )

    def _step(
        self, steps: Steps, outside: list[int], summary: Summary, share: Fraction, octave: int
    ) -> ExponentialChoice:
        first, last = _window(steps, octave)
        climbs = self._climbs(steps, summary, share, octave)
        price = share * (1 - self.coarse) * summary.levels.quantum
        return _choice(climbs, outside[first:last], price)

    def _climbs(self, steps: Steps, summary: Summary, share: Fraction, octave: int) -> list[Fraction]:
        """Return by how much the log-weight of each step of a window has fallen."""
        slopes = self.step_slopes(summary, share, octave)
        bounds = steps.octaves[octave + 1 - len(slopes) : octave + 2]
        falls = [
            slope / self.per_octave
            for slope, first, last in zip(slopes, bounds, bounds[1:], strict=False)
            for _ in range(first, last)
        ]
        return list(accumulate(falls[1:], initial=Fraction(0)))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        steps = self.steps(summary.largest)
        said = cache(partial(self._answer, steps, summary, share))
        return [said(octave, place) for octave, place in self.law(summary, share).draw(entropy, runs)]

    def _answer(self, steps: Steps, summary: Summary, share: Fraction, octave: int, place: int) -> Answer:
        """Return what is said of a step; of the summary it uses the public facts alone."""
        first, _ = _window(steps, octave)
        climbs = self._climbs(steps, summary, share, octave)
        starts = [at - first for at in steps.octaves if first <= at < first + place]
        knots = [
            Knot(climbs[place] - climbs[at], steps.near_end(first + at)) for at in (place, *starts[::-1])
        ]
        fall = self.octave_fall(steps, summary, share)
        further = [
            Knot(fall * away, steps.near_end(steps.octaves[octave - away + 1]))
            for away in range(_WINDOW + 1, octave + 2)
        ]
        over = Overshoot(tuple(knots), tuple(further), fall * _WINDOW, self.lowest)
        return Answer(steps.far_end(first + place), Fraction(1), (), (), chosen=over)


def _window(steps: Steps, octave: int) -> tuple[int, int]:
    """Return the first step of the octaves up to one, and the first step after them."""
    return steps.octaves[max(0, octave + 1 - _WINDOW)], steps.octaves[octave + 1]


def _choice(climbs: Sequence[Fraction], masses: Sequence[int], price: Fraction) -> ExponentialChoice:
    """Return the choice by what was climbed and by the masses beyond, at a price for each quantum of them.

    Penalties are whole multiples of the least common part.
    """
    parts = lcm(price.denominator, *(climb.denominator for climb in climbs))
    per_quantum = int(price * parts)
    penalties = (int(climb * parts) + per_quantum * mass for climb, mass in zip(climbs, masses, strict=True))
    return ExponentialChoice(tuple(penalties), Fraction(1, parts))
